//! A connection's part of the records, and what it knows of them: every answer is compared with it.
//!
//! Users, purposes and all other values belong to one part each, so that no other connection changes what a query is about.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Client, Statement};

use crate::gdprbench::query::{QUERIES, Query};
use crate::measure::{Random, Zipf};
use crate::server::{Failure, Kind, Server};

/// Records of each user, and of each value of an attribute on average.
pub const RECORDS_EACH: u64 = 10;
const EXPONENT: f64 = 0.99;
/// Deadlines of different parts lie so far apart.
const DEADLINES: i32 = 100_000_000;
const LOG_LINES: usize = 100;
const LOG_BYTES: i64 = 16_384;

#[derive(Clone)]
struct Record {
    key: String,
    data: String,
    user: i32,
    purpose: String,
    deadline: i32,
    objection: String,
    decision: String,
    sharing: String,
}

impl Record {
    fn metadata(&self) -> String {
        format!("{},{},{},{},{}", self.purpose, self.objection, self.decision, self.sharing, self.deadline)
    }

    fn line(&self) -> String {
        let Record { key, data, user, purpose, deadline, objection, decision, sharing } = self;
        format!("{key}\t{data}\t{user}\t{purpose}\t{deadline}\t{objection}\t{decision}\t{sharing}\tfirst-party")
    }
}

/// What one connection owns.
#[derive(Clone)]
pub struct Part {
    number: u64,
    parts: u64,
    users: BTreeSet<i32>,
    /// How many different values of an attribute there are in this part.
    values: u64,
    records: Vec<Record>,
    deleted: Vec<String>,
    next: u64,
    clock: i32,
    erased: usize,
}

impl Part {
    /// One of so many parts of the records.
    pub fn new(number: u64, parts: u64, records: u64, seed: u64) -> Part {
        let users = (records / RECORDS_EACH).max(parts);
        let mine: BTreeSet<i32> = (0..users).filter(|user| user % parts == number).map(|user| user as i32).collect();
        let values = mine.len() as u64;
        let (next, clock) = (0, number as i32 * DEADLINES);
        let mut part = Part {
            number,
            parts,
            users: mine,
            values,
            records: Vec::new(),
            deleted: Vec::new(),
            next,
            clock,
            erased: 0,
        };
        let mut random = Random::new(seed * 1_000 + number);
        for user in part.users.clone() {
            for _ in 0..RECORDS_EACH {
                let record = part.fresh(&mut random, user);
                part.records.push(record);
            }
        }
        part
    }

    /// Lines of COPY of its users.
    pub fn user_lines(&self) -> Vec<String> {
        self.users.iter().map(|user| format!("{user}\tname of {user}")).collect()
    }

    /// Lines of COPY of its records; all columns, in the table's order, sorted.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.records.iter().map(Record::line).collect();
        lines.sort();
        lines
    }

    /// Bytes of personal data.
    pub fn personal_bytes(&self) -> usize {
        self.records.iter().map(|record| record.data.len()).sum()
    }

    fn value(&self, attribute: &str, random: &mut Random) -> String {
        format!("{attribute}{}", self.number + self.parts * random.below(self.values))
    }

    fn fresh(&mut self, random: &mut Random, user: i32) -> Record {
        let number = self.number + self.parts * self.next;
        self.next += 1;
        Record {
            key: format!("ph-{number:08}"),
            data: format!("{:010}", random.below(10_000_000_000)),
            user,
            purpose: self.value("p", random),
            deadline: self.number as i32 * DEADLINES + 1 + random.below(self.values) as i32,
            objection: self.value("o", random),
            decision: self.value("d", random),
            sharing: self.value("s", random),
        }
    }

    /// Takes out what matches, and remembers it as deleted; gives how many they were.
    fn delete(&mut self, matches: impl Fn(&Record) -> bool) -> u64 {
        let before = self.records.len();
        let deleted = self.records.iter().filter(|record| matches(record)).map(|record| record.key.clone());
        self.deleted.extend(deleted);
        self.records.retain(|record| !matches(record));
        (before - self.records.len()) as u64
    }

    fn change(&mut self, matches: impl Fn(&Record) -> bool, change: impl Fn(&mut Record)) -> u64 {
        let matching = self.records.iter_mut().filter(|record| matches(record));
        matching.map(change).count() as u64
    }

    /// Key and value of the records that match, by key.
    fn read(&self, matches: impl Fn(&Record) -> bool, value: impl Fn(&Record) -> String) -> Vec<(String, String)> {
        let matching = self.records.iter().filter(|record| matches(record));
        let mut read: Vec<(String, String)> = matching.map(|record| (record.key.clone(), value(record))).collect();
        read.sort();
        read
    }
}

/// A part over a connection to one system.
pub struct Asking<'a> {
    part: &'a mut Part,
    kind: Kind,
    client: Client,
    statements: Vec<Option<Statement>>,
    /// PostgreSQL's log file.
    log: String,
    zipf: Zipf,
    took: Duration,
    /// Statements that were sent again: they met an erasure.
    pub retried: usize,
}

impl<'a> Asking<'a> {
    /// Connects and prepares.
    pub fn new(part: &'a mut Part, server: &Server, log: &str) -> Result<Asking<'a>, Failure> {
        let mut client = server.connect()?;
        let statements = QUERIES
            .iter()
            .map(|(_, _, text)| (!text.is_empty()).then(|| client.prepare(text)).transpose())
            .collect::<Result<_, _>>()?;
        let zipf = Zipf::new(part.records.len().max(1) as u64, EXPONENT);
        Ok(Asking {
            part,
            kind: server.kind,
            client,
            statements,
            log: log.into(),
            zipf,
            took: Duration::ZERO,
            retried: 0,
        })
    }

    /// Asks once. Microseconds at the server, and whether the answer was the right one.
    pub fn ask(&mut self, query: Query, skewed: bool, random: &mut Random) -> Result<(f64, bool), Failure> {
        let right = match query {
            Query::Create => self.create(random)?,
            Query::DeleteByPurpose => {
                let purpose = self.part.value("p", random);
                let changed = self.execute(query, &[&purpose])?;
                changed == self.part.delete(|record| record.purpose == purpose)
            }
            Query::DeleteExpired => {
                self.part.clock += 1;
                let (from, until) = (self.part.number as i32 * DEADLINES, self.part.clock);
                let changed = self.execute(query, &[&from, &until])?;
                changed == self.part.delete(|record| record.deadline <= until)
            }
            Query::DeleteByUser => self.erase(random)?,
            Query::DeleteByKey => {
                let key = self.key(skewed, random);
                self.execute(query, &[&key])? == self.part.delete(|record| record.key == key)
            }
            Query::MetadataByPurpose => {
                let (purpose, sharing) = (self.part.value("p", random), self.part.value("s", random));
                let changed = self.execute(query, &[&purpose, &sharing])?;
                changed == self.part.change(|one| one.purpose == purpose, |one| one.sharing.clone_from(&sharing))
            }
            Query::MetadataByUser => {
                let (user, objection) = (self.user(skewed, random), self.part.value("o", random));
                let changed = self.execute(query, &[&user, &objection])?;
                changed == self.part.change(|one| one.user == user, |one| one.objection.clone_from(&objection))
            }
            Query::MetadataBySharing => {
                let (sharing, decision) = (self.part.value("s", random), self.part.value("d", random));
                let changed = self.execute(query, &[&sharing, &decision])?;
                changed == self.part.change(|one| one.sharing == sharing, |one| one.decision.clone_from(&decision))
            }
            Query::MetadataByKey => {
                let (key, objection) = (self.key(skewed, random), self.part.value("o", random));
                let changed = self.execute(query, &[&key, &objection])?;
                changed == self.part.change(|one| one.key == key, |one| one.objection.clone_from(&objection))
            }
            Query::UpdateByKey => {
                let (key, data) = (self.key(skewed, random), format!("{:010}", random.below(10_000_000_000)));
                let changed = self.execute(query, &[&key, &data])?;
                changed == self.part.change(|one| one.key == key, |one| one.data.clone_from(&data))
            }
            Query::ReadByKey | Query::ReadMetadataByKey => {
                let key = self.key(skewed, random);
                self.reads(query, &key.clone(), |record| record.key == key)?
            }
            Query::ReadByUser | Query::ReadMetadataByUser => {
                let user = self.user(skewed, random);
                self.reads(query, &user, |record| record.user == user)?
            }
            Query::ReadByPurpose => {
                let purpose = self.part.value("p", random);
                self.reads(query, &purpose, |record| record.purpose == purpose)?
            }
            Query::ReadByObjection => {
                let objection = self.part.value("o", random);
                self.reads(query, &objection, |record| record.objection == objection)?
            }
            Query::ReadByDecision => {
                let decision = self.part.value("d", random);
                self.reads(query, &decision, |record| record.decision == decision)?
            }
            Query::Logs => self.logs()?,
            Query::VerifyDeletion => self.verify_deletion(random)?,
        };
        Ok((self.took.as_secs_f64() * 1e6, right))
    }

    fn create(&mut self, random: &mut Random) -> Result<bool, Failure> {
        let user = self.user(false, random);
        let one = self.part.fresh(random, user);
        let Record { key, data, user, purpose, deadline, objection, decision, sharing } = &one;
        let created =
            self.execute(Query::Create, &[key, data, user, purpose, deadline, objection, decision, sharing])?;
        self.part.records.push(one);
        Ok(created == 1)
    }

    fn verify_deletion(&mut self, random: &mut Random) -> Result<bool, Failure> {
        let at = random.below(self.part.deleted.len().max(1) as u64) as usize;
        let key = self.part.deleted.get(at).cloned().unwrap_or_else(|| "never".into());
        Ok(self.rows(Query::VerifyDeletion, &[&key])?.is_empty())
    }

    /// All of a user: by us an erasure, elsewhere the same rows deleted.
    fn erase(&mut self, random: &mut Random) -> Result<bool, Failure> {
        if self.part.users.len() < 2 {
            return Ok(true);
        }
        let user = self.user(false, random);
        let text = match self.kind {
            Kind::Dogwood => format!("GDPR FORGET people {user}"),
            Kind::PostgreSql => {
                format!("BEGIN; DELETE FROM records WHERE usr = {user}; DELETE FROM people WHERE id = {user}; COMMIT")
            }
        };
        self.timed(|client| client.simple_query(&text))?;
        self.part.users.remove(&user);
        self.part.delete(|record| record.user == user);
        self.part.erased += 1;
        Ok(true)
    }

    /// The end of the log.
    fn logs(&mut self) -> Result<bool, Failure> {
        let log = self.log.clone();
        match self.kind {
            Kind::Dogwood => {
                let text =
                    "SELECT number, recorded_at, operation, row_count FROM dogwood.audit ORDER BY number DESC LIMIT $1";
                let lines = self.timed(|client| client.query(text, &[&(LOG_LINES as i64)]))?;
                Ok(lines.len() >= self.part.erased.min(LOG_LINES))
            }
            Kind::PostgreSql => {
                let text = "SELECT pg_read_file($1, size - $2, $2) FROM pg_stat_file($1) WHERE size > $2";
                let lines = self.timed(|client| client.query(text, &[&log, &LOG_BYTES]))?;
                Ok(lines.first().is_some_and(|row| row.get::<_, &str>(0).contains("execute")))
            }
        }
    }

    fn key(&self, skewed: bool, random: &mut Random) -> String {
        let count = self.part.records.len() as u64;
        let at = if skewed { self.zipf.draw(random) % count.max(1) } else { random.below(count.max(1)) };
        self.part.records.get(at as usize).map_or_else(|| "never".into(), |record| record.key.clone())
    }

    fn user(&self, skewed: bool, random: &mut Random) -> i32 {
        let count = self.part.users.len() as u64;
        let at = if skewed { self.zipf.draw(random) / RECORDS_EACH % count } else { random.below(count) };
        self.part.users.iter().nth(at as usize).copied().unwrap_or_default()
    }

    fn reads(
        &mut self,
        query: Query,
        value: &(dyn ToSql + Sync),
        matches: impl Fn(&Record) -> bool,
    ) -> Result<bool, Failure> {
        let rows = self.rows(query, &[value])?;
        let metadata = matches!(query, Query::ReadMetadataByKey | Query::ReadMetadataByUser);
        let right = self.part.read(matches, |record| if metadata { record.metadata() } else { record.data.clone() });
        Ok(rows == right)
    }

    fn statement(&self, query: Query) -> Result<Statement, Failure> {
        let place = QUERIES.iter().position(|(one, _, _)| *one == query);
        let statement = place.and_then(|place| self.statements[place].clone());
        statement.ok_or_else(|| format!("{query:?} has no statement").into())
    }

    fn execute(&mut self, query: Query, values: &[&(dyn ToSql + Sync)]) -> Result<u64, Failure> {
        let statement = self.statement(query)?;
        self.timed(|client| client.execute(&statement, values))
    }

    /// Asks as often as the server says that it met an erasure and should be sent again.
    fn timed<T>(&mut self, ask: impl Fn(&mut Client) -> Result<T, postgres::Error>) -> Result<T, Failure> {
        let started = Instant::now();
        loop {
            match ask(&mut self.client) {
                Err(error) if error.code() == Some(&SqlState::T_R_SERIALIZATION_FAILURE) => self.retried += 1,
                answer => {
                    self.took = started.elapsed();
                    return Ok(answer?);
                }
            }
        }
    }

    /// Key and value of each row, by key.
    fn rows(&mut self, query: Query, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<(String, String)>, Failure> {
        let statement = self.statement(query)?;
        let rows = self.timed(|client| client.query(&statement, values))?;
        let mut read =
            rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Result<Vec<_>, Failure>>()?;
        read.sort();
        Ok(read)
    }
}
