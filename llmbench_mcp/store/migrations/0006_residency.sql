-- What this program loaded and has not seen leave: a later executor may unload it, and nothing else.
create table loads (
    endpoint_id text not null references endpoints (id) on delete cascade,
    served_name text not null,
    device text not null,
    keep integer not null default 0,
    loaded_at text not null,
    primary key (endpoint_id, served_name)
);

-- What a model was seen to take, bytes: the best forecast of what it will take.
create table footprints (
    endpoint_id text not null references endpoints (id) on delete cascade,
    served_name text not null,
    memory_bytes integer not null,
    measured_at text not null,
    primary key (endpoint_id, served_name)
);
