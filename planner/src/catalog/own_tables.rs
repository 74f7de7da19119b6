//! Tables of schema `dogwood` that have stored rows: the server writes them, nobody else does.
//!
//! ```text
//! requests        what people asked for, and by when it is due                    impersonal: pseudonyms
//! retained        a case: what is kept of somebody whose erasure may be taken     DATA_SUBJECT, so that each case has
//!                 back, of rows that must be kept although they are erased, or    a key of its own, and ends like a person
//!                 of rows that were handed over at their end
//! retained_rows   the rows of a case                                              OWNED_BY retained
//! retained_people who else had a part in a row of a case                          OWNED_BY retained
//! notices         who is to be told that shared rows were corrected or erased     impersonal: pseudonyms
//! ```
//! They have fixed ids, are in every catalog, and need no definition to be there.

use super::{
    Catalog, Column, ConstraintName, EdgeKind, ForeignKey, Index, IndexDeclaration, NamespaceId, ReferentialAction,
    Table, View,
};
use crate::system::schemas::DOGWOOD;
use repr::{ColumnIndex, ColumnType, Id, IndexId, RelationId, ScalarType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// `dogwood.requests`
pub const REQUESTS_MADE: RelationId = RelationId(15_100);
/// Its column that is NULL while a request is open.
pub const REQUEST_ANSWERED_AT: ColumnIndex = 7;
/// `dogwood.retained`
pub const RETAINED: RelationId = RelationId(15_101);
/// `dogwood.retained_rows`
pub const RETAINED_ROWS: RelationId = RelationId(15_102);
/// `dogwood.retained_people`
pub const RETAINED_PEOPLE: RelationId = RelationId(15_103);
/// `dogwood.overdue_requests`, a view.
pub const OVERDUE_REQUESTS: RelationId = RelationId(15_104);
/// `dogwood.notices`
pub const NOTICES: RelationId = RelationId(15_105);

/// Ids of their indexes and constraints: ten for each table.
const PARTS: Id = 15_110;

/// A table as it is written here.
struct OwnTable {
    id: RelationId,
    name: &'static str,
    /// Names and types; the first is the key.
    columns: &'static [(&'static str, ScalarType)],
    /// Indexes beside the key, each of one column.
    found_by: &'static [&'static str],
    data_subject: bool,
    /// The column that a case owns it by.
    of_case: Option<&'static str>,
}

const TEXT: ScalarType = ScalarType::Text;
const INT8: ScalarType = ScalarType::Int8;
const TIME: ScalarType = ScalarType::Timestamptz;

const TABLES: [OwnTable; 5] = [
    OwnTable {
        id: REQUESTS_MADE,
        name: "requests",
        columns: &[
            ("id", INT8),
            ("kind", TEXT),
            ("table_name", TEXT),
            ("subject", TEXT),
            ("received_at", TIME),
            ("due_at", TIME),
            ("extended_for", TEXT),
            ("answered_at", TIME),
            ("answered_by", TEXT),
            ("answer", TEXT),
        ],
        found_by: &["subject"],
        data_subject: false,
        of_case: None,
    },
    OwnTable {
        id: RETAINED,
        name: "retained",
        columns: &[
            ("id", INT8),
            ("ground", TEXT),
            ("hold", TEXT),
            ("subject", TEXT),
            ("subject_table", ScalarType::Oid),
            ("subject_key", ScalarType::Bytea),
            ("since", TIME),
            ("until", TIME),
            ("basis", TEXT),
        ],
        found_by: &["subject_key", "hold"],
        data_subject: true,
        of_case: None,
    },
    OwnTable {
        id: RETAINED_ROWS,
        name: "retained_rows",
        columns: &[
            ("id", INT8),
            ("retained", INT8),
            ("table_name", TEXT),
            ("row", ScalarType::Jsonb),
            ("relation", ScalarType::Oid),
            ("row_key", ScalarType::Bytea),
            ("before", ScalarType::Bytea),
            ("after", ScalarType::Bytea),
            ("form", TEXT),
        ],
        found_by: &["retained"],
        data_subject: false,
        of_case: Some("retained"),
    },
    OwnTable {
        id: RETAINED_PEOPLE,
        name: "retained_people",
        columns: &[("id", INT8), ("retained", INT8), ("retained_row", INT8), ("person", TEXT)],
        found_by: &["person", "retained"],
        data_subject: false,
        of_case: Some("retained"),
    },
    OwnTable {
        id: NOTICES,
        name: "notices",
        columns: &[
            ("id", INT8),
            ("recipient", TEXT),
            ("happened", TEXT),
            ("table_name", TEXT),
            ("subject", TEXT),
            ("rows", INT8),
            ("happened_at", TIME),
            ("told_at", TIME),
            ("told_by", TEXT),
            ("told_how", TEXT),
        ],
        found_by: &["subject", "recipient"],
        data_subject: false,
        of_case: None,
    },
];

/// What a case and a request never has no value for.
const NEEDED: [&str; 13] = [
    "id",
    "kind",
    "subject",
    "received_at",
    "due_at",
    "ground",
    "since",
    "retained",
    "retained_row",
    "recipient",
    "happened",
    "rows",
    "happened_at",
];

impl OwnTable {
    fn position(&self, name: &str) -> ColumnIndex {
        self.columns.iter().position(|(column, _)| *column == name).expect("a column that is written above")
    }

    fn table(&self, place: usize) -> Table {
        let first = PARTS + 10 * place as Id;
        let column = |(name, scalar): &(&str, ScalarType)| {
            let mut column_type = ColumnType::nullable(scalar.clone());
            column_type.nullable = !NEEDED.contains(name);
            Column::new(*name, column_type)
        };
        let mut table = Table::new(self.id, NamespaceId(DOGWOOD), self.name);
        table.columns = self.columns.iter().map(column).collect();
        table.data_subject = self.data_subject;
        let constraint = |name: String, id: Id| ConstraintName {
            name,
            deferrable: false,
            initially_deferred: false,
            id,
            not_valid: false,
        };
        let key = format!("{}_pkey", self.name);
        let mut index = Index {
            id: IndexId(first),
            name: key.clone(),
            columns: vec![0],
            unique: true,
            automatic: false,
            constraint: Some(constraint(key, first + 1)),
            nulls: true,
            declared: IndexDeclaration::default(),
        };
        table.primary_key = Some(index.id);
        table.indexes.push(index.clone());
        for (number, name) in self.found_by.iter().enumerate() {
            index.id = IndexId(first + 2 + number as Id);
            index.name = format!("{}_{name}_idx", self.name);
            index.columns = vec![self.position(name)];
            (index.unique, index.constraint) = (false, None);
            index.automatic = self.of_case == Some(name);
            table.indexes.push(index.clone());
            if index.automatic {
                table.foreign_keys.push(ForeignKey {
                    constraint: constraint(format!("{}_{name}_fkey", self.name), first + 8),
                    columns: index.columns.clone(),
                    target: RETAINED,
                    target_columns: vec![0],
                    on_delete: ReferentialAction::Cascade,
                    on_update: ReferentialAction::NoAction,
                    annotation: Some(EdgeKind::OwnedBy),
                    only: false,
                    index: index.id,
                    match_full: false,
                    written: Vec::new(),
                });
            }
        }
        table
    }
}

fn overdue() -> Table {
    let requests = &TABLES[0];
    let mut view = Table::new(OVERDUE_REQUESTS, NamespaceId(DOGWOOD), "overdue_requests");
    let shown = ["id", "kind", "table_name", "subject", "received_at", "due_at", "extended_for"];
    view.columns = shown
        .iter()
        .map(|name| Column::new(*name, ColumnType::nullable(requests.columns[requests.position(name)].1.clone())))
        .collect();
    let read = shown.iter().chain(&["answered_at"]).map(|name| requests.position(name)).collect();
    view.view = Some(View {
        query: format!(
            "SELECT {} FROM dogwood.requests WHERE answered_at IS NULL AND due_at < now()",
            shown.join(", ")
        ),
        materialized: false,
        reads: BTreeMap::from([(REQUESTS_MADE, read)]),
        primary_keys: std::collections::BTreeSet::new(),
        options: Vec::new(),
    });
    view
}

/// All of them.
pub fn all() -> impl Iterator<Item = RelationId> {
    (REQUESTS_MADE.0..=NOTICES.0).map(RelationId)
}

/// Whether it is one of the server's own relations that have stored rows, or a view of these.
pub fn is_own(id: Id) -> bool {
    (REQUESTS_MADE.0..=NOTICES.0).contains(&id)
}

/// Whether regulators read it: it names nobody.
pub(super) fn is_for_auditors(id: Id) -> bool {
    [REQUESTS_MADE, OVERDUE_REQUESTS, NOTICES].contains(&RelationId(id))
}

impl Catalog {
    /// With the server's own tables, which folders of before do not have.
    #[must_use]
    pub fn with_own_tables(mut self) -> Catalog {
        for (place, own) in TABLES.iter().enumerate() {
            self.add_relation(Arc::new(own.table(place)));
        }
        self.add_relation(Arc::new(overdue()));
        self
    }

    /// Without these, for whoever reports on what people have made.
    #[must_use]
    pub fn without_own_tables(&self) -> Catalog {
        let mut made = self.clone();
        let own: Vec<RelationId> = self.relations.keys().copied().filter(|id| is_own(id.0)).collect();
        own.into_iter().for_each(|id| drop(made.remove_relation(id)));
        made
    }
}
