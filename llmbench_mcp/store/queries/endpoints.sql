-- name: endpoint_insert
insert into endpoints (id, name, url, backend, device, credential_ref, concurrency, evict, added_by, server_version,
                       reachable, last_seen, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12);

-- name: endpoint_update
update endpoints
set name = $2, url = $3, backend = $4, device = $5, credential_ref = $6, concurrency = $7, evict = $8,
    server_version = $9, reachable = $10, last_seen = $11, last_error = null, last_error_kind = null,
    added_by = $12
where id = $1;

-- name: endpoint_seen
update endpoints
set reachable = 1, server_version = coalesce($2, server_version), last_seen = $3, last_error = null,
    last_error_kind = null
where id = $1;

-- name: endpoint_failed
update endpoints set reachable = 0, last_error = $2, last_error_kind = $3 where id = $1;

-- name: endpoints_all
select * from endpoints order by name;

-- name: endpoint_by_key
select * from endpoints where id = $1 or name = $1 or url = $1;

-- name: endpoint_delete
delete from endpoints where id = $1;

-- name: endpoint_open_jobs
select count(*) as n from jobs where endpoint_id = $1 and state in ('pending', 'loading', 'running');
