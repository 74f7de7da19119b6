//! The two systems under measurement: each in a temporary folder on a loopback port, stopped when dropped.
//!
//! Never touches a server that it did not start.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use postgres::{Client, Config, NoTls};

/// What can go wrong in a benchmark.
pub type Failure = Box<dyn Error + Send + Sync>;

const POSTGRESQL: &str = "/usr/lib/postgresql/15/bin";

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Ours.
    Dogwood,
    /// The peer.
    PostgreSql,
}

impl Kind {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Dogwood => "Dogwood",
            Kind::PostgreSql => "PostgreSQL 15",
        }
    }
}

/// A running server.
pub struct Server {
    /// Which system.
    pub kind: Kind,
    /// How to connect.
    pub config: Config,
    /// Its port.
    pub port: u16,
    /// From start to the first answered query.
    pub opened: Duration,
    folder: PathBuf,
    child: Child,
}

fn free_port() -> Result<u16, Failure> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn quietly(command: &mut Command) -> Result<(), Failure> {
    let output = command.stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr)).into())
}

/// PostgreSQL refuses to run as root.
fn as_postgres(program: &str) -> Command {
    let path = format!("{POSTGRESQL}/{program}");
    // Only root can read its own home; others need not change who they are.
    if std::fs::read_dir("/root").is_err() {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=KILL", &path]);
    command
}

impl Server {
    /// Starts Dogwood over a folder, new or not.
    pub fn dogwood(binary: &Path, folder: &Path) -> Result<Server, Failure> {
        let started = Instant::now();
        let port = free_port()?;
        let mut child = Command::new(binary)
            .args(["serve", "--insecure", "--listen", &format!("127.0.0.1:{port}"), "--data"])
            .arg(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = child.stdout.take().ok_or("no output of the server")?;
        let mut lines = BufReader::new(output).lines();
        loop {
            let line = lines.next().ok_or("dogwood ended before it listened")??;
            if line.contains("listening on") {
                break;
            }
        }
        // The pipe must not fill.
        std::thread::spawn(move || lines.for_each(drop));
        let mut config = Config::new();
        let password = std::fs::read_to_string(folder.join("controller.secret"))?;
        config.host("127.0.0.1").port(port).user("controller").dbname("dogwood").password(password.trim());
        config.connect(NoTls)?.simple_query("SELECT 1")?;
        let opened = started.elapsed();
        Ok(Server { kind: Kind::Dogwood, config, port, opened, folder: folder.into(), child })
    }

    /// Starts PostgreSQL in a new folder: a quarter of the memory as shared buffers, everything durable.
    pub fn postgresql(folder: &Path) -> Result<Server, Failure> {
        std::fs::create_dir_all(folder)?;
        quietly(Command::new("chown").args(["postgres", &folder.to_string_lossy()]))?;
        let data = folder.join("data");
        quietly(as_postgres("initdb").args(["--auth=trust", "--no-sync", "-D"]).arg(&data))?;
        let started = Instant::now();
        let port = free_port()?;
        let child = as_postgres("postgres")
            .arg("-D")
            .arg(&data)
            .args(["-c", &format!("port={port}"), "-c", "listen_addresses=127.0.0.1"])
            .args(["-c", &format!("shared_buffers={}MB", memory_megabytes() / 4), "-c", "max_connections=200"])
            .args(["-c", "fsync=on", "-c", "synchronous_commit=on"])
            .args(["-c", &format!("unix_socket_directories={}", folder.display())])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut config = Config::new();
        config.host("127.0.0.1").port(port).user("postgres").dbname("postgres");
        while config.connect(NoTls).is_err() {
            if started.elapsed() > Duration::from_secs(30) {
                return Err("PostgreSQL did not start".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let opened = started.elapsed();
        Ok(Server { kind: Kind::PostgreSql, config, port, opened, folder: folder.into(), child })
    }

    /// A connection, without TLS on both systems.
    pub fn connect(&self) -> Result<Client, Failure> {
        Ok(self.config.connect(NoTls)?)
    }

    /// Bytes of its folder on disk.
    pub fn bytes(&self) -> u64 {
        folder_bytes(&self.folder)
    }

    /// Asks it to stop and waits.
    pub fn stop(mut self) -> Result<(), Failure> {
        self.end();
        Ok(())
    }

    /// Ends it as a crash would.
    pub fn kill(mut self) -> Result<(), Failure> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    fn end(&mut self) {
        // Once it has been waited for, its number may be another's.
        if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
            return;
        }
        // SIGINT: PostgreSQL's fast shutdown, ours too.
        let _asked = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        for _ in 0..500 {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// The machine's memory.
pub fn memory_megabytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = text.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    kilobytes.map_or(1024, |kilobytes| kilobytes / 1024)
}
