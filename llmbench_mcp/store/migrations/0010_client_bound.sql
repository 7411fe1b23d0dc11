-- Why a job's timings are this program's own and not the server's; null: they are the server's.
alter table jobs add column client_bound text;
