-- name: run_events
select seq, at, kind, data from events
where run_id = $1 and seq > $2 and (kind <> 'attempt' or $3 = 1)
order by seq limit $4;

-- name: run_mark
select max(seq) as mark from events where run_id = $1;
