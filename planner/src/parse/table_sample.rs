//! TABLESAMPLE, of which sqlparser reads other systems' forms, takes a number for a seed, and an OFFSET behind it for its own.
//!
//! Done on tokens, with names that nobody can write; behind it stands a condition that is true, where an OFFSET follows.
//! ```text
//! t TABLESAMPLE SYSTEM (10) REPEATABLE (1)   ─▶   t TABLESAMPLE ("\0system"(10, "\0REPEATABLE"(1)))
//! ```
//! `Sample::of` is the other half.

use super::grammar::is_word;
use super::{closing, next_visible};
use crate::error::PlanError;
use repr::poll;
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart, TableSample};
use sqlparser::tokenizer::{Token, TokenWithSpan};

const MARK: char = '\0';
const REPEATABLE: &str = "\0REPEATABLE";

/// A sample as it is written.
pub(crate) struct Sample<'e> {
    /// The method's name, folded.
    pub(crate) method: &'e str,
    /// What stands in its parentheses.
    pub(crate) arguments: Vec<&'e Expr>,
    /// REPEATABLE.
    pub(crate) seed: Option<&'e Expr>,
}

impl Sample<'_> {
    /// What sqlparser read of the form above; 42601 for any other.
    pub(crate) fn of(read: &TableSample) -> Result<Sample<'_>, PlanError> {
        let misplaced = || PlanError::new("42601", "syntax error in TABLESAMPLE");
        let (Some(quantity), None, None, None) = (&read.quantity, &read.seed, &read.bucket, &read.offset) else {
            return Err(misplaced());
        };
        let (name, mut arguments) = call(&quantity.value).ok_or_else(misplaced)?;
        let method = name.strip_prefix(MARK).filter(|_| quantity.unit.is_none()).ok_or_else(misplaced)?;
        let mut seed = None;
        if let Some((REPEATABLE, inner)) = arguments.last().and_then(|last| call(last)) {
            let [only] = inner.as_slice() else { return Err(misplaced()) };
            seed = Some(*only);
            arguments.pop();
        }
        Ok(Sample { method, arguments, seed })
    }
}

/// The name of a plain call, and its arguments.
fn call(expr: &Expr) -> Option<(&str, Vec<&Expr>)> {
    let Expr::Function(function) = expr else { return None };
    let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    let argument = |argument| match argument {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref expr)) => Some(expr),
        _ => None,
    };
    Some((&name.value, list.args.iter().map(argument).collect::<Option<_>>()?))
}

/// The tokens with all such clauses in the form above.
pub(super) fn rewritten(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(token, "TABLESAMPLE")) {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len() + 8);
    let mut at = 0;
    while at < tokens.len() {
        poll::step_or_unwind();
        match clause(&tokens, at) {
            Some(clause) => {
                let end = clause.end;
                clause.write(&tokens, at, &mut written);
                at = end;
            }
            None => {
                written.push(tokens[at].clone());
                at += 1;
            }
        }
    }
    written
}

/// Where the parts of a clause are.
struct Clause {
    method: usize,
    /// The parentheses of its arguments, and those of its seed.
    arguments: (usize, usize),
    seed: Option<(usize, usize)>,
    /// The token behind it.
    end: usize,
}

fn clause(tokens: &[TokenWithSpan], at: usize) -> Option<Clause> {
    if !is_word(&tokens[at], "TABLESAMPLE") {
        return None;
    }
    let method = next_visible(tokens, at)?;
    let (Token::Word(_), open) = (&tokens[method].token, next_visible(tokens, method)?) else { return None };
    let close = closing(tokens, open)?;
    let seed = next_visible(tokens, close).filter(|&place| is_word(&tokens[place], "REPEATABLE")).and_then(|word| {
        let open = next_visible(tokens, word)?;
        Some((open, closing(tokens, open)?))
    });
    let end = seed.map_or(close, |(_, close)| close) + 1;
    Some(Clause { method, arguments: (open, close), seed, end })
}

impl Clause {
    fn write(self, tokens: &[TokenWithSpan], at: usize, written: &mut Vec<TokenWithSpan>) {
        let like = |token: Token, place: usize| TokenWithSpan { token, span: tokens[place].span };
        let named = |value: String, place: usize| like(Token::make_word(&value, Some('"')), place);
        let method = match &tokens[self.method].token {
            Token::Word(word) if word.quote_style.is_some() => word.value.clone(),
            Token::Word(word) => word.value.to_lowercase(),
            _ => String::new(),
        };
        let (open, close) = self.arguments;
        written.push(tokens[at].clone());
        written.push(like(Token::LParen, self.method));
        written.push(named(format!("{MARK}{method}"), self.method));
        written.extend_from_slice(&tokens[open..close]);
        if let Some((seed_open, seed_close)) = self.seed {
            if next_visible(tokens, open) != Some(close) {
                written.push(like(Token::Comma, close));
            }
            written.push(named(REPEATABLE.to_owned(), seed_open));
            written.extend_from_slice(&tokens[seed_open..=seed_close]);
        }
        let last = self.end - 1;
        written.push(like(Token::RParen, last));
        written.push(like(Token::RParen, last));
        if next_visible(tokens, last).is_some_and(|place| is_word(&tokens[place], "OFFSET")) {
            written.push(like(Token::make_keyword("WHERE"), last));
            written.push(like(Token::make_keyword("TRUE"), last));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::parse_query;

    #[test]
    fn samples_are_calls() {
        for (written, read) in [
            (
                "SELECT 1 FROM t x TABLESAMPLE Bernoulli (5 + $1) WHERE a",
                "SELECT 1 FROM t x TABLESAMPLE (\"\0bernoulli\"(5 + $1)) WHERE a",
            ),
            (
                "SELECT 1 FROM t TABLESAMPLE SYSTEM (f(1)) REPEATABLE (-1) OFFSET 2",
                "SELECT 1 FROM t TABLESAMPLE (\"\0system\"(f(1), \"\0REPEATABLE\"(-1))) WHERE true OFFSET 2",
            ),
        ] {
            assert_eq!(parse_query(written).unwrap().to_string(), read, "{written}");
        }
        for written in ["SELECT 1 FROM t TABLESAMPLE", "SELECT 1 FROM t TABLESAMPLE SYSTEM", "SELECT 1 FROM t SAMPLE 1"]
        {
            assert_eq!(parse_query(written).unwrap_err().code, "42601", "{written}");
        }
    }
}
