import { relations, sql } from "drizzle-orm";
import {
  bigint, boolean, check, date, doublePrecision, foreignKey, index, integer, jsonb, numeric, pgEnum, pgSchema, pgTable, primaryKey,
  serial, text, time, timestamp, unique, uniqueIndex, uuid, varchar,
} from "drizzle-orm/pg-core";

export const role = pgEnum("role", ["reader", "writer", "admin"]);

export const users = pgTable("users", {
  id: uuid().primaryKey().defaultRandom(),
  email: varchar({ length: 200 }).notNull().unique(),
  name: text().notNull(),
  role: role().notNull().default("reader"),
  age: integer(),
  tags: text().array(),
  settings: jsonb().$type<{ theme: string }>().notNull().default({ theme: "light" }),
  bornOn: date("born_on"),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
  deletedAt: timestamp("deleted_at", { precision: 3 }),
}, (table) => [
  index("users_name_index").on(table.name.desc().nullsLast()),
  uniqueIndex("users_email_living").on(sql`lower(${table.email})`).where(sql`${table.deletedAt} is null`),
  check("users_age_check", sql`${table.age} >= 0`),
]);

export const posts = pgTable("posts", {
  id: integer().primaryKey().generatedAlwaysAsIdentity({ startWith: 100 }),
  authorId: uuid("author_id").notNull().references(() => users.id, { onDelete: "cascade", onUpdate: "cascade" }),
  parentId: integer("parent_id"),
  title: varchar({ length: 80 }).notNull(),
  body: text(),
  words: integer().generatedAlwaysAs(sql`length(body)`),
  rating: doublePrecision().default(0.5),
  price: numeric({ precision: 10, scale: 2 }),
  published: boolean().notNull().default(false),
  readingTime: time("reading_time"),
}, (table) => [
  foreignKey({ columns: [table.parentId], foreignColumns: [table.id], name: "posts_parent" }),
  unique("posts_author_title").on(table.authorId, table.title),
  index("posts_search").using("gin", sql`to_tsvector('english', ${table.title})`),
]);

export const shop = pgSchema("shop");

export const orders = shop.table("orders", {
  id: serial().primaryKey(),
  buyerId: uuid("buyer_id").references(() => users.id),
  cents: bigint({ mode: "bigint" }).notNull(),
});

export const orderPosts = shop.table("order_posts", {
  orderId: integer("order_id").notNull().references(() => orders.id),
  postId: integer("post_id").notNull().references(() => posts.id),
}, (table) => [primaryKey({ columns: [table.orderId, table.postId] })]);

export const usersRelations = relations(users, ({ many }) => ({ posts: many(posts) }));
export const postsRelations = relations(posts, ({ one }) => ({
  author: one(users, { fields: [posts.authorId], references: [users.id] }),
}));
