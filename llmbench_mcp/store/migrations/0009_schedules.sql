-- Standing orders, and what became of each time they were due: a time is dealt with once.
create table schedules (
    id text primary key,
    name text not null unique,
    spec text not null,
    zone text not null,
    request text not null,
    only_changed integer not null default 1,
    created_at text not null,
    due_at text not null
);
create index schedules_due on schedules (due_at);

create table schedule_events (
    schedule_id text not null references schedules (id) on delete cascade,
    due_at text not null,
    at text not null,
    outcome text not null,
    run_id text,
    notes text not null,
    primary key (schedule_id, due_at)
);

-- When something was last done that is done from time to time.
create table chores (
    name text primary key,
    done_at text not null
);

-- What a day's counted attempts came to, days of UTC: kept when the attempts themselves are removed.
create table daily_summaries (
    day text not null,
    suite text not null,
    identity_key text not null,
    sampling_key text not null,
    endpoint_id text not null,
    model_name text not null,
    endpoint_name text not null,
    sampling text not null,
    digest text,
    server_version text,
    suite_version integer,
    graded integer not null,
    errors integer not null,
    passed integer not null,
    score real,
    decode_tps real,
    ttft_s real,
    primary key (day, suite, identity_key, sampling_key, endpoint_id)
);
create index daily_summaries_model on daily_summaries (model_name, day);

-- Of jobs removed: those that a score still names as its newest, and what the leaderboard counted over jobs.
create table removed_jobs (
    id text primary key,
    suite text not null,
    identity_key text not null,
    sampling_key text not null,
    endpoint_id text not null,
    served_name text not null,
    model_name text not null,
    endpoint_name text not null,
    device text not null,
    manifest text not null,
    created_at text not null
);
create index removed_jobs_suite on removed_jobs (suite, endpoint_id, served_name);

create table removed_sums (
    suite text not null,
    identity_key text not null,
    sampling_key text not null,
    endpoint_id text not null,
    runs integer not null,
    measured_j real not null,
    measured_tokens integer not null,
    primary key (suite, identity_key, sampling_key, endpoint_id)
);
create index runs_finished on runs (finished_at) where finished_at is not null;
