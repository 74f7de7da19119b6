//! The wire: PostgreSQL's protocol in front of the engine. Sockets, encryption, authentication, formats, COPY.
//!
//! ```text
//! server ── a thread, while it has work ──▶ startup ─▶ admission ─▶ auth ─▶ handler ──▶ engine::Session
//!                                          (tls)       (rules)              │  ▲
//!                                                                   decode ◀┘  └▶ encode, types, copy
//! ```
//! Knows no SQL and keeps no data of its own but logins and certificates. The engine's calls block, and may: each
//! thread drives its own socket, so nothing stands between a message's arrival and its evaluation. Who only waits needs no thread (`parking`).

pub mod admission;
pub mod auth;
pub mod busy_wait;
pub mod cancel;
pub mod client_certificate;
pub mod client_socket;
pub mod connection;
pub mod connections;
pub mod control;
pub mod copy;
pub mod decode;
pub mod encode;
pub mod error;
pub mod failed_logins;
pub mod handler;
mod identities;
pub mod import;
mod incoming_memory;
pub mod limits;
pub mod lint;
pub mod mask;
pub mod parking;
pub mod reload;
pub mod report;
mod rules;
pub mod server;
pub mod shutdown;
pub mod startup;
pub mod tls;
mod transcode;
pub mod transport;
pub mod types;
