-- Energy of an attempt's own window, in joules; the note says why there is none.
alter table attempts add column energy_j real;
alter table attempts add column energy_note text;

-- All of a job's asking, attempts at the same time included; unknown once a part of it was not measured. While it
-- is being asked, energy_open is 1: found so at the next opening, a part was lost.
alter table jobs add column energy_j real;
alter table jobs add column energy_note text;
alter table jobs add column energy_open integer not null default 0;

-- Sums over the attempts whose energy is known, for joules per output token.
alter table jobs add column measured_j real not null default 0;
alter table jobs add column measured_tokens integer not null default 0;
