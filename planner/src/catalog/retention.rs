//! How long rows of a table are kept, on which basis, and what becomes of them then.

use super::{Column, Property, Table};
use repr::{ColumnIndex, ScalarType};
use serde::{Deserialize, Serialize};

/// WITH (retain = …): of a table whose rows say by an EXPIRES column until when they are there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// For how long, as it was written: from its insertion on, for a row that says nothing else.
    pub retain: String,
    /// On which basis.
    pub basis: Option<String>,
    /// What becomes of a row then.
    pub then: RetentionEnd,
}

/// What becomes of a row that is kept no longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RetentionEnd {
    /// It is deleted.
    #[default]
    Delete,
    /// It stays, and says no more whose it was.
    Anonymize,
    /// It goes from its table, and is kept sealed for controllers.
    HandOver,
}

impl RetentionEnd {
    /// All of them.
    pub const ALL: [RetentionEnd; 3] = [RetentionEnd::Delete, RetentionEnd::Anonymize, RetentionEnd::HandOver];

    /// As relations and WITH name it.
    pub fn name(self) -> &'static str {
        match self {
            RetentionEnd::Delete => "delete",
            RetentionEnd::Anonymize => "anonymize",
            RetentionEnd::HandOver => "hand over",
        }
    }

    /// As it is said of rows.
    pub fn done(self) -> &'static str {
        match self {
            RetentionEnd::Delete => "deleted",
            RetentionEnd::Anonymize => "anonymized",
            RetentionEnd::HandOver => "handed over",
        }
    }
}

impl Retention {
    /// As a label says it.
    pub fn label(&self) -> String {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let basis = self.basis.as_ref().map_or_else(String::new, |basis| format!(" BASIS {}", quoted(basis)));
        format!("RETAIN {}{basis} THEN {}", quoted(&self.retain), self.then.name().to_uppercase())
    }

    /// When a row ends that is inserted now, as a column of that type has it: in UTC, whatever the session's zone. A day that has
    /// begun is kept whole.
    pub(crate) fn end(&self, column: &Column) -> String {
        let end = format!("(now() AT TIME ZONE 'UTC') + interval '{}'", self.retain.replace('\'', "''"));
        match &column.column_type.scalar {
            ScalarType::Timestamp => end,
            ScalarType::Date => format!("({end} + interval '1 day' - interval '1 microsecond')::date"),
            _ => format!("({end}) AT TIME ZONE 'UTC'"),
        }
    }
}

impl Table {
    /// What becomes of its rows when they expire.
    pub fn ends_by(&self) -> RetentionEnd {
        self.retention.as_ref().map_or(RetentionEnd::Delete, |retention| retention.then)
    }

    /// The column that a row without a moment of its own is given one in.
    pub(crate) fn filled_expiry(&self) -> Option<(ColumnIndex, &Retention)> {
        let column = self.property(Property::Expires).filter(|column| self.columns[*column].column_type.nullable)?;
        Some((column, self.retention.as_ref()?))
    }
}
