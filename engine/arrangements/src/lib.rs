//! What is held in order: rows by key in differential's batches, flat and shared, and entries in a tree of our own.
//!
//! ```text
//! arrangement shared offsets times totals    batches: their layout, readable on any thread
//! ordered_row key_columns                    what stands in a value, and what the key says already
//! inner merging meter log                    groups of times in total order; when batches are merged; what is held
//! ordered_set                                byte strings in order, copied where they change
//! ```
//! Knows no plan but an ORDER BY, and no dataflow's operators.

pub mod arrangement;
pub mod inner;
pub mod key_columns;
pub mod log;
pub mod merging;
pub mod meter;
pub mod offsets;
pub mod ordered_row;
pub mod ordered_set;
pub mod shared;
pub mod time;
pub mod times;
pub mod totals;
