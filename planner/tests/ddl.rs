//! Definitions: golden scripts of what is accepted, refused, and made of the catalog.

use planner::catalog::{Catalog, DefaultValue, EdgeKind, EdgeSource, RuleAction};
use planner::error::PlanError;
use planner::ownership::{self, Dog, KeyForm, Severity};
use planner::parse::parse;
use planner::resolve::SessionInfo;
use planner::resolve::ddl::{DdlEffect, DdlPlan, Labels, pending_tables, plan_ddl, resolver_hook, security_labels};

/// Runs statements, each in its own transaction, and gives the last plan.
fn run(catalog: &Catalog, sql: &str) -> Result<DdlPlan, PlanError> {
    let session = SessionInfo::default();
    let hook = resolver_hook(&session);
    let mut last = None;
    let mut catalog = catalog.clone();
    for parsed in parse(sql)? {
        let plan = plan_ddl(&parsed.statement, &catalog, Labels::TakeEffect, &hook)?;
        ownership::check(&plan.catalog, false)?;
        assert_eq!(plan.catalog.version, catalog.version + 1);
        catalog = plan.catalog.clone();
        last = Some(plan);
    }
    Ok(last.expect("a statement"))
}

fn catalog(sql: &str) -> Catalog {
    run(&Catalog::default(), sql).unwrap_or_else(|error| panic!("{error} {:?} in {sql}", error.detail)).catalog
}

fn schema(name: &str) -> Catalog {
    let path = format!("tests/schemas/{name}.sql");
    catalog(&std::fs::read_to_string(path).expect("the schema"))
}

const BASE: &str = "CREATE DATA_SUBJECT TABLE users (id int PRIMARY KEY, name text, code text UNIQUE);
    CREATE TABLE plain (id int PRIMARY KEY, t text, n int);
    CREATE TABLE stories (id int PRIMARY KEY, title text, author int NOT NULL OWNED_BY users(id));
    CREATE SEQUENCE s; CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE INDEX plain_n ON plain (n);";

/// (statements over the base, SQLSTATE, message).
#[rustfmt::skip]
const DECLARATION_ERRORS: [(&str, &str, &str); 69] = [
    // Targets, keys, types.
    ("CREATE TABLE t (a int OWNED_BY nowhere(id))", "42P01", "relation \"nowhere\" does not exist"),
    ("CREATE TABLE t (a int OWNED_BY users(missing))", "42703", "column \"missing\" referenced in foreign key constraint does not exist"),
    ("CREATE TABLE t (a text OWNED_BY users(name))", "42830", "there is no unique constraint matching given keys for referenced table \"users\""),
    ("CREATE TABLE t (a text OWNED_BY users(id))", "42804", "foreign key constraint \"t_a_fkey\" cannot be implemented"),
    ("CREATE TABLE t (a int, FOREIGN KEY (a) OWNED_BY users(id, code))", "42830", "number of referencing and referenced columns for foreign key disagree"),
    ("CREATE TABLE t (a int OWNED_BY users(id) OWNS users(id))", "42710", "column \"a\" of table \"t\" is annotated already"),
    ("CREATE TABLE t (a int, FOREIGN KEY (b) OWNED_BY users(id))", "42703", "column \"b\" referenced in foreign key constraint does not exist"),
    // Reach.
    ("CREATE TABLE t (a int OWNED_BY plain(id))", "DG004", "rows of table \"t\" would have no owner: the edge reaches no data subject"),
    ("CREATE TABLE t (a int OWNS plain(id))", "DG004", "rows of table \"plain\" would have no owner: the edge reaches no data subject"),
    ("CREATE TABLE t (a int ACCESSED_BY plain(id))", "DG004", "nobody could access rows of table \"t\" by this edge: it reaches no data subject"),
    ("CREATE TABLE t (id int PRIMARY KEY, parent int OWNED_BY t(id))", "DG004", "table \"t\" is owned by nothing but itself"),
    ("CREATE TABLE a (id int PRIMARY KEY, u int OWNED_BY users(id)); CREATE TABLE b (id int PRIMARY KEY, a int OWNED_BY a(id));
      ALTER TABLE a ADD b int OWNED_BY b(id)", "DG005", "ownership runs in a circle between tables \"a\", \"b\""),
    // Rules.
    ("CREATE TABLE t (id int PRIMARY KEY, a int OWNED_BY users(id), ON DEL b ANON (a))", "42703", "column \"b\" of relation \"t\" does not exist"),
    ("CREATE TABLE t (id int PRIMARY KEY, a int OWNED_BY users(id), ON DEL id ANON (a))", "42703", "rule ON DEL names edge \"id\", which table \"t\" does not have"),
    ("CREATE TABLE t (id int PRIMARY KEY, a int OWNED_BY users(id), ON DEL a ANON (zz))", "42703", "column \"zz\" of relation \"t\" does not exist"),
    ("CREATE TABLE t (id int PRIMARY KEY, a int OWNED_BY users(id), ON DEL a ANON (id))", "42P16", "ON DEL cannot blank \"id\", a primary-key column of table \"t\""),
    ("CREATE TABLE t (id int PRIMARY KEY, a int OWNED_BY users(id), b int OWNED_BY users(id), ON DEL a ANON (a, b))", "42P16", "ON DEL cannot blank \"b\", which another ownership edge of table \"t\" stands on"),
    ("CREATE DATA_SUBJECT TABLE t (id int PRIMARY KEY, a int OWNED_BY users(id), ON DEL a DELETE_ROW)", "42P16", "ON DEL … DELETE_ROW would erase a person of data-subject table \"t\" by another's request"),
    ("CREATE TABLE t (id int PRIMARY KEY, a int OWNS stories(id), u int OWNED_BY users(id), ON DEL a ANON (u))", "42P16", "edge \"a\" of table \"t\" says who owns or accesses rows of table \"stories\""),
    // Data subjects.
    ("CREATE DATA_SUBJECT TABLE t (id int)", "42P16", "data-subject table \"t\" has no primary key"),
    ("CREATE DATA_SUBJECT TABLE t (id int PRIMARY KEY REFERENCES users(id))", "42P16", "the primary key of data-subject table \"t\" refers to rows that can be erased"),
    // Labels and comments.
    ("SECURITY LABEL FOR dogwood ON COLUMN stories.title IS 'OWNED BY users(id)'", "22023", "\"OWNED BY users(id)\" is not a valid security label of provider \"dogwood\""),
    ("SECURITY LABEL FOR other ON TABLE users IS 'x'", "22023", "security label provider \"other\" is not loaded"),
    ("SECURITY LABEL FOR dogwood ON COLUMN users.id IS 'DATA_SUBJECT'", "42P16", "DATA_SUBJECT belongs on a table"),
    ("COMMENT ON COLUMN plain.n IS 'x @owned_by'", "22023", "the tag \"@owned_by\" in the comment does not parse"),
    ("COMMENT ON COLUMN plain.n IS '@owned_by users(id)'; COMMENT ON COLUMN plain.n IS 'nothing'", "42P16", "a comment cannot remove or change an annotation of column \"n\" of table \"plain\""),
    ("COMMENT ON COLUMN stories.author IS '@accessed_by users(id)'", "42P16", "a comment cannot remove or change an annotation of column \"author\" of table \"stories\""),
    ("ALTER TABLE plain ALTER n DROP OWNED_BY", "42704", "column \"n\" of table \"plain\" has no annotation OWNED_BY"),
    ("ALTER TABLE plain ALTER n SET OWNED_BY nowhere(id)", "42P01", "relation \"nowhere\" does not exist"),
    // PostgreSQL's own.
    ("CREATE TABLE plain (a int)", "42P07", "relation \"plain\" already exists"),
    ("CREATE TABLE plain_n (a int)", "42P07", "relation \"plain_n\" already exists"),
    ("CREATE TABLE t (a int, a text)", "42701", "column \"a\" specified more than once"),
    ("CREATE TABLE t (a nothing)", "42704", "type \"nothing\" does not exist"),
    ("CREATE TABLE t (a int PRIMARY KEY, b int PRIMARY KEY)", "42P16", "multiple primary keys for table \"t\" are not allowed"),
    ("CREATE TABLE t (a int, PRIMARY KEY (a, a))", "42701", "column \"a\" appears twice in primary key constraint"),
    ("CREATE TABLE t (a int, UNIQUE (b))", "42703", "column \"b\" named in key does not exist"),
    ("CREATE TABLE t (a int CHECK (b > 0))", "42703", "column \"b\" does not exist"),
    ("CREATE TABLE t (a int DEFAULT 'x'::text)", "42804", "column \"a\" is of type integer but default expression is of type text"),
    ("CREATE TABLE t (a int DEFAULT 1 DEFAULT 2)", "42601", "multiple default values specified for column \"a\" of table \"t\""),
    ("CREATE TABLE t (a int NULL NOT NULL)", "42601", "conflicting NULL/NOT NULL declarations for column \"a\" of table \"t\""),
    ("CREATE TABLE t (a int, b int GENERATED ALWAYS AS (b + 1) STORED)", "42P17", "cannot use generated column \"b\" in column generation expression"),
    ("CREATE TABLE t (a text GENERATED ALWAYS AS IDENTITY)", "22023", "identity column type must be smallint, integer, or bigint"),
    ("CREATE TABLE other.t (a int)", "3F000", "schema \"other\" does not exist"),
    ("CREATE TABLE t (LIKE nowhere)", "42P01", "relation \"nowhere\" does not exist"),
    ("CREATE TABLE t (LIKE users INCLUDING ALL)", "0A000", "LIKE of table \"users\", whose rows belong to people, without an owner is not supported"),
    ("CREATE INDEX ON plain (zz)", "42703", "column \"zz\" does not exist"),
    ("CREATE INDEX plain ON plain (n)", "42P07", "relation \"plain\" already exists"),
    ("DROP TABLE nowhere", "42P01", "table \"nowhere\" does not exist"),
    ("DROP TABLE plain_n", "42809", "\"plain_n\" is not a table"),
    ("DROP TABLE users", "2BP01", "cannot drop table users because other objects depend on it"),
    ("DROP INDEX users_pkey", "2BP01", "cannot drop index users_pkey because constraint users_pkey on table users requires it"),
    ("ALTER TABLE users DROP CONSTRAINT users_pkey", "2BP01", "cannot drop constraint users_pkey on table users because other objects depend on it"),
    ("ALTER TABLE users DROP COLUMN id", "2BP01", "cannot drop column id of table users because other objects depend on it"),
    ("ALTER TABLE plain DROP COLUMN zz", "42703", "column \"zz\" of relation \"plain\" does not exist"),
    ("ALTER TABLE plain DROP CONSTRAINT zz", "42704", "constraint \"zz\" of relation \"plain\" does not exist"),
    ("ALTER TABLE plain ADD n int", "42701", "column \"n\" of relation \"plain\" already exists"),
    ("ALTER TABLE plain RENAME n TO t", "42701", "column \"t\" of relation \"plain\" already exists"),
    ("ALTER TABLE plain RENAME TO users", "42P07", "relation \"users\" already exists"),
    ("ALTER TABLE plain ALTER id DROP NOT NULL", "42P16", "column \"id\" is in a primary key"),
    ("ALTER TABLE plain ALTER t TYPE int", "42804", "column \"t\" cannot be cast automatically to type integer"),
    ("ALTER TABLE nowhere ADD a int", "42P01", "relation \"nowhere\" does not exist"),
    ("TRUNCATE users", "0A000", "cannot truncate a table referenced in a foreign key constraint"),
    ("CREATE SEQUENCE s", "42P07", "relation \"s\" already exists"),
    ("CREATE SEQUENCE t INCREMENT 0", "22023", "INCREMENT must not be zero"),
    ("CREATE SEQUENCE t MINVALUE 5 MAXVALUE 5", "22023", "MINVALUE (5) must be less than MAXVALUE (5)"),
    ("DROP SEQUENCE plain", "42809", "\"plain\" is not a sequence"),
    ("CREATE TYPE mood AS ENUM ('a')", "42710", "type \"mood\" already exists"),
    ("ALTER TYPE mood ADD VALUE 'ok'", "42710", "enum label \"ok\" already exists"),
    ("CREATE TABLE t (m mood); DROP TYPE mood", "2BP01", "cannot drop type mood because other objects depend on it"),
];

#[test]
fn declaration_errors() {
    let base = catalog(BASE);
    let mut failures = Vec::new();
    for (sql, code, message) in DECLARATION_ERRORS {
        match run(&base, sql) {
            Ok(_) => failures.push(format!("{sql}: accepted")),
            Err(error) if (error.code, error.message.as_str()) == (code, message) => {
                if error.code.starts_with("DG") {
                    assert!(
                        error.hint.is_some() && error.detail.as_ref().is_some_and(|detail| detail.contains("edge")),
                        "{sql}"
                    );
                }
            }
            Err(error) => failures.push(format!("{sql}: {} {}", error.code, error.message)),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn what_is_made_of_other_columns_tells_no_rows_apart() {
    let index = |columns: &str, select: &str| {
        let table = "CREATE TABLE amounts (id int, n int, b numeric)";
        let view = format!("CREATE MATERIALIZED VIEW m AS SELECT DISTINCT {select} FROM amounts");
        run(&Catalog::default(), &format!("{table}; {view}; CREATE UNIQUE INDEX ON m ({columns})"))
    };
    for (columns, select) in [
        ("id, n", "concat(id, '-', n) AS x, id, n"),
        ("id", "id + 1 AS x, 'y' AS y, id"),
        ("id, x", "n AS x, id, n + id AS y"),
    ] {
        assert!(index(columns, select).is_ok(), "{select}");
    }
    for (columns, select) in [
        ("id", "concat(id, '-', n) AS x, id"),
        ("x", "id + 1 AS x, id"),
        // 1.0 and 1.00 are equal and are written in two ways.
        ("b", "b::text AS x, b"),
        ("id", "(SELECT max(o.id) FROM amounts o WHERE o.n = amounts.n) AS x, id"),
    ] {
        assert_eq!(index(columns, select).err().map(|error| error.code), Some("0A000"), "{select}");
    }
}

#[test]
fn names_are_postgresqls() {
    let catalog = catalog(
        "CREATE TABLE u (id serial PRIMARY KEY, k text UNIQUE);
         CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, a int REFERENCES u(id), b int CHECK (b > 0), c int CHECK (b > c), UNIQUE (a, b), CHECK (a > 0));
         CREATE INDEX ON t (b); CREATE INDEX ON t (b, c)",
    );
    let table = catalog.table_by_name("t").expect("t");
    let names: Vec<&str> =
        table.indexes.iter().filter(|index| !index.automatic).map(|index| index.name.as_str()).collect();
    assert_eq!(names, ["t_a_b_key", "t_b_idx", "t_b_c_idx"]);
    assert_eq!(table.foreign_keys[0].constraint.name, "t_a_fkey");
    let checks: Vec<&str> = table.checks.iter().map(|check| check.constraint.name.as_str()).collect();
    assert_eq!(checks, ["t_b_check", "t_check", "t_a_check"]);
    let mut sequences: Vec<&String> = catalog.sequences.values().map(|sequence| &sequence.name).collect();
    sequences.sort();
    assert_eq!(sequences, ["t_id_seq", "u_id_seq"]);
    assert!(matches!(table.columns[0].default, Some(DefaultValue::Identity { always: true, .. })));
    assert!(!table.columns[0].column_type.nullable);
}

#[test]
fn three_spellings_give_one_catalog() {
    let tables = "CREATE TABLE users (id int PRIMARY KEY, name text);
        CREATE TABLE m (id int PRIMARY KEY, sender int NOT NULL, receiver int NOT NULL);";
    let shapes: Vec<_> = [
        "CREATE DATA_SUBJECT TABLE users (id int PRIMARY KEY, name text);
         CREATE TABLE m (id int PRIMARY KEY, sender int NOT NULL OWNED_BY users(id), receiver int NOT NULL ACCESSED_BY users(id), ON DEL sender ANON (sender))"
            .to_string(),
        format!("{tables} SECURITY LABEL FOR dogwood ON TABLE users IS 'DATA_SUBJECT'; SECURITY LABEL FOR dogwood ON COLUMN m.sender IS 'OWNED_BY users(id)';
            SECURITY LABEL ON COLUMN m.receiver IS 'ACCESSED_BY users(id)'; SECURITY LABEL ON TABLE m IS 'ON DEL sender ANON (sender)'"),
        format!("{tables} SECURITY LABEL ON TABLE m IS 'ON DEL sender ANON (sender)'; SECURITY LABEL ON COLUMN m.receiver IS 'ACCESSED_BY users';
            SECURITY LABEL FOR dogwood ON COLUMN m.sender IS 'OWNED_BY users(id)'; SECURITY LABEL FOR dogwood ON TABLE users IS 'DATA_SUBJECT'"),
        format!("{tables} COMMENT ON TABLE users IS '@data_subject'; COMMENT ON COLUMN m.sender IS 'who wrote it @owned_by users(id)';
            COMMENT ON COLUMN m.receiver IS 'it''s them @accessed_by users(id) indeed'; COMMENT ON TABLE m IS 'mail @on_del sender ANON (sender)'"),
        format!("{tables} ALTER TABLE users SET DATA_SUBJECT; ALTER TABLE m ALTER sender SET OWNED_BY users(id), ALTER receiver SET ACCESSED_BY users(id), ADD ON DEL sender ANON (sender)"),
        format!("{tables} ALTER TABLE m ADD FOREIGN KEY (sender) REFERENCES users(id), ADD FOREIGN KEY (receiver) REFERENCES users(id);
            SECURITY LABEL ON TABLE users IS 'DATA_SUBJECT'; SECURITY LABEL ON COLUMN m.sender IS 'OWNED_BY users(id)'; SECURITY LABEL ON COLUMN m.receiver IS 'ACCESSED_BY users(id)';
            SECURITY LABEL ON TABLE m IS 'ON DEL sender ANON (sender)'"),
    ]
    .iter()
    .map(|sql| {
        let catalog = catalog(sql);
        let m = catalog.table_by_name("m").expect("m");
        assert_eq!(m.pending, None, "{sql}");
        assert!(pending_tables(&catalog).is_empty(), "{sql}");
        let mut edges: Vec<_> = m.foreign_keys.iter().map(|key| (key.constraint.name.clone(), key.annotation, key.columns.clone())).collect();
        edges.sort_by(|a, b| a.0.cmp(&b.0));
        let labels: Vec<(String, Option<usize>, String)> = security_labels(&catalog)
            .into_iter()
            .map(|row| (catalog.table(row.table).expect("its table").name.clone(), row.column, row.label))
            .collect();
        let actions: Vec<RuleAction> = m.rules.iter().map(|rule| rule.action.clone()).collect();
        (edges, labels, actions, catalog.table_by_name("users").expect("users").data_subject)
    })
    .collect();
    for shape in &shapes {
        assert_eq!(*shape, shapes[0]);
    }
    assert_eq!(shapes[0].0[1].1, Some(EdgeKind::OwnedBy));
}

/// pg_dump's order: labels, then rows, then keys, then foreign keys.
#[test]
fn labels_may_come_before_what_they_name() {
    let mut catalog = catalog(
        "CREATE TABLE public.a_stories (id int NOT NULL, author int NOT NULL);
         SECURITY LABEL FOR dogwood ON TABLE public.a_stories IS 'ON DEL author ANON (author)';
         SECURITY LABEL FOR dogwood ON COLUMN public.a_stories.author IS 'OWNED_BY users(id)';
         CREATE TABLE public.users (id int NOT NULL, name text);
         SECURITY LABEL FOR dogwood ON TABLE public.users IS 'DATA_SUBJECT';",
    );
    assert!(catalog.table_by_name("a_stories").expect("stories").pending.is_some());
    assert!(catalog.table_by_name("users").expect("users").pending.is_some());
    assert!(security_labels(&catalog).iter().any(|row| row.label == "OWNED_BY users(id)"));
    catalog = run(&catalog, "ALTER TABLE ONLY public.a_stories ADD CONSTRAINT sp PRIMARY KEY (id); ALTER TABLE ONLY public.users ADD CONSTRAINT up PRIMARY KEY (id)").expect("keys").catalog;
    let stories = catalog.table_by_name("a_stories").expect("stories");
    assert_eq!(stories.pending, None);
    assert_eq!(stories.foreign_keys.len(), 1, "the label is itself the reference");
    let edge = planner::catalog::EdgeRef { table: stories.id, foreign_key: stories.foreign_keys[0].constraint.id };
    assert_eq!(catalog.labelled_edges.get(&edge), Some(&EdgeSource::LabelOnly));
    catalog = run(&catalog, "ALTER TABLE ONLY public.a_stories ADD CONSTRAINT mine FOREIGN KEY (author) REFERENCES public.users(id) ON DELETE CASCADE").expect("foreign key").catalog;
    let stories = catalog.table_by_name("a_stories").expect("stories");
    assert_eq!(stories.foreign_keys.len(), 1);
    assert_eq!(stories.foreign_keys[0].constraint.name, "mine");
    assert_eq!(stories.foreign_keys[0].annotation, Some(EdgeKind::OwnedBy));
    assert_eq!(stories.rules.len(), 1);
}

#[test]
fn effects_say_what_becomes_of_rows() {
    let base = catalog(BASE);
    let effects = |sql: &str| run(&base, sql).unwrap_or_else(|error| panic!("{sql}: {error}")).effects;
    let kinds = |sql: &str| -> Vec<String> {
        effects(sql)
            .iter()
            .map(|effect| format!("{effect:?}").split([' ', '(', '{']).next().unwrap_or_default().to_string())
            .collect()
    };
    assert_eq!(kinds("ALTER TABLE plain ADD x int"), [""; 0]);
    assert_eq!(kinds("ALTER TABLE plain ADD x int NOT NULL DEFAULT 5"), ["RewriteTable", "ValidateNotNull"]);
    assert_eq!(
        kinds("ALTER TABLE plain ADD x serial UNIQUE"),
        ["CreateSequence", "RewriteTable", "ValidateNotNull", "BuildIndex"]
    );
    assert_eq!(kinds("ALTER TABLE plain ALTER n TYPE bigint"), ["RewriteTable", "DropIndex", "BuildIndex"]);
    assert_eq!(
        kinds("ALTER TABLE plain ADD CHECK (n > 0), ALTER t SET NOT NULL"),
        ["ValidateCheck", "ValidateNotNull"]
    );
    assert_eq!(
        kinds("ALTER TABLE plain ADD FOREIGN KEY (n) REFERENCES stories(id)"),
        ["ValidateForeignKey", "Replace"],
        "the user's index serves"
    );
    assert_eq!(
        kinds("ALTER TABLE plain ADD u int OWNED_BY users(id)"),
        ["BuildIndex", "ValidateForeignKey", "Replace"]
    );
    assert_eq!(kinds("ALTER TABLE stories ALTER author DROP OWNED_BY"), ["RequireEmpty", "Replace"]);
    assert_eq!(kinds("DROP INDEX plain_n"), ["DropIndex"]);
    assert_eq!(kinds("CREATE INDEX ON plain (n) WHERE n > 0"), ["BuildIndex"]);
    assert_eq!(kinds("DROP TABLE users CASCADE"), ["DropIndex", "DropTable", "RequireEmpty", "Replace"]);
    assert_eq!(kinds("CREATE INDEX mine ON stories (author)"), [""; 0], "the edge's index gets a name");
    assert_eq!(kinds("CREATE INDEX mine ON stories (author); DROP INDEX mine"), [""; 0], "and loses it");
    assert_eq!(kinds("ALTER TABLE plain RENAME n TO m"), [""; 0]);
    assert_eq!(kinds("TRUNCATE users CASCADE"), ["Truncate"]);
    assert_eq!(kinds("ALTER SEQUENCE s RESTART WITH 7"), ["RenewSequence"]);
    assert_eq!(kinds("ALTER SEQUENCE s CACHE 3"), ["RenewSequence"]);
    assert_eq!(kinds("ALTER SEQUENCE s OWNED BY NONE"), [""; 0]);
    let plan = run(&base, "DROP TABLE users CASCADE").expect("cascades");
    assert_eq!(plan.notices[0].message, "drop cascades to constraint stories_author_fkey on table stories");
    assert_eq!(plan.tag, "DROP TABLE");
    let plan = run(&base, "DROP TABLE IF EXISTS nowhere").expect("skips");
    assert_eq!(plan.notices[0].message, "table \"nowhere\" does not exist, skipping");
    assert!(effects("DROP TABLE IF EXISTS nowhere").is_empty());
    assert!(effects("CREATE TABLE x (a int)").iter().all(|effect| matches!(effect, DdlEffect::CreateTable(_))));
}

#[test]
fn renames_reach_expressions() {
    let catalog = catalog(
        "CREATE TABLE t (price int CHECK (price > 0), twice int GENERATED ALWAYS AS (price * 2) STORED); ALTER TABLE t RENAME price TO cost; ALTER TABLE t RENAME TO u",
    );
    let table = catalog.table_by_name("u").expect("u");
    assert_eq!(table.checks[0].expression, "\"cost\" > 0");
    assert!(matches!(&table.columns[1].default, Some(DefaultValue::Generated(text)) if text == "\"cost\" * 2"));
}

#[test]
fn applications_are_accepted() {
    for (name, tables, personal) in [("lobsters", 19, 17), ("owncloud", 7, 6), ("hotcrp", 15, 13)] {
        let catalog = schema(name);
        assert_eq!(catalog.relations.len(), tables, "{name}");
        let dog = Dog::new(&catalog);
        assert_eq!(dog.tables().filter(|table| dog.is_personal(*table)).count(), personal, "{name}");
        assert!(catalog.relations.values().all(|table| table.pending.is_none()), "{name}");
        assert_eq!(dog.ownership_order().1, None);
        // What the catalog says of itself changes nothing when it is said again.
        let labels = security_labels(&catalog);
        assert!(!labels.is_empty());
        for row in &labels {
            let table = catalog.table(row.table).expect("its table");
            let object = match row.column {
                Some(column) => format!("COLUMN {}.{}", table.name, table.columns[column].name),
                None => format!("TABLE {}", table.name),
            };
            let plan = run(&catalog, &format!("SECURITY LABEL FOR dogwood ON {object} IS '{}'", row.label))
                .expect("its own label");
            assert_eq!(security_labels(&plan.catalog), labels, "{object}");
            assert!(plan.effects.is_empty(), "{object}: {:?}", plan.effects);
        }
    }
    let owncloud = schema("owncloud");
    let id = |name: &str| owncloud.table_by_name(name).expect("a table of the catalog").id;
    assert_eq!(ownership::key_form(&owncloud, id("oc_storages")), KeyForm::Ordered);
    assert_eq!(ownership::key_form(&owncloud, id("oc_files")), KeyForm::Hashed);
    let dog = Dog::new(&owncloud);
    let paths = dog.ownership_paths(id("oc_filecache"));
    let texts: Vec<String> = paths.iter().map(|path| path.describe(&owncloud)).collect();
    assert_eq!(
        texts,
        [
            "oc_filecache.fileid OWNED_BY oc_files(id) → oc_share.item_source OWNS oc_files(id) → oc_share.uid_owner OWNED_BY oc_users(uid)"
        ]
    );
}

#[test]
fn compliance_says_what_a_person_should_know() {
    let catalog = catalog(
        "CREATE DATA_SUBJECT TABLE users (id int PRIMARY KEY, name text);
         CREATE TABLE newsletter (id int PRIMARY KEY, email text, first_name text);
         CREATE TABLE tags (id int PRIMARY KEY, phone text);
         CREATE TABLE m (id int PRIMARY KEY, sender int OWNED_BY users(id), receiver int OWNED_BY users(id), ON DEL sender ANON (sender));
         CREATE TABLE taggings (id int PRIMARY KEY, m int NOT NULL OWNED_BY m(id), tag int NOT NULL ACCESSES tags(id));
         CREATE TABLE votes (id int PRIMARY KEY, u int NOT NULL REFERENCES users(id), quiet int REFERENCES ONLY users(id) ON DELETE SET NULL);
         CREATE TABLE grps (gid int PRIMARY KEY); CREATE TABLE files (id int PRIMARY KEY);
         CREATE TABLE member (gid int NOT NULL OWNS grps(gid), uid int NOT NULL OWNED_BY users(id));
         CREATE TABLE fassoc (file int NOT NULL OWNS files(id), gid int NOT NULL OWNED_BY grps(gid));
         CREATE DATA_SUBJECT TABLE invitations (id int PRIMARY KEY, by int OWNED_BY users(id));
         CREATE TABLE gifts (id int PRIMARY KEY, i int NOT NULL OWNED_BY invitations(id));
         CREATE TABLE profile (uid int PRIMARY KEY OWNED_BY users(id), boss int NOT NULL OWNED_BY users(id), bio text);
         CREATE TABLE posts (id int PRIMARY KEY, author int NOT NULL OWNED_BY users(id));
         CREATE TABLE ribbons (u int OWNED_BY users(id), post int REFERENCES ONLY posts(id) ON DELETE CASCADE, PRIMARY KEY (u, post));
         CREATE TABLE notes (id int PRIMARY KEY, grp int NOT NULL OWNED_BY grps(gid))",
    );
    let rows = ownership::compliance(&catalog);
    let has = |table: &str, severity: Severity, text: &str| {
        assert!(
            rows.iter().any(|row| row.table_name == table && row.severity == severity && row.message.contains(text)),
            "{table} {severity:?} {text}\n{rows:#?}"
        );
    };
    has("users", Severity::Info, "owns itself");
    has(
        "newsletter",
        Severity::Severe,
        "columns look personal (email, first_name), but the table is connected to no data subject",
    );
    has("tags", Severity::Severe, "only accessed, never owned");
    has("tags", Severity::Info, "accessible to any number of people of \"users\"");
    has("m", Severity::Warning, "every ownership path passes a foreign key that may be NULL");
    has("m", Severity::Warning, "no ON DEL rule");
    has("m", Severity::Info, "owned by at most one person of \"users\"");
    has("votes", Severity::Warning, "a plain foreign key leads to a data subject");
    has("votes", Severity::Notice, "erasure sets \"u\" to NULL");
    has("votes", Severity::Notice, "\"u\" is NOT NULL");
    has("files", Severity::Severe, "2 variable-ownership edges on one path");
    has("gifts", Severity::Notice, "passes data subject \"invitations\"");
    has("profile", Severity::Notice, "erases this row for everyone");
    has("profile", Severity::Notice, "\"boss\" is NOT NULL");
    // What goes with its only owner, by declared CASCADE, or after what it owns, is never blanked.
    for (table, text) in [
        ("posts", "is NOT NULL"),
        ("ribbons", "erases this row"),
        ("notes", "no ON DEL rule"),
        ("notes", "is NOT NULL"),
        ("member", "\"gid\" is NOT NULL"),
    ] {
        assert!(
            !rows.iter().any(|row| row.table_name == table && row.message.contains(text)),
            "{table} {text}\n{rows:#?}"
        );
    }
    assert!(
        !rows
            .iter()
            .any(|row| row.path.as_deref().is_some_and(|path| path.contains("quiet"))
                && row.severity == Severity::Warning)
    );
    assert!(ownership::dot(&catalog).contains("\"m\" -> \"users\" [label=\"sender OWNED_BY\", style=solid];"));
    assert!(ownership::json(&catalog).contains("\"annotation\": \"OWNED_BY\""));
}
