//! `bench ycsb`: the core workloads A to F with prepared statements, beside PostgreSQL. Every record belongs to a person (ten to each), so that ours are sealed.
//!
//! Keys are hashed in their order of insertion, as YCSB does, and drawn by Zipf 0.99; D draws the latest ones.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use postgres::types::ToSql;
use postgres::{Client, Row, Statement};

use crate::maintained::{copy, number};
use crate::measure::{Lane, Operation, Random, Zipf, race};
use crate::options::Options;
use crate::report::Report;
use crate::server::{self, Failure, Kind, Place, Server};

const EXPONENT: f64 = 0.99;
const FIELDS: usize = 10;
const FIELD_BYTES: usize = 100;
const RECORDS_EACH: u64 = 10;
const FIELD_NUMBERS: [&str; FIELDS] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
const SCAN_MAX: u64 = 100;

/// What an operation does.
#[derive(Clone, Copy)]
enum Step {
    Read,
    Update,
    Insert,
    Scan,
    ReadThenUpdate,
}

/// A workload: in a hundred operations so many of each.
struct Mix {
    letter: &'static str,
    about: &'static str,
    steps: &'static [(u64, Step)],
    latest: bool,
}

const MIXES: [Mix; 6] = [
    Mix { letter: "A", about: "half updates", steps: &[(50, Step::Read), (50, Step::Update)], latest: false },
    Mix { letter: "B", about: "5 % updates", steps: &[(95, Step::Read), (5, Step::Update)], latest: false },
    Mix { letter: "C", about: "reads", steps: &[(100, Step::Read)], latest: false },
    Mix {
        letter: "D",
        about: "reads of the latest, 5 % inserts",
        steps: &[(95, Step::Read), (5, Step::Insert)],
        latest: true,
    },
    Mix {
        letter: "E",
        about: "scans of 1 to 100, 5 % inserts",
        steps: &[(95, Step::Scan), (5, Step::Insert)],
        latest: false,
    },
    Mix {
        letter: "F",
        about: "half read, change and write",
        steps: &[(50, Step::Read), (50, Step::ReadThenUpdate)],
        latest: false,
    },
];

/// One system's records.
struct Store<'a> {
    server: &'a Server,
    /// How many records were there, or have been begun since.
    begun: AtomicU64,
    /// Of these, the ones that are not acknowledged yet.
    open: Mutex<BTreeSet<u64>>,
    first: u64,
}

/// All letters in turn.
pub fn run(options: &Options, place: &Place) -> Result<(), Failure> {
    let records = options.scaled(1_000_000).max(1_000);
    let data = format!(
        "{records} records of {FIELDS} fields of {FIELD_BYTES} bytes, {RECORDS_EACH} to a person, {} connections",
        options.connections
    );
    let mut report = Report::new(
        "ycsb",
        &data,
        options.plan(options.connections),
        &[Kind::Dogwood.name(), Kind::PostgreSql.name()],
    )?;
    let ours = Server::dogwood(place, "dogwood")?;
    let peer = Server::postgresql(place, "postgresql")?;
    if options.tls {
        let servers = [(ours.kind.name(), &ours), (peer.kind.name(), &peer)];
        report.encrypted(&server::encryption(&servers, None)?)?;
    }
    let mut filled = Vec::new();
    for server in [&ours, &peer] {
        eprintln!("filling {}", server.kind.name());
        filled.push(fill(server, records)?);
    }
    report.pair("filling by COPY", "s", filled[0], filled[1])?;
    let zipf = Zipf::new(records, EXPONENT);
    let stores =
        [&ours, &peer].map(|server| Store { server, begun: records.into(), open: Mutex::default(), first: records });
    for mix in MIXES.iter().filter(|mix| options.wants(mix.letter)) {
        let lanes: Vec<Lane<'_>> = stores.iter().map(|store| lane(store, mix, &zipf)).collect();
        let samples = race(&lanes, 1, options.plan(options.connections))?.remove(0);
        report.samples(&format!("YCSB {}: {}, {} conn.", mix.letter, mix.about, options.connections), &samples)?;
        for store in &stores {
            let (count, right) = (
                number(&mut store.server.connect()?, "SELECT count(*) FROM usertable")?,
                store.begun.load(Ordering::SeqCst),
            );
            if count != i64::try_from(right)? {
                return Err(
                    format!("{} has {count} records, {right} were acknowledged", store.server.kind.name()).into()
                );
            }
        }
    }
    report.pair("folder on disk", "MB", ours.bytes() as f64 / 1e6, peer.bytes() as f64 / 1e6)?;
    report.print()
}

/// A record's key: hashed (FNV-1a), so that neighbours in time are none in order.
fn key(record: u64) -> String {
    let hash = record
        .to_le_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("user{hash:020}")
}

/// A field's value: begins with the number of its record.
fn value(record: u64, field: usize, version: u64) -> String {
    let mut value = format!("{record}:{field}:{version}:");
    while value.len() < FIELD_BYTES {
        value.push(char::from(b'a' + (value.len() as u64 * 7 + version) as u8 % 26));
    }
    value.truncate(FIELD_BYTES);
    value
}

fn fill(server: &Server, records: u64) -> Result<f64, Failure> {
    let (subject, owned) =
        if server.kind == Kind::Dogwood { ("DATA_SUBJECT ", "OWNED_BY") } else { ("", "REFERENCES") };
    let fields: String = (0..FIELDS).map(|field| format!(", field{field} text NOT NULL")).collect();
    let mut client = server.connect()?;
    client.batch_execute(&format!(
        "CREATE {subject}TABLE people (id int PRIMARY KEY, name text NOT NULL);
         CREATE TABLE usertable (ycsb_key text COLLATE \"C\" PRIMARY KEY, person int NOT NULL {owned} people(id){fields})"
    ))?;
    if server.kind == Kind::PostgreSql {
        client.batch_execute("CREATE INDEX ON usertable (person)")?;
    }
    let people = records.div_ceil(RECORDS_EACH);
    copy(server, "people", (0..people).map(|id| format!("{id}\tname{id}")))?;
    let lines = (0..records).map(|record| {
        let fields: String = (0..FIELDS).map(|field| format!("\t{}", value(record, field, 0))).collect();
        format!("{}\t{}{fields}", key(record), record % people)
    });
    let took = copy(server, "usertable", lines)?;
    if server.kind == Kind::PostgreSql {
        client.batch_execute("VACUUM ANALYZE")?;
    }
    Ok(took.as_secs_f64())
}

struct Statements {
    read: Statement,
    updates: Vec<Statement>,
    insert: Statement,
    scan: Statement,
}

fn lane<'a>(store: &'a Store<'a>, mix: &'a Mix, zipf: &'a Zipf) -> Lane<'a> {
    Lane::new(store.server.kind.name(), &[store.server.meter()], move || {
        let mut client = store.server.connect()?;
        let fields: Vec<String> = (0..FIELDS).map(|field| format!("field{field}")).collect();
        let all = fields.join(", ");
        let places: Vec<String> = (1..=FIELDS + 2).map(|place| format!("${place}")).collect();
        let updates = fields
            .iter()
            .map(|field| client.prepare(&format!("UPDATE usertable SET {field} = $2 WHERE ycsb_key = $1")));
        let updates = updates.collect::<Result<_, _>>()?;
        let statements = Statements {
            read: client.prepare(&format!("SELECT ycsb_key, {all} FROM usertable WHERE ycsb_key = $1"))?,
            updates,
            insert: client
                .prepare(&format!("INSERT INTO usertable (ycsb_key, person, {all}) VALUES ({})", places.join(", ")))?,
            scan: client.prepare(&format!(
                "SELECT ycsb_key, {all} FROM usertable WHERE ycsb_key >= $1 ORDER BY ycsb_key LIMIT $2"
            ))?,
        };
        let operation: Operation<'a> = Box::new(move |random, unique| {
            let mut part = random.below(100);
            for (share, step) in mix.steps {
                if part < *share {
                    store.operation(&mut client, &statements, *step, mix.latest, zipf, random, unique)?;
                    return Ok(0);
                }
                part -= share;
            }
            Err("a mix without its hundred parts".into())
        });
        Ok(operation)
    })
}

impl Store<'_> {
    /// A record that is there.
    fn choose(&self, latest: bool, zipf: &Zipf, random: &mut Random) -> u64 {
        let drawn = zipf.draw(random);
        if !latest {
            return drawn;
        }
        // All before the oldest that somebody is still writing are there.
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let there = open.first().copied().unwrap_or_else(|| self.begun.load(Ordering::SeqCst));
        there.saturating_sub(1 + drawn)
    }

    #[allow(clippy::too_many_arguments, reason = "one connection's step, and what it is drawn from")]
    fn operation(
        &self,
        client: &mut Client,
        statements: &Statements,
        step: Step,
        latest: bool,
        zipf: &Zipf,
        random: &mut Random,
        unique: u64,
    ) -> Result<(), Failure> {
        match step {
            Step::Read => self.read(client, statements, self.choose(latest, zipf, random)),
            Step::Update => self.update(client, statements, self.choose(latest, zipf, random), random, unique),
            Step::ReadThenUpdate => {
                let record = self.choose(latest, zipf, random);
                self.read(client, statements, record)?;
                self.update(client, statements, record, random, unique)
            }
            Step::Insert => {
                let record = {
                    let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
                    let record = self.begun.fetch_add(1, Ordering::SeqCst);
                    open.insert(record);
                    record
                };
                let (key, person) = (key(record), i32::try_from(random.below(self.first.div_ceil(RECORDS_EACH)))?);
                let values: Vec<String> = (0..FIELDS).map(|field| value(record, field, 0)).collect();
                let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&key, &person];
                parameters.extend(values.iter().map(|value| value as &(dyn ToSql + Sync)));
                client.execute(&statements.insert, &parameters)?;
                self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&record);
                Ok(())
            }
            Step::Scan => {
                let first = key(self.choose(false, zipf, random));
                let count = 1 + random.below(SCAN_MAX);
                let rows = client.query(&statements.scan, &[&first, &i64::try_from(count)?])?;
                let mut before = String::new();
                for row in &rows {
                    let key: &str = row.try_get(0)?;
                    if key < first.as_str() || key <= before.as_str() {
                        return Err(format!("a scan from {first} gave {key} after {before}").into());
                    }
                    before = key.into();
                    whole(row)?;
                }
                if rows.is_empty() || rows.len() as u64 > count || rows[0].try_get::<_, &str>(0)? != first {
                    return Err(format!("a scan of {count} from {first} gave {} rows", rows.len()).into());
                }
                Ok(())
            }
        }
    }

    fn read(&self, client: &mut Client, statements: &Statements, record: u64) -> Result<(), Failure> {
        let wanted = key(record);
        let row =
            client.query_one(&statements.read, &[&wanted]).map_err(|error| format!("record {record}: {error}"))?;
        if row.try_get::<_, &str>(0)? != wanted || whole(&row)? != record {
            return Err(format!("a wrong answer for record {record}").into());
        }
        Ok(())
    }

    fn update(
        &self,
        client: &mut Client,
        statements: &Statements,
        record: u64,
        random: &mut Random,
        unique: u64,
    ) -> Result<(), Failure> {
        let field = random.below(FIELDS as u64) as usize;
        if client.execute(&statements.updates[field], &[&key(record), &value(record, field, unique)])? != 1 {
            return Err(format!("no record {record} to update").into());
        }
        Ok(())
    }
}

/// A record's number, which all its fields begin with.
fn whole(row: &Row) -> Result<u64, Failure> {
    let first: &str = row.try_get(1)?;
    let number = first.split(':').next().unwrap_or_default();
    for (field, field_number) in FIELD_NUMBERS.iter().enumerate() {
        let value: &str = row.try_get(field + 1)?;
        let mut parts = value.split(':');
        if value.len() != FIELD_BYTES || parts.next() != Some(number) || parts.next() != Some(*field_number) {
            return Err(format!("field {field} of record {number} holds something else").into());
        }
    }
    Ok(number.parse()?)
}
