//! Roles and rights as the catalog shows them: the script `checks/roles_catalog.sql` gives what PostgreSQL 15 gave
//! (`roles/record.sh`). Subject requests, which PostgreSQL does not have, stand below.

#[path = "support/interpreter.rs"]
mod interpreter;

use interpreter::{Database, run};
use planner::catalog::{Actor, Catalog, DatabaseId, RoleId};
use planner::error::PlanError;
use planner::lower::plan_query;
use planner::parse::parse;
use planner::resolve::ddl::{Labels, plan_ddl, resolver_hook};
use planner::resolve::{Resolved, SessionInfo, resolve};
use planner::scalar::{
    AdvisoryKey, AdvisoryLock, Environment, EvalContext, ListedCommand, ListedConnection, ListedCursor, ListedLock,
    ListedProgress, ListedSession, SessionActs,
};
use planner::system;
use repr::{Datum, RelationId, SequenceId, ValueError, text};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const SCRIPT: &str = include_str!("checks/roles_catalog.sql");
const EXPECTED: &str = include_str!("roles/expected.txt");

/// A session of the first role's, perhaps acting as another.
struct Session {
    catalog: Arc<Catalog>,
    actor: Actor,
}

impl Environment for Session {
    fn transaction_timestamp(&self) -> i64 {
        0
    }
    fn statement_timestamp(&self) -> i64 {
        0
    }
    fn clock_timestamp(&self) -> i64 {
        0
    }
    fn setting(&self, name: &str) -> Option<String> {
        match name {
            "search_path" => Some("\"$user\", public".to_owned()),
            "timezone" => Some("UTC".to_owned()),
            _ => None,
        }
    }
    fn set_setting(&self, _: &str, _: &str, _: bool) -> Result<(), ValueError> {
        Ok(())
    }
    fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }
    fn session_user(&self) -> String {
        self.actor.login_name.to_string()
    }
    fn actor(&self) -> Actor {
        self.actor.clone()
    }
    fn database(&self) -> String {
        "postgres".to_owned()
    }
    fn backend_pid(&self) -> i32 {
        1
    }
    fn next_value(&self, _: SequenceId) -> Result<i64, ValueError> {
        Ok(1)
    }
    fn current_value(&self, _: SequenceId) -> Result<i64, ValueError> {
        Ok(1)
    }
    fn last_value(&self) -> Result<i64, ValueError> {
        Ok(1)
    }
    fn set_value(&self, _: SequenceId, _: i64, _: bool) -> Result<(), ValueError> {
        Ok(())
    }
    fn sequence_state(&self, _: SequenceId) -> Result<(i64, bool), ValueError> {
        Ok((1, false))
    }
    fn random_bytes(&self, _: &mut [u8]) {}
    fn sleep(&self, _: Duration) -> Result<(), ValueError> {
        Ok(())
    }
    fn relation_size(&self, _: RelationId) -> i64 {
        0
    }
    fn acts(&self) -> Result<&dyn SessionActs, ValueError> {
        Ok(&Sessions)
    }
}

/// Two logins run something: one with a role of its own, and one without.
struct Sessions;

impl SessionActs for Sessions {
    fn advisory_lock(&self, _: &AdvisoryLock) -> Result<bool, ValueError> {
        Ok(true)
    }
    fn advisory_unlock(&self, _: AdvisoryKey, _: bool) -> Result<bool, ValueError> {
        Ok(true)
    }
    fn advisory_unlock_all(&self) {}
    fn notify(&self, _: &str, _: &str) -> Result<(), ValueError> {
        Ok(())
    }
    fn listening(&self) -> Vec<String> {
        Vec::new()
    }
    fn notification_queue_usage(&self) -> f64 {
        0.0
    }
    fn export_snapshot(&self) -> Result<String, ValueError> {
        Ok(String::new())
    }
    fn cancel_backend(&self, _: i32) -> Result<bool, ValueError> {
        Ok(false)
    }
    fn terminate_backend(&self, _: i32, _: Duration) -> Result<bool, ValueError> {
        Ok(false)
    }
    fn transaction_number(&self, _: bool) -> Result<Option<u64>, ValueError> {
        Ok(None)
    }
    fn reload_configuration(&self) -> Result<bool, ValueError> {
        Ok(false)
    }
    fn server_began_at(&self) -> i64 {
        0
    }
    fn configured_at(&self) -> i64 {
        0
    }
    fn rotate_keys(&self) -> Result<i64, ValueError> {
        Ok(0)
    }
    fn rotate_root_key(&self) -> Result<i64, ValueError> {
        Ok(0)
    }
    fn blocking(&self, _: i32) -> Vec<i32> {
        Vec::new()
    }
    fn sessions(&self) -> Vec<ListedSession> {
        let session = |backend, user: &str| ListedSession {
            backend,
            user: user.to_owned(),
            database: "postgres".to_owned(),
            database_id: DatabaseId::FIRST,
            connection: ListedConnection::default(),
            application: "app".to_owned(),
            began_at: 1,
            transaction_at: None,
            query_at: Some(2),
            changed_at: 3,
            state: "idle",
            query: "SELECT $1".to_owned(),
            waits: None,
        };
        vec![session(7, "office"), session(8, "controller")]
    }
    fn progress(&self) -> Vec<ListedProgress> {
        let progress = |backend, user: &str, command| ListedProgress {
            backend,
            user: user.to_owned(),
            database: "postgres".to_owned(),
            database_id: DatabaseId::FIRST,
            relation: 16_384,
            command,
            rows: 1_000,
            bytes: 100_000,
        };
        let index = |compares| ListedCommand::CreateIndex { index: 16_400, compares, bytes_total: 819_200 };
        vec![
            progress(7, "office", index(false)),
            progress(8, "controller", index(true)),
            progress(9, "controller", ListedCommand::CopyIn { excluded: 3 }),
        ]
    }
    fn locks(&self) -> Vec<ListedLock> {
        Vec::new()
    }
    fn cursors(&self) -> Vec<ListedCursor> {
        Vec::new()
    }
}

/// What statements have made so far, and as whom they run.
struct World {
    catalog: Arc<Catalog>,
    actor: Actor,
}

impl World {
    fn new() -> World {
        World { catalog: Arc::default(), actor: Actor::default() }
    }

    /// What a statement answers: its rows, or its error.
    fn tell(&mut self, sql: &str) -> Vec<String> {
        let answer = match sql.strip_prefix("SET ROLE ") {
            Some(name) => self.become_role(name.trim_matches('"')),
            None if sql == "RESET ROLE" => self.become_role("controller"),
            None if sql.starts_with("SELECT") => self.ask(sql),
            None => self.define(sql),
        };
        let rows = answer.unwrap_or_else(|error| vec![format!("error {} {}", error.code, error.message)]);
        let mut lines: Vec<String> = rows.iter().flat_map(|row| row.split('\n')).map(str::to_owned).collect();
        lines.sort();
        lines
    }

    fn become_role(&mut self, name: &str) -> Result<Vec<String>, PlanError> {
        let role = self.actor.find(&self.catalog, name).expect("the role was made");
        self.actor = Actor { role, name: name.into(), ..self.actor.clone() };
        Ok(Vec::new())
    }

    fn define(&mut self, sql: &str) -> Result<Vec<String>, PlanError> {
        let session = SessionInfo::default();
        for parsed in parse(sql)? {
            let plan = plan_ddl(&parsed.statement, &*self.catalog, Labels::TakeEffect, &resolver_hook(&session))?;
            self.catalog = Arc::new(plan.catalog);
        }
        Ok(Vec::new())
    }

    fn ask(&self, sql: &str) -> Result<Vec<String>, PlanError> {
        let environment = Arc::new(Session { catalog: self.catalog.clone(), actor: self.actor.clone() });
        let context = EvalContext::within(Arc::from([]), environment.clone());
        let parsed = parse(sql)?;
        let (resolved, _) = resolve(&parsed[0], &self.catalog, &SessionInfo::default(), &[])?;
        let Resolved::Query(hir) = resolved else { panic!("only queries: {sql}") };
        let query = plan_query(&hir, &self.catalog, &|_| false)?;
        let words: Vec<&str> = sql.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').collect();
        let named = system::relations().iter().filter(|relation| words.contains(&relation.name));
        let rows = |relation: &system::SystemRelation| {
            let rows = system::rows(relation.id, &self.catalog, &*environment, &[]);
            (relation.id, rows.iter().map(repr::Row::unpack).collect())
        };
        let rows: BTreeMap<RelationId, Vec<Vec<Datum>>> = named.map(rows).collect();
        let database = Database { rows, catalog: (*self.catalog).clone(), context };
        let written = database.context.text_context();
        let show = |row: Vec<Datum>| {
            let values = row.iter().zip(&query.columns).map(|(value, column)| match value {
                Datum::Null => "~".to_owned(),
                value => text::format(value, &column.column_type.scalar, &written),
            });
            values.collect::<Vec<_>>().join("|")
        };
        Ok(run(&query, &database)?.into_iter().map(show).collect())
    }
}

/// Each statement, and the lines of its answer.
fn expected() -> Vec<(&'static str, Vec<String>)> {
    let mut blocks: Vec<(&str, Vec<String>)> = Vec::new();
    for line in EXPECTED.lines() {
        match (line.strip_prefix("> "), blocks.last_mut()) {
            (Some(statement), _) => blocks.push((statement, Vec::new())),
            (None, Some((_, lines))) => lines.push(line.to_owned()),
            (None, None) => panic!("an answer to nothing: {line}"),
        }
    }
    blocks.iter_mut().for_each(|(_, lines)| lines.sort());
    blocks
}

#[test]
fn the_catalog_shows_what_postgresql_shows() {
    let expected = expected();
    let script: Vec<&str> = SCRIPT.lines().filter(|line| !line.starts_with("--")).collect();
    let recorded: Vec<&str> = expected.iter().map(|(statement, _)| *statement).collect();
    assert_eq!(script, recorded, "roles/record.sh has to run again");
    let mut world = World::new();
    let mut wrong = Vec::new();
    for (statement, expected) in &expected {
        let told = world.tell(statement);
        if told != *expected {
            let only = |one: &[String], other: &[String]| -> String {
                one.iter().filter(|line| !other.contains(line)).map(|line| format!("\n    {line}")).collect()
            };
            wrong.push(format!(
                "{statement}\n  only PostgreSQL:{}\n  only ours:{}",
                only(expected, &told),
                only(&told, expected)
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), expected.len(), wrong.join("\n"));
}

/// A world where somebody may make requests of people.
fn of_people() -> World {
    let mut world = World::new();
    for statement in [
        "CREATE ROLE office LOGIN",
        "CREATE ROLE clerk LOGIN",
        "CREATE ROLE boss LOGIN IN ROLE dogwood_controller",
        "CREATE ROLE auditor LOGIN IN ROLE dogwood_regulator",
        "CREATE ROLE hands LOGIN IN ROLE dogwood_operator",
        "CREATE DATA_SUBJECT TABLE people (id int PRIMARY KEY, name text)",
        "CREATE TABLE plain (id int PRIMARY KEY)",
        "GRANT GDPR GET, GDPR EXPORT ON people TO office WITH GRANT OPTION",
        "GRANT SELECT, GDPR FORGET ON people TO clerk",
    ] {
        assert_eq!(world.tell(statement), Vec::<String>::new(), "{statement}");
    }
    world
}

#[test]
fn subject_requests_are_privileges_of_information_schema_alone() {
    let mut world = of_people();
    for (question, answer) in [
        (
            "SELECT relacl FROM pg_class WHERE relname = 'people'",
            vec!["{controller=arwdDxt/controller,clerk=r/controller}"],
        ),
        (
            "SELECT grantee, privilege_type, is_grantable FROM information_schema.table_privileges WHERE table_name = 'people' AND grantee <> 'controller'",
            vec!["clerk|GDPR FORGET|NO", "clerk|SELECT|NO", "office|GDPR EXPORT|YES", "office|GDPR GET|YES"],
        ),
        (
            "SELECT grantee, privilege_type, is_grantable FROM information_schema.table_privileges WHERE table_name = 'people' AND grantee = 'controller' AND privilege_type ~ 'GDPR'",
            vec!["controller|GDPR EXPORT|YES", "controller|GDPR FORGET|YES", "controller|GDPR GET|YES"],
        ),
        (
            "SELECT count(*) FROM information_schema.table_privileges WHERE table_name = 'plain' AND privilege_type ~ 'GDPR'",
            vec!["0"],
        ),
        (
            "SELECT has_table_privilege('office', 'people', 'GDPR GET'), has_table_privilege('office', 'people', 'gdpr export with grant option'), has_table_privilege('office', 'people', 'GDPR FORGET'), has_table_privilege('office', 'people', 'SELECT')",
            vec!["t|t|f|f"],
        ),
        (
            "SELECT has_table_privilege('people', 'GDPR FORGET'), has_table_privilege('plain', 'GDPR FORGET'), has_table_privilege('clerk', 'people', 'GDPR FORGET WITH GRANT OPTION')",
            vec!["t|f|f"],
        ),
        (
            "SELECT has_sequence_privilege('people_id', 'GDPR GET')",
            vec!["error 22023 unrecognized privilege type: \"GDPR GET\""],
        ),
        (
            "SELECT makeaclitem(10, 10, 'GDPR GET', false)",
            vec!["error 22023 unrecognized privilege type: \"GDPR GET\""],
        ),
        ("SET ROLE office", vec![]),
        ("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'", vec!["people"]),
        ("SELECT column_name FROM information_schema.columns WHERE table_schema = 'public'", vec![]),
    ] {
        assert_eq!(world.tell(question), answer, "{question}");
    }
}

#[test]
fn kinds_of_roles_are_roles() {
    let mut world = of_people();
    for (question, answer) in [
        (
            "SELECT rolname, rolsuper, rolcreaterole, rolcreatedb, rolcanlogin FROM pg_roles WHERE rolname ~ '^(dogwood_|boss|auditor|hands)'",
            vec![
                "auditor|f|f|f|t",
                "boss|f|t|t|t",
                "dogwood_controller|f|t|t|f",
                "dogwood_operator|f|t|t|f",
                "dogwood_processor|f|f|f|f",
                "dogwood_regulator|f|f|f|f",
                "dogwood_subject|f|f|f|f",
                "hands|f|t|t|t",
            ],
        ),
        (
            "SELECT has_table_privilege('boss', 'people', 'SELECT WITH GRANT OPTION'), has_table_privilege('boss', 'pg_authid', 'SELECT'), has_table_privilege('boss', 'people', 'GDPR FORGET'), pg_has_role('boss', 'clerk', 'USAGE')",
            vec!["t|t|t|t"],
        ),
        (
            "SELECT has_table_privilege('auditor', 'people', 'SELECT'), has_table_privilege('hands', 'pg_class', 'SELECT'), has_table_privilege('hands', 'pg_authid', 'SELECT')",
            vec!["f|t|f"],
        ),
        ("GRANT SELECT ON people TO PUBLIC", vec![]),
        (
            "SELECT has_table_privilege('auditor', 'people', 'SELECT'), has_any_column_privilege('hands', 'people', 'SELECT'), has_table_privilege('office', 'people', 'SELECT')",
            vec!["f|f|t"],
        ),
        ("SET ROLE boss", vec![]),
        ("SELECT count(*) > 20 FROM information_schema.enabled_roles", vec!["t"]),
        ("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'", vec!["people", "plain"]),
        ("SELECT usename, passwd FROM pg_shadow WHERE usename = 'boss'", vec!["boss|********"]),
    ] {
        assert_eq!(world.tell(question), answer, "{question}");
    }
}

#[test]
fn the_first_role_is_called_as_its_session_is() {
    let mut world = of_people();
    world.actor = Actor::of_login(RoleId::FIRST, "Some One".into());
    for (question, answer) in [
        ("SELECT rolname FROM pg_roles WHERE oid = 10", "Some One"),
        (
            "SELECT relacl FROM pg_class WHERE relname = 'people'",
            "{\"\\\"Some One\\\"=arwdDxt/\\\"Some One\\\"\",\"clerk=r/\\\"Some One\\\"\"}",
        ),
        (
            "SELECT tableowner, has_table_privilege(tableowner, 'people', 'DELETE') FROM pg_tables WHERE tablename = 'people'",
            "Some One|t",
        ),
        ("SELECT count(*) FROM pg_class c, aclexplode(c.relacl) a WHERE relname = 'people' AND a.grantee = 10", "7"),
    ] {
        assert_eq!(world.tell(question), [answer], "{question}");
    }
}

#[test]
fn what_others_run_is_for_their_own_role_controllers_and_pg_read_all_stats() {
    let question = "SELECT usesysid::regrole::text, usename, query, state, backend_start IS NULL, application_name FROM pg_stat_activity";
    let hidden = |role: &str| format!("{role}|{role}|<insufficient privilege>|~|t|app");
    let shown = |role: &str| format!("{role}|{role}|SELECT $1|idle|f|app");
    let mut world = of_people();
    for statement in [
        "CREATE ROLE watcher IN ROLE pg_monitor",
        "CREATE ROLE member IN ROLE office",
        "CREATE ROLE heir NOINHERIT IN ROLE office",
    ] {
        assert_eq!(world.tell(statement), Vec::<String>::new(), "{statement}");
    }
    for (role, of_office, of_first) in [
        ("controller", true, true),
        ("boss", true, true),
        ("watcher", true, true),
        ("office", true, false),
        ("member", true, false),
        ("heir", false, false),
        ("clerk", false, false),
        ("hands", false, false),
    ] {
        world.tell(&format!("SET ROLE {role}"));
        let line = |sees: bool, of: &str| if sees { shown(of) } else { hidden(of) };
        let expected = vec![line(of_first, "controller"), line(of_office, "office")];
        assert_eq!(world.tell(question), expected, "{role}");
        let line = |sees: bool, shown: &str, columns: usize| {
            if sees { shown.to_owned() } else { vec!["~"; columns].join("|") }
        };
        let expected = vec![
            format!(
                "7|postgres|{}",
                line(of_office, "16384|16400|CREATE INDEX|building index: scanning table|100|12|0|1000", 8)
            ),
            format!(
                "8|postgres|{}",
                line(of_first, "16384|16400|CREATE INDEX|building index: sorting live tuples|100|100|1000|1000", 8)
            ),
        ];
        let question = "SELECT pid, datname, relid, index_relid, command, phase, blocks_total, blocks_done, tuples_total, \
                        tuples_done FROM pg_stat_progress_create_index";
        assert_eq!(world.tell(question), expected, "{role}");
        let question = "SELECT pid, datname, relid, command, type, bytes_processed, bytes_total, tuples_processed, tuples_excluded \
                        FROM pg_stat_progress_copy";
        let expected = format!("9|postgres|{}", line(of_first, "16384|COPY FROM|PIPE|100000|0|1000|3", 7));
        assert_eq!(world.tell(question), [expected], "{role}");
    }
}

#[test]
fn entries_are_read_as_postgresql_reads_them() {
    let world = of_people();
    for (entry, answer) in [
        ("controller=r*w/controller", "10|10|SELECT|t,10|10|UPDATE|f"),
        ("=T/controller", "0|10|TEMPORARY|f"),
        ("group controller=rr*x/controller", "10|10|REFERENCES|f,10|10|SELECT|t"),
        ("controller=r", "10|10|SELECT|f"),
        ("foo", "error 22P02 unrecognized key word: \"foo\""),
        ("controller=q/controller", "error 22P02 invalid mode character: must be one of \"arwdDxtXUCTcsA\""),
        ("nobody=r/controller", "error 42704 role \"nobody\" does not exist"),
        ("controller=r/", "error 22P02 a name must follow the \"/\" sign"),
        ("controller=r/controller x", "error 22P02 extra garbage at the end of the ACL specification"),
    ] {
        let question = format!(
            "SELECT grantee, grantor, privilege_type, is_grantable FROM aclexplode(ARRAY['{entry}'::aclitem]) ORDER BY 3"
        );
        let told = world.ask(&question);
        let told = told.map_or_else(|error| format!("error {} {}", error.code, error.message), |rows| rows.join(","));
        assert_eq!(told, answer, "{entry}");
    }
}

/// Whoever wants rows by the value of a column is given all of them, whatever is left out.
#[test]
fn wanted_rows_are_those_that_all_have() {
    let mut world = of_people();
    for statement in [
        "CREATE TYPE mood AS ENUM ('sad', 'glad')",
        "CREATE TABLE parts (a INT, b INT DEFAULT 7, c TEXT, m mood, PRIMARY KEY (a, b), UNIQUE (c), CHECK (a > 0))",
        "CREATE TABLE others (id INT PRIMARY KEY, a INT, b INT, FOREIGN KEY (a, b) REFERENCES parts(a, b))",
        "CREATE INDEX parts_lower ON parts (lower(c)) WHERE b > 1",
        "CREATE VIEW seen AS SELECT a, c FROM parts",
        "CREATE SEQUENCE numbers",
    ] {
        let answer = world.tell(statement);
        assert!(answer.iter().all(|line| !line.starts_with("error")), "{statement}: {answer:?}");
    }
    let session = Session { catalog: world.catalog.clone(), actor: world.actor.clone() };
    let mut compared = 0;
    for relation in system::relations() {
        let unpacked = |wanted: &system::WantedValues| -> Vec<Vec<Datum>> {
            let rows = system::rows(relation.id, &world.catalog, &session, wanted);
            rows.iter().map(repr::Row::unpack).collect()
        };
        let all = unpacked(&[]);
        let mut pairs: Vec<Vec<(usize, Datum)>> = Vec::new();
        for column in 0..relation.columns.len() {
            // Those of created objects stand last.
            for row in all.iter().take(2).chain(all.iter().rev().take(12)) {
                pairs.push(vec![(column, row[column].clone())]);
                // Both a table and its index, in one row or in none.
                let next = (column + 1) % relation.columns.len();
                pairs.push(vec![(column, row[column].clone()), (next, row[next].clone())]);
            }
        }
        pairs.retain(|wanted| wanted.iter().all(|(_, value)| matches!(value, Datum::Oid(_) | Datum::Text(_))));
        pairs.sort_by_key(|wanted| format!("{wanted:?}"));
        pairs.dedup();
        for wanted in pairs {
            let has = |row: &&Vec<Datum>| wanted.iter().all(|(column, value)| row[*column] == *value);
            let given = unpacked(&wanted);
            let (given, expected): (Vec<_>, Vec<_>) =
                (given.iter().filter(has).collect(), all.iter().filter(has).collect());
            assert_eq!(given, expected, "{} {wanted:?}", relation.name);
            compared += 1;
        }
    }
    assert!(compared > 2_000, "{compared}");
}
