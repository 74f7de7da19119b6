-- What applications and migration tools ask, found by running them (wire/tests/compat/applications).

-- SELECT without columns.
select;
select where false;
select 1 as "select";
select 1 as select;
select exists(select where true), exists(select where false), exists(select from (values (1)) v);
select count(*) from (select union all select) x;
select count(*) from (select union select) x;
select count(*) from (select from (values (1), (2)) v limit 1) x;
select (select);
select all;
prepare nothing as select;
execute nothing;
create table app_nocols();
insert into app_nocols default values;
select from app_nocols;
select count(*) from (select * from app_nocols) x;
create view app_empty as select;
select count(*) from app_empty;
select from;
select distinct;
select where;
select from app_nocols where;

-- ARRAY[…] as a vector of oids: Rails asks it at every comparison without regard to case.
select array['character varying'::regtype]::oidvector, array['character varying(255)'::regtype]::oidvector, array[25::oid]::oidvector, array[1, 2]::int2vector;
select array[25::oid]::oidvector = '25'::oidvector;
select (array[25::oid] || 26::oid)::oidvector;
select array['x']::oidvector;
SELECT exists(SELECT * FROM pg_proc WHERE proname = 'lower' AND proargtypes = ARRAY['character varying(255)'::regtype]::oidvector) OR exists(SELECT * FROM pg_proc INNER JOIN pg_cast ON ARRAY[casttarget]::oidvector = proargtypes WHERE proname = 'lower' AND castsource = 'character varying(255)'::regtype);

-- A column called interval: Airflow has one.
create table app_interval(interval json, a int);
insert into app_interval values ('1', 2);
select case when true then interval end, interval from app_interval;
select interval + 1 from (select 1 as interval) x;
select case when interval::text = '1' then interval else null end from app_interval;
select interval '1 day', interval(0) '1.6 s', interval '1' hour, app_interval.interval, (interval->>0) from app_interval;
update app_interval set interval = '2' where interval::text = '1' returning interval;
select interval from app_interval order by interval::text;
select interval;
select interval $1;
alter table app_interval rename interval to interval2;

-- A default that is a literal was of the column's type.
create table app_default(a double precision default '0.5', b double precision default 0.5, c text default '7', d int default -3, e timestamp default '2020-01-02 03:04:05');
alter table app_default alter a type integer, alter b type integer;
alter table app_default alter c type integer using c::integer;
alter table app_default alter d type text, alter e type date;
insert into app_default(c) values ('x');
select * from app_default;
select attname, pg_get_expr(adbin, adrelid) from pg_attrdef, pg_attribute where adrelid = 'app_default'::regclass and attrelid = adrelid and attnum = adnum order by attnum;

-- Statistics of tables and indexes have their rows.
create table app_counted(id int primary key, a int unique);
select schemaname, relname, indexrelname, relid = 'app_counted'::regclass, indexrelid = indexrelname::regclass from pg_stat_user_indexes where relname = 'app_counted' order by 3;
select schemaname, relname from pg_stat_user_tables where relname = 'app_counted';
select schemaname, relname from pg_statio_user_tables where relname = 'app_counted';

-- DISTINCT over a key and what is made of it is DISTINCT over the key.
create table app_parts(id int primary key, n numeric);
create materialized view app_keyed as select distinct concat(id, '!') as x, id from app_parts with no data;
create unique index on app_keyed(id);

-- A LATERAL subquery that locks rows: Prefect's workers take their runs by one.
create table app_queues(id int primary key, n int, paused boolean default false);
create table app_runs(id int primary key, queue int, at int);
insert into app_queues values (1, 1), (2, 2), (3, 5), (4, null), (5, 0);
insert into app_runs select i, i % 5 + 1, 100 - i from generate_series(1, 20) i;
select r.id from app_queues q cross join lateral (select * from app_runs r where r.queue = q.id order by r.at limit least(5, q.n) for update skip locked) r order by r.id;
select q.id, r.id from app_queues q, lateral (select * from app_runs r where r.queue = q.id order by r.id limit 1 for update) r where q.id in (1, 3) order by 1;
select q.id, r.id from app_queues q left join lateral (select * from app_runs r where r.queue = q.id and r.id > 15 order by r.id offset 1 limit q.n for no key update) r on true order by 1, 2;
select q.id, r.id, q.n from app_queues q join app_queues p on p.id = q.id cross join lateral (select id from app_runs r where r.queue = p.id and r.at < 100 - q.n order by r.id limit 1 for share) r order by 1;
select r.id from app_queues q cross join lateral (select * from app_runs r where r.queue = q.id limit -q.n for update) r;
update app_runs set at = 0 from (select r.id from app_queues q cross join lateral (select * from app_runs r where r.queue = q.id order by r.id limit q.n for update skip locked) r) picked where app_runs.id = picked.id;
select id from app_runs where at = 0 order by id;
with picked as (select r.id from app_queues q cross join lateral (select * from app_runs r where r.queue = q.id and at > 0 order by r.id limit 1 for update skip locked) r) delete from app_runs using picked where picked.id = app_runs.id returning app_runs.id;

-- A string goes on on another line.
select 'a'
 'b', 'c';
select 'a'
 'b' where 'q' = 'q'

  '';
insert into app_counted(id) select length('ab'
'cd');

-- The rows beside it may be those of a WITH query.
with free as (select q.id, greatest(0, q.n - 1) as n from app_queues q where not paused) select f.id, r.id from free f cross join lateral (select * from app_runs r where r.queue = f.id order by r.id limit least(2, f.n) for update skip locked) r where f.id < 5 order by 1, 2;
with free as (select q.id, q.n from app_queues q), named as (select id, n from free where n > 1) select f.id, r.id from named f join free g on g.id = f.id cross join lateral (select r.id from app_runs r join free h on h.id = r.queue where r.queue = f.id order by r.id limit g.n for update of r) r order by 1, 2;
