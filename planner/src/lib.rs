//! The planner: (SQL, catalog) → plan. Pure: no clock, no threads, no I/O.
//!
//! A statement's trip: `parse` (text → our statement) → `resolve` (names and types → `hir`) → `lower`
//! (subqueries → joins, `mir`) → `transform` → `physical` (→ `plan`). `ownership` holds the data
//! ownership graph; `explain` prints every rung.

pub mod catalog;
pub mod error;
pub mod explain;
pub mod hir;
pub mod lower;
pub mod mir;
pub mod ownership;
pub mod parse;
pub mod physical;
pub mod plan;
pub mod planned;
pub mod resolve;
pub mod scalar;
pub mod system;
pub mod transform;

pub use planned::{Planned, plan_statement};
