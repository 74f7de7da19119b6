//! A server in this process, on a port of its own, over a fresh data folder.

use crate::client::Client;
use engine::Engine;
use engine::config::Config;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;
use wire::admission::WayIn;
use wire::server::{Server, ServerConfig};
use wire::shutdown::ShutdownSwitch;

/// A running server.
pub struct Running {
    /// Where.
    pub address: SocketAddr,
    /// The controller's password.
    pub password: String,
    /// Stops it.
    pub switch: ShutdownSwitch,
    thread: Option<JoinHandle<()>>,
    engine: Arc<Engine>,
    data: PathBuf,
}

/// A data folder that nobody else uses.
pub fn data_folder() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let data = std::env::temp_dir().join(format!("dogwood-wire-{}-{number}", std::process::id()));
    // A process of this number may have ended before it could remove its own.
    let _gone = std::fs::remove_dir_all(&data);
    std::fs::create_dir_all(&data).expect("data folder");
    data
}

/// Starts a server.
pub fn start(insecure: bool) -> Running {
    let data = data_folder();
    let engine = Engine::open(Config::new(data.clone())).expect("engine opens");
    let config = ServerConfig {
        data: data.clone(),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        insecure,
        known_names: false,
        way_in: WayIn::default(),
        connections_max: Some(40),
        awake: Duration::from_micros(50),
    };
    let server = Server::bind(&config, Arc::clone(&engine)).expect("server binds");
    let (address, switch) = (server.address(), server.switch());
    let password = std::fs::read_to_string(data.join("controller.secret")).expect("secret").trim_end().to_string();
    let thread = std::thread::spawn(move || server.run().expect("server runs"));
    Running { address, password, switch, thread: Some(thread), engine, data }
}

/// The shared server, in plain text.
pub fn shared() -> &'static Running {
    static SHARED: OnceLock<Running> = OnceLock::new();
    SHARED.get_or_init(|| start(true))
}

/// A logged-in connection to the shared server.
pub fn connect() -> Client {
    let server = shared();
    Client::login(server.address, "controller", &server.password).expect("login")
}

impl Running {
    /// Waits until it has stopped.
    pub fn join(mut self) {
        self.thread.take().expect("joined once").join().expect("the server did not panic");
        self.engine.shutdown().expect("everything is durable");
        std::fs::remove_dir_all(&self.data).expect("data folder removed");
    }
}
