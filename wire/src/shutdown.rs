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

/// SIGTERM, SIGINT and SIGHUP, caught from when this is made.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    reload: Signal,
}

impl Signals {
    /// Catches them; needs a runtime.
    pub fn listen() -> std::io::Result<Signals> {
        let [terminate, interrupt, reload] =
            [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        Ok(Signals { terminate: terminate?, interrupt: interrupt?, reload: reload? })
    }

    /// Returns at the next one that says stop. At each SIGHUP before it, `reload` is called.
    pub async fn arrive(&mut self, reload: impl Fn()) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.reload.recv() => reload(),
            }
        }
    }
}
