//! `pg_hba_file_rules` and `pg_ident_file_mappings`: the lines of the server's files, as they stand now.

use super::Catalogs;
use repr::{Array, Datum, Row};
use state::SqlError;
use state::login_rules::{ListedIdentity, ListedRule, ShownRule};
use std::sync::Arc;

fn text(value: &str) -> Datum {
    Datum::Text(value.into())
}

fn optional(value: Option<&String>) -> Datum {
    value.map_or(Datum::Null, |value| text(value))
}

fn texts(values: &[String]) -> Datum {
    Datum::Array(Arc::new(Array::vector(values.iter().map(|value| text(value)).collect())))
}

impl Catalogs {
    /// `pg_hba_file_rules`
    pub(super) fn login_rules(&self) -> Result<Vec<Row>, SqlError> {
        let rules = self.database.sessions.login_rules.rules()?;
        let rows = rules.iter().map(|ListedRule { line, rule }| {
            let line = line.map_or(Datum::Null, Datum::Int4);
            match rule {
                Ok(ShownRule { kind, databases, roles, address, netmask, method, options }) => {
                    let options = if options.is_empty() { Datum::Null } else { texts(options) };
                    let [address, netmask] = [address, netmask].map(|part| optional(part.as_ref()));
                    let (databases, roles) = (texts(databases), texts(roles));
                    let method = text(method);
                    Row::pack(&[line, text(kind), databases, roles, address, netmask, method, options, Datum::Null])
                }
                Err(error) => {
                    let nothing = std::iter::repeat_n(Datum::Null, 7);
                    Row::pack(&std::iter::once(line).chain(nothing).chain([text(error)]).collect::<Vec<_>>())
                }
            }
        });
        Ok(rows.collect())
    }

    /// `pg_ident_file_mappings`
    pub(super) fn identities(&self) -> Result<Vec<Row>, SqlError> {
        let mappings = self.database.sessions.login_rules.identities()?;
        let rows = mappings.iter().map(|ListedIdentity { line, mapping }| {
            let line = Datum::Int4(*line);
            Row::pack(&match mapping {
                Ok([map, name, role]) => [line, text(map), text(name), text(role), Datum::Null],
                Err(error) => [line, Datum::Null, Datum::Null, Datum::Null, text(error)],
            })
        });
        Ok(rows.collect())
    }
}
