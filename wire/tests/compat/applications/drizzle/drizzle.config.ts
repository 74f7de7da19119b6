import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "postgresql",
  schema: process.env.SCHEMA ?? "./first.ts",
  out: process.env.OUT ?? "./migrations",
  schemaFilter: ["public", "shop"],
  dbCredentials: { url: process.env.DATABASE_URL! },
});
