//! Catalog relations for queries: computed from the catalog when a query reads them.

use crate::SqlError;
use crate::one_shot::SystemRows;
use planner::catalog::Catalog;
use planner::scalar::EvalContext;
use repr::{RelationId, Row};
use std::sync::Arc;

/// The catalog relations at one version of the catalog.
pub struct Catalogs {
    catalog: Arc<Catalog>,
    context: EvalContext,
}

impl Catalogs {
    /// Of this catalog, as this session sees it.
    pub fn new(catalog: &Arc<Catalog>, context: &EvalContext) -> Self {
        Catalogs { catalog: catalog.clone(), context: context.clone() }
    }
}

impl SystemRows for Catalogs {
    fn rows(&self, relation: RelationId) -> Option<Result<Vec<Row>, SqlError>> {
        planner::system::find_by_id(relation)?;
        Some(Ok(planner::system::rows(relation, &self.catalog, self.context.environment.as_ref())))
    }
}
