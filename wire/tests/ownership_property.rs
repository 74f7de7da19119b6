//! Ownership, access and erasure against a naive model, over random annotated schemas and transactions.
//!
//! Each case: a schema of up to eight tables, then transactions, FORGETs, and after each of them every table and the GET of
//! every subject compared; at the end `dogwood check` must find nothing. `DOGWOOD_CASES` is the number of cases,
//! `DOGWOOD_SEED` the first seed. A failure prints the seed and the whole script.

#[path = "support/database.rs"]
mod database;
#[path = "ownership_property/model.rs"]
mod model;
#[path = "ownership_property/random.rs"]
mod random;

use database::{Answer, TestDatabase, run};
use engine::session::Session;
use model::{RowId, Schema, State};
use random::Random;

const CASES: u64 = 300;
const STEPS: usize = 30;

#[test]
fn engine_equals_model() {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().map_or(default, |value| value.parse().expect("a number"));
    let (first, cases) = (number("DOGWOOD_SEED", 1), number("DOGWOOD_CASES", CASES));
    let (mut failures, mut totals) = (Vec::new(), Totals::default());
    let keep_going = std::env::var("DOGWOOD_KEEP_GOING").is_ok();
    for seed in first..first + cases {
        if let Err(failure) = case(seed, &mut totals) {
            failures.push(format!("seed {seed}\n{failure}"));
            if !keep_going || failures.len() > 20 {
                break;
            }
        }
    }
    println!("{totals:?}");
    assert!(failures.is_empty(), "{}", failures.join("\n\n=====\n"));
    assert!(
        totals.got_amid_changes > cases && totals.forgotten > cases && totals.committed > 3 * cases,
        "too little happened: {totals:?}"
    );
}

#[derive(Debug, Default)]
struct Totals {
    schemas_refused: u64,
    committed: u64,
    orphaning: u64,
    refused: u64,
    forgotten: u64,
    got: u64,
    got_amid_changes: u64,
}

fn case(seed: u64, totals: &mut Totals) -> Result<(), String> {
    let mut random = Random(seed);
    let database = TestDatabase::open("property");
    let mut session = database.session();
    let (schema, ddl) = loop {
        let schema = random::schema(&mut random);
        let ddl = random::ddl(&schema);
        match run(&mut session, &ddl) {
            Ok(_) => break (schema, ddl),
            // Not well formed: nothing of it stays.
            Err(error) if ["DG004", "42P16"].contains(&error.code) => totals.schemas_refused += 1,
            Err(error) => return Err(format!("{ddl}\n{} {error} {:?} {:?}", error.code, error.detail, error.hint)),
        }
    };
    let mut case = Case { session, schema, state: State::default(), log: ddl };
    let outcome = case.steps(&mut random, totals);
    let Case { session, mut log, .. } = case;
    drop(session);
    let findings = database.close();
    outcome.map_err(|problem| format!("{log}--- {problem}"))?;
    if findings.is_empty() {
        return Ok(());
    }
    log += &format!("--- dogwood check: {findings:#?}");
    Err(log)
}

struct Case {
    session: Session,
    schema: Schema,
    state: State,
    log: String,
}

impl Case {
    fn steps(&mut self, random: &mut Random, totals: &mut Totals) -> Result<(), String> {
        let steps = STEPS / 2 + random.below(STEPS);
        for _ in 0..steps {
            let subjects = self.subjects();
            if !subjects.is_empty() && random.chance(12) {
                let subject = random.pick(&subjects);
                self.forget(subject, random.chance(30))?;
                totals.forgotten += 1;
            } else {
                self.transaction(random, totals)?;
            }
            self.compare_tables()?;
            for subject in self.subjects() {
                self.compare_get(subject, &self.state.clone())?;
                totals.got += 1;
            }
        }
        Ok(())
    }

    fn subjects(&self) -> Vec<RowId> {
        self.subjects_of(&self.state)
    }

    fn subjects_of(&self, state: &State) -> Vec<RowId> {
        let subject = |row: &model::Row| self.schema.tables[row.table].subject;
        state.rows.iter().filter(|(_, row)| subject(row)).map(|(id, _)| *id).collect()
    }

    fn run(&mut self, sql: &str) -> Result<Answer, engine::SqlError> {
        let answer = run(&mut self.session, sql);
        self.log += sql;
        match &answer {
            Ok(_) => self.log += ";\n",
            Err(error) => self.log += &format!("; -- {} {error}\n", error.code),
        }
        answer
    }

    fn transaction(&mut self, random: &mut Random, totals: &mut Totals) -> Result<(), String> {
        let block = random.chance(60);
        let count = if block { 1 + random.below(5) } else { 1 };
        let mut state = self.state.clone();
        if block {
            self.run("BEGIN").map_err(|error| error.to_string())?;
        }
        for _ in 0..count {
            let before = state.clone();
            let statement = random::statement(random, &self.schema, &state);
            let sql = random::sql(&self.schema, &statement);
            let mut refusal = state.run(&self.schema, &statement);
            let orphaning = !block && state.has_orphan(&self.schema);
            if orphaning && refusal.must.is_empty() {
                refusal.must.insert("DG001");
            }
            match self.run(&sql) {
                Ok(_) if refusal.must.is_empty() => {}
                Ok(_) => return Err(format!("should be refused: {refusal:?}")),
                Err(error) if refusal.must.contains(error.code) || refusal.may.contains(error.code) => {
                    totals.refused += 1;
                    totals.orphaning += u64::from(orphaning);
                    if block {
                        if random.chance(50) {
                            self.run("ROLLBACK").map_err(|error| error.to_string())?;
                            return Ok(());
                        }
                        // COMMIT of a failed block rolls back.
                        self.run("COMMIT").map_err(|error| error.to_string())?;
                    }
                    return Ok(());
                }
                Err(error) => {
                    return Err(format!("{} {error}, {:?} but expected {refusal:?}", error.code, error.detail));
                }
            }
            if block && random.chance(8) {
                self.taken_back(random, &state)?;
            }
            drop(before);
            // Owners of what the transaction has changed are not derived yet: what is owned is looked up, too.
            if block && random.chance(15) {
                for subject in self.subjects_of(&state) {
                    self.compare_get(subject, &state)?;
                    totals.got_amid_changes += 1;
                }
            }
        }
        if block {
            if random.chance(10) {
                self.run("ROLLBACK").map_err(|error| error.to_string())?;
                return Ok(());
            }
            match (self.run("COMMIT"), state.has_orphan(&self.schema)) {
                (Ok(_), false) => {}
                (Err(error), true) if error.code == "DG001" => {
                    totals.orphaning += 1;
                    return Ok(());
                }
                (Ok(_), true) => return Err("an orphan was committed".into()),
                (Err(error), orphan) => return Err(format!("COMMIT: {} {error}; orphan: {orphan}", error.code)),
            }
        }
        totals.committed += 1;
        self.state = state;
        Ok(())
    }

    /// A statement, and back to before it.
    fn taken_back(&mut self, random: &mut Random, state: &State) -> Result<(), String> {
        self.run("SAVEPOINT s").map_err(|error| error.to_string())?;
        let statement = random::statement(random, &self.schema, state);
        let sql = random::sql(&self.schema, &statement);
        let _either = self.run(&sql);
        self.run("ROLLBACK TO s").map_err(|error| error.to_string())?;
        Ok(())
    }

    fn key_sql(&self, subject: RowId, state: &State) -> String {
        let row = &state.rows[&subject];
        let key = model::key_of(row, &self.schema.tables[row.table].primary).expect("a primary key");
        let key: Vec<String> = key.iter().map(i64::to_string).collect();
        format!("t{} ({})", row.table, key.join(", "))
    }

    /// An erasure that is analyzed takes place as any other.
    fn forget(&mut self, subject: RowId, analyzed: bool) -> Result<(), String> {
        let (after, expected) = self.state.forget(&self.schema, subject);
        let key = self.key_sql(subject, &self.state);
        let explain: &[&str] = if analyzed { &["EXPLAIN "] } else { &["EXPLAIN ", ""] };
        for explain in explain {
            let answer = self
                .run(&format!("{explain}GDPR FORGET {key}"))
                .map_err(|error| format!("{} {error} {:?}", error.code, error.detail))?;
            let mut got: Vec<String> =
                answer.rows.iter().map(|row| row.iter().flatten().cloned().collect::<Vec<_>>().join(" ")).collect();
            got.sort();
            if got != expected {
                return Err(format!("{explain}FORGET counts: got {got:#?}, expected {expected:#?}"));
            }
        }
        if analyzed {
            let statement = format!("EXPLAIN (ANALYZE, SUMMARY off) GDPR FORGET {key}");
            self.run(&statement).map_err(|error| format!("{statement}: {} {error}", error.code))?;
        }
        self.state = after;
        Ok(())
    }

    fn compare_tables(&mut self) -> Result<(), String> {
        for index in 0..self.schema.tables.len() {
            let answer = run(&mut self.session, &format!("SELECT * FROM t{index}"))
                .map_err(|error| format!("SELECT: {error}"))?;
            let mut got: Vec<Vec<Option<i64>>> = answer
                .rows
                .iter()
                .map(|row| row.iter().map(|cell| cell.as_ref().map(|cell| cell.parse().expect("INT"))).collect())
                .collect();
            let mut expected: Vec<Vec<Option<i64>>> =
                self.state.rows.values().filter(|row| row.table == index).map(|row| row.values.clone()).collect();
            got.sort();
            expected.sort();
            if got != expected {
                return Err(format!("t{index}: got {got:?}\nexpected {expected:?}"));
            }
        }
        Ok(())
    }

    fn compare_get(&mut self, subject: RowId, state: &State) -> Result<(), String> {
        let expected = state.get(&self.schema, subject);
        let sql = format!("GDPR GET {}", self.key_sql(subject, state));
        let explain = format!("EXPLAIN (ANALYZE, TIMING off) {sql}");
        let explained = run(&mut self.session, &explain).map_err(|error| format!("{explain}: {error}"))?;
        let first = explained.rows.first().and_then(|row| row[0].clone()).unwrap_or_default();
        if !first.ends_with(&format!("(actual rows={} loops=1)", expected.len())) {
            return Err(format!("{explain}: {first}, but {} rows are right", expected.len()));
        }
        let answer = run(&mut self.session, &sql).map_err(|error| format!("{sql}: {} {error}", error.code))?;
        let mut got: Vec<String> = answer.rows.iter().map(|row| self.line(row)).collect();
        got.sort();
        if got == expected {
            return Ok(());
        }
        let missing: Vec<&String> = expected.iter().filter(|line| !got.contains(line)).collect();
        let extra: Vec<&String> = got.iter().filter(|line| !expected.contains(line)).collect();
        Err(format!("{sql}: missing {missing:#?}, too much {extra:#?}"))
    }

    /// A result row as the model writes it.
    fn line(&self, row: &[Option<String>]) -> String {
        let cell = |position: usize| row[position].as_deref().unwrap_or_default();
        let table: usize = cell(0)[1..].parse().expect("tables are t and a number");
        let hidden: Vec<&str> = cell(4).trim_matches(['{', '}']).split(',').collect();
        let members: Vec<(&str, &str)> = cell(3)
            .trim_matches(['{', '}'])
            .split(", ")
            .filter_map(|member| member.split_once(": "))
            .map(|(name, value)| (name.trim_matches('"'), value))
            .collect();
        let cells: Vec<String> = self.schema.tables[table]
            .columns
            .iter()
            .map(|column| {
                let value = members.iter().find(|(name, _)| name == column).map_or("missing", |(_, value)| value);
                match value {
                    "null" if hidden.contains(&column.as_str()) => format!("{column}=*"),
                    _ if hidden.contains(&column.as_str()) => format!("{column} is hidden and shows"),
                    "null" => format!("{column}=-"),
                    value => format!("{column}={value}"),
                }
            })
            .collect();
        format!("{} {} [{}] {}", cell(0), cell(1), cell(2), cells.join(" "))
    }
}
