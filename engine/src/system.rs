//! Catalog relations for queries: computed from the catalog when a query reads them.

mod inspection;

use crate::SqlError;
use crate::database::Database;
use crate::memory;
use crate::one_shot::SystemRows;
use crate::view::automatic;
use crate::view::published::Stage;
use planner::catalog::Catalog;
use planner::scalar::EvalContext;
use planner::system::{ARRANGEMENTS, AUDIT, LATENCY, MEMORY, OPERATORS, RECEIPTS, SNAPSHOTS, SUBSCRIPTIONS, VIEWS};
use repr::{Array, Datum, RelationId, Row};
use std::collections::BTreeMap;
use std::sync::Arc;
use storage::audit::verify_receipt;

impl Catalogs {
    /// `dogwood.audit`
    fn audit(&self) -> Result<Vec<Row>, SqlError> {
        let count = |count: u64| Datum::Int8(i64::try_from(count).unwrap_or(i64::MAX));
        let texts = |texts: Vec<String>| {
            Datum::Array(Arc::new(Array::vector(texts.into_iter().map(|text| Datum::Text(text.into())).collect())))
        };
        // A table that is gone is named by its number.
        let name = |id: &RelationId| self.catalog.table(*id).map_or_else(|| id.to_string(), |table| table.name.clone());
        let mut rows = Vec::new();
        for record in self.database.store.snapshot().audit(1) {
            let record = record?;
            rows.push(Row::pack(&[
                count(record.sequence),
                Datum::Timestamptz(record.time_us),
                Datum::Text(record.operation.name().to_lowercase().into()),
                texts(record.tables.iter().map(name).collect()),
                texts(record.subjects.iter().map(|subject| hexadecimal(subject)).collect()),
                count(record.subjects_total),
                count(record.rows),
            ]));
        }
        Ok(rows)
    }

    /// `dogwood.receipts`
    fn receipts(&self) -> Result<Vec<Row>, SqlError> {
        let mut rows = Vec::new();
        for receipt in self.database.store.snapshot().receipts() {
            let receipt = receipt?;
            let id = hexadecimal(&receipt.id);
            let issued_at = verify_receipt(&self.database.store.public_key(), receipt.text.as_bytes())
                .map_or(Datum::Null, |summary| Datum::Timestamptz(summary.time_us));
            rows.push(Row::pack(&[
                Datum::Int8(i64::try_from(receipt.number).unwrap_or(i64::MAX)),
                Datum::Text(id.into()),
                issued_at,
                Datum::Text(receipt.text.into()),
            ]));
        }
        Ok(rows)
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Catalogs {
    /// `dogwood.views`
    fn views(&self) -> Vec<Row> {
        let published = self.database.published.load_full();
        let automatic = self.database.automatic_views.all();
        let subscribers: BTreeMap<_, _> = self.database.subscriptions.by_view().into_iter().collect();
        let number = |value: usize| Datum::Int8(i64::try_from(value).unwrap_or(i64::MAX));
        let big = |value: u64| Datum::Int8(i64::try_from(value).unwrap_or(i64::MAX));
        let text = |value: &str| Datum::Text(value.into());
        published
            .views
            .iter()
            .map(|(id, state)| {
                let table = self.catalog.table(*id);
                let entry = automatic.iter().find(|entry| entry.view() == Some(*id));
                let (stage, message, read) = match &state.stage {
                    Stage::Waiting => ("waiting", Datum::Null, 0),
                    Stage::Hydrating { rows } => ("hydrating", Datum::Null, *rows),
                    Stage::Ready => ("ready", Datum::Null, 0),
                    Stage::Failed(error) => ("failed", text(&error.message), 0),
                };
                let updates: usize = state.arrangements.iter().map(|arrangement| arrangement.updates()).sum();
                let batches: usize = state.arrangements.iter().map(|arrangement| arrangement.batches.len()).sum();
                let times = self.database.view_statistics.of(*id);
                let definition = match (table.and_then(|table| table.view.as_ref()), entry) {
                    (Some(view), _) => text(&view.query),
                    (None, Some(entry)) => text(&entry.text),
                    (None, None) => Datum::Null,
                };
                let name = table.map_or_else(|| automatic::name(*id), |table| table.name.clone());
                let kind = match (table, entry) {
                    (Some(_), _) => "materialized",
                    (None, Some(entry)) if entry.is_order() => "ordered index",
                    (None, _) => "automatic",
                };
                let updates = updates + state.order.as_ref().map_or(0, |order| order.entries.len());
                Row::pack(&[
                    text(&name),
                    Datum::Oid(id.0),
                    text(kind),
                    text(stage),
                    message,
                    big(read),
                    number(updates),
                    number(batches),
                    number(state.bytes() - state.dataflow_bytes),
                    number(state.dataflow_bytes),
                    number(state.errors),
                    number(subscribers.get(id).copied().unwrap_or(0)),
                    big(times.groups),
                    big(times.busy_us),
                    big(times.busiest_us),
                    definition,
                ])
            })
            .collect()
    }

    /// `dogwood.latency`
    fn latency(&self) -> Vec<Row> {
        let big = |value: u64| Datum::Int8(i64::try_from(value).unwrap_or(i64::MAX));
        let stages = self.database.view_statistics.stages();
        let rows = stages.into_iter().map(|(stage, histogram)| {
            Row::pack(&[
                Datum::Text(stage.into()),
                big(histogram.count()),
                big(histogram.quantile_us(0.5)),
                big(histogram.quantile_us(0.95)),
                big(histogram.quantile_us(0.99)),
                big(histogram.max_us()),
            ])
        });
        rows.collect()
    }
}

impl Catalogs {
    /// `dogwood.memory`
    fn memory(&self) -> Vec<Row> {
        let big = |bytes: usize| Datum::Int8(i64::try_from(bytes).unwrap_or(i64::MAX));
        let text = |value: &str| Datum::Text(value.into());
        let parts = memory::parts(&self.database).into_iter().map(|part| {
            let (within, bytes_max) = (part.within.map_or(Datum::Null, text), part.bytes_max.map_or(Datum::Null, big));
            Row::pack(&[text(part.name), within, big(part.bytes), bytes_max])
        });
        parts.collect()
    }
}

/// The catalog relations at one version of the catalog.
pub struct Catalogs {
    database: Arc<Database>,
    catalog: Arc<Catalog>,
    context: EvalContext,
}

impl Catalogs {
    /// Of this catalog, as this session sees it.
    pub fn new(database: &Arc<Database>, catalog: &Arc<Catalog>, context: &EvalContext) -> Self {
        Catalogs { database: database.clone(), catalog: catalog.clone(), context: context.clone() }
    }
}

impl SystemRows for Catalogs {
    fn rows(&self, relation: RelationId) -> Option<Result<Vec<Row>, SqlError>> {
        planner::system::find_by_id(relation)?;
        if relation == RECEIPTS {
            return Some(self.receipts());
        }
        if relation == AUDIT {
            return Some(self.audit());
        }
        if relation == VIEWS {
            return Some(Ok(self.views()));
        }
        if relation == OPERATORS {
            return Some(self.operators());
        }
        if relation == ARRANGEMENTS {
            return Some(self.arrangements());
        }
        if relation == SUBSCRIPTIONS {
            return Some(Ok(self.subscriptions()));
        }
        if relation == SNAPSHOTS {
            return Some(Ok(self.snapshots()));
        }
        if relation == LATENCY {
            return Some(Ok(self.latency()));
        }
        if relation == MEMORY {
            return Some(Ok(self.memory()));
        }
        Some(Ok(planner::system::rows(relation, &self.catalog, self.context.environment.as_ref())))
    }
}
