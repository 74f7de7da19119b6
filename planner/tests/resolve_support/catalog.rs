//! A small catalog: users (a data subject), stories, votes, and one table of all kinds of columns.

use planner::catalog::{
    Catalog, Check, Column, ConstraintName, CreatedType, DefaultValue, EnumLabel, Enumeration, Index, NamespaceId,
    Sequence, Table, TypeKind,
};
use repr::{ColumnType, IndexId, RelationId, ScalarType, SequenceId};
use std::sync::Arc;

fn column(name: &str, scalar: ScalarType, nullable: bool) -> Column {
    Column::new(name, ColumnType { nullable, ..ColumnType::nullable(scalar) })
}

fn key(id: u32, table: &str, columns: Vec<usize>, primary: bool) -> Index {
    let suffix = if primary { "pkey" } else { "key" };
    Index {
        id: IndexId(id),
        name: format!("{table}_{suffix}"),
        columns,
        unique: true,
        automatic: false,
        constraint: Some(ConstraintName {
            name: format!("{table}_{suffix}"),
            deferrable: false,
            initially_deferred: false,
            id: id + 500,
            not_valid: false,
        }),
        nulls: true,
        declared: planner::catalog::IndexDeclaration::default(),
    }
}

fn table(id: u32, name: &str, columns: Vec<Column>, indexes: Vec<Index>) -> Table {
    Table {
        columns,
        primary_key: indexes.first().map(|index| index.id),
        indexes,
        data_subject: name == "users",
        ..Table::new(RelationId(id), NamespaceId::PUBLIC, name)
    }
}

/// A table with a column of each kind.
fn kinds() -> Table {
    let mut always = column("id", ScalarType::Int8, false);
    always.default = Some(DefaultValue::Identity { sequence: SequenceId(16430), always: true });
    let mut generated = column("twice", ScalarType::Int4, true);
    generated.default = Some(DefaultValue::Generated("n * 2".to_owned()));
    let mut defaulted = column("n", ScalarType::Int4, false);
    defaulted.default = Some(DefaultValue::Expr("1 + 1".to_owned()));
    let mut short = column("code", ScalarType::Varchar, true);
    short.column_type.modifier = 7;
    let mut kinds = table(
        16440,
        "kinds",
        vec![
            always,
            defaulted,
            generated,
            short,
            column("tags", ScalarType::Array(Box::new(ScalarType::Text)), true),
            column("doc", ScalarType::Jsonb, true),
            column("day", ScalarType::Date, true),
            column("mood", ScalarType::Enum(16450), true),
            column("flag", ScalarType::Bool, true),
        ],
        vec![key(16441, "kinds", vec![0], true)],
    );
    kinds.checks.push(Check {
        constraint: ConstraintName {
            name: "kinds_n_check".to_owned(),
            deferrable: false,
            initially_deferred: false,
            id: 16442,
            not_valid: false,
        },
        expression: "n > 0".to_owned(),
    });
    kinds
}

fn sequence(id: SequenceId, name: &str) -> Sequence {
    Sequence {
        id,
        name: name.to_owned(),
        namespace: NamespaceId::PUBLIC,
        data_type: ScalarType::Int8,
        start: 1,
        increment: 1,
        min_value: 1,
        max_value: i64::MAX,
        cycle: false,
        cache: 1,
        owned_by: None,
        generation: 0,
        first: None,
        continues: None,
    }
}

/// The catalog.
pub fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    let mut add = |table: Table| {
        catalog.add_relation(Arc::new(table));
    };
    add(table(
        16400,
        "users",
        vec![
            column("id", ScalarType::Int4, false),
            column("name", ScalarType::Text, true),
            column("email", ScalarType::Text, true),
        ],
        vec![key(16401, "users", vec![0], true), key(16402, "users_email", vec![2], false)],
    ));
    let mut dropped = column("........pg.dropped.2........", ScalarType::Text, true);
    dropped.dropped = true;
    let mut serial = column("id", ScalarType::Int4, false);
    serial.default = Some(DefaultValue::Serial(SequenceId(16420)));
    add(table(
        16410,
        "stories",
        vec![
            serial,
            dropped,
            column("title", ScalarType::Text, true),
            column("author", ScalarType::Int4, true),
            column("score", ScalarType::Numeric, true),
            column("created", ScalarType::Timestamptz, true),
        ],
        vec![key(16411, "stories", vec![0], true)],
    ));
    add(kinds());
    for (id, name) in [(16420, "stories_id_seq"), (16430, "kinds_id_seq")] {
        let sequence = sequence(SequenceId(id), name);
        catalog.add_sequence(Arc::new(sequence));
    }
    let label = |(name, place): (&str, u32)| EnumLabel {
        name: name.to_owned(),
        id: 16451 + place,
        place,
        sort_order: place as f32,
    };
    let mood = CreatedType {
        id: 16450,
        name: "mood".to_owned(),
        namespace: NamespaceId::PUBLIC,
        kind: TypeKind::Enum(Enumeration { labels: [("sad", 1), ("ok", 2)].map(label).into() }),
    };
    catalog.types.insert(16450, Arc::new(mood));
    catalog
}
