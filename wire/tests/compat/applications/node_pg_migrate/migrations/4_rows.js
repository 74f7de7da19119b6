// A migration without a transaction: an index that is made beside the writers.
export const up = (pgm) => {
  pgm.noTransaction();
  pgm.createIndex("persons", "created_at", { concurrently: true, name: "persons_created" });
};

export const down = (pgm) => {
  pgm.noTransaction();
  pgm.dropIndex("persons", [], { concurrently: true, name: "persons_created" });
};
