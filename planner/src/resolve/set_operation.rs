//! UNION, INTERSECT, EXCEPT: both sides of the same types.

use super::collate::either;
use super::comparable::require_equality;
use super::outputs::Outputs;
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::{Hir, HirNode, OutputColumn};
use crate::names::Names;
use crate::scalar::cast::select_common_type_for;
use repr::{ColumnType, ScalarType};
use sqlparser::ast::{SetExpr, SetOperator, SetQuantifier};

impl Resolver<'_> {
    pub(super) fn set_operation(&mut self, body: &SetExpr) -> Result<(Hir, Vec<OutputColumn>), PlanError> {
        // Chains lean to the left: no recursion along them.
        let mut steps = Vec::new();
        let mut first = body;
        while let SetExpr::SetOperation { left, op, set_quantifier, right } = first {
            steps.push((*op, *set_quantifier, &**right));
            first = left;
        }
        let mut at_hand = Operand::Written(first);
        for (op, quantifier, right) in steps.into_iter().rev() {
            at_hand = Operand::Made(self.combine_sets(at_hand, op, quantifier, right)?);
        }
        match at_hand {
            Operand::Made(made) => Ok(made),
            Operand::Written(body) => self.set_operand(body, &Outputs::Settled),
        }
    }

    fn combine_sets(
        &mut self,
        left: Operand<'_>,
        op: SetOperator,
        quantifier: SetQuantifier,
        right: &SetExpr,
    ) -> Result<(Hir, Vec<OutputColumn>), PlanError> {
        let (name, all) = written_operator(op, quantifier)?;
        let left_locking = self.row_locks.subqueries.len();
        let (mut left_hir, left_columns, left_written) = match left {
            Operand::Made((hir, columns)) => (hir, columns, None),
            Operand::Written(body) => {
                let (hir, columns) = self.set_operand(body, &Outputs::Kept)?;
                (hir, columns, Some(body))
            }
        };
        let right_locking = self.row_locks.subqueries.len();
        let (mut right_hir, _) = self.set_operand(right, &Outputs::Kept)?;
        let all_locking = self.row_locks.subqueries.len();
        if left_hir.arity() != right_hir.arity() {
            return Err(PlanError::new("42601", format!("each {name} query must have the same number of columns")));
        }
        let types = common_types(self, name, &left_hir, &right_hir)?;
        if !(all && op == SetOperator::Union) {
            types.iter().try_for_each(|column| require_equality(&column.scalar))?;
        }
        // A side that has untyped columns is resolved again, now that their types are known.
        if let Some(body) = left_written
            && has_unknown(&left_hir)
        {
            self.unlock(left_locking, right_locking);
            left_hir = self.set_operand(body, &Outputs::Hinted(&types))?.0;
        }
        if has_unknown(&right_hir) {
            self.unlock(right_locking, all_locking);
            right_hir = self.set_operand(right, &Outputs::Hinted(&types))?.0;
        }
        let left_hir = self.cast_columns(left_hir, &types)?;
        let right_hir = self.cast_columns(right_hir, &types)?;
        let columns: Vec<OutputColumn> = left_columns
            .into_iter()
            .zip(&types)
            .map(|(column, column_type)| OutputColumn {
                name: column.name,
                column_type: column_type.clone(),
                origin: None,
            })
            .collect();
        let node = match op {
            SetOperator::Union => {
                let names = Names::bare(columns.iter().map(|column| column.name.as_str()));
                let mut inputs = Vec::new();
                match left_hir.node {
                    HirNode::Union(earlier, _) if left_hir.types == types => inputs.extend(earlier),
                    node => inputs.push(Hir { node, types: left_hir.types }),
                }
                inputs.push(right_hir);
                let union = Hir { node: HirNode::Union(inputs, names), types };
                return Ok((if all { union } else { union.distinct() }, columns));
            }
            SetOperator::Intersect => HirNode::Intersect { left: Box::new(left_hir), right: Box::new(right_hir), all },
            SetOperator::Except | SetOperator::Minus => {
                HirNode::Except { left: Box::new(left_hir), right: Box::new(right_hir), all }
            }
        };
        Ok((Hir { node, types }, columns))
    }

    /// Columns of exactly those types.
    pub(super) fn cast_columns(&mut self, hir: Hir, types: &[ColumnType]) -> Result<Hir, PlanError> {
        if hir.types.iter().zip(types).all(|(have, want)| have.scalar == want.scalar) {
            return Ok(Hir { types: types.to_vec(), ..hir });
        }
        let mut casts = Vec::with_capacity(types.len());
        for (index, (have, want)) in hir.types.iter().zip(types).enumerate() {
            casts.push(self.coerce(Typed::column(index, have.clone()), &want.scalar)?);
        }
        let (hir, places) = hir.with_columns(casts);
        let hir = hir.project(places);
        Ok(Hir { types: types.to_vec(), ..hir })
    }
}

enum Operand<'q> {
    Written(&'q SetExpr),
    Made((Hir, Vec<OutputColumn>)),
}

/// The operator's name, and whether equal rows are all kept.
fn written_operator(op: SetOperator, quantifier: SetQuantifier) -> Result<(&'static str, bool), PlanError> {
    let name = match op {
        SetOperator::Union => "UNION",
        SetOperator::Intersect => "INTERSECT",
        SetOperator::Except => "EXCEPT",
        SetOperator::Minus => return Err(PlanError::new("42601", "syntax error at or near \"MINUS\"")),
    };
    let all = match quantifier {
        SetQuantifier::All => true,
        SetQuantifier::None | SetQuantifier::Distinct => false,
        SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName => {
            return Err(PlanError::new("42601", "syntax error at or near \"BY\""));
        }
    };
    Ok((name, all))
}

/// The types that both sides can be of, column by column.
fn common_types(resolver: &Resolver<'_>, name: &str, left: &Hir, right: &Hir) -> Result<Vec<ColumnType>, PlanError> {
    let mut types = Vec::with_capacity(left.arity());
    for (left, right) in left.types.iter().zip(&right.types) {
        let both = [left.scalar.clone(), right.scalar.clone()];
        let scalar = select_common_type_for(name, &both).map_err(|error| resolver.naming(error, &both))?;
        let modifier = if left.modifier == right.modifier && left.scalar == right.scalar { left.modifier } else { -1 };
        let collation = either(left.collation, right.collation);
        types.push(ColumnType { scalar, modifier, nullable: left.nullable || right.nullable, collation, domain: 0 });
    }
    Ok(types)
}

fn has_unknown(hir: &Hir) -> bool {
    hir.types.iter().any(|column| column.scalar == ScalarType::Unknown)
}
