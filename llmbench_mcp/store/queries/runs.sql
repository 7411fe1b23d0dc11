-- name: run_insert
insert into runs (id, idempotency_key, state, request, request_hash, priority, keep_loaded, limits, created_at)
values ($1, $2, 'queued', $3, $4, $5, $6, $7, $8);

-- name: run_by_idempotency_key
select id, request_hash from runs where idempotency_key = $1;

-- name: run_open_among
select id from runs
where substr(idempotency_key, 1, length($1)) = $1 and state in ('queued', 'running', 'paused')
limit 1;

-- name: job_insert
insert into jobs (id, run_id, position, model_id, model_name, served_name, endpoint_id, endpoint_name, device, suite,
                  sampling, sampling_key, identity_key, manifest, state, planned, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 'pending', $15, $16);

-- name: task_insert
insert into tasks (hash, task_id, body) values ($1, $2, $3) on conflict (hash) do nothing;

-- name: attempt_insert
insert into attempts (id, run_id, job_id, number, task_id, task_hash, repeat, state)
values ($1, $2, $3, $4, $5, $6, $7, 'pending');

-- name: run_get
select r.*, case when r.making = 1 then (select max(a.number) from attempts a where a.run_id = r.id) end as written
from runs r where r.id = $1;

-- name: runs_page
select r.*, coalesce(sum(j.done), 0) as done, coalesce(sum(j.errors), 0) as errors,
       coalesce(sum(j.passed), 0) as passed, coalesce(sum(j.planned), 0) as planned,
       coalesce(sum(j.tokens), 0) as tokens,
       case when r.making = 1 then (select max(a.number) from attempts a where a.run_id = r.id) end as written
from (select * from runs order by created_at desc, id desc limit $1 offset $2) r
left join jobs j on j.run_id = r.id
group by r.id
order by r.created_at desc, r.id desc;

-- name: runs_count
select count(*) as n from runs;

-- name: runs_listed
select r.*, coalesce(sum(j.done), 0) as done, coalesce(sum(j.errors), 0) as errors,
       coalesce(sum(j.passed), 0) as passed, coalesce(sum(j.planned), 0) as planned,
       coalesce(sum(j.tokens), 0) as tokens,
       case when r.making = 1 then (select max(a.number) from attempts a where a.run_id = r.id) end as written
from (
    select * from runs
    where ($1 is null or state = $1 or ($1 = 'open' and state in ('queued', 'running', 'paused')))
      and (($2 is null and $3 is null) or exists (
            select 1 from jobs k where k.run_id = runs.id and ($2 is null or k.model_name = $2 or k.model_id = $2)
                                   and ($3 is null or k.suite = $3)))
      and ($4 is null or lower(id) like $4 escape '!' or lower(coalesce(reason, '')) like $4 escape '!' or exists (
            select 1 from jobs k where k.run_id = runs.id and (
                lower(k.model_name) like $4 escape '!' or lower(k.endpoint_name) like $4 escape '!'
                or lower(k.suite) like $4 escape '!')))
    order by created_at desc, id desc limit $5 offset $6
) r
left join jobs j on j.run_id = r.id
group by r.id
order by r.created_at desc, r.id desc;

-- name: runs_listed_count
select count(*) as n from runs
where ($1 is null or state = $1 or ($1 = 'open' and state in ('queued', 'running', 'paused')))
  and (($2 is null and $3 is null) or exists (
        select 1 from jobs k where k.run_id = runs.id and ($2 is null or k.model_name = $2 or k.model_id = $2)
                               and ($3 is null or k.suite = $3)))
  and ($4 is null or lower(id) like $4 escape '!' or lower(coalesce(reason, '')) like $4 escape '!' or exists (
        select 1 from jobs k where k.run_id = runs.id and (
            lower(k.model_name) like $4 escape '!' or lower(k.endpoint_name) like $4 escape '!'
            or lower(k.suite) like $4 escape '!')));

-- name: run_labels
select model_name, suite from jobs where run_id = $1 order by position;

-- name: runs_unfinished
select count(*) as n from runs where state in ('queued', 'running', 'paused');

-- name: runs_unfinished_ids
select id from runs where state in ('queued', 'running', 'paused') order by created_at, id;

-- name: run_jobs
select j.id, j.run_id, j.model_id, j.model_name as model, j.served_name, j.endpoint_id, j.endpoint_name as endpoint,
       j.device, j.suite, j.sampling, j.state, j.reason, r.priority, j.planned, j.done, j.errors, j.passed, j.load_s,
       j.residency, j.step, j.interrupted, j.created_at, r.keep_loaded, j.energy_j, j.energy_note, j.client_bound
from jobs j join runs r on r.id = j.run_id where j.run_id = $1 order by j.position;

-- name: run_open_work
select j.suite, j.identity_key, j.endpoint_id, j.device, j.planned, j.done + j.errors as ended, j.timed, j.seconds,
       j.tokens, coalesce(e.concurrency, 1) as at_once,
       case when exists (select 1 from attempts a where a.job_id = j.id and a.state = 'pending') then 1 else 0
       end as waits
from jobs j left join endpoints e on e.id = j.endpoint_id
where j.run_id = $1 and j.state in ('pending', 'loading', 'running')
order by j.position;

-- name: run_past_paces
select p.suite, p.identity_key, p.endpoint_id, sum(p.timed) as timed, sum(p.seconds) as seconds,
       sum(p.tokens) as tokens, sum(p.done + p.errors) as ended
from (select distinct suite, identity_key, endpoint_id from jobs
      where run_id = $1 and state in ('pending', 'loading', 'running')) k
join jobs p on p.suite = k.suite and p.identity_key = k.identity_key and p.endpoint_id = k.endpoint_id
group by p.suite, p.identity_key, p.endpoint_id;

-- What another run has at work where this one has something to do.
-- name: run_kept_waiting_by
select o.run_id, o.device from jobs o
where o.state in ('pending', 'loading', 'running') and o.state != 'pending' and o.run_id != $1
  and exists (select 1 from jobs p
              where p.run_id = $1 and p.state = 'pending' and p.device = o.device
                and (p.device != $2 or p.endpoint_id = o.endpoint_id))
order by o.created_at, o.position limit 1;

-- name: jobs_open
select j.id, j.run_id, j.device, j.endpoint_id, j.served_name, r.priority, j.created_at
from jobs j join runs r on r.id = j.run_id
where j.state in ('pending', 'loading', 'running') and r.cancel_requested = 0 and r.making = 0
order by j.created_at, j.position;

-- name: run_making
update runs set making = $2 where id = $1;

-- name: run_is_making
select 1 as yes from runs
where id = $1 and making = 1 and state in ('queued', 'running', 'paused') and cancel_requested = 0;

-- name: run_cancel_left_behind
update attempts set state = 'cancelled'
where run_id = $1 and state = 'pending'
  and job_id in (select id from jobs where run_id = $1 and state not in ('pending', 'loading', 'running'));

-- name: runs_being_written
select r.id, r.created_at, l.host, l.boot_id, l.pid, l.expires_mono
from runs r left join leases l on l.scope = 'writing:' || r.id
where r.making = 1 and r.state in ('queued', 'running', 'paused');

-- name: run_free_key
update runs set idempotency_key = null where id = $1 and making = 1;

-- name: job_get
select j.id, j.run_id, j.model_id, j.model_name as model, j.served_name, j.endpoint_id, j.endpoint_name as endpoint,
       j.device, j.suite, j.sampling, j.state, j.reason, r.priority, j.planned, j.done, j.errors, j.passed, j.load_s,
       j.residency, j.step, j.interrupted, j.created_at, r.keep_loaded, j.energy_j, j.energy_note, j.client_bound, j.manifest
from jobs j join runs r on r.id = j.run_id where j.id = $1;

-- name: run_failures
select f.failure, sum(f.n) as n
from job_failures f join jobs j on j.id = f.job_id
where j.run_id = $1 and f.n > 0
group by f.failure;

-- name: history_paces
select s.task_id, sum(s.e2e_sum) / sum(s.e2e_n) as mean_s, sum(s.tokens) * 1.0 / sum(s.e2e_n) as answer_tokens
from (select distinct suite, identity_key from jobs where model_id = $1 and endpoint_id = $2) j
join scores s on s.suite = j.suite and s.identity_key = j.identity_key
where s.e2e_n > 0 and s.endpoint_id = $2
group by s.task_id;

-- name: run_state
update runs set state = $2, reason = $3 where id = $1 and state in ('queued', 'running', 'paused');

-- name: run_started
update runs set state = 'running', reason = null, started_at = coalesce(started_at, $2)
where id = $1 and state in ('queued', 'paused');

-- The end of asking, which grading again leaves as it is.
-- name: run_finished
update runs set state = $2, reason = $3, finished_at = coalesce(finished_at, $4) where id = $1 and state in ('queued', 'running', 'paused');

-- name: run_request_cancel
update runs set cancel_requested = 1 where id = $1 and state in ('queued', 'running', 'paused');

-- name: run_cancel_requests
select id from runs where cancel_requested = 1 and state in ('queued', 'running', 'paused');

-- name: run_is_to_be_cancelled
select 1 as yes from runs where id = $1 and cancel_requested = 1 and state in ('queued', 'running', 'paused');

-- name: run_cancel_pending_attempts
update attempts set state = 'cancelled', failure = null where run_id = $1 and state = 'pending';

-- name: run_cancel_all_attempts
update attempts set state = 'cancelled' where run_id = $1 and state in ('pending', 'generating', 'grading');

-- name: run_looks_cancelled
select 1 as yes from attempts where run_id = $1 and state = 'cancelled' and counted = 0 limit 1;

-- name: run_cancel_jobs
update jobs set state = 'cancelled', step = null where run_id = $1 and state in ('pending', 'loading', 'running');

-- name: device_open_runs
select distinct run_id from jobs where device = $1 and state in ('pending', 'loading', 'running')
order by run_id;

-- name: device_cancel_attempts
update attempts set state = 'cancelled', failure = null
where state in ('pending', 'generating', 'grading')
  and job_id in (select id from jobs where run_id = $1 and device = $2 and state in ('pending', 'loading', 'running'));

-- name: device_cancel_jobs
update jobs set state = 'cancelled', reason = $3, step = null
where run_id = $1 and device = $2 and state in ('pending', 'loading', 'running');

-- name: run_jobs_at_work
select count(*) as n from jobs where run_id = $1 and state in ('loading', 'running');

-- name: run_open_jobs
select count(*) as n from jobs where run_id = $1 and state in ('pending', 'loading', 'running');

-- name: run_totals
select coalesce(sum(done), 0) as done, coalesce(sum(errors), 0) as errors, coalesce(sum(passed), 0) as passed,
       coalesce(sum(planned), 0) as planned, coalesce(sum(tokens), 0) as tokens,
       case when sum(timed) > 0 then sum(seconds) / sum(timed) end as mean_s
from jobs where run_id = $1;

-- name: job_state
update jobs set state = $2, reason = $3, step = $4 where id = $1 and state in ('pending', 'loading', 'running');

-- name: job_waits_again
select 1 as yes from jobs j
where j.id = $1 and j.state = 'pending'
  and exists (select 1 from attempts a where a.job_id = j.id and a.state = 'pending');

-- name: job_remark
update jobs set residency = $2 where id = $1;

-- name: job_step
update jobs set step = $2 where id = $1;

-- name: job_loaded
update jobs set state = 'running', load_s = $2, residency = $3, outage_since = null, not_before = null, reason = null
where id = $1 and state in ('pending', 'loading');

-- name: job_postpone
update jobs set state = 'pending', reason = $2, step = null, outage_since = coalesce(outage_since, $3)
where id = $1 and state in ('pending', 'loading', 'running');

-- name: job_outage
select outage_since from jobs where id = $1;

-- name: jobs_interrupt
update jobs set state = 'pending', interrupted = interrupted + 1, step = null where state in ('loading', 'running');

-- name: attempts_worn_out
select id, job_id, state, interrupted, counted, prompt_tokens, completion_tokens from attempts
where state in ('generating', 'grading') and interrupted + 1 >= $1
order by case state when 'grading' then 0 else 1 end, started_at desc
limit 1;

-- name: attempt_give_up
update attempts
set state = 'error', failure = $2, message = $3, finished_at = $4, interrupted = interrupted + 1
where id = $1;

-- name: attempts_interrupt
update attempts set state = 'pending', interrupted = interrupted + 1 where state in ('generating', 'grading');

-- name: runs_interrupted
select distinct run_id from jobs where state in ('loading', 'running')
union
select distinct run_id from attempts where state in ('generating', 'grading');

-- name: run_interrupt
update runs set interrupted = interrupted + 1 where id = $1;

-- name: event_insert
insert into events (at, run_id, kind, data) values ($1, $2, $3, $4);

-- name: run_use
select coalesce(sum(done + errors), 0) as attempts, coalesce(sum(tokens), 0) as tokens from jobs where run_id = $1;

-- name: run_reason
update runs set reason = $2 where id = $1 and state in ('queued', 'running', 'paused');

-- name: run_in_flight
select count(*) as attempts, coalesce(sum(coalesce(prompt_tokens, 0) + coalesce(completion_tokens, 0)), 0) as tokens
from attempts where run_id = $1 and state in ('generating', 'grading');

-- name: run_cancel_pending_jobs
update jobs set state = 'cancelled', step = null where run_id = $1 and state = 'pending';

-- name: job_left
select planned - done - errors as n from jobs where id = $1;

-- name: job_client_bound
update jobs set client_bound = coalesce($2, client_bound),
    speed_bound = case when $3 = 1 then 1 else speed_bound end
where id = $1;
