//! Casts: which exist, in which context, and how they are evaluated.

mod common;
mod evaluate;
mod matrix;

pub(crate) use common::{select_common_type, select_common_type_for};
pub(crate) use evaluate::{local_to_utc, utc_to_local};
pub(crate) use matrix::{can_coerce, plan_cast};

use repr::ScalarType;
pub(crate) use repr::datetime::arithmetic::{date_to_timestamp, timestamp_to_date};

/// How a value of one type becomes one of another; made by `plan_cast`, run by `Cast::evaluate`.
#[derive(Clone, Debug, PartialEq)]
pub struct Cast {
    /// The type that is cast.
    pub from: ScalarType,
    /// What is done.
    pub method: CastMethod,
    /// Written by the user: too long strings are cut silently.
    pub explicit: bool,
}

/// The ways of casting.
#[derive(Clone, Debug, PartialEq)]
pub enum CastMethod {
    /// Same representation; only the modifier is applied.
    Relabel,
    /// Among numbers, oids, booleans, money and strings of bits.
    Number,
    /// Among dates, times and intervals.
    DateTime,
    /// Text is parsed.
    Input,
    /// The text form as a cast gives it: booleans are words, addresses have their length.
    Output,
    /// The text form as the type's output function gives it: what `concat` and `format` see.
    Print,
    /// inet to cidr, the network alone; among addresses of interfaces.
    Network,
    /// A range to the multirange that is made of it.
    Range,
    /// One shape to another: a box to its middle.
    Shape,
    /// json to jsonb, jsonb to json and to scalars.
    Json,
    /// An array of texts to hstore, hstore to json and jsonb.
    Hstore,
    /// Each element of an array.
    Elements(Box<Cast>),
    /// The elements of an array in turns, as keys and values of an object that is built.
    Pairs(Box<(Cast, Cast)>),
    /// As `to_json` (not parsing text); to json or jsonb.
    ToJson,
    /// The OID of the type itself: `pg_typeof`.
    TypeOf,
}

/// When a cast may be applied without being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastContext {
    /// In expressions.
    Implicit,
    /// When a value is stored in a column.
    Assignment,
    /// Only where written: CAST or `::`.
    Explicit,
}
