//! Queries as PostgreSQL sends them.
//!
//! ```text
//! u32 how many items; each, operators before their operands, right before left:
//! 01, weights, whether it is a prefix, the lexeme, 00
//! 02, operator, u16 distance (of phrases only)
//! ```

use super::super::{LEXEME_BYTES_END, ended, malformed, take, take_text};
use super::{Operand, Operator, Polish, QueryItem, TsQuery};
use crate::{ValueError, poll};

const OPERAND: u8 = 1;
const OPERATOR: u8 = 2;

impl TsQuery {
    /// Appends what is sent.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.items().len() as u32).to_be_bytes());
        for item in self.items() {
            match item {
                QueryItem::Operand(operand) => {
                    out.extend_from_slice(&[OPERAND, operand.weights, u8::from(operand.is_prefix)]);
                    out.extend_from_slice(operand.lexeme.as_bytes());
                    out.push(0);
                }
                QueryItem::Operator { operator, .. } => {
                    out.extend_from_slice(&[OPERATOR, operator.code()]);
                    if let Operator::Phrase(distance) = operator {
                        out.extend_from_slice(&distance.to_be_bytes());
                    }
                }
            }
        }
    }

    /// Reads what was sent.
    ///
    /// # Errors
    /// XX000, 08P01, 22021 or 22P03 for what is no query, 54001 for one that is nested too deep.
    pub fn decode(mut bytes: &[u8]) -> Result<TsQuery, ValueError> {
        let count = u32::from_be_bytes(take(&mut bytes)?);
        let mut items = Vec::new();
        for index in 0..count {
            poll::step()?;
            let [kind] = take(&mut bytes)?;
            items.push(match kind {
                OPERAND => SentItem::Operand(operand(&mut bytes)?),
                OPERATOR => {
                    let [code] = take(&mut bytes)?;
                    let operator = match code {
                        1 => Operator::Not,
                        2 => Operator::And,
                        3 => Operator::Or,
                        4 => Operator::Phrase(0),
                        _ => return Err(unrecognized("invalid tsquery: unrecognized operator type", code)),
                    };
                    if index + 1 == count {
                        return Err(malformed("invalid pointer to right operand"));
                    }
                    SentItem::Operator(match operator {
                        Operator::Phrase(_) => Operator::Phrase(u16::from_be_bytes(take(&mut bytes)?)),
                        other => other,
                    })
                }
                other => return Err(unrecognized("unrecognized tsquery node type:", other)),
            });
        }
        ended(bytes)?;
        let mut polish = Polish::default();
        for item in items.into_iter().rev() {
            match item {
                SentItem::Operand(operand) => {
                    polish.push_operand(&operand.lexeme, operand.weights, operand.is_prefix)?;
                }
                SentItem::Operator(operator) => polish.push_operator(operator),
            }
        }
        polish.finish()
    }
}

/// An item without a place.
enum SentItem {
    Operand(Operand),
    Operator(Operator),
}

fn operand(bytes: &mut &[u8]) -> Result<Operand, ValueError> {
    let [weights, is_prefix] = take(bytes)?;
    let lexeme = take_text(bytes)?;
    if weights > 0xF {
        return Err(malformed("invalid tsquery: invalid weight bitmap"));
    }
    if lexeme.len() > LEXEME_BYTES_END {
        return Err(malformed("invalid tsquery: operand too long"));
    }
    Ok(Operand { lexeme: lexeme.into(), weights, is_prefix: is_prefix != 0 })
}

fn unrecognized(what: &str, code: u8) -> ValueError {
    ValueError::new("XX000", format!("{what} {code}"))
}
