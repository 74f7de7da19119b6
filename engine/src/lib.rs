//! The engine: sessions, transactions, the commit pipeline, ownership, dataflows, subject requests.
//!
//! It never sees a socket (that is `wire`) and never SQL text beyond handing it to the planner. Everything is
//! synchronous: a connection's thread evaluates its own statements; one commit thread orders all writes.

pub mod account;
pub mod answer;
pub mod cancel;
pub mod check;
mod clock;
mod commit;
pub mod config;
mod database;
mod ddl;
mod engine;
pub mod error;
mod fate;
mod help;
mod holders;
mod keeper;
mod known;
mod layered;
mod locks;
mod marks;
pub mod memory;
pub mod notice;
pub mod one_shot;
mod overlay;
mod ownership;
mod patience;
pub mod protocol;
mod published;
pub mod reader;
mod recall;
pub mod render;
mod sar;
mod sequence;
pub mod session;
mod settings;
mod shape;
mod system;
mod templates;
mod transaction;
pub mod view;
mod write;

pub use engine::Engine;
pub use error::SqlError;
pub use storage::Mode;
pub use storage::audit::{CapsuleSummary, ReceiptSummary, VerifyError, verify_capsule, verify_receipt};
