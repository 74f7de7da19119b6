-- How values are read and written follows the session's settings at once: between statements, within one, and back with a savepoint.
create table moments (id int primary key, at timestamptz, d date, f float8, b bytea, iv interval);
insert into moments values (1, '2026-03-29 00:30:00+00', '2026-03-29', 1.0 / 3, '\x00ff', '1 mon 2 days 03:04:05'), (2, '2026-07-01 22:30:00+00', '2026-07-01', 2.5e-20, 'a\\b', '-1 day');
select id, at::text, d::text, f::text, b::text, iv::text from moments order by id;
set timezone = 'Europe/Berlin';
select id, at::text, at::date, extract(hour from at), date_trunc('day', at)::text from moments order by id;
set datestyle = 'German, DMY';
select id, at::text, d::text, '03.04.2026'::date::text from moments order by id;
select id, to_char(at, 'YYYY-MM-DD HH24:MI:SS TZ'), to_char(at, 'day, dd. mon yyyy'), to_char(at, '"at" HH12 "h" FMDay') from moments order by id;
select id, to_char(at, case id when 1 then 'YYYY' else 'DDD' end), to_char(f, case id when 1 then '0.000' else '9.9EEEE' end) from moments order by id;
set intervalstyle = 'iso_8601';
set bytea_output = 'escape';
set extra_float_digits = -10;
select id, f::text, b::text, iv::text from moments order by id;
reset all;
select set_config('datestyle', 'German', false), (select string_agg(d::text, ' ' order by id) from moments);
select string_agg(d::text, ' ' order by id) from moments;
reset datestyle;
-- From one row to the next.
select s.k, set_config('timezone', case s.k when 1 then 'Asia/Tokyo' else 'UTC' end, false), ('2026-01-01 00:00:00+00'::timestamptz + s.k * interval '1 hour')::text from generate_series(1, 3) s(k);
reset timezone;
select s.k, set_config('datestyle', case s.k % 2 when 1 then 'SQL, DMY' else 'ISO, MDY' end, false), (date '2026-01-02' + s.k)::text from generate_series(1, 4) s(k);
select ('0' || s.k || '/05/2026')::date from generate_series(1, 3) s(k) order by 1;
set datestyle = 'ISO, MDY';
select ('0' || s.k || '/05/2026')::date from generate_series(1, 3) s(k) order by 1;
reset datestyle;
begin;
savepoint here;
set timezone = 'America/New_York';
select at::text from moments order by id;
rollback to here;
select at::text from moments order by id;
set local timezone = 'Asia/Kolkata';
select at::text from moments order by id;
commit;
select at::text from moments order by id;
-- Where names are looked for.
create schema within;
create table within.moments (id int);
select s.k, set_config('search_path', case s.k when 1 then 'within, public' else 'public' end, false), 'moments'::regclass = 'within.moments'::regclass from generate_series(1, 2) s(k);
select 'moments'::regclass, 'within.moments'::regclass;
set search_path = within, public;
select 'moments'::regclass, 'public.moments'::regclass;
select ('mom' || 'ents')::regclass, to_regclass('moments'), format_type('moments'::regtype, -1);
reset search_path;
-- Functions that set for themselves.
create function in_tokyo(timestamptz) returns text language plpgsql set timezone = 'Asia/Tokyo' as 'begin return $1::text; end';
select id, in_tokyo(at), at::text from moments order by id;
create function turns(timestamptz) returns text language plpgsql as 'begin set timezone = ''Asia/Tokyo''; return $1::text; end';
select id, at::text as before, turns(at), at::text as after from moments where id = 1;
show timezone;
reset timezone;
-- Templates of numbers, one after the other.
select to_char(s.k * 1234.5, case s.k % 3 when 0 then 'FM999,999.00' when 1 then '000000.0' else 'S9999PR' end) from generate_series(1, 1) s(k);
select to_char(s.k * 1234.5, case s.k % 2 when 0 then 'FM999,999.00' else '000000.0' end), to_number(s.k || '.5', case s.k % 2 when 0 then '9.9' else '99.9' end) from generate_series(1, 4) s(k);
drop function in_tokyo(timestamptz);
drop function turns(timestamptz);
drop schema within cascade;
drop table moments;
