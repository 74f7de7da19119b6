// Migrator up, down, up again; introspection; queries of every kind; transactions.
import { Kysely, Migrator, PostgresDialect, sql } from "kysely";
import { jsonArrayFrom, jsonBuildObject, jsonObjectFrom } from "kysely/helpers/postgres";
import Cursor from "pg-cursor";
import pg from "pg";
import { migrations } from "./migrations.mjs";
import { must, refused, step } from "./steps.mjs";

const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 5 }), cursor: Cursor }) });
const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });

// Dogwood has a schema of its own, which Kysely takes for the user's.
const ours = (table) => table.schema !== "dogwood";

/** What a run of the migrator did; its error is the step's. */
async function done(run) {
  const { error, results } = await run;
  if (error) throw error;
  return results.map(({ migrationName, direction, status }) => `${migrationName} ${direction} ${status}`);
}

async function migrate() {
  await step("migrate", () => done(migrator.migrateToLatest()));
  await step("migrate again", () => done(migrator.migrateToLatest()));
  await step("one down", () => done(migrator.migrateDown()));
  await step("all down", async () => done(migrator.migrateTo((await import("kysely")).NO_MIGRATIONS)));
  await step("up again", () => done(migrator.migrateToLatest()));
  await step("two migrators at once", async () => (await Promise.all([migrator.migrateToLatest(), migrator.migrateToLatest()])).map((one) => one.results.length));
  await step("schemas", async () => (await db.introspection.getSchemas()).map((schema) => schema.name).filter((name) => !/^(pg_|dogwood$)/.test(name)).sort());
  await step("tables", async () => (await db.introspection.getTables()).filter(ours));
  await step("tables of the migrator's own", async () =>
    (await db.introspection.getTables({ withInternalKyselyTables: true })).filter(ours).map((table) => `${table.schema}.${table.name}`).sort());
}

async function write() {
  await step("insert", () => db.insertInto("person").values([{ name: "Ann", age: 30, role: "writer", tags: sql`array['a','b']` },
    { name: "Ben", data: JSON.stringify({ city: "Oslo" }) }]).returning(["id", "name", "role", "tags", "data"]).execute());
  await step("insert from select", () => db.insertInto("pet").columns(["owner", "name"])
    .expression((from) => from.selectFrom("person").select(["id", sql`name || '''s cat'`.as("name")]).orderBy("id")).returningAll().execute());
  await step("a conflict", () => db.insertInto("person").values({ name: "Ann", age: 40 })
    .onConflict((on) => on.column("name").where("gone", "is", null).doUpdateSet((row) => ({ age: row.ref("excluded.age") }))).returning(["name", "age"]).execute());
  await step("update from", () => db.updateTable("pet").from("person").whereRef("pet.owner", "=", "person.id").where("person.name", "=", "Ben")
    .set({ kind: "cat" }).returning(["pet.name", "pet.kind"]).execute());
  await step("merge", () => db.mergeInto("pet").using("person", "person.id", "pet.owner").whenMatchedAnd("person.name", "=", "Ann")
    .thenUpdateSet({ kind: "dog" }).whenNotMatched().thenDoNothing().executeTakeFirst());
  await step("nulls that are not distinct", () => refused(async () => {
    await db.schema.alterTable("pet").addUniqueConstraint("pet_one_null", ["grams"], (constraint) => constraint.nullsNotDistinct()).execute();
  }));
  await step("a reference refuses", () => refused(() => db.insertInto("pet").values({ owner: 999, name: "x" }).execute()));
  await step("a unique index refuses", () => refused(() => db.insertInto("person").values({ name: "Ann" }).execute()));
}

async function read() {
  const person = () => db.selectFrom("person");
  await step("joins", () => person().innerJoin("pet", "pet.owner", "person.id").leftJoin("pet as other", (join) => join.onRef("other.owner", "=", "person.id").on("other.kind", "=", "fish"))
    .select(["person.name", "pet.name as pet", "other.name as other"]).orderBy("person.name", (order) => order.desc().nullsLast()).execute());
  await step("a lateral join", () => person().leftJoinLateral((from) => from.selectFrom("pet").whereRef("pet.owner", "=", "person.id").select("pet.kind").limit(1).as("first"), (join) => join.onTrue())
    .select(["person.name", "first.kind"]).orderBy("person.id").execute());
  await step("documents", () => person().select((from) => ["name",
    jsonArrayFrom(from.selectFrom("pet").whereRef("pet.owner", "=", "person.id").select(["pet.name", "pet.kind"]).orderBy("pet.id")).as("pets"),
    jsonObjectFrom(from.selectFrom("pet").whereRef("pet.owner", "=", "person.id").select("pet.id").limit(1)).as("one"),
    jsonBuildObject({ age: from.ref("age"), role: from.ref("role") }).as("about")]).orderBy("id").execute());
  await step("paths of documents", () => person().select((from) => from.ref("data", "->>").key("city").as("city")).where(sql`data @> '{"city":"Oslo"}'`).execute());
  await step("with recursive", () => db.withRecursive("numbers(n)", (from) => from.selectNoFrom(sql`1`.as("n")).unionAll(from.selectFrom("numbers").select(sql`n + 1`.as("n")).where("n", "<", 5)))
    .selectFrom("numbers").select((from) => from.fn.sum("n").as("sum")).execute());
  await step("a change in WITH", () => db.with("changed", (from) => from.updateTable("person").set((set) => ({ age: set("age", "+", 1) })).where("name", "=", "Ann").returningAll())
    .selectFrom("changed").select(["name", "age"]).execute());
  await step("windows and filters", () => db.selectFrom("pet").select((from) => ["name", from.fn.agg("row_number").over((over) => over.partitionBy("owner").orderBy("id")).as("row"),
    from.fn.countAll().filterWhere("kind", "=", "dog").over().as("dogs")]).orderBy("id").execute());
  await step("groups, distinct on, case", () => person().distinctOn("role").select((from) => ["role", from.case().when("age", ">", 35).then("old").else("young").end().as("how")]).orderBy("role").orderBy("id").execute());
  await step("tuples and arrays", () => person().select("name").where(({ eb, refTuple, tuple }) => eb(refTuple("name", "role"), "in", [tuple("Ann", "writer"), tuple("Ben", "admin")])).where(sql`'a' = any(tags)`).execute());
  await step("a view, one that is kept", async () => {
    await sql`refresh materialized view concurrently pets_of`.execute(db);
    return [await db.selectFrom("writers").selectAll().execute(), await db.selectFrom("pets_of").selectAll().orderBy("owner").execute()];
  });
  await step("a stream by a cursor", async () => {
    const seen = [];
    for await (const row of db.selectFrom(sql`generate_series(1, 250)`.as("g")).select(sql`g`.as("n")).stream(50)) seen.push(row.n);
    return [seen.length, seen.at(-1)];
  });
  await step("explain", async () => must((await person().selectAll().explain()).length > 0, "a plan"));
}

async function transactions() {
  const dogs = () => db.selectFrom("pet").select((from) => from.fn.countAll().as("n")).where("kind", "=", "dog").executeTakeFirst();
  await step("rolled back", async () => {
    await db.transaction().setIsolationLevel("serializable").execute(async (trx) => {
      await trx.deleteFrom("pet").execute();
      throw new Error("no");
    }).catch((error) => must(error.message === "no", error.message));
    return dogs();
  });
  await step("controlled, with savepoints", async () => {
    let trx = await db.startTransaction().execute();
    await trx.insertInto("pet").values({ owner: 1, name: "kept", kind: "dog" }).execute();
    trx = await trx.savepoint("before").execute();
    await trx.deleteFrom("pet").execute();
    await trx.rollbackToSavepoint("before").execute();
    await trx.commit().execute();
    return dogs();
  });
  await step("locked rows are skipped", () => db.transaction().execute(async (trx) => {
    await trx.selectFrom("pet").selectAll().where("name", "=", "kept").forUpdate().execute();
    return db.selectFrom("pet").select("name").orderBy("id").forUpdate().skipLocked().execute();
  }));
  await step("read only", () => refused(() => db.transaction().setAccessMode("read only").execute((trx) => trx.deleteFrom("pet").execute())));
}

await migrate();
await write();
await read();
await transactions();
await db.destroy();
