-- name: leaderboard_tasks
select j.identity_key, j.sampling_key, j.model_id, j.endpoint_id, a.task_id, a.task_hash, a.validator_version,
       max(j.created_at || ' ' || j.id) as newest_job,
       sum(case when a.state = 'done' then 1 else 0 end) as graded,
       sum(case when a.state = 'error' then 1 else 0 end) as errors,
       sum(case when a.passed = 1 then 1 else 0 end) as passed,
       sum(case when a.state = 'done' and a.failure in ('empty', 'refusal', 'no_code', 'syntax_error', 'import_error',
                'missing_function', 'malformed_call', 'call_in_text', 'format', 'budget_exhausted')
           then 1 else 0 end) as non_logic,
       avg(case when a.state = 'done' then a.score end) as mean_score,
       avg(a.decode_tps) as decode_tps, avg(a.prefill_tps) as prefill_tps, avg(a.ttft_s) as ttft_s,
       avg(a.e2e_s) as e2e_s,
       sum(coalesce(a.completion_tokens, 0)) as tokens,
       count(distinct a.run_id) as runs, max(a.finished_at) as last_at
from attempts a join jobs j on j.id = a.job_id
where j.suite = $1 and a.state in ('done', 'error')
group by j.identity_key, j.sampling_key, j.model_id, j.endpoint_id, a.task_id, a.task_hash, a.validator_version;

-- name: job_labels
select id, model_name, endpoint_name, device, manifest from jobs where id = $1;

-- name: leaderboard_runs
select j.identity_key, j.sampling_key, j.model_id, j.endpoint_id, count(distinct j.run_id) as runs
from jobs j where j.suite = $1
group by j.identity_key, j.sampling_key, j.model_id, j.endpoint_id;

-- name: suites_with_results
select distinct suite from jobs order by suite;
