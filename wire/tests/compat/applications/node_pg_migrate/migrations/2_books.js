// The second day: a schema, references, a view, one that is kept.
export const up = (pgm) => {
  pgm.createSchema("library", { ifNotExists: true });
  pgm.createTable({ schema: "library", name: "books" }, {
    id: { type: "bigserial", primaryKey: true },
    author: { type: "integer", notNull: true, references: "people", onDelete: "CASCADE" },
    title: { type: "varchar(80)", notNull: true },
    letters: { type: "integer", expressionGenerated: "length(title)" },
    price: { type: "numeric(10,2)", check: "price >= 0" },
  }, { constraints: { unique: [["author", "title"]] } });
  pgm.createView("writers", {}, "SELECT id, name FROM people WHERE role = 'writer'");
  pgm.createMaterializedView("counts", { ifNotExists: true }, "SELECT author, count(*) AS many FROM library.books GROUP BY author");
  pgm.createIndex("counts", "author", { unique: true });
};

export const down = (pgm) => {
  pgm.dropMaterializedView("counts");
  pgm.dropView("writers");
  pgm.dropTable({ schema: "library", name: "books" });
  pgm.dropSchema("library");
};
