//! What a bench asks a Dogwood server about its maintained views, and how rows come into any server.
//!
//! Reads `dogwood.views` as a client would, and nothing else of the server.

use std::io::Write;
use std::time::{Duration, Instant};

use postgres::{Client, SimpleQueryMessage};

use crate::server::{Failure, Server};

/// How long a view may take to be filled.
const FILLED_MAX: Duration = Duration::from_mins(10);
/// How long a query may wait to be given a view.
const EARNED_MAX: Duration = Duration::from_secs(10);
/// A COPY is sent in parts of about this size.
const CHUNK_BYTES: usize = 1 << 20;

/// All views together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Views {
    /// How many.
    pub count: u64,
    /// Of these, not by a statement.
    pub automatic: u64,
    /// Of these, not filled yet.
    pub filling: u64,
    /// Bytes of their batches and of what their dataflows hold.
    pub bytes: u64,
}

/// The views of a server now. One that has failed is an error.
pub fn views(client: &mut Client) -> Result<Views, Failure> {
    let mut all = Views::default();
    for message in client.simple_query("SELECT kind, stage, bytes, dataflow_bytes, name, message FROM dogwood.views")? {
        let SimpleQueryMessage::Row(row) = message else { continue };
        let number = |column| row.get(column).and_then(|text: &str| text.parse::<u64>().ok()).unwrap_or(0);
        match row.get(1) {
            Some("ready") => {}
            Some("failed") => return Err(format!("view {:?} has failed: {:?}", row.get(4), row.get(5)).into()),
            _ => all.filling += 1,
        }
        all.count += 1;
        all.automatic += u64::from(row.get(0) == Some("automatic"));
        all.bytes += number(2) + number(3);
    }
    Ok(all)
}

/// Waits until every view is filled; gives how long that took.
pub fn filled(client: &mut Client) -> Result<Duration, Failure> {
    let started = Instant::now();
    while views(client)?.filling > 0 {
        if started.elapsed() > FILLED_MAX {
            return Err("a view is not filled within ten minutes".into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(started.elapsed())
}

/// Runs a query as often as it takes to earn a view, and waits until that is filled; nothing if none is made.
pub fn earned(
    client: &mut Client,
    mut query: impl FnMut(&mut Client) -> Result<(), Failure>,
) -> Result<Option<Duration>, Failure> {
    let before = views(client)?.automatic;
    for _ in 0..7 {
        query(client)?;
    }
    let started = Instant::now();
    while views(client)?.automatic == before {
        if started.elapsed() > EARNED_MAX {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    filled(client)?;
    Ok(Some(started.elapsed()))
}

/// COPYs lines in; gives how long it took.
pub fn copy(server: &Server, table: &str, lines: impl Iterator<Item = String>) -> Result<Duration, Failure> {
    let mut client = server.connect()?;
    copy_by(&mut client, table, lines)
}

/// The same in a session that is there already.
pub fn copy_by(client: &mut Client, table: &str, lines: impl Iterator<Item = String>) -> Result<Duration, Failure> {
    let started = Instant::now();
    let mut writer = client.copy_in(&format!("COPY {table} FROM STDIN"))?;
    let mut text = String::with_capacity(CHUNK_BYTES + 4_096);
    let mut sent = 0;
    for line in lines {
        text.push_str(&line);
        text.push('\n');
        sent += 1;
        if text.len() > CHUNK_BYTES {
            writer.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    writer.write_all(text.as_bytes())?;
    let copied = writer.finish()?;
    if copied != sent {
        return Err(format!("COPY into {table} took {copied} of {sent} rows").into());
    }
    Ok(started.elapsed())
}

/// One number of a query.
pub fn number(client: &mut Client, sql: &str) -> Result<i64, Failure> {
    Ok(client.query_one(sql, &[])?.try_get(0)?)
}

/// What PostgreSQL needs for its tables and their indexes.
pub fn heap_and_indexes(client: &mut Client) -> Result<i64, Failure> {
    number(
        client,
        "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
    )
}
