//! Operators that somebody created: which one a symbol means beside PostgreSQL's own, and the call that stands in its place.
//!
//! ```text
//! a & b ─▶ those of the symbol ─▶ one by its operands ─┬─ PostgreSQL's, or none ─▶ `operator`
//!                                                       └─ a created one         ─▶ a call of its function (`routine_call`)
//! ```

use super::levels::shift_expr;
use super::{Resolver, Typed};
use crate::catalog::{Operator, Privilege, Qualifier, ResultKind};
use crate::error::PlanError;
use crate::hir::{Hir, HirColumn, HirExpr, HirNode};
use crate::names::Names;
use crate::scalar::Volatility;
use crate::scalar::func::parse_identifier;
use crate::scalar::func::routine::calling;
use crate::scalar::registry::{self, Rival, RoutineMatch};
use crate::system::builtin::function;
use repr::{ColumnType, Datum, ScalarType};
use std::sync::Arc;

/// A symbol, and the schema that is written before it.
pub(super) fn parts(symbol: &str) -> (Option<&str>, &str) {
    symbol.rsplit_once('.').map_or((None, symbol), |(schema, bare)| (Some(schema), bare))
}

/// The symbol alone.
pub(super) fn bare(symbol: &str) -> &str {
    parts(symbol).1
}

/// A created operator, and what its operands become.
struct Chosen<'a> {
    operator: &'a Arc<Operator>,
    found: RoutineMatch,
}

impl<'a> Resolver<'a> {
    /// Whether somebody created an operator that the symbol may mean, whatever its operands.
    pub(super) fn has_created_operators(&self, symbol: &str) -> bool {
        !self.created_operators(symbol).is_empty()
    }

    fn created_operators(&self, symbol: &str) -> Vec<&'a Arc<Operator>> {
        if self.catalog.operators.is_empty() {
            return Vec::new();
        }
        let (schema, bare) = parts(symbol);
        let bare = if bare == "!=" { "<>" } else { bare };
        let schema = schema.map(|written| parse_identifier(written, true).unwrap_or_default());
        match schema.as_deref() {
            None => self.scope().operators(None, bare),
            Some(parts) => self.scope().operators(Qualifier::of(parts), bare),
        }
    }

    fn created_operator(
        &mut self,
        symbol: &str,
        (left, right): (Option<&ScalarType>, &ScalarType),
    ) -> Result<Option<Chosen<'a>>, PlanError> {
        let mut there = self.created_operators(symbol);
        there.retain(|operator| operator.left.is_some() == left.is_some());
        if there.is_empty() {
            return Ok(None);
        }
        let scope = self.scope();
        let current = |of: &ColumnType| self.catalog.current_type(of).scalar;
        let rival = |operator: &&Arc<Operator>| Rival {
            types: operator.types().map(current).collect(),
            first: scope.is_before_built_in(operator.namespace),
        };
        let rivals: Vec<Rival> = there.iter().map(rival).collect();
        let (schema, bare) = parts(symbol);
        let bare = if bare == "!=" { "<>" } else { bare };
        let found = registry::choose_rival(bare, (left, right), &rivals, schema.is_none())?;
        let Some(found) = found else { return Ok(None) };
        let operator = there[found.index];
        if operator.routine == 0 {
            let label = |of: &ScalarType| self.type_label(of);
            let left = left.map(|left| format!("{} ", label(left))).unwrap_or_default();
            let message = format!("operator is only a shell: {left}{symbol} {}", label(right));
            return Err(PlanError::new("42883", message));
        }
        self.operators.insert(operator.id);
        Ok(Some(Chosen { operator, found }))
    }

    /// Whether the operands make a symbol mean an operator that somebody created.
    pub(super) fn is_created_between(
        &mut self,
        symbol: &str,
        left: &ScalarType,
        right: &ScalarType,
    ) -> Result<bool, PlanError> {
        self.created_operator(symbol, (Some(left), right)).map(|found| found.is_some())
    }

    /// 0A000 where a form of SQL's would compare by an operator that somebody created.
    pub(super) fn refuse_created(&mut self, form: &str, left: &Typed, right: &Typed) -> Result<(), PlanError> {
        match self.is_created_between("=", left.scalar(), right.scalar())? {
            false => Ok(()),
            true => Err(PlanError::unsupported(format!("{form} by an operator that somebody created"))
                .hint("Write it as CASE, with the operator itself.")),
        }
    }

    /// `left symbol right`, or `symbol right`, if somebody created what that means.
    pub(super) fn created_operation(
        &mut self,
        symbol: &str,
        left: Option<&Typed>,
        right: &Typed,
        position: Option<u32>,
    ) -> Result<Option<Typed>, PlanError> {
        if self.catalog.operators.is_empty() {
            return Ok(None);
        }
        let chosen = self.created_operator(symbol, (left.map(Typed::scalar), right.scalar()));
        let operands: Vec<Typed> = left.into_iter().chain([right]).cloned().collect();
        let Some(chosen) =
            chosen.map_err(|error| self.named_types(error, &operands.iter().collect::<Vec<_>>()).at(position))?
        else {
            return Ok(None);
        };
        self.call_of_operator(&chosen, operands, position).map(Some).map_err(|error| error.at(position))
    }

    fn call_of_operator(
        &mut self,
        chosen: &Chosen<'a>,
        operands: Vec<Typed>,
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        let Chosen { operator, found } = chosen;
        if self.as_shown {
            return self.shown_operation(operator, operands, found);
        }
        if let Some(routine) = self.catalog.routines.get(&operator.routine) {
            self.needs.add(routine.id, Privilege::Execute);
            return self.call_of(routine, operands, position);
        }
        let built_in = function::by_id(operator.routine).ok_or_else(|| no_function(operator))?;
        let casts = found.arg_casts.clone();
        let args = self.convert_args(operands, &casts, &found.conversions)?;
        let args = args.into_iter().zip(casts).map(|(expr, scalar)| Typed::new(expr, scalar)).collect();
        self.call_named(built_in.name, args, position)
    }

    /// What an operator gives.
    fn operator_result(&self, operator: &Operator) -> Option<ColumnType> {
        match self.catalog.routines.get(&operator.routine) {
            Some(routine) => match &routine.result.kind {
                ResultKind::Value(own) => Some(self.catalog.current_type(own)),
                ResultKind::Record | ResultKind::Void | ResultKind::Trigger | ResultKind::EventTrigger => None,
            },
            None => {
                let record = function::by_id(operator.routine)?.record?;
                ScalarType::from_oid(record.id("prorettype")).map(ColumnType::nullable)
            }
        }
    }

    /// As it is shown: a call that bears the operator's OID, which nobody carries out.
    fn shown_operation(
        &mut self,
        operator: &Operator,
        operands: Vec<Typed>,
        found: &RoutineMatch,
    ) -> Result<Typed, PlanError> {
        let result = self.operator_result(operator).ok_or_else(|| no_function(operator))?;
        let args = self.convert_args(operands, &found.arg_casts, &found.conversions)?;
        let oid = HirExpr::Literal(Datum::Oid(operator.id), ColumnType::nullable(ScalarType::Regoperator));
        let args = std::iter::once(oid).chain(args).collect();
        let function = calling(false, Volatility::Stable);
        let call = HirExpr::Call { function, args, result: result.scalar.clone() };
        Ok(Typed::of(call, ColumnType { modifier: -1, ..result }))
    }

    /// `left symbol ANY (array)`, or ALL, if somebody created what that means: over the array's elements as rows.
    pub(super) fn created_quantified(
        &mut self,
        symbol: &str,
        (left, array): (&Typed, &Typed),
        all: bool,
        position: Option<u32>,
    ) -> Result<Option<Typed>, PlanError> {
        if self.catalog.operators.is_empty() {
            return Ok(None);
        }
        let element = match array.scalar() {
            ScalarType::Unknown => ScalarType::Unknown,
            other => match other.element() {
                Some(element) => element,
                None => return Ok(None),
            },
        };
        let Some(chosen) = self.created_operator(symbol, (Some(left.scalar()), &element))? else { return Ok(None) };
        if self.operator_result(chosen.operator).is_none_or(|result| result.scalar != ScalarType::Bool) {
            return Err(PlanError::new("42809", "op ANY/ALL (array) requires operator to yield boolean").at(position));
        }
        if self.as_shown {
            return Err(PlanError::unsupported("showing ANY and ALL of an operator that somebody created"));
        }
        let element = chosen.found.arg_casts.last().cloned().unwrap_or(ScalarType::Unknown);
        let array = self.coerce(array.clone(), &element.array()).map_err(|error| error.at(position))?;
        let mut left = self.coerce(left.clone(), &chosen.found.arg_casts[0]).map_err(|error| error.at(position))?;
        if !moves_in(&left.expr) || !moves_in(&array.expr) {
            return Err(PlanError::unsupported(
                "ANY and ALL of an operator that somebody created, of what is volatile",
            )
            .hint("Compute it in a subquery before.")
            .at(position));
        }
        shift_expr(&mut left.expr, 1);
        let relation = self.elements(&array)?;
        let one = Typed::column(0, relation.types[0].clone());
        let compared = self.call_of_operator(&chosen, vec![left, one], position)?;
        let mut condition = self.condition(compared, "ANY", position)?;
        if all {
            condition = self.negate(condition)?.expr;
        }
        let any = HirExpr::Column(HirColumn::Any { relation: Box::new(relation), condition: Box::new(condition) });
        let any = if all { self.negate(any)?.expr } else { any };
        // Of no array nothing is known.
        let null = HirExpr::Literal(Datum::Null, ColumnType::nullable(ScalarType::Bool));
        let case = HirExpr::Case {
            branches: vec![(registry::null_test(array.expr.clone(), array.scalar()), null)],
            otherwise: Box::new(any),
            result: ScalarType::Bool,
        };
        Ok(Some(Typed::boolean(case)))
    }

    /// An array's elements as rows, one level in.
    fn elements(&mut self, array: &Typed) -> Result<Hir, PlanError> {
        let found = registry::resolve_table_function("unnest", std::slice::from_ref(array.scalar()))?;
        let types: Vec<ColumnType> =
            found.columns.iter().map(|(_, scalar)| ColumnType::nullable(scalar.clone())).collect();
        let mut given = array.expr.clone();
        shift_expr(&mut given, 1);
        let functions = vec![(found.function, vec![given], types.clone())];
        let (input, names) = (Box::new(Hir::unit()), Names::default());
        Ok(Hir { node: HirNode::TableFunction { input, functions, ordinality: false, names }, types })
    }
}

/// Whether an expression may stand in a subquery, and be evaluated for each of its rows: nothing in it is volatile, or stands for what
/// is evaluated around it.
fn moves_in(expr: &HirExpr) -> bool {
    let mut moves = super::build::is_stable(expr);
    expr.visit(&mut |part| moves &= !matches!(part, HirExpr::Operand(_)));
    moves
}

fn no_function(operator: &Operator) -> PlanError {
    let Operator { name, routine, .. } = operator;
    PlanError::new("42883", format!("function with OID {routine} of operator {name} does not exist"))
}
