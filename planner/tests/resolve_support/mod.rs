//! What the planner's golden tests share.

pub mod catalog;
pub mod print;
