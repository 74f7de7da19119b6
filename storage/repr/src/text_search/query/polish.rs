//! Queries as they are made: operands first, then what joins them. Words that are left out, and what that makes of the rest.

use super::super::LEXEME_BYTES_END;
use super::{DEPTH_MAX, Operand, Operator, QueryItem, TsQuery};
use crate::{ValueError, poll};
use std::sync::Arc;

/// Where the last operand may begin.
const OPERANDS_START_MAX: usize = (1 << 20) - 1;

/// A query with its operators behind their operands, left before right.
#[derive(Debug, Default)]
pub struct Polish {
    nodes: Vec<QueryNode>,
    /// What the lexemes take, each with a zero byte.
    bytes: usize,
    /// What is read, for errors.
    source: String,
}

#[derive(Clone, Debug)]
enum QueryNode {
    Operand(Operand),
    Operator(Operator),
    /// A word that is not looked for.
    Stop,
}

/// A part that was walked over: where its nodes begin, if some are left, and what phrases around it have to make up for.
struct WalkedPart {
    start: Option<usize>,
    left_gap: u16,
    right_gap: u16,
}

impl Polish {
    pub(super) fn of(source: &str) -> Polish {
        Polish { source: source.to_owned(), ..Polish::default() }
    }

    /// Whether nothing was pushed.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A lexeme.
    ///
    /// # Errors
    /// 54000 if it is too long, or if there are too many.
    pub fn push_operand(&mut self, lexeme: &str, weights: u8, is_prefix: bool) -> Result<(), ValueError> {
        poll::bytes(lexeme.len())?;
        if lexeme.len() > LEXEME_BYTES_END {
            return Err(ValueError::new("54000", format!("word is too long in tsquery: \"{}\"", self.source)));
        }
        if self.bytes > OPERANDS_START_MAX {
            return Err(ValueError::new("54000", format!("value is too big in tsquery: \"{}\"", self.source)));
        }
        self.bytes += lexeme.len() + 1;
        self.nodes.push(QueryNode::Operand(Operand { lexeme: Arc::from(lexeme), weights, is_prefix }));
        Ok(())
    }

    /// What joins the last two parts, or turns the last one round.
    pub fn push_operator(&mut self, operator: Operator) {
        self.nodes.push(QueryNode::Operator(operator));
    }

    /// A word that is not looked for, but has its place.
    pub fn push_stop(&mut self) {
        self.nodes.push(QueryNode::Stop);
    }

    pub(super) fn push_query(&mut self, query: &TsQuery) {
        self.nodes.extend(query.items().iter().rev().map(|item| match item {
            QueryItem::Operand(operand) => QueryNode::Operand(operand.clone()),
            QueryItem::Operator { operator, .. } => QueryNode::Operator(*operator),
        }));
    }

    /// The query, without the words that are not looked for.
    ///
    /// # Errors
    /// 54001 if it is nested too deep; XX000 if operands are missing.
    pub fn finish(mut self) -> Result<TsQuery, ValueError> {
        if self.nodes.iter().any(|node| matches!(node, QueryNode::Stop)) {
            self.drop_stops()?;
        }
        self.ordered()
    }

    /// Operators before their operands, each knowing where they are.
    fn ordered(self) -> Result<TsQuery, ValueError> {
        // Of each part so far: how many items, and how deep to the right.
        let mut parts: Vec<(u32, usize)> = Vec::new();
        let mut items = Vec::with_capacity(self.nodes.len());
        for node in self.nodes {
            poll::step()?;
            let (item, part) = match node {
                QueryNode::Operand(operand) => (QueryItem::Operand(operand), (1, 1)),
                QueryNode::Stop => return Err(malformed()),
                QueryNode::Operator(Operator::Not) => {
                    let (count, depth) = parts.pop().ok_or_else(malformed)?;
                    (QueryItem::Operator { operator: Operator::Not, left: 1 }, (count + 1, depth + 1))
                }
                QueryNode::Operator(operator) => {
                    let (right, right_depth) = parts.pop().ok_or_else(malformed)?;
                    let (left, left_depth) = parts.pop().ok_or_else(malformed)?;
                    let item = QueryItem::Operator { operator, left: right + 1 };
                    (item, (left + right + 1, left_depth.max(right_depth + 1)))
                }
            };
            if part.1 > DEPTH_MAX {
                return Err(too_deep());
            }
            parts.push(part);
            items.push(item);
        }
        if parts.len() > 1 {
            return Err(ValueError::new("XX000", "malformed tsquery: extra nodes"));
        }
        items.reverse();
        Ok(TsQuery(Arc::from(items)))
    }

    /// A phrase around a word that is left out keeps the distance.
    fn drop_stops(&mut self) -> Result<(), ValueError> {
        let mut kept = Vec::with_capacity(self.nodes.len());
        let mut parts: Vec<WalkedPart> = Vec::new();
        for node in self.nodes.drain(..) {
            poll::step()?;
            let part = match node {
                QueryNode::Operand(_) => {
                    kept.push(node);
                    WalkedPart { start: Some(kept.len() - 1), left_gap: 0, right_gap: 0 }
                }
                QueryNode::Stop => WalkedPart { start: None, left_gap: 0, right_gap: 0 },
                QueryNode::Operator(Operator::Not) => {
                    let part = parts.pop().ok_or_else(malformed)?;
                    if part.start.is_some() {
                        kept.push(node);
                    }
                    part
                }
                QueryNode::Operator(operator) => {
                    let right = parts.pop().ok_or_else(malformed)?;
                    let left = parts.pop().ok_or_else(malformed)?;
                    join(&mut kept, operator, &left, &right)
                }
            };
            parts.push(part);
        }
        self.nodes = kept;
        Ok(())
    }

    /// Without what is negated, and what that leaves nothing to look for of.
    pub(super) fn without_negated(mut self) -> Result<TsQuery, ValueError> {
        let mut kept: Vec<QueryNode> = Vec::with_capacity(self.nodes.len());
        // Where each part begins, if something is left of it.
        let mut parts: Vec<Option<usize>> = Vec::new();
        for node in self.nodes.drain(..) {
            poll::step()?;
            let part = match node {
                QueryNode::Operand(_) => {
                    kept.push(node);
                    Some(kept.len() - 1)
                }
                QueryNode::Stop => None,
                QueryNode::Operator(Operator::Not) => {
                    if let Some(start) = parts.pop().ok_or_else(malformed)? {
                        kept.truncate(start);
                    }
                    None
                }
                QueryNode::Operator(operator) => {
                    let right = parts.pop().ok_or_else(malformed)?;
                    let left = parts.pop().ok_or_else(malformed)?;
                    match (left, right) {
                        (Some(_), Some(_)) => {
                            kept.push(node);
                            left
                        }
                        (Some(start), None) | (None, Some(start)) if operator == Operator::Or => {
                            kept.truncate(start);
                            None
                        }
                        (left, right) => left.or(right),
                    }
                }
            };
            parts.push(part);
        }
        self.nodes = kept;
        self.ordered()
    }
}

/// Two parts, of which one or both may be gone.
fn join(kept: &mut Vec<QueryNode>, operator: Operator, left: &WalkedPart, right: &WalkedPart) -> WalkedPart {
    let distance = match operator {
        Operator::Phrase(distance) => Some(distance),
        Operator::Not | Operator::And | Operator::Or => None,
    };
    let with_own = |one: u16, other: u16| one.saturating_add(distance.unwrap_or(0)).saturating_add(other);
    match (left.start, right.start) {
        (None, None) => {
            let gap = match distance {
                Some(_) => with_own(left.left_gap, right.left_gap),
                None => left.left_gap.max(right.left_gap),
            };
            WalkedPart { start: None, left_gap: gap, right_gap: gap }
        }
        (None, start) => {
            let left_gap = if distance.is_some() { with_own(left.left_gap, right.left_gap) } else { right.left_gap };
            WalkedPart { start, left_gap, right_gap: right.right_gap }
        }
        (start, None) => {
            let right_gap = if distance.is_some() { with_own(left.right_gap, right.right_gap) } else { left.right_gap };
            WalkedPart { start, left_gap: left.left_gap, right_gap }
        }
        (start, Some(_)) => {
            kept.push(QueryNode::Operator(match distance {
                Some(_) => Operator::Phrase(with_own(left.right_gap, right.left_gap)),
                None => operator,
            }));
            let gap = |gap| if distance.is_some() { gap } else { 0 };
            WalkedPart { start, left_gap: gap(left.left_gap), right_gap: gap(right.right_gap) }
        }
    }
}

fn malformed() -> ValueError {
    ValueError::new("XX000", "malformed tsquery: operand not found")
}

pub(super) fn too_deep() -> ValueError {
    ValueError::new("54001", "stack depth limit exceeded")
}
