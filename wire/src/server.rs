//! Listens, gives each connection a thread while it has something to do, and stops all of them cleanly.
//!
//! The accept loop never evaluates anything. Connections are bounded: clients that have logged in by `connections_max`, those
//! that have not by what is left of it and a number on top; they have ten seconds each, and give way to others (`connections`). Whoever
//! says nothing has no thread.

use crate::admission::{Admission, AdmissionError, Denied, Required, WayIn};
use crate::auth::{self, Logins};
use crate::busy_wait::BusyWait;
use crate::cancel::CancelRegistry;
use crate::client_certificate::ShownCertificate;
use crate::client_socket::{ClientSocket, End};
use crate::connection::Connection;
use crate::connections::{Connected, Connections};
use crate::error::{WireError, crowded_out, error_response, internal_error};
use crate::failed_logins::{Attempt, FailedLogins};
use crate::handler::Handler;
use crate::limits::{self, LimitsError};
use crate::parking::{Conversation, Lot, until_readable};
use crate::reload::{Reload, reload};
use crate::rules::{Asked, Method};
use crate::shutdown::{self, Shutdown, ShutdownSwitch};
use crate::startup::{Arrival, Login, arrive};
use arc_swap::ArcSwap;
use engine::protocol::{AskedOfServer, Caller, Signals};
use engine::session::{ConnectOptions, Session};
use engine::{Engine, SqlError};
use futures::FutureExt;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::startup::{Authentication, BackendKeyData, NegotiateProtocolVersion, ParameterStatus, SecretKey};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// From the first byte to a session.
const AUTHENTICATION_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections beyond `connections_max`, so that there is always room for those that are on their way in, and cancel requests.
const ARRIVING_MAX: usize = 64;
/// Connections that the system keeps until they are accepted.
const BACKLOG: i32 = 1_024;
/// A client says something at once; whoever does not waits without a thread.
const FIRST_WORD: Duration = Duration::from_millis(5);
/// How long a stopping server waits for its connections.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// How often sockets of busy connections are looked at.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);
/// The newest protocol version, 3.2.
const MINOR_MAX: u16 = 2;
const PROTOCOL_MAX: i32 = 3 << 16 | MINOR_MAX as i32;

/// Whom `--known-names` lets in though no role is called so, as the first database is called so, too.
const FIRST_NAME: &str = "postgres";

/// How the server is reached.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The data folder: certificate and logins.
    pub data: PathBuf,
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Plain text, on loopback only.
    pub insecure: bool,
    /// Whether only those come in then whose names are known, and into databases that are there.
    pub known_names: bool,
    /// Files that say who may come in, where they are not the data folder's.
    pub way_in: WayIn,
    /// Sessions at once; as many as there are file descriptors for if nothing is said, but not more than `limits` says.
    pub connections_max: Option<usize>,
    /// How long a thread looks for its client's next message before it sleeps, where that takes nothing from others.
    pub awake: Duration,
}

/// Why the server does not start.
#[derive(Debug)]
pub enum ServerError {
    /// `--insecure` off loopback.
    InsecureAddress(SocketAddr),
    /// The address cannot be listened on, or the runtime not be made.
    Listen(SocketAddr, io::Error),
    /// More connections are to be taken than there can be.
    Limits(LimitsError),
    /// What says who may come in is not there, or not understood.
    Admission(AdmissionError),
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
            ServerError::Limits(error) => write!(f, "{error}"),
            ServerError::Admission(error) => write!(f, "{error}"),
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
    shutdown: Shutdown,
    runtime: Runtime,
}

// What every conversation needs.
struct Shared {
    engine: Arc<Engine>,
    door: Door,
    clients: Clients,
}

// Who may come in.
struct Door {
    /// None where everybody may.
    admission: Option<Arc<ArcSwap<Admission>>>,
    logins: Logins,
    failed_logins: FailedLogins,
    insecure: bool,
    known_names: bool,
    connections_max: usize,
}

// Who is there.
struct Clients {
    registry: Arc<CancelRegistry>,
    connections: Arc<Connections>,
    lot: Arc<Lot>,
    sessions: AtomicUsize,
    busy_wait: Arc<BusyWait>,
}

impl Server {
    /// Takes the port, makes certificate and logins if there are none.
    pub fn bind(config: &ServerConfig, engine: Arc<Engine>) -> Result<Server, ServerError> {
        if config.insecure && !config.listen.ip().is_loopback() {
            return Err(ServerError::InsecureAddress(config.listen));
        }
        let connections_max = limits::connections_max(config.connections_max).map_err(ServerError::Limits)?;
        let logins = Logins::open(&config.data).map_err(ServerError::Logins)?;
        let admission = match config.insecure {
            true => None,
            false => Some(admission(config, &engine)?),
        };
        let listen = |error| ServerError::Listen(config.listen, error);
        let listener = TcpListener::bind(config.listen).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        rustix::net::listen(&listener, BACKLOG).map_err(|error| listen(error.into()))?;
        let address = listener.local_addr().map_err(listen)?;
        let (switch, shutdown) = shutdown::channel();
        let (runtime, lot) = Lot::open().map_err(listen)?;
        let (failed_logins, insecure, known_names) = (FailedLogins::default(), config.insecure, config.known_names);
        let door = Door { admission, logins, failed_logins, insecure, known_names, connections_max };
        let clients = Clients {
            registry: Arc::default(),
            connections: Arc::new(Connections::new(connections_max + ARRIVING_MAX)),
            lot: Arc::new(lot),
            sessions: AtomicUsize::new(0),
            busy_wait: BusyWait::new(config.awake),
        };
        let shared = Arc::new(Shared { engine, door, clients });
        Ok(Server { listener, address, shared, switch, shutdown, runtime })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Reads again who may come in, from another thread.
    pub fn reload(&self) -> Reload {
        let engine = Arc::downgrade(&self.shared.engine);
        Box::new(move || engine.upgrade().is_some_and(|engine| engine.reload_login_rules()))
    }

    /// Stops it from another thread.
    pub fn switch(&self) -> ShutdownSwitch {
        self.switch.clone()
    }

    /// Serves until the switch is thrown, then until the connections are gone (at most ten seconds).
    pub fn run(self) -> Result<(), ServerError> {
        let Server { listener, address, shared, switch: _, mut shutdown, runtime } = self;
        let accepted = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            accept(&listener, &shared, &mut shutdown).await;
            Ok(())
        });
        accepted.map_err(|error| ServerError::Listen(address, error))?;
        shared.clients.connections.end_all(End::Shutdown);
        shared.clients.registry.cancel_all();
        // A statement that began while the flags were raised is reached by the next round.
        shared
            .clients
            .connections
            .wait_until_gone(STOP_TIMEOUT, WATCH_INTERVAL, || shared.clients.registry.cancel_all());
        runtime.shutdown_background();
        Ok(())
    }
}

/// Reads who may come in, now and whenever that is asked for.
fn admission(config: &ServerConfig, engine: &Engine) -> Result<Arc<ArcSwap<Admission>>, ServerError> {
    let read = Admission::load(&config.data, &config.way_in, None).map_err(ServerError::Admission)?;
    let admission = Arc::new(ArcSwap::from_pointee(read));
    let of_config = || (config.data.clone(), config.way_in.clone());
    let ((data, files), (of_maps, maps), (again, all)) = (of_config(), of_config(), of_config());
    let current = Arc::clone(&admission);
    engine.serve_login_rules(AskedOfServer {
        rules: Box::new(move || files.listed_rules(&data)),
        identities: Box::new(move || maps.listed_identities(&of_maps)),
        reload: Box::new(move || reload(&current, &again, &all)),
    });
    Ok(admission)
}

async fn accept(listener: &tokio::net::TcpListener, shared: &Arc<Shared>, shutdown: &mut Shutdown) {
    let mut watch = tokio::time::interval(WATCH_INTERVAL);
    watch.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = watch.tick() => {
                shared.clients.registry.cancel_abandoned();
                continue;
            }
            () = shutdown.requested() => return,
        };
        match accepted.and_then(|(socket, from)| Ok((socket.into_std()?, from.ip()))) {
            Ok((socket, from)) => {
                if let Err(error) = start(socket, from, shared) {
                    tracing::error!(target: "dogwood::connections", "could not start a connection's thread: {error}");
                }
            }
            Err(error) => {
                // Out of descriptors, mostly; the next attempt would fail as fast.
                tracing::error!(target: "dogwood::connections", "could not accept a connection: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

fn start(socket: TcpStream, from: IpAddr, shared: &Arc<Shared>) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    let socket = Arc::new(ClientSocket::new(socket, &shared.clients.busy_wait)?);
    let Some(connected) = shared.clients.connections.connect(&socket, from) else { return Ok(()) };
    let conversation = converse(Arc::clone(&socket), from, connected, Arc::clone(shared));
    let conversation: Conversation = Box::pin(conversation);
    shared.clients.lot.start(socket, conversation)
}

impl Shared {
    fn session_starts(self: &Arc<Self>) -> Result<SessionSlot, SqlError> {
        let mut current = self.clients.sessions.load(Ordering::Relaxed);
        loop {
            if current >= self.door.connections_max {
                return Err(SqlError::new("53300", "sorry, too many clients already").fatal());
            }
            match self.clients.sessions.compare_exchange_weak(current, current + 1, Ordering::AcqRel, Ordering::Relaxed)
            {
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
        self.0.clients.sessions.fetch_sub(1, Ordering::AcqRel);
    }
}

/// One connection's whole life.
async fn converse(socket: Arc<ClientSocket>, from: IpAddr, connected: Connected, shared: Arc<Shared>) {
    let deadline = Instant::now() + AUTHENTICATION_TIMEOUT;
    // What holds when it comes holds until it is in.
    let admission = shared.door.admission.as_ref().map(|admission| admission.load_full());
    if !socket.speaks_within(FIRST_WORD) && until_readable(&socket, deadline).await.is_err() {
        return;
    }
    // Who does not get as far as a startup packet is told nothing, as PostgreSQL does.
    match arrive(&socket, admission.as_ref().map(|admission| &admission.tls), deadline) {
        Err(_) => {}
        Ok(Arrival::Cancel { pid, secret }) => shared.clients.registry.cancel(pid, &secret),
        Ok(Arrival::Refused(transport, error)) => finish(Connection::new(transport), WireError::fatal(error)).await,
        Ok(Arrival::Login(transport, login)) => {
            let shown = admission.as_ref().map(|admission| admission.judge(transport.client_certificates()));
            let asked = admission.as_deref().zip(shown.as_ref());
            let mut connection = Connection::new(transport);
            let end = match admit(&mut connection, (&login, from), asked, &shared, deadline).await {
                Ok(_) if !connected.logged_in() => WireError::fatal(crowded_out()),
                Ok(by) => Box::pin(serve(&mut connection, login, (from, by), &shared)).await,
                Err(error) => {
                    if let WireError::Fatal(refusal) = &error
                        && refusal.code.starts_with("28")
                    {
                        shared.engine.reject(&login.user, from);
                    }
                    error
                }
            };
            finish(connection, end).await;
        }
    }
    // Last: once nobody is connected, the server has stopped.
    drop(connected);
}

async fn finish(mut connection: Connection, end: WireError) {
    match end {
        WireError::Fatal(error) => {
            if connection.feed(error_response(&error)).is_ok() {
                connection.close().await;
            }
        }
        WireError::Gone => {}
        WireError::Socket(error) => {
            tracing::warn!(target: "dogwood::connections", kind = ?error.kind(), "a connection failed");
        }
    }
}

/// Agrees on the protocol and finds out who it is. `asked`: what is asked of whoever comes, and the certificate that was shown;
/// none where nothing is. By what method, for the log.
async fn admit(
    connection: &mut Connection,
    (login, from): (&Login, IpAddr),
    asked: Option<(&Admission, &ShownCertificate)>,
    shared: &Shared,
    deadline: Instant,
) -> Result<&'static str, WireError> {
    if login.minor > MINOR_MAX || !login.unknown_options.is_empty() {
        connection.feed(PgWireBackendMessage::NegotiateProtocolVersion(NegotiateProtocolVersion::new(
            PROTOCOL_MAX.min(3 << 16 | i32::from(login.minor)),
            login.unknown_options.clone(),
        )))?;
    }
    let Some((admission, shown)) = asked else {
        // Loopback without TLS: any user and database name connects, with full rights.
        connection.feed(PgWireBackendMessage::Authentication(Authentication::Ok))?;
        return Ok("none");
    };
    let attempt = Attempt::new(from, &login.user);
    let to = connection.socket().local_address().unwrap_or(from);
    let (required, method) = decided(login, (from, to), (admission, shown), shared).map_err(|denied| {
        let known = shared.engine.has_login(&login.user);
        auth::tell(shared.door.failed_logins.refused(&denied.why, &attempt, known, Instant::now()), Duration::ZERO);
        WireError::fatal(denied.error.fatal())
    })?;
    match required {
        Required::Password => {
            let (logins, binding) = ((&shared.door.logins, &*shared.engine), admission.tls.binding.as_ref());
            auth::authenticate(connection, logins, &shared.door.failed_logins, &attempt, binding, deadline).await?;
        }
        Required::Nothing => connection.feed(PgWireBackendMessage::Authentication(Authentication::Ok))?,
    }
    Ok(method.name())
}

/// What a login has still to show, and by what method.
fn decided(
    login: &Login,
    (from, to): (IpAddr, IpAddr),
    (admission, shown): (&Admission, &ShownCertificate),
    shared: &Shared,
) -> Result<(Required, Method), Denied> {
    let asked = Asked {
        from,
        to,
        // Nobody else gets as far as a login here.
        encrypted: true,
        role: &login.user,
        database: &login.database,
        is_member: &|role| shared.engine.is_member(&login.user, role),
    };
    let (required, rule) = admission.decide(&asked, shown)?;
    if required == Required::Nothing && !shared.engine.has_login(&login.user) {
        // A certificate makes nobody a role: who is none would be the first here.
        let error = SqlError::new("28000", format!("role \"{}\" does not exist", login.user));
        return Err(Denied { why: "a client certificate of no role".to_string(), error: Box::new(error) });
    }
    Ok((required, rule.method))
}

/// Opens the session and serves it. A panic ends this connection and no other.
async fn serve(
    connection: &mut Connection,
    login: Login,
    came: (IpAddr, &'static str),
    shared: &Arc<Shared>,
) -> WireError {
    let slot = match shared.session_starts() {
        Ok(slot) => slot,
        Err(error) => return WireError::fatal(error),
    };
    let served = AssertUnwindSafe(converse_logged_in(connection, login, came, shared)).catch_unwind().await;
    drop(slot);
    match served {
        Ok(end) => end,
        Err(_) => {
            connection.unseal();
            WireError::fatal(internal_error())
        }
    }
}

/// How other sessions call, cancel and end this one.
fn reached_by_others(session: &Session, connection: &Connection) {
    let (caller, cut) = (Arc::clone(connection.socket()), Arc::clone(connection.socket()));
    session.set_caller(Caller { call: Box::new(move || caller.call()), cut: Box::new(move || cut.end(End::Unread)) });
    let (cancelled, terminated) = (Arc::clone(connection.socket()), Arc::clone(connection.socket()));
    let [cancel, terminate] = [session.cancel_flag(), session.cancel_flag()];
    session.set_signals(Signals {
        cancel: Box::new(move || {
            cancel.cancel();
            cancelled.place.wake();
        }),
        terminate: Box::new(move || {
            terminated.end(End::Terminated);
            terminate.cancel();
        }),
    });
}

async fn converse_logged_in(
    connection: &mut Connection,
    login: Login,
    (from, method): (IpAddr, &'static str),
    shared: &Arc<Shared>,
) -> WireError {
    let long_secret = login.minor >= MINOR_MAX;
    let role = login.user.clone();
    if shared.door.known_names && role != FIRST_NAME && !shared.engine.has_login(&role) {
        return WireError::fatal(SqlError::new("28000", format!("role \"{role}\" does not exist")).fatal());
    }
    let options = ConnectOptions {
        user: login.user,
        database: login.database,
        any_database: shared.door.insecure && !shared.door.known_names,
        settings: login.settings,
        secure: !shared.door.insecure,
        connection: connection.listed(from),
    };
    // Whom an open door lets in calls itself what it likes.
    let role = if shared.door.insecure { "" } else { &*role };
    let session = match shared.engine.connect(options) {
        Ok(session) => session,
        Err(error) => {
            tracing::info!(target: "dogwood::logins", code = error.code, role, "refused a session");
            return WireError::fatal(error.fatal());
        }
    };
    let socket = Arc::clone(connection.socket());
    let cancel = session.cancel_flag();
    session.set_closer(Box::new(move || {
        // It may be asleep in a statement.
        cancel.cancel();
        socket.end(End::Evicted);
    }));
    reached_by_others(&session, connection);
    let pid = session.backend_id();
    let (secret, key) = match secret(long_secret) {
        Ok(secret) => secret,
        Err(error) => return WireError::Socket(error),
    };
    let registration =
        shared.clients.registry.register(pid, secret, session.cancel_flag(), Arc::clone(connection.socket()));
    for (name, value) in session.initial_parameters() {
        if name == "client_encoding" {
            connection.speak(&value);
        }
        let message = PgWireBackendMessage::ParameterStatus(ParameterStatus::new(name, value));
        if let Err(error) = connection.feed(message) {
            return error;
        }
    }
    if let Err(error) = connection.feed(PgWireBackendMessage::BackendKeyData(BackendKeyData::new(pid, key))) {
        return error;
    }
    let [begin, end] = session.logs_connections();
    let began = Instant::now();
    if begin {
        tracing::info!(target: "dogwood::connections", backend = pid, role, address = %from, method, "connected");
    }
    let served = Handler::new(connection, session, registration).serve().await;
    if end {
        let connected_s = began.elapsed().as_secs_f64();
        tracing::info!(target: "dogwood::connections", backend = pid, role, connected_s, "disconnected");
    }
    served
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
