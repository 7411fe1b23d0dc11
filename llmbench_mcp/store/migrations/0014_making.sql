-- 1 while a large run is still being written: nothing of it is asked yet.
alter table runs add column making integer not null default 0;
