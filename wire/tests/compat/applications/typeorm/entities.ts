// Entities with what TypeORM has decorators for.
import "reflect-metadata";
import {
  Check, Column, CreateDateColumn, DeleteDateColumn, Entity, Index, JoinTable, ManyToMany, ManyToOne, OneToMany, OneToOne, JoinColumn, PrimaryColumn,
  PrimaryGeneratedColumn, Tree, TreeChildren, TreeParent, Unique, UpdateDateColumn, VersionColumn, ViewColumn, ViewEntity,
} from "typeorm";

@Entity()
export class Profile {
  @PrimaryGeneratedColumn("identity") id: number;
  @Column({ type: "interval", nullable: true }) online: any;
  @Column({ type: "bytea", nullable: true }) picture: Buffer | null;
}

@Entity({ comment: "who writes" })
@Check("author_age", `"age" >= 0`)
@Index("author_name", ["name"], { unique: true, where: `"deletedAt" IS NULL` })
export class Author {
  @PrimaryGeneratedColumn("uuid") id: string;
  @Column({ length: 60, comment: "as it is spoken" }) name: string;
  @Column({ type: "int", default: 18 }) age: number;
  @Column({ type: "enum", enum: ["reader", "writer"], default: "reader" }) role: string;
  @Column({ type: "text", array: true, default: "{}" }) tags: string[];
  @Column({ type: "jsonb", default: { theme: "light" } }) settings: object;
  @Column({ type: "date", nullable: true }) bornOn: string | null;
  @CreateDateColumn({ type: "timestamptz", precision: 3 }) createdAt: Date;
  @UpdateDateColumn() updatedAt: Date;
  @DeleteDateColumn() deletedAt: Date | null;
  @VersionColumn() version: number;
  @OneToOne(() => Profile, { cascade: true, nullable: true }) @JoinColumn() profile: Profile | null;
  @OneToMany(() => Book, (book) => book.author, { cascade: true }) books: Book[];
}

@Entity()
export class Subject {
  @PrimaryColumn({ type: "varchar", length: 20 }) code: string;
}

@Entity({ schema: "library" })
@Unique("book_title", ["title", "author"])
export class Book {
  @PrimaryGeneratedColumn() id: number;
  @Column() @Index() title: string;
  @Column({ type: "numeric", precision: 10, scale: 2, nullable: true }) price: string | null;
  @Column({ type: "double precision", default: 0.5 }) rating: number;
  @Column({ type: "bigint", default: 0 }) sold: string;
  @Column({ type: "int", asExpression: "length(title)", generatedType: "STORED", insert: false, update: false, nullable: true }) letters: number;
  @Column({ type: "inet", nullable: true }) from: string | null;
  @ManyToOne(() => Author, (author) => author.books, { onDelete: "CASCADE", nullable: false }) author: Author;
  @ManyToMany(() => Subject) @JoinTable() subjects: Subject[];
}

@Entity()
@Tree("materialized-path")
export class Shelf {
  @PrimaryGeneratedColumn() id: number;
  @Column() name: string;
  @TreeChildren() children: Shelf[];
  @TreeParent() parent: Shelf | null;
}

@ViewEntity({ expression: `SELECT "role", count(*)::int AS "many" FROM "author" GROUP BY "role"` })
export class Roles {
  @ViewColumn() role: string;
  @ViewColumn() many: number;
}

export const entities = [Profile, Author, Subject, Book, Shelf, Roles];
