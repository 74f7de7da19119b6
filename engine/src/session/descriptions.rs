//! INSERT, UPDATE and DELETE of pg_description: what the query gives, as a definition.

use crate::response::Response;
use crate::session::Session;
use planner::catalog::DescriptionKey;
use planner::parse::Statement;
use planner::parse::definition::{DescriptionChange, DescriptionVerb};
use planner::plan::Query;
use repr::Datum;
use state::SqlError;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Session {
    pub(super) fn write_descriptions(
        &mut self,
        verb: DescriptionVerb,
        query: &Arc<Query>,
        params: Arc<[Datum]>,
    ) -> Result<Response, SqlError> {
        self.refuse_read_only(match verb {
            DescriptionVerb::Insert => "INSERT",
            DescriptionVerb::Update => "UPDATE",
            DescriptionVerb::Delete => "DELETE",
        })?;
        self.transaction();
        let rows = self.query_rows(query, params)?;
        let changes = rows.map(|row| change(verb, &row?)).collect::<Result<Vec<_>, SqlError>>()?;
        let count = match verb {
            DescriptionVerb::Insert => changes.len(),
            // What is joined to several rows is written once.
            DescriptionVerb::Update | DescriptionVerb::Delete => {
                changes.iter().filter_map(|change| change.old).collect::<BTreeSet<_>>().len()
            }
        };
        if !changes.is_empty() {
            self.ddl(&Statement::Descriptions(changes))?;
        }
        Ok(Response::Complete(match verb {
            DescriptionVerb::Insert => format!("INSERT 0 {count}"),
            DescriptionVerb::Update => format!("UPDATE {count}"),
            DescriptionVerb::Delete => format!("DELETE {count}"),
        }))
    }
}

fn change(verb: DescriptionVerb, row: &[Datum]) -> Result<DescriptionChange, SqlError> {
    let [object, class, part, new_object, new_class, new_part, text] = row else {
        return Err(SqlError::new("XX000", "a row of pg_description has seven values here"));
    };
    let old = match verb {
        DescriptionVerb::Insert => None,
        DescriptionVerb::Update | DescriptionVerb::Delete => Some(key(object, class, part)?),
    };
    let new = match (verb, text) {
        (DescriptionVerb::Delete, _) => None,
        (_, Datum::Text(text)) => Some((key(new_object, new_class, new_part)?, text.to_string())),
        (_, _) => {
            key(new_object, new_class, new_part)?;
            return Err(missing("description"));
        }
    };
    Ok(DescriptionChange { old, new })
}

fn key(object: &Datum, class: &Datum, part: &Datum) -> Result<DescriptionKey, SqlError> {
    match (object, class, part) {
        (Datum::Oid(object), Datum::Oid(class), Datum::Int4(part)) => {
            Ok(DescriptionKey { object: *object, class: *class, part: *part })
        }
        (Datum::Oid(_), Datum::Oid(_), _) => Err(missing("objsubid")),
        (Datum::Oid(_), ..) => Err(missing("classoid")),
        _ => Err(missing("objoid")),
    }
}

fn missing(column: &str) -> SqlError {
    let message =
        format!("null value in column \"{column}\" of relation \"pg_description\" violates not-null constraint");
    SqlError::new("23502", message)
}
