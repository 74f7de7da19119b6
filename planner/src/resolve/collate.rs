//! COLLATE, and the collation that an expression has of what it is made of.
//!
//! What is written beats what columns have, and what columns have beats the default. Of two that disagree nothing is compared.

use super::scope::fold;
use super::{Resolver, Typed};
use crate::catalog::Column;
use crate::error::PlanError;
use crate::hir::{Hir, HirExpr, HirQuery};
use crate::scalar::func::Comparison;
use crate::scalar::registry::{self, FunctionMatch};
use crate::scalar::{Order, collation};
use repr::{Collation, ColumnType, Datum, ScalarType};
use sqlparser::ast::{Expr, Ident, ObjectName};

/// What the names of aggregates end with that are taken of keys.
pub(super) const BY_KEY: &str = " BY KEY";

impl Typed {
    fn is_collatable(&self) -> bool {
        self.scalar().collation() != 0
    }

    /// Of this collation, if it is of a type that has one.
    pub(super) fn of_collation(mut self, (collation, written): (Collation, bool)) -> Self {
        if self.is_collatable() {
            (self.column_type.collation, self.collated) = (collation, written);
        }
        self
    }

    fn has_keys(&self) -> bool {
        collation::has_keys(self.column_type.collation)
    }

    fn of_own_collation(&self) -> (Collation, bool) {
        (self.column_type.collation, self.collated)
    }
}

/// The collation of what is made of these, and whether it was written.
///
/// # Errors
/// 42P21 where two are written.
pub(super) fn derived<'t>(parts: impl IntoIterator<Item = &'t Typed>) -> Result<(Collation, bool), PlanError> {
    let mut found = (Collation::DEFAULT, false);
    for part in parts.into_iter().filter(|part| part.is_collatable()) {
        let other = part.of_own_collation();
        found = match (found, other) {
            ((collation, true), (other, true)) if collation != other => {
                let [one, two] = [collation, other].map(collation::quoted);
                let message = format!("collation mismatch between explicit collations {one} and {two}");
                return Err(PlanError::new("42P21", message));
            }
            ((_, true), _) | (_, (Collation::DEFAULT, false)) => found,
            (_, (_, true)) | ((Collation::DEFAULT, false), _) => other,
            ((collation, false), (other, false)) => (either(collation, other), false),
        };
    }
    Ok(found)
}

/// That of two columns in one.
pub(super) fn either(one: Collation, other: Collation) -> Collation {
    match (one, other) {
        (Collation::DEFAULT, found) | (found, Collation::DEFAULT) => found,
        (one, other) if one == other => one,
        _ => Collation::INDETERMINATE,
    }
}

/// The collation of that name, for a value of a type.
///
/// # Errors
/// 42704, 42804, 0A000.
pub(super) fn for_type(
    schema: Option<&str>,
    name: &str,
    scalar: &ScalarType,
    label: &str,
) -> Result<Collation, PlanError> {
    let found = collation::named(name).filter(|_| schema.is_none_or(|schema| schema == "pg_catalog"));
    let Some(found) = found else {
        let qualified = schema.map_or_else(|| name.to_owned(), |schema| format!("{schema}.{name}"));
        let message = format!("collation \"{qualified}\" for encoding \"UTF8\" does not exist");
        return Err(PlanError::new("42704", message));
    };
    if scalar.collation() == 0 {
        return Err(PlanError::new("42804", format!("collations are not supported by type {label}")));
    }
    if collation::has_keys(found) && scalar.element().is_some() {
        return Err(PlanError::unsupported(format!("collation \"{name}\" of type {label}"))
            .hint("Arrays of text are ordered by code points, as COLLATE \"C\" does."));
    }
    refuse_citext(scalar, found)?;
    Ok(found)
}

/// The order of citext is that of code points, of texts in lower case.
///
/// # Errors
/// 0A000.
fn refuse_citext(scalar: &ScalarType, collation: Collation) -> Result<(), PlanError> {
    if *scalar != ScalarType::Citext || !collation::has_keys(collation) {
        return Ok(());
    }
    let name = collation::quoted(collation);
    Err(PlanError::unsupported(format!("collation {name} of type citext"))
        .hint("Cast it to text: lower(value::text) COLLATE … ignores case too."))
}

impl Resolver<'_> {
    /// `expr COLLATE name`.
    pub(super) fn collate(&mut self, expr: &Expr, name: &ObjectName) -> Result<Typed, PlanError> {
        let position = self.position_of(expr);
        let typed = self.expr(expr)?;
        let typed = self.settle(typed)?;
        let parts: Vec<&Ident> = name.0.iter().filter_map(|part| part.as_ident()).collect();
        let [before @ .., last] = parts.as_slice() else {
            return Err(PlanError::new("42601", "a collation has a name").at(position));
        };
        let schema = before.last().map(|schema| fold(schema));
        if let Some(schema) = &schema {
            self.scope().require_namespace(schema).map_err(|error| error.at(position))?;
        }
        let label = self.type_label(typed.scalar());
        let found = for_type(schema.as_deref(), &fold(last), typed.scalar(), &label);
        let found = found.map_err(|error| error.at(position))?;
        // What it changes may not be taken for the column that it is of.
        let differs = [found, typed.column_type.collation].into_iter().any(collation::has_keys);
        let typed = if self.as_shown || differs { named(typed, found)? } else { typed };
        Ok(typed.of_collation((found, true)))
    }

    /// `COLLATION FOR (value)`: the name of its collation, which does not ask for the value itself.
    pub(super) fn collation_for(&self, value: &Typed) -> Result<Typed, PlanError> {
        let text = |value| Typed::literal(value, ScalarType::Text);
        if value.is_unknown() {
            return Ok(text(Datum::Null));
        }
        if !value.is_collatable() {
            let message = format!("collations are not supported by type {}", self.type_label(value.scalar()));
            return Err(PlanError::new("42804", message));
        }
        Ok(text(match value.column_type.collation {
            Collation::INDETERMINATE => Datum::Null,
            Collation::DEFAULT if *value.scalar() == ScalarType::Name => Datum::text("\"C\""),
            collation => Datum::text(collation::quoted(collation)),
        }))
    }

    /// A call of what was found for these arguments: it has their collation.
    pub(super) fn called(&mut self, found: FunctionMatch, args: Vec<Typed>) -> Result<Typed, PlanError> {
        let collation = derived(&args)?;
        if let Some(comparison) = found.function.comparison()
            && let Some(compared) = self.compared(comparison, &found, &args, collation.0)?
        {
            return Ok(compared);
        }
        let args = self.convert_args(args, &found.arg_casts, &found.conversions)?;
        let call = HirExpr::Call { function: found.function, args, result: found.result.clone() };
        Ok(Typed::new(call, found.result).of_collation(collation))
    }

    /// A comparison of texts by their keys. What asks for equality alone needs none.
    fn compared(
        &mut self,
        comparison: Comparison,
        found: &FunctionMatch,
        args: &[Typed],
        collation: Collation,
    ) -> Result<Option<Typed>, PlanError> {
        let [left, right] = found.arg_casts.as_slice() else { return Ok(None) };
        if left.collation() == 0 || right.collation() == 0 {
            return Ok(None);
        }
        let by_keys = self.orders_by_keys(collation, "string comparison")?;
        let by_order = match comparison {
            Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual => true,
            Comparison::Equal | Comparison::NotEqual | Comparison::Distinct | Comparison::NotDistinct => false,
        };
        if !by_keys || !by_order || left.element().is_some() {
            return Ok(None);
        }
        let mut keys = Vec::with_capacity(2);
        for (arg, wanted) in args.iter().zip(&found.arg_casts) {
            let arg = self.coerce(arg.clone(), wanted)?;
            keys.push(self.key(arg, collation)?.expr);
        }
        let found = registry::resolve_operator(found.function.name, Some(&ScalarType::Bytea), &ScalarType::Bytea)?;
        Ok(Some(Typed::boolean(HirExpr::Call { function: found.function, args: keys, result: ScalarType::Bool })))
    }

    /// What rows are ordered by where this is asked for: itself, or its key.
    pub(super) fn sort_key(&mut self, typed: Typed) -> Result<Typed, PlanError> {
        let collation = typed.column_type.collation;
        let by_keys = typed.is_collatable() && self.orders_by_keys(collation, "ordering")?;
        if by_keys { self.key(typed, collation) } else { Ok(typed) }
    }

    /// Whether texts of a collation are put in order by keys. Where an expression is shown they stand for themselves.
    fn orders_by_keys(&self, collation: Collation, what: &str) -> Result<bool, PlanError> {
        if self.as_shown || collation == Collation::DEFAULT {
            return Ok(false);
        }
        require_one(collation, what)?;
        Ok(collation::has_keys(collation))
    }

    /// What an index is of, that is an expression.
    pub(super) fn key_of_index(&mut self, typed: Typed) -> Result<Typed, PlanError> {
        let key = self.settle(typed)?;
        self.sort_key(key)
    }

    /// The value of a column that is computed from the others of its row: for statements, or for an index.
    pub(super) fn computed(&mut self, typed: Typed, column: &Column) -> Result<Typed, PlanError> {
        let typed = if column.hidden { self.key_of_index(typed)? } else { typed };
        self.assign(typed, &column.column_type, &column.name, None)
    }

    fn key(&mut self, typed: Typed, collation: Collation) -> Result<Typed, PlanError> {
        refuse_citext(typed.scalar(), collation)?;
        let nullable = typed.column_type.nullable;
        let text = self.coerce(Typed { expr: without_name(typed.expr), ..typed }, &ScalarType::Text)?;
        let oid = Typed::literal(Datum::Oid(collation.0), ScalarType::Oid);
        let found = registry::resolve_function("COLLATION KEY", &[ScalarType::Text, ScalarType::Oid], false)?;
        let key =
            HirExpr::Call { function: found.function, args: vec![text.expr, oid.expr], result: ScalarType::Bytea };
        Ok(Typed::of(key, ColumnType { nullable, ..ColumnType::nullable(ScalarType::Bytea) }))
    }

    /// What extremes are taken of where texts are not ordered by code points: their keys, if there are any.
    pub(super) fn keys_of_extremes(&mut self, args: &[Typed]) -> Result<Option<Vec<Typed>>, PlanError> {
        let (collation, _) = derived(args)?;
        let are_texts = args.iter().all(|arg| arg.is_collatable() && arg.scalar().element().is_none());
        if !are_texts || !self.orders_by_keys(collation, "string comparison")? {
            return Ok(None);
        }
        args.iter().map(|arg| self.key(arg.clone(), collation)).collect::<Result<_, _>>().map(Some)
    }

    /// `min` and `max` of texts that are not ordered by code points are those of their keys.
    pub(super) fn extreme_by_keys(&mut self, name: &str, args: Vec<Typed>) -> Result<(String, Vec<Typed>), PlanError> {
        let by_keys =
            if matches!(name, "min" | "max") && args.len() == 1 { self.keys_of_extremes(&args)? } else { None };
        Ok(match by_keys {
            Some(keys) => (format!("{}{BY_KEY}", name.to_uppercase()), keys),
            None => (name.to_owned(), args),
        })
    }

    /// Where texts of a collation with keys cannot stand.
    pub(super) fn refuse_keys(&self, parts: &[Typed], place: &str) -> Result<(), PlanError> {
        let Some(part) = parts.iter().find(|part| part.is_collatable() && part.has_keys()) else { return Ok(()) };
        let name = collation::quoted(part.column_type.collation);
        Err(PlanError::unsupported(format!("collation {name} in {place}"))
            .hint("Write COLLATE \"C\" there: text is ordered by code points then."))
    }

    /// The text of a key.
    pub(super) fn text_of_key(&mut self, key: Typed, collation: (Collation, bool)) -> Result<Typed, PlanError> {
        Ok(self.call_named("COLLATED TEXT", vec![key], None)?.of_collation(collation))
    }

    /// A query whose order is by keys, where its columns have a collation.
    pub(super) fn with_sort_keys(&mut self, query: HirQuery) -> Result<HirQuery, PlanError> {
        let (relation, order_by) = self.keyed(query.relation, query.order_by)?;
        Ok(HirQuery { relation, order_by, ..query })
    }

    /// A relation with the keys of an order behind its columns, and the order by these.
    pub(super) fn keyed(&mut self, relation: Hir, mut order: Vec<Order>) -> Result<(Hir, Vec<Order>), PlanError> {
        let mut keys = Vec::new();
        for item in &mut order {
            let column = Typed::column(item.column, relation.types[item.column].clone());
            let key = self.sort_key(column.clone())?;
            if key != column {
                item.column = relation.arity() + keys.len();
                keys.push(key);
            }
        }
        Ok((relation.map(keys), order))
    }
}

/// An expression with the collation that was written.
fn named(typed: Typed, collation: Collation) -> Result<Typed, PlanError> {
    let types = [typed.scalar().clone(), ScalarType::Oid];
    let found = registry::resolve_function("COLLATE", &types, false)?;
    let oid = Typed::literal(Datum::Oid(collation.0), ScalarType::Oid);
    let call = HirExpr::Call { function: found.function, args: vec![typed.expr, oid.expr], result: types[0].clone() };
    Ok(Typed::of(call, typed.column_type))
}

fn without_name(expr: HirExpr) -> HirExpr {
    match expr {
        HirExpr::Call { function, mut args, .. } if function.name == "COLLATE" && args.len() == 2 => {
            args.swap_remove(0)
        }
        other => other,
    }
}

/// # Errors
/// 42P22 where parts disagree.
fn require_one(collation: Collation, what: &str) -> Result<(), PlanError> {
    if collation != Collation::INDETERMINATE {
        return Ok(());
    }
    Err(PlanError::new("42P22", format!("could not determine which collation to use for {what}"))
        .hint("Use the COLLATE clause to set the collation explicitly."))
}
