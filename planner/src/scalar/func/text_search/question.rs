//! Texts as queries: `to_tsquery` and its kin.

use super::configuration::Configuration;
use super::document::Words;
use repr::text_search::Operator;
use repr::text_search::query::parse::QueryWord;
use repr::text_search::query::{Form, Polish, parse};
use repr::{TsQuery, ValueError};

/// Reads a query; what one of its words is taken apart into is joined by the operator.
pub(super) fn query(
    configuration: Configuration,
    text: &str,
    form: Form,
    joined_by: Operator,
) -> Result<TsQuery, ValueError> {
    parse(text, form, &mut |polish, word| push(configuration, polish, &word, joined_by))
}

/// The lexemes of a word, with a stop for each one between them that is left out.
fn push(
    configuration: Configuration,
    polish: &mut Polish,
    word: &QueryWord<'_>,
    joined_by: Operator,
) -> Result<(), ValueError> {
    let words = Words::of(configuration, word.text)?.words;
    let mut last: Option<u16> = None;
    for (lexeme, place) in &words {
        if let Some(last) = last {
            for _ in last + 1..*place {
                polish.push_stop();
                polish.push_operator(joined_by);
            }
        }
        polish.push_operand(lexeme, word.weights, word.is_prefix)?;
        if last.is_some() {
            polish.push_operator(joined_by);
        }
        last = Some(*place);
    }
    if words.is_empty() {
        polish.push_stop();
    }
    Ok(())
}
