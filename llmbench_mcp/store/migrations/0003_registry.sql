-- What is known of models with its source, what was guessed or set by hand, and what happened to each.
alter table models add column capability_facts text not null default '[]';
alter table models add column guessed text not null default '[]';
alter table models add column pinned text not null default '[]';
alter table homes add column pinned integer not null default 0;
alter table homes add column remote integer not null default 0;
alter table homes add column tools text not null default 'unknown';
alter table endpoints add column last_error_kind text;

create table model_events (
    seq integer primary key,
    at text not null,
    model_id text not null references models (id) on delete cascade,
    kind text not null,
    value text not null,
    reason text
);
create index model_events_model on model_events (model_id, seq);
