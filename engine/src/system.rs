//! Catalog relations for queries: computed from the catalog when a query reads them.

use crate::SqlError;
use crate::database::Database;
use crate::one_shot::SystemRows;
use planner::catalog::Catalog;
use planner::scalar::EvalContext;
use planner::system::{AUDIT, RECEIPTS};
use repr::{Array, Datum, RelationId, Row};
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
        Some(Ok(planner::system::rows(relation, &self.catalog, self.context.environment.as_ref())))
    }
}
