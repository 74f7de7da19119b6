//! The systems under measurement: each in a temporary folder on a loopback port, stopped when dropped.
//!
//! Never touches a server that it did not start.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::time::ClockId;
use nix::unistd::Pid;
use postgres::config::SslMode;
use postgres::{Client, Config, NoTls};

use crate::cache::Cache;
use crate::guard::Guard;
use crate::mariadb::Maria;
use crate::tls::{Link, Tls};

/// What can go wrong in a benchmark.
pub type Failure = Box<dyn Error + Send + Sync>;

const POSTGRESQL: &str = "/usr/lib/postgresql/15/bin";
const MARIADB: &str = "/usr/sbin/mariadbd";
const MYROCKS: &str = "/usr/lib/mysql/plugin/ha_rocksdb.so";
const MEMCACHED: &str = "/usr/bin/memcached";
/// What `dogwood --help` calls the bound on connections.
const CONNECTIONS_OPTION: &str = "--connections";
/// PostgreSQL's password in a run with TLS, where Dogwood wants one, too.
const PASSWORD: &str = "measured";

/// Which of the two that speak SQL.
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

/// Where servers are started: the temporary folder, our binary, and the guard over both.
#[derive(Clone)]
pub struct Place {
    /// The temporary folder.
    pub folder: PathBuf,
    /// Dogwood's program.
    pub binary: PathBuf,
    /// If all connections are encrypted.
    pub tls: Option<Tls>,
    guard: Arc<Guard>,
}

impl Place {
    /// Makes the folder, if the disk has room for what is meant to stand in it.
    pub fn new(binary: PathBuf, bytes_wanted: u64, tls: bool) -> Result<Place, Failure> {
        if !binary.is_file() {
            return Err(format!(
                "there is no server at {}: `make` builds it, $DOGWOOD names another",
                binary.display()
            )
            .into());
        }
        let parent = std::env::temp_dir();
        let free = free_bytes(&parent)?;
        if free < bytes_wanted {
            return Err(format!(
                "{} has {} MB free, and this run may write {} MB: set TMPDIR to another disk, or choose a smaller scale",
                parent.display(),
                free / 1_000_000,
                bytes_wanted / 1_000_000
            )
            .into());
        }
        let folder = parent.join(format!("dogwood-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let guard = Arc::new(Guard::start(&folder)?);
        let tls = if tls { Some(Tls::new(&folder)?) } else { None };
        Ok(Place { folder, binary, tls, guard })
    }

    /// Removes the folder. All servers have to be gone.
    pub fn clear(self) -> Result<(), Failure> {
        std::fs::remove_dir_all(&self.folder)?;
        Arc::try_unwrap(self.guard).map_err(|_| "a server is still there")?.dismiss()
    }
}

fn free_bytes(folder: &Path) -> Result<u64, Failure> {
    let output = Command::new("df").args(["--output=avail", "-B1"]).arg(folder).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = text.lines().nth(1).and_then(|line| line.trim().parse().ok());
    number.ok_or_else(|| format!("df does not tell how much is free in {}", folder.display()).into())
}

fn installed(program: &str, package: &str) -> Result<(), Failure> {
    if Path::new(program).is_file() {
        return Ok(());
    }
    Err(format!("the peer is not installed: there is no {program}; on Debian: apt-get install {package}").into())
}

/// A child process that is asked to stop when dropped.
struct Process {
    child: Child,
    guard: Arc<Guard>,
    log: PathBuf,
    /// What it is asked to stop with.
    signal: &'static str,
}

impl Process {
    fn start(place: &Place, name: &str, command: &mut Command) -> Result<Process, Failure> {
        let log = place.folder.join(format!("{name}.log"));
        let child =
            command.stderr(File::create(&log)?).spawn().map_err(|error| format!("{name} does not start: {error}"))?;
        place.guard.started(child.id())?;
        // SIGINT: PostgreSQL's fast shutdown, ours too.
        Ok(Process { child, guard: place.guard.clone(), log, signal: "-INT" })
    }

    /// Why it is not there, in its own last words.
    fn complaint(&self, what: &str) -> Failure {
        let said = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = said.lines().collect();
        format!("{what}: {}", lines[lines.len().saturating_sub(5)..].join(" / ")).into()
    }

    /// Bytes of its resident set.
    fn resident(&self) -> Result<u64, Failure> {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1_024)
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))
    }

    fn end(&mut self) {
        // Once it has been waited for, its number may be another's.
        if self.has_ended() {
            return;
        }
        let _asked = Command::new("kill").args([self.signal, &self.child.id().to_string()]).status();
        for _ in 0..1_000 {
            if self.has_ended() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
        // A guard that is gone cannot be told; the process is ended all the same.
        let _told = self.guard.ended(self.child.id());
    }
}

/// A running server that speaks SQL.
pub struct Server {
    /// Which system.
    pub kind: Kind,
    /// How to connect.
    pub config: Config,
    /// Its port.
    pub port: u16,
    /// From start to the first answered query.
    pub opened: Duration,
    /// How many connections it takes.
    pub connections_max: u64,
    /// If its connections are encrypted.
    pub tls: Option<Tls>,
    folder: PathBuf,
    process: Process,
}

fn free_port() -> Result<u16, Failure> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Runs a program to its end; its complaints if it fails.
pub fn quietly(command: &mut Command) -> Result<(), Failure> {
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
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", &path]);
    command
}

impl Server {
    /// Starts Dogwood over a folder of that name, new or not.
    pub fn dogwood(place: &Place, name: &str) -> Result<Server, Failure> {
        Server::dogwood_for(place, name, 150)
    }

    /// The same for so many connections, or as many as this build takes.
    pub fn dogwood_for(place: &Place, name: &str, connections: u64) -> Result<Server, Failure> {
        let started = Instant::now();
        let folder = place.folder.join(name);
        let port = free_port()?;
        let help = Command::new(&place.binary).arg("--help").output()?;
        let bounded = !String::from_utf8_lossy(&help.stdout).contains(CONNECTIONS_OPTION);
        let mut command = Command::new(&place.binary);
        command.args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--data"]).arg(&folder);
        match &place.tls {
            Some(tls) => command.arg("--tls-cert").arg(&tls.certificate).arg("--tls-key").arg(&tls.key),
            None => command.arg("--insecure"),
        };
        if connections > 150 && !bounded {
            command.args([CONNECTIONS_OPTION, &(connections + 50).to_string()]);
        }
        let mut process = Process::start(place, name, command.stdout(Stdio::piped()))?;
        let output = process.child.stdout.take().ok_or("no output of the server")?;
        let mut lines = BufReader::new(output).lines();
        loop {
            let Some(line) = lines.next() else {
                return Err(process.complaint("dogwood ended before it listened"));
            };
            if line?.contains("listening on") {
                break;
            }
        }
        // The pipe must not fill.
        std::thread::spawn(move || lines.for_each(drop));
        let mut config = Config::new();
        let password = std::fs::read_to_string(folder.join("controller.secret"))?;
        config.host("127.0.0.1").port(port).user("controller").dbname("dogwood").password(password.trim());
        let tls = required(&mut config, place);
        client(&config, tls.as_ref())?.simple_query("SELECT 1")?;
        let connections_max = if bounded { connections.min(150) } else { connections };
        Ok(Server {
            kind: Kind::Dogwood,
            config,
            port,
            opened: started.elapsed(),
            connections_max,
            tls,
            folder,
            process,
        })
    }

    /// Starts PostgreSQL in a new folder: a quarter of the memory as shared buffers, everything durable.
    pub fn postgresql(place: &Place, name: &str) -> Result<Server, Failure> {
        installed(&format!("{POSTGRESQL}/postgres"), "postgresql postgresql-contrib")?;
        let folder = place.folder.join(name);
        std::fs::create_dir_all(&folder)?;
        quietly(Command::new("chown").args(["postgres", &folder.to_string_lossy()]))?;
        let data = folder.join("data");
        let mut install = as_postgres("initdb");
        install.args(["--auth=trust", "--no-sync", "-D"]).arg(&data);
        let mut encryption = Vec::new();
        if let Some(tls) = &place.tls {
            let password = folder.join("password");
            std::fs::write(&password, PASSWORD)?;
            install.arg("--pwfile").arg(password);
            let key = tls.key_of(&folder, "postgres")?;
            encryption = vec![
                "ssl=on".to_string(),
                format!("ssl_cert_file={}", tls.certificate.display()),
                format!("ssl_key_file={}", key.display()),
            ];
        }
        quietly(&mut install)?;
        if place.tls.is_some() {
            std::fs::write(data.join("pg_hba.conf"), "hostssl all all 127.0.0.1/32 scram-sha-256\n")?;
        }
        let started = Instant::now();
        let port = free_port()?;
        let mut command = as_postgres("postgres");
        command
            .arg("-D")
            .arg(&data)
            .args(["-c", &format!("port={port}"), "-c", "listen_addresses=127.0.0.1"])
            .args(["-c", &format!("shared_buffers={}MB", memory_megabytes() / 4), "-c", "max_connections=200"])
            .args(["-c", "fsync=on", "-c", "synchronous_commit=on"])
            .args(["-c", &format!("unix_socket_directories={}", folder.display())])
            .args(encryption.iter().flat_map(|setting| ["-c", setting]))
            .stdout(Stdio::null());
        let mut process = Process::start(place, name, &mut command)?;
        let mut config = Config::new();
        config.host("127.0.0.1").port(port).user("postgres").dbname("postgres").password(PASSWORD);
        let tls = required(&mut config, place);
        while client(&config, tls.as_ref()).is_err() {
            if process.has_ended() || started.elapsed() > Duration::from_secs(30) {
                return Err(process.complaint("PostgreSQL did not start"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let opened = started.elapsed();
        Ok(Server { kind: Kind::PostgreSql, config, port, opened, connections_max: 190, tls, folder, process })
    }

    /// A connection, with TLS on both systems or without on both.
    pub fn connect(&self) -> Result<Client, Failure> {
        Ok(client(&self.config, self.tls.as_ref())?)
    }

    /// Protocol and cipher of its connections, if they are encrypted: what the handshake agreed on, and what PostgreSQL itself says of it.
    /// An error if it takes connections in plain text besides.
    pub fn encryption(&self) -> Result<Option<String>, Failure> {
        let Some(tls) = &self.tls else { return Ok(None) };
        let mut client = self.connect()?;
        let mut agreed = tls.agreed();
        let mut plain = self.config.clone();
        if plain.ssl_mode(SslMode::Disable).connect(NoTls).is_ok() {
            return Err(format!("{} takes connections in plain text", self.kind.name()).into());
        }
        if self.kind == Kind::PostgreSql {
            let of_mine = "SELECT version, cipher FROM pg_stat_ssl WHERE ssl AND pid = pg_backend_pid()";
            let row = client.query_one(of_mine, &[])?;
            agreed += &format!(" (pg_stat_ssl: {} {})", row.try_get::<_, &str>(0)?, row.try_get::<_, &str>(1)?);
        }
        Ok(Some(agreed))
    }

    /// Bytes of its folder on disk.
    pub fn bytes(&self) -> u64 {
        folder_bytes(&self.folder)
    }

    /// Bytes of its resident set.
    pub fn resident(&self) -> Result<u64, Failure> {
        self.process.resident()
    }

    /// Its processor time.
    pub fn meter(&self) -> Meter {
        Meter(self.process.child.id())
    }

    /// How many threads it has.
    pub fn threads(&self) -> u64 {
        let folder = format!("/proc/{}/task", self.process.child.id());
        std::fs::read_dir(folder).map_or(0, |entries| entries.count() as u64)
    }

    /// Asks it to stop and waits.
    pub fn stop(self) {
        drop(self);
    }

    /// Ends it as a crash would.
    pub fn kill(mut self) -> Result<(), Failure> {
        self.process.child.kill()?;
        self.process.child.wait()?;
        Ok(())
    }
}

/// Asks for TLS if this run has it.
fn required(config: &mut Config, place: &Place) -> Option<Tls> {
    if place.tls.is_some() {
        config.ssl_mode(SslMode::Require);
    }
    place.tls.clone()
}

fn client(config: &Config, tls: Option<&Tls>) -> Result<Client, postgres::Error> {
    match tls {
        Some(tls) => config.connect(tls.connector()),
        None => config.connect(NoTls),
    }
}

/// Protocol and cipher of each system, of a cache too, with which one of them stands.
pub fn encryption<'a>(
    servers: &[(&'a str, &Server)],
    cache: Option<(&str, &CacheServer)>,
) -> Result<Vec<(&'a str, Option<String>)>, Failure> {
    let mut all = Vec::new();
    for &(system, server) in servers {
        let mut agreed = server.encryption()?;
        if let Some((_, cache)) = cache.filter(|(with, _)| *with == system) {
            agreed =
                agreed.zip(Cache::encryption(cache)?).map(|(agreed, cached)| format!("{agreed}; memcached {cached}"));
        }
        all.push((system, agreed));
    }
    Ok(all)
}

/// The processor time of a server with its children, those that have ended included: PostgreSQL has one process for each connection.
#[derive(Clone, Copy)]
pub struct Meter(u32);

impl Meter {
    /// Seconds until now.
    pub fn seconds(self) -> Result<f64, Failure> {
        let own = self.0.to_string();
        let words = words(&own).ok_or_else(|| format!("there is no process {own}"))?;
        // User and system time of children that have ended.
        let hundredths = words.iter().skip(13).take(2).map(|word| word.parse::<f64>().unwrap_or(0.0));
        let mut seconds = hundredths.sum::<f64>() / 100.0 + running_seconds(&own)?;
        for entry in std::fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(process) = name.to_str().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) else {
                continue;
            };
            if self::words(process).is_some_and(|words| words.get(1).is_some_and(|parent| *parent == own)) {
                // One that ends right now is counted by its parent.
                seconds += running_seconds(process).unwrap_or(0.0);
            }
        }
        Ok(seconds)
    }
}

/// What the kernel says of a process after its program's name, which may hold anything: a letter, the parent, and so on.
fn words(process: &str) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(text.rsplit(')').next()?.split_whitespace().map(str::to_string).collect())
}

/// Of all threads of a process, those that have ended included; /proc counts in hundredths.
fn running_seconds(process: &str) -> Result<f64, Failure> {
    let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(process.parse()?))?;
    Ok(Duration::from(clock.now()?).as_secs_f64())
}

/// A running memcached.
pub struct CacheServer {
    port: u16,
    tls: Option<Tls>,
    process: Process,
}

impl CacheServer {
    /// Starts it with a gigabyte.
    pub fn start(place: &Place) -> Result<CacheServer, Failure> {
        installed(MEMCACHED, "memcached")?;
        let port = free_port()?;
        let mut command = Command::new(MEMCACHED);
        command
            .args(["-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0", "-m", "1024", "-u", "nobody"])
            .stdout(Stdio::null());
        if let Some(tls) = &place.tls {
            let folder = place.folder.join("memcached");
            std::fs::create_dir_all(&folder)?;
            let (certificate, key) = (tls.certificate.display(), tls.key_of(&folder, "nobody")?);
            command.args(["-Z", "-o", &format!("ssl_chain_cert={certificate},ssl_key={}", key.display())]);
        }
        let mut process = Process::start(place, "memcached", &mut command)?;
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if process.has_ended() || started.elapsed() > Duration::from_secs(10) {
                return Err(process.complaint("memcached did not start"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(CacheServer { port, tls: place.tls.clone(), process })
    }

    /// A stream to it.
    pub fn link(&self) -> Result<Link, Failure> {
        Link::open(self.port, self.tls.as_ref())
    }

    /// Its processor time.
    pub fn meter(&self) -> Meter {
        Meter(self.process.child.id())
    }
}

/// A running MariaDB whose tables are MyRocks'.
pub struct MariaServer {
    port: u16,
    tls: Option<Tls>,
    folder: PathBuf,
    process: Process,
}

impl MariaServer {
    /// Starts it in a new folder: a quarter of the memory as MyRocks' block cache, every commit flushed, no binary log.
    pub fn start(place: &Place, name: &str) -> Result<MariaServer, Failure> {
        installed(MARIADB, "mariadb-server mariadb-plugin-rocksdb")?;
        installed(MYROCKS, "mariadb-plugin-rocksdb")?;
        let folder = place.folder.join(name);
        std::fs::create_dir_all(&folder)?;
        let data = folder.join("data");
        let mut install = Command::new("mariadb-install-db");
        install.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        install.arg(format!("--datadir={}", data.display()));
        let mut command = Command::new(MARIADB);
        command.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
        // As with PostgreSQL: root alone must become somebody else, and can.
        if std::fs::read_dir("/root").is_ok() {
            quietly(Command::new("chown").args(["mysql", &folder.to_string_lossy()]))?;
            install.arg("--user=mysql");
            command.arg("--user=mysql");
        }
        quietly(&mut install)?;
        let port = free_port()?;
        command
            .args([&format!("--port={port}"), "--bind-address=127.0.0.1", "--skip-name-resolve", "--skip-log-bin"])
            .args(["--plugin-maturity=gamma", "--plugin-load-add=ha_rocksdb", "--default-storage-engine=ROCKSDB"])
            .arg(format!("--rocksdb-block-cache-size={}M", memory_megabytes() / 4))
            .args(["--rocksdb-flush-log-at-trx-commit=1", "--innodb-flush-log-at-trx-commit=1"])
            .args(["--innodb-buffer-pool-size=32M", "--max-connections=200", "--max-prepared-stmt-count=100000"])
            .args(["--transaction-isolation=READ-COMMITTED", "--sql-mode=ANSI_QUOTES,STRICT_TRANS_TABLES"])
            .args(["--character-set-server=utf8mb4", "--collation-server=utf8mb4_bin"])
            .arg(format!("--socket={}", folder.join("socket").display()))
            .arg(format!("--pid-file={}", folder.join("pid").display()))
            .stdout(Stdio::null());
        if let Some(tls) = &place.tls {
            command.arg("--require-secure-transport=ON").arg(format!("--ssl-cert={}", tls.certificate.display()));
            command.arg(format!("--ssl-key={}", tls.key_of(&folder, "mysql")?.display()));
        }
        let mut process = Process::start(place, name, &mut command)?;
        process.signal = "-TERM";
        let started = Instant::now();
        let mut first = loop {
            match Maria::connect(port, "mysql", place.tls.as_ref()) {
                Ok(client) => break client,
                Err(_) if !process.has_ended() && started.elapsed() < Duration::from_mins(1) => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(failure) => return Err(process.complaint(&format!("MariaDB did not start ({failure})"))),
            }
        };
        first.run("CREATE DATABASE lobsters")?;
        Ok(MariaServer { port, tls: place.tls.clone(), folder, process })
    }

    /// A connection.
    pub fn connect(&self) -> Result<Maria, Failure> {
        Maria::connect(self.port, "lobsters", self.tls.as_ref())
    }

    /// Protocol and cipher of its connections, if they are encrypted. It refuses those that are not.
    pub fn encryption(&self) -> Result<Option<String>, Failure> {
        Ok(self.connect()?.encryption())
    }

    /// Loads lines of COPY through a file.
    pub fn load(&self, client: &mut Maria, table: &str, lines: impl Iterator<Item = String>) -> Result<(), Failure> {
        let path = self.folder.join("lines");
        let mut file = BufWriter::new(File::create(&path)?);
        let mut sent = 0;
        for line in lines {
            writeln!(file, "{line}")?;
            sent += 1;
        }
        file.flush()?;
        let (name, columns) = table.split_once(' ').unwrap_or((table, ""));
        client.run("SET SESSION rocksdb_commit_in_the_middle = 1")?;
        let loaded = client.run(&format!("LOAD DATA INFILE '{}' INTO TABLE {name} {columns}", path.display()))?;
        std::fs::remove_file(&path)?;
        if loaded == sent { Ok(()) } else { Err(format!("{name} took {loaded} of {sent} rows").into()) }
    }

    /// Bytes of its folder on disk.
    pub fn bytes(&self) -> u64 {
        folder_bytes(&self.folder)
    }

    /// Bytes of its resident set.
    pub fn resident(&self) -> Result<u64, Failure> {
        self.process.resident()
    }

    /// Its processor time.
    pub fn meter(&self) -> Meter {
        Meter(self.process.child.id())
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
