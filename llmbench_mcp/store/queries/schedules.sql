-- name: schedule_insert
insert into schedules (id, name, spec, zone, request, only_changed, created_at, due_at)
values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (name) do nothing;

-- name: schedules_all
select * from schedules order by name;

-- name: schedules_due
select * from schedules where due_at <= $1 order by due_at, name;

-- name: schedules_overdue
select count(*) as n from schedules where due_at <= $1;

-- name: schedule_delete
delete from schedules where id = $1;

-- name: schedule_advance
update schedules set due_at = $3 where id = $1 and due_at = $2;

-- name: schedule_event_insert
insert into schedule_events (schedule_id, due_at, at, outcome, run_id, notes)
select $1, $2, $3, $4, $5, $6 where exists (select 1 from schedules where id = $1)
on conflict (schedule_id, due_at) do nothing;

-- name: schedule_events
select due_at, at, outcome, run_id, notes from schedule_events where schedule_id = $1 order by due_at desc limit $2;

-- name: schedule_unfinished
select r.id from schedule_events e join runs r on r.id = e.run_id
where e.schedule_id = $1 and r.state in ('queued', 'running', 'paused')
order by e.due_at desc limit 1;

-- name: schedule_events_drop
delete from schedule_events where at < $1;

-- name: last_job
select suite, identity_key, sampling_key, endpoint_id, manifest, created_at from (
    select suite, identity_key, sampling_key, endpoint_id, manifest, created_at
    from jobs where suite = $1 and endpoint_id = $2 and served_name = $3 and sampling_key = $4 and done > 0
    union all
    select suite, identity_key, sampling_key, endpoint_id, manifest, created_at
    from removed_jobs where suite = $1 and endpoint_id = $2 and served_name = $3 and sampling_key = $4
) as found
order by created_at desc limit 1;

-- name: last_tasks
select task_id, task_hash, validator_version, graded, errors, last_at from scores
where suite = $1 and identity_key = $2 and sampling_key = $3 and endpoint_id = $4
order by task_id, last_at;
