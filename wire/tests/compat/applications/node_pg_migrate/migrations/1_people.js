// The first day: a type, tables, indexes.
export const shorthands = { id: { type: "integer", primaryKey: true, sequenceGenerated: { precedence: "BY DEFAULT" } } };

export const up = (pgm) => {
  pgm.createType("role", ["reader", "writer"]);
  pgm.createSequence("ticket", { start: 100, increment: 5 });
  pgm.createTable("people", {
    id: "id",
    name: { type: "varchar(40)", notNull: true, comment: "as it is spoken" },
    email: { type: "text", unique: true },
    role: { type: "role", notNull: true, default: "reader" },
    tags: { type: "text[]", default: pgm.func("ARRAY[]::text[]") },
    data: { type: "jsonb", notNull: true, default: "{}" },
    ticket: { type: "integer", default: pgm.func("nextval('ticket')") },
    created_at: { type: "timestamptz", notNull: true, default: pgm.func("current_timestamp") },
    gone: { type: "boolean", notNull: true, default: false },
  }, { comment: "who writes", ifNotExists: true });
  pgm.createIndex("people", [{ name: "name", sort: "DESC" }], { where: "NOT gone", unique: true, name: "people_living" });
  pgm.createIndex("people", "lower(email)", { name: "people_lower_email" });
  pgm.createIndex("people", "data", { method: "gin" });
};
