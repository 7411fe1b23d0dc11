-- What the devices showed while work ran: bytes, percent, degrees Celsius, watts; energy is the device's own counter
-- in joules, of which only differences mean anything. Null where unknown.
create table device_samples (
    at text not null,
    device text not null,
    memory_used_bytes integer,
    memory_total_bytes integer,
    utilisation_pct real,
    temperature_c real,
    power_w real,
    energy_j real,
    primary key (device, at)
);
create index device_samples_at on device_samples (at);
