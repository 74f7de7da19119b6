//! `dogwood import`: a dump of PostgreSQL into a data folder, and a report of what was left out and why.
//!
//! ```text
//! pg_dump's text ─▶ dump ─▶ statement ─▶ engine::Session ─▶ done, or refused: left out, with what leans on it
//!                      └──▶ rows of COPY ─▶ copy ─▶ some thousands a transaction
//! ```
//! Runs over a folder that no server has open, with a session of its own. What is not supported is left out and reported; any
//! other error stops it, unless it is told to go on.

pub(crate) mod dump;
pub(crate) mod left_out;

use crate::copy::RowDecoder;
use dump::{Dump, Piece};
use engine::protocol::{ConnectOptions, CopyIn, ListedConnection, Response, Session, TransactionStatus};
use engine::{Engine, SqlError};
use left_out::{DumpedObject, LeftOut, missing_type, with_type};
use repr::poll;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rows of a COPY are committed by so many: none of it has to be in memory at once.
const CHUNK_ROWS: u64 = 20_000;
/// How often one is told how far it has come.
const TELLS_EVERY: Duration = Duration::from_secs(10);
/// A table has no more columns than that, and so no more types that are not here.
const TYPES_MAX: usize = 1_600;

/// What is to be imported, and how.
#[derive(Debug, PartialEq, Eq)]
pub struct Import {
    /// The data folder.
    pub data: PathBuf,
    /// Into which database.
    pub database: Option<String>,
    /// Columns of types that are not here become text.
    pub as_text: bool,
    /// Errors are reported, and stop nothing.
    pub keep_going: bool,
    /// The dump: text, an archive or a folder of pg_dump; `-` is standard input.
    pub file: PathBuf,
}

/// Something that did not come along.
struct Note {
    line: u64,
    subject: DumpedObject,
    why: String,
}

/// What has been done.
#[derive(Default)]
pub struct ImportReport {
    done: BTreeMap<String, u64>,
    rows: u64,
    left_out: Vec<Note>,
    rows_left_out: u64,
    changed: Vec<Note>,
    failed: Vec<Note>,
    /// The error that ended it.
    stopped: Option<Note>,
}

/// How a statement ended.
enum Ended {
    Done(Response),
    LeftOut(String),
}

/// Some rows of a COPY.
struct Copied {
    rows: u64,
    /// They were the last.
    ended: bool,
    outcome: Result<(), SqlError>,
}

/// An import under way.
struct Importer<'i> {
    engine: &'i Engine,
    import: &'i Import,
    session: Session,
    left_out: LeftOut,
    report: ImportReport,
}

/// Reads the dump into the folder that the engine has open.
pub fn run(engine: &Engine, import: &Import) -> Result<ImportReport, String> {
    let mut source = Source::open(&import.file)?;
    let session = connect(engine, import.database.as_deref().unwrap_or_default()).map_err(|error| error.to_string())?;
    let mut importer =
        Importer { engine, import, session, left_out: LeftOut::default(), report: ImportReport::default() };
    let read = importer.read(&mut Dump::new(&mut source.text));
    read.map_err(|error| error.to_string())?;
    // Of an import that stopped the rest is not read.
    if importer.report.stopped.is_none() {
        source.end()?;
    }
    Ok(importer.report)
}

fn connect(engine: &Engine, database: &str) -> Result<Session, SqlError> {
    let settings = ["statement_timeout", "idle_in_transaction_session_timeout"];
    engine.connect(ConnectOptions {
        user: "controller".to_owned(),
        database: if database.is_empty() { "postgres".to_owned() } else { database.to_owned() },
        any_database: false,
        settings: settings.map(|name| (name.to_owned(), "0".to_owned())).to_vec(),
        secure: true,
        connection: ListedConnection::default(),
    })
}

impl Importer<'_> {
    fn read(&mut self, dump: &mut Dump<impl BufRead>) -> io::Result<()> {
        let mut told = Instant::now();
        while self.report.stopped.is_none() {
            match dump.next()? {
                None => break,
                Some(Piece::Command(line, command)) => self.command(line, &command),
                Some(Piece::Statement(line, text)) => self.statement(line, text, dump)?,
            }
            if told.elapsed() > TELLS_EVERY {
                eprintln!("line {}, {} rows", dump.line(), self.report.rows);
                told = Instant::now();
            }
        }
        if self.report.stopped.is_none() && self.session.status() != TransactionStatus::Idle {
            let error = SqlError::new("25P01", "the dump ends within a transaction");
            self.failed(dump.line(), "", &error);
        }
        Ok(())
    }

    /// What psql does itself.
    fn command(&mut self, line: u64, command: &str) {
        let word = command.split_whitespace().next().unwrap_or_default();
        match word {
            "\\connect" | "\\c" => {
                let name = command.rsplit(' ').next().unwrap_or_default().trim_matches(['"', '\'']);
                let name = name.strip_prefix("dbname=").unwrap_or(name).trim_matches('\'');
                match connect(self.engine, name) {
                    Ok(session) => self.session = session,
                    Err(error) => self.failed(line, command, &error),
                }
            }
            // Locks of newer versions against what stands in names.
            "\\restrict" | "\\unrestrict" | "\\." | "\\encoding" => {}
            _ => self.failed(line, command, &SqlError::unsupported(format!("psql's {word}"))),
        }
    }

    fn statement(&mut self, line: u64, mut text: String, dump: &mut Dump<impl BufRead>) -> io::Result<()> {
        let has_rows = is_copy_in(&text);
        for _ in 0..TYPES_MAX {
            let ended = match self.execute(&text) {
                Ok(Response::CopyIn(copy)) => return self.rows(line, &text, *copy, dump),
                Ok(response) => self.finish(response).map(Ended::Done),
                Err(error) => self.judge(&text, error),
            };
            let why = match ended {
                Ok(Ended::Done(response)) => {
                    if let Response::Complete(tag) = response {
                        *self.report.done.entry(kind(&tag)).or_default() += 1;
                    }
                    return Ok(());
                }
                Ok(Ended::LeftOut(why)) => why,
                Err(error) => {
                    self.failed(line, &text, &error);
                    return if has_rows { self.skip_rows(dump) } else { Ok(()) };
                }
            };
            // Again, with another type in the place of the one that is not here.
            if self.import.as_text
                && let Some(missing) = missing_type(&why)
                && let other = self.left_out.instead_of(&missing).to_owned()
                && let Some(changed) = with_type(&text, &missing, &other)
            {
                let subject = DumpedObject::of(&text);
                self.report.changed.push(Note { line, subject, why: format!("{missing} has become {other}") });
                text = changed;
                continue;
            }
            self.left_out.add(&text);
            self.report.left_out.push(Note { line, subject: DumpedObject::of(&text), why });
            break;
        }
        if has_rows { self.skip_rows(dump) } else { Ok(()) }
    }

    fn execute(&mut self, text: &str) -> Result<Response, SqlError> {
        let executed = self.session.read(text).and_then(|statements| {
            let mut response = Response::Empty;
            for statement in statements {
                let prepared = self.session.prepare(statement, &[])?;
                response = self.session.execute(&prepared, Arc::from([]), false)?;
            }
            Ok(response)
        });
        executed.inspect_err(|error| self.session.fail(error))
    }

    /// Reads what a statement gives to its end, and commits.
    fn finish(&mut self, response: Response) -> Result<Response, SqlError> {
        let finished = match response {
            Response::Rows(mut stream) => {
                let _overseen = self.session.oversee();
                poll::unwinds_to(|| stream.rows.by_ref().try_for_each(|row| row.map(drop))).map(|()| Response::Empty)
            }
            Response::CopyOut(..) | Response::Subscribed(..) => {
                Err(SqlError::unsupported("a statement that sends to its client"))
            }
            other => Ok(other),
        };
        self.session.take_notices();
        let committed = finished.and_then(|response| self.session.complete().map(|()| response));
        committed.inspect_err(|error| self.session.fail(error))
    }

    /// Whether an error means that a statement is left out; else it is one.
    fn judge(&self, text: &str, error: SqlError) -> Result<Ended, SqlError> {
        if missing_type(&error.message).is_some()
            && (error.code == "0A000" || self.left_out.named_in(&error.message).is_some())
        {
            return Ok(Ended::LeftOut(error.message));
        }
        if error.code == "0A000" {
            let hint = error.hint.map_or_else(String::new, |hint| format!(" ({hint})"));
            return Ok(Ended::LeftOut(format!("{}{hint}", error.message)));
        }
        if let "42P01" | "42704" | "42883" | "42703" | "3F000" | "42809" = error.code {
            if let Some(name) = self.left_out.named_in(&error.message) {
                return Ok(Ended::LeftOut(format!("{name} was left out")));
            }
            let upper = text.trim_start().to_ascii_uppercase();
            // An index of a column that has become text, or by a class that an extension has.
            if upper.starts_with("CREATE") && error.message.contains("operator class") {
                return Ok(Ended::LeftOut(error.message));
            }
            if upper.contains("OWNER TO") && error.message.starts_with("role ") {
                // What belongs to nobody who is here is whose it was made by.
                let words: Vec<&str> = upper.split_whitespace().take(2).collect();
                return Ok(Ended::Done(Response::Complete(words.join(" "))));
            }
            if upper.contains("OWNER TO") || upper.starts_with("GRANT") || upper.starts_with("REVOKE") {
                return Ok(Ended::LeftOut(error.message));
            }
            if upper.starts_with("SELECT PG_CATALOG.LO_") {
                return Ok(Ended::LeftOut("large objects are not supported".to_owned()));
            }
        }
        Err(error)
    }

    /// The rows of a COPY: some at a time, unless the dump has begun a transaction.
    fn rows(&mut self, line: u64, text: &str, mut copy: CopyIn, dump: &mut Dump<impl BufRead>) -> io::Result<()> {
        let chunked = self.session.status() == TransactionStatus::Idle;
        let mut written = 0;
        loop {
            let Copied { rows, ended, outcome } = self.copied(&mut copy, chunked, dump)?;
            if let Err(error) = outcome {
                let message = format!("{}; {written} rows before it were written", error.message);
                self.failed(line, text, &SqlError { message, ..error });
                self.report.rows_left_out += rows;
                return if ended { Ok(()) } else { self.skip_rows(dump) };
            }
            written += rows;
            self.report.rows += rows;
            if ended {
                break;
            }
            copy = match self.execute(text) {
                Ok(Response::CopyIn(next)) => *next,
                Ok(_) => return Err(io::Error::other("COPY is not what it was")),
                Err(error) => {
                    self.failed(line, text, &error);
                    return self.skip_rows(dump);
                }
            };
        }
        *self.report.done.entry("COPY".to_owned()).or_default() += 1;
        Ok(())
    }

    /// Some rows, committed.
    fn copied(&mut self, copy: &mut CopyIn, chunked: bool, dump: &mut Dump<impl BufRead>) -> io::Result<Copied> {
        let context = self.session.text_context();
        let mut decoder = RowDecoder::new(copy.table(), copy.columns(), copy.format());
        let (mut rows, mut ended) = (0, false);
        let mut done: Result<(), SqlError> = Ok(());
        while done.is_ok() && !ended && !(chunked && rows >= CHUNK_ROWS) {
            match dump.row()? {
                Some(row) => {
                    copy.receive(row.len());
                    decoder.feed(row);
                    rows += 1;
                }
                None => ended = true,
            }
            let _overseen = self.session.oversee();
            done = poll::unwinds_to(|| {
                while let Some(row) = decoder.row(ended, &context)? {
                    self.session.copy_row(copy, row).map_err(|error| decoder.at_line(error))?;
                }
                Ok(())
            });
        }
        let done = done.and_then(|()| self.session.finish_copy(copy));
        let done = done.and_then(|_tag| self.session.complete());
        if let Err(error) = &done {
            self.session.fail(error);
        }
        Ok(Copied { rows, ended, outcome: done })
    }

    fn skip_rows(&mut self, dump: &mut Dump<impl BufRead>) -> io::Result<()> {
        if self.report.stopped.is_some() {
            return Ok(());
        }
        while dump.row()?.is_some() {
            self.report.rows_left_out += 1;
        }
        Ok(())
    }

    fn failed(&mut self, line: u64, text: &str, error: &SqlError) {
        let why = format!("{}: {}", error.code, error.message);
        let note = Note { line, subject: DumpedObject::of(text), why };
        if self.import.keep_going {
            self.left_out.add(text);
            self.report.failed.push(note);
        } else {
            self.report.stopped = Some(note);
        }
    }
}

/// Whether rows stand behind it.
pub(crate) fn is_copy_in(text: &str) -> bool {
    // Only of the few that it may be a copy is made.
    text.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("COPY "))
        && text.to_ascii_uppercase().contains("FROM STDIN")
}

/// A command tag without its numbers.
fn kind(tag: &str) -> String {
    tag.split(' ').filter(|word| !word.bytes().all(|byte| byte.is_ascii_digit())).collect::<Vec<_>>().join(" ")
}

impl ImportReport {
    /// Whether all rows are there, and all that was understood.
    pub fn is_whole(&self) -> bool {
        self.stopped.is_none() && self.failed.is_empty() && self.rows_left_out == 0
    }
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "imported: {} rows", self.rows)?;
        let shown = self.done.iter().filter(|(tag, _)| !matches!(tag.as_str(), "SET" | "COPY" | "SELECT"));
        for (tag, count) in shown {
            writeln!(f, "  {count:>7}  {tag}")?;
        }
        let lists = [("changed", &self.changed), ("left out", &self.left_out), ("failed", &self.failed)];
        for (title, notes) in lists.into_iter().filter(|(_, notes)| !notes.is_empty()) {
            writeln!(f, "{title}: {}", notes.len())?;
            notes.iter().try_for_each(|note| writeln!(f, "{note}"))?;
        }
        if self.rows_left_out > 0 {
            writeln!(f, "rows left out: {}", self.rows_left_out)?;
        }
        if let Some(note) = &self.stopped {
            writeln!(f, "stopped:\n{note}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DumpedObject { command, name } = &self.subject;
        write!(f, "  line {:<6} {command} {name}: {}", self.line, self.why)
    }
}

/// Where the dump's text comes from.
pub(crate) struct Source {
    pub(crate) text: Box<dyn BufRead>,
    program: Option<Child>,
}

impl Source {
    /// The file itself; of an archive or a folder what pg_restore makes of it.
    pub(crate) fn open(file: &Path) -> Result<Source, String> {
        let failed = |error: io::Error| format!("could not read \"{}\": {error}", file.display());
        if file == Path::new("-") {
            return Ok(Source { text: Box::new(BufReader::new(io::stdin())), program: None });
        }
        if !is_archive(file).map_err(failed)? {
            let text = std::fs::File::open(file).map_err(failed)?;
            return Ok(Source { text: Box::new(BufReader::new(text)), program: None });
        }
        let mut program = Command::new("pg_restore")
            .args(["--file=-", "--no-owner", "--no-privileges"])
            .arg(file)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("could not run pg_restore, which reads such a dump: {error}"))?;
        let text = program.stdout.take().ok_or("pg_restore has no output")?;
        Ok(Source { text: Box::new(BufReader::new(text)), program: Some(program) })
    }

    /// Fails if what was read was not all.
    pub(crate) fn end(self) -> Result<(), String> {
        drop(self.text);
        let Some(mut program) = self.program else { return Ok(()) };
        match program.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("pg_restore failed: {status}")),
            Err(error) => Err(format!("pg_restore failed: {error}")),
        }
    }
}

fn is_archive(file: &Path) -> io::Result<bool> {
    if file.is_dir() {
        return Ok(true);
    }
    let mut first = Vec::new();
    std::fs::File::open(file)?.take(512).read_to_end(&mut first)?;
    let is_tar = first.starts_with(b"toc.dat\0");
    Ok(first.starts_with(b"PGDMP") || is_tar)
}
