// What a program's migrations are like: tables, types, indexes, views, then changes to them.
import { sql } from "kysely";

const people = {
  async up(db) {
    await db.schema.createType("role").asEnum(["reader", "writer", "admin"]).execute();
    await db.schema.createTable("person")
      .addColumn("id", "integer", (column) => column.primaryKey().generatedByDefaultAsIdentity())
      .addColumn("name", "varchar(60)", (column) => column.notNull())
      .addColumn("age", "integer", (column) => column.check(sql`age >= 0`))
      .addColumn("role", sql`role`, (column) => column.notNull().defaultTo("reader"))
      .addColumn("tags", sql`text[]`, (column) => column.defaultTo(sql`'{}'::text[]`))
      .addColumn("data", "jsonb")
      .addColumn("born", "timestamptz", (column) => column.defaultTo(sql`now()`))
      .addColumn("gone", "date").execute();
    await db.schema.createIndex("person_name").unique().on("person").column("name").where("gone", "is", null).execute();
    await db.schema.createIndex("person_lower").on("person").expression(sql`lower(name)`).execute();
    await db.schema.createIndex("person_data").on("person").using("gin").column("data").execute();
  },
  async down(db) {
    await db.schema.dropTable("person").execute();
    await db.schema.dropType("role").execute();
  },
};

const pets = {
  async up(db) {
    await db.schema.createTable("pet")
      .addColumn("id", "serial", (column) => column.primaryKey())
      .addColumn("owner", "integer", (column) => column.notNull().references("person.id").onDelete("cascade").onUpdate("restrict"))
      .addColumn("name", "text", (column) => column.notNull())
      .addColumn("kind", "text")
      .addColumn("shout", "text", (column) => column.generatedAlwaysAs(sql`upper(name)`).stored())
      .addUniqueConstraint("pet_owner_name", ["owner", "name"])
      .addCheckConstraint("pet_named", sql`name <> ''`).execute();
    await db.schema.createSchema("archive").ifNotExists().execute();
    await db.schema.withSchema("archive").createTable("pet").addColumn("id", "bigint").addColumn("raw", "bytea").execute();
    await db.schema.createView("writers").orReplace().as(db.selectFrom("person").select(["id", "name"]).where("role", "=", sql.lit("writer"))).execute();
    await db.schema.createView("pets_of").materialized().as(db.selectFrom("pet").select(["owner", (from) => from.fn.countAll().as("many")]).groupBy("owner")).execute();
    await db.schema.createIndex("pets_of_owner").unique().on("pets_of").column("owner").execute();
  },
  async down(db) {
    await db.schema.dropView("pets_of").materialized().execute();
    await db.schema.dropView("writers").execute();
    await db.schema.dropSchema("archive").cascade().execute();
    await db.schema.dropTable("pet").execute();
  },
};

const changes = {
  async up(db) {
    await db.schema.alterTable("pet").addColumn("weight", "numeric(6, 2)").alterColumn("kind", (column) => column.setDefault("cat")).execute();
    await db.schema.alterTable("pet").alterColumn("weight", (column) => column.setDataType("double precision")).execute();
    await db.schema.alterTable("pet").renameColumn("weight", "grams").execute();
    await db.schema.alterTable("archive.pet").renameTo("animal").execute();
    await db.schema.alterTable("pet").addForeignKeyConstraint("pet_again", ["owner"], "person", ["id"]).onDelete("cascade").deferrable().initiallyDeferred().execute();
    await sql`comment on column pet.grams is 'what it weighs'`.execute(db);
  },
  async down(db) {
    await db.schema.alterTable("pet").dropConstraint("pet_again").execute();
    await db.schema.alterTable("archive.animal").renameTo("pet").execute();
    await db.schema.alterTable("pet").dropColumn("grams").alterColumn("kind", (column) => column.dropDefault()).execute();
  },
};

export const migrations = { "001_people": people, "002_pets": pets, "003_changes": changes };
