-- name: job_tally
update jobs
set done = done + $2, errors = errors + $3, passed = passed + $4, tokens = tokens + $5, seconds = seconds + $6,
    timed = timed + $7
where id = $1;

-- name: job_failure_tally
insert into job_failures (job_id, failure, n) values ($1, $2, $3)
on conflict (job_id, failure) do update set n = job_failures.n + excluded.n;

-- name: score_tally
insert into scores
select suite, identity_key, sampling_key, endpoint_id, task_id, task_hash, validator_version,
       $2 * graded, $2 * errors, $2 * passed, $2 * non_logic, $2 * score,
       $2 * coalesce(decode_tps, 0), case when decode_tps is null then 0 else $2 end,
       $2 * coalesce(prefill_tps, 0), case when prefill_tps is null then 0 else $2 end,
       $2 * coalesce(ttft_s, 0), case when ttft_s is null then 0 else $2 end,
       $2 * coalesce(e2e_s, 0), case when e2e_s is null then 0 else $2 end,
       $2 * tokens, last_at, newest_job, $2 * non_logic_score
from attempt_scores where attempt_id = $1
on conflict (suite, identity_key, sampling_key, endpoint_id, task_id, task_hash, validator_version) do update
set graded = scores.graded + excluded.graded, errors = scores.errors + excluded.errors,
    passed = scores.passed + excluded.passed, non_logic = scores.non_logic + excluded.non_logic,
    score_sum = scores.score_sum + excluded.score_sum,
    decode_sum = scores.decode_sum + excluded.decode_sum, decode_n = scores.decode_n + excluded.decode_n,
    prefill_sum = scores.prefill_sum + excluded.prefill_sum, prefill_n = scores.prefill_n + excluded.prefill_n,
    ttft_sum = scores.ttft_sum + excluded.ttft_sum, ttft_n = scores.ttft_n + excluded.ttft_n,
    e2e_sum = scores.e2e_sum + excluded.e2e_sum, e2e_n = scores.e2e_n + excluded.e2e_n,
    tokens = scores.tokens + excluded.tokens, non_logic_score = scores.non_logic_score + excluded.non_logic_score,
    last_at = case when scores.last_at > excluded.last_at then scores.last_at else excluded.last_at end,
    newest_job = case when scores.newest_job > excluded.newest_job then scores.newest_job else excluded.newest_job end;

-- name: attempts_open_of_job
select id, counted, prompt_tokens, completion_tokens from attempts where job_id = $1 and state in ('pending', 'generating', 'grading');

-- name: scores_tidy
delete from scores
where graded = 0 and errors = 0
  and exists (select 1 from jobs j where j.run_id = $1 and j.suite = scores.suite
                                     and j.identity_key = scores.identity_key);
