// The schema of a later day: a view, a sequence, another enum, a table more.
import { eq, sql } from "drizzle-orm";
import { index, integer, pgEnum, pgMaterializedView, pgSequence, pgTable, pgView, text, timestamp } from "drizzle-orm/pg-core";
import { posts, users } from "./first.ts";

export { orderPosts, orders, posts, postsRelations, role, shop, users, usersRelations } from "./first.ts";

export const mood = pgEnum("mood", ["sad", "ok", "happy"]);

export const numbers = pgSequence("numbers", { startWith: 1000, increment: 10 });

export const comments = pgTable("comments", {
  id: integer().primaryKey().generatedByDefaultAsIdentity(),
  postId: integer("post_id").notNull().references(() => posts.id, { onDelete: "cascade" }),
  mood: mood().array(),
  said: text().notNull(),
  at: timestamp().notNull().default(sql`CURRENT_TIMESTAMP`),
}, (table) => [index("comments_post").on(table.postId, table.at.desc())]);

export const writers = pgView("writers").as((query) =>
  query.select({ id: users.id, name: users.name }).from(users).where(eq(users.role, "writer")));

export const counts = pgMaterializedView("counts").as((query) =>
  query.select({ authorId: posts.authorId, many: sql<number>`count(*)`.as("many") }).from(posts).groupBy(posts.authorId));
