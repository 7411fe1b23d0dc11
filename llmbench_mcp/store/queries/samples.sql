-- name: sample_insert
insert into device_samples
    (at, device, memory_used_bytes, memory_total_bytes, utilisation_pct, temperature_c, power_w, energy_j)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (device, at) do nothing;

-- name: samples_drop
delete from device_samples where at < $1;

-- name: samples_since
select * from device_samples where at >= $1 and ($2 is null or device = $2) order by at desc, device limit $3;
