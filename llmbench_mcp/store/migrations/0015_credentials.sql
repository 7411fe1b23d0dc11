-- Keys that persons entered: never the key, only whom it is for and where it lies.
create table credentials (
    name text primary key,
    origin text,
    place text not null,
    slot text not null,
    set_at text not null,
    expires_at text
);
