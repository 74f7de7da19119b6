//! The tables of the tests, as DDL would make them.

use planner::catalog::{Catalog, Column, ConstraintName, Index, Table};
use repr::{ColumnType, Id, IndexId, RelationId, ScalarType};
use std::sync::Arc;

/// (table, columns, primary key, other indexes as (columns, unique)).
type Definition =
    (&'static str, &'static [(&'static str, ScalarType)], &'static [usize], &'static [(&'static [usize], bool)]);

/// The tables; ids count from 16384 in this order, by hundreds.
pub const TABLES: &[Definition] = &[
    (
        "users",
        &[
            ("id", ScalarType::Int4),
            ("name", ScalarType::Text),
            ("email", ScalarType::Varchar),
            ("karma", ScalarType::Int4),
        ],
        &[0],
        &[(&[2], true)],
    ),
    (
        "stories",
        &[
            ("id", ScalarType::Int8),
            ("author", ScalarType::Int4),
            ("title", ScalarType::Text),
            ("score", ScalarType::Int4),
            ("weight", ScalarType::Numeric),
        ],
        &[0],
        &[(&[1], false)],
    ),
    (
        "votes",
        &[("story_id", ScalarType::Int8), ("user_id", ScalarType::Int4), ("vote", ScalarType::Int2)],
        &[0, 1],
        &[(&[0], false), (&[1], false)],
    ),
    ("tags", &[("id", ScalarType::Int4), ("tag", ScalarType::Text)], &[0], &[(&[1], true)]),
    ("taggings", &[("story_id", ScalarType::Int8), ("tag_id", ScalarType::Int4)], &[], &[(&[0], false), (&[1], false)]),
    (
        "comments",
        &[
            ("id", ScalarType::Int4),
            ("story_id", ScalarType::Int8),
            ("parent", ScalarType::Int4),
            ("author", ScalarType::Int4),
            ("body", ScalarType::Text),
        ],
        &[0],
        &[(&[1], false), (&[2], false)],
    ),
    (
        "ballots",
        &[
            ("id", ScalarType::Int4),
            ("user_id", ScalarType::Int4),
            ("story_id", ScalarType::Int8),
            ("comment_id", ScalarType::Int4),
        ],
        &[0],
        &[(&[1], false), (&[1, 2, 3], false), (&[2, 3], true)],
    ),
    (
        "shelves",
        &[
            ("id", ScalarType::Int4),
            ("user_id", ScalarType::Int4),
            ("story_id", ScalarType::Int8),
            ("comment_id", ScalarType::Int4),
        ],
        &[0],
        &[(&[1], false), (&[1, 2, 3], false), (&[2, 3], true)],
    ),
];

/// The id of the nth table.
pub fn table_id(index: usize) -> RelationId {
    RelationId(16_384 + 100 * index as Id)
}

/// All of them.
pub fn catalog() -> Catalog {
    let mut catalog = Catalog::empty(1, 20_000);
    for (at, (name, columns, key, indexes)) in TABLES.iter().enumerate() {
        let id = table_id(at);
        let column = |index: usize, (name, scalar): &(&str, ScalarType)| {
            Column::new(*name, ColumnType { nullable: !key.contains(&index), ..ColumnType::nullable(scalar.clone()) })
        };
        let constraint = |name: String, id: Id| ConstraintName {
            name,
            deferrable: false,
            initially_deferred: false,
            id,
            not_valid: false,
        };
        let mut all = Vec::new();
        if !key.is_empty() {
            all.push(Index {
                id: IndexId(id.0 + 1),
                name: format!("{name}_pkey"),
                columns: key.to_vec(),
                unique: true,
                automatic: false,
                constraint: Some(constraint(format!("{name}_pkey"), id.0 + 51)),
                nulls: true,
                declared: planner::catalog::IndexDeclaration::default(),
            });
        }
        for (number, (own, unique)) in indexes.iter().enumerate() {
            let names: Vec<&str> = own.iter().map(|column| columns[*column].0).collect();
            all.push(Index {
                id: IndexId(id.0 + 2 + number as Id),
                name: format!("{name}_{}_idx", names.join("_")),
                columns: own.to_vec(),
                unique: *unique,
                automatic: false,
                constraint: None,
                nulls: true,
                declared: planner::catalog::IndexDeclaration::default(),
            });
        }
        let table = Table {
            columns: columns.iter().enumerate().map(|(index, definition)| column(index, definition)).collect(),
            primary_key: (!key.is_empty()).then_some(IndexId(id.0 + 1)),
            indexes: all,
            ..Table::new(id, planner::catalog::NamespaceId::PUBLIC, *name)
        };
        catalog.add_relation(Arc::new(table));
    }
    catalog
}
