//! Writing: transactions, what their rows must keep, whose rows they are, and the one way to durability.
//!
//! ```text
//! transaction ─▶ writer dml foreign_key unique ddl ─▶ ownership ─▶ commit ─▶ receipt, request
//! ```
//! `database` is what all sessions share, `memory` where its memory is. Never sees a statement's text.

pub mod commit;
pub mod database;
pub mod ddl;
mod index_builds;
pub mod key_text;
pub mod memory;
pub mod modes;
pub mod ownership;
pub mod receipt;
pub mod transaction;
pub mod unknown_subject;
pub mod writer;
