//! pg_proc, pg_operator, pg_cast, pg_aggregate, pg_opfamily, pg_amop, pg_amproc, pg_range, and pg_type of built-in types: what is
//! recorded of PostgreSQL, as far as it is here.

use super::super::builtin::function::Function;
use super::super::builtin::{self, OF_EXTENSIONS, PG_OPERATOR, PG_PROC, PG_TYPE, Record, function};
use super::super::extension;
use super::object::PG_EXTENSION;
use super::{OWNER, PG_CATALOG, Rows, Source, flag, small, text, vector};
use repr::text::TextContext;
use repr::{Datum, Id};

impl Source<'_> {
    /// The relation's recorded rows, those of extensions that were created among them.
    pub(super) fn recorded(&self, rows: &mut Rows) {
        recorded(rows);
        self.recorded_of_extensions(rows);
        if rows.relation.name == "pg_range" {
            self.ranges(rows);
        }
    }

    /// The relation's rows of extensions that were created. They stand in the database's schema `public`.
    pub(super) fn recorded_of_extensions(&self, rows: &mut Rows) {
        let public = self.public();
        for extension in self.recorded_extensions().map(|(_, extension)| extension) {
            made_of(builtin::listed_of_extension(extension, rows.relation.name), public, rows);
        }
    }

    /// The extensions that were created and of which something is recorded, with their OIDs.
    pub(super) fn recorded_extensions(&self) -> impl Iterator<Item = (Id, &'static str)> {
        OF_EXTENSIONS.into_iter().filter_map(|name| Some((extension::id(self.catalog, name)?, name)))
    }

    /// pg_proc: PostgreSQL's functions, then our own, then those of extensions.
    pub(super) fn functions(&self, rows: &mut Rows) {
        recorded(rows);
        let own = function::all().iter().filter(|function| function.record.is_none());
        own.for_each(|function| one(rows, function));
        self.recorded_of_extensions(rows);
        self.routines(rows);
    }

    /// What extensions have hangs on them: what belongs to one, `pg_dump` leaves out.
    pub(super) fn dependencies_of_extensions(&self, rows: &mut Rows) {
        // Arrays hang on what they are of, and what families hold on those.
        const MEMBERS: [(&str, Id, &str); 6] = [
            ("pg_type", PG_TYPE, "oid"),
            ("pg_proc", PG_PROC, "oid"),
            ("pg_operator", PG_OPERATOR, "oid"),
            ("pg_cast", 2605, "oid"),
            ("pg_opfamily", 2753, "oid"),
            ("pg_opclass", 2616, "oid"),
        ];
        for (id, extension) in self.recorded_extensions() {
            for (relation, class, column) in MEMBERS {
                let members = builtin::listed_of_extension(extension, relation);
                for member in members.filter(|member| member.id("typelem") == 0) {
                    rows.add(&[
                        ("classid", Datum::Oid(class)),
                        ("objid", Datum::Oid(member.id(column))),
                        ("refclassid", Datum::Oid(PG_EXTENSION)),
                        ("refobjid", Datum::Oid(id)),
                        ("deptype", text("e")),
                    ]);
                }
            }
        }
    }
}

/// The relation's recorded rows of what PostgreSQL has itself.
pub(super) fn recorded(rows: &mut Rows) {
    let relation = rows.relation;
    let Some(file) = builtin::file(relation.name) else { return };
    let packed = file.packed(|| {
        let mut made = Rows::new(relation, &[]);
        made_of(builtin::listed(relation.name), PG_CATALOG, &mut made);
        made.finish()
    });
    rows.add_made(packed);
}

fn made_of(records: impl Iterator<Item = Record>, namespace: Id, made: &mut Rows) {
    let relation = made.relation;
    let context = TextContext::default();
    for record in records {
        let mut values = everywhere(namespace);
        for (column, written) in record.fields() {
            let known = relation.columns.iter().find(|known| known.name == column);
            let value = known.filter(|_| written != "\\N").map(|known| {
                repr::text::parse(&known.scalar, -1, written, &context).expect("PostgreSQL wrote a value of the type")
            });
            values.push((column, value.unwrap_or(Datum::Null)));
        }
        made.add(&values);
    }
}

/// Whose everything is that PostgreSQL has, and where it stands.
fn everywhere(namespace: Id) -> Vec<(&'static str, Datum)> {
    let namespaces = ["typnamespace", "pronamespace", "oprnamespace", "opfnamespace", "opcnamespace"];
    let owners = ["typowner", "proowner", "oprowner", "opfowner", "opcowner"];
    let namespaces = namespaces.map(|column| (column, Datum::Oid(namespace)));
    namespaces.into_iter().chain(owners.map(|column| (column, Datum::Oid(OWNER)))).collect()
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
