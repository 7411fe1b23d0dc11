-- name: attempts_pending
select a.id, a.run_id, a.job_id, a.task_id, a.task_hash, a.repeat, a.try as tries, a.interrupted, a.counted
from attempts a where a.job_id = $1 and a.state = 'pending' order by a.number limit $2;

-- name: attempt_claim
update attempts set state = 'generating', started_at = $2, prompt_tokens = null, completion_tokens = null
where id = $1 and state = 'pending';

-- name: attempt_grading
update attempts set state = 'grading', prompt_tokens = $2, completion_tokens = $3
where id = $1 and state = 'generating';

-- name: attempt_release
update attempts set state = 'pending', started_at = null where id = $1 and state in ('generating', 'grading');

-- name: task_body
select task_id, body from tasks where hash = $1;

-- name: attempt_finish
update attempts
set state = $2, passed = $3, score = $4, confidence = $5, failure = $6, message = $7, validator = $8,
    validator_version = $9, extractor = $10, isolation = $11, verdict = $12, retries = $13, host = $14, boot_id = $15,
    device = $16, worker = $17, finished_at = $18
where id = $1 and state in ('pending', 'generating', 'grading');

-- name: attempt_measured
update attempts
set finish_reason = $2, prompt_tokens = $3, completion_tokens = $4, reasoning_tokens = $5, tokens_estimated = $6,
    ttft_s = $7, ttfat_s = $8, e2e_s = $9, itl_p50_s = $10, itl_p95_s = $11, itl_p99_s = $12, decode_tps = $13,
    prefill_tps = $14, server_timings = $15, answered_as = $16
where id = $1;

-- name: completion_insert
insert into completions (attempt_id, text, reasoning, tool_calls, packed) values ($1, '', '', '', $2)
on conflict (attempt_id) do nothing;

-- name: attempts_fail_pending
update attempts set state = 'error', failure = $2, message = $3, finished_at = $4
where job_id = $1 and state in ('pending', 'generating', 'grading');

-- name: attempts_cancel_open
update attempts set state = 'cancelled', failure = null
where job_id = $1 and state in ('pending', 'generating', 'grading');

-- name: attempts_cancel_of_cancelled
update attempts set state = 'cancelled'
where job_id = $1 and state = 'pending' and exists (select 1 from jobs j where j.id = $1 and j.state = 'cancelled');

-- name: attempts_page
select a.*, j.model_name, j.endpoint_name, j.suite, j.sampling
from attempts a join jobs j on j.id = a.job_id
where a.run_id = $1 and a.number in (select number from attempts where run_id = $1 order by number limit $2 offset $3)
order by a.number;

-- name: attempts_count
select count(*) as n from attempts where run_id = $1;

-- name: attempts_page_failed
select a.*, j.model_name, j.endpoint_name, j.suite, j.sampling
from attempts a join jobs j on j.id = a.job_id
where a.run_id = $1 and a.number in (
    select number from attempts
    where run_id = $1 and (state = 'error' or (state = 'done' and passed = 0)) and ($2 is null or failure = $2)
    order by number limit $3 offset $4)
order by a.number;

-- name: attempts_count_failed
select count(*) as n from attempts
where run_id = $1 and (state = 'error' or (state = 'done' and passed = 0)) and ($2 is null or failure = $2);

-- name: attempts_page_of_jobs
select a.*, j.model_name, j.endpoint_name, j.suite, j.sampling
from jobs j join attempts a on a.job_id = j.id
where j.run_id = $1
  and ($2 is null or j.model_name = $2 or j.model_id = $2)
  and ($3 is null or j.suite = $3)
  and ($4 is null or a.failure = $4)
  and ($5 = 0 or (a.state = 'done' and a.passed = 0) or a.state = 'error')
order by a.number limit $6 offset $7;

-- name: attempts_count_of_jobs
select count(*) as n
from jobs j join attempts a on a.job_id = j.id
where j.run_id = $1
  and ($2 is null or j.model_name = $2 or j.model_id = $2)
  and ($3 is null or j.suite = $3)
  and ($4 is null or a.failure = $4)
  and ($5 = 0 or (a.state = 'done' and a.passed = 0) or a.state = 'error');

-- name: attempt_by_number
select a.*, j.model_name, j.endpoint_name, j.suite, j.sampling, c.text, c.reasoning, c.tool_calls, c.packed
from attempts a join jobs j on j.id = a.job_id left join completions c on c.attempt_id = a.id
where a.run_id = $1 and a.number = $2;

-- name: attempt_numbers
select min(number) as least, max(number) as most, count(*) as n from attempts where run_id = $1;

-- name: attempts_reset
update attempts set state = 'pending' where job_id = $1 and state in ('generating', 'grading');
