//! What is asked of a document: `tsquery`.
//!
//! ```text
//! a & b | !c      |  left=3
//!                 !            right operands stand right behind their operator,
//!                 'c'          left ones `left` items behind it
//!                 &  left=2
//!                 'b'
//!                 'a'
//! ```
//!
//! Long queries are deep on the left: whatever walks over one loops there, and recurses to the right only, at most `DEPTH_MAX` deep.

mod binary;
mod matching;
pub mod parse;
mod polish;
mod text;

pub use matching::{Document, Found};
pub use parse::{Form, parse};
pub use polish::Polish;

use crate::ValueError;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How deep a query may be nested to the right.
const DEPTH_MAX: usize = 1000;
/// The farthest that words of a phrase may stand apart.
const DISTANCE_MAX: i64 = 1 << 14;

/// Two queries are joined so, or one is turned round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `!`
    Not,
    /// `&`
    And,
    /// `|`
    Or,
    /// `<->`, `<distance>`
    Phrase(u16),
}

impl Operator {
    /// Its number, in binary and in the order of queries.
    fn code(self) -> u8 {
        match self {
            Operator::Not => 1,
            Operator::And => 2,
            Operator::Or => 3,
            Operator::Phrase(_) => 4,
        }
    }

    /// How many operands it has, and the distance of a phrase.
    pub(crate) fn shape(self) -> (u8, u16) {
        match self {
            Operator::Not => (1, 0),
            Operator::And | Operator::Or => (2, 0),
            Operator::Phrase(distance) => (2, distance),
        }
    }

    /// How strongly it binds.
    fn priority(self) -> u8 {
        match self {
            Operator::Or => 1,
            Operator::And => 2,
            Operator::Phrase(_) => 3,
            Operator::Not => 4,
        }
    }
}

/// A lexeme that is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The lexeme.
    pub lexeme: Arc<str>,
    /// A bit for each weight that it may have; 0 for any.
    pub weights: u8,
    /// Whether lexemes that begin so are meant, too.
    pub is_prefix: bool,
}

/// An operator or an operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryItem {
    /// A lexeme.
    Operand(Operand),
    /// What joins others.
    Operator {
        /// How.
        operator: Operator,
        /// How far behind it the left operand stands; 1 for `!`, which has one operand.
        left: u32,
    },
}

/// A query. Cloning shares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TsQuery(Arc<[QueryItem]>);

impl TsQuery {
    /// The one that asks for nothing, and finds nothing.
    pub fn empty() -> TsQuery {
        TsQuery(Arc::from([]))
    }

    /// Its items, each operator before its right operand, that before the left one.
    pub fn items(&self) -> &[QueryItem] {
        &self.0
    }

    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lexemes in it, with where they stand.
    pub fn operands(&self) -> impl Iterator<Item = (usize, &Operand)> {
        self.0.iter().enumerate().filter_map(|(index, item)| match item {
            QueryItem::Operand(operand) => Some((index, operand)),
            QueryItem::Operator { .. } => None,
        })
    }

    /// About how much it holds.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.0) + self.lexeme_bytes()
    }

    /// What all lexemes take, each with a zero byte.
    pub(crate) fn lexeme_bytes(&self) -> usize {
        self.operands().map(|(_, operand)| operand.lexeme.len() + 1).sum()
    }

    /// Both joined; of one that is empty nothing is left.
    ///
    /// # Errors
    /// 54001 if it is nested too deep.
    pub fn joined(&self, operator: Operator, other: &TsQuery) -> Result<TsQuery, ValueError> {
        if self.is_empty() || other.is_empty() {
            return Ok(if self.is_empty() { other.clone() } else { self.clone() });
        }
        let mut polish = Polish::default();
        polish.push_query(self);
        polish.push_query(other);
        polish.push_operator(operator);
        polish.finish()
    }

    /// `!!`
    ///
    /// # Errors
    /// 54001 if it is nested too deep.
    pub fn negated(&self) -> Result<TsQuery, ValueError> {
        if self.is_empty() {
            return Ok(self.clone());
        }
        let mut polish = Polish::default();
        polish.push_query(self);
        polish.push_operator(Operator::Not);
        polish.finish()
    }

    /// What has to be found, whatever else: without what is negated. None if that is nothing.
    ///
    /// # Errors
    /// As for all that is made.
    pub fn positive(&self) -> Result<Option<TsQuery>, ValueError> {
        let mut polish = Polish::default();
        polish.push_query(self);
        let positive = polish.without_negated()?;
        Ok(Some(positive).filter(|query| !query.is_empty()))
    }

    /// `@>`: whether all lexemes of the other are in it.
    pub fn contains(&self, other: &TsQuery) -> bool {
        self.lexemes().is_superset(&other.lexemes())
    }

    fn lexemes(&self) -> BTreeSet<&str> {
        self.operands().map(|(_, operand)| &*operand.lexeme).collect()
    }

    /// SQL's order, in which weights and `:*` do not count: by how many items there are, their bytes, then item by item.
    pub fn sql_cmp(&self, other: &TsQuery) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ordering::Equal;
        }
        crate::key::query_code(self).cmp(&crate::key::query_code(other))
    }
}

/// PostgreSQL's checksum of lexemes, by which they are ordered: CRC-32 with a table of the one direction, shifted in the other.
pub(crate) fn checksum(lexeme: &str) -> i32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let (mut value, mut bit) = (index as u32, 0);
            while bit < 8 {
                value = if value & 1 == 1 { 0xEDB8_8320 ^ value >> 1 } else { value >> 1 };
                bit += 1;
            }
            table[index] = value;
            index += 1;
        }
        table
    };
    let sum = lexeme.bytes().fold(u32::MAX, |sum, byte| TABLE[usize::from((sum >> 24) as u8 ^ byte)] ^ sum << 8);
    (sum ^ u32::MAX) as i32
}

/// The code of an operator in a key: greater ones come first.
pub(crate) fn key_code(operator: Operator) -> u8 {
    u8::MAX - operator.code()
}
