-- AFTER INSERT FOR EACH ROW: what they are given, when they are called, in which order, and what hangs on them.
create table tg_t (id int primary key, a text default 'x', gone int, b int generated always as (id * 2) stored);
alter table tg_t drop column gone;
create table tg_log (n int generated always as identity, what text, said text);
create function tg_note() returns trigger language plpgsql as $$
begin
  insert into tg_log (what, said) values (tg_op || ' ' || tg_when || ' ' || tg_level || ' ' || tg_name || ' ' || tg_table_name || ' ' || tg_table_schema || ' ' || tg_relname,
    new.id || ' ' || new.a || ' ' || new.b || ' ' || (old is null)::text || ' ' || tg_nargs || ' ' || coalesce(tg_argv[0], '-') || coalesce(tg_argv[1], '-') || (tg_relid = 'tg_t'::regclass)::text);
  return null;
end $$;
create trigger tg_b after insert on tg_t for each row execute function tg_note('one', 2);
create trigger tg_a after insert on tg_t for row execute procedure tg_note();
insert into tg_t values (1, 'first'), (2, default);
select * from tg_log order by n;
insert into tg_t (id) select g from generate_series(3, 5) g returning id, b;
select count(*), min(said), max(said) from tg_log;
insert into tg_t values (1, 'again');
select count(*) from tg_log;
insert into tg_t values (1, 'again'), (6, 'new') on conflict (id) do update set a = excluded.a;
select what, said from tg_log where n > 10 order by n;
insert into tg_t values (6, 'again') on conflict do nothing;
update tg_t set a = 'u' where id = 1;
delete from tg_t where id = 1;
select count(*) from tg_log;
merge into tg_t using (values (2, 'm2'), (7, 'm7')) v(id, a) on tg_t.id = v.id when matched then update set a = v.a when not matched then insert (id, a) values (v.id, v.a);
select said from tg_log where n > 14 order by n;
with w as (insert into tg_t values (8, 'w8') returning id) insert into tg_t select id + 1, 'w9' from w;
select said from tg_log where what like '%tg_a%' order by n desc limit 2;

-- In the catalog.
select tgname, tgrelid::regclass, tgfoid::regproc, tgtype, tgenabled, tgisinternal, tgnargs, tgargs, tgattr, tgqual is null q, pg_get_triggerdef(oid) d, pg_get_triggerdef(oid, true) p
from pg_trigger where tgrelid = 'tg_t'::regclass order by tgname;
select trigger_schema, trigger_name, event_manipulation, event_object_schema, event_object_table, action_order, action_condition, action_statement, action_orientation, action_timing, created
from information_schema.triggers where event_object_table = 'tg_t' order by trigger_name;
select relhastriggers from pg_class where relname = 'tg_t';
select hastriggers from pg_tables where tablename = 'tg_t';
select pg_get_triggerdef(0), pg_get_triggerdef(null);

-- Not called.
alter table tg_t disable trigger tg_b;
select tgname, tgenabled from pg_trigger where tgrelid = 'tg_t'::regclass order by tgname;
delete from tg_log;
insert into tg_t values (20, 'd');
select what from tg_log order by n;
alter table tg_t disable trigger user;
insert into tg_t values (21, 'd');
select what from tg_log order by n;
alter table tg_t enable trigger all;
insert into tg_t values (22, 'd');
select what from tg_log order by n;
alter table tg_t disable trigger tg_none;

-- What is wrong.
create trigger tg_a after insert on tg_t for each row execute function tg_note();
create or replace trigger tg_a after insert on tg_t for each row execute function tg_note('replaced');
select pg_get_triggerdef(oid) from pg_trigger where tgname = 'tg_a';
create trigger tg_x after insert on tg_nowhere for each row execute function tg_note();
create trigger tg_x after insert on tg_t for each row execute function tg_nothing();
create function tg_int() returns int language sql as 'select 1';
create trigger tg_x after insert on tg_t for each row execute function tg_int();
create view tg_v as select * from tg_t;
create trigger tg_x after insert on tg_v for each row execute function tg_note();
create trigger tg_x after insert on pg_class for each row execute function tg_note();
create trigger tg_x during insert on tg_t for each row execute function tg_note();
create trigger tg_x after insert on tg_t for each line execute function tg_note();
create trigger tg_x after insert on tg_t for each row execute tg_note();
create trigger tg_x after insert on tg_t for each row execute function tg_note(a.b);
select tg_note();
drop trigger tg_x on tg_t;
drop trigger tg_x on tg_nowhere;
drop trigger if exists tg_x on tg_t;
drop trigger if exists tg_x on tg_nowhere;
drop function tg_note();
drop function tg_note() cascade;
select count(*) from pg_trigger where tgrelid = 'tg_t'::regclass;
insert into tg_t values (30, 'n');

-- An error takes back what the statement did; a block that handles it does not.
create function tg_refuse() returns trigger language plpgsql as $$ begin if new.id > 40 then raise exception 'no % here', new.id; end if; return new; end $$;
create trigger tg_refused after insert on tg_t for each row execute function tg_refuse();
insert into tg_t values (39, 'y'), (40, 'y'), (41, 'n');
select count(*) from tg_t where id between 39 and 41;
do $$ begin insert into tg_t values (42, 'n'); exception when raise_exception then raise notice 'handled %', sqlerrm; end $$;
insert into tg_t values (40, 'y');
create or replace function tg_refuse() returns trigger language plpgsql as $$ begin raise notice 'now % %', tg_op, new; end $$;
insert into tg_t values (43, 'y');
create or replace function tg_refuse() returns trigger language plpgsql as $$ begin new.a := 'changed'; return new; end $$;
insert into tg_t values (43, 'y') returning a;
select a from tg_t where id = 43;
create or replace function tg_refuse() returns trigger language plpgsql as $$ begin if new.id < 53 then insert into tg_t values (new.id + 1, 'next'); end if; return null; end $$;
insert into tg_t values (50, 'y');
select id from tg_t where id >= 50 order by id;
create or replace function tg_refuse() returns trigger language plpgsql as $$ declare n bigint; begin select count(*) into n from tg_t where id >= 60; raise notice '%', n; return null; end $$;
insert into tg_t values (60, 'y'), (61, 'y'), (62, 'y');
create or replace function tg_refuse() returns trigger language plpgsql as $$ begin delete from tg_t where id = new.id; return null; end $$;
insert into tg_t values (70, 'y') returning id;
select count(*) from tg_t where id = 70;
create or replace function tg_refuse() returns trigger language plpgsql as $$ begin raise notice '%', (select new.a || found); return null; end $$;
insert into tg_t values (71, 'y');
alter table tg_t rename column a to aa;
insert into tg_t values (72, 'y');
alter table tg_t rename column aa to a;
alter table tg_t rename to tg_u;
insert into tg_u values (73, 'y');
select pg_get_triggerdef(oid) from pg_trigger where tgname = 'tg_refused';
alter function tg_refuse() rename to tg_again;
insert into tg_u values (74, 'y');
drop view tg_v;
drop table tg_u;
select count(*) from pg_trigger where tgname like 'tg\_%';
drop function tg_again;

-- References are looked at first; schemas go with what is in them.
create table tg_p (id int primary key);
create table tg_c (id int primary key, p int references tg_p);
create function tg_say() returns trigger language plpgsql as $$ begin raise notice 'called %', new.id; return null; end $$;
create trigger tg_c1 after insert on tg_c for each row execute function tg_say();
insert into tg_c values (1, 1);
insert into tg_p values (1);
insert into tg_c values (1, 1);
create schema tg_s;
create function tg_s.f() returns trigger language plpgsql as $$ begin raise notice 'other %', new.id; return null; end $$;
create trigger "Tg 2" after insert on tg_c for each row execute function tg_s.f('a''b', 'c\d');
insert into tg_c values (2, 1);
select pg_get_triggerdef(oid) from pg_trigger where tgrelid = 'tg_c'::regclass and not tgisinternal order by tgname;
drop schema tg_s;
drop schema tg_s cascade;
insert into tg_c values (3, 1);
drop trigger tg_c1 on tg_c;
insert into tg_c values (4, 1);
drop table tg_c, tg_p, tg_log;
drop function tg_say, tg_int;
