-- Of runs that are open or ended after $1: what costs the same however long the history is.
-- name: metrics_jobs
select j.id, j.endpoint_name as endpoint, j.model_name as model, j.state, j.created_at, j.planned, j.done, j.errors,
       j.passed, j.tokens, r.state as run_state, j.suite, j.identity_key, j.sampling_key, j.endpoint_id
from (select id, state from runs where state in ('queued', 'running', 'paused')
      union select id, state from runs where finished_at is not null and finished_at >= $1) r
join jobs j on j.run_id = r.id;

-- name: metrics_failures
select j.id, j.created_at, j.endpoint_name as endpoint, f.failure, f.n
from (select id from runs where state in ('queued', 'running', 'paused')
      union select id from runs where finished_at is not null and finished_at >= $1) r
join jobs j on j.run_id = r.id
join job_failures f on f.job_id = j.id;

-- name: metrics_speeds
select k.endpoint, k.model, s.suite, s.identity_key, s.sampling_key, s.endpoint_id,
       sum(s.decode_sum) as decode_sum, sum(s.decode_n) as decode_n, sum(s.ttft_sum) as ttft_sum, sum(s.ttft_n) as ttft_n
from (select distinct j.suite, j.identity_key, j.sampling_key, j.endpoint_id, j.endpoint_name as endpoint,
                      j.model_name as model
      from (select id from runs where state in ('queued', 'running', 'paused')
            union select id from runs where finished_at is not null and finished_at >= $1) r
      join jobs j on j.run_id = r.id) k
join scores s on s.suite = k.suite and s.identity_key = k.identity_key and s.sampling_key = k.sampling_key
             and s.endpoint_id = k.endpoint_id
group by k.endpoint, k.model, s.suite, s.identity_key, s.sampling_key, s.endpoint_id;

-- name: metrics_job_speeds
select coalesce(sum(decode_tps), 0) as decode_sum, count(decode_tps) as decode_n, coalesce(sum(ttft_s), 0) as ttft_sum,
       count(ttft_s) as ttft_n
from attempts where job_id = $1 and counted = 1 and state in ('done', 'error', 'regrade');

-- name: metrics_runs
select state, count(*) as n from runs where state in ('queued', 'running', 'paused') group by state;

-- name: metrics_in_flight
select count(*) as n from attempts where state in ('generating', 'grading');
