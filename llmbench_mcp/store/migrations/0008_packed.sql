-- Answers compressed; rows written before keep their columns and are read as they are.
alter table completions add column packed blob;

-- Only what waits is looked for in order, and only what failed is listed apart: both indexes stay small.
drop index attempts_next;
create index attempts_waiting on attempts (job_id, number) where state = 'pending';
create index attempts_failed on attempts (run_id, number, failure)
where state = 'error' or (state = 'done' and passed = 0);
create index runs_open on runs (state) where state in ('queued', 'running', 'paused');
create index jobs_model on jobs (model_id);
drop index jobs_run;
create index jobs_run on jobs (run_id, position, id);
drop index jobs_suite;
create index jobs_suite on jobs (suite, identity_key, sampling_key, endpoint_id, run_id);

-- An attempt that waits to be graded again keeps its verdict until it has another.
drop view attempt_scores;
create view attempt_scores as
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
       coalesce(a.completion_tokens, 0) as tokens, a.finished_at as last_at, j.created_at || ' ' || j.id as newest_job
from attempts a join jobs j on j.id = a.job_id
where a.counted = 1 and a.state in ('done', 'error', 'regrade');

-- Counted anew: what was asked again only to look has no part in the marks, but was spent like everything else.
update jobs set
    done = (select count(*) from attempts a where a.job_id = jobs.id and a.counted = 1 and a.passed is not null),
    errors = (select count(*) from attempts a where a.job_id = jobs.id and a.counted = 1 and a.passed is null
                                                and a.state in ('error', 'regrade')),
    passed = (select count(*) from attempts a where a.job_id = jobs.id and a.counted = 1 and a.passed = 1),
    tokens = (select coalesce(sum(coalesce(a.prompt_tokens, 0) + coalesce(a.completion_tokens, 0)), 0)
              from attempts a where a.job_id = jobs.id and a.state in ('done', 'error', 'regrade')),
    seconds = (select coalesce(sum(a.e2e_s), 0)
               from attempts a where a.job_id = jobs.id and a.state in ('done', 'error', 'regrade')),
    timed = (select count(a.e2e_s) from attempts a where a.job_id = jobs.id and a.state in ('done', 'error', 'regrade'));

delete from job_failures;
insert into job_failures (job_id, failure, n)
select job_id, failure, count(*) from attempts
where counted = 1 and failure is not null and state in ('done', 'error', 'regrade')
group by job_id, failure;

delete from scores;
insert into scores
select suite, identity_key, sampling_key, endpoint_id, task_id, task_hash, validator_version,
       sum(graded), sum(errors), sum(passed), sum(non_logic), sum(score),
       coalesce(sum(decode_tps), 0), count(decode_tps), coalesce(sum(prefill_tps), 0), count(prefill_tps),
       coalesce(sum(ttft_s), 0), count(ttft_s), coalesce(sum(e2e_s), 0), count(e2e_s), sum(tokens),
       max(last_at), max(newest_job)
from attempt_scores
group by suite, identity_key, sampling_key, endpoint_id, task_id, task_hash, validator_version;
