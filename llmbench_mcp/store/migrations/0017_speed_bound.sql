-- Whether this program was too busy to time a job's speeds, which the leaderboard shows: 1 of a job, of removed runs how
-- many. A job that has ``client_bound`` alone has single gaps between deltas that are not to be relied on.
alter table jobs add column speed_bound integer not null default 0;
alter table removed_sums add column speed_bound integer not null default 0;

update jobs set speed_bound = 1 where client_bound like 'the client used %';

create trigger jobs_speed_bound after update of speed_bound on jobs when new.speed_bound <> old.speed_bound begin
    insert into suite_marks (suite, mark) values (new.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;
