// The library: queries, relations, conflicts, transactions, prepared statements, views.
import { and, arrayContains, asc, count, desc, eq, exists, gt, ilike, inArray, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { migrate } from "drizzle-orm/node-postgres/migrator";
import { must, refused, step } from "./steps.mjs";
import * as schema from "./second.ts";

const { comments, counts, orderPosts, orders, posts, users, writers } = schema;
const db = drizzle(process.env.DATABASE_URL!, { schema });
const ann = "00000000-0000-4000-8000-000000000001", ben = "00000000-0000-4000-8000-000000000002";

await step("migrate by the library, with nothing to do", () => migrate(db, { migrationsFolder: "./migrations" }));
await step("insert returning", async () => {
  const rows = await db.insert(users).values([
    { id: ann, email: "ann@example.com", name: "Ann", role: "writer", age: 30, tags: ["a", "b"], bornOn: "1990-01-02" },
    { id: ben, email: "ben@example.com", name: "Ben", settings: { theme: "dark" } },
  ]).returning();
  must(rows[0].createdAt instanceof Date, "a time");
  return rows.map(({ createdAt, ...row }) => row);
});
await step("insert with identity and generated columns", () => db.insert(posts).values([
  { authorId: ann, title: "One", body: "four", price: "12.50", readingTime: "00:05:00" },
  { authorId: ann, title: "Two", body: "seventy", published: true },
  { authorId: ben, title: "Three", parentId: null },
]).returning());
await step("a conflict updates", () => db.insert(users).values({ id: ann, email: "ann@example.com", name: "Anna" })
  .onConflictDoUpdate({ target: users.email, set: { name: sql`excluded.name`, age: sql`${users.age} + 1` } })
  .returning({ name: users.name, age: users.age }));
await step("a conflict does nothing", () => db.insert(users).values({ id: ann, email: "x@example.com", name: "X" }).onConflictDoNothing().returning());
await step("a unique index refuses", () => refused(() => db.insert(users).values({ email: "ANN@example.com", name: "Second" })));
await step("a check refuses", () => refused(() => db.update(users).set({ age: -1 })));
await step("a foreign key refuses", () => refused(() => db.insert(orders).values({ buyerId: "00000000-0000-4000-8000-00000000000f", cents: 1n })));
await step("select", () => db.select({ name: users.name, title: posts.title, words: posts.words }).from(users).leftJoin(posts, eq(posts.authorId, users.id))
  .where(and(gt(posts.words, 0), ilike(posts.title, "%o%"))).orderBy(desc(posts.words), asc(posts.id)).limit(5).offset(0));
await step("arrays and documents", () => db.select({ name: users.name, theme: sql`${users.settings}->>'theme'` }).from(users)
  .where(arrayContains(users.tags, ["a"])));
await step("group, having, subquery", () => {
  const many = db.select({ author: posts.authorId, many: count().as("many") }).from(posts).groupBy(posts.authorId).having(gt(count(), 0)).as("many");
  return db.select({ name: users.name, many: many.many }).from(users).innerJoin(many, eq(many.author, users.id)).orderBy(users.name);
});
await step("with and exists", () => {
  const published = db.$with("published").as(db.select().from(posts).where(eq(posts.published, true)));
  return db.with(published).select({ name: users.name }).from(users)
    .where(exists(db.select().from(published).where(eq(published.authorId, users.id))));
});
await step("relations, which are lateral joins of documents", () => db.query.users.findMany({
  columns: { name: true }, orderBy: asc(users.name), with: { posts: { columns: { title: true, price: true }, orderBy: desc(posts.id), limit: 2 } },
}));
await step("one relation", () => db.query.posts.findFirst({ where: eq(posts.title, "Three"), with: { author: { columns: { name: true } } } }));
await step("prepared", async () => {
  const byRole = db.select({ name: users.name }).from(users).where(eq(users.role, sql.placeholder("role"))).prepare("by_role");
  return [await byRole.execute({ role: "writer" }), await byRole.execute({ role: "admin" })];
});
await step("a transaction commits, its savepoint is rolled back", () => db.transaction(async (outer) => {
  const [order] = await outer.insert(orders).values({ buyerId: ben, cents: 123456789012345n }).returning();
  await outer.transaction(async (inner) => {
    await inner.insert(orderPosts).values({ orderId: order.id, postId: 100 });
    inner.rollback();
  }).catch(() => {});
  await outer.insert(orderPosts).values({ orderId: order.id, postId: 101 });
  return outer.select().from(orders).innerJoin(orderPosts, eq(orderPosts.orderId, orders.id));
}, { isolationLevel: "serializable" }));
await step("a transaction is rolled back", async () => {
  await db.transaction(async (transaction) => {
    await transaction.delete(orderPosts);
    throw new Error("no");
  }).catch(() => {});
  return db.$count(orderPosts);
});
await step("a read-only transaction refuses", () => refused(() =>
  db.transaction((transaction) => transaction.delete(orderPosts), { accessMode: "read only" })));
await step("rows are locked", () => db.transaction((transaction) =>
  transaction.select({ id: posts.id }).from(posts).where(inArray(posts.id, [100, 101])).orderBy(posts.id).for("update", { skipLocked: true })));
await step("update from", () => db.update(posts).set({ rating: 0.9 }).from(users).where(and(eq(posts.authorId, users.id), eq(users.name, "Ben")))
  .returning({ title: posts.title, rating: posts.rating }));
await step("arrays of an enum", () => db.insert(comments).values({ postId: 100, mood: ["ok", "happy"], said: "yes" }).returning({ mood: comments.mood }));
await step("views", async () => {
  await db.refreshMaterializedView(counts);
  return [await db.select().from(writers), await db.select().from(counts).orderBy(counts.authorId)];
});
await step("union", () => db.select({ name: users.name }).from(users).union(db.select({ name: posts.title }).from(posts)).orderBy(sql`1`));
await step("delete cascades", async () => {
  await db.delete(users).where(eq(users.id, ann)).catch(() => {});
  await db.delete(orderPosts);
  await db.delete(users).where(eq(users.id, ann));
  return [await db.$count(users), await db.$count(posts), await db.$count(comments)];
});
await db.$client.end();
