//! Operators before their operand, and between two, that sqlparser has no place for: those that somebody may create, and `OPERATOR(…)`.

use super::POSTGRES;
use crate::parse::operator_symbol::is_symbol;
use sqlparser::ast::{BinaryOperator, Expr, Ident};
use sqlparser::dialect::{Dialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// A prefix operator and its operand: `OPERATOR(schema.symbol)` before a value, as it is written.
pub(super) fn prefix(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let tokens = match &parser.peek_token_ref().token {
        token if is_own_prefix(token) => 1,
        Token::Word(word) if word.keyword == Keyword::OPERATOR && word.quote_style.is_none() => spelled(parser)?,
        _ => return None,
    };
    let written = (0..tokens).map(|_| parser.next_token().token.to_string()).collect::<String>();
    let written = if tokens == 1 { format!("OPERATOR({written})") } else { written };
    let operand = parser.parse_subexpr(POSTGRES.prec_value(Precedence::PgOther));
    Some(operand.map(|value| Expr::Prefixed { prefix: Ident::new(written), value: Box::new(value) }))
}

/// The parts of the name of a prefix operator that `prefix` has read.
pub(crate) fn prefix_operator(prefix: &Ident) -> Option<Vec<String>> {
    let inner = prefix.value.get("OPERATOR(".len()..)?.strip_suffix(')')?;
    if prefix.quote_style.is_some()
        || !prefix.value.is_char_boundary(8)
        || !prefix.value[..8].eq_ignore_ascii_case("operator")
    {
        return None;
    }
    // The symbol has no dot in it, and a schema may.
    let (schema, symbol) = inner.rsplit_once('.').map_or((None, inner), |(schema, symbol)| (Some(schema), symbol));
    Some(schema.map(str::to_owned).into_iter().chain([symbol.to_owned()]).collect())
}

/// How many tokens `OPERATOR(schema.symbol)` takes, if that is next.
fn spelled(parser: &Parser<'_>) -> Option<usize> {
    let token = |place: usize| &parser.peek_nth_token_ref(place).token;
    if *token(1) != Token::LParen {
        return None;
    }
    let mut place = 2;
    while matches!(token(place), Token::Word(_)) && *token(place + 1) == Token::Period {
        place += 2;
    }
    (is_symbol(&token(place).to_string()) && *token(place + 1) == Token::RParen).then_some(place + 2)
}

/// Operators that PostgreSQL takes before an operand, and sqlparser does not.
fn is_own_prefix(token: &Token) -> bool {
    matches!(
        token,
        Token::CustomBinaryOperator(_)
            | Token::ExclamationMark
            | Token::Ampersand
            | Token::Pipe
            | Token::Overlap
            | Token::StringConcat
            | Token::CaretAt
            | Token::DoubleTilde
            | Token::Question
            | Token::AtArrow
            | Token::ArrowAt
            | Token::DoubleSharp
            | Token::TwoWayArrow
    )
}

/// Whether an operator is next that sqlparser reads before an operand alone, or nowhere.
pub(super) fn is_infix(parser: &Parser<'_>) -> bool {
    matches!(
        parser.peek_token_ref().token,
        Token::DoubleExclamationMark
            | Token::PGSquareRoot
            | Token::PGCubeRoot
            | Token::AtDashAt
            | Token::Spaceship
            | Token::VerticalBarRightAngleBracket
    )
}

/// Such an operator, or `!`, between two operands.
pub(super) fn infix(parser: &mut Parser<'_>, left: &Expr) -> Option<Result<Expr, ParserError>> {
    if !is_infix(parser) && parser.peek_token_ref().token != Token::ExclamationMark {
        return None;
    }
    let op = BinaryOperator::Custom(parser.next_token().token.to_string());
    let right = parser.parse_subexpr(POSTGRES.prec_value(Precedence::PgOther));
    Some(right.map(|right| Expr::BinaryOp { left: Box::new(left.clone()), op, right: Box::new(right) }))
}
