//! The operators: what a plan's nodes do, driven by a dataflow or pulled on the caller's thread.
//!
//! ```text
//! render      plans as dataflows, of one-shots and of views      timely and differential
//! one_shot    plans that run once                                chains of iterators, or a dataflow of their own
//! ```
//! Reads through `state::reader` only, writes nothing, and knows no session.

pub mod one_shot;
pub mod render;
