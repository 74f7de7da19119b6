//! Infix forms of PostgreSQL's that sqlparser does not read: ISNULL, COLLATE behind a cast, quantified patterns and operators, BETWEEN SYMMETRIC, lists
//! whose first element is in parentheses.
//!
//! Each is read into the tree that means the same, so that nothing behind the parser knows of them.

use super::POSTGRES;
use super::query::{continues, in_parentheses, keyword, opens_query};
use crate::parse::operator_symbol::is_symbol;
use sqlparser::ast::{BinaryOperator, Expr, Ident};
use sqlparser::dialect::Dialect;
use sqlparser::dialect::Precedence;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Word};

const QUANTIFIERS: [Keyword; 3] = [Keyword::ANY, Keyword::SOME, Keyword::ALL];

/// What can be read here, if it is one of these forms.
pub(super) fn infix(parser: &mut Parser<'_>, left: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
    if is_isnull(parser) {
        parser.advance_token();
        return Some(Ok(Expr::IsNull(Box::new(left.clone()))));
    }
    // Behind anything but a cast it is read with what it is behind.
    if matches!(left, Expr::Cast { .. }) && word(parser, 0) == Some(Keyword::COLLATE) {
        return Some(collated(parser, left));
    }
    if let Some(negated) = list_in_parentheses(parser) {
        return Some(list(parser, left, negated));
    }
    if let Some((tokens, operator)) = quantified_operator(parser) {
        return Some(quantified(parser, left, precedence, tokens, operator));
    }
    if let Some(read) = super::symbols::infix(parser, left) {
        return Some(read);
    }
    between(parser).map(|found| symmetric(parser, left, found))
}

/// Whether `ISNULL` is next, for which sqlparser has no word.
pub(super) fn is_isnull(parser: &Parser<'_>) -> bool {
    let word = |word: &Word| word.quote_style.is_none() && word.value.eq_ignore_ascii_case("isnull");
    matches!(&parser.peek_token_ref().token, Token::Word(found) if word(found))
}

/// How tightly the next word binds, where that is another matter than sqlparser thinks: ISNULL, `:=`, and MATCH, which is no operator.
pub(super) fn own_precedence(parser: &Parser<'_>) -> Option<u8> {
    if is_isnull(parser) {
        return Some(POSTGRES.prec_value(Precedence::Is));
    }
    if super::symbols::is_infix(parser) {
        return Some(POSTGRES.prec_value(Precedence::PgOther));
    }
    // What follows is an argument's value, whatever it is made of.
    if parser.peek_token_ref().token == Token::Assignment {
        return Some(POSTGRES.prec_unknown() + 1);
    }
    (word(parser, 0) == Some(Keyword::MATCH)).then(|| POSTGRES.prec_unknown())
}

fn collated(parser: &mut Parser<'_>, left: &Expr) -> Result<Expr, ParserError> {
    parser.expect_keyword_is(Keyword::COLLATE)?;
    Ok(Expr::Collate { expr: Box::new(left.clone()), collation: parser.parse_object_name(false)? })
}

fn word(parser: &Parser<'_>, place: usize) -> Option<Keyword> {
    keyword(&parser.peek_nth_token_ref(place).token)
}

/// Whether `[NOT] IN` is next with a list whose first element is in parentheses, which sqlparser would take for a query; and
/// whether with NOT.
fn list_in_parentheses(parser: &Parser<'_>) -> Option<bool> {
    let negated = word(parser, 0) == Some(Keyword::NOT);
    let first = usize::from(negated);
    let opened = |place: usize| parser.peek_nth_token_ref(place).token == Token::LParen;
    if word(parser, first) != Some(Keyword::IN) || !opened(first + 1) || !opened(first + 2) {
        return None;
    }
    let mut depth = 0_usize;
    let mut tokens = (parser.index()..)
        .map(|place| &parser.token_at(place).token)
        .filter(|token| !matches!(token, Token::Whitespace(_)))
        .skip(first + 2);
    let closed = tokens.by_ref().take_while(|token| **token != Token::EOF).any(|token| {
        match token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    let after = tokens.next().filter(|_| closed)?;
    (*after != Token::RParen && !continues(after)).then_some(negated)
}

fn list(parser: &mut Parser<'_>, left: &Expr, negated: bool) -> Result<Expr, ParserError> {
    if negated {
        parser.expect_keyword_is(Keyword::NOT)?;
    }
    parser.expect_keyword_is(Keyword::IN)?;
    parser.expect_token(&Token::LParen)?;
    let list = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::InList { expr: Box::new(left.clone()), list, negated })
}

/// How many tokens stand before ANY, SOME or ALL, and the operator that they are, where sqlparser would not read it:
/// `OPERATOR(…)`, `[NOT] LIKE`, operators that it does not quantify, and any before a query that it does not see.
fn quantified_operator(parser: &Parser<'_>) -> Option<(usize, Vec<String>)> {
    let quantifier = |place: usize| word(parser, place).is_some_and(|word| QUANTIFIERS.contains(&word));
    let token = |place: usize| &parser.peek_nth_token_ref(place).token;
    let negated = usize::from(word(parser, 0) == Some(Keyword::NOT));
    let symbol = match word(parser, negated) {
        Some(Keyword::LIKE) => Some(["~~", "!~~"][negated]),
        Some(Keyword::ILIKE) => Some(["~~*", "!~~*"][negated]),
        _ => None,
    };
    if let Some(symbol) = symbol {
        let opened = quantifier(negated + 1) && *token(negated + 2) == Token::LParen;
        return opened.then(|| (negated + 1, vec![symbol.to_owned()]));
    }
    if word(parser, 0) == Some(Keyword::OPERATOR) && *token(1) == Token::LParen {
        // OPERATOR ( schema . symbol )
        let end = if *token(3) == Token::Period { 5 } else { 3 };
        let names = (2..end).map(|place| token(place).to_string()).filter(|name| name != ".").collect();
        return (*token(end) == Token::RParen && quantifier(end + 1)).then_some((end + 1, names));
    }
    if !quantifier(1) || *token(2) != Token::LParen {
        return None;
    }
    let symbol = token(0).to_string();
    let is_operator = is_symbol(&symbol);
    let known = ["=", "<>", "<", "<=", ">", ">=", "~", "~*", "!~", "!~*", "~~", "~~*", "!~~", "!~~*"];
    let plain = known.contains(&symbol.as_str()) && (!opens_query(parser, 2) || is_plain_query(parser, 3));
    (is_operator && !plain).then(|| (1, vec![symbol]))
}

/// Whether a query begins there that sqlparser sees.
fn is_plain_query(parser: &Parser<'_>, place: usize) -> bool {
    matches!(word(parser, place), Some(Keyword::SELECT | Keyword::WITH))
}

fn quantified(
    parser: &mut Parser<'_>,
    left: &Expr,
    precedence: u8,
    tokens: usize,
    operator: Vec<String>,
) -> Result<Expr, ParserError> {
    for _ in 0..tokens {
        parser.advance_token();
    }
    let quantifier = parser.expect_one_of_keywords(&QUANTIFIERS)?;
    let right = if is_plain_query(parser, 1) {
        parser.parse_subexpr(precedence)?
    } else if opens_query(parser, 0) {
        in_parentheses(parser)?
    } else {
        parser.expect_token(&Token::LParen)?;
        let right = parser.parse_expr()?;
        parser.expect_token(&Token::RParen)?;
        right
    };
    let compare_op = BinaryOperator::PGCustomBinaryOperator(operator);
    let (left, right) = (Box::new(left.clone()), Box::new(right));
    Ok(match quantifier {
        Keyword::ALL => Expr::AllOp { left, compare_op, right },
        other => Expr::AnyOp { left, compare_op, right, is_some: other == Keyword::SOME },
    })
}

/// `[NOT] BETWEEN SYMMETRIC` or `ASYMMETRIC`.
#[derive(Clone, Copy)]
struct Between {
    negated: bool,
    symmetric: bool,
}

fn between(parser: &Parser<'_>) -> Option<Between> {
    let negated = word(parser, 0) == Some(Keyword::NOT);
    let first = usize::from(negated);
    if word(parser, first) != Some(Keyword::BETWEEN) {
        return None;
    }
    match word(parser, first + 1) {
        Some(Keyword::SYMMETRIC) => Some(Between { negated, symmetric: true }),
        Some(Keyword::ASYMMETRIC) => Some(Between { negated, symmetric: false }),
        _ => None,
    }
}

/// SYMMETRIC is a mark on the value: no MySQL charset introducer, which is what the tree has it for, can get here.
fn symmetric(parser: &mut Parser<'_>, left: &Expr, found: Between) -> Result<Expr, ParserError> {
    for _ in 0..2 + usize::from(found.negated) {
        parser.advance_token();
    }
    let precedence = super::DogwoodDialect.prec_value(Precedence::Between);
    let low = Box::new(parser.parse_subexpr(precedence)?);
    parser.expect_keyword_is(Keyword::AND)?;
    let high = Box::new(parser.parse_subexpr(precedence)?);
    let value = Box::new(left.clone());
    let expr = match found.symmetric {
        true => Box::new(Expr::Prefixed { prefix: Ident::new(SYMMETRIC), value }),
        false => value,
    };
    Ok(Expr::Between { expr, negated: found.negated, low, high })
}

const SYMMETRIC: &str = "symmetric";

/// The value of a BETWEEN, and whether its bounds may stand in either order.
pub(crate) fn between_value(expr: &Expr) -> (&Expr, bool) {
    match expr {
        Expr::Prefixed { prefix, value } if prefix.value == SYMMETRIC => (value, true),
        other => (other, false),
    }
}
