//! Casts that PostgreSQL inserts, and the typing of literals and parameters by their context.

use super::{Resolver, Typed};
use crate::catalog::Qualifier;
use crate::error::PlanError;
use crate::hir::HirExpr;
use crate::scalar::cast::{CastContext, CastMethod, select_common_type_for};
use crate::scalar::func::parse_identifier;
use crate::scalar::func::text_search::configuration::{configuration_named, dictionary_named};
use crate::scalar::registry;
use repr::{Collation, ColumnType, Datum, ScalarType};

impl Resolver<'_> {
    /// A type's name for messages, enums by their names.
    pub(super) fn type_label(&self, scalar: &ScalarType) -> String {
        self.scope().spelled_scalar(scalar, -1)
    }

    /// The type that `$index+1` has so far.
    pub(super) fn param(&mut self, index: usize) -> Result<Typed, PlanError> {
        if self.params.len() <= index {
            self.params.resize(index + 1, None);
        }
        let scalar = self.params[index].get_or_insert(ScalarType::Unknown).clone();
        self.tested(Typed::new(HirExpr::Param(index, scalar.clone()), scalar))
    }

    /// 42P02 for a parameter in what is kept: it would be that of whoever runs a statement.
    pub(super) fn refuse_parameters(&self) -> Result<(), PlanError> {
        match self.params.iter().position(Option::is_some) {
            None => Ok(()),
            Some(index) => Err(PlanError::new("42P02", format!("there is no parameter ${}", index + 1))),
        }
    }

    /// A parameter of no type yet gets this one; clients are told of its domain, as they are by PostgreSQL.
    pub(super) fn deduce_param(&mut self, index: usize, to: &ColumnType) -> Result<(), PlanError> {
        let scalar = &to.scalar;
        match &self.params[index] {
            None | Some(ScalarType::Unknown) => {
                self.params[index] = Some(scalar.clone());
                if to.domain != 0 {
                    self.param_domains.insert(index, to.domain);
                }
                Ok(())
            }
            Some(known) if known == scalar => Ok(()),
            Some(known) => {
                let detail = format!("{} versus {}", self.type_label(known), self.type_label(scalar));
                Err(PlanError::new("42P08", format!("inconsistent types deduced for parameter ${}", index + 1))
                    .detail(detail))
            }
        }
    }

    /// As `to`, if a cast exists in that context; errors are those of parameters only.
    pub(super) fn try_coerce(
        &mut self,
        typed: &Typed,
        to: &ColumnType,
        context: CastContext,
    ) -> Result<Option<Typed>, PlanError> {
        if to.scalar == ScalarType::Unknown
            || (typed.column_type.scalar == to.scalar
                && (to.modifier == -1 || to.modifier == typed.column_type.modifier))
        {
            return Ok(Some(typed.clone()));
        }
        if let HirExpr::Param(index, ScalarType::Unknown) = &typed.expr {
            self.deduce_param(*index, to)?;
        }
        if self.session.relabel.is_some()
            && let Some(expr) = self.relabelled(&typed.expr, &to.scalar)
            && expr != typed.expr
        {
            return self.try_coerce(&Typed { expr, ..typed.clone() }, to, context);
        }
        if let HirExpr::Literal(value, _) = &typed.expr
            && typed.is_unknown()
        {
            if to.scalar == ScalarType::Void {
                // Its one value, whatever is written.
                let value = if value.is_null() { Datum::Null } else { Datum::Text("".into()) };
                return Ok(Some(Typed::literal(value, ScalarType::Void)));
            }
            check_unknown(value, &to.scalar)?;
            if let Some(named) = self.kept_relation(value, &to.scalar).or_else(|| search_object(value, &to.scalar)) {
                return Ok(Some(named));
            }
        }
        if let (ScalarType::Record(given), Some(wanted)) = (typed.scalar(), to.scalar.composite())
            && given.is_anonymous()
        {
            let label = self.type_label(&to.scalar);
            return self.row_as(typed.clone(), wanted, &label, context).map(Some);
        }
        let nullable = typed.column_type.nullable;
        let to = ColumnType { nullable, collation: Collation::DEFAULT, ..to.clone() };
        let collation = (typed.column_type.collation, typed.collated);
        let Some(expr) = registry::coerce(typed.expr.clone(), typed.scalar(), &to, context) else { return Ok(None) };
        self.tested(Typed::of(expr, to).of_collation(collation)).map(Some)
    }

    /// The relation that a kept text names in a string: it is the same for every session, whatever its search path.
    fn kept_relation(&self, value: &Datum, to: &ScalarType) -> Option<Typed> {
        let (Datum::Text(text), ScalarType::Regclass, true) = (value, to, self.keeps) else {
            return None;
        };
        let parts = parse_identifier(text, true).ok()?;
        let (name, before) = parts.split_last()?;
        let found = self.scope().class(Qualifier::of(before), name)?;
        Some(Typed::literal(Datum::Oid(found.oid()), ScalarType::Regclass))
    }

    /// An implicit cast; 42846 if there is none.
    pub(super) fn coerce(&mut self, typed: Typed, to: &ScalarType) -> Result<Typed, PlanError> {
        self.cast(typed, &ColumnType::nullable(to.clone()), CastContext::Implicit)
    }

    /// A cast in that context; 42846 if there is none.
    pub(super) fn cast(&mut self, typed: Typed, to: &ColumnType, context: CastContext) -> Result<Typed, PlanError> {
        match self.try_coerce(&typed, to, context)? {
            Some(cast) => Ok(cast),
            None => {
                let (from, to) = (self.type_label(typed.scalar()), self.type_label(&to.scalar));
                Err(PlanError::new("42846", format!("cannot cast type {from} to {to}")))
            }
        }
    }

    /// The value of a column that is written; 42804 if it cannot be.
    pub(super) fn assign(
        &mut self,
        typed: Typed,
        to: &ColumnType,
        column: &str,
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        match self.try_coerce(&typed, to, CastContext::Assignment).map_err(|error| error.at(position))? {
            Some(cast) => Ok(cast),
            None => Err(PlanError::new(
                "42804",
                format!(
                    "column \"{column}\" is of type {} but expression is of type {}",
                    self.type_label(&to.scalar),
                    self.type_label(typed.scalar())
                ),
            )
            .hint("You will need to rewrite or cast the expression.")
            .at(position)),
        }
    }

    /// A boolean that no set-returning call is part of; `construct` names it in errors.
    pub(super) fn condition(
        &mut self,
        typed: Typed,
        construct: &str,
        position: Option<u32>,
    ) -> Result<HirExpr, PlanError> {
        let truth = self.boolean(typed, construct, position)?;
        if self.returns_set(&truth) {
            let message = format!("argument of {construct} must not return a set");
            return Err(PlanError::new("42804", message).at(position));
        }
        Ok(truth)
    }

    /// A condition; 42804 if it is not boolean.
    pub(super) fn boolean(
        &mut self,
        typed: Typed,
        construct: &str,
        position: Option<u32>,
    ) -> Result<HirExpr, PlanError> {
        match self.try_coerce(&typed, &ColumnType::nullable(ScalarType::Bool), CastContext::Implicit)? {
            Some(cast) => Ok(cast.expr),
            None => Err(PlanError::new(
                "42804",
                format!("argument of {construct} must be type boolean, not type {}", self.type_label(typed.scalar())),
            )
            .at(position)),
        }
    }

    /// Literals and parameters that nothing has typed are text.
    pub(super) fn settle(&mut self, typed: Typed) -> Result<Typed, PlanError> {
        if typed.is_unknown() { self.coerce(typed, &ScalarType::Text) } else { Ok(typed) }
    }

    /// All of one type; `construct` names them in errors.
    pub(super) fn unify(&mut self, construct: &str, items: Vec<Typed>) -> Result<(Vec<Typed>, ScalarType), PlanError> {
        let types: Vec<ScalarType> = items.iter().map(|item| item.scalar().clone()).collect();
        let common = select_common_type_for(construct, &types)
            .map_err(|error| self.named_types(error, &items.iter().collect::<Vec<_>>()))?;
        let items = items.into_iter().map(|item| self.coerce(item, &common)).collect::<Result<_, _>>()?;
        Ok((items, common))
    }

    /// Arguments as an overload wants them.
    pub(super) fn convert_args(
        &mut self,
        args: Vec<Typed>,
        wanted: &[ScalarType],
        conversions: &[Option<CastMethod>],
    ) -> Result<Vec<HirExpr>, PlanError> {
        let mut converted = Vec::with_capacity(args.len());
        for (index, arg) in args.into_iter().enumerate() {
            match conversions.get(index) {
                Some(Some(_)) => {
                    let arg = self.settle(arg)?;
                    let types = [arg.scalar().clone()];
                    converted.extend(registry::convert_args(
                        vec![arg.expr],
                        &types,
                        &wanted[index..=index],
                        &conversions[index..=index],
                    )?);
                }
                Some(None) | None => converted.push(self.coerce(arg, &wanted[index])?.expr),
            }
        }
        Ok(converted)
    }
}

/// The configuration or dictionary that a string names: the same in every session, as all of them are built in.
fn search_object(value: &Datum, to: &ScalarType) -> Option<Typed> {
    let found = match (value, to) {
        (Datum::Text(name), ScalarType::Regconfig) => configuration_named(name),
        (Datum::Text(name), ScalarType::Regdictionary) => dictionary_named(name),
        _ => None,
    };
    found.map(|oid| Typed::literal(Datum::Oid(oid), to.clone()))
}

/// A literal without a type of its own that is none of `to`'s is an error wherever it stands, evaluated or not. Of types whose
/// values depend on the session, or may be large, that is left to evaluation.
pub(super) fn check_unknown(value: &Datum, to: &ScalarType) -> Result<(), PlanError> {
    let Datum::Text(text) = value else { return Ok(()) };
    let element = to.unarrayed();
    let reads_alike =
        |scalar: &ScalarType| matches!(scalar, ScalarType::Text | ScalarType::Varchar) || is_small(scalar);
    let is_composite = matches!(element, ScalarType::Record(record) if record.iter().all(|(_, own)| reads_alike(own)));
    let is_list_of_texts = element != to && matches!(element, ScalarType::Text | ScalarType::Varchar);
    if is_small(element) || is_composite || is_list_of_texts {
        repr::text::parse(to, -1, text, &repr::text::TextContext::default())?;
    }
    Ok(())
}

/// Whether values of a type are small, and written alike in every session.
fn is_small(scalar: &ScalarType) -> bool {
    matches!(
        scalar,
        ScalarType::Bool
            | ScalarType::Int2
            | ScalarType::Int4
            | ScalarType::Int8
            | ScalarType::Oid
            | ScalarType::Float4
            | ScalarType::Float8
            | ScalarType::Numeric
            | ScalarType::Inet
            | ScalarType::Cidr
            | ScalarType::MacAddr
            | ScalarType::MacAddr8
            | ScalarType::Bit
            | ScalarType::VarBit
            | ScalarType::Money
            | ScalarType::Xid8
            | ScalarType::PgLsn
            | ScalarType::Tid
            | ScalarType::Int4Range
            | ScalarType::Int8Range
            | ScalarType::NumRange
            | ScalarType::TsQuery
            | ScalarType::Uuid
    )
}
