-- The version of its task by which an attempt is about to be graded again; its verdict is of task_hash until then.
alter table attempts add column regrade_hash text;
