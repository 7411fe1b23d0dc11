-- Under which name the server answered, where that is not the name it was asked for.
alter table attempts add column answered_as text;
