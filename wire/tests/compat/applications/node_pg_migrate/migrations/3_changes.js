// The third day: columns, constraints and names change.
const books = { schema: "library", name: "books" };

export const up = (pgm) => {
  pgm.addColumns(books, { pages: { type: "smallint", default: 10 }, printed: "date" }, { ifNotExists: true });
  pgm.alterColumn(books, "pages", { type: "integer", notNull: true, default: 20, comment: "with the cover" });
  pgm.renameColumn(books, "printed", "printed_on");
  pgm.addConstraint(books, "books_pages", { check: "pages > 0" });
  pgm.addConstraint("people", "people_ticket", { unique: "ticket", deferrable: true });
  pgm.renameConstraint("people", "people_ticket", "people_one_ticket");
  pgm.addTypeValue("role", "admin", { ifNotExists: true, after: "writer" });
  pgm.alterSequence("ticket", { increment: 7 });
  pgm.renameTable("people", "persons");
  pgm.createIndex(books, ["pages", "title"], { include: ["price"], name: "books_pages_title" });
  pgm.sql("INSERT INTO persons (name, role) VALUES ('{name}', 'writer')", { name: "Ann" });
};

export const down = (pgm) => {
  pgm.sql("DELETE FROM persons");
  pgm.dropIndex(books, [], { name: "books_pages_title", ifExists: true });
  pgm.renameTable("persons", "people");
  pgm.dropConstraint("people", "people_one_ticket");
  pgm.dropConstraint(books, "books_pages");
  pgm.dropColumns(books, ["pages", "printed_on"]);
};
