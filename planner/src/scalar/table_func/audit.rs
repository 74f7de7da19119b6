//! What the audit log says of a person, of a role, of a table, of a time: found by its indexes.

use super::{TableAnswer, TableFunctionDefinition, strict};
use crate::scalar::EvalContext;
use crate::scalar::env::AuditQuestion;
use repr::{Datum, RelationId, ValueError};

/// A function that gives what `dogwood.audit` gives.
macro_rules! audited {
    ($call:literal) => {
        concat!(
            $call,
            " (number int8, recorded_at timestamptz, operation text, tables text[], subjects text[], subject_count int8, ",
            "row_count int8, login text, role text, address text, dogwood_time int8, statement text, view_key text, ",
            "may_be_more bool, undone bool, purpose text)"
        )
    };
}

fn asked(ctx: &EvalContext, args: &[Datum]) -> TableAnswer {
    let question = match args {
        [Datum::Text(subject)] => AuditQuestion::Pseudonym(subject.to_string()),
        [Datum::Oid(table), Datum::Text(key)] => AuditQuestion::Person(RelationId(*table), key.to_string()),
        [Datum::Timestamptz(from), Datum::Timestamptz(to)] => AuditQuestion::Between(*from, *to),
        [Datum::Text(role), Datum::Timestamptz(from), Datum::Timestamptz(to)] => {
            AuditQuestion::Role(role.to_string(), *from, *to)
        }
        [Datum::Oid(table), Datum::Timestamptz(from), Datum::Timestamptz(to)] => {
            AuditQuestion::Table(RelationId(*table), *from, *to)
        }
        _ => return Err(ValueError::new("XX000", "the audit log was asked for nothing")),
    };
    ctx.environment.audit(&question)
}

/// Whose data was touched.
fn touched(ctx: &EvalContext, args: &[Datum], people: bool) -> TableAnswer {
    let (role, from, to) = match args {
        [Datum::Timestamptz(from), Datum::Timestamptz(to)] => (None, *from, *to),
        [Datum::Text(role), Datum::Timestamptz(from), Datum::Timestamptz(to)] => (Some(role.to_string()), *from, *to),
        _ => return Err(ValueError::new("XX000", "the audit log was asked for nothing")),
    };
    ctx.environment.audit(&AuditQuestion::Breach { role, from, to, people })
}

/// By table, role and operation.
macro_rules! by_table {
    ($call:literal) => {
        (
            concat!(
                $call,
                " (table_name text, role text, operation text, statements int8, people int8, may_be_more bool, ",
                "first_at timestamptz, last_at timestamptz)"
            ),
            |ctx, args, _| strict(args, |args| touched(ctx, args, false)),
        )
    };
}

/// By person.
macro_rules! by_person {
    ($call:literal) => {
        (
            concat!(
                $call,
                " (person text, tables text[], roles text[], operations text[], first_at timestamptz, last_at timestamptz)"
            ),
            |ctx, args, _| strict(args, |args| touched(ctx, args, true)),
        )
    };
}

pub(super) const FUNCTIONS: &[TableFunctionDefinition] = &[
    (audited!("audit_about(text)"), |ctx, args, _| strict(args, |args| asked(ctx, args))),
    (audited!("audit_about(regclass, text)"), |ctx, args, _| strict(args, |args| asked(ctx, args))),
    (audited!("audit_between(timestamptz, timestamptz)"), |ctx, args, _| strict(args, |args| asked(ctx, args))),
    (audited!("audit_of(regclass, timestamptz, timestamptz)"), |ctx, args, _| strict(args, |args| asked(ctx, args))),
    (audited!("audit_by(text, timestamptz, timestamptz)"), |ctx, args, _| strict(args, |args| asked(ctx, args))),
    by_table!("audit_touched(timestamptz, timestamptz)"),
    by_table!("audit_touched(text, timestamptz, timestamptz)"),
    by_person!("audit_touched_people(timestamptz, timestamptz)"),
    by_person!("audit_touched_people(text, timestamptz, timestamptz)"),
];
