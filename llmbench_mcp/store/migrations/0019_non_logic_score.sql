-- What attempts without a failure of logic scored all the same, so that a score can be told without them.
alter table scores add column non_logic_score real not null default 0;

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
       coalesce(a.completion_tokens, 0) as tokens, a.finished_at as last_at, j.created_at || ' ' || j.id as newest_job,
       case when a.passed is not null and a.failure in ('empty', 'refusal', 'no_code', 'syntax_error', 'import_error',
                 'missing_function', 'malformed_call', 'call_in_text', 'format', 'budget_exhausted')
            then a.score else 0 end as non_logic_score
from attempts a join jobs j on j.id = a.job_id
where a.counted = 1 and a.state in ('done', 'error', 'regrade');

-- Of attempts already removed only their number is known; what they scored stays counted.
update scores set non_logic_score = coalesce((
    select sum(s.non_logic_score) from attempt_scores s
    where s.suite = scores.suite and s.identity_key = scores.identity_key and s.sampling_key = scores.sampling_key
      and s.endpoint_id = scores.endpoint_id and s.task_id = scores.task_id and s.task_hash = scores.task_hash
      and s.validator_version = scores.validator_version), 0)
where non_logic > 0;
