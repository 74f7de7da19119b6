//! Functions and procedures that somebody created: called from expressions, from FROM, by CALL and DO.
//!
//! ```text
//! query ─▶ operators ─▶ expression ─▶ call ─▶ Lent ─▶ the session itself, lent for as long as the query runs
//!   ▲                                                     │ statements of the body, each as any other:
//!   └──────────────── what it gave ◀──────────────────────┘ planned, permitted, recorded, of the same transaction
//! ```
//! A query that calls functions is evaluated whole before the first row is given, so that nobody else uses the session meanwhile.
//! A body's statements are of the role that calls. Values live in the session's memory, and go with the call.

mod assign;
mod call;
mod compiled;
mod cursors;
mod frame;
mod inner;
mod lent;
mod loops;
mod queries;
mod raise;
mod result;
mod sql_body;
mod steps;
mod trigger;

pub use compiled::KnownBodies;
pub use lent::{Lending, Lent};
