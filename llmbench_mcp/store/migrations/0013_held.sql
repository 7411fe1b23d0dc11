-- A model that left its server's list while its memory stayed held: bytes the device must come down to again.
alter table loads add column held_level integer;
