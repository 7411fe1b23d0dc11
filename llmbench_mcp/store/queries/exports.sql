-- name: selected_jobs
select j.id, j.run_id, j.model_id, j.model_name, j.served_name, j.endpoint_name, j.device, j.suite, j.sampling,
       j.manifest, j.state, j.reason, j.planned, j.done, j.errors, j.passed, j.tokens, j.load_s, j.residency,
       j.energy_j, j.energy_note, j.client_bound, r.state as run_state, j.identity_key, j.sampling_key, j.endpoint_id
from jobs j join runs r on r.id = j.run_id
where ($1 is null or j.model_name = $1 or j.model_id = $1) and ($2 is null or j.suite = $2)
order by r.created_at desc, r.id desc, j.position;

-- name: selected_jobs_of_run
select j.id, j.run_id, j.model_id, j.model_name, j.served_name, j.endpoint_name, j.device, j.suite, j.sampling,
       j.manifest, j.state, j.reason, j.planned, j.done, j.errors, j.passed, j.tokens, j.load_s, j.residency,
       j.energy_j, j.energy_note, j.client_bound, r.state as run_state, j.identity_key, j.sampling_key, j.endpoint_id
from jobs j join runs r on r.id = j.run_id
where j.run_id = $3
  and ($1 is null or j.model_name = $1 or j.model_id = $1)
  and ($2 is null or j.suite = $2)
order by j.position;

-- name: selected_run
select id, state, reason, created_at, started_at, finished_at, interrupted, request from runs where id = $1;

-- name: endpoint_name_now
select name from endpoints where id = $1;

-- name: selected_extent
select count(*) as n from attempts where job_id = $1;

-- name: selected_tasks
select task_id, task_hash, validator, validator_version, count(*) as n
from attempts where job_id = $1
group by task_id, task_hash, validator, validator_version;

-- name: export_attempts
select * from attempts
where job_id = $1 and (task_id, repeat, try) > ($2, $3, $4)
order by task_id, repeat, try limit $5;

-- name: export_answers
select a.*, c.text, c.reasoning, c.tool_calls, c.packed
from attempts a left join completions c on c.attempt_id = a.id
where a.job_id = $1 and (a.task_id, a.repeat, a.try) > ($2, $3, $4)
order by a.task_id, a.repeat, a.try limit $5;

-- name: report_tasks
select task_id, sum(case when passed is null then 0 else 1 end) as graded,
       sum(case when passed = 1 then 1 else 0 end) as passed, avg(score) as score
from attempts
where job_id = $1 and counted = 1 and state in ('done', 'error', 'regrade')
group by task_id order by task_id limit $2;

-- name: report_failures
select failure, n from job_failures where job_id = $1 and n > 0 order by n desc, failure;

-- name: report_wrong
select number, task_id, repeat, score, failure, message from attempts
where job_id = $1 and counted = 1 and state in ('done', 'regrade') and passed = 0
order by task_id, repeat limit $2;

-- name: report_parts
select validator, verdict from attempts
where job_id = $1 and counted = 1 and passed is not null and verdict is not null
order by task_id, repeat limit $2;
