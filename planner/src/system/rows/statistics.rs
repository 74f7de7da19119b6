//! pg_stats, and what pg_class says of sizes: by the statistics that plans are made by.
//!
//! Whoever may not read a column is shown nothing of it, and whom policies of a table bind nothing of the table. Values of people, and
//! of tables with row policies, nobody is shown. To a person's own login no table has a size.

use super::{Rows, Source, array, flag, text};
use crate::catalog::{Privilege, Privileges};
use crate::statistics::ColumnStatistics;
use crate::system::asker::Held;
use repr::text::{TextContext, format};
use repr::{Datum, RelationId, poll};

impl Source<'_> {
    /// pg_tables and pg_stats.
    pub(super) fn about_tables(&self, rows: &mut Rows) {
        if rows.relation.name == "pg_stats" { self.column_statistics(rows) } else { self.tables_view(rows) }
    }

    /// How many rows a table has; -1 if nobody has counted them, and to a person's own login.
    pub(super) fn rows_of(&self, table: RelationId) -> Datum {
        if self.is_persons() {
            return Datum::Float4(-1.0);
        }
        let known = self.environment.table_statistics();
        Datum::Float4(known.tables.get(&table).map_or(-1.0, |known| known.bare.rows as f32))
    }

    fn column_statistics(&self, rows: &mut Rows) {
        if self.is_persons() {
            return;
        }
        let (asker, known) = (self.asker(), self.environment.table_statistics());
        let reads = Held { privileges: Privileges::of(&[Privilege::Select]), ..Held::default() };
        for table in self.catalog.relations.values() {
            let Some(known) = known.tables.get(&table.id) else { continue };
            if self.catalog.binding_policies(asker.role, table.id, self.environment.database_id()).is_some() {
                continue;
            }
            let shows_values = !self.security(table.id).is_some_and(|found| found.enabled);
            for (index, column) in table.live_columns() {
                poll::step_or_unwind();
                let rows_of_table = known.bare.rows as f64;
                let Some(known) = known.bare.column(index, &column.column_type.scalar) else { continue };
                if !asker.on_column(table, index).has_any(reads) {
                    continue;
                }
                let mut row = vec![
                    ("schemaname", self.schema(table.namespace)),
                    ("tablename", text(&table.name)),
                    ("attname", text(&column.name)),
                    ("inherited", flag(false)),
                    ("null_frac", Datum::Float4(known.null_share as f32)),
                    ("avg_width", Datum::Int4(i32::try_from(known.width).unwrap_or(i32::MAX))),
                    ("n_distinct", Datum::Float4(distinct(known, rows_of_table))),
                ];
                if shows_values {
                    row.extend(values(known));
                }
                rows.add(&row);
            }
        }
    }
}

/// As PostgreSQL has it: below zero it is a share of the rows.
fn distinct(known: &ColumnStatistics, rows: f64) -> f32 {
    let share = known.distinct / rows.max(1.0);
    if share > 0.1 { -(share.min(1.0) as f32) } else { known.distinct.round() as f32 }
}

fn values(known: &ColumnStatistics) -> Vec<(&'static str, Datum)> {
    let context = TextContext::default();
    let written = |value: &Datum| text(&format(value, &known.scalar, &context));
    let listed = |values: Vec<Datum>| if values.is_empty() { Datum::Null } else { array(values) };
    vec![
        ("most_common_vals", listed(known.common.iter().map(|(value, _)| written(value)).collect())),
        ("most_common_freqs", listed(known.common.iter().map(|(_, share)| Datum::Float4(*share as f32)).collect())),
        ("histogram_bounds", listed(known.bounds.iter().map(written).collect())),
    ]
}
