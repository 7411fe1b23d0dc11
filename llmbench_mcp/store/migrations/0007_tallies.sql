-- Running totals, kept in the transaction that ends an attempt: looking at a run costs the same whatever its size.

alter table jobs add column done integer not null default 0;
alter table jobs add column errors integer not null default 0;
alter table jobs add column passed integer not null default 0;
alter table jobs add column tokens integer not null default 0;
alter table jobs add column seconds real not null default 0;
alter table jobs add column timed integer not null default 0;

-- 0: asked again later, or asked again only to look: in no score.
alter table attempts add column counted integer not null default 1;

-- JSON: tokens, seconds, attempts; null: none.
alter table runs add column limits text;

create table job_failures (
    job_id text not null references jobs (id) on delete cascade,
    failure text not null,
    n integer not null,
    primary key (job_id, failure)
);

-- What the leaderboard adds up: one row per task and everything that must be equal for results to be pooled.
create table scores (
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
    newest_job text not null,
    primary key (suite, identity_key, sampling_key, endpoint_id, task_id, task_hash, validator_version)
);

-- One attempt's part of ``scores``.
create view attempt_scores as
select a.id as attempt_id, j.suite, j.identity_key, j.sampling_key, j.endpoint_id, a.task_id, a.task_hash,
       coalesce(a.validator_version, '') as validator_version,
       case when a.state = 'done' then 1 else 0 end as graded,
       case when a.state = 'error' then 1 else 0 end as errors,
       case when a.passed = 1 then 1 else 0 end as passed,
       case when a.state = 'done' and a.failure in ('empty', 'refusal', 'no_code', 'syntax_error', 'import_error',
                 'missing_function', 'malformed_call', 'call_in_text', 'format', 'budget_exhausted')
            then 1 else 0 end as non_logic,
       case when a.state = 'done' then a.score else 0 end as score,
       a.decode_tps, a.prefill_tps, a.ttft_s, a.e2e_s,
       coalesce(a.completion_tokens, 0) as tokens, a.finished_at as last_at, j.created_at || ' ' || j.id as newest_job
from attempts a join jobs j on j.id = a.job_id
where a.counted = 1 and a.state in ('done', 'error');

update jobs set
    done = (select count(*) from attempts a where a.job_id = jobs.id and a.state = 'done'),
    errors = (select count(*) from attempts a where a.job_id = jobs.id and a.state = 'error'),
    passed = (select count(*) from attempts a where a.job_id = jobs.id and a.passed = 1),
    tokens = (select coalesce(sum(coalesce(a.prompt_tokens, 0) + coalesce(a.completion_tokens, 0)), 0)
              from attempts a where a.job_id = jobs.id),
    seconds = (select coalesce(sum(a.e2e_s), 0) from attempts a where a.job_id = jobs.id),
    timed = (select count(a.e2e_s) from attempts a where a.job_id = jobs.id);

insert into job_failures (job_id, failure, n)
select job_id, failure, count(*) from attempts where failure is not null group by job_id, failure;

insert into scores
select suite, identity_key, sampling_key, endpoint_id, task_id, task_hash, validator_version,
       sum(graded), sum(errors), sum(passed), sum(non_logic), sum(score),
       coalesce(sum(decode_tps), 0), count(decode_tps), coalesce(sum(prefill_tps), 0), count(prefill_tps),
       coalesce(sum(ttft_s), 0), count(ttft_s), coalesce(sum(e2e_s), 0), count(e2e_s), sum(tokens),
       max(last_at), max(newest_job)
from attempt_scores
group by suite, identity_key, sampling_key, endpoint_id, task_id, task_hash, validator_version;

-- The next attempt of a job without sorting all that wait; what is in flight without looking at all.
drop index attempts_job_state;
create index attempts_next on attempts (job_id, state, number);
create index attempts_in_flight on attempts (run_id) where state in ('generating', 'grading');
create index attempts_regrade on attempts (run_id, number) where state = 'regrade';
