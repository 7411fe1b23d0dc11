-- A database of schema 16 with data, as the program of that time wrote it.
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
    finished_at text, answered_as text, energy_j real, energy_note text, counted integer not null default 1, regrade_hash text,
    unique (job_id, task_id, repeat, try)
);
INSERT INTO "attempts" VALUES('att_ystm3ns1qx','run_yxfa4hxr5t','job_yy0skgbvp8',1,'own/q0','2f0a4028c5155884',1,1,'done',0,1,1.0,'high',NULL,NULL,'reasoning','1',NULL,NULL,NULL,'stop',10,20,NULL,0,0.5,0.5,2.0,NULL,NULL,NULL,32.0,NULL,'{}',0,'host','boot','cpu','exec_test','2026-11-30T19:28:56.365Z','2026-11-30T19:28:56.387Z',NULL,NULL,NULL,1,NULL);
INSERT INTO "attempts" VALUES('att_3whcx7j1x7','run_yxfa4hxr5t','job_yy0skgbvp8',2,'own/q1','9339e5152ef564ad',1,1,'done',0,1,1.0,'high',NULL,NULL,'reasoning','1',NULL,NULL,NULL,'stop',10,20,NULL,0,0.5,0.5,2.0,NULL,NULL,NULL,32.0,NULL,'{}',0,'host','boot','cpu','exec_test','2026-11-30T19:28:56.442Z','2026-11-30T19:28:56.455Z',NULL,NULL,NULL,1,NULL);
INSERT INTO "attempts" VALUES('att_ja0qfgx44m','run_yxfa4hxr5t','job_d7nkx23mmj',3,'own/q0','2f0a4028c5155884',1,1,'done',0,1,1.0,'high',NULL,NULL,'reasoning','1',NULL,NULL,NULL,'stop',10,20,NULL,0,0.5,0.5,2.0,NULL,NULL,NULL,32.0,NULL,'{}',0,'host','boot','cpu','exec_test','2026-11-30T19:28:56.613Z','2026-11-30T19:28:56.624Z',NULL,NULL,NULL,1,NULL);
INSERT INTO "attempts" VALUES('att_cf7jtzk47h','run_yxfa4hxr5t','job_d7nkx23mmj',4,'own/q1','9339e5152ef564ad',1,1,'done',0,1,1.0,'high',NULL,NULL,'reasoning','1',NULL,NULL,NULL,'stop',10,20,NULL,0,0.5,0.5,2.0,NULL,NULL,NULL,32.0,NULL,'{}',0,'host','boot','cpu','exec_test','2026-11-30T19:28:56.645Z','2026-11-30T19:28:56.656Z',NULL,NULL,NULL,1,NULL);
INSERT INTO "attempts" VALUES('att_wwvht96mvt','run_yxfa4hxr5t','job_zfqs9pvedg',5,'own/q0','2f0a4028c5155884',1,1,'done',0,1,1.0,'high',NULL,NULL,'reasoning','1',NULL,NULL,NULL,'stop',10,20,NULL,0,0.5,0.5,2.0,NULL,NULL,NULL,32.0,NULL,'{}',0,'host','boot','cpu','exec_test','2026-11-30T19:28:56.804Z','2026-11-30T19:28:56.815Z',NULL,NULL,NULL,1,NULL);
INSERT INTO "attempts" VALUES('att_caa212dph1','run_yxfa4hxr5t','job_zfqs9pvedg',6,'own/q1','9339e5152ef564ad',1,1,'done',0,1,1.0,'high',NULL,NULL,'reasoning','1',NULL,NULL,NULL,'stop',10,20,NULL,0,0.5,0.5,2.0,NULL,NULL,NULL,32.0,NULL,'{}',0,'host','boot','cpu','exec_test','2026-11-30T19:28:56.835Z','2026-11-30T19:28:56.845Z',NULL,NULL,NULL,1,NULL);
CREATE TABLE chores (
    name text primary key,
    done_at text not null
);
CREATE TABLE completions (
    attempt_id text primary key references attempts (id) on delete cascade,
    text text not null,
    reasoning text not null,
    tool_calls text not null
, packed blob);
INSERT INTO "completions" VALUES('att_ystm3ns1qx','','','',X'78BB103F41D333D231E032318A8E0500069701B7');
INSERT INTO "completions" VALUES('att_3whcx7j1x7','','','',X'78BB103F41D333D231E032318A8E0500069701B7');
INSERT INTO "completions" VALUES('att_ja0qfgx44m','','','',X'78BB103F41D333D231E032318A8E0500069701B7');
INSERT INTO "completions" VALUES('att_cf7jtzk47h','','','',X'78BB103F41D333D231E032318A8E0500069701B7');
INSERT INTO "completions" VALUES('att_wwvht96mvt','','','',X'78BB103F41D333D231E032318A8E0500069701B7');
INSERT INTO "completions" VALUES('att_caa212dph1','','','',X'78BB103F41D333D231E032318A8E0500069701B7');
CREATE TABLE credentials (
    name text primary key,
    origin text,
    place text not null,
    slot text not null,
    set_at text not null,
    expires_at text
);
CREATE TABLE daily_summaries (
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
CREATE TABLE device_samples (
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
, last_error_kind text);
CREATE TABLE events (
    seq integer primary key,
    at text not null,
    run_id text not null,
    kind text not null,
    data text not null
);
INSERT INTO "events" VALUES(1,'2026-11-30T19:28:56.139Z','run_yxfa4hxr5t','queued','{"planned":6}');
INSERT INTO "events" VALUES(2,'2026-11-30T19:28:56.285Z','run_yxfa4hxr5t','running','{}');
INSERT INTO "events" VALUES(3,'2026-11-30T19:28:56.285Z','run_yxfa4hxr5t','loading','{"job":"job_yy0skgbvp8"}');
INSERT INTO "events" VALUES(4,'2026-11-30T19:28:56.341Z','run_yxfa4hxr5t','job_running','{"job":"job_yy0skgbvp8"}');
INSERT INTO "events" VALUES(5,'2026-11-30T19:28:56.387Z','run_yxfa4hxr5t','attempt','{"failure":null,"passed":true,"task":"own/q0"}');
INSERT INTO "events" VALUES(6,'2026-11-30T19:28:56.455Z','run_yxfa4hxr5t','attempt','{"failure":null,"passed":true,"task":"own/q1"}');
INSERT INTO "events" VALUES(7,'2026-11-30T19:28:56.502Z','run_yxfa4hxr5t','job_done','{"job":"job_yy0skgbvp8","reason":null}');
INSERT INTO "events" VALUES(8,'2026-11-30T19:28:56.551Z','run_yxfa4hxr5t','loading','{"job":"job_d7nkx23mmj"}');
INSERT INTO "events" VALUES(9,'2026-11-30T19:28:56.592Z','run_yxfa4hxr5t','job_running','{"job":"job_d7nkx23mmj"}');
INSERT INTO "events" VALUES(10,'2026-11-30T19:28:56.624Z','run_yxfa4hxr5t','attempt','{"failure":null,"passed":true,"task":"own/q0"}');
INSERT INTO "events" VALUES(11,'2026-11-30T19:28:56.656Z','run_yxfa4hxr5t','attempt','{"failure":null,"passed":true,"task":"own/q1"}');
INSERT INTO "events" VALUES(12,'2026-11-30T19:28:56.700Z','run_yxfa4hxr5t','job_done','{"job":"job_d7nkx23mmj","reason":null}');
INSERT INTO "events" VALUES(13,'2026-11-30T19:28:56.745Z','run_yxfa4hxr5t','loading','{"job":"job_zfqs9pvedg"}');
INSERT INTO "events" VALUES(14,'2026-11-30T19:28:56.783Z','run_yxfa4hxr5t','job_running','{"job":"job_zfqs9pvedg"}');
INSERT INTO "events" VALUES(15,'2026-11-30T19:28:56.815Z','run_yxfa4hxr5t','attempt','{"failure":null,"passed":true,"task":"own/q0"}');
INSERT INTO "events" VALUES(16,'2026-11-30T19:28:56.845Z','run_yxfa4hxr5t','attempt','{"failure":null,"passed":true,"task":"own/q1"}');
INSERT INTO "events" VALUES(17,'2026-11-30T19:28:56.887Z','run_yxfa4hxr5t','job_done','{"job":"job_zfqs9pvedg","reason":null}');
INSERT INTO "events" VALUES(18,'2026-11-30T19:28:56.887Z','run_yxfa4hxr5t','completed','{}');
CREATE TABLE footprints (
    endpoint_id text not null references endpoints (id) on delete cascade,
    served_name text not null,
    memory_bytes integer not null,
    measured_at text not null,
    primary key (endpoint_id, served_name)
);
CREATE TABLE homes (
    model_id text not null references models (id) on delete cascade,
    endpoint_id text not null references endpoints (id) on delete cascade,
    served_name text not null,
    present integer not null default 1,
    last_seen text not null, pinned integer not null default 0, remote integer not null default 0, tools text not null default 'unknown',
    primary key (endpoint_id, served_name)
);
CREATE TABLE job_failures (
    job_id text not null references jobs (id) on delete cascade,
    failure text not null,
    n integer not null,
    primary key (job_id, failure)
);
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
, energy_j real, energy_note text, energy_open integer not null default 0, measured_j real not null default 0, measured_tokens integer not null default 0, done integer not null default 0, errors integer not null default 0, passed integer not null default 0, tokens integer not null default 0, seconds real not null default 0, timed integer not null default 0, client_bound text);
INSERT INTO "jobs" VALUES('job_yy0skgbvp8','run_yxfa4hxr5t',0,'model_0','m0','m0','ep_1','box','cpu','own','{"max_tokens":null,"seed":0,"temperature":0.0,"top_p":null}','199e41af88cac8c5','c799998d3283077d','{"model_digest":"sha256:0"}','done',NULL,NULL,1.0,'',0,NULL,NULL,2,'2026-11-30T19:28:56.139Z',NULL,NULL,0,0.0,0,2,0,2,60,4.0,2,'the client used 83% of a core (limit 70%)');
INSERT INTO "jobs" VALUES('job_d7nkx23mmj','run_yxfa4hxr5t',1,'model_1','m1','m1','ep_1','box','cpu','own','{"max_tokens":null,"seed":0,"temperature":0.0,"top_p":null}','199e41af88cac8c5','e9177172e96a1e79','{"model_digest":"sha256:1"}','done',NULL,NULL,1.0,'',0,NULL,NULL,2,'2026-11-30T19:28:56.139Z',NULL,NULL,0,0.0,0,2,0,2,60,4.0,2,'only those of single gaps, not tokens/s or TTFT: the client''s own delay reached 2.00 ms, over 5% of the 20.00 ms between deltas');
INSERT INTO "jobs" VALUES('job_zfqs9pvedg','run_yxfa4hxr5t',2,'model_2','m2','m2','ep_1','box','cpu','own','{"max_tokens":null,"seed":0,"temperature":0.0,"top_p":null}','199e41af88cac8c5','dd8a91e808bb66ca','{"model_digest":"sha256:2"}','done',NULL,NULL,1.0,'',0,NULL,NULL,2,'2026-11-30T19:28:56.139Z',NULL,NULL,0,0.0,0,2,0,2,60,4.0,2,NULL);
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
INSERT INTO "leases" VALUES('executor','exec_9g5j9w1m7m',1,'host','boot',15012,'0.1.0',1.01370752275192702659e+06,'2026-11-30T19:28:55.909Z');
CREATE TABLE loads (
    endpoint_id text not null references endpoints (id) on delete cascade,
    served_name text not null,
    device text not null,
    keep integer not null default 0,
    loaded_at text not null, held_level integer,
    primary key (endpoint_id, served_name)
);
CREATE TABLE model_events (
    seq integer primary key,
    at text not null,
    model_id text not null references models (id) on delete cascade,
    kind text not null,
    value text not null,
    reason text
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
, capability_facts text not null default '[]', guessed text not null default '[]', pinned text not null default '[]');
CREATE TABLE removed_jobs (
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
CREATE TABLE removed_sums (
    suite text not null,
    identity_key text not null,
    sampling_key text not null,
    endpoint_id text not null,
    runs integer not null,
    measured_j real not null,
    measured_tokens integer not null,
    primary key (suite, identity_key, sampling_key, endpoint_id)
);
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
, limits text, making integer not null default 0);
INSERT INTO "runs" VALUES('run_yxfa4hxr5t',NULL,'completed',NULL,'{"endpoint":null,"keep_loaded":false,"models":["m0","m1","m2"],"priority":0,"repeats":1,"sampling":{"max_tokens":null,"seed":0,"temperature":0.0,"top_p":null},"suites":["own"]}','3436bd1ca4313ab1',0,0,0,0,'2026-11-30T19:28:56.139Z','2026-11-30T19:28:56.285Z','2026-11-30T19:28:56.887Z',NULL,0);
CREATE TABLE schedule_events (
    schedule_id text not null references schedules (id) on delete cascade,
    due_at text not null,
    at text not null,
    outcome text not null,
    run_id text,
    notes text not null,
    primary key (schedule_id, due_at)
);
CREATE TABLE schedules (
    id text primary key,
    name text not null unique,
    spec text not null,
    zone text not null,
    request text not null,
    only_changed integer not null default 1,
    created_at text not null,
    due_at text not null
);
CREATE TABLE schema_migrations (version integer primary key, name text not null, applied_at text not null default current_timestamp);
INSERT INTO "schema_migrations" VALUES(1,'initial','2026-11-30 19:28:49');
INSERT INTO "schema_migrations" VALUES(2,'answered_as','2026-11-30 19:28:49');
INSERT INTO "schema_migrations" VALUES(3,'registry','2026-11-30 19:28:49');
INSERT INTO "schema_migrations" VALUES(4,'device_samples','2026-11-30 19:28:49');
INSERT INTO "schema_migrations" VALUES(5,'energy','2026-11-30 19:28:49');
INSERT INTO "schema_migrations" VALUES(6,'residency','2026-11-30 19:28:49');
INSERT INTO "schema_migrations" VALUES(7,'tallies','2026-11-30 19:28:49');
INSERT INTO "schema_migrations" VALUES(8,'packed','2026-11-30 19:28:49');
INSERT INTO "schema_migrations" VALUES(9,'schedules','2026-11-30 19:28:49');
INSERT INTO "schema_migrations" VALUES(10,'client_bound','2026-11-30 19:28:49');
INSERT INTO "schema_migrations" VALUES(11,'non_logic_score','2026-11-30 19:28:49');
INSERT INTO "schema_migrations" VALUES(12,'regrade_hash','2026-11-30 19:28:49');
INSERT INTO "schema_migrations" VALUES(13,'held','2026-11-30 19:28:49');
INSERT INTO "schema_migrations" VALUES(14,'making','2026-11-30 19:28:49');
INSERT INTO "schema_migrations" VALUES(15,'credentials','2026-11-30 19:28:49');
INSERT INTO "schema_migrations" VALUES(16,'marks','2026-11-30 19:28:49');
CREATE TABLE scores (
    suite text not null,
    identity_key text not null,
    sampling_key text not null,
    endpoint_id text not null,
    task_id text not null,
    task_hash text not null,
    validator_version text not null,
    graded integer not null,
    errors integer not null,
    passed integer not null,
    non_logic integer not null,
    score_sum real not null,
    decode_sum real not null,
    decode_n integer not null,
    prefill_sum real not null,
    prefill_n integer not null,
    ttft_sum real not null,
    ttft_n integer not null,
    e2e_sum real not null,
    e2e_n integer not null,
    tokens integer not null,
    last_at text,
    newest_job text not null, non_logic_score real not null default 0,
    primary key (suite, identity_key, sampling_key, endpoint_id, task_id, task_hash, validator_version)
);
INSERT INTO "scores" VALUES('own','c799998d3283077d','199e41af88cac8c5','ep_1','own/q0','2f0a4028c5155884','1',1,0,1,0,1.0,32.0,1,0.0,0,0.5,1,2.0,1,20,'2026-11-30T19:28:56.387Z','2026-11-30T19:28:56.139Z job_yy0skgbvp8',0.0);
INSERT INTO "scores" VALUES('own','c799998d3283077d','199e41af88cac8c5','ep_1','own/q1','9339e5152ef564ad','1',1,0,1,0,1.0,32.0,1,0.0,0,0.5,1,2.0,1,20,'2026-11-30T19:28:56.455Z','2026-11-30T19:28:56.139Z job_yy0skgbvp8',0.0);
INSERT INTO "scores" VALUES('own','e9177172e96a1e79','199e41af88cac8c5','ep_1','own/q0','2f0a4028c5155884','1',1,0,1,0,1.0,32.0,1,0.0,0,0.5,1,2.0,1,20,'2026-11-30T19:28:56.624Z','2026-11-30T19:28:56.139Z job_d7nkx23mmj',0.0);
INSERT INTO "scores" VALUES('own','e9177172e96a1e79','199e41af88cac8c5','ep_1','own/q1','9339e5152ef564ad','1',1,0,1,0,1.0,32.0,1,0.0,0,0.5,1,2.0,1,20,'2026-11-30T19:28:56.656Z','2026-11-30T19:28:56.139Z job_d7nkx23mmj',0.0);
INSERT INTO "scores" VALUES('own','dd8a91e808bb66ca','199e41af88cac8c5','ep_1','own/q0','2f0a4028c5155884','1',1,0,1,0,1.0,32.0,1,0.0,0,0.5,1,2.0,1,20,'2026-11-30T19:28:56.815Z','2026-11-30T19:28:56.139Z job_zfqs9pvedg',0.0);
INSERT INTO "scores" VALUES('own','dd8a91e808bb66ca','199e41af88cac8c5','ep_1','own/q1','9339e5152ef564ad','1',1,0,1,0,1.0,32.0,1,0.0,0,0.5,1,2.0,1,20,'2026-11-30T19:28:56.845Z','2026-11-30T19:28:56.139Z job_zfqs9pvedg',0.0);
CREATE TABLE suite_marks (
    suite text primary key,
    mark integer not null
);
INSERT INTO "suite_marks" VALUES('own',9);
CREATE TABLE tasks (
    hash text primary key,
    task_id text not null,
    body text not null
);
INSERT INTO "tasks" VALUES('2f0a4028c5155884','own/q0','{"expected":null,"id":"own/q0","max_tokens":null,"needs":[],"prompt":"Question 0","system":null,"title":"","validation":{"expected_answer":0,"type":"reasoning"}}');
INSERT INTO "tasks" VALUES('9339e5152ef564ad','own/q1','{"expected":null,"id":"own/q1","max_tokens":null,"needs":[],"prompt":"Question 1","system":null,"title":"","validation":{"expected_answer":1,"type":"reasoning"}}');
CREATE INDEX models_name on models (name);
CREATE INDEX homes_model on homes (model_id);
CREATE INDEX runs_created on runs (created_at);
CREATE INDEX jobs_open on jobs (state) where state in ('pending', 'loading', 'running');
CREATE INDEX attempts_run on attempts (run_id, number);
CREATE INDEX events_run on events (run_id, seq);
CREATE INDEX model_events_model on model_events (model_id, seq);
CREATE INDEX device_samples_at on device_samples (at);
CREATE INDEX attempts_in_flight on attempts (run_id) where state in ('generating', 'grading');
CREATE INDEX attempts_regrade on attempts (run_id, number) where state = 'regrade';
CREATE INDEX attempts_waiting on attempts (job_id, number) where state = 'pending';
CREATE INDEX attempts_failed on attempts (run_id, number, failure)
where state = 'error' or (state = 'done' and passed = 0);
CREATE INDEX runs_open on runs (state) where state in ('queued', 'running', 'paused');
CREATE INDEX jobs_model on jobs (model_id);
CREATE INDEX jobs_run on jobs (run_id, position, id);
CREATE INDEX jobs_suite on jobs (suite, identity_key, sampling_key, endpoint_id, run_id);
CREATE INDEX schedules_due on schedules (due_at);
CREATE INDEX daily_summaries_model on daily_summaries (model_name, day);
CREATE INDEX removed_jobs_suite on removed_jobs (suite, endpoint_id, served_name);
CREATE INDEX runs_finished on runs (finished_at) where finished_at is not null;
CREATE VIEW attempt_scores as
select a.id as attempt_id, j.suite, j.identity_key, j.sampling_key, j.endpoint_id, a.task_id, a.task_hash,
       coalesce(a.validator_version, '') as validator_version,
       case when a.passed is null then 0 else 1 end as graded,
       case when a.passed is null then 1 else 0 end as errors,
       case when a.passed = 1 then 1 else 0 end as passed,
       case when a.passed is not null and a.failure in ('empty', 'refusal', 'no_code', 'syntax_error', 'import_error',
                 'missing_function', 'malformed_call', 'call_in_text', 'format', 'budget_exhausted')
            then 1 else 0 end as non_logic,
       case when a.passed is null then 0 else a.score end as score,
       a.decode_tps, a.prefill_tps, a.ttft_s, a.e2e_s,
       coalesce(a.completion_tokens, 0) as tokens, a.finished_at as last_at, j.created_at || ' ' || j.id as newest_job,
       case when a.passed is not null and a.failure in ('empty', 'refusal', 'no_code', 'syntax_error', 'import_error',
                 'missing_function', 'malformed_call', 'call_in_text', 'format', 'budget_exhausted')
            then a.score else 0 end as non_logic_score
from attempts a join jobs j on j.id = a.job_id
where a.counted = 1 and a.state in ('done', 'error', 'regrade');
CREATE TRIGGER scores_added after insert on scores begin
    insert into suite_marks (suite, mark) values (new.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;
CREATE TRIGGER scores_changed after update on scores begin
    insert into suite_marks (suite, mark) values (new.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;
CREATE TRIGGER scores_removed after delete on scores begin
    insert into suite_marks (suite, mark) values (old.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;
CREATE TRIGGER jobs_added after insert on jobs begin
    insert into suite_marks (suite, mark) values (new.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;
CREATE TRIGGER jobs_measured after update of measured_j, measured_tokens on jobs begin
    insert into suite_marks (suite, mark) values (new.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;
CREATE TRIGGER jobs_removed after delete on jobs begin
    insert into suite_marks (suite, mark) values (old.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;
CREATE TRIGGER sums_added after insert on removed_sums begin
    insert into suite_marks (suite, mark) values (new.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;
CREATE TRIGGER sums_changed after update on removed_sums begin
    insert into suite_marks (suite, mark) values (new.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;
CREATE TRIGGER sums_removed after delete on removed_sums begin
    insert into suite_marks (suite, mark) values (old.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;
COMMIT;
