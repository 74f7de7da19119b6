// synchronize() twice, then entities, relations, query builders, trees, transactions and locks.
import { IsNull, Like, MoreThan } from "typeorm";
import { Author, Book, Profile, Roles, Shelf, Subject } from "./entities";
import { source } from "./source";

async function synchronize(step: any, must: any) {
  const waiting = async () => (await source.driver.createSchemaBuilder().log()).upQueries.map((query) => query.query);
  await step("initialize", () => source.initialize().then(() => null));
  await step("a schema of its own", () => source.query(`CREATE SCHEMA IF NOT EXISTS library`));
  await step("synchronize", () => source.synchronize());
  await step("nothing is left to synchronize", async () => must((await waiting()).length === 0, (await waiting()).join("; ")));
  await step("synchronize again", () => source.synchronize());
  await step("drop all, synchronize anew", () => source.synchronize(true));
  await step("a second start", async () => {
    await source.destroy();
    await source.initialize();
    must((await waiting()).length === 0, (await waiting()).join("; "));
  });
}

async function entities(step: any, must: any, refused: any) {
  const authors = source.getRepository(Author), books = source.getRepository(Book);
  await step("save with cascades", async () => {
    await source.getRepository(Subject).save([{ code: "sea" }, { code: "sky" }]);
    const profile = Object.assign(new Profile(), { online: "1 day 02:00:00", picture: Buffer.from("ff00", "hex") });
    const ann = await authors.save(authors.create({ name: "Ann", age: 30, role: "writer", tags: ["a", "b"], bornOn: "1990-01-02", profile, books: [
      { title: "One", price: "12.50", from: "10.0.0.1", subjects: [{ code: "sea" }] } as Book, { title: "Two", subjects: [{ code: "sea" }, { code: "sky" }] } as Book,
    ] }));
    await authors.save({ name: "Ben" });
    return [ann.version, ann.books.map((book) => [book.id, book.letters]), ann.profile!.id];
  });
  await step("find with relations", () => authors.find({ relations: { books: { subjects: true }, profile: true }, order: { name: "ASC", books: { id: "ASC", subjects: { code: "ASC" } } },
    select: { id: false, name: true, tags: true, settings: true, bornOn: true, profile: { id: true, picture: true }, books: { title: true, price: true, letters: true, from: true, subjects: { code: true } } } as any }));
  await step("find a page", () => authors.findAndCount({ where: [{ age: MoreThan(20) }, { name: Like("B%"), bornOn: IsNull() }], select: { name: true }, order: { name: "DESC" }, skip: 1, take: 1 }));
  await step("query builder", () => books.createQueryBuilder("book").innerJoin("book.author", "author").select("author.name", "name").addSelect("count(*)", "many")
    .addSelect("sum(book.price)", "price").where("book.title ILIKE :like", { like: "%o%" }).andWhere("author.tags @> :tags", { tags: ["a"] }).groupBy("author.name").having("count(*) > 0").getRawMany());
  await step("query builder with a page over a join", () => authors.createQueryBuilder("author").leftJoinAndSelect("author.books", "book").orderBy("author.name").addOrderBy("book.id").skip(0).take(1).getMany()
    .then((found) => found.map((author) => [author.name, author.books.map((book) => book.title)])));
  await step("update, version", async () => {
    const ann = await authors.findOneByOrFail({ name: "Ann" });
    ann.age = 31;
    return [(await authors.save(ann)).version, (await authors.increment({ name: "Ann" }, "age", 2)).affected, (await authors.findOneByOrFail({ name: "Ann" })).age];
  });
  await step("upsert", async () => {
    await source.getRepository(Subject).upsert([{ code: "sea" }, { code: "land" }], ["code"]);
    return source.getRepository(Subject).count();
  });
  await step("insert returning, update returning", async () => [
    (await books.createQueryBuilder().insert().values({ title: "Three", author: { id: (await authors.findOneByOrFail({ name: "Ben" })).id } }).returning(["id", "letters"]).execute()).raw,
    (await books.createQueryBuilder().update().set({ rating: () => "rating * 2" }).where({ title: "Three" }).returning("rating").execute()).raw]);
  await step("a partial unique index refuses", () => refused(() => authors.insert({ name: "Ann" })));
  await step("a check refuses", () => refused(() => authors.update({ name: "Ann" }, { age: -1 })));
  await step("soft removal", async () => {
    await authors.softDelete({ name: "Ann" });
    await authors.insert({ name: "Ann", age: 1 });
    return [await authors.count(), await authors.count({ withDeleted: true })];
  });
  await step("a view", () => source.getRepository(Roles).find({ order: { role: "ASC" } }));
  await step("a tree", async () => {
    const shelves = source.getTreeRepository(Shelf);
    const root = await shelves.save({ name: "root" });
    const child = await shelves.save({ name: "child", parent: root });
    await shelves.save({ name: "leaf", parent: child });
    return [await shelves.findTrees(), await shelves.countDescendants(root)];
  });
}

async function transactions(step: any, must: any) {
  await step("a transaction is rolled back", async () => {
    await source.transaction("SERIALIZABLE", async (manager) => {
      await manager.delete(Book, { title: "Three" });
      throw new Error("no");
    }).catch((error) => must(error.message === "no", error.message));
    return source.manager.countBy(Book, { title: "Three" });
  });
  await step("nested transactions are savepoints", () => source.transaction(async (manager) => {
    await manager.update(Book, { title: "Two" }, { sold: "7" });
    await manager.transaction(async (inner) => {
      await inner.update(Book, { title: "Two" }, { sold: "8" });
      throw new Error("no");
    }).catch(() => null);
    return (await manager.findOneByOrFail(Book, { title: "Two" })).sold;
  }));
  await step("locks", () => source.transaction(async (manager) => (await manager.find(Book, {
    where: { title: "Two" }, lock: { mode: "pessimistic_write", onLocked: "skip_locked" } })).length));
  await step("a stream", async () => {
    const stream = await source.createQueryBuilder(Book, "book").select("book.title", "title").orderBy("book.id").stream();
    const seen: unknown[] = [];
    for await (const row of stream) seen.push(row);
    return seen;
  });
}

async function changes(step: any) {
  const runner = source.createQueryRunner();
  await step("the schema is read", async () => {
    const table = (await runner.getTable("library.book"))!;
    return [table.columns, table.indices, table.uniques, table.foreignKeys.map(({ columnNames, referencedColumnNames, onDelete }) => ({ columnNames, referencedColumnNames, onDelete }))];
  });
  await step("a column is renamed and changed", async () => {
    await runner.renameColumn("library.book", "rating", "stars");
    await runner.query(`ALTER TABLE library.book ALTER stars TYPE integer USING round(stars)::integer`);
    await runner.clearTable("shelf");
    return (await runner.getTable("library.book"))!.findColumnByName("stars")!.type;
  });
  await runner.release();
}

async function main() {
  const { step, must, refused } = await eval(`import("../steps.mjs")`);
  await synchronize(step, must);
  await entities(step, must, refused);
  await transactions(step, must);
  await changes(step);
  await source.destroy();
}

main();
