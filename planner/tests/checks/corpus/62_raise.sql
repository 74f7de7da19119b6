-- DO whose body only says something.
DO $$ BEGIN RAISE NOTICE 'hello'; END $$;
DO $$begin raise notice 'hello %, % and 100%%', chr(8364), NULL; raise warning 'twice'; end;$$ language plpgsql;
DO language plpgsql $$
BEGIN
  NULL;
  RAISE NOTICE 'hello, world!' USING ERRCODE = '23505', DETAIL = 'this is a ' || 'test', HINT = (SELECT 'h');
END
$$;
DO $$ BEGIN RAISE INFO 'i'; RAISE LOG 'l'; RAISE DEBUG 'd'; END $$;
DO $$ BEGIN RAISE EXCEPTION 'no % here', 1 + 1; END $$;
DO $$ BEGIN RAISE 'plain'; END $$;
DO $$ BEGIN RAISE EXCEPTION 'e' USING ERRCODE = '42P05', HINT = 'x', COLUMN = 'c', TABLE = 't', CONSTRAINT = 'k', SCHEMA = 's'; END $$;
DO $$ BEGIN RAISE EXCEPTION USING MESSAGE = 'm' || 1, ERRCODE = 'PXX99'; END $$;
DO $$ BEGIN RAISE NOTICE 'few %'; END $$;
DO $$ BEGIN RAISE NOTICE 'many', 1; END $$;
DO $$ BEGIN RAISE NOTICE '%', nosuch; END $$;
DO $$ BEGIN RAISE NOTICE '%', 1 / 0; END $$;
DO $$ BEGIN RAISE EXCEPTION 'e' USING ERRCODE = 'nosuch'; END $$;
DO $$ BEGIN RAISE EXCEPTION 'e' USING DETAIL = NULL; END $$;
DO $$ BEGIN NULL; END $$;
BEGIN;
DO $$ BEGIN RAISE EXCEPTION 'ends it'; END $$;
SELECT 1;
ROLLBACK;
