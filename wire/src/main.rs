//! The program: `dogwood serve`, `dogwood check`, `dogwood verify`.
//!
//! Reads its arguments, starts what they ask for, and turns the outcome into an exit status: 0 done, 1 failed or
//! something was found, 2 not understood. Never prints data.

mod arguments;
mod verify;

use arguments::{Command, Serve};
use engine::Engine;
use engine::config::Config;
use engine::memory::Allocated;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use wire::server::{Server, ServerConfig};
use wire::{limits, shutdown};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(log_panic));
    match arguments::parse(std::env::args_os().skip(1)) {
        Ok(Command::Help) => {
            print!("{}", arguments::HELP);
            ExitCode::SUCCESS
        }
        Ok(Command::Version) => {
            println!("dogwood {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Ok(Command::Serve(serve)) => outcome(run_server(serve)),
        Ok(Command::Check { data }) => check(&data),
        Ok(Command::Verify(verify)) => outcome(verify::run(&verify).map(|report| println!("{report}"))),
        Err(error) => {
            eprintln!("dogwood: {error}\nTry \"dogwood --help\".");
            ExitCode::from(2)
        }
    }
}

fn outcome(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dogwood: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_server(serve: Serve) -> Result<(), String> {
    // Before the store opens its files.
    limits::raise_descriptors();
    // Keys and logins are in it: for its owner only.
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&serve.data)
        .map_err(|error| format!("could not make the data folder \"{}\": {error}", serve.data.display()))?;
    let mut config = Config::new(serve.data.clone());
    config.allocator = Some(allocated);
    if let Some(bytes) = serve.block_cache_bytes {
        config.block_cache_bytes = bytes;
    }
    let engine = Engine::open(config).map_err(|error| error.to_string())?;
    let config = ServerConfig {
        data: serve.data,
        listen: serve.listen,
        insecure: serve.insecure,
        certificate: serve.certificate,
        connections_max: serve.connections_max,
        awake: serve.awake,
    };
    let served = serve_until_signalled(&config, &engine);
    let stopped = engine.shutdown().map_err(|error| error.to_string());
    served.and(stopped)
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

fn serve_until_signalled(config: &ServerConfig, engine: &Arc<Engine>) -> Result<(), String> {
    let server = Server::bind(config, Arc::clone(engine)).map_err(|error| error.to_string())?;
    stop_when_signalled(&server).map_err(|error| format!("could not listen for signals: {error}"))?;
    println!("listening on {}", server.address());
    server.run().map_err(|error| error.to_string())
}

/// Listens for signals on a thread of its own, from before the server says that it is ready.
fn stop_when_signalled(server: &Server) -> std::io::Result<()> {
    let switch = server.switch();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let guard = runtime.enter();
    let mut signals = shutdown::Signals::listen()?;
    drop(guard);
    std::thread::Builder::new().name("signals".to_string()).spawn(move || {
        runtime.block_on(signals.arrive());
        switch.stop();
    })?;
    Ok(())
}

fn check(data: &Path) -> ExitCode {
    match engine::check::run(data) {
        Ok(findings) if findings.is_empty() => {
            println!("no findings");
            ExitCode::SUCCESS
        }
        Ok(findings) => {
            for finding in findings {
                println!("{finding}");
            }
            ExitCode::FAILURE
        }
        Err(error) => outcome(Err(error.to_string())),
    }
}

/// Says where, not what: a panic's message may quote a value.
fn log_panic(panic: &std::panic::PanicHookInfo<'_>) {
    // A literal in the source is safe to print.
    let message = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or("(message withheld)");
    match panic.location() {
        Some(place) => eprintln!("internal error at {}:{}: {message}", place.file(), place.line()),
        None => eprintln!("internal error: {message}"),
    }
}
