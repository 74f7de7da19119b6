//! What PostgreSQL 15 says of its own functions, operators, casts and types, as far as they are here.
//!
//! `builtin/record.sql` writes the files from a running PostgreSQL, over the types that there are here. Of what they
//! say, catalog relations show what SQL can call: the registry decides, so that nothing is listed that does not answer.
//! What extensions have (`builtin/record_extension.sql`) is known at all times, and listed where they were created.

pub(crate) mod function;

use crate::scalar::registry;
use repr::{Id, Row, ScalarType};
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

/// OID of the relation pg_proc.
pub(crate) const PG_PROC: Id = 1255;
/// OID of the relation pg_type.
pub(crate) const PG_TYPE: Id = 1247;
/// OID of the relation pg_operator.
pub(crate) const PG_OPERATOR: Id = 2617;

/// The rows of one relation.
pub(crate) struct File {
    columns: Vec<&'static str>,
    rows: Vec<Vec<&'static str>>,
    packed: OnceLock<Vec<Row>>,
}

/// One row: texts by column, as PostgreSQL writes values.
#[derive(Clone, Copy)]
pub(crate) struct Record {
    columns: &'static [&'static str],
    fields: &'static [&'static str],
}

/// What is recorded of what PostgreSQL has itself, and of what an extension has.
type Files = BTreeMap<&'static str, File>;

/// The files of an extension's folder.
macro_rules! files_of {
    ($folder:literal) => {
        LazyLock::new(|| {
            BTreeMap::from([
                ("pg_aggregate", File::read(include_str!(concat!("builtin/", $folder, "/pg_aggregate.tsv")))),
                ("pg_amop", File::read(include_str!(concat!("builtin/", $folder, "/pg_amop.tsv")))),
                ("pg_amproc", File::read(include_str!(concat!("builtin/", $folder, "/pg_amproc.tsv")))),
                ("pg_cast", File::read(include_str!(concat!("builtin/", $folder, "/pg_cast.tsv")))),
                ("pg_opclass", File::read(include_str!(concat!("builtin/", $folder, "/pg_opclass.tsv")))),
                ("pg_operator", File::read(include_str!(concat!("builtin/", $folder, "/pg_operator.tsv")))),
                ("pg_opfamily", File::read(include_str!(concat!("builtin/", $folder, "/pg_opfamily.tsv")))),
                ("pg_proc", File::read(include_str!(concat!("builtin/", $folder, "/pg_proc.tsv")))),
                ("pg_type", File::read(include_str!(concat!("builtin/", $folder, "/pg_type.tsv")))),
            ])
        })
    };
}

static CITEXT: LazyLock<Files> = files_of!("citext");
static HSTORE: LazyLock<Files> = files_of!("hstore");

/// The first OID of what extensions have.
pub(crate) const FIRST_OF_EXTENSIONS: Id = 0x7FFF_0000;

/// The extensions of which something is recorded.
pub(crate) const OF_EXTENSIONS: [&str; 2] = ["citext", "hstore"];

static FILES: LazyLock<Files> = LazyLock::new(|| {
    BTreeMap::from([
        ("pg_aggregate", File::read(include_str!("builtin/pg_aggregate.tsv"))),
        ("pg_amop", File::read(include_str!("builtin/pg_amop.tsv"))),
        ("pg_amproc", File::read(include_str!("builtin/pg_amproc.tsv"))),
        ("pg_cast", File::read(include_str!("builtin/pg_cast.tsv"))),
        ("pg_collation", File::read(include_str!("builtin/pg_collation.tsv"))),
        ("pg_operator", File::read(include_str!("builtin/pg_operator.tsv"))),
        ("pg_opfamily", File::read(include_str!("builtin/pg_opfamily.tsv"))),
        ("pg_proc", File::read(include_str!("builtin/pg_proc.tsv"))),
        ("pg_range", File::read(include_str!("builtin/pg_range.tsv"))),
        ("pg_type", File::read(include_str!("builtin/pg_type.tsv"))),
    ])
});

/// What is recorded of that relation of pg_catalog.
pub(crate) fn file(relation: &str) -> Option<&'static File> {
    FILES.get(relation)
}

/// What is recorded of that relation of what an extension has.
pub(crate) fn file_of_extension(extension: &str, relation: &str) -> Option<&'static File> {
    match extension {
        "citext" => CITEXT.get(relation),
        "hstore" => HSTORE.get(relation),
        _ => None,
    }
}

/// The rows of that relation that are listed here.
pub(crate) fn listed(relation: &str) -> impl Iterator<Item = Record> {
    file(relation).into_iter().flat_map(File::records).filter(is_listed(relation))
}

/// The rows of that relation that are listed where an extension was created.
pub(crate) fn listed_of_extension(extension: &str, relation: &str) -> impl Iterator<Item = Record> {
    file_of_extension(extension, relation).into_iter().flat_map(File::records).filter(is_listed(relation))
}

fn is_listed(relation: &str) -> fn(&Record) -> bool {
    match relation {
        "pg_proc" => function::is_listed,
        "pg_aggregate" => |row: &Record| function::by_id(row.id("aggfnoid")).is_some(),
        "pg_operator" => operator_is_listed,
        "pg_cast" => cast_is_listed,
        "pg_amop" => |row: &Record| operators().contains_key(&row.id("amopopr")),
        _ => |_: &Record| true,
    }
}

/// All rows that are recorded of that relation.
pub(crate) fn recorded(relation: &str) -> impl Iterator<Item = Record> {
    file(relation).into_iter().flat_map(File::records)
}

impl File {
    fn read(text: &'static str) -> File {
        let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        File { columns: lines.next().unwrap_or_default(), rows: lines.collect(), packed: OnceLock::new() }
    }

    fn records(&'static self) -> impl Iterator<Item = Record> {
        self.rows.iter().map(|fields| Record { columns: &self.columns, fields })
    }

    /// The rows as they are sent, made once.
    pub(crate) fn packed(&self, make: impl FnOnce() -> Vec<Row>) -> &[Row] {
        self.packed.get_or_init(make)
    }
}

impl Record {
    /// A column's text; none for NULL, or where the relation has no such column.
    pub(crate) fn get(&self, column: &str) -> Option<&'static str> {
        let place = self.columns.iter().position(|name| *name == column)?;
        self.fields.get(place).copied().filter(|field| *field != "\\N")
    }

    /// A column that cannot be NULL.
    pub(crate) fn text(&self, column: &str) -> &'static str {
        self.get(column).unwrap_or_default()
    }

    /// An OID; 0 where there is none.
    pub(crate) fn id(&self, column: &str) -> Id {
        self.get(column).and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// A boolean.
    pub(crate) fn flag(&self, column: &str) -> bool {
        self.get(column) == Some("t")
    }

    /// All columns and their texts.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.columns.iter().copied().zip(self.fields.iter().copied())
    }
}

/// The operators that there are, by OID.
pub(crate) fn operators() -> &'static BTreeMap<Id, Record> {
    static OPERATORS: LazyLock<BTreeMap<Id, Record>> = LazyLock::new(|| {
        let of_extensions = OF_EXTENSIONS.into_iter().flat_map(|name| listed_of_extension(name, "pg_operator"));
        listed("pg_operator").chain(of_extensions).map(|row| (row.id("oid"), row)).collect()
    });
    &OPERATORS
}

/// PostgreSQL's own operator of that symbol over just these operands, 0 for none.
pub(crate) fn operator_over(symbol: &str, operands: (Id, Id)) -> Option<Id> {
    operators_of(symbol).iter().find(|(known, _)| *known == operands).map(|(_, id)| *id)
}

/// All of these of that symbol: their operands, and their OIDs.
pub(crate) fn operators_of(symbol: &str) -> &'static [((Id, Id), Id)] {
    type Known = BTreeMap<&'static str, Vec<((Id, Id), Id)>>;
    static KNOWN: LazyLock<Known> = LazyLock::new(|| {
        let mut known = Known::new();
        for row in operators().values().filter(|row| row.id("oid") < FIRST_OF_EXTENSIONS) {
            let operands = (row.id("oprleft"), row.id("oprright"));
            known.entry(row.text("oprname")).or_default().push((operands, row.id("oid")));
        }
        known
    });
    KNOWN.get(symbol).map_or(&[], Vec::as_slice)
}

fn operator_is_listed(row: &Record) -> bool {
    let operands = [row.id("oprleft"), row.id("oprright")];
    registry::has_operator(row.text("oprname"), if operands[0] == 0 { &operands[1..] } else { &operands })
}

fn cast_is_listed(row: &Record) -> bool {
    registry::has_cast(row.id("castsource"), row.id("casttarget"))
}

/// A type's row, pseudo-types among them.
pub(crate) fn type_by_id(oid: Id) -> Option<Record> {
    static TYPES: LazyLock<BTreeMap<Id, Record>> =
        LazyLock::new(|| listed("pg_type").map(|row| (row.id("oid"), row)).collect());
    TYPES.get(&oid).copied()
}

/// The OID of a pseudo-type: of what has no values, and is no type of ours.
pub(crate) fn pseudo_type(name: &str) -> Option<Id> {
    let row = listed("pg_type").find(|row| row.text("typname") == name)?;
    Some(row.id("oid")).filter(|oid| ScalarType::from_oid(*oid).is_none())
}

/// A type's name as SQL writes it.
pub(crate) fn type_name(oid: Id) -> Option<String> {
    if let Some(scalar) = ScalarType::from_oid(oid) {
        return Some(scalar.format_type(-1));
    }
    let row = type_by_id(oid)?;
    let name = row.text("typname");
    Some(match name {
        "any" => "\"any\"".to_owned(),
        name => name.strip_prefix('_').map_or_else(|| name.to_owned(), |element| format!("{element}[]")),
    })
}

/// What PostgreSQL says of an object of its own.
pub(crate) fn description(class: Id, object: Id) -> Option<&'static str> {
    static DESCRIPTIONS: LazyLock<BTreeMap<(Id, Id), &'static str>> =
        LazyLock::new(|| descriptions().map(|(class, object, text)| ((class, object), text)).collect());
    DESCRIPTIONS.get(&(class, object)).copied()
}

/// All of these: the relation, the object, and the text.
pub(crate) fn descriptions() -> impl Iterator<Item = (Id, Id, &'static str)> {
    [("pg_proc", PG_PROC), ("pg_operator", PG_OPERATOR), ("pg_type", PG_TYPE)].into_iter().flat_map(|(name, class)| {
        listed(name).filter_map(move |row| Some((class, row.id("oid"), row.get("description")?)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rows_name_is_there() {
        let functions =
            ["typinput", "typoutput", "typreceive", "typsend", "typmodin", "typmodout", "typanalyze", "typsubscript"];
        for (relation, columns) in [
            ("pg_type", functions.as_slice()),
            ("pg_operator", &["oprcode", "oprrest", "oprjoin"]),
            ("pg_cast", &["castfunc"]),
            ("pg_amproc", &["amproc"]),
            ("pg_aggregate", &["aggtransfn", "aggfinalfn", "aggcombinefn"]),
        ] {
            for row in listed(relation) {
                for column in columns {
                    let id = row.id(column);
                    assert!(id == 0 || function::by_id(id).is_some(), "{relation}.{column} names {id}");
                }
            }
        }
    }

    #[test]
    fn every_name_that_can_be_called_is_listed() {
        let recorded: Vec<&str> =
            file("pg_proc").into_iter().flat_map(File::records).map(|row| row.text("proname")).collect();
        let missing: Vec<&str> = registry::callable_names()
            .filter(|name| recorded.contains(name) && function::by_name(name).next().is_none())
            .collect();
        assert_eq!(missing, Vec::<&str>::new());
    }
}
