-- name: attempt_energy
update attempts set energy_j = $2, energy_note = $3 where id = $1;

-- name: job_measured
update jobs set measured_j = measured_j + $2, measured_tokens = measured_tokens + $3 where id = $1;

-- name: job_energy_opens
update jobs
set energy_note = case when energy_open = 1 then coalesce(energy_note, 'energy: a part of the work was lost')
                       else energy_note end,
    energy_open = 1
where id = $1;

-- name: job_energy_closes
update jobs
set energy_j = case when $2 is null or energy_note is not null then null else coalesce(energy_j, 0) + $2 end,
    energy_note = coalesce(energy_note, $3),
    energy_open = 0
where id = $1;

-- name: leaderboard_energy
select identity_key, sampling_key, endpoint_id, sum(measured_j) as measured_j, sum(measured_tokens) as measured_tokens
from (
    select identity_key, sampling_key, endpoint_id, measured_j, measured_tokens
    from jobs where suite = $1 and measured_tokens > 0
    union all
    select identity_key, sampling_key, endpoint_id, measured_j, measured_tokens
    from removed_sums where suite = $1 and measured_tokens > 0
) as measured
group by identity_key, sampling_key, endpoint_id;
