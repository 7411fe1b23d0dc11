-- name: loads_all
select * from loads order by loaded_at, endpoint_id, served_name;

-- name: load_remember
insert into loads (endpoint_id, served_name, device, keep, loaded_at)
select $1, $2, $3, $4, $5 where exists (select 1 from endpoints where id = $1)
on conflict (endpoint_id, served_name) do update
set device = excluded.device, loaded_at = excluded.loaded_at, held_level = null,
    keep = case when loads.keep > excluded.keep then loads.keep else excluded.keep end;

-- name: load_held
update loads set held_level = $3 where endpoint_id = $1 and served_name = $2;

-- name: load_forget
delete from loads where endpoint_id = $1 and served_name = $2;

-- name: footprint_get
select memory_bytes from footprints where endpoint_id = $1 and served_name = $2;

-- name: footprint_put
insert into footprints (endpoint_id, served_name, memory_bytes, measured_at)
select $1, $2, $3, $4 where exists (select 1 from endpoints where id = $1)
on conflict (endpoint_id, served_name) do update
set memory_bytes = excluded.memory_bytes, measured_at = excluded.measured_at;
