//! Expressions: every form of the parser's tree to one typed `HirExpr`.

use super::collate::derived;
use super::operator::{Field, row_items};
use super::scope::{Clause, Frame, fold};
use super::types::data_type;
use super::{Resolver, Typed};
use crate::catalog::row_type::relation_of;
use crate::error::PlanError;
use crate::hir::HirExpr;
use crate::parse::dialect::between_value;
use crate::parse::literals;
use crate::parse::star::is_star;
use crate::scalar::cast::{Cast, CastContext, CastMethod};
use repr::{Bits, ColumnType, Datum, ScalarType};
use sqlparser::ast::{AccessExpr, CaseWhen, CastKind, DataType, Expr, Ident, Spanned, Subscript, Value, ValueWithSpan};

impl Resolver<'_> {
    /// Where an expression starts, for errors.
    pub(super) fn position_of(&self, expr: &Expr) -> Option<u32> {
        self.at(expr.span())
    }

    /// Resolves one expression over the innermost frame.
    pub(super) fn expr(&mut self, expr: &Expr) -> Result<Typed, PlanError> {
        self.nested(|resolver| resolver.expr_inner(expr))
    }

    fn expr_inner(&mut self, expr: &Expr) -> Result<Typed, PlanError> {
        match expr {
            Expr::Identifier(ident) => self.resolve_name(ident),
            Expr::CompoundIdentifier(parts) => self.resolve_qualified(parts),
            Expr::Nested(inner) => self.expr(inner),
            Expr::Value(value) => self.value(value),
            Expr::TypedString(typed) => {
                let mut to = self.written_type(&typed.data_type)?;
                // Here alone `char` and `bit` without a length are of any.
                if matches!(typed.data_type, DataType::Char(None) | DataType::Character(None) | DataType::Bit(None)) {
                    to.modifier = -1;
                }
                let text = self.value(&typed.value)?;
                self.explicit(text, &to)
            }
            Expr::Interval(interval) => self.interval(interval),
            Expr::Cast { kind, expr, data_type, format } => self.written_cast(kind, expr, data_type, format.is_some()),
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right),
            Expr::UnaryOp { op, expr } => self.unary(*op, expr),
            Expr::Prefixed { prefix, value } => self.prefixed(prefix, value),
            Expr::IsNull(inner) => self.is_null(inner, "IS NULL"),
            Expr::IsNotNull(inner) => self.is_null(inner, "IS NOT NULL"),
            Expr::IsTrue(inner) => self.truth(inner, "IS TRUE", "IS TRUE"),
            Expr::IsNotTrue(inner) => self.truth(inner, "IS NOT TRUE", "IS NOT TRUE"),
            Expr::IsFalse(inner) => self.truth(inner, "IS FALSE", "IS FALSE"),
            Expr::IsNotFalse(inner) => self.truth(inner, "IS NOT FALSE", "IS NOT FALSE"),
            Expr::IsUnknown(inner) => self.truth(inner, "IS UNKNOWN", "IS UNKNOWN"),
            Expr::IsNotUnknown(inner) => self.truth(inner, "IS NOT UNKNOWN", "IS NOT UNKNOWN"),
            Expr::IsDistinctFrom(left, right) => self.distinct(left, right, false),
            Expr::IsNotDistinctFrom(left, right) => self.distinct(left, right, true),
            Expr::InList { expr, list, negated } => self.in_list(expr, list, *negated),
            Expr::InSubquery { expr, subquery, negated } => self.in_subquery(expr, subquery, *negated),
            Expr::Between { expr, negated, low, high } => self.between(expr, *negated, low, high),
            Expr::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like(if *negated { "!~~" } else { "~~" }, expr, pattern, escape_char.as_deref())
            }
            Expr::ILike { negated, any: false, expr, pattern, escape_char } => {
                self.like(if *negated { "!~~*" } else { "~~*" }, expr, pattern, escape_char.as_deref())
            }
            Expr::SimilarTo { negated, expr, pattern, escape_char } => {
                self.similar_to(*negated, expr, pattern, escape_char.as_deref())
            }
            Expr::AnyOp { left, compare_op, right, .. } => self.quantified(left, compare_op, right, false),
            Expr::AllOp { left, compare_op, right } => self.quantified(left, compare_op, right, true),
            Expr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())
            }
            Expr::Exists { subquery, negated } => self.exists(subquery, *negated),
            Expr::Subquery(query) => self.scalar_subquery(query),
            Expr::Function(function) => self.function(function),
            Expr::Tuple(_) => self.row(expr),
            Expr::Array(array) => self.array(&array.elem, self.position_of(expr)),
            Expr::AtTimeZone { timestamp, time_zone } => {
                let position = self.position_of(timestamp);
                let timestamp = self.expr(timestamp)?;
                let zone = self.expr(time_zone)?;
                self.call_named("AT TIME ZONE", vec![zone, timestamp], position)
            }
            Expr::Extract { field, expr, .. } => self.extract(field, expr),
            Expr::Ceil { expr, field } => self.rounded("ceil", expr, field),
            Expr::Floor { expr, field } => self.rounded("floor", expr, field),
            Expr::Position { expr, r#in } => self.simple_call("position", &[r#in, expr]),
            Expr::Substring { expr, substring_from, substring_for, special, shorthand } => {
                let called = special.then_some(if *shorthand { "substr" } else { "substring" });
                self.substring(expr, substring_from.as_deref(), substring_for.as_deref(), called)
            }
            Expr::Trim { trim_where, trim_what, expr, trim_characters } => {
                self.trim(*trim_where, trim_what.as_deref(), expr, trim_characters.as_deref())
            }
            Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let mut args: Vec<&Expr> = vec![expr, overlay_what, overlay_from];
                args.extend(overlay_for.as_deref());
                self.simple_call("OVERLAY PLACING", &args)
            }
            Expr::Collate { expr, collation } => self.collate(expr, collation),
            Expr::CompoundFieldAccess { root, access_chain } => self.access(root, access_chain),
            Expr::QualifiedWildcard(table, _) => self.starred_row(table),
            Expr::Wildcard(_) => {
                Err(PlanError::new("42601", "syntax error at or near \"*\"").at(self.position_of(expr)))
            }
            Expr::IsJson { .. } => Err(PlanError::unsupported("IS JSON").at(self.position_of(expr))),
            Expr::IsNormalized { expr, form, negated } => self.normalized(expr, *form, *negated),
            Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_) => {
                Err(PlanError::new("42601", "grouping sets are only allowed in GROUP BY").at(self.position_of(expr)))
            }
            other => {
                Err(PlanError::new("42601", format!("syntax error at or near \"{other}\"")).at(self.position_of(other)))
            }
        }
    }

    /// A type as written, with user types.
    pub(super) fn written_type(&self, written: &DataType) -> Result<ColumnType, PlanError> {
        let found = data_type(written, self.scope())?;
        if self.keeps_what_it_reads() && found.scalar.any_part(|part| part.created().and_then(relation_of).is_some()) {
            return Err(PlanError::unsupported("a table's row type in a text that the catalog keeps")
                .hint("Create a composite type of the same columns, and name that."));
        }
        Ok(found)
    }

    /// Whether the catalog keeps what is being resolved.
    fn keeps_what_it_reads(&self) -> bool {
        let is_kept = |frame: &Frame| {
            matches!(
                frame.clause,
                Clause::CheckConstraint
                    | Clause::IndexPredicate
                    | Clause::IndexExpression
                    | Clause::ColumnDefault
                    | Clause::ColumnGenerated
                    | Clause::Policy
            )
        };
        self.keeps || self.frames.iter().any(is_kept)
    }

    fn value(&mut self, value: &ValueWithSpan) -> Result<Typed, PlanError> {
        let text = |text: &str| Ok(Typed::literal(Datum::Text(text.into()), ScalarType::Unknown));
        match &value.value {
            Value::Number(digits, _) => number_literal(digits),
            Value::SingleQuotedString(content)
            | Value::EscapedStringLiteral(content)
            | Value::UnicodeStringLiteral(content)
            | Value::NationalStringLiteral(content) => text(content),
            Value::DollarQuotedString(content) => text(&content.value),
            Value::Boolean(flag) => Ok(Typed::literal(Datum::Bool(*flag), ScalarType::Bool)),
            Value::Null => Ok(Typed::literal(Datum::Null, ScalarType::Unknown)),
            Value::Placeholder(name) => {
                let position = self.at(value.span);
                if let Some(run) = literals::run_of(name) {
                    return self.stray_run(run, position);
                }
                match name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok()) {
                    Some(number) if (1..=65_535).contains(&number) => match self.positional(number - 1) {
                        Some(found) => found.map_err(|error| error.at(position)),
                        None => self.param(number - 1),
                    },
                    Some(_) | None => {
                        Err(PlanError::new("42P02", format!("there is no parameter {name}")).at(position))
                    }
                }
            }
            Value::SingleQuotedByteStringLiteral(digits) => self.bit_literal('b', digits, value),
            Value::HexStringLiteral(digits) => self.bit_literal('x', digits, value),
            other => {
                Err(PlanError::new("42601", format!("syntax error at or near \"{other}\"")).at(self.at(value.span)))
            }
        }
    }

    /// `B'101'`, `X'1F'`: of the type `bit`, as long as it is.
    fn bit_literal(&self, base: char, digits: &str, value: &ValueWithSpan) -> Result<Typed, PlanError> {
        let read = Bits::parse(&format!("{base}{digits}"));
        let bits = read.map_err(|error| PlanError::from(error).at(self.at(value.span)))?;
        Ok(Typed::literal(Datum::Bits(bits), ScalarType::Bit))
    }

    fn written_cast(
        &mut self,
        kind: &CastKind,
        expr: &Expr,
        written: &DataType,
        has_format: bool,
    ) -> Result<Typed, PlanError> {
        if has_format || !matches!(kind, CastKind::Cast | CastKind::DoubleColon) {
            return Err(PlanError::new("42601", "syntax error in CAST").at(self.position_of(expr)));
        }
        if let Some(polymorphic) = super::polymorphic::written(written) {
            let typed = self.expr(expr)?;
            if polymorphic == "anyelement" && *typed.scalar() == ScalarType::Unknown {
                return self.explicit(typed, &ColumnType::nullable(ScalarType::Text));
            }
            return super::polymorphic::cast(typed, polymorphic).map_err(|error| error.at(self.position_of(expr)));
        }
        let to = self.written_type(written).map_err(|error| error.at(self.position_of(expr)))?;
        // ARRAY[]::type[] says its type only here, and elements are each cast to it: ARRAY[1, 'NaN']::numeric[] has no integers.
        if let (Expr::Array(array), Some(element)) = (unnested(expr), to.scalar.element()) {
            let is_vector = matches!(to.scalar, ScalarType::Int2Vector | ScalarType::OidVector);
            let mut items = Vec::with_capacity(array.elem.len());
            if let Some(run) = super::literals::items(&array.elem) {
                let of_run =
                    if is_vector { Err(run) } else { self.array_of_run(run, (to.modifier == -1).then_some(&element))? };
                match of_run {
                    Ok(array) => return self.explicit(array, &to),
                    Err(run) => items = self.spread(run)?,
                }
            } else {
                for item in &array.elem {
                    items.push(self.expr(item)?);
                }
            }
            let plain = items.iter().all(|item| !matches!(item.scalar(), ScalarType::Array(_)));
            if plain {
                let mut cast = Vec::with_capacity(items.len());
                for item in items {
                    let to = ColumnType { scalar: element.clone(), ..to.clone() };
                    cast.push(self.cast(item, &to, CastContext::Explicit)?.expr);
                }
                let array = HirExpr::Array(cast, element.clone());
                let array = if is_vector { vector(array, element, &to) } else { array };
                let plain = ColumnType { domain: 0, ..to.clone() };
                return self.explicit(Typed::of(array, plain), &to);
            }
        }
        let typed = self.expr(expr)?;
        self.explicit(typed, &to).map_err(|error| error.at(self.position_of(expr)))
    }

    /// A cast that is written, to a domain too.
    fn explicit(&mut self, typed: Typed, to: &ColumnType) -> Result<Typed, PlanError> {
        let below = ColumnType { domain: 0, ..to.clone() };
        // A value of the same domain has passed already, but for what the type below does to it.
        if to.domain != 0 && typed.column_type.domain == to.domain {
            return Ok(typed);
        }
        if let HirExpr::Param(index, ScalarType::Unknown) = &typed.expr
            && to.domain != 0
        {
            self.deduce_param(*index, to)?;
        }
        let cast = self.cast(typed, &below, CastContext::Explicit)?;
        let plain = Typed { column_type: ColumnType { domain: 0, ..cast.column_type.clone() }, ..cast };
        if to.domain == 0 { Ok(plain) } else { self.domain_value(plain, to.domain) }
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&Expr>,
    ) -> Result<Typed, PlanError> {
        let sets = self.sets_so_far();
        let (operand, shared) = match operand {
            Some(operand) => {
                let typed = self.expr(operand)?;
                self.refuse_sets_since(sets, "CASE")?;
                let typed = if typed.is_unknown() { self.settle(typed)? } else { typed };
                // As it is shown it stands before WHEN.
                let (typed, shared) =
                    if self.as_shown { super::build::named(typed) } else { super::build::shared(typed) };
                (Some(typed), shared)
            }
            None => (None, None),
        };
        let mut tests = Vec::with_capacity(conditions.len());
        let mut results = Vec::with_capacity(conditions.len() + 1);
        for branch in conditions {
            let position = self.position_of(&branch.condition);
            let condition = self.expr(&branch.condition)?;
            tests.push(match &operand {
                Some(operand) => {
                    let equal = self.operate("=", operand.clone(), condition, position)?;
                    self.condition(equal, "CASE/WHEN", position)?
                }
                None => self.condition(condition, "CASE/WHEN", position)?,
            });
            results.push(self.expr(&branch.result)?);
        }
        // PostgreSQL looks at ELSE first.
        let otherwise = match otherwise {
            Some(otherwise) => self.expr(otherwise)?,
            None => Typed::literal(Datum::Null, ScalarType::Unknown),
        };
        results.insert(0, otherwise);
        let position = conditions.first().and_then(|branch| self.position_of(&branch.result));
        let (mut results, common) = self.unify("CASE", results).map_err(|error| error.at(position))?;
        let collation = derived(&results)?;
        let otherwise = Box::new(results.remove(0).expr);
        let branches = tests.into_iter().zip(results).map(|(test, result)| (test, result.expr)).collect();
        self.refuse_sets_since(sets, "CASE")?;
        let case = HirExpr::Case { branches, otherwise, result: common.clone() };
        Ok(Typed::new(super::build::once(shared, case), common).of_collation(collation))
    }

    fn between(&mut self, expr: &Expr, negated: bool, low: &Expr, high: &Expr) -> Result<Typed, PlanError> {
        let (expr, symmetric) = between_value(expr);
        let position = self.position_of(expr);
        if let (Some(fields), Some(lows), Some(highs)) = (row_items(expr), row_items(low), row_items(high)) {
            let mut within = |low: &[Field<'_>], high: &[Field<'_>]| {
                let above = self.compare_rows(">=", &fields, low)?.expr;
                let below = self.compare_rows("<=", &fields, high)?.expr;
                Ok::<_, PlanError>(HirExpr::And(vec![above, below]))
            };
            let mut both = within(&lows, &highs)?;
            if symmetric {
                both = HirExpr::Or(vec![both, within(&highs, &lows)?]);
            }
            return if negated { self.negate(both) } else { Ok(Typed::boolean(both)) };
        }
        let value = self.expr(expr)?;
        let low = self.expr(low)?;
        let high = self.expr(high)?;
        for part in [&value, &low, &high] {
            refuse_copies(&part.expr, position)?;
        }
        let (first, second) = if negated { ("<", ">") } else { (">=", "<=") };
        let mut within = |low: &Typed, high: &Typed| {
            let above = self.operate(first, value.clone(), low.clone(), position)?.expr;
            let below = self.operate(second, value.clone(), high.clone(), position)?.expr;
            let both = vec![above, below];
            Ok::<_, PlanError>(if negated { HirExpr::Or(both) } else { HirExpr::And(both) })
        };
        let one = within(&low, &high)?;
        if !symmetric {
            return Ok(Typed::boolean(one));
        }
        let either = vec![one, within(&high, &low)?];
        Ok(Typed::boolean(if negated { HirExpr::And(either) } else { HirExpr::Or(either) }))
    }

    /// ROW(…) and `(a, b)`.
    pub(super) fn row(&mut self, expr: &Expr) -> Result<Typed, PlanError> {
        let Some(fields) = row_items(expr) else {
            return Err(PlanError::new("42601", "syntax error in a row").at(self.position_of(expr)));
        };
        let values = self.fields(&fields)?;
        // A literal, or a parameter, stays what it is until somebody asks for a type.
        let is_literal = |value: &Typed| matches!(value.expr, HirExpr::Literal(..) | HirExpr::Param(..));
        let settled = values.into_iter().map(|value| if is_literal(&value) { Ok(value) } else { self.settle(value) });
        Ok(record(settled.collect::<Result<_, _>>()?))
    }

    pub(super) fn array(&mut self, elements: &[Expr], position: Option<u32>) -> Result<Typed, PlanError> {
        if elements.is_empty() {
            return Err(PlanError::new("42P18", "cannot determine type of empty array")
                .hint("Explicitly cast to the desired type, for example ARRAY[]::integer[].")
                .at(position));
        }
        let mut items = Vec::with_capacity(elements.len());
        if let Some(run) = super::literals::items(elements) {
            match self.array_of_run(run, None).map_err(|error| error.at(position))? {
                Ok(array) => return Ok(array),
                Err(run) => items = self.spread(run)?,
            }
        } else {
            for element in elements {
                items.push(self.expr(element)?);
            }
        }
        let (items, common) = self.unify("ARRAY", items).map_err(|error| error.at(position))?;
        // An array of arrays is one more dimension of the same type.
        let element = match &common {
            ScalarType::Array(inner) => (**inner).clone(),
            other => other.clone(),
        };
        let items = items.into_iter().map(|item| item.expr).collect();
        Ok(Typed::new(HirExpr::Array(items, element.clone()), ScalarType::Array(Box::new(element))))
    }

    fn access(&mut self, root: &Expr, chain: &[AccessExpr]) -> Result<Typed, PlanError> {
        let position = self.position_of(root);
        // `table.column[1]`: the parser may leave the names in the chain.
        let mut names: Vec<Ident> = Vec::new();
        let mut rest = chain;
        if let Expr::Identifier(first) = root {
            names.push(first.clone());
            while let [AccessExpr::Dot(Expr::Identifier(next)), tail @ ..] = rest {
                names.push(next.clone());
                rest = tail;
            }
        }
        // `(table).column` is a column, under the name that it has here.
        if let (Expr::Identifier(table), [AccessExpr::Dot(Expr::Identifier(column)), tail @ ..]) =
            (unnested(root), rest)
            && self.find_column(&fold(table), position)?.is_none()
            && let Some((_, found)) = self.find_table(std::slice::from_ref(table))?
            && !is_star(column)
        {
            if !found.is_scalar && !found.has_column(&fold(column)) {
                let message = format!("column {}.{} does not exist", fold(table), fold(column));
                return Err(PlanError::new("42703", message).at(position));
            }
            if found.has_column(&fold(column)) {
                names = vec![table.clone(), column.clone()];
                rest = tail;
            }
        }
        let mut value = if names.len() > 1 { self.resolve_qualified(&names)? } else { self.expr(root)? };
        let mut index = 0;
        while index < rest.len() {
            match &rest[index] {
                AccessExpr::Dot(Expr::Identifier(star)) if is_star(star) => {
                    return Err(PlanError::new("0A000", "row expansion via \"*\" is not supported here").at(position));
                }
                AccessExpr::Dot(Expr::Identifier(field)) => {
                    value = self.field(value, &fold(field), position)?;
                    index += 1;
                }
                AccessExpr::Dot(other) => {
                    return Err(PlanError::new("42601", format!("syntax error at or near \"{other}\"")).at(position));
                }
                AccessExpr::Subscript(_) => {
                    let end = rest[index..]
                        .iter()
                        .position(|access| matches!(access, AccessExpr::Dot(_)))
                        .map_or(rest.len(), |offset| index + offset);
                    let subscripts: Vec<&Subscript> = rest[index..end]
                        .iter()
                        .filter_map(|access| match access {
                            AccessExpr::Subscript(subscript) => Some(subscript),
                            AccessExpr::Dot(_) => None,
                        })
                        .collect();
                    value = self.subscripts(value, &subscripts, position)?;
                    index = end;
                }
            }
        }
        Ok(value)
    }
}

/// A composite value of those fields, named f1, f2, …
pub(super) fn record(values: Vec<Typed>) -> Typed {
    let fields: Vec<(String, ScalarType)> =
        values.iter().enumerate().map(|(index, value)| (format!("f{}", index + 1), value.scalar().clone())).collect();
    let scalar = ScalarType::Record(fields.into());
    Typed::new(HirExpr::Record(values.into_iter().map(|value| value.expr).collect(), scalar.clone()), scalar)
}

/// What BETWEEN writes out more than once must be small: one within another would double with each.
/// An array as an int2vector or oidvector of these elements.
fn vector(array: HirExpr, element: ScalarType, to: &ColumnType) -> HirExpr {
    let relabel = Cast { from: element.clone(), method: CastMethod::Relabel, explicit: true };
    let from = ScalarType::Array(Box::new(element));
    let cast = Cast { from, method: CastMethod::Elements(Box::new(relabel)), explicit: true };
    HirExpr::Cast { expr: Box::new(array), cast, to: to.clone() }
}

fn refuse_copies(expr: &HirExpr, position: Option<u32>) -> Result<(), PlanError> {
    const PARTS_MAX: usize = 1 << 14;
    let mut parts = 0_usize;
    expr.visit(&mut |_| parts += 1);
    if parts <= PARTS_MAX {
        return Ok(());
    }
    Err(PlanError::new("54001", "stack depth limit exceeded")
        .hint("BETWEEN stands within BETWEEN too often.")
        .at(position))
}

/// An expression without its parentheses.
pub(super) fn unnested(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => unnested(inner),
        other => other,
    }
}

/// The digits of a number, if the expression is just that.
pub(super) fn number_text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => Some(digits),
        _ => None,
    }
}

/// A number: integer if it fits, then bigint, else numeric.
pub(super) fn number_literal(digits: &str) -> Result<Typed, PlanError> {
    if let Ok(value) = digits.parse::<i32>() {
        return Ok(Typed::literal(Datum::Int4(value), ScalarType::Int4));
    }
    if let Ok(value) = digits.parse::<i64>() {
        return Ok(Typed::literal(Datum::Int8(value), ScalarType::Int8));
    }
    let value = digits
        .parse::<repr::Numeric>()
        .map_err(|_| PlanError::new("42601", format!("trailing junk after numeric literal at or near \"{digits}\"")))?;
    Ok(Typed::literal(Datum::Numeric(value), ScalarType::Numeric))
}
