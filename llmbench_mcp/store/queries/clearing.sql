-- name: clear_jobs
select j.id, j.run_id, j.model_name as model, j.suite, j.identity_key, j.sampling_key, j.endpoint_id,
       r.state as run_state, (select count(*) from attempts a where a.job_id = j.id) as attempts
from jobs j join runs r on r.id = j.run_id
where j.run_id = $1
  and ($2 is null or j.model_name = $2 or j.model_id = $2)
  and ($3 is null or j.suite = $3)
order by r.created_at, r.id, j.position;

-- name: clear_groups
select suite, identity_key, sampling_key, endpoint_id from jobs
where ($1 is null or model_name = $1 or model_id = $1) and ($2 is null or suite = $2)
union
select suite, identity_key, sampling_key, endpoint_id from removed_jobs
where ($1 is null or model_name = $1) and ($2 is null or suite = $2);

-- name: clear_group_jobs
select j.id, j.run_id, j.model_name as model, j.suite, j.identity_key, j.sampling_key, j.endpoint_id,
       r.state as run_state, (select count(*) from attempts a where a.job_id = j.id) as attempts
from jobs j join runs r on r.id = j.run_id
where j.suite = $1 and j.identity_key = $2 and j.sampling_key = $3 and j.endpoint_id = $4
order by r.created_at, r.id, j.position;

-- name: clear_group_kept
select (select count(*) from scores
        where suite = $1 and identity_key = $2 and sampling_key = $3 and endpoint_id = $4)
     + (select count(*) from daily_summaries
        where suite = $1 and identity_key = $2 and sampling_key = $3 and endpoint_id = $4) as n;

-- name: clear_bytes
select coalesce(sum(length(c.packed)), 0) + coalesce(sum(length(c.text) + length(c.reasoning)), 0) as n
from attempts a join completions c on c.attempt_id = a.id where a.job_id = $1;

-- name: clear_is_over
select r.id from runs r where r.id = $1 and r.state in ('completed', 'cancelled', 'failed');

-- name: clear_portion
select a.id, a.task_id, a.task_hash, coalesce(a.validator_version, '') as validator_version, a.counted, a.passed,
       a.failure, a.e2e_s, a.energy_j, coalesce(a.completion_tokens, 0) as completion_tokens, a.score,
       coalesce(a.prompt_tokens, 0) + coalesce(a.completion_tokens, 0) as tokens,
       substr(a.finished_at, 1, 10) as day,
       case when a.state in ('done', 'error', 'regrade') then 1 else 0 end as ended
from attempts a where a.job_id = $1 limit $2;

-- name: clear_attempt
delete from attempts where id = $1;

-- name: clear_job_shrinks
update jobs set planned = planned - $2, measured_j = measured_j - $3, measured_tokens = measured_tokens - $4
where id = $1;

-- name: clear_score_refresh
update scores set
    last_at = coalesce((
        select max(s.last_at) from jobs j join attempts a on a.job_id = j.id and a.task_id = $5
        join attempt_scores s on s.attempt_id = a.id
        where j.suite = $1 and j.identity_key = $2 and j.sampling_key = $3 and j.endpoint_id = $4
          and s.task_hash = $6 and s.validator_version = $7), last_at),
    newest_job = coalesce((
        select max(s.newest_job) from jobs j join attempts a on a.job_id = j.id and a.task_id = $5
        join attempt_scores s on s.attempt_id = a.id
        where j.suite = $1 and j.identity_key = $2 and j.sampling_key = $3 and j.endpoint_id = $4
          and s.task_hash = $6 and s.validator_version = $7), newest_job)
where suite = $1 and identity_key = $2 and sampling_key = $3 and endpoint_id = $4
  and task_id = $5 and task_hash = $6 and validator_version = $7;

-- name: clear_score_empty
delete from scores
where suite = $1 and identity_key = $2 and sampling_key = $3 and endpoint_id = $4
  and task_id = $5 and task_hash = $6 and validator_version = $7 and graded = 0 and errors = 0;

-- name: clear_day
update daily_summaries set
    score = case when graded > $6 then (coalesce(score, 0) * graded - $9) / (graded - $6) end,
    graded = graded - $6, errors = errors - $7, passed = passed - $8
where day = $1 and suite = $2 and identity_key = $3 and sampling_key = $4 and endpoint_id = $5;

-- name: clear_day_empty
delete from daily_summaries
where day = $1 and suite = $2 and identity_key = $3 and sampling_key = $4 and endpoint_id = $5
  and graded + errors <= 0;

-- name: clear_days_left
select substr(a.finished_at, 1, 10) as day,
       sum(case when a.passed is null then 0 else 1 end) as graded,
       sum(case when a.passed is null then 1 else 0 end) as errors,
       sum(case when a.passed = 1 then 1 else 0 end) as passed,
       avg(case when a.passed is null then null else a.score end) as score,
       avg(a.decode_tps) as decode_tps, avg(a.ttft_s) as ttft_s
from jobs j join attempts a on a.job_id = j.id
where j.suite = $1 and j.identity_key = $2 and j.sampling_key = $3 and j.endpoint_id = $4
  and a.counted = 1 and a.state in ('done', 'error', 'regrade')
group by day;

-- name: clear_day_exact
update daily_summaries
set graded = $6, errors = $7, passed = $8, score = $9, decode_tps = $10, ttft_s = $11
where day = $1 and suite = $2 and identity_key = $3 and sampling_key = $4 and endpoint_id = $5
  and graded + errors = $6 + $7;

-- name: clear_job_label
insert into removed_jobs (id, suite, identity_key, sampling_key, endpoint_id, served_name, model_name, endpoint_name,
                          device, manifest, created_at)
select j.id, j.suite, j.identity_key, j.sampling_key, j.endpoint_id, j.served_name, j.model_name, j.endpoint_name,
       j.device, j.manifest, j.created_at
from jobs j
where j.id = $1 and exists (
    select 1 from scores s
    where s.suite = j.suite and s.identity_key = j.identity_key and s.sampling_key = j.sampling_key
      and s.endpoint_id = j.endpoint_id and s.newest_job = j.created_at || ' ' || j.id)
on conflict (id) do nothing;

-- name: clear_job
delete from jobs where id = $1 and not exists (select 1 from attempts a where a.job_id = jobs.id);

-- name: clear_run
delete from runs where id = $1 and not exists (select 1 from jobs j where j.run_id = runs.id);

-- name: clear_run_attempts
select 1 as held from attempts where run_id = $1 limit 1;

-- name: clear_group_attempts
select 1 as held from jobs j join attempts a on a.job_id = j.id
where j.suite = $1 and j.identity_key = $2 and j.sampling_key = $3 and j.endpoint_id = $4 limit 1;

-- name: clear_group_scores
delete from scores where suite = $1 and identity_key = $2 and sampling_key = $3 and endpoint_id = $4;

-- name: clear_group_removed_jobs
delete from removed_jobs where suite = $1 and identity_key = $2 and sampling_key = $3 and endpoint_id = $4;

-- name: clear_group_removed_sums
delete from removed_sums where suite = $1 and identity_key = $2 and sampling_key = $3 and endpoint_id = $4;

-- name: clear_group_days
delete from daily_summaries where suite = $1 and identity_key = $2 and sampling_key = $3 and endpoint_id = $4;
