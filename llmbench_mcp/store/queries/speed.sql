-- name: speed_attempts
select j.id as job_id, j.model_name as model, j.endpoint_name as endpoint, j.suite, a.task_id, a.task_hash, a.state,
       a.started_at, a.ttft_s, a.e2e_s, a.decode_tps, a.prompt_tokens, a.completion_tokens
from attempts a join jobs j on j.id = a.job_id
where a.run_id = $1 and a.counted = 1 and a.state in ('done', 'error', 'regrade')
  and a.task_hash in (select t.hash from tasks t where t.body like '%"load":{"concurrency":%')
order by a.number;

-- name: speed_task
select body from tasks where hash = $1;
