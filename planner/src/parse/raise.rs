//! Reads the bodies of `DO` that only say something: `BEGIN RAISE NOTICE 'format', value, …; END`.
//!
//! Values are expressions, which are read as a query of them. Whatever else stands in a body is not read here.

use super::do_block::Body;
use super::parse;
use super::statement::Statement;
use super::utility::{Raise, RaiseLevel, RaiseOption};
use crate::error::PlanError;
use sqlparser::tokenizer::Token;

/// The words for levels; without one it is an exception.
const LEVELS: [(&str, RaiseLevel); 6] = [
    ("DEBUG", RaiseLevel::Debug),
    ("LOG", RaiseLevel::Log),
    ("INFO", RaiseLevel::Info),
    ("NOTICE", RaiseLevel::Notice),
    ("WARNING", RaiseLevel::Warning),
    ("EXCEPTION", RaiseLevel::Exception),
];

/// The words behind USING.
const OPTIONS: [(&str, RaiseOption); 8] = [
    ("ERRCODE", RaiseOption::Code),
    ("MESSAGE", RaiseOption::Message),
    ("DETAIL", RaiseOption::Detail),
    ("HINT", RaiseOption::Hint),
    ("COLUMN", RaiseOption::Column),
    ("CONSTRAINT", RaiseOption::Constraint),
    ("TABLE", RaiseOption::Table),
    ("SCHEMA", RaiseOption::Schema),
];

/// The statements of such a body. None if it is another one.
pub(super) fn raised(mut body: Body<'_>) -> Result<Option<Statement>, PlanError> {
    if !body.eat(&["BEGIN"]) {
        return Ok(None);
    }
    let mut raises = Vec::new();
    while !body.eat(&["END"]) {
        if body.eat(&["NULL"]) {
            if !body.eat_token(&Token::SemiColon) {
                return Ok(None);
            }
            continue;
        }
        let line = body.line();
        if !body.eat(&["RAISE"]) {
            return Ok(None);
        }
        match raise(&mut body, line)? {
            Some(raise) => raises.push(raise),
            None => return Ok(None),
        }
    }
    body.eat_token(&Token::SemiColon);
    Ok(body.at_end().then_some(Statement::Raise(raises)))
}

/// Behind RAISE, up to its semicolon.
fn raise(body: &mut Body<'_>, line: u64) -> Result<Option<Raise>, PlanError> {
    let found = LEVELS.iter().find(|(word, _)| body.eat(&[word]));
    let level = found.map_or(RaiseLevel::Exception, |(_, level)| *level);
    let format = body.string();
    let mut expressions = Vec::new();
    while format.is_some() && body.eat_token(&Token::Comma) {
        let Some(expression) = body.expression() else { return Ok(None) };
        expressions.push(expression);
    }
    let mut options = Vec::new();
    if body.eat(&["USING"]) {
        loop {
            let Some((_, option)) = OPTIONS.iter().find(|(word, _)| body.eat(&[word])) else { return Ok(None) };
            if !(body.eat_token(&Token::Eq) || body.eat_token(&Token::Assignment)) {
                return Ok(None);
            }
            let Some(expression) = body.expression() else { return Ok(None) };
            expressions.push(expression);
            options.push(*option);
            if !body.eat_token(&Token::Comma) {
                break;
            }
        }
    }
    if !body.eat_token(&Token::SemiColon) || (format.is_none() && options.is_empty()) {
        return Ok(None);
    }
    let wanted = format.as_deref().map_or(0, |format| format.replace("%%", "").matches('%').count());
    let given = expressions.len() - options.len();
    if wanted != given {
        let what = if wanted < given { "many" } else { "few" };
        return Err(PlanError::new("42601", format!("too {what} parameters specified for RAISE")));
    }
    let values = if expressions.is_empty() {
        None
    } else {
        let within = |error: PlanError| PlanError { position: None, ..error };
        let Ok([query]) = <[_; 1]>::try_from(parse(&format!("SELECT {}", expressions.join(", "))).map_err(within)?)
        else {
            return Ok(None);
        };
        Some(query)
    };
    Ok(Some(Raise { level, format, values, options, line }))
}
