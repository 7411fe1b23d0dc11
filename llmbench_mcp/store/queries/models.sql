-- name: models_all
select * from models order by name, id;

-- name: model_last_jobs
select run_id, suite, endpoint_name as endpoint, state, passed, done, created_at from jobs
where model_id = $1 and done > 0
order by created_at desc, id desc limit $2;

-- name: model_row
select * from models where id = $1;

-- name: homes_all
select h.model_id, h.endpoint_id, e.name as endpoint_name, h.served_name, h.present, h.pinned, h.remote, h.tools
from homes h join endpoints e on e.id = h.endpoint_id
order by e.name, h.served_name;

-- name: homes_of_endpoint
select * from homes where endpoint_id = $1;

-- name: homes_with_models
select m.*, m.id as model_id, h.served_name, h.present, h.pinned as home_pinned, h.remote,
       (select count(*) from homes o where o.model_id = m.id and o.present = 1) as homes_left
from homes h join models m on m.id = h.model_id
where h.endpoint_id = $1;

-- name: model_digests
select digest from models where digest is not null;

-- name: models_lost
select name from models
where digest is null and not exists (select 1 from homes where homes.model_id = models.id and homes.present = 1);

-- name: home_seen
update homes set last_seen = $3 where endpoint_id = $1 and served_name = $2;

-- name: model_by_digest
select id from models where digest = $1;

-- name: model_homeless
select id from models
where name = $1 and digest is null and (quantisation is null or $2 is null or quantisation = $2)
  and not exists (select 1 from homes where homes.model_id = models.id and homes.present = 1)
order by last_seen desc limit 1;

-- name: models_abandoned
update models set status = 'missing', status_reason = 'no endpoint offers it any more'
where status not in ('missing', 'disabled') and not exists (select 1 from homes where homes.model_id = models.id);

-- name: models_abandoned_events
insert into model_events (at, model_id, kind, value, reason)
select $1, id, 'status', 'missing', 'no endpoint offers it any more' from models
where status not in ('missing', 'disabled') and not exists (select 1 from homes where homes.model_id = models.id);

-- name: models_forgotten
delete from models
where status = 'new' and not exists (select 1 from homes where homes.model_id = models.id)
  and not exists (select 1 from jobs where jobs.model_id = models.id);

-- name: model_insert
insert into models (id, name, status, digest, first_seen, last_seen) values ($1, $2, 'new', $3, $4, $4);

-- name: model_insert_whole
insert into models (id, name, status, digest, family, parameter_count, quantisation, size_bytes, context_length,
                    guessed, capabilities, capability_facts, first_seen, last_seen)
values ($1, $2, 'new', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12);

-- name: model_digest
update models set digest = $2 where id = $1;

-- name: model_facts
update models
set family = $2, parameter_count = $3, quantisation = $4, size_bytes = $5, context_length = $6, guessed = $7,
    pinned = $8
where id = $1;

-- name: model_capabilities
update models set capabilities = $2, capability_facts = $3 where id = $1;

-- name: model_seen
update models set last_seen = $2 where id = $1;

-- name: home_upsert
insert into homes (model_id, endpoint_id, served_name, present, last_seen, remote) values ($1, $2, $3, 1, $4, $5)
on conflict (endpoint_id, served_name) do update
set tools = case when homes.model_id = excluded.model_id then homes.tools else 'unknown' end,
    model_id = excluded.model_id, present = 1, last_seen = excluded.last_seen, remote = excluded.remote;

-- name: home_pin
update homes set pinned = $3 where endpoint_id = $1 and served_name = $2;

-- name: homes_unpin
update homes set pinned = 0, present = 0 where model_id = $1 and pinned = 1;

-- name: home_tools
update homes set tools = $3 where endpoint_id = $1 and served_name = $2;

-- name: home_gone
update homes set present = 0 where endpoint_id = $1 and served_name = $2;

-- name: model_homes_left
select count(*) as n from homes where model_id = $1 and present = 1;

-- name: model_status
update models set status = $2, status_reason = $3 where id = $1;

-- name: model_assign
update models set assigned_endpoint_id = $2 where id = $1;

-- name: model_delete
delete from models where id = $1;

-- name: model_without_history
select id from models
where id = $1 and status = 'new' and not exists (select 1 from jobs where jobs.model_id = models.id);

-- name: model_event_insert
insert into model_events (at, model_id, kind, value, reason)
select $1, $2, $3, $4, $5 where exists (select 1 from models where id = $2);

-- name: model_events
select at, kind, value, reason from model_events where model_id = $1 order by seq desc limit $2;

-- name: jobs_at_work_on_device
select count(*) as n from jobs where device = $1 and state in ('loading', 'running');
