// The data source that TypeORM's own command uses, and the program.
import { DataSource } from "typeorm";
import { entities } from "./entities";

export const source = new DataSource({
  type: "postgres",
  url: process.env.DATABASE_URL,
  entities,
  migrations: [process.env.MIGRATIONS ?? "built/migrations/*.js"],
  migrationsTransactionMode: "each",
});
