//! Expressions that an index is of are read where the index keeps them, rather than computed.
//!
//! `lower(email) = $1` becomes `kept = $1` before a way to the rows is chosen, so that whatever is true of columns is true of them.

use super::Planner;
use crate::catalog::Table;
use crate::resolve::index_key::expression_keys;
use crate::scalar::{Mfp, ScalarExpr};
use repr::{ColumnIndex, RelationId};

impl Planner<'_> {
    /// The same over a table's rows, with each expression that is kept replaced by the column that keeps it.
    pub(super) fn with_kept(&self, relation: RelationId, mut mfp: Mfp) -> Mfp {
        let kept = self.kept(self.catalog.table(relation));
        if !kept.is_empty() {
            mfp.map.iter_mut().for_each(|expr| replace(expr, &kept));
            mfp.filter.iter_mut().for_each(|(_, predicate)| replace(predicate, &kept));
        }
        mfp
    }

    fn kept(&self, table: Option<&std::sync::Arc<Table>>) -> Vec<(ColumnIndex, ScalarExpr)> {
        let Some(table) = table.filter(|table| !self.maintained && table.expression_keys().next().is_some()) else {
            return Vec::new();
        };
        // Each was planned when it was defined.
        expression_keys(self.catalog, table).unwrap_or_default()
    }
}

fn replace(expr: &mut ScalarExpr, kept: &[(ColumnIndex, ScalarExpr)]) {
    expr.visit_mut(&mut |node| {
        if let Some((column, _)) = kept.iter().find(|(_, kept)| kept == node) {
            *node = ScalarExpr::Column(*column);
        }
    });
}
