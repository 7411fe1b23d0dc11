-- name: retry_errors
select a.id, a.job_id, a.task_id, a.task_hash, a.repeat, a.passed, a.failure, (
    select max(b.try) from attempts b where b.job_id = a.job_id and b.task_id = a.task_id and b.repeat = a.repeat
) as tries
from attempts a where a.run_id = $1 and a.state = 'error' and a.counted = 1 order by a.number;

-- name: answers_unproven
select a.id, a.job_id, a.task_id, a.task_hash, a.repeat, a.passed, a.failure, (
    select max(b.try) from attempts b where b.job_id = a.job_id and b.task_id = a.task_id and b.repeat = a.repeat
) as tries
from attempts a
where a.job_id = $1 and a.state = 'done' and a.counted = 1
  and a.finished_at > coalesce((
      select max(e.at) from events e
      where e.run_id = a.run_id and e.kind in ('job_done', 'job_cancelled') and e.data like '%' || $1 || '%'), '')
order by a.number;

-- name: retry_failures
select a.id, a.job_id, a.task_id, a.task_hash, a.repeat, (
    select max(b.try) from attempts b where b.job_id = a.job_id and b.task_id = a.task_id and b.repeat = a.repeat
) as tries
from attempts a where a.run_id = $1 and a.state = 'done' and a.passed = 0 and a.counted = 1 order by a.number;

-- name: retry_last_number
select coalesce(max(number), 0) as n from attempts where run_id = $1;

-- name: retry_insert
insert into attempts (id, run_id, job_id, number, task_id, task_hash, repeat, try, counted, state)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'pending');

-- name: retry_discount
update attempts set counted = 0 where id = $1;

-- name: retry_uncancel
update attempts set state = 'pending', started_at = null where run_id = $1 and state = 'cancelled';

-- name: retry_jobs
update jobs set state = 'pending', reason = null, step = null, outage_since = null, not_before = null
where run_id = $1 and exists (select 1 from attempts a where a.job_id = jobs.id and a.state = 'pending');

-- name: retry_run
update runs set state = 'queued', reason = null, cancel_requested = 0,
    finished_at = case when $2 = 'regrade' then finished_at end
where id = $1 and state in ('completed', 'cancelled', 'failed');

-- name: run_limits_lift
update runs set limits = null where id = $1;

-- name: regrade_mark
update attempts set state = 'regrade'
where run_id = $1 and state in ('done', 'error')
  and (state = 'done' or failure = 'validator_error')
  and exists (select 1 from completions c where c.attempt_id = attempts.id);

-- name: regrade_runs
select distinct run_id from attempts where state = 'regrade';

-- name: regrade_next
select a.id, a.run_id, a.job_id, a.task_id, coalesce(a.regrade_hash, a.task_hash) as task_hash, a.repeat,
       a.try as tries, a.counted, a.finish_reason, a.validator_version, c.text, c.reasoning, c.tool_calls, c.packed
from attempts a join completions c on c.attempt_id = a.id
where a.state = 'regrade' order by a.run_id, a.number limit $1;

-- name: regrade_finish
update attempts
set state = $2, passed = $3, score = $4, confidence = $5, failure = $6, message = $7, validator = $8,
    validator_version = $9, extractor = $10, isolation = $11, verdict = $12,
    task_hash = coalesce(regrade_hash, task_hash), regrade_hash = null
where id = $1 and state = 'regrade';

-- name: regrade_left
select 1 as held from attempts where run_id = $1 and state = 'regrade' limit 1;

-- name: regrade_waits
select counted, passed, failure from attempts
where id = $1 and state = 'regrade' and coalesce(regrade_hash, task_hash) = $2;

-- name: regrade_give_up
update attempts set state = case when passed is null then 'error' else 'done' end
where run_id = $1 and state = 'regrade';

-- name: regrade_forget_hashes
update attempts set regrade_hash = null where run_id = $1 and regrade_hash is not null;

-- name: regrade_ungraded
select id from attempts where run_id = $1 and regrade_hash is not null;

-- name: regrade_move
update attempts set task_hash = regrade_hash, regrade_hash = null where id = $1 and regrade_hash is not null;

-- name: retry_tasks
select hash, body from tasks where hash in (select distinct task_hash from attempts where run_id = $1);

-- name: regrade_hash
update attempts set regrade_hash = $3 where run_id = $1 and task_hash = $2;
