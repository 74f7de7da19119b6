//! In which styles a statement's values are read and written, its time zone first.
//!
//! A maintained view is the same for all: UTC, ISO dates. Where it is computed instead, as its transaction has changed what it reads,
//! it must be so, too; what stands around it is the session's.

use super::Session;
use super::plan::CachedPlan;
use planner::StyledViews;
use planner::scalar::Environment;
use state::SqlError;

/// What counts as a style, and what it is without a session.
const STYLES: [(&str, &str); 5] = [
    ("timezone", "UTC"),
    ("datestyle", "ISO, MDY"),
    ("intervalstyle", "postgres"),
    ("extra_float_digits", "1"),
    ("bytea_output", "hex"),
];

/// A setting as it is without a session, if it is a style.
pub(super) fn without_session(name: &str) -> Option<&'static str> {
    STYLES.iter().find(|(style, _)| style.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
}

impl Session {
    /// The statement is evaluated in the styles that its plan asks for. 0A000 if it asks for two that differ.
    pub(super) fn take_styles(&mut self, cached: &CachedPlan) -> Result<(), SqlError> {
        self.statement.has_no_styles = false;
        match cached.views.styled {
            StyledViews::None => {}
            StyledViews::Alone => self.statement.has_no_styles = true,
            StyledViews::Beside => {
                let environment = self.environment(&self.catalog());
                let differs = |(style, value): &&(&str, &str)| environment.setting(style).as_deref() != Some(*value);
                if let Some((style, value)) = STYLES.iter().find(differs) {
                    let what = format!(
                        "a materialized view that depends on {style}, computed for a statement that does so too"
                    );
                    return Err(SqlError::unsupported(what).hint(format!(
                        "The view is made with {style} = '{value}' and has to be computed here: its transaction has changed what it reads, \
                         or a policy binds the role. SET {style} = '{value}', or leave out what depends on it."
                    )));
                }
            }
        }
        Ok(())
    }
}
