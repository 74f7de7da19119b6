//! `jsonb`: parsed JSON with PostgreSQL's key order, equality and text form.
use crate::Numeric;
use std::sync::Arc;

/// A JSON value. Object keys are unique and sorted as PostgreSQL sorts them (length, then bytes).
#[derive(Clone, Debug, PartialEq)]
pub enum Jsonb {
    /// null
    Null,
    /// true or false
    Bool(bool),
    /// A number, exact.
    Number(Numeric),
    /// A string.
    String(Arc<str>),
    /// An array.
    Array(Arc<[Jsonb]>),
    /// An object.
    Object(Arc<[(Arc<str>, Jsonb)]>),
}
