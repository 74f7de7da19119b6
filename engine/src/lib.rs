//! The engine: sessions, transactions, the commit pipeline, ownership, dataflows, subject requests.
//!
//! It never sees a socket (that is `wire`) and never SQL text beyond handing it to the planner. Everything is
//! synchronous: a connection's thread evaluates its own statements; one commit thread orders all writes.

pub mod error;
pub mod one_shot;
pub mod protocol;
pub mod reader;
pub mod render;

pub use error::SqlError;
