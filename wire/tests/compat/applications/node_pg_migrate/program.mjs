// The runner as a library, and the tables that it made, by pg.
import pg from "pg";
import { runner } from "node-pg-migrate";
import { refused, step } from "./steps.mjs";

const url = process.env.DATABASE_URL;
const client = new pg.Client({ connectionString: url });
const rows = async (text, ...values) => (await client.query({ text, values, rowMode: "array" })).rows;
const run = async (direction, count, dir = "migrations") => (await runner({ databaseUrl: url, dir, migrationsTable: `pg${dir}`, direction, count, log: () => {} })).map((one) => one.name);

await client.connect();
await step("nothing to do", () => run("up", Infinity));
await step("two runners at once", async () => {
  await run("down", 1);
  const both = await Promise.allSettled([run("up", Infinity), run("up", Infinity)]);
  return both.map((one) => (one.status === "fulfilled" ? "done" : one.reason.message)).sort();
});
await step("what is recorded", () => rows("SELECT name FROM pgmigrations ORDER BY id"));
await step("columns", () => rows(`SELECT table_schema, table_name, column_name, data_type, udt_name, domain_name, is_nullable, column_default, character_maximum_length
  FROM information_schema.columns WHERE table_schema IN ('public', 'library') ORDER BY 1, 2, ordinal_position`));
await step("constraints", () => rows(`SELECT conrelid::regclass, conname, contype, pg_get_constraintdef(oid) FROM pg_constraint
  WHERE connamespace::regnamespace::text IN ('public', 'library') ORDER BY 1, 2`));
await step("indexes", () => rows("SELECT indexname, indexdef FROM pg_indexes WHERE schemaname IN ('public', 'library') ORDER BY 1"));
await step("comments", () => rows("SELECT objsubid, description FROM pg_description WHERE objoid IN ('persons'::regclass, 'library.books'::regclass) ORDER BY objoid, 1"));
await step("rows", async () => {
  await rows("INSERT INTO library.books (author, title, price) SELECT id, 'One', 2.5 FROM persons");
  await rows("REFRESH MATERIALIZED VIEW CONCURRENTLY counts");
  return [await rows("SELECT name, ticket, role FROM persons"), await rows("SELECT title, letters, pages FROM library.books"), await rows("SELECT many FROM counts"), await rows("SELECT name FROM writers")];
});
await step("a constraint refuses", () => refused(() => rows("UPDATE library.books SET pages = 0")));
await step("a migration of domains", async () => [await run("up", Infinity, "domains"), await refused(() => rows("INSERT INTO labels VALUES ('')")), await run("down", 1, "domains")]);
await client.end();
