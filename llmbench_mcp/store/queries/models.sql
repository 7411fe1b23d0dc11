-- name: models_all
select * from models order by name, id;

-- name: homes_all
select h.model_id, h.endpoint_id, e.name as endpoint_name, h.served_name, h.present
from homes h join endpoints e on e.id = h.endpoint_id
order by e.name, h.served_name;

-- name: homes_of_endpoint
select * from homes where endpoint_id = $1;

-- name: model_by_digest
select id from models where digest = $1;

-- name: model_homeless
select id from models
where name = $1 and digest is null and (quantisation is null or $2 is null or quantisation = $2)
  and not exists (select 1 from homes where homes.model_id = models.id and homes.present = 1)
order by last_seen desc limit 1;

-- name: models_abandoned
update models set status = 'missing', status_reason = 'no endpoint offers it any more'
where status <> 'missing' and not exists (select 1 from homes where homes.model_id = models.id);

-- name: models_forgotten
delete from models
where status = 'new' and not exists (select 1 from homes where homes.model_id = models.id)
  and not exists (select 1 from jobs where jobs.model_id = models.id);

-- name: model_insert
insert into models (id, name, status, digest, family, parameter_count, quantisation, size_bytes, context_length,
                    capabilities, first_seen, last_seen)
values ($1, $2, 'new', $3, $4, $5, $6, $7, $8, $9, $10, $10);

-- name: model_refresh
update models
set family = coalesce($2, family), parameter_count = coalesce($3, parameter_count),
    quantisation = coalesce($4, quantisation), size_bytes = coalesce($5, size_bytes),
    context_length = coalesce($6, context_length), capabilities = $7, last_seen = $8
where id = $1;

-- name: home_upsert
insert into homes (model_id, endpoint_id, served_name, present, last_seen) values ($1, $2, $3, 1, $4)
on conflict (endpoint_id, served_name) do update
set model_id = excluded.model_id, present = 1, last_seen = excluded.last_seen;

-- name: home_gone
update homes set present = 0 where endpoint_id = $1 and served_name = $2;

-- name: model_homes_left
select count(*) as n from homes where model_id = $1 and present = 1;

-- name: model_status
update models set status = $2, status_reason = $3 where id = $1;

-- name: model_assign
update models set assigned_endpoint_id = $2, status = $3, status_reason = null where id = $1;

-- name: model_delete
delete from models where id = $1;

-- name: model_back
update models
set status = case when assigned_endpoint_id is null then 'new' else 'active' end, status_reason = null
where id = $1 and status = 'missing';

-- name: model_without_history
select id from models
where id = $1 and status = 'new' and not exists (select 1 from jobs where jobs.model_id = models.id);
