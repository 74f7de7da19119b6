//! Bounds on a statement before it is parsed: chains of operators become trees as deep as they are long,
//! and a tree too deep cannot even be dropped.
//!
//! Counts tokens only; sqlparser's own recursion limit bounds the nesting of parentheses.

use super::grammar::too_deep;
use crate::error::PlanError;
use repr::poll;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// sqlparser's recursion limit: nested parentheses, subqueries, CASEs.
pub(super) const NESTING_MAX: usize = 160;

/// Operators in one chain, with those of the parentheses around it.
const CHAIN_MAX: usize = 4_000;

/// Refuses statements whose tree could be deeper than the stack bears.
///
/// # Errors
/// 54001.
pub(super) fn check(tokens: &[TokenWithSpan]) -> Result<(), PlanError> {
    // (operators of the expression, set operators) at each open parenthesis.
    let mut open: Vec<(usize, usize)> = vec![(0, 0)];
    let mut total = 0;
    let mut cases = 0usize;
    for token in tokens {
        poll::step()?;
        let Some(level) = open.last_mut() else { return Ok(()) };
        match &token.token {
            Token::LParen => {
                open.push((0, 0));
                // The parser would say only that it does not understand a CASE too deep.
                if cases > 0 && cases + open.len() > NESTING_MAX {
                    return Err(too_deep());
                }
                continue;
            }
            Token::RParen => {
                if open.len() > 1
                    && let Some((operators, set_operators)) = open.pop()
                {
                    total -= operators + set_operators;
                }
                continue;
            }
            Token::Comma => {
                total -= level.0;
                level.0 = 0;
                continue;
            }
            Token::Word(word) if word.quote_style.is_none() => match class(&word.value) {
                Class::Operator => level.0 += 1,
                Class::SetOperator => level.1 += 1,
                Class::Case => {
                    cases += 1;
                    if cases + open.len() > NESTING_MAX {
                        return Err(too_deep());
                    }
                    continue;
                }
                Class::End => {
                    cases = cases.saturating_sub(1);
                    continue;
                }
                Class::Clause => {
                    total -= level.0;
                    level.0 = 0;
                    continue;
                }
                Class::Other => continue,
            },
            Token::EOF
            | Token::Word(_)
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::DollarQuotedString(_)
            | Token::NationalStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::Whitespace(_)
            | Token::Period
            | Token::Placeholder(_)
            | Token::RBracket
            | Token::RBrace => continue,
            // Everything else is some operator's symbol.
            _ => level.0 += 1,
        }
        total += 1;
        if total > CHAIN_MAX {
            return Err(too_deep());
        }
    }
    Ok(())
}

enum Class {
    Operator,
    SetOperator,
    Case,
    End,
    Clause,
    Other,
}

fn class(word: &str) -> Class {
    const OPERATORS: [&str; 15] = [
        "and", "at", "between", "collate", "ilike", "in", "is", "isnull", "like", "not", "notnull", "operator", "or",
        "similar", "overlaps",
    ];
    const SET_OPERATORS: [&str; 3] = ["except", "intersect", "union"];
    const CLAUSES: [&str; 14] = [
        "from",
        "group",
        "having",
        "limit",
        "offset",
        "on",
        "order",
        "returning",
        "select",
        "set",
        "then",
        "values",
        "when",
        "where",
    ];
    let is_in = |list: &[&str]| list.iter().any(|entry| entry.eq_ignore_ascii_case(word));
    if is_in(&OPERATORS) {
        Class::Operator
    } else if is_in(&SET_OPERATORS) {
        Class::SetOperator
    } else if word.eq_ignore_ascii_case("case") {
        Class::Case
    } else if word.eq_ignore_ascii_case("end") {
        Class::End
    } else if is_in(&CLAUSES) {
        Class::Clause
    } else {
        Class::Other
    }
}
