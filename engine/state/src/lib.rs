//! What a statement stands on: one commit's snapshot of leaves and views, its own changes over it, locks, settings, its account.
//!
//! ```text
//! published shape view_states statistics      what all read: leaves, compiled catalog and views as of one commit
//! reader layered_snapshot overlay read_memo   how it is read: one interface, with a transaction's own changes on top
//! locks validation ownership_hints            who may write what; what a derivation stands on
//! row_sayings                                 what a row says of itself, for the registers
//! temporary                                   what a session has for itself
//! snapshot_holders transaction_fate           who reads which snapshot, and what an erasure may end
//! audit                                       what it read and wrote, for the log
//! account interrupt cancel time_budget        what ends a statement
//! parallel                                    a second thread's help
//! activity progress                           what sessions are at, and how far, for others to see
//! settings config sequence clock              what is set, counted and told
//! login_rules                                 whom the server lets in
//! answer even_answer error notice             what goes back to the client, and when
//! ```
//! Runs no operator, and writes nothing.

pub mod account;
pub mod activity;
pub mod answer;
pub mod audit;
pub mod cancel;
pub mod clock;
pub mod config;
pub mod error;
pub mod even_answer;
pub mod exported_snapshots;
pub mod interrupt;
pub mod layered_snapshot;
pub mod locks;
pub mod login_rules;
pub mod notice;
pub mod notifications;
pub mod order_entries;
pub mod overlay;
pub mod ownership_hints;
pub mod parallel;
pub mod progress;
pub mod published;
pub mod read_memo;
pub mod reader;
pub mod row_sayings;
pub mod sequence;
pub mod settings;
pub mod settled_people;
pub mod shape;
pub mod snapshot_holders;
pub mod statistics;
pub mod table_statistics;
pub mod temporary;
pub mod time_budget;
pub mod transaction_fate;
pub mod unwritten_requests;
pub mod usage;
pub mod validation;
pub mod view_states;

pub use error::SqlError;
