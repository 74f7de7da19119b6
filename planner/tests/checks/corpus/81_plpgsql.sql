-- PL/pgSQL: variables, control, loops, queries, errors, cursors, DO. What writes says "stat", so that it is not run again.
create function pl_fact(n int) returns numeric language plpgsql as $$ begin if n <= 1 then return 1; end if; return n * pl_fact(n - 1); end $$;
select pl_fact(1), pl_fact(5), pl_fact(20);
create function pl_case(n int) returns text language plpgsql as $$
declare
  r text;
begin
  case n
    when 1, 2 then r := 'few';
    when 3 then r := 'three';
    else r := 'many';
  end case;
  case when n > 2 then r := r || '+'; else null; end case;
  return r;
end $$;
select pl_case(1), pl_case(3), pl_case(9);
create function pl_case2(n int) returns text language plpgsql as $$ begin case n when 1 then return 'one'; end case; end $$;
select pl_case2(1);
select pl_case2(2);
create function pl_loops(n int) returns text language plpgsql as $$
declare
  s text := '';
  i int;
begin
  for i in 1..n loop
    continue when i % 2 = 0;
    s := s || i || ',';
  end loop;
  for i in reverse n..1 by 2 loop s := s || 'r' || i; end loop;
  i := 0;
  while i < 3 loop i := i + 1; s := s || 'w'; end loop;
  <<outer>>
  loop
    loop
      i := i + 1;
      exit outer when i > 6;
      continue outer when i = 5;
      s := s || i;
    end loop;
  end loop outer;
  return s;
end $$;
select pl_loops(5), pl_loops(0);
create table pl_t (id int primary key, v text, n numeric);
insert into pl_t values (1, 'a', 1.5), (2, 'b', null), (3, 'c', 3);
create function pl_into(i int) returns text language plpgsql as $$
declare
  r pl_t%rowtype;
  rec record;
  x pl_t.v%type;
begin
  select * into r from pl_t where id = i;
  if not found then return 'none'; end if;
  select id, v as w into rec from pl_t where id = i;
  select v into x from pl_t where id = i;
  return r.id || r.v || coalesce(r.n::text, '-') || rec.w || x;
end $$;
select pl_into(1), pl_into(2), pl_into(9);
create function pl_strict(i int) returns text language plpgsql as $$ declare x text; begin select v into strict x from pl_t where id >= i; return x; end $$;
select pl_strict(3);
select pl_strict(2);
select pl_strict(9);
create function pl_sum() returns numeric language plpgsql as $$
declare
  total numeric := 0;
  r record;
begin
  for r in select * from pl_t order by id loop
    total := total + coalesce(r.n, 0);
  end loop;
  return total;
end $$;
select pl_sum();
create function pl_set(lowest int) returns setof int language plpgsql as $$ begin for i in lowest..lowest + 2 loop return next i; end loop; return query select id from pl_t order by id; return; end $$;
select * from pl_set(10);
select pl_set(7);
create function pl_tab() returns table (k int, w text) language plpgsql as $$ begin for k, w in select id, v from pl_t order by id loop w := w || '!'; return next; end loop; end $$;
select * from pl_tab();
create function pl_rows() returns setof pl_t language plpgsql as $$ declare r pl_t; begin for r in select * from pl_t order by id loop r.v := upper(r.v); return next r; end loop; return query select 9, 'q'::text, 0::numeric; end $$;
select * from pl_rows();
create function pl_outs(a int, out b int, out c text) language plpgsql as $$ begin b := a + 1; c := 'c' || a; end $$;
select * from pl_outs(1);
select pl_outs(1), (pl_outs(2)).c;
create function pl_rec(n int) returns setof record language plpgsql as $$ begin return query select id, v from pl_t where id <= n order by id; end $$;
select * from pl_rec(2) as t(a int, b text);
select * from pl_rec(2) as t(a int, b int);
create function pl_write(i int, x text) returns int language plpgsql as $$
declare
  c int;
  got text;
begin
  insert into pl_t (id, v) values (i, x) returning v into got;
  update pl_t set n = 7 where id = i;
  get diagnostics c = row_count;
  raise notice 'wrote % %, %', i, got, c;
  return c;
end $$;
with q as (select pl_write(4, 'd')) select * from q;
with q as (select pl_write(4, 'd')) select * from q;
select * from pl_t order by id;
create function pl_catch(i int, x text) returns text language plpgsql as $$
declare
  c text;
  m text;
begin
  begin
    insert into pl_t (id, v) values (i, x);
    insert into pl_t (id, v) values (i + 1, x || '2');
    return 'ok';
  exception
    when unique_violation then
      get stacked diagnostics c = returned_sqlstate, m = message_text;
      return 'caught ' || sqlstate || ' ' || c || ' ' || m;
    when others then
      return 'other ' || sqlerrm;
  end;
end $$;
with q as (select pl_catch(10, 'x')) select * from q;
with q as (select pl_catch(9, 'y')) select * from q;
select id, v from pl_t order by id;
create function pl_div(a int, b int) returns int language plpgsql as $$ begin return a / b; exception when division_by_zero then return -1; end $$;
select pl_div(6, 3), pl_div(1, 0);
create function pl_class(b int) returns text language plpgsql as $$ begin perform 1 / b; return 'fine'; exception when data_exception then return 'data: ' || sqlstate; end $$;
select pl_class(0), pl_class(1);
create function pl_raise(kind int) returns int language plpgsql as $$
begin
  case kind
    when 1 then raise exception 'plain % and %', 1, 'two';
    when 2 then raise exception using errcode = 'P1234', message = 'made up', detail = 'some', hint = 'do it';
    when 3 then raise unique_violation using message = 'like a key';
    when 4 then raise sqlstate '22012';
    when 5 then raise division_by_zero;
    when 6 then raise 'just %%';
    else raise warning 'careful %', kind; raise info 'info'; return kind;
  end case;
end $$;
select pl_raise(1);
select pl_raise(2);
select pl_raise(3);
select pl_raise(4);
select pl_raise(5);
select pl_raise(6);
select pl_raise(7);
create function pl_again() returns int language plpgsql as $$ begin begin raise exception 'first'; exception when others then raise; end; end $$;
select pl_again();
create function pl_exec(tab text, i int) returns text language plpgsql as $$
declare
  r text;
  n int;
begin
  execute format('select v from %I where id = $1', tab) into r using i;
  execute 'select count(*) from ' || quote_ident(tab) into n;
  return coalesce(r, 'null') || n;
end $$;
select pl_exec('pl_t', 1), pl_exec('pl_t', 77);
select pl_exec('nosuch', 1);
create function pl_dyn() returns setof text language plpgsql as $$ declare r record; begin for r in execute 'select v from pl_t where id < $1 order by id' using 3 loop return next r.v; end loop; return query execute 'select ''end'''; end $$;
select * from pl_dyn();
create function pl_arr(a int[]) returns text language plpgsql as $$
declare
  x int;
  s text := '';
  b int[] := '{}';
begin
  foreach x in array a loop s := s || x || ';'; b[coalesce(array_length(b, 1), 0) + 1] := x * 2; end loop;
  b[2] := 0;
  return s || b::text || coalesce(a[1]::text, 'none');
end $$;
select pl_arr(array[1, 2, 3]), pl_arr('{}');
select pl_arr(null);
create function pl_slice(a int[]) returns setof int[] language plpgsql as $$ declare x int[]; begin foreach x slice 1 in array a loop return next x; end loop; end $$;
select * from pl_slice(array[[1, 2], [3, 4]]);
create function pl_named(name refcursor) returns refcursor language plpgsql as $$ begin open name for select id from pl_t order by id; return name; end $$;
begin;
with q as (select pl_named('mine')) select * from q;
fetch next from mine;
close mine;
rollback;
create function pl_bound(lowest int) returns text language plpgsql as $$
declare
  c cursor (m int) for select id, v from pl_t where id >= m order by id;
  r record;
  s text := '';
  i int;
  w text;
begin
  open c(lowest);
  loop
    fetch c into r;
    exit when not found;
    s := s || r.id || r.v;
  end loop;
  close c;
  for r in c(m := lowest + 1) loop s := s || '/' || r.v; end loop;
  open c(1);
  fetch c into i, w;
  move c;
  fetch c into i, w;
  close c;
  return s || '|' || i || w;
end $$;
select pl_bound(2);
create function pl_noreturn(a int) returns int language plpgsql as $$ begin if a > 0 then return 1; end if; end $$;
select pl_noreturn(1);
select pl_noreturn(0);
create function pl_conv(x text) returns int language plpgsql as $$ declare i int; begin i := x; return i; end $$;
select pl_conv('12');
select pl_conv('abc');
create function pl_notnull(a int) returns int language plpgsql as $$ declare c int not null := 1; begin c := a; return c; end $$;
select pl_notnull(5);
select pl_notnull(null);
create function pl_amb(id int) returns bigint language plpgsql as $$ begin return (select count(*) from pl_t where id = id); end $$;
select pl_amb(1);
create function pl_amb2(id int) returns bigint language plpgsql as $$ #variable_conflict use_column
begin return (select count(*) from pl_t where pl_t.id = id); end $$;
select pl_amb2(1);
create function pl_qual(id int) returns text language plpgsql as $$ begin return (select v from pl_t where pl_t.id = pl_qual.id); end $$;
select pl_qual(2);
create function pl_block() returns text language plpgsql as $$
<<b>>
declare
  x text := 'outer';
begin
  declare
    x text := 'inner';
  begin
    return x || b.x;
  end;
end $$;
select pl_block();
create function pl_alias(int, int) returns int language plpgsql as $$ declare a alias for $1; begin return a * 10 + $2; end $$;
select pl_alias(3, 4);
create function pl_void() returns void language plpgsql as $$ begin perform pl_fact(3); null; end $$;
select pl_void();
create function pl_found() returns text language plpgsql as $$ declare s text := found::text; begin perform 1 from pl_t where id = 1; s := s || found; update pl_t set v = v where false; s := s || found; for i in 1..0 loop null; end loop; return s || found; end $$;
with q as (select pl_found()) select * from q;
create function pl_assert(n int) returns int language plpgsql as $$ begin assert n > 0, 'must be more'; return n; end $$;
select pl_assert(1);
select pl_assert(0);
create procedure pl_bad(a int, inout b int default 5, out c text) language plpgsql as $$ begin b := b + a; c := 'done'; end $$;
create procedure pl_proc(a int, inout b int, out c text) language plpgsql as $$ begin b := b + a; c := 'done'; end $$;
call pl_proc(1, 2, null);
create procedure pl_caller() language plpgsql as $$ declare x int := 1; y text; begin call pl_proc(10, x, y); raise notice '% %', x, y; end $$;
call pl_caller();
do $$ declare r record; begin for r in select id from pl_t where id < 3 order by id loop raise notice 'id %', r.id; end loop; end $$;
do $$ begin insert into pl_t (id, v) values (50, 'do'); end $$;
select v from pl_t where id = 50;
do $$ begin raise exception 'no'; end $$;
do $$ begin if not exists (select 1 from pg_class where relname = 'pl_made') then create table pl_made (a int); end if; end $$;
do $$ begin if not exists (select 1 from pg_class where relname = 'pl_made') then create table pl_made (a int); end if; end $$;
do $$ begin create table pl_made (a int); exception when duplicate_table then raise notice 'there'; end $$;
do language plpgsql $$ begin execute 'insert into pl_made values (1)'; perform a from pl_made; end $$;
select * from pl_made;
do $$ begin select 1; end $$;
do $$ begin return 1; end $$;
do $$ begin null; end; $$;
do $$ begin x := 1; end $$;
do $$ begin if true then end $$;
do $$ declare x int; x text; begin end $$;
do $$ begin exit; end $$;
do $$ begin loop; end $$;
create function pl_syn() returns int language plpgsql as $$ begin retrun 1; end $$;
create function pl_syn() returns int language plpgsql as $$ begin return 1 end $$;
create function pl_syn() returns int language plpgsql as $$ begin raise notice '%'; end $$;
create function pl_syn() returns int language plpgsql as $$ begin begin null; exception when nosuch_condition then null; end; end $$;
create function pl_syn() returns int language plpgsql as $$ declare a int; begin for i in 1..2 loop null; end if; end $$;
create function pl_rowret() returns pl_t language plpgsql as $$ declare r pl_t; begin r.id := 1; r.v := 'z'; return r; end $$;
select * from pl_rowret();
create function pl_null_rec() returns text language plpgsql as $$ declare r record; begin return r.a; end $$;
select pl_null_rec();
create function pl_nofield() returns text language plpgsql as $$ declare r record; begin select 1 as a into r; return r.b; end $$;
select pl_nofield();
create function pl_up(inout a int) language plpgsql as $$ begin a := a + 1; end $$;
select pl_up(1), pl_up(pl_up(1));
select id, pl_up(id), pl_fact(id) from pl_t where pl_up(id) < 5 order by pl_fact(id) desc;
select sum(pl_up(id)), count(*) from pl_t where id < 4;
insert into pl_made select pl_up(a) from pl_made;
insert into pl_made values (pl_fact(3)::int), (pl_up(9));
select a from pl_made order by a;
create function pl_default(a int default 3, b text default 'x' || 'y') returns text language plpgsql as $$ begin return a || b; end $$;
select pl_default(), pl_default(1), pl_default(b => 'k');
create function pl_domain() returns text language plpgsql as $$ declare d date := '2020-01-31'; i interval := '1 month'; begin d := d + i; return d::text; end $$;
select pl_domain();
create function pl_json(j jsonb) returns text language plpgsql as $$ declare k text; r text := ''; begin for k in select jsonb_object_keys(j) order by 1 loop r := r || k || '=' || (j ->> k) || ';'; end loop; return r; end $$;
select pl_json('{"b": 2, "a": "x"}');
create function pl_bool(b boolean) returns text language plpgsql as $$ begin if b then return 'yes'; elsif b is null then return 'unknown'; else return 'no'; end if; end $$;
select pl_bool(true), pl_bool(false), pl_bool(null);
create function pl_str(a text) returns text language plpgsql strict as $$ begin return a || '.'; end $$;
select pl_str('a'), pl_str(null);
select pg_get_functiondef('pl_str'::regproc);
drop table pl_made;
drop table pl_t;
drop table pl_t cascade;
