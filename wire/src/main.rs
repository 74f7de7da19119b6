//! The program: `dogwood serve`, `check`, `backup`, `verify-backup`, `restore`, `import`, `lint`, `mask`, `report`, `rotate`, `shred`,
//! `export-capsule`, `prove` and `verify`.
//!
//! Reads its arguments, starts what they ask for, and turns the outcome into an exit status: 0 done, 1 failed or
//! something was found, 2 not understood. Never prints data.

mod arguments;
mod log;
mod verify;
mod wiping_allocator;

use arguments::{Backup, ExportCapsule, MergeCapsules, Prove, Rotate, Serve};
use engine::backup::{RestoreOrder, RestoreReport};
use engine::config::Allocated;
use engine::config::Config;
use engine::{Engine, RootKeySource, SqlError};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use wiping_allocator::WipingAllocator;
use wire::control::{self, OperatorDoor};
use wire::import::Import;
use wire::lint::{Lint, Verdict};
use wire::mask::Masking;
use wire::report::{self, ReportOptions};
use wire::server::{Server, ServerConfig};
use wire::{limits, shutdown};

/// Between two looks whether the folder is to be opened anew.
const REOPENS_EVERY: Duration = Duration::from_secs(5);

#[global_allocator]
static ALLOCATOR: WipingAllocator = WipingAllocator;

/// Whether something could not be said.
static UNSAID: AtomicBool = AtomicBool::new(false);

/// Writes a line to standard output. Who reads it may have had enough, as `head` does: what the command did stands, and it says no more.
fn say(line: std::fmt::Arguments<'_>) {
    use std::io::Write;
    if let Err(error) = writeln!(std::io::stdout(), "{line}")
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        eprintln!("dogwood: could not write to standard output: {error}");
        UNSAID.store(true, Ordering::Relaxed);
    }
}

/// `println!`, but for a reader that has gone.
macro_rules! say {
    ($($words:tt)*) => { say(format_args!($($words)*)) };
}

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(log_panic));
    let ended = commanded();
    if UNSAID.load(Ordering::Relaxed) { ExitCode::FAILURE } else { ended }
}

/// What the command line asks for.
fn commanded() -> ExitCode {
    match arguments::parse(std::env::args_os().skip(1)) {
        Ok(arguments::Command::Help) => {
            say!("{}", arguments::HELP.trim_end());
            ExitCode::SUCCESS
        }
        Ok(arguments::Command::Version) => {
            say!("dogwood {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Ok(arguments::Command::Serve(serve)) => {
            log::start(serve.log_format, &serve.log_levels);
            outcome(run_server(serve))
        }
        Ok(arguments::Command::Check { data, repair, root_key }) => check(&data, &root_key, repair),
        Ok(arguments::Command::Backup(backup)) => outcome(take_backup(&backup).map(|report| say!("{report}"))),
        Ok(arguments::Command::VerifyBackup(verify)) => {
            outcome(verify::run_backups(&verify).map(|report| say!("{report}")))
        }
        Ok(arguments::Command::Restore(order)) => outcome(restore(&order)),
        Ok(arguments::Command::Rotate(rotate)) => outcome(run_rotation(rotate)),
        Ok(arguments::Command::Import(import)) => read_dump(&import),
        Ok(arguments::Command::Lint(lint)) => look_at(&lint),
        Ok(arguments::Command::Mask(masking)) => outcome(write_masked(&masking)),
        Ok(arguments::Command::Report(report)) => outcome(write_report(&report)),
        Ok(arguments::Command::ExportCapsule(export)) => outcome(export_capsule(&export)),
        Ok(arguments::Command::MergeCapsules(merge)) => outcome(merge_capsules(&merge)),
        Ok(arguments::Command::Prove(prove)) => outcome(prove_record(&prove)),
        Ok(arguments::Command::Verify(verify)) => outcome(verify::run(&verify).map(|report| say!("{report}"))),
        Err(error) => {
            eprintln!("dogwood: {error}\nTry \"dogwood --help\".");
            ExitCode::from(2)
        }
    }
}

/// An error with its hint.
fn described(error: &SqlError) -> String {
    match &error.hint {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    }
}

fn outcome(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say_failure(&error);
            ExitCode::FAILURE
        }
    }
}

fn say_failure(error: &str) {
    if log::is_started() {
        tracing::error!(target: "dogwood::server", "{error}");
    } else {
        eprintln!("dogwood: {error}");
    }
}

fn run_server(serve: Serve) -> Result<(), String> {
    // Before the store opens its files.
    limits::raise_descriptors();
    // Nothing is made where something is to be saved.
    if !serve.salvage {
        make_folder(&serve.data)?;
    }
    let mut config = Config::new(serve.data.clone());
    config.keep_free_bytes = serve.keep_free_bytes;
    config.root_key = serve.root_key;
    if serve.salvage {
        config.mode = engine::Mode::Salvage;
    }
    config.allocator = Some(allocated);
    if let Some(bytes) = serve.block_cache_bytes {
        config.block_cache_bytes = bytes;
    }
    if let Some(workers) = serve.view_workers {
        config.view_workers = workers;
    }
    config.settings = serve.settings;
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(target: "dogwood::server", version, folder = %serve.data.display(), salvage = serve.salvage, "starting");
    let engine = Engine::open(config).map_err(|error| described(&error))?;
    if let Some(order) = &serve.ship {
        engine.ship(order, &variable).map_err(|error| described(&error))?;
    }
    if !serve.publish.targets.is_empty() {
        let publishing = engine.publish_heads(&serve.publish.targets, serve.publish.every);
        publishing.map_err(|error| described(&error))?;
    }
    if !serve.publish.others.is_empty() {
        let keys = verify::read_keys(&serve.publish.other_keys)?;
        let others = engine::Others { heads: serve.publish.others.clone(), keys };
        engine.refer_to(&others, serve.publish.every).map_err(|error| described(&error))?;
    }
    let door = match serve.salvage {
        false => Some(OperatorDoor::open(&serve.data, &engine)),
        true => None,
    };
    let door = door.transpose().map_err(|error| format!("could not make the operator's socket: {error}"))?;
    let config = ServerConfig {
        data: serve.data,
        listen: serve.listen,
        insecure: serve.insecure,
        known_names: serve.known_names,
        way_in: serve.way_in,
        connections_max: serve.connections_max,
        awake: serve.awake,
    };
    let served = serve_until_signalled(&config, &engine);
    drop(door);
    let stopped = engine.shutdown().map_err(|error| error.to_string());
    // Its threads end with it, and have nothing to say any more.
    drop(engine);
    if stopped.is_ok() {
        tracing::info!(target: "dogwood::server", "stopped");
    }
    match served? {
        Ended::Signalled => stopped,
        Ended::ToReopen(address) => Err(begin_again(address)),
    }
}

/// A variable of this program's environment.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Has the server of a folder take a backup, or takes one where none is running.
fn take_backup(backup: &Backup) -> Result<String, String> {
    limits::raise_descriptors();
    // A relative path means the same to the server.
    let mut order = backup.order.clone();
    for target in [&mut order.data, &mut order.keys] {
        if !target.contains("://")
            && let Ok(path) = std::path::absolute(&*target)
            && let Ok(path) = path.into_os_string().into_string()
        {
            *target = path;
        }
    }
    match control::ask(&backup.data, &order, &variable) {
        Some(answered) => answered,
        None => engine::backup::back_up_stopped(&backup.data, backup.root_key.clone(), &order, &variable)
            .map(|report| control::described(&report))
            .map_err(|error| described(&error)),
    }
}

fn restore(order: &RestoreOrder) -> Result<(), String> {
    limits::raise_descriptors();
    let restored = engine::backup::restore(order, &variable, Some(allocated)).map_err(|error| described(&error))?;
    let RestoreReport { backup, state, erasures, forgotten, settled } = restored;
    say!("restored    {}", order.folder.display());
    say!("backup      {backup}");
    say!("commit      {}", state.commit);
    say!("log record  {}", state.records);
    say!("erasures    {erasures} since, of {forgotten} people that it had; {settled} of others' rows changed");
    say!("{}", if order.unchecked { "not checked" } else { "no findings" });
    Ok(())
}

/// Keys and logins are in it: for its owner only.
fn make_folder(data: &Path) -> Result<(), String> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(data);
    made.map_err(|error| format!("could not make the data folder \"{}\": {error}", data.display()))
}

fn read_dump(import: &Import) -> ExitCode {
    limits::raise_descriptors();
    let imported = make_folder(&import.data).and_then(|()| {
        let mut config = Config::new(import.data.clone());
        config.allocator = Some(allocated);
        let engine = Engine::open(config).map_err(|error| described(&error))?;
        let report = wire::import::run(&engine, import);
        engine.shutdown().map_err(|error| error.to_string())?;
        report
    });
    match imported {
        Ok(report) => {
            say!("{}", report.to_string().trim_end());
            if report.is_whole() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => outcome(Err(error)),
    }
}

fn look_at(lint: &Lint) -> ExitCode {
    let found = match wire::lint::run(lint) {
        Ok(found) => found,
        Err(error) => {
            say_failure(&error);
            return ExitCode::from(2);
        }
    };
    if lint.json {
        say!("{}", found.json());
    } else {
        say!("{found}");
    }
    match found.verdict() {
        Verdict::Clean => ExitCode::SUCCESS,
        Verdict::Missing => ExitCode::FAILURE,
        Verdict::Unread => ExitCode::from(2),
    }
}

/// A dump with pseudonyms. Where it goes to standard output, what is told of it does not.
fn write_masked(masking: &Masking) -> Result<(), String> {
    let masked = wire::mask::run(masking)?;
    if masking.to.as_os_str() == "-" {
        eprintln!("{masked}");
    } else {
        say!("{masked}");
    }
    Ok(())
}

/// Has the server of a folder make a report, or makes one where none is running.
fn write_report(report: &ReportOptions) -> Result<(), String> {
    limits::raise_descriptors();
    let document = match control::ask_for_report(&report.data, &report.order) {
        Some(answered) => answered,
        // A folder without one would become a database.
        None if report.data.join("keyring").is_file() => {
            let mut config = Config::new(report.data.clone());
            config.allocator = Some(allocated);
            config.root_key = report.root_key.clone();
            let engine = Engine::open(config).map_err(|error| described(&error))?;
            let document = report::run(&engine, &report.order, &|| true).map_err(|error| described(&error));
            engine.shutdown().map_err(|error| error.to_string())?;
            document
        }
        None => Err(format!("\"{}\" is no data folder", report.data.display())),
    }?;
    if report.file.as_os_str() == "-" {
        say!("{}", document.trim_end());
        return Ok(());
    }
    std::fs::write(&report.file, document)
        .map_err(|error| format!("could not write \"{}\": {error}", report.file.display()))
}

/// Why a server has stopped.
enum Ended {
    /// It was told to.
    Signalled,
    /// The folder takes no writes, and would if it was opened anew. Where it listened.
    ToReopen(SocketAddr),
}

/// Becomes the same program anew, over the same folder and address. Returns only what kept it from that.
fn begin_again(address: SocketAddr) -> String {
    tracing::warn!(
        target: "dogwood::server",
        "opening the data folder anew, as a write to it had failed and it can be written again"
    );
    // One that was replaced meanwhile is still there for the system.
    let program = std::env::current_exe().ok().filter(|program| program.exists());
    let program = program.unwrap_or_else(|| "/proc/self/exe".into());
    let mut arguments: Vec<OsString> = Vec::new();
    let mut given = std::env::args_os().skip(1);
    while let Some(argument) = given.next() {
        if argument == "--listen" {
            // A port that was free is now this one.
            given.next();
        } else {
            arguments.push(argument);
        }
    }
    let error = Command::new(program).args(arguments).arg("--listen").arg(address.to_string()).exec();
    format!("could not start again: {error}")
}

/// What the allocator counts. It keeps counts by thread and adds them up when its epoch advances.
fn allocated() -> Allocated {
    let advanced = tikv_jemalloc_ctl::epoch::advance();
    let read = |count: tikv_jemalloc_ctl::Result<usize>| advanced.and(count).unwrap_or(0);
    Allocated {
        allocated_bytes: read(tikv_jemalloc_ctl::stats::allocated::read()),
        resident_bytes: read(tikv_jemalloc_ctl::stats::resident::read()),
    }
}

fn serve_until_signalled(config: &ServerConfig, engine: &Arc<Engine>) -> Result<Ended, String> {
    let server = Server::bind(config, Arc::clone(engine)).map_err(|error| error.to_string())?;
    stop_when_signalled(&server).map_err(|error| format!("could not listen for signals: {error}"))?;
    let reopens = stop_to_reopen(&server, Arc::downgrade(engine))
        .map_err(|error| format!("could not start a thread: {error}"))?;
    let address = server.address();
    say!("listening on {address}");
    tracing::info!(target: "dogwood::server", %address, insecure = config.insecure, "listening");
    server.run().map_err(|error| error.to_string())?;
    Ok(if reopens.load(Ordering::Acquire) { Ended::ToReopen(address) } else { Ended::Signalled })
}

/// Stops the server when its folder is to be opened anew, and says so. Not at once: what fails again soon had better be read.
fn stop_to_reopen(server: &Server, engine: Weak<Engine>) -> std::io::Result<Arc<AtomicBool>> {
    let (switch, reopens) = (server.switch(), Arc::<AtomicBool>::default());
    let says = Arc::clone(&reopens);
    std::thread::Builder::new().name("reopening".to_string()).spawn(move || {
        loop {
            std::thread::sleep(REOPENS_EVERY);
            match engine.upgrade() {
                None => return,
                Some(engine) if engine.wants_reopening() => break,
                Some(_) => {}
            }
        }
        says.store(true, Ordering::Release);
        switch.stop();
    })?;
    Ok(reopens)
}

/// Listens for signals on a thread of its own, from before the server says that it is ready.
fn stop_when_signalled(server: &Server) -> std::io::Result<()> {
    let (switch, reload) = (server.switch(), server.reload());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let guard = runtime.enter();
    let mut signals = shutdown::Signals::listen()?;
    drop(guard);
    std::thread::Builder::new().name("signals".to_string()).spawn(move || {
        runtime.block_on(signals.arrive(|| {
            reload();
        }));
        tracing::info!(target: "dogwood::server", "stopping, as a signal says");
        switch.stop();
    })?;
    Ok(())
}

fn run_rotation(rotate: Rotate) -> Result<(), String> {
    let Rotate { data, rotation, root_key, root } = rotate;
    let rotated = engine::rotate(&data, root_key, root.as_ref().map(Option::as_ref), rotation);
    let rotated = rotated.map_err(|error| described(&error))?;
    say!("{rotated} data keys are under a new key-encryption key, the old one is destroyed");
    Ok(())
}

fn check(data: &Path, root_key: &RootKeySource, repair: bool) -> ExitCode {
    if repair {
        match engine::check::repair(data, root_key) {
            Ok(repairs) => repairs.iter().for_each(|repair| say!("repaired: {repair}")),
            Err(error) => return outcome(Err(described(&error))),
        }
    }
    match engine::check::run(data, root_key) {
        Ok(findings) if findings.is_empty() => {
            say!("no findings");
            ExitCode::SUCCESS
        }
        Ok(findings) => {
            for finding in findings {
                say!("{finding}");
            }
            ExitCode::FAILURE
        }
        Err(error) => outcome(Err(described(&error))),
    }
}

fn export_capsule(export: &ExportCapsule) -> Result<(), String> {
    let ExportCapsule { data, from, root_key, file } = export;
    let written = match file.as_os_str() == "-" {
        true => engine::capsule::export(data, root_key, *from, std::io::stdout().lock()),
        false => {
            let failed = |error| format!("could not write \"{}\": {error}", file.display());
            let out = std::fs::File::create_new(file).map_err(failed)?;
            let written = engine::capsule::export(data, root_key, *from, &out);
            if !matches!(written, Ok(true)) {
                // Half a log proves nothing.
                std::fs::remove_file(file).map_err(failed)?;
            }
            written
        }
    };
    match written {
        Ok(true) => Ok(()),
        Ok(false) => Err("the audit log is empty".to_owned()),
        Err(error) => Err(described(&error)),
    }
}

fn prove_record(prove: &Prove) -> Result<(), String> {
    let heads = prove.heads.as_ref().map(|path| verify::read(path)).transpose()?;
    let proof = engine::capsule::prove(&prove.data, &prove.root_key, prove.proved, heads.as_deref());
    write_new(&prove.file, &proof.map_err(|error| described(&error))?)
}

fn merge_capsules(merge: &MergeCapsules) -> Result<(), String> {
    write_new(&merge.file, &verify::merge(merge)?)
}

fn write_new(file: &Path, bytes: &[u8]) -> Result<(), String> {
    let failed = |error| format!("could not write \"{}\": {error}", file.display());
    let mut out = std::fs::File::create_new(file).map_err(failed)?;
    if let Err(error) = std::io::Write::write_all(&mut out, bytes) {
        // Half a proof proves nothing.
        std::fs::remove_file(file).map_err(failed)?;
        return Err(failed(error));
    }
    Ok(())
}

/// Says where, not what: a panic's message may quote a value.
fn log_panic(panic: &std::panic::PanicHookInfo<'_>) {
    // A literal in the source is safe to print.
    let message = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or("(message withheld)");
    let place = panic.location().map_or_else(String::new, |place| format!(" at {}:{}", place.file(), place.line()));
    if log::is_started() {
        tracing::error!(target: "dogwood::panics", "internal error{place}: {message}");
    } else {
        eprintln!("internal error{place}: {message}");
    }
}
