//! Reads how long rows of a table are kept: WITH (retain = …) of tables, RETAIN in labels and comments.

use super::definition::{AlterTableAction, ColumnDefinition, RetentionDefinition};
use super::grammar::Grammar;
use super::index::RETENTION;
use super::with_grammar;
use crate::catalog::RetentionEnd;
use crate::error::PlanError;
use repr::text::{TextContext, parse};
use repr::{Datum, ScalarType};

/// A thousand years.
const MONTHS_MAX: i64 = 12_000;

impl Grammar<'_, '_> {
    /// `(name = value, …)` of a table: what says how long rows are kept, and storage parameters of no effect.
    pub(super) fn table_parameters(&mut self) -> Result<RetentionDefinition, PlanError> {
        let mut written = RetentionDefinition::default();
        for (name, value, position) in self.written_parameters()? {
            if !RETENTION.contains(&name.as_str()) {
                continue;
            }
            let twice = PlanError::new("22023", format!("parameter \"{name}\" specified more than once"));
            let value = value
                .filter(|value| !value.is_empty())
                .ok_or_else(|| PlanError::new("22023", format!("parameter \"{name}\" says nothing")).at(position))?;
            let is_twice = match name.as_str() {
                "retain" => {
                    check_period(&value, position)?;
                    written.retain.replace(value).is_some()
                }
                "then" => {
                    let end = RetentionEnd::ALL.into_iter().find(|end| end.name().eq_ignore_ascii_case(&value));
                    let end = end.ok_or_else(|| {
                        PlanError::new("22023", format!("rows that are kept no longer cannot be \"{value}\""))
                            .hint("then is 'delete', 'anonymize' or 'hand over'.")
                            .at(position)
                    })?;
                    written.then.replace(end).is_some()
                }
                _ => written.basis.replace(value).is_some(),
            };
            if is_twice {
                return Err(twice.at(position));
            }
        }
        Ok(written)
    }

    /// Behind ALTER TABLE … RESET.
    pub(super) fn reset_parameters(&mut self) -> Result<AlterTableAction, PlanError> {
        let names = self.parenthesized(|grammar| {
            let mut name = grammar.any_word()?;
            if grammar.eat_token(&sqlparser::tokenizer::Token::Period) {
                name = grammar.any_word()?;
            }
            Ok(name)
        })?;
        let names: Vec<String> = names.into_iter().filter(|name| RETENTION.contains(&name.as_str())).collect();
        Ok(if names.is_empty() { AlterTableAction::Nothing } else { AlterTableAction::ResetRetention(names) })
    }

    /// Behind RETAIN, in a label.
    pub(super) fn retention(&mut self) -> Result<RetentionDefinition, PlanError> {
        let position = self.position();
        let retain = self.string()?;
        check_period(&retain, Some(position))?;
        let basis = if self.eat(&["BASIS"]) { Some(self.string()?) } else { None };
        let then = match self.eat(&["THEN"]) {
            false => RetentionEnd::Delete,
            true if self.eat(&["DELETE"]) => RetentionEnd::Delete,
            true if self.eat(&["ANONYMIZE"]) => RetentionEnd::Anonymize,
            true if self.eat(&["HAND", "OVER"]) => RetentionEnd::HandOver,
            true => return Err(self.unexpected()),
        };
        Ok(RetentionDefinition { retain: Some(retain), basis, then: Some(then) })
    }
}

/// The definition of a column that says until when its row is there.
pub(crate) fn expiry_column(name: &str) -> Result<ColumnDefinition, PlanError> {
    with_grammar(&format!("{name} timestamptz EXPIRES"), |grammar| grammar.column_definition())
}

/// 22023 if rows cannot be kept for so long.
fn check_period(text: &str, position: Option<u32>) -> Result<(), PlanError> {
    let read = parse(&ScalarType::Interval, -1, text, &TextContext::default());
    let Datum::Interval(period) = read.map_err(|error| PlanError::from(error).at(position))? else {
        return Err(PlanError::new("XX000", "an interval is read as something else"));
    };
    let parts = [i64::from(period.months), i64::from(period.days), period.micros];
    let months = parts[0] + parts[1] / 28 + parts[2] / (28 * 86_400_000_000);
    if parts.iter().any(|part| *part < 0) || parts == [0; 3] || months > MONTHS_MAX {
        return Err(PlanError::new("22023", format!("rows cannot be kept for \"{text}\""))
            .hint("It is a time of up to a thousand years: retain = '90 days'.")
            .at(position));
    }
    Ok(())
}
