//! The operators: one file for each, with what it means, and its two forms beside each other.
//!
//! ```text
//!           once: rows at one time, pulled on the caller's thread          kept: changes over times, in a dataflow
//!
//! drivers   query ─▶ open ─▶ … ─▶ finish                                   render, over what delta feeds
//! given     once (rows, what a query shares)                              context (rows and errors, what a dataflow shares)
//!
//! leaves    access ─▶ get sweep ─▶ leaf_rows ─▶ leaf                         delta
//! rows      mfp in_list plain_filter table_function lookup_join           the same, delta::derived
//!           standing_columns
//! bags      bags join                                                      the same
//! groups    reduce top_k window                                           the same, over groups and ordered_groups
//! loops     recursion                                                     the same
//! the clock                                                               temporal
//! people    traversal ─▶ edge_join ─▶ witness                              what derives owners: transactions::ownership
//! measured  profile request_profile                                       rendered
//! ```
//! Both forms give the same rows; kernels that both need stand in the operator's file. Nothing here reads but through
//! `state::reader`, writes, or knows a session.

mod access;
pub mod bags;
pub mod context;
pub mod delta;
pub mod edge_join;
pub mod finish;
pub mod get;
pub mod groups;
mod held_groups;
pub mod in_list;
pub mod join;
pub mod leaf;
mod leaf_rows;
pub mod lookup_join;
pub mod mfp;
pub mod once;
pub mod open;
pub mod ordered_groups;
mod plain;
mod plain_filter;
pub mod plan;
pub mod profile;
pub mod query;
pub mod recursion;
pub mod reduce;
pub mod render;
pub mod rendered;
pub mod request_profile;
mod standing_columns;
mod sweep;
pub mod table_function;
pub mod temporal;
pub mod top_k;
pub mod traversal;
pub mod window;
pub mod witness;
