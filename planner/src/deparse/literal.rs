//! Constants: which are quoted, and which say their type.

use super::SqlWriter;
use repr::{ColumnType, Datum, ScalarType};

/// A string as it is: ruleutils.c never writes `E''`.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl<C: Clone + PartialEq> SqlWriter<'_, C> {
    /// A constant of a type; `labelled` where its type must be told if the text alone does not.
    pub(super) fn literal(&mut self, datum: &Datum, column_type: &ColumnType, labelled: bool) {
        if let Datum::Null = datum {
            self.out.push_str("NULL");
            if labelled && column_type.scalar != ScalarType::Unknown {
                self.label(column_type);
            }
            return;
        }
        let text = self.spelling.value(datum, &column_type.scalar);
        let says_itself = match &column_type.scalar {
            ScalarType::Bool => {
                self.out.push_str(if *datum == Datum::Bool(true) { "true" } else { "false" });
                return;
            }
            ScalarType::Int4 => !text.starts_with('-'),
            ScalarType::Int2 | ScalarType::Int8 => !self.lines && !text.starts_with('-'),
            ScalarType::Numeric => {
                column_type.modifier == -1
                    && text.starts_with(|first: char| first.is_ascii_digit())
                    && text.contains(['e', 'E', '.'])
            }
            ScalarType::Unknown => {
                self.out.push_str(&quoted(&text));
                return;
            }
            _ => false,
        };
        if says_itself {
            self.out.push_str(&text);
            return;
        }
        self.out.push_str(&quoted(&text));
        if labelled {
            self.label(column_type);
        }
    }

    /// A string that is read as a value of a type: PostgreSQL keeps the value.
    pub(super) fn read_literal(&mut self, datum: &Datum, from: &ColumnType, to: &ColumnType, with_modifier: bool) {
        // What only the session knows ('now') stays as it was written.
        let bare = ColumnType { modifier: -1, ..to.clone() };
        let read = match datum {
            Datum::Text(text) => self.spelling.read(text, &bare),
            Datum::Null => Some(Datum::Null),
            _ => None,
        };
        let modified = to.modifier != -1 && with_modifier;
        match read {
            Some(value) => self.literal(&value, &bare, !modified),
            None => {
                self.literal(datum, &ColumnType { scalar: ScalarType::Unknown, ..from.clone() }, false);
                if !modified {
                    self.label(&bare);
                }
            }
        }
        if modified {
            self.label(to);
        }
    }
}
