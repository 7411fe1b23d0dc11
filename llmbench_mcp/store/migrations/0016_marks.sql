-- A number for each suite that grows with everything its leaderboard is made of: who has the leaderboard as of the same
-- number has it as it is now, and need not read thousands of rows to know.
create table suite_marks (
    suite text primary key,
    mark integer not null
);

insert into suite_marks (suite, mark)
select suite, 1 from jobs union select suite, 1 from removed_sums union select suite, 1 from scores;

create trigger scores_added after insert on scores begin
    insert into suite_marks (suite, mark) values (new.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;

create trigger scores_changed after update on scores begin
    insert into suite_marks (suite, mark) values (new.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;

create trigger scores_removed after delete on scores begin
    insert into suite_marks (suite, mark) values (old.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;

create trigger jobs_added after insert on jobs begin
    insert into suite_marks (suite, mark) values (new.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;

create trigger jobs_measured after update of measured_j, measured_tokens on jobs begin
    insert into suite_marks (suite, mark) values (new.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;

create trigger jobs_removed after delete on jobs begin
    insert into suite_marks (suite, mark) values (old.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;

create trigger sums_added after insert on removed_sums begin
    insert into suite_marks (suite, mark) values (new.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;

create trigger sums_changed after update on removed_sums begin
    insert into suite_marks (suite, mark) values (new.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;

create trigger sums_removed after delete on removed_sums begin
    insert into suite_marks (suite, mark) values (old.suite, 1)
    on conflict (suite) do update set mark = suite_marks.mark + 1;
end;
