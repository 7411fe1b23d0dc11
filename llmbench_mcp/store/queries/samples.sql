-- name: sample_insert
insert into device_samples
    (at, device, memory_used_bytes, memory_total_bytes, utilisation_pct, temperature_c, power_w, energy_j)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (device, at) do nothing;

-- name: samples_drop
delete from device_samples where at < $1;

-- name: samples_since
select * from device_samples where at >= $1 and ($2 is null or device = $2) order by at desc, device limit $3;

-- name: attempt_energy
update attempts set energy_j = $2, energy_note = $3 where id = $1;

-- name: job_energy
-- A job's total is known only when all of its asking was measured: one unmeasured part makes it unknown for good.
update jobs
set energy_j = case
        when $2 is null or energy_note is not null or interrupted > 0 then null
        else coalesce(energy_j, 0) + $2
    end,
    energy_note = coalesce(energy_note, $3, case when interrupted > 0 then 'energy: part of the work was lost' end)
where id = $1;
