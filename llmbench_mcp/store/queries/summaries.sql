-- name: summary_runs
select id from runs
where created_at < $2 and (finished_at is null or finished_at >= $1)
order by created_at;

-- name: summary_of_run
select substr(a.finished_at, 1, 10) as day, j.suite, j.identity_key, j.sampling_key, j.endpoint_id, j.model_name,
       j.endpoint_name, j.sampling, max(j.manifest) as manifest,
       sum(case when a.passed is null then 0 else 1 end) as graded,
       sum(case when a.passed is null then 1 else 0 end) as errors,
       sum(case when a.passed = 1 then 1 else 0 end) as passed,
       coalesce(sum(case when a.passed is null then 0 else a.score end), 0) as score_sum,
       coalesce(sum(a.decode_tps), 0) as decode_sum, count(a.decode_tps) as decode_n,
       coalesce(sum(a.ttft_s), 0) as ttft_sum, count(a.ttft_s) as ttft_n
from attempts a join jobs j on j.id = a.job_id
where a.run_id = $1 and a.counted = 1 and a.state in ('done', 'error', 'regrade')
  and a.finished_at >= $2 and a.finished_at < $3 and ($4 is null or j.model_name = $4)
group by day, j.suite, j.identity_key, j.sampling_key, j.endpoint_id, j.model_name, j.endpoint_name, j.sampling;

-- name: summary_put
insert into daily_summaries (day, suite, identity_key, sampling_key, endpoint_id, model_name, endpoint_name, sampling,
                             digest, server_version, suite_version, graded, errors, passed, score, decode_tps, ttft_s)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
on conflict (day, suite, identity_key, sampling_key, endpoint_id) do update
set model_name = excluded.model_name, endpoint_name = excluded.endpoint_name, sampling = excluded.sampling,
    digest = excluded.digest, server_version = excluded.server_version, suite_version = excluded.suite_version,
    graded = excluded.graded, errors = excluded.errors, passed = excluded.passed, score = excluded.score,
    decode_tps = excluded.decode_tps, ttft_s = excluded.ttft_s;

-- name: summaries_of_model
select day, model_name, endpoint_name, suite, sampling, digest, server_version, suite_version, graded, errors, passed,
       score, decode_tps, ttft_s
from daily_summaries
where model_name = $1 and ($2 is null or suite = $2)
order by day desc, suite, endpoint_name, sampling limit $3;

-- name: summaries_begin
select substr(min(created_at), 1, 10) as day from runs having count(*) > 0;
