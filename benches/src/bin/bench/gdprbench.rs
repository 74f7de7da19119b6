//! `bench gdprbench`: the four workloads of GDPRbench (Shastri and others, VLDB 2020): time to completion, right answers, and bytes for each byte of personal data.
//!
//! Beside PostgreSQL with indexes on all metadata, and PostgreSQL that logs every statement besides, as the paper retrofits it.

mod part;
mod query;

use std::time::Duration;

use crate::maintained::{copy, heap_and_indexes};
use crate::measure::{Random, Samples};
use crate::options::Options;
use crate::report::Report;
use crate::server::{Failure, Kind, Place, Server};
use part::{Asking, Part, RECORDS_EACH};
use query::{QUERIES, Query, ROLES, Role};

const OURS: &str = "Dogwood";
const THEIRS: &str = "PostgreSQL 15";
const LOGGING: &str = "PostgreSQL 15, log_statement=all";
const LOG_NAME: &str = "postgresql-logging";

struct System {
    name: &'static str,
    server: Server,
    /// Its log file, if it keeps one.
    log: Option<String>,
    parts: Vec<Part>,
}

/// One after the other, each role on all systems in turn.
pub fn run(options: &Options, place: &Place) -> Result<(), Failure> {
    let (records, operations) = (options.scaled(100_000).max(2_000), options.scaled(10_000).max(1_000));
    let parts: Vec<Part> =
        (0..options.connections).map(|part| Part::new(part, options.connections, records, options.seed)).collect();
    let data = format!(
        "{records} records of 10 bytes of personal data, {RECORDS_EACH} to a user, {operations} operations of each role, {} connections",
        options.connections
    );
    let mut report = Report::new("gdprbench", &data, options.untimed(), &[OURS, THEIRS, LOGGING])?;
    let system = |name, server, log| System { name, server, log, parts: parts.clone() };
    let mut systems = [
        system(OURS, Server::dogwood(place, "dogwood")?, None),
        system(THEIRS, Server::postgresql(place, "postgresql")?, None),
        system(
            LOGGING,
            Server::postgresql(place, LOG_NAME)?,
            Some(place.folder.join(format!("{LOG_NAME}.log")).to_string_lossy().into_owned()),
        ),
    ];
    for system in &systems {
        fill(system)?;
    }
    space(&mut report, &systems)?;
    let mut right = vec![(0, 0, 0); systems.len()];
    for role in &ROLES {
        let mut completed = Vec::new();
        let mut by_query: Vec<Vec<Samples>> = vec![Vec::new(); QUERIES.len()];
        for (place, system) in systems.iter_mut().enumerate() {
            if system.name == THEIRS && role.queries.iter().any(|(_, query)| *query == Query::Logs) {
                // It keeps none.
                continue;
            }
            let outcome = perform(system, role, operations, options.seed)?;
            completed.push((system.name, outcome.took.as_secs_f64()));
            let (answers, asked, retried) = &mut right[place];
            *answers += outcome.asked - outcome.wrong;
            *asked += outcome.asked;
            *retried += outcome.retried;
            for (samples, latencies) in by_query.iter_mut().zip(outcome.latencies) {
                if !latencies.is_empty() {
                    samples.push(Samples::of(system.name, latencies, outcome.took.as_secs_f64()));
                }
            }
        }
        report.numbers(&format!("{}: {operations} operations completed after", role.name), "s", &completed)?;
        for ((_, name, _), samples) in QUERIES.iter().zip(by_query) {
            if !samples.is_empty() {
                report.samples(&format!("{}: {name}", role.name), &samples)?;
            }
        }
    }
    for (system, (answers, asked, retried)) in systems.iter().zip(right) {
        let again = if retried > 0 {
            format!("; {retried} statements met an erasure and were sent again")
        } else {
            String::new()
        };
        report.note(&format!("{}: {answers} of {asked} answers were right{again}", system.name))?;
        whole(system)?;
    }
    report.note("In the end every system held exactly the records that it must. A log of Dogwood's has the requests of subjects and their erasures, of PostgreSQL's every statement")?;
    report.print()
}

/// The tables with an index on each attribute, and their rows.
fn fill(system: &System) -> Result<(), Failure> {
    let mut client = system.server.connect()?;
    let (subject, owned) = match system.server.kind {
        Kind::Dogwood => ("DATA_SUBJECT ", "OWNED_BY"),
        Kind::PostgreSql => ("", "REFERENCES"),
    };
    client.batch_execute(&format!(
        "CREATE {subject}TABLE people (id int PRIMARY KEY, name text NOT NULL);
         CREATE TABLE records (key text PRIMARY KEY, data text NOT NULL, usr int NOT NULL {owned} people(id), pur text NOT NULL,
            ttl int NOT NULL, obj text NOT NULL, dec text NOT NULL, shr text NOT NULL, src text NOT NULL)"
    ))?;
    let mut columns = vec!["pur", "ttl", "obj", "dec", "shr"];
    if system.server.kind == Kind::PostgreSql {
        columns.push("usr");
    }
    for column in columns {
        client.batch_execute(&format!("CREATE INDEX records_{column} ON records ({column})"))?;
    }
    copy(&system.server, "people", system.parts.iter().flat_map(Part::user_lines))?;
    copy(&system.server, "records", system.parts.iter().flat_map(Part::lines))?;
    client.batch_execute("ANALYZE")?;
    if system.log.is_some() {
        client.batch_execute("ALTER SYSTEM SET log_statement = 'all'")?;
        client.batch_execute("SELECT pg_reload_conf()")?;
    }
    Ok(())
}

/// Bytes for each byte of personal data.
fn space(report: &mut Report, systems: &[System]) -> Result<(), Failure> {
    let (mut folders, mut tables) = (Vec::new(), Vec::new());
    for system in systems {
        let personal = system.parts.iter().map(Part::personal_bytes).sum::<usize>() as f64;
        folders.push((system.name, system.server.bytes() as f64 / personal));
        if system.server.kind == Kind::PostgreSql {
            tables.push((system.name, heap_and_indexes(&mut system.server.connect()?)? as f64 / personal));
        }
    }
    report.numbers("space factor: whole folder / personal data", "times", &folders)?;
    report.numbers("space factor: tables and indexes alone / personal data", "times", &tables)
}

/// What a role's queries took, by their place in `QUERIES`.
struct Outcome {
    took: Duration,
    latencies: Vec<Vec<f64>>,
    asked: usize,
    wrong: usize,
    retried: usize,
}

impl Outcome {
    fn new() -> Outcome {
        let latencies = vec![Vec::new(); QUERIES.len()];
        Outcome { took: Duration::ZERO, latencies, asked: 0, wrong: 0, retried: 0 }
    }

    /// Adds what another connection did at the same time.
    fn with(mut self, other: Outcome) -> Outcome {
        self.took = self.took.max(other.took);
        self.asked += other.asked;
        self.wrong += other.wrong;
        self.retried += other.retried;
        for (all, latencies) in self.latencies.iter_mut().zip(other.latencies) {
            all.extend(latencies);
        }
        self
    }
}

/// All of a role's operations, each connection its share. The time is that of the slowest connection, without what comparing answers takes.
fn perform(system: &mut System, role: &Role, operations: u64, seed: u64) -> Result<Outcome, Failure> {
    eprintln!("{} of {}", role.name, system.name);
    let share = operations.div_ceil(system.parts.len() as u64);
    let (server, log) = (&system.server, system.log.as_deref().unwrap_or_default());
    std::thread::scope(|scope| {
        let threads: Vec<_> = system
            .parts
            .iter_mut()
            .zip(1_u64..)
            .map(|(part, number)| scope.spawn(move || serve(part, server, log, role, share, seed * 1_000 + number)))
            .collect();
        threads.into_iter().try_fold(Outcome::new(), |all, thread| {
            let done = thread.join().unwrap_or_else(|_| Err("a connection's thread panicked".into()))?;
            Ok(all.with(done))
        })
    })
    .map_err(|failure: Failure| format!("{}, {}: {}", system.name, role.name, crate::measure::told(&*failure)).into())
}

/// One connection's share.
fn serve(part: &mut Part, server: &Server, log: &str, role: &Role, share: u64, seed: u64) -> Result<Outcome, Failure> {
    let mut random = Random::new(seed);
    let mut asking = Asking::new(part, server, log)?;
    let mut outcome = Outcome::new();
    let weights: u64 = role.queries.iter().map(|(weight, _)| weight).sum();
    for _ in 0..share {
        let mut draw = random.below(weights);
        for (weight, query) in role.queries {
            if draw < *weight {
                let (micros, right) = asking.ask(*query, role.skewed, &mut random)?;
                outcome.asked += 1;
                outcome.wrong += usize::from(!right);
                outcome.took += Duration::from_secs_f64(micros / 1e6);
                let place = QUERIES.iter().position(|(one, _, _)| one == query).unwrap_or_default();
                outcome.latencies[place].push(micros);
                break;
            }
            draw -= weight;
        }
    }
    outcome.retried = asking.retried;
    Ok(outcome)
}

/// The tables hold what the parts know.
fn whole(system: &System) -> Result<(), Failure> {
    let sql = "SELECT key, data, usr::text, pur, ttl::text, obj, dec, shr, src FROM records";
    let rows = system.server.connect()?.query(sql, &[])?;
    let line = |row: &postgres::Row| (0..9).map(|column| row.get::<_, &str>(column)).collect::<Vec<_>>().join("\t");
    let mut held: Vec<String> = rows.iter().map(line).collect();
    let mut right: Vec<String> = system.parts.iter().flat_map(Part::lines).collect();
    held.sort();
    right.sort();
    if held == right {
        return Ok(());
    }
    Err(format!(
        "{} holds {} records in the end, and they are not the {} right ones",
        system.name,
        held.len(),
        right.len()
    )
    .into())
}
