-- name: credentials_all
select * from credentials order by name;

-- name: credential_by_name
select * from credentials where name = $1;

-- name: credential_put
insert into credentials (name, origin, place, slot, set_at, expires_at)
values ($1, $2, $3, $4, $5, $6)
on conflict (name) do update
set origin = $2, place = $3, slot = $4, set_at = $5, expires_at = $6;

-- name: credential_bind
update credentials set origin = $2 where name = $1 and origin is null;

-- name: credential_delete
delete from credentials where name = $1 and place = $2 and slot = $3;

-- name: credential_users
select name from endpoints where credential_ref = $1 order by name;

-- name: credential_leave
update endpoints set credential_ref = null where credential_ref = $1;

-- name: credential_lend
update endpoints
set credential_ref = $2, reachable = null, last_error = null, last_error_kind = null
where id = $1;
