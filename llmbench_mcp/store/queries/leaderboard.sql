-- name: leaderboard_mark
select mark from suite_marks where suite = $1;

-- name: leaderboard_tasks
select identity_key, sampling_key, endpoint_id, task_id, task_hash, validator_version, newest_job, graded, errors,
       passed, non_logic,
       case when graded > 0 then score_sum / graded end as mean_score,
       case when decode_n > 0 then decode_sum / decode_n end as decode_tps,
       case when prefill_n > 0 then prefill_sum / prefill_n end as prefill_tps,
       case when ttft_n > 0 then ttft_sum / ttft_n end as ttft_s,
       case when e2e_n > 0 then e2e_sum / e2e_n end as e2e_s,
       nullif(tokens, 0) as tokens, last_at, non_logic_score
from scores where suite = $1;

-- name: job_labels
select id, model_name, endpoint_name, device, manifest from jobs where id = $1
union all
select id, model_name, endpoint_name, device, manifest from removed_jobs where id = $1;

-- name: leaderboard_runs
select identity_key, sampling_key, endpoint_id, sum(runs) as runs, sum(speed_bound) as speed_bound from (
    select j.identity_key, j.sampling_key, j.endpoint_id, count(distinct j.run_id) as runs,
           count(distinct case when j.speed_bound = 1 then j.run_id end) as speed_bound
    from jobs j where j.suite = $1
    group by j.identity_key, j.sampling_key, j.endpoint_id
    union all
    select identity_key, sampling_key, endpoint_id, runs, speed_bound from removed_sums where suite = $1
) as counted
group by identity_key, sampling_key, endpoint_id;

-- name: suite_last_asked
select task_id, task_hash, max(coalesce(last_at, '')) as last_at from scores where suite = $1
group by task_id, task_hash order by last_at, task_hash;

-- name: suite_newest_manifest
select (select manifest from (
            select created_at, id, manifest from jobs where suite = $1
            union all
            select created_at, id, manifest from removed_jobs where suite = $1) as made
        order by created_at desc, id desc limit 1) as manifest
where exists (select 1 from jobs where suite = $1) or exists (select 1 from removed_sums where suite = $1);

-- name: suites_with_results
select suite from jobs union select suite from removed_sums order by suite;

-- name: run_tasks
select s.identity_key, s.sampling_key, s.endpoint_id, s.task_id, s.task_hash, s.validator_version,
       max(s.newest_job) as newest_job, sum(s.graded) as graded, sum(s.errors) as errors, sum(s.passed) as passed,
       sum(s.non_logic) as non_logic,
       case when sum(s.graded) > 0 then sum(s.score) / sum(s.graded) end as mean_score,
       avg(s.decode_tps) as decode_tps, avg(s.prefill_tps) as prefill_tps, avg(s.ttft_s) as ttft_s,
       avg(s.e2e_s) as e2e_s, nullif(sum(s.tokens), 0) as tokens, max(s.last_at) as last_at,
       sum(s.non_logic_score) as non_logic_score
from jobs j join attempts a on a.job_id = j.id join attempt_scores s on s.attempt_id = a.id
where j.run_id = $1 and j.suite = $2
group by s.identity_key, s.sampling_key, s.endpoint_id, s.task_id, s.task_hash, s.validator_version;

-- name: run_extent
select count(distinct a.task_id) as tasks, max(a.repeat) as repeats
from jobs j join attempts a on a.job_id = j.id where j.run_id = $1 and j.suite = $2;
