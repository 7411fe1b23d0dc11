-- A database of schema 2 with data, as the program of that time wrote it.
BEGIN TRANSACTION;
CREATE TABLE attempts (
    id text primary key,
    run_id text not null references runs (id) on delete cascade,
    job_id text not null references jobs (id) on delete cascade,
    number integer not null,
    task_id text not null,
    task_hash text not null references tasks (hash),
    repeat integer not null,
    try integer not null default 1,
    state text not null,
    interrupted integer not null default 0,
    passed integer,
    score real,
    confidence text,
    failure text,
    message text,
    validator text,
    validator_version text,
    extractor text,
    isolation text,
    verdict text,
    finish_reason text,
    prompt_tokens integer,
    completion_tokens integer,
    reasoning_tokens integer,
    tokens_estimated integer,
    ttft_s real,
    ttfat_s real,
    e2e_s real,
    itl_p50_s real,
    itl_p95_s real,
    itl_p99_s real,
    decode_tps real,
    prefill_tps real,
    server_timings text,
    retries integer not null default 0,
    host text,
    boot_id text,
    device text,
    worker text,
    started_at text,
    finished_at text, answered_as text,
    unique (job_id, task_id, repeat, try)
);
INSERT INTO "attempts" VALUES('at1','run_old','job_old',1,'coding/a','ha',1,1,'done',0,1,1.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,'2026-01-01T00:01:00.000Z',NULL);
INSERT INTO "attempts" VALUES('at2','run_old','job_old',2,'coding/b','hb',1,1,'done',0,0,0.5,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,'2026-01-01T00:02:00.000Z',NULL);
INSERT INTO "attempts" VALUES('am1','run_more','job_more',1,'coding/a','ha',1,1,'done',0,1,1.0,NULL,NULL,NULL,NULL,'1',NULL,NULL,NULL,NULL,10,20,NULL,NULL,NULL,NULL,1.5,NULL,NULL,NULL,40.0,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,'2026-01-02T00:01:00.000Z',NULL);
INSERT INTO "attempts" VALUES('am2','run_more','job_more',2,'coding/b','hb',1,1,'done',0,0,0.25,NULL,'wrong_answer',NULL,NULL,'1',NULL,NULL,'{"confidence":"high","extractor":null,"failure":"wrong_answer","findings":["expected 4, got 5"],"isolation":null,"passed":false,"score":0.25,"stages":{"tests":[1,4]},"subscores":{},"validator":"coding","validator_version":"1"}',NULL,11,22,NULL,NULL,NULL,NULL,2.5,NULL,NULL,NULL,50.0,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,'2026-01-02T00:02:00.000Z',NULL);
INSERT INTO "attempts" VALUES('am3','run_more','job_more',3,'coding/a','ha',2,1,'error',0,NULL,NULL,NULL,'provider_error',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,'2026-01-02T00:03:00.000Z',NULL);
INSERT INTO "attempts" VALUES('am4','run_more','job_more',4,'coding/b','hb',2,1,'done',0,0,0.0,NULL,'format',NULL,NULL,'1',NULL,NULL,NULL,NULL,12,5,NULL,NULL,NULL,NULL,0.5,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,'2026-01-02T00:04:00.000Z',NULL);
INSERT INTO "attempts" VALUES('am5','run_more','job_more',5,'coding/a','ha',3,1,'cancelled',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,'2026-01-02T00:05:00.000Z',NULL);
INSERT INTO "attempts" VALUES('am6','run_more','job_more',6,'coding/b','hb',3,1,'cancelled',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,'2026-01-02T00:06:00.000Z',NULL);
CREATE TABLE completions (
    attempt_id text primary key references attempts (id) on delete cascade,
    text text not null,
    reasoning text not null,
    tool_calls text not null
);
INSERT INTO "completions" VALUES('am1','The answer is 4.','Two and two.','[]');
INSERT INTO "completions" VALUES('am2','5','','[{"arguments":{"x":1},"name":"add"}]');
INSERT INTO "completions" VALUES('am4','Fünf 🙂','','[]');
CREATE TABLE endpoints (
    id text primary key,
    name text not null unique,
    url text not null unique,
    backend text not null,
    device text not null,
    credential_ref text,
    concurrency integer not null default 1,
    evict text not null default 'own',
    added_by text not null default 'person',
    server_version text,
    reachable integer,
    last_seen text,
    last_error text,
    created_at text not null
);
INSERT INTO "endpoints" VALUES('ep_old','old box','http://127.0.0.1:8080','llamacpp','cpu',NULL,1,'own','person',NULL,NULL,NULL,NULL,'2026-01-01T00:00:00.000Z');
CREATE TABLE events (
    seq integer primary key,
    at text not null,
    run_id text not null,
    kind text not null,
    data text not null
);
CREATE TABLE homes (
    model_id text not null references models (id) on delete cascade,
    endpoint_id text not null references endpoints (id) on delete cascade,
    served_name text not null,
    present integer not null default 1,
    last_seen text not null,
    primary key (endpoint_id, served_name)
);
INSERT INTO "homes" VALUES('model_old','ep_old','m',1,'2026-01-01T00:00:00.000Z');
CREATE TABLE jobs (
    id text primary key,
    run_id text not null references runs (id) on delete cascade,
    position integer not null,
    model_id text not null,
    model_name text not null,
    served_name text not null,
    endpoint_id text not null,
    endpoint_name text not null,
    device text not null,
    suite text not null,
    sampling text not null,
    sampling_key text not null,
    identity_key text not null,
    manifest text not null,
    state text not null,
    reason text,
    step text,
    load_s real,
    residency text,
    interrupted integer not null default 0,
    not_before text,
    outage_since text,
    planned integer not null,
    created_at text not null
);
INSERT INTO "jobs" VALUES('job_old','run_old',0,'model_old','m','m','ep_old','old box','cpu','smoke','{"temperature":0.0,"top_p":null,"seed":0,"max_tokens":null}','s','i','{}','done',NULL,NULL,NULL,NULL,0,NULL,NULL,2,'2026-01-01T00:00:00.000Z');
INSERT INTO "jobs" VALUES('job_more','run_more',0,'model_old','m','m','ep_old','old box','cpu','coding','{}','sk','ik','{}','cancelled',NULL,NULL,NULL,NULL,0,NULL,NULL,6,'2026-01-02T00:00:00.000Z');
CREATE TABLE leases (
    scope text primary key,
    owner text not null,
    fence integer not null,
    host text not null,
    boot_id text not null,
    pid integer not null,
    version text not null,
    expires_mono real not null,
    acquired_at text not null
);
CREATE TABLE models (
    id text primary key,
    name text not null,
    status text not null,
    status_reason text,
    digest text unique,
    family text,
    parameter_count integer,
    quantisation text,
    size_bytes integer,
    context_length integer,
    capabilities text not null default '[]',
    assigned_endpoint_id text references endpoints (id) on delete set null,
    first_seen text not null,
    last_seen text not null
);
INSERT INTO "models" VALUES('model_old','m','active',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'[]','ep_old','2026-01-01T00:00:00.000Z','2026-01-01T00:00:00.000Z');
CREATE TABLE runs (
    id text primary key,
    idempotency_key text unique,
    state text not null,
    reason text,
    request text not null,
    request_hash text not null,
    priority integer not null default 0,
    keep_loaded integer not null default 0,
    cancel_requested integer not null default 0,
    interrupted integer not null default 0,
    created_at text not null,
    started_at text,
    finished_at text
);
INSERT INTO "runs" VALUES('run_old',NULL,'completed',NULL,'{}','h',0,0,0,0,'2026-01-01T00:00:00.000Z',NULL,NULL);
INSERT INTO "runs" VALUES('run_more',NULL,'cancelled',NULL,'{}','h2',0,0,0,0,'2026-01-02T00:00:00.000Z',NULL,NULL);
CREATE TABLE schema_migrations (version integer primary key, name text not null, applied_at text not null default current_timestamp);
INSERT INTO "schema_migrations" VALUES(1,'initial','2026-01-01 00:00:00');
INSERT INTO "schema_migrations" VALUES(2,'answered_as','2026-01-01 00:00:00');
CREATE TABLE tasks (
    hash text primary key,
    task_id text not null,
    body text not null
);
INSERT INTO "tasks" VALUES('ha','coding/a','{}');
INSERT INTO "tasks" VALUES('hb','coding/b','{}');
CREATE INDEX models_name on models (name);
CREATE INDEX homes_model on homes (model_id);
CREATE INDEX runs_created on runs (created_at);
CREATE INDEX jobs_run on jobs (run_id);
CREATE INDEX jobs_open on jobs (state) where state in ('pending', 'loading', 'running');
CREATE INDEX jobs_suite on jobs (suite, identity_key);
CREATE INDEX attempts_run on attempts (run_id, number);
CREATE INDEX attempts_job_state on attempts (job_id, state);
CREATE INDEX events_run on events (run_id, seq);
COMMIT;
