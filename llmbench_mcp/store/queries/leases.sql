-- name: lease_get
select * from leases where scope = $1;

-- name: lease_put
insert into leases (scope, owner, fence, host, boot_id, pid, version, expires_mono, acquired_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (scope) do update
set owner = excluded.owner, fence = excluded.fence, host = excluded.host, boot_id = excluded.boot_id,
    pid = excluded.pid, version = excluded.version, expires_mono = excluded.expires_mono,
    acquired_at = excluded.acquired_at;

-- name: lease_renew
update leases set expires_mono = $4 where scope = $1 and owner = $2 and fence = $3 and expires_mono > 0;

-- name: lease_release
update leases set expires_mono = 0 where scope = $1 and owner = $2 and fence = $3;

-- name: lease_holds
select 1 as held from leases where scope = $1 and owner = $2 and fence = $3;

-- name: lease_remove
delete from leases where scope = $1;
