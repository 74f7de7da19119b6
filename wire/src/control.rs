//! The operator's door: a socket of the machine, named by the data folder, by which `dogwood backup` and `dogwood report` reach a running server.
//!
//! ```text
//! dogwood backup ──▶ @dogwood/DEVICE/INODE ──▶ one order at a time ──▶ engine
//!       ▲                                       │
//!       └────────── done, or why not ◀──────────┘            who asks leaves: the order ends
//! ```
//! Each side asks the system who the other is: the server's own user or root, and nobody else. They may read the folder anyhow, so it
//! needs no login; and no login, however mighty, has a statement by which the server writes files or connects elsewhere. The name is
//! an abstract one: no file of it is left, and none stands in the folder. What a target asks for to let one in comes from the
//! environment of who asks.
//!
//! ```text
//! order  = line*  empty line     name ␣ value, the value without line breaks: "backup" and what belongs to it, or "report"
//! answer = "done" or "failed", and text up to the end
//! ```

use crate::report::{self, ReportForm, ReportOrder};
use engine::backup::{BackupOrder, Variables};
use engine::{BackupReport, Engine, SqlError};
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// An order is short.
const ORDER_BYTES_MAX: u64 = 64 << 10;
/// Whoever opens the socket says soon what is wanted.
const PATIENCE: Duration = Duration::from_secs(10);
/// Variables that targets look at.
pub const VARIABLES: [&str; 6] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
];

/// The door of a server. Dropped, it is closed.
pub struct OperatorDoor {
    data: PathBuf,
    stops: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Where the server of a folder listens.
fn address(data: &Path) -> io::Result<SocketAddr> {
    let folder = fs::metadata(data)?;
    SocketAddr::from_abstract_name(format!("dogwood/{}/{}", folder.dev(), folder.ino()))
}

/// Refuses another side that is neither this program's user nor root.
fn check_peer(stream: &UnixStream) -> io::Result<()> {
    let peer = socket_peercred(stream)?.uid;
    match peer == geteuid() || peer.is_root() {
        true => Ok(()),
        false => Err(io::Error::new(ErrorKind::PermissionDenied, "another user's program is at the other end")),
    }
}

impl OperatorDoor {
    /// Opens it, in a folder that this process has locked.
    pub fn open(data: &Path, engine: &Arc<Engine>) -> io::Result<OperatorDoor> {
        let listener = UnixListener::bind_addr(&address(data)?)?;
        let engine = Arc::downgrade(engine);
        let stops = Arc::<AtomicBool>::default();
        let stopped = stops.clone();
        let thread = std::thread::Builder::new().name("operator".into()).spawn(move || {
            for stream in listener.incoming() {
                let engine = engine.upgrade().filter(|_| !stopped.load(Ordering::Relaxed));
                let Some(engine) = engine else { return };
                // Whoever leaves before the answer does without it.
                if let Ok(stream) = stream {
                    let _gone = serve(&stream, &engine, &stopped);
                }
            }
        })?;
        Ok(OperatorDoor { data: data.to_owned(), stops, thread: Some(thread) })
    }
}

impl Drop for OperatorDoor {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        // It waits for who knocks.
        let knocked = address(&self.data).and_then(|address| UnixStream::connect_addr(&address));
        if knocked.is_ok() {
            let _ended = self.thread.take().map(JoinHandle::join);
        }
    }
}

fn serve(stream: &UnixStream, engine: &Engine, stopped: &AtomicBool) -> io::Result<()> {
    check_peer(stream)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let answer = match read_order(stream)? {
        Some(order) => {
            stream.set_nonblocking(true)?;
            let answered = answered(&order, engine, &|| stopped.load(Ordering::Relaxed) || has_left(stream));
            stream.set_nonblocking(false)?;
            match answered {
                Ok(text) => format!("done\n{text}"),
                Err(error) => format!("failed\n{}", with_hint(&error)),
            }
        }
        None => "failed\nthis is no order that the server knows".to_owned(),
    };
    let mut stream = stream;
    stream.write_all(answer.as_bytes())
}

/// Does what was asked for, unless it is to stop.
fn answered(order: &Order, engine: &Engine, stops: &(dyn Fn() -> bool + Sync)) -> Result<String, SqlError> {
    match order {
        Order::Backup(order, variables) => {
            let taken = engine.back_up(order, &|name| variables.get(name).cloned(), stops);
            taken.map(|report| described(&report))
        }
        Order::Report(order) => report::run(engine, order, &|| !stops()),
    }
}

/// Who asks says nothing more, but may go.
fn has_left(stream: &UnixStream) -> bool {
    let mut stream = stream;
    match stream.read(&mut [0]) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

fn with_hint(error: &SqlError) -> String {
    match &error.hint {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    }
}

/// What the server is asked for.
enum Order {
    /// A backup, with the variables of who asks.
    Backup(BackupOrder, BTreeMap<String, String>),
    /// A report.
    Report(ReportOrder),
}

fn read_order(stream: &UnixStream) -> io::Result<Option<Order>> {
    let mut lines = BufReader::new(stream.take(ORDER_BYTES_MAX)).lines();
    let mut said = BTreeMap::new();
    loop {
        match lines.next().transpose()? {
            Some(line) if line.is_empty() => break,
            Some(line) => {
                let (name, value) = line.split_once(' ').unwrap_or((&line, ""));
                said.insert(name.to_owned(), value.to_owned());
            }
            None => return Ok(None),
        }
    }
    if let Some(name) = said.remove("report") {
        let form = ReportForm::ALL.into_iter().find(|(known, _)| *known == name);
        let order = |(_, form)| Order::Report(ReportOrder { form, database: said.remove("database") });
        return Ok(form.map(order));
    }
    let mut read = || {
        let days = |text: String| text.parse().ok();
        let order = BackupOrder {
            data: said.remove("backup")?,
            keys: said.remove("keys")?,
            incremental: said.remove("incremental").is_some(),
            keep_days: said.remove("keep").map(days).map_or(Some(None), |days| days.map(Some))?,
            keep_keys_days: days(said.remove("keep-keys")?)?,
        };
        Some(Order::Backup(order, std::mem::take(&mut said)))
    };
    Ok(read())
}

fn written(order: &BackupOrder, variables: Variables<'_>) -> Result<String, String> {
    let mut text = String::new();
    let mut say = |name: &str, value: &str| {
        if value.contains('\n') {
            return Err(format!("a line break stands in {name}"));
        }
        writeln!(text, "{name} {value}").expect("writing to a string does not fail");
        Ok(())
    };
    say("backup", &order.data)?;
    say("keys", &order.keys)?;
    if order.incremental {
        say("incremental", "")?;
    }
    if let Some(days) = order.keep_days {
        say("keep", &days.to_string())?;
    }
    say("keep-keys", &order.keep_keys_days.to_string())?;
    for name in VARIABLES {
        if let Some(value) = variables(name) {
            say(name, &value)?;
        }
    }
    text.push('\n');
    Ok(text)
}

/// Has the server of a folder take a backup. None where none is running.
pub fn ask(data: &Path, order: &BackupOrder, variables: Variables<'_>) -> Option<Result<String, String>> {
    told(data, written(order, variables))
}

/// Has the server of a folder make a report. None where none is running.
pub fn ask_for_report(data: &Path, order: &ReportOrder) -> Option<Result<String, String>> {
    let database = order.database.as_ref().map_or_else(String::new, |name| format!("database {name}\n"));
    let is_line = !order.database.as_ref().is_some_and(|name| name.contains('\n'));
    let text = format!("report {}\n{database}\n", order.form.name());
    told(data, if is_line { Ok(text) } else { Err("a line break stands in database".to_owned()) })
}

/// What the server of a folder answers to an order. None where none is running.
fn told(data: &Path, order: Result<String, String>) -> Option<Result<String, String>> {
    let connected = address(data).and_then(|address| {
        let stream = UnixStream::connect_addr(&address)?;
        // It is about to be told secrets.
        check_peer(&stream).map(|()| stream)
    });
    let mut stream = match connected {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => return None,
        Err(error) => return Some(Err(format!("could not reach the server of \"{}\": {error}", data.display()))),
    };
    let asked = order.and_then(|text| {
        let failed = |error: io::Error| format!("could not ask the server of \"{}\": {error}", data.display());
        let mut answer = String::new();
        stream.write_all(text.as_bytes()).map_err(failed)?;
        stream.read_to_string(&mut answer).map_err(failed)?;
        Ok(answer)
    });
    Some(asked.and_then(|answer| match answer.split_once('\n') {
        Some(("done", text)) => Ok(text.to_owned()),
        Some(("failed", text)) => Err(text.to_owned()),
        Some(_) | None => Err(format!("the server of \"{}\" has stopped", data.display())),
    }))
}

/// A backup, for whoever asked for it.
pub fn described(report: &BackupReport) -> String {
    let BackupReport { id, state, files, bytes, new_files, new_bytes, attempts } = report;
    let again = if *attempts > 1 { format!("\nbegun       {attempts} times, for erasures") } else { String::new() };
    format!(
        "backup      {id}\ncommit      {}\nlog record  {}\nerasures    {}\nfiles       {files}, {bytes} bytes\nbrought     {new_files}, {new_bytes} bytes{again}",
        state.commit, state.records, state.receipts,
    )
}
