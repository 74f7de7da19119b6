//! The one signal that says: stop. Who accepts connections listens to it, and ends them.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Raises the signal.
#[derive(Clone)]
pub struct ShutdownSwitch {
    sender: watch::Sender<bool>,
}

/// Waits for it.
#[derive(Clone)]
pub struct Shutdown {
    receiver: watch::Receiver<bool>,
}

/// A switch and its first listener.
pub fn channel() -> (ShutdownSwitch, Shutdown) {
    let (sender, receiver) = watch::channel(false);
    (ShutdownSwitch { sender }, Shutdown { receiver })
}

impl ShutdownSwitch {
    /// Tells everyone, once and for all.
    pub fn stop(&self) {
        self.sender.send_replace(true);
    }
}

impl Shutdown {
    /// Returns when the server is to stop; a dropped switch counts as that.
    pub async fn requested(&mut self) {
        // The error means that the switch is gone, and with it the server.
        drop(self.receiver.wait_for(|stop| *stop).await);
    }
}

/// SIGTERM and SIGINT, caught from when this is made.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Catches them; needs a runtime.
    pub fn listen() -> std::io::Result<Signals> {
        Ok(Signals { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Returns at the next one.
    pub async fn arrive(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
