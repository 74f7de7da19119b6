//! `(a, b) IN ((1, 2), (3, 4), …)` over a run of literals: one call over the fields and an array for each of them.
//!
//! Each field is compared as `=` compares it with one of its literals. Where they have no type in common, or none that arrays
//! have, the rows are taken one by one.

use super::literals::{types_of, widened};
use super::operator::{Field, row_items};
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::HirExpr;
use crate::parse::literals::{self, List, LiteralRun};
use crate::scalar::cast::{CastContext, select_common_type_for};
use crate::scalar::func::Comparison;
use crate::scalar::registry;
use repr::ScalarType;
use repr::array::ROW_FIELDS_MAX;
use sqlparser::ast::Expr;

impl Resolver<'_> {
    /// Equality of a written row with each item of a list.
    pub(super) fn in_rows(
        &mut self,
        fields: &[Field<'_>],
        list: &[Expr],
        position: Option<u32>,
    ) -> Result<Vec<HirExpr>, PlanError> {
        let mut conditions = Vec::with_capacity(list.len());
        for item in list {
            let Some(LiteralRun::Rows(text)) = literals::run(item) else {
                conditions.push(self.equals_row(fields, item, position)?);
                continue;
            };
            if !self.as_shown
                && let Some(any) = self.among_rows(fields, text)?
            {
                conditions.push(any);
                continue;
            }
            for row in literals::spread(text)? {
                conditions.push(self.equals_row(fields, &row, position)?);
            }
        }
        Ok(conditions)
    }

    fn equals_row(&mut self, fields: &[Field<'_>], item: &Expr, position: Option<u32>) -> Result<HirExpr, PlanError> {
        let Some(items) = row_items(item) else {
            return Err(PlanError::new("42601", "unequal number of entries in row expressions").at(position));
        };
        Ok(self.compare_rows("=", fields, &items)?.expr)
    }

    /// Equality with one of the rows of a run.
    fn among_rows(&mut self, fields: &[Field<'_>], text: &str) -> Result<Option<HirExpr>, PlanError> {
        let columns = literals::columns(text);
        let lefts = self.fields(fields)?;
        if lefts.len() != columns.len() || columns.len() > ROW_FIELDS_MAX {
            return Ok(None);
        }
        let (mut args, mut arrays) = (Vec::with_capacity(2 * columns.len()), Vec::with_capacity(columns.len()));
        for (left, column) in lefts.into_iter().zip(columns) {
            let Some((left, array)) = self.field_among(left, column)? else { return Ok(None) };
            args.push(left);
            arrays.push(array);
        }
        args.append(&mut arrays);
        Ok(Some(HirExpr::Call { function: registry::among_rows(), args, result: ScalarType::Bool }))
    }

    /// A field and the literals that it is compared with, as `=` takes them.
    fn field_among(&mut self, left: Typed, column: List<'_>) -> Result<Option<(HirExpr, HirExpr)>, PlanError> {
        let array = if column.cast.is_some() {
            self.cast_list(&column)?
        } else {
            let mut types = types_of(&column.values)?;
            let is_number = |scalar: &ScalarType| !matches!(scalar, ScalarType::Unknown | ScalarType::Bool);
            let from = match types.as_slice() {
                [] => Some(ScalarType::Unknown),
                [_] => types.pop(),
                several if several.iter().all(is_number) => Some(select_common_type_for("IN", several)?),
                _ => None,
            };
            match from {
                Some(from) => match self.compared_with(&left, &from) {
                    Some((_, to)) => {
                        let mut values = column.values;
                        values.iter_mut().for_each(|value| *value = widened(value, &from));
                        Some(self.literal_array(&from, values, &to, CastContext::Implicit)?)
                    }
                    None => None,
                },
                None => None,
            }
        };
        let Some(array) = array else { return Ok(None) };
        let Some(element) = array.scalar().element() else { return Ok(None) };
        let Some((of_left, of_array)) = self.compared_with(&left, &element) else { return Ok(None) };
        let left = self.coerce(left, &of_left)?.expr;
        let array = self.coerce(array, &ScalarType::Array(Box::new(of_array)))?.expr;
        Ok(Some((left, array)))
    }

    /// As what `=` compares the two, if it does so by their order.
    fn compared_with(&self, left: &Typed, right: &ScalarType) -> Option<(ScalarType, ScalarType)> {
        if self.has_created_operators("=") {
            return None;
        }
        let found = registry::resolve_operator("=", Some(left.scalar()), right).ok()?;
        let has_arrays = |scalar: &ScalarType| !matches!(scalar, ScalarType::Array(_) | ScalarType::Record(_));
        let plain = found.function.strict
            && found.function.comparison() == Some(Comparison::Equal)
            && found.conversions.iter().all(Option::is_none)
            && found.arg_casts.iter().all(has_arrays);
        plain.then(|| (found.arg_casts[0].clone(), found.arg_casts[1].clone()))
    }
}
