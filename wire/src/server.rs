//! Listens, gives each connection a thread, and stops all of them cleanly.
//!
//! The accept loop never evaluates anything. Threads are bounded: clients that have logged in by `connections_max`, those
//! that have not by a number on top of it and ten seconds each.

use crate::auth::{self, Logins};
use crate::cancel::CancelRegistry;
use crate::connection::Connection;
use crate::error::{WireError, error_response, internal_error};
use crate::handler::Handler;
use crate::shutdown::{self, Shutdown, ShutdownSwitch};
use crate::startup::{Arrival, Login, arrive};
use crate::tls::{self, Tls, TlsError};
use engine::session::ConnectOptions;
use engine::{Engine, SqlError};
use futures::FutureExt;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::startup::{Authentication, BackendKeyData, NegotiateProtocolVersion, ParameterStatus, SecretKey};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Sessions at once, if the operator does not say otherwise.
pub const CONNECTIONS_MAX: usize = 200;
/// From the first byte to a session.
const AUTHENTICATION_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections beyond `connections_max` that may be on their way in, or be cancel requests.
const ARRIVING_MAX: usize = 64;
/// How long a stopping server waits for its connections.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// How often sockets of busy connections are looked at.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);
// Expressions nest; the parser bounds how deep.
const STACK_BYTES: usize = 16 << 20;
/// The newest protocol version, 3.2.
const MINOR_MAX: u16 = 2;
const PROTOCOL_MAX: i32 = 3 << 16 | MINOR_MAX as i32;

/// How the server is reached.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The data folder: certificate and logins.
    pub data: PathBuf,
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Plain text, on loopback only.
    pub insecure: bool,
    /// The operator's own certificate and key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Sessions at once.
    pub connections_max: usize,
}

/// Why the server does not start.
#[derive(Debug)]
pub enum ServerError {
    /// `--insecure` off loopback.
    InsecureAddress(SocketAddr),
    /// The address cannot be listened on, or the runtime not be made.
    Listen(SocketAddr, io::Error),
    /// No certificate.
    Tls(TlsError),
    /// No logins.
    Logins(io::Error),
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerError::InsecureAddress(address) => {
                write!(f, "--insecure listens on a loopback address only, and {address} is none")
            }
            ServerError::Listen(address, error) => write!(f, "could not listen on {address}: {error}"),
            ServerError::Tls(error) => write!(f, "{error}"),
            ServerError::Logins(error) => write!(f, "could not read or make the logins: {error}"),
        }
    }
}

impl std::error::Error for ServerError {}

/// A server that has its port and is ready to run.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
    switch: ShutdownSwitch,
}

// What every connection's thread needs.
struct Shared {
    engine: Arc<Engine>,
    tls: Option<Tls>,
    logins: Logins,
    insecure: bool,
    connections_max: usize,
    registry: Arc<CancelRegistry>,
    shutdown: Shutdown,
    sessions: AtomicUsize,
    threads: Mutex<usize>,
    thread_ended: Condvar,
}

impl Server {
    /// Takes the port, makes certificate and logins if there are none.
    pub fn bind(config: &ServerConfig, engine: Arc<Engine>) -> Result<Server, ServerError> {
        if config.insecure && !config.listen.ip().is_loopback() {
            return Err(ServerError::InsecureAddress(config.listen));
        }
        let logins = Logins::open(&config.data).map_err(ServerError::Logins)?;
        let tls = if config.insecure {
            None
        } else {
            let own = config.certificate.as_ref().map(|(certificate, key)| (certificate.as_path(), key.as_path()));
            Some(tls::load(&config.data, own).map_err(ServerError::Tls)?)
        };
        let listen = |error| ServerError::Listen(config.listen, error);
        let listener = TcpListener::bind(config.listen).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let (switch, shutdown) = shutdown::channel();
        let shared = Arc::new(Shared {
            engine,
            tls,
            logins,
            insecure: config.insecure,
            connections_max: config.connections_max,
            registry: Arc::default(),
            shutdown,
            sessions: AtomicUsize::new(0),
            threads: Mutex::new(0),
            thread_ended: Condvar::new(),
        });
        Ok(Server { listener, address, shared, switch })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops it from another thread.
    pub fn switch(&self) -> ShutdownSwitch {
        self.switch.clone()
    }

    /// Serves until the switch is thrown, then until the connections are gone (at most ten seconds).
    pub fn run(self) -> Result<(), ServerError> {
        let failed = |error| ServerError::Listen(self.address, error);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let shared = Arc::clone(&self.shared);
        let listener = self.listener;
        runtime
            .block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                accept(&listener, &shared).await;
                Ok(())
            })
            .map_err(|error| ServerError::Listen(self.address, error))?;
        self.shared.registry.cancel_all();
        self.shared.wait_for_threads();
        Ok(())
    }
}

async fn accept(listener: &tokio::net::TcpListener, shared: &Arc<Shared>) {
    let mut shutdown = shared.shutdown.clone();
    let mut watch = tokio::time::interval(WATCH_INTERVAL);
    watch.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = watch.tick() => {
                shared.registry.cancel_abandoned();
                continue;
            }
            () = shutdown.requested() => return,
        };
        match accepted.and_then(|(socket, _)| socket.into_std()) {
            Ok(socket) => start(socket, shared),
            Err(error) => {
                // Out of descriptors, mostly; the next attempt would fail as fast.
                eprintln!("could not accept a connection: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

fn start(socket: TcpStream, shared: &Arc<Shared>) {
    if !shared.thread_starts() {
        return;
    }
    let of_thread = Arc::clone(shared);
    let spawned = std::thread::Builder::new().name("connection".to_string()).stack_size(STACK_BYTES).spawn(move || {
        let ended = ThreadEnd(&of_thread);
        if let Err(error) = drive(socket, &of_thread) {
            eprintln!("a connection's thread could not run: {error}");
        }
        drop(ended);
    });
    if let Err(error) = spawned {
        shared.thread_ends();
        eprintln!("could not start a connection's thread: {error}");
    }
}

// Also when the thread unwinds.
struct ThreadEnd<'a>(&'a Shared);

impl Drop for ThreadEnd<'_> {
    fn drop(&mut self) {
        self.0.thread_ends();
    }
}

impl Shared {
    fn thread_starts(&self) -> bool {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if *threads >= self.connections_max + ARRIVING_MAX {
            return false;
        }
        *threads += 1;
        true
    }

    fn thread_ends(&self) {
        *self.threads.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.thread_ended.notify_all();
    }

    fn wait_for_threads(&self) {
        let deadline = Instant::now() + STOP_TIMEOUT;
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        while *threads > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            // A statement that began while the flags were raised is reached by the next round.
            let round = left.min(WATCH_INTERVAL);
            (threads, _) = self.thread_ended.wait_timeout(threads, round).unwrap_or_else(PoisonError::into_inner);
            self.registry.cancel_all();
        }
    }

    fn session_starts(self: &Arc<Self>) -> Result<SessionSlot, SqlError> {
        let mut current = self.sessions.load(Ordering::Relaxed);
        loop {
            if current >= self.connections_max {
                return Err(SqlError::new("53300", "sorry, too many clients already").fatal());
            }
            match self.sessions.compare_exchange_weak(current, current + 1, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Ok(SessionSlot(Arc::clone(self))),
                Err(now) => current = now,
            }
        }
    }
}

// One of `connections_max`.
struct SessionSlot(Arc<Shared>);

impl Drop for SessionSlot {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::AcqRel);
    }
}

/// One connection's whole life, on its own thread.
fn drive(socket: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    let watched = socket.try_clone()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let socket = tokio::net::TcpStream::from_std(socket)?;
        converse(socket, watched, shared).await;
        Ok(())
    })
}

async fn converse(socket: tokio::net::TcpStream, watched: TcpStream, shared: &Arc<Shared>) {
    let deadline = tokio::time::Instant::now() + AUTHENTICATION_TIMEOUT;
    let mut shutdown = shared.shutdown.clone();
    let arrival = tokio::select! {
        arrival = tokio::time::timeout_at(deadline, arrive(socket, shared.tls.as_ref())) => arrival,
        () = shutdown.requested() => return,
    };
    // Who does not get as far as a startup packet is told nothing, as PostgreSQL does.
    let Ok(Ok(arrival)) = arrival else { return };
    match arrival {
        Arrival::Cancel { pid, secret } => shared.registry.cancel(pid, &secret),
        Arrival::Refused(transport, error) => {
            finish(Connection::new(transport, shutdown), WireError::Fatal(error)).await;
        }
        Arrival::Login(transport, login) => {
            let mut connection = Connection::new(transport, shutdown);
            let end = match tokio::time::timeout_at(deadline, admit(&mut connection, &login, shared)).await {
                Ok(Ok(())) => serve(&mut connection, login, watched, shared).await,
                Ok(Err(error)) => error,
                Err(_) => WireError::Fatal(SqlError::new("08006", "canceling authentication due to timeout").fatal()),
            };
            finish(connection, end).await;
        }
    }
}

async fn finish(mut connection: Connection, end: WireError) {
    match end {
        WireError::Fatal(error) => {
            if connection.feed(error_response(&error)).is_ok() {
                connection.close().await;
            }
        }
        WireError::Gone => {}
        WireError::Socket(error) => eprintln!("a connection failed: {error}"),
    }
}

/// Agrees on the protocol and finds out who it is.
async fn admit(connection: &mut Connection, login: &Login, shared: &Shared) -> Result<(), WireError> {
    if login.minor > MINOR_MAX || !login.unknown_options.is_empty() {
        connection.feed(PgWireBackendMessage::NegotiateProtocolVersion(NegotiateProtocolVersion::new(
            PROTOCOL_MAX.min(3 << 16 | i32::from(login.minor)),
            login.unknown_options.clone(),
        )))?;
    }
    if shared.insecure {
        // Loopback without TLS: any user and database name connects, with full rights.
        return connection.feed(PgWireBackendMessage::Authentication(Authentication::Ok));
    }
    let certificate = shared.tls.as_ref().map(|tls| &*tls.certificate_pem);
    auth::authenticate(connection, &shared.logins, &login.user, certificate).await
}

/// Opens the session and serves it. A panic ends this connection and no other.
async fn serve(connection: &mut Connection, login: Login, watched: TcpStream, shared: &Arc<Shared>) -> WireError {
    let slot = match shared.session_starts() {
        Ok(slot) => slot,
        Err(error) => return WireError::Fatal(error),
    };
    let served = AssertUnwindSafe(converse_logged_in(connection, login, watched, shared)).catch_unwind().await;
    drop(slot);
    match served {
        Ok(end) => end,
        Err(_) => {
            connection.unseal();
            WireError::Fatal(internal_error())
        }
    }
}

async fn converse_logged_in(
    connection: &mut Connection,
    login: Login,
    watched: TcpStream,
    shared: &Arc<Shared>,
) -> WireError {
    let long_secret = login.minor >= MINOR_MAX;
    let options = ConnectOptions {
        user: login.user,
        database: login.database,
        settings: login.settings,
        secure: !shared.insecure,
    };
    let session = match shared.engine.connect(options) {
        Ok(session) => session,
        Err(error) => return WireError::Fatal(error.fatal()),
    };
    let eviction = connection.eviction();
    let cancel = session.cancel_flag();
    session.set_closer(Box::new(move || {
        eviction.evict();
        // It may be asleep in a statement.
        cancel.cancel();
    }));
    let pid = session.backend_id();
    let (secret, key) = match secret(long_secret) {
        Ok(secret) => secret,
        Err(error) => return WireError::Socket(error),
    };
    let registration = shared.registry.register(pid, secret, session.cancel_flag(), watched);
    for (name, value) in session.initial_parameters() {
        let message = PgWireBackendMessage::ParameterStatus(ParameterStatus::new(name, value));
        if let Err(error) = connection.feed(message) {
            return error;
        }
    }
    if let Err(error) = connection.feed(PgWireBackendMessage::BackendKeyData(BackendKeyData::new(pid, key))) {
        return error;
    }
    Handler::new(connection, session, registration).serve().await
}

/// A cancel secret: four bytes, or 32 from protocol 3.2 on.
fn secret(long: bool) -> io::Result<(Vec<u8>, SecretKey)> {
    if long {
        let secret = auth::random::<32>()?.to_vec();
        Ok((secret.clone(), SecretKey::Bytes(secret.into())))
    } else {
        let secret = auth::random::<4>()?;
        Ok((secret.to_vec(), SecretKey::I32(i32::from_be_bytes(secret))))
    }
}
