//! Catalog relations for queries: computed from the catalog when a query reads them.

pub mod audit;
mod breach;
mod erasures;
pub mod inspection;
mod login_rules;
pub(crate) mod registers;

use audit::AuditReader;
use operators::once::{FoundRows, NumberRange, SystemRows, WantedColumns, WantedRows};
use planner::catalog::Catalog;
use planner::scalar::EvalContext;
use planner::system::{
    ARRANGEMENTS, AUDIT, DATAFLOW, ERASURES, HBA_RULES, IDENTITIES, LATENCY, MEMORY, OPERATORS, RECEIPTS, SNAPSHOTS,
    SUBSCRIPTIONS, VIEWS,
};
use repr::{Datum, RelationId, Row};
use state::SqlError;
use state::view_states::Stage;
use std::collections::BTreeMap;
use std::sync::Arc;
use storage::audit::{EntryRange, StoredReceipt, verify_receipt};
use storage::hexadecimal;
use transactions::database::Database;
use transactions::memory;
use views::automatic;
use views::publication::Standing;

impl Catalogs {
    /// `dogwood.audit`
    fn audit(&self, numbers: &NumberRange, columns: WantedColumns) -> Result<FoundRows, SqlError> {
        let range = EntryRange { numbers: numbers.first..=numbers.last, reverse: numbers.reverse, ..EntryRange::ALL };
        AuditReader::new(&self.database, &self.catalog, &self.context.environment.actor())?.rows(&range, columns)
    }

    /// `dogwood.receipts`: to a person's own login the person's.
    fn receipts(&self, numbers: &NumberRange) -> FoundRows {
        let key = self.database.store.public_key();
        let person = audit::person(&self.database, &self.catalog, self.context.environment.actor().role);
        let receipts = self.database.store.snapshot().receipts(numbers.first..=numbers.last, numbers.reverse);
        let is_told = move |receipt: &StoredReceipt| person.is_none_or(|person| receipt.is_of(person));
        Box::new(receipts.filter(move |receipt| receipt.as_ref().map_or(true, &is_told)).map(move |receipt| {
            let receipt = receipt?;
            let issued_at = verify_receipt(&key, receipt.text.as_bytes())
                .map_or(Datum::Null, |summary| Datum::Timestamptz(summary.time_us));
            Ok(Row::pack(&[
                Datum::Int8(i64::try_from(receipt.number).unwrap_or(i64::MAX)),
                Datum::Text(hexadecimal(&receipt.id).into()),
                issued_at,
                Datum::Text(receipt.text.into()),
            ]))
        }))
    }
}

impl Catalogs {
    /// `dogwood.views`
    fn views(&self) -> Vec<Row> {
        self.database.pipeline.publication.catch_up();
        let published = self.database.published.load_full();
        let automatic = self.database.views.automatic.all();
        let standing = self.database.pipeline.publication.standing();
        let subscribers: BTreeMap<_, _> = self.database.views.subscriptions.by_view().into_iter().collect();
        let number = |value: usize| Datum::Int8(i64::try_from(value).unwrap_or(i64::MAX));
        let big = |value: u64| Datum::Int8(i64::try_from(value).unwrap_or(i64::MAX));
        let text = |value: &str| Datum::Text(value.into());
        published
            .views
            .iter()
            .map(|(id, state)| {
                let table = self.catalog.table(*id);
                let entry = automatic.iter().find(|entry| entry.view() == Some(*id));
                let (message, read) = match &state.stage {
                    Stage::Waiting | Stage::Ready => (Datum::Null, 0),
                    Stage::Hydrating { rows } => (Datum::Null, *rows),
                    Stage::Failed(error) => (text(&error.message), 0),
                };
                let updates: usize = state.arrangements.iter().map(|arrangement| arrangement.updates()).sum();
                let batches: usize = state.arrangements.iter().map(|arrangement| arrangement.batches.len()).sum();
                let times = self.database.views.statistics.of(*id);
                let definition = match (table.and_then(|table| table.view.as_ref()), entry) {
                    (Some(view), _) => text(&view.query),
                    (None, Some(entry)) => text(&entry.text),
                    (None, None) => Datum::Null,
                };
                let name =
                    table.map_or_else(|| automatic::name(*id), |table| self.catalog.server_name(table).into_owned());
                let kind = match (table, entry) {
                    (Some(_), _) => "materialized",
                    (None, Some(entry)) if entry.is_order() => "ordered index",
                    (None, _) => "automatic",
                };
                let Standing { worker, lag } = standing.get(id).copied().unwrap_or_default();
                let updates = updates + state.order.as_ref().map_or(0, |order| order.entries.len());
                Row::pack(&[
                    text(&name),
                    Datum::Oid(id.0),
                    text(kind),
                    published.views.stage_name(*id).map_or(Datum::Null, text),
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
                    worker.map_or(Datum::Null, number),
                    lag.map_or(Datum::Int8(0), |lag| big(u64::try_from(lag.as_micros()).unwrap_or(u64::MAX))),
                    definition,
                ])
            })
            .collect()
    }

    /// `dogwood.latency`
    fn latency(&self) -> Vec<Row> {
        let big = |value: u64| Datum::Int8(i64::try_from(value).unwrap_or(i64::MAX));
        let stages = self.database.views.statistics.stages();
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
    fn rows(&self, relation: RelationId, wanted: WantedRows) -> Option<Result<FoundRows, SqlError>> {
        let WantedRows { numbers, values, columns } = wanted;
        let found = planner::system::find_by_id(relation)?;
        let rows = match relation {
            RECEIPTS => return Some(Ok(self.receipts(&numbers))),
            AUDIT => return Some(self.audit(&numbers, columns)),
            ERASURES => return Some(Ok(self.erasures(&numbers))),
            VIEWS => Ok(self.views()),
            OPERATORS => self.operators(),
            ARRANGEMENTS => self.arrangements(),
            DATAFLOW => self.dataflow(),
            SUBSCRIPTIONS => Ok(self.subscriptions()),
            SNAPSHOTS => Ok(self.snapshots()),
            LATENCY => Ok(self.latency()),
            MEMORY => Ok(self.memory()),
            HBA_RULES => self.login_rules(),
            IDENTITIES => self.identities(),
            _ if found.is_register() => self.register(relation),
            // Those of `dogwood` are the whole server's, and PostgreSQL's the session's database's. They are made when the first is
            // asked for: a join may want none.
            _ => {
                let environment = self.context.environment.clone();
                let make = move || planner::system::rows(relation, environment.catalog(), &*environment, &values);
                return Some(Ok(Box::new(std::iter::once_with(make).flatten().map(Ok))));
            }
        };
        Some(rows.map(|rows| Box::new(rows.into_iter().map(Ok)) as FoundRows))
    }
}
