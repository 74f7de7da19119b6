//! The same queries in dbsp, in a process of its own (benches/peers): it reads the events of a file, and says what they cost it and what the answer is.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::nexmark::events::{Events, Lines};
use crate::server::Failure;

/// Its program, and where it is given the events.
pub struct Rival {
    program: PathBuf,
    folder: PathBuf,
}

/// What it says of one query.
pub struct Told {
    /// Of the events that were there before.
    pub fill_ms: f64,
    /// Sorted: of each transaction, until its output was there.
    pub transactions_ms: Vec<f64>,
    /// Microseconds of its processor time for an event.
    pub processor_us: f64,
    /// The view's rows, with tabs between the cells, sorted.
    pub rows: Vec<String>,
}

impl Rival {
    /// The program that $PEERS names; nothing without it.
    pub fn found(folder: PathBuf) -> Result<Option<Rival>, Failure> {
        let Some(program) = std::env::var_os("PEERS").map(PathBuf::from) else { return Ok(None) };
        if !program.is_file() {
            return Err(format!("there is no program at {}, which $PEERS names", program.display()).into());
        }
        Ok(Some(Rival { program, folder }))
    }

    /// A query over events, the last of which come in transactions of some.
    pub fn run(&self, query: &str, events: Events, before: u64, until: u64, each: u64) -> Result<Told, Failure> {
        let path = self.folder.join("events");
        let mut text = String::new();
        let mut from = 0;
        // A line alone says where a transaction ends.
        while from < until {
            let to = if from == 0 { before } else { (from + each).min(until) };
            let Lines { persons, auctions, bids } = events.lines(from, to);
            for (kind, lines) in [("p", persons), ("a", auctions), ("b", bids)] {
                for line in lines {
                    writeln!(text, "{kind}\t{line}")?;
                }
            }
            writeln!(text, ".")?;
            from = to;
        }
        fs::write(&path, text)?;
        let output = Command::new(&self.program).arg(query).arg(&path).output()?;
        if !output.status.success() {
            return Err(format!("dbsp, {query}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Told::read(&String::from_utf8(output.stdout)?)
    }
}

impl Told {
    /// Lines of a word and a number, then the rows.
    fn read(text: &str) -> Result<Told, Failure> {
        let (numbers, rows) = text.split_once("rows\n").ok_or("dbsp said no rows")?;
        let all = |word: &str| -> Result<Vec<f64>, Failure> {
            let found = numbers.lines().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
            Ok(found.map(str::parse).collect::<Result<_, _>>()?)
        };
        let one = |word: &str| all(word)?.pop().ok_or_else(|| format!("dbsp said no {word}").into());
        let mut transactions_ms = all("transaction_ms")?;
        transactions_ms.sort_by(f64::total_cmp);
        let (fill_ms, processor_us): (Result<f64, Failure>, Result<f64, Failure>) = (one("fill_ms"), one("event_us"));
        let mut rows: Vec<String> = rows.lines().map(str::to_string).collect();
        rows.sort_unstable();
        Ok(Told { fill_ms: fill_ms?, transactions_ms, processor_us: processor_us?, rows })
    }
}
