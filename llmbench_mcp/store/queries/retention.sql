-- name: chore_get
select done_at from chores where name = $1;

-- name: chore_done
insert into chores (name, done_at) values ($1, $2)
on conflict (name) do update set done_at = excluded.done_at;

-- name: runs_outlived
select id from runs
where finished_at < $1 and state in ('completed', 'cancelled', 'failed')
order by finished_at limit $2;

-- name: run_outlived
select id from runs where id = $1 and finished_at < $2 and state in ('completed', 'cancelled', 'failed');

-- name: attempts_remove
delete from attempts where id in (select id from attempts where run_id = $1 limit $2);

-- name: events_remove
delete from events where seq in (select seq from events where run_id = $1 limit $2);

-- name: removed_jobs_keep
insert into removed_jobs (id, suite, identity_key, sampling_key, endpoint_id, served_name, model_name, endpoint_name,
                          device, manifest, created_at)
select j.id, j.suite, j.identity_key, j.sampling_key, j.endpoint_id, j.served_name, j.model_name, j.endpoint_name,
       j.device, j.manifest, j.created_at
from jobs j
where j.run_id = $1 and exists (
    select 1 from scores s
    where s.suite = j.suite and s.identity_key = j.identity_key and s.sampling_key = j.sampling_key
      and s.endpoint_id = j.endpoint_id and s.newest_job = j.created_at || ' ' || j.id)
on conflict (id) do nothing;

-- name: removed_sums_add
insert into removed_sums (suite, identity_key, sampling_key, endpoint_id, runs, measured_j, measured_tokens, speed_bound)
select suite, identity_key, sampling_key, endpoint_id, 1, sum(measured_j), sum(measured_tokens), max(speed_bound)
from jobs where run_id = $1
group by suite, identity_key, sampling_key, endpoint_id
on conflict (suite, identity_key, sampling_key, endpoint_id) do update
set runs = removed_sums.runs + excluded.runs, measured_j = removed_sums.measured_j + excluded.measured_j,
    measured_tokens = removed_sums.measured_tokens + excluded.measured_tokens,
    speed_bound = removed_sums.speed_bound + excluded.speed_bound;

-- name: run_remove
delete from runs where id = $1;

-- name: removed_jobs_tidy
delete from removed_jobs
where not exists (
    select 1 from scores s
    where s.suite = removed_jobs.suite and s.identity_key = removed_jobs.identity_key
      and s.sampling_key = removed_jobs.sampling_key and s.endpoint_id = removed_jobs.endpoint_id
      and s.newest_job = removed_jobs.created_at || ' ' || removed_jobs.id);
