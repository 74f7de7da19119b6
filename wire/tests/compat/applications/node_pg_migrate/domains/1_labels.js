// A domain, and a table of it.
export const up = (pgm) => {
  pgm.createDomain("label", "varchar(40)", { notNull: false, check: "VALUE <> ''" });
  pgm.createTable("labels", { label: { type: "label", notNull: true } });
};
