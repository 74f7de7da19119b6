//! Catalog relations for queries: computed from the catalog when a query reads them.

use crate::SqlError;
use crate::database::Database;
use crate::one_shot::SystemRows;
use planner::catalog::Catalog;
use planner::scalar::EvalContext;
use planner::system::RECEIPTS;
use repr::{Datum, RelationId, Row};
use std::sync::Arc;
use storage::audit::verify_receipt;

impl Catalogs {
    /// `dogwood.receipts`
    fn receipts(&self) -> Result<Vec<Row>, SqlError> {
        let mut rows = Vec::new();
        for receipt in self.database.store.snapshot().receipts() {
            let receipt = receipt?;
            let id: String = receipt.id.iter().map(|byte| format!("{byte:02x}")).collect();
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
        Some(Ok(planner::system::rows(relation, &self.catalog, self.context.environment.as_ref())))
    }
}
