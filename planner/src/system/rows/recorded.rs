//! pg_proc, pg_operator, pg_cast, pg_aggregate, pg_opfamily, pg_amop, pg_amproc, and pg_type of built-in types: what is
//! recorded of PostgreSQL, as far as it is here.

use super::super::builtin::function::Function;
use super::super::builtin::{self, function};
use super::{OWNER, PG_CATALOG, Rows, flag, small, text, vector};
use repr::text::TextContext;
use repr::{Datum, Row};

/// The relation's recorded rows.
pub(super) fn recorded(rows: &mut Rows) {
    let relation = rows.relation;
    let Some(file) = builtin::file(relation.name) else { return };
    let packed = file.packed(|| {
        let mut made = Rows { relation, rows: Vec::new() };
        let context = TextContext::default();
        for record in builtin::listed(relation.name) {
            let mut values = everywhere();
            for (column, written) in record.fields() {
                let known = relation.columns.iter().find(|known| known.name == column);
                let value = known.filter(|_| written != "\\N").map(|known| {
                    repr::text::parse(&known.scalar, -1, written, &context)
                        .expect("PostgreSQL wrote a value of the type")
                });
                values.push((column, value.unwrap_or(Datum::Null)));
            }
            made.add(&values);
        }
        made.rows
    });
    rows.rows.extend(packed.iter().map(Row::clone));
}

/// Whose everything is that PostgreSQL has, and where it stands.
fn everywhere() -> Vec<(&'static str, Datum)> {
    let namespaces = ["typnamespace", "pronamespace", "oprnamespace", "opfnamespace"];
    let owners = ["typowner", "proowner", "oprowner", "opfowner"];
    let namespaces = namespaces.map(|column| (column, Datum::Oid(PG_CATALOG)));
    namespaces.into_iter().chain(owners.map(|column| (column, Datum::Oid(OWNER)))).collect()
}

/// pg_proc: PostgreSQL's functions, then our own.
pub(super) fn functions(rows: &mut Rows) {
    recorded(rows);
    let own = function::all().iter().filter(|function| function.record.is_none());
    own.for_each(|function| one(rows, function));
}

fn one(rows: &mut Rows, function: &Function) {
    rows.add(&[
        ("oid", Datum::Oid(function.oid)),
        ("proname", text(function.name)),
        ("pronamespace", Datum::Oid(PG_CATALOG)),
        ("proowner", Datum::Oid(OWNER)),
        ("prolang", Datum::Oid(12)),
        ("procost", Datum::Float4(1.0)),
        ("prokind", text("f")),
        ("proisstrict", flag(true)),
        ("provolatile", text("v")),
        ("proparallel", text("u")),
        ("pronargs", small(function.arguments.len())),
        ("prorettype", Datum::Oid(function.result)),
        ("proargtypes", vector(function.arguments.iter().map(|id| Datum::Oid(*id)).collect())),
        ("prosrc", text(function.name)),
    ]);
}
