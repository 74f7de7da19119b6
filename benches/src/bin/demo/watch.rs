//! A subscriber of the demo: a connection of its own that follows a query, and a thread that notes when it heard what.
//!
//! Ends with its connection, which is at the latest when the server goes.

use crate::failure::Failure;
use crate::server::Server;
use postgres::Client;
use std::io::{BufRead, BufReader};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Whatever is watched for comes within this time.
const PATIENCE: Duration = Duration::from_secs(20);

/// A subscription under way.
pub struct Watch {
    heard: Receiver<Result<Line, Failure>>,
}

/// What one commit changed in the query's rows.
pub struct Change {
    /// The commit's `dogwood_time`.
    pub time: u64,
    /// When the first of it was heard.
    pub at: Instant,
    /// Each row with its difference.
    pub rows: Vec<(i64, Vec<String>)>,
}

/// A line of the stream; a marker has no difference.
struct Line {
    at: Instant,
    time: u64,
    difference: Option<i64>,
    columns: Vec<String>,
}

impl Watch {
    /// Subscribes; the rows as they are come with it.
    pub fn open(server: &Server, query: &str) -> Result<(Watch, Change), Failure> {
        let (notes, _) = channel();
        Watch::of(server.connect(notes)?, query)
    }

    /// The same, by a connection that is there.
    pub fn of(mut client: Client, query: &str) -> Result<(Watch, Change), Failure> {
        let statement = format!("COPY (SUBSCRIBE ({query}) WITH (snapshot, progress)) TO STDOUT");
        let (told, heard) = channel();
        thread::spawn(move || {
            let failed = match client.copy_out(&statement) {
                Ok(lines) => follow(BufReader::new(lines), &told),
                Err(refusal) => Err(refusal.into()),
            };
            if let Err(failure) = failed {
                // Nobody waits any more once the story is over.
                drop(told.send(Err(failure)));
            }
        });
        let watch = Watch { heard };
        let snapshot = watch.closed()?;
        Ok((watch, snapshot))
    }

    /// What the next commit changes that changes anything here.
    pub fn next(&self) -> Result<Change, Failure> {
        loop {
            let change = self.closed()?;
            if !change.rows.is_empty() {
                return Ok(change);
            }
        }
    }

    /// Everything up to the next marker; it must be of one time.
    fn closed(&self) -> Result<Change, Failure> {
        let mut change: Option<Change> = None;
        loop {
            let line = self.heard.recv_timeout(PATIENCE);
            let line = line.map_err(|_| Failure::Claim(format!("nothing was heard for {PATIENCE:?}")))??;
            let change = change.get_or_insert(Change { time: line.time, at: line.at, rows: Vec::new() });
            match line.difference {
                Some(_) if line.time != change.time => {
                    return Err(Failure::Claim("two commits came without a marker between them".to_string()));
                }
                Some(difference) => change.rows.push((difference, line.columns)),
                None => return Ok(Change { rows: std::mem::take(&mut change.rows), ..*change }),
            }
        }
    }
}

fn follow(lines: impl BufRead, told: &Sender<Result<Line, Failure>>) -> Result<(), Failure> {
    for line in lines.lines() {
        let line = line?;
        let mut fields = line.split('\t');
        let time = fields.next().and_then(|time| time.parse().ok());
        let time = time.ok_or_else(|| Failure::Claim(format!("no line of a subscription: {line}")))?;
        let difference = fields.next().and_then(|difference| difference.parse().ok());
        let columns = fields.map(str::to_string).collect();
        if told.send(Ok(Line { at: Instant::now(), time, difference, columns })).is_err() {
            return Ok(());
        }
    }
    Ok(())
}
