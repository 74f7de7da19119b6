//! TABLESAMPLE: a table's rows, each taken or left by chance.
//!
//! A condition that is as volatile as `random()`; with REPEATABLE one over the row's key and the seed. Both methods choose row
//! by row: rows are kept in the order of their keys, and blocks of them would be neighbours.

use super::levels::expr_levels;
use super::relation::{NamedRelation, Stored};
use super::scope::{Clause, Frame, FromItem};
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::{Hir, HirNode};
use crate::parse::table_sample::Sample;
use crate::scalar::cast::CastContext;
use crate::scalar::func::Volatility;
use crate::system;
use repr::{ColumnType, Datum, ScalarType};
use sqlparser::ast::{Expr, ObjectName, TableAlias, TableSampleKind};

impl Resolver<'_> {
    /// `table TABLESAMPLE method (percentage) REPEATABLE (seed)`
    pub(super) fn sampled_relation(
        &mut self,
        name: &ObjectName,
        alias: Option<&TableAlias>,
        sample: &TableSampleKind,
    ) -> Result<FromItem, PlanError> {
        let (TableSampleKind::BeforeTableAlias(read) | TableSampleKind::AfterTableAlias(read)) = sample;
        let sample = Sample::of(read)?;
        self.require_sampled(name)?;
        let function = match sample.method {
            "bernoulli" => "TABLESAMPLE BERNOULLI",
            "system" => "TABLESAMPLE SYSTEM",
            method => {
                return Err(PlanError::new("42704", format!("tablesample method {method} does not exist")));
            }
        };
        let [percentage] = sample.arguments.as_slice() else {
            let (method, given) = (sample.method, sample.arguments.len());
            let message = format!("tablesample method {method} requires 1 argument, not {given}");
            return Err(PlanError::new("2202H", message));
        };
        let mut args = vec![self.sample_argument(percentage, &ScalarType::Float4, "TABLESAMPLE")?];
        if let Some(seed) = sample.seed {
            args.push(self.sample_argument(seed, &ScalarType::Float8, "REPEATABLE")?);
        }
        let item = self.named_relation(name, alias)?;
        self.taken(item, function, args)
    }

    /// The rows of an item that are taken.
    fn taken(&mut self, item: FromItem, function: &str, mut args: Vec<Typed>) -> Result<FromItem, PlanError> {
        let FromItem { hir, tables, columns } = item;
        let width = hir.arity();
        let hir = match hir {
            Hir { node: HirNode::Get { relation, with_key: false, names }, mut types }
                if args.len() > 1 && self.catalog.table(relation).is_some_and(|table| table.is_stored()) =>
            {
                types.push(ColumnType::not_null(ScalarType::Bytea));
                Hir { node: HirNode::Get { relation, with_key: true, names }, types }
            }
            hir => hir,
        };
        if args.len() > 1 {
            let has_key = matches!(hir.node, HirNode::Get { with_key: true, .. });
            let first = if has_key { hir.arity() - 1 } else { 0 };
            args.extend((first..hir.arity()).map(|index| Typed::column(index, hir.types[index].clone())));
        }
        let condition = self.call_named(function, args, None)?;
        let hir = hir.filter(vec![condition.expr]);
        let hir = if hir.arity() > width { hir.project((0..width).collect()) } else { hir };
        Ok(FromItem { hir, tables, columns })
    }

    /// 0A000 for what has no rows of its own.
    fn require_sampled(&mut self, name: &ObjectName) -> Result<(), PlanError> {
        let is_sampled = match self.find_relation(name)? {
            NamedRelation::Stored(Stored { id, .. }) => system::find_by_id(id).is_none_or(|relation| !relation.is_view),
            NamedRelation::View(view) => view.is_maintained(),
            NamedRelation::Cte(_) | NamedRelation::Sequence(_) => false,
        };
        if is_sampled {
            return Ok(());
        }
        Err(PlanError::new("0A000", "TABLESAMPLE clause can only be applied to tables and materialized views")
            .at(self.at(sqlparser::ast::Spanned::span(name))))
    }

    /// A number that does not depend on the row.
    fn sample_argument(&mut self, expr: &Expr, scalar: &ScalarType, clause: &str) -> Result<Typed, PlanError> {
        let position = self.position_of(expr);
        let resolved = self.with_frame(Frame::default().clause(Clause::FromFunction), |resolver| {
            let typed = resolver.expr(expr)?;
            let label = resolver.type_label(typed.scalar());
            resolver.cast(typed, &ColumnType::nullable(scalar.clone()), CastContext::Assignment).map_err(|error| {
                let wanted = scalar.format_type(-1);
                match error.code {
                    "42846" => {
                        let message = format!("argument of {clause} must be type {wanted}, not type {label}");
                        PlanError::new("42804", message)
                    }
                    _ => error,
                }
            })
        });
        let (typed, _) = resolved.map_err(|error| error.at(position))?;
        if matches!(&typed.expr, crate::hir::HirExpr::Literal(Datum::Null, _)) {
            return Err(match clause {
                "REPEATABLE" => PlanError::new("2202G", "TABLESAMPLE REPEATABLE parameter cannot be null"),
                _ => PlanError::new("2202H", "TABLESAMPLE parameter cannot be null"),
            });
        }
        let mut own = false;
        expr_levels(&typed.expr, &mut |level, _| own |= level == 0);
        if own || typed.expr.volatility() == Volatility::Volatile {
            return Err(PlanError::unsupported("a TABLESAMPLE whose parameter differs from row to row")
                .hint("Use a constant, a parameter, or a subquery.")
                .at(position));
        }
        Ok(typed)
    }
}
