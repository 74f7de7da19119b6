//! A small catalog for planner tests: a link board with users, stories, votes, tags and comments.

pub mod catalog;
pub mod interpreter;
