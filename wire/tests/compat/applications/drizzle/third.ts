// What is pushed without a migration: a table more.
import { inet, integer, interval, pgTable, uuid } from "drizzle-orm/pg-core";
import { users } from "./first.ts";

export * from "./second.ts";

export const visits = pgTable("visits", {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  userId: uuid("user_id").references(() => users.id, { onDelete: "set null" }),
  lasted: interval(),
  from: inet(),
});
