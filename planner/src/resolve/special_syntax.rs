//! Constructs with a syntax of their own that are calls in the end: NULLIF, IS, LIKE, EXTRACT, TRIM, subscripts.

use super::collate::derived;
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::HirExpr;
use crate::scalar::eval::reads_alike;
use crate::scalar::registry;
use repr::interval::IntervalStyle;
use repr::{ColumnType, Datum, ScalarType};
use sqlparser::ast::{CeilFloorKind, DateTimeField, Expr, Interval, NormalizationForm, Subscript, TrimWhereField};

fn text_literal(text: &str) -> Typed {
    Typed::literal(Datum::Text(text.into()), ScalarType::Text)
}

/// PostgreSQL's MAXDIM.
const DIMENSIONS_MAX: usize = 6;

impl Resolver<'_> {
    /// NULLIF(a, b): CASE WHEN a = b THEN NULL ELSE a END.
    pub(super) fn null_if(&mut self, args: &[&Expr]) -> Result<Typed, PlanError> {
        let [left, right] = args else {
            return Err(PlanError::new("42601", "NULLIF needs two arguments"));
        };
        let left = self.expr(left)?;
        let right = self.expr(right)?;
        let left = if left.is_unknown() && right.is_unknown() { self.settle(left)? } else { left };
        self.refuse_created("NULLIF", &left, &right)?;
        let (left, right) = self.beside_rows(left, right)?;
        let found = registry::resolve_operator("=", Some(left.scalar()), right.scalar())
            .map_err(|error| self.named_types(error, &[&left, &right]))?;
        // The result is the first argument as PostgreSQL's comparison takes it: NULLIF(1, 0.5) is numeric.
        let scalar = match compares_as_it_is(left.scalar(), right.scalar()) {
            true => left.scalar().clone(),
            false => found.arg_casts[0].clone(),
        };
        let (left, operand) = super::build::shared(self.coerce(left, &scalar)?);
        let collation = derived([&left])?;
        let equal = self.operate_built_in("=", left.clone(), right, None)?;
        let null = HirExpr::Literal(Datum::Null, ColumnType::nullable(scalar.clone()));
        let case = HirExpr::Case {
            branches: vec![(equal.expr, null)],
            otherwise: Box::new(left.expr),
            result: scalar.clone(),
        };
        Ok(Typed::new(super::build::once(operand, case), scalar).of_collation(collation))
    }

    pub(super) fn simple_call(&mut self, name: &str, args: &[&Expr]) -> Result<Typed, PlanError> {
        let position = args.first().and_then(|arg| self.position_of(arg));
        let args = args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<_>, _>>()?;
        self.call_named(name, args, position)
    }

    /// IS [NOT] NULL: also of a written row, whose fields must all (not) be null.
    pub(super) fn is_null(&mut self, inner: &Expr, name: &str) -> Result<Typed, PlanError> {
        let position = self.position_of(inner);
        let operand = self.expr(inner)?;
        let operand = self.settle(operand)?;
        self.call_named(name, vec![operand], position)
    }

    /// IS [NOT] TRUE, FALSE, UNKNOWN.
    pub(super) fn truth(&mut self, inner: &Expr, name: &str, construct: &str) -> Result<Typed, PlanError> {
        let position = self.position_of(inner);
        let operand = self.expr(inner)?;
        let operand = Typed::boolean(self.condition(operand, construct, position)?);
        self.call_named(name, vec![operand], position)
    }

    /// IS [NOT] NORMALIZED.
    pub(super) fn normalized(
        &mut self,
        inner: &Expr,
        form: Option<NormalizationForm>,
        negated: bool,
    ) -> Result<Typed, PlanError> {
        let position = self.position_of(inner);
        let mut args = vec![self.expr(inner)?];
        args.extend(form.map(|form| text_literal(&form.to_string())));
        let found = self.call_named("is_normalized", args, position)?;
        if negated { self.call_named("NOT", vec![found], position) } else { Ok(found) }
    }

    /// IS [NOT] DISTINCT FROM.
    pub(super) fn distinct(&mut self, left: &Expr, right: &Expr, negated: bool) -> Result<Typed, PlanError> {
        let position = self.position_of(left);
        let mut left = self.expr(left)?;
        let mut right = self.expr(right)?;
        if left.is_unknown() && right.is_unknown() {
            left = self.settle(left)?;
            right = self.settle(right)?;
        }
        // Of what has no equality it can still be told whether it is NULL.
        let is_null = |side: &Typed| matches!(side.expr, HirExpr::Literal(Datum::Null, _));
        let tested = match (left.scalar(), right.scalar()) {
            (scalar, ScalarType::Unknown) if scalar.is_without_equality() && is_null(&right) => Some(&left),
            (ScalarType::Unknown, scalar) if scalar.is_without_equality() && is_null(&left) => Some(&right),
            _ => None,
        };
        if let Some(tested) = tested {
            let symbol = if negated { "IS NULL" } else { "IS NOT NULL" };
            return self.operate_prefix(symbol, tested.clone(), position);
        }
        self.refuse_created("IS DISTINCT FROM", &left, &right)?;
        self.operate(if negated { "IS NOT DISTINCT FROM" } else { "IS DISTINCT FROM" }, left, right, position)
    }

    pub(super) fn like(
        &mut self,
        symbol: &str,
        expr: &Expr,
        pattern: &Expr,
        escape: Option<&Expr>,
    ) -> Result<Typed, PlanError> {
        let position = self.position_of(expr);
        let value = self.expr(expr)?;
        let mut pattern = self.expr(pattern)?;
        if let Some(escape) = escape {
            let escape = self.expr(escape)?;
            let is_bytea = [&value, &pattern, &escape].iter().any(|typed| *typed.scalar() == ScalarType::Bytea);
            let wanted = if is_bytea { ScalarType::Bytea } else { ScalarType::Text };
            let args = vec![self.coerce(pattern, &wanted)?, self.coerce(escape, &wanted)?];
            pattern = self.call_named("like_escape", args, position)?;
        }
        self.operate(symbol, value, pattern, position)
    }

    pub(super) fn similar_to(
        &mut self,
        negated: bool,
        expr: &Expr,
        pattern: &Expr,
        escape: Option<&Expr>,
    ) -> Result<Typed, PlanError> {
        let position = self.position_of(expr);
        let value = self.expr(expr)?;
        let pattern = self.expr(pattern)?;
        let mut args = vec![self.coerce(pattern, &ScalarType::Text)?];
        if let Some(escape) = escape {
            let escape = self.expr(escape)?;
            args.push(self.coerce(escape, &ScalarType::Text)?);
        }
        let pattern = self.call_named("similar_to_escape", args, position)?;
        self.operate(if negated { "!~" } else { "~" }, value, pattern, position)
    }

    pub(super) fn extract(&mut self, field: &DateTimeField, source: &Expr) -> Result<Typed, PlanError> {
        let position = self.position_of(source);
        let name = match field {
            DateTimeField::Custom(ident) => ident.value.to_lowercase(),
            other => other.to_string().trim_matches('\'').to_lowercase(),
        };
        let source = self.expr(source)?;
        self.call_named("extract", vec![text_literal(&name), source], position)
    }

    pub(super) fn rounded(&mut self, name: &str, expr: &Expr, field: &CeilFloorKind) -> Result<Typed, PlanError> {
        match field {
            CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => self.simple_call(name, &[expr]),
            CeilFloorKind::DateTimeField(_) | CeilFloorKind::Scale(_) => {
                Err(PlanError::new("42601", format!("syntax error in {name}")).at(self.position_of(expr)))
            }
        }
    }

    pub(super) fn substring(
        &mut self,
        expr: &Expr,
        from: Option<&Expr>,
        length: Option<&Expr>,
        called: Option<&str>,
    ) -> Result<Typed, PlanError> {
        let position = self.position_of(expr);
        let mut args = vec![self.expr(expr)?];
        match (from, length) {
            (Some(from), length) => {
                args.push(self.expr(from)?);
                if let Some(length) = length {
                    args.push(self.expr(length)?);
                }
            }
            // SUBSTRING(x FOR n) starts at 1.
            (None, Some(length)) => {
                args.push(Typed::literal(Datum::Int4(1), ScalarType::Int4));
                let length = self.expr(length)?;
                args.push(self.coerce(length, &ScalarType::Int4)?);
            }
            (None, None) => {}
        }
        self.call_named(called.unwrap_or("SUBSTRING FROM"), args, position)
    }

    pub(super) fn trim(
        &mut self,
        side: Option<TrimWhereField>,
        what: Option<&Expr>,
        expr: &Expr,
        characters: Option<&[Expr]>,
    ) -> Result<Typed, PlanError> {
        let name = trim_form(side);
        let mut args = vec![expr];
        args.extend(what);
        args.extend(characters.unwrap_or_default());
        self.simple_call(name, &args)
    }

    /// `interval '1 day'`, `interval '1' day`, `interval '1 day' second(3)`.
    pub(super) fn interval(&mut self, interval: &Interval) -> Result<Typed, PlanError> {
        let position = self.position_of(&interval.value);
        let text = self.expr(&interval.value)?;
        let HirExpr::Literal(Datum::Text(content), _) = &text.expr else {
            return Err(PlanError::new("42601", "syntax error: interval needs a string").at(position));
        };
        let mut interval_type = repr::ColumnType::nullable(ScalarType::Interval);
        let precision = interval.fractional_seconds_precision.or(interval.leading_precision);
        let fields = match (&interval.leading_field, &interval.last_field) {
            (None, _) => String::new(),
            (Some(field), None) => field.to_string(),
            (Some(first), Some(last)) => format!("{first} to {last}"),
        };
        if fields.is_empty() && precision.is_none() {
            return self.cast(text, &interval_type, crate::scalar::cast::CastContext::Explicit);
        }
        let precision = precision.map(|precision| i32::try_from(precision).unwrap_or(i32::MAX));
        let syntax = |_| PlanError::new("42601", format!("syntax error at or near \"{fields}\"")).at(position);
        let modifier = repr::types::encode_interval_modifier(&fields, precision).map_err(syntax)?;
        if !reads_alike(content, &ScalarType::Interval) {
            interval_type.modifier = modifier;
            return self.cast(text, &interval_type, crate::scalar::cast::CastContext::Explicit);
        }
        let value = repr::Interval::parse(content, modifier, IntervalStyle::default())
            .map_err(|error| PlanError::new(error.code, error.message).at(position))?;
        Ok(Typed::literal(Datum::Interval(value), ScalarType::Interval))
    }

    /// `value[i][j]`, `value[i:j]`.
    pub(super) fn subscripts(
        &mut self,
        value: Typed,
        subscripts: &[&Subscript],
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        let element = match value.scalar() {
            ScalarType::Array(element) => (**element).clone(),
            ScalarType::Int2Vector => ScalarType::Int2,
            ScalarType::OidVector => ScalarType::Oid,
            ScalarType::Jsonb => return self.json_subscripts(value, subscripts, position),
            ScalarType::Hstore => {
                let key = self.hstore_key(subscripts, position)?;
                return self.call_named("fetchval", vec![value, key], position);
            }
            ScalarType::Name => return self.name_subscript(value, subscripts, position),
            other => {
                return Err(PlanError::new(
                    "42804",
                    format!(
                        "cannot subscript type {} because it does not support subscripting",
                        self.type_label(other)
                    ),
                )
                .at(position));
            }
        };
        let value = match value.scalar() {
            ScalarType::Int2Vector | ScalarType::OidVector => {
                self.coerce(value, &ScalarType::Array(Box::new(element)))?
            }
            _ => value,
        };
        let bounds = self.array_bounds(subscripts, position)?;
        let function = if bounds.given.is_some() { "array_slice" } else { "array_subscript" };
        let mut args = vec![value];
        args.extend(bounds.values);
        self.call_named(function, args, position)
    }

    /// The subscripts of an array as integers.
    pub(super) fn array_bounds(
        &mut self,
        subscripts: &[&Subscript],
        position: Option<u32>,
    ) -> Result<ArrayBounds, PlanError> {
        if subscripts.len() > DIMENSIONS_MAX {
            let count = subscripts.len();
            let message =
                format!("number of array dimensions ({count}) exceeds the maximum allowed ({DIMENSIONS_MAX})");
            return Err(PlanError::new("54000", message).at(position));
        }
        let sliced = subscripts.iter().any(|subscript| matches!(subscript, Subscript::Slice { .. }));
        let mut bound = |expr: &Expr| -> Result<Typed, PlanError> {
            let typed = self.expr(expr)?;
            let to = repr::ColumnType::nullable(ScalarType::Int4);
            self.cast(typed, &to, crate::scalar::cast::CastContext::Assignment)
                .map_err(|error| no_subscript(error).at(position))
        };
        let literal = |value: i32| Typed::literal(Datum::Int4(value), ScalarType::Int4);
        let (mut values, mut given) = (Vec::with_capacity(2 * subscripts.len()), 0);
        for subscript in subscripts {
            // What is left out is beyond every array.
            let (lower, upper) = match subscript {
                Subscript::Index { index } if !sliced => {
                    values.push(bound(index)?);
                    continue;
                }
                // Once one bound is a slice, `[n]` means `[1:n]`.
                Subscript::Index { index } => (Some(literal(1)), Some(bound(index)?)),
                Subscript::Slice { stride: Some(_), .. } => {
                    return Err(PlanError::new("42601", "syntax error at or near \":\"").at(position));
                }
                Subscript::Slice { lower_bound, upper_bound, stride: None } => {
                    let lower = lower_bound.as_ref().map(&mut bound).transpose()?;
                    (lower, upper_bound.as_ref().map(&mut bound).transpose()?)
                }
            };
            given |= i32::from(lower.is_some()) << values.len();
            values.push(lower.unwrap_or_else(|| literal(i32::MIN)));
            given |= i32::from(upper.is_some()) << values.len();
            values.push(upper.unwrap_or_else(|| literal(i32::MAX)));
        }
        Ok(ArrayBounds { values, given: sliced.then_some(given) })
    }

    /// A name is an array of bytes that counts from 0.
    fn name_subscript(
        &mut self,
        value: Typed,
        subscripts: &[&Subscript],
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        match subscripts {
            [Subscript::Index { index }] => {
                let typed = self.expr(index)?;
                let index = self
                    .cast(
                        typed,
                        &repr::ColumnType::nullable(ScalarType::Int4),
                        crate::scalar::cast::CastContext::Assignment,
                    )
                    .map_err(|error| no_subscript(error).at(position))?;
                self.call_named("name_subscript", vec![value, index], position)
            }
            others if others.iter().all(|subscript| matches!(subscript, Subscript::Index { .. })) => {
                Ok(Typed::literal(Datum::Null, ScalarType::Char))
            }
            _ => Err(PlanError::unsupported("slices of fixed-length arrays").at(position)),
        }
    }

    fn json_subscripts(
        &mut self,
        value: Typed,
        subscripts: &[&Subscript],
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        let (steps, _) = self.json_steps(subscripts, position)?;
        let mut path = vec![value];
        path.extend(steps);
        self.call_named("jsonb_extract_path", path, position)
    }

    /// The subscript of an hstore: a text, and no other behind it.
    pub(super) fn hstore_key(&mut self, subscripts: &[&Subscript], position: Option<u32>) -> Result<Typed, PlanError> {
        let [Subscript::Index { index }] = subscripts else {
            return Err(PlanError::new("0A000", "hstore allows only one subscript").at(position));
        };
        let place = self.position_of(index);
        let key = self.expr(index)?;
        let to = repr::ColumnType::nullable(ScalarType::Text);
        let key = self.cast(key, &to, crate::scalar::cast::CastContext::Assignment);
        key.map_err(|_| PlanError::new("42804", "hstore subscript must have type text").at(place))
    }

    /// The subscripts of a jsonb as texts, and whether the first is an integer.
    pub(super) fn json_steps(
        &mut self,
        subscripts: &[&Subscript],
        position: Option<u32>,
    ) -> Result<(Vec<Typed>, bool), PlanError> {
        let (mut path, mut is_array) = (Vec::with_capacity(subscripts.len()), false);
        for subscript in subscripts {
            let Subscript::Index { index } = subscript else {
                return Err(PlanError::new("42804", "jsonb subscript does not support slices").at(position));
            };
            let place = self.position_of(index);
            let step = self.expr(index)?;
            if !is_json_step(step.scalar()) {
                let message = format!("subscript type {} is not supported", self.type_label(step.scalar()));
                let hint = "jsonb subscript must be coercible to either integer or text.";
                return Err(PlanError::new("42804", message).hint(hint).at(place));
            }
            is_array |= path.is_empty() && matches!(step.scalar(), ScalarType::Int2 | ScalarType::Int4);
            let to = repr::ColumnType::nullable(ScalarType::Text);
            path.push(self.cast(step, &to, crate::scalar::cast::CastContext::Explicit)?);
        }
        Ok((path, is_array))
    }

    /// A field of a composite value.
    pub(super) fn field(&mut self, value: Typed, name: &str, position: Option<u32>) -> Result<Typed, PlanError> {
        let ScalarType::Record(fields) = value.scalar().clone() else {
            return Err(PlanError::new(
                "42809",
                format!(
                    "column notation .{name} applied to type {}, which is not a composite type",
                    self.type_label(value.scalar())
                ),
            )
            .at(position));
        };
        match fields.iter().position(|(field, _)| field == name) {
            Some(index) => self.field_at(value, index),
            None if !fields.is_anonymous() => {
                let of = self.type_label(value.scalar());
                Err(PlanError::new("42703", format!("column \"{name}\" not found in data type {of}")).at(position))
            }
            None => Err(PlanError::new("42703", format!("could not identify column \"{name}\" in record data type"))
                .at(position)),
        }
    }

    /// The field at that place.
    pub(super) fn field_at(&mut self, value: Typed, index: usize) -> Result<Typed, PlanError> {
        let ScalarType::Record(fields) = value.scalar().clone() else {
            return Err(PlanError::new("42809", "row expansion is not supported for a value that is not composite"));
        };
        let scalar = fields[index].1.clone();
        let domain = fields.domain(index);
        if let HirExpr::Record(mut items, _) = value.expr {
            let own = ColumnType { domain, ..ColumnType::nullable(scalar) };
            return Ok(Typed::of(items.swap_remove(index), own));
        }
        let place = Typed::literal(Datum::Int4(i32::try_from(index).unwrap_or(i32::MAX)), ScalarType::Int4);
        let mut call = self.call_named("record_field", vec![value, place], None)?;
        if let HirExpr::Call { result, .. } = &mut call.expr {
            *result = scalar.clone();
        }
        call.column_type = ColumnType { scalar, domain, ..call.column_type };
        Ok(call)
    }
}

/// The subscripts of an array: an element's, or a slice's, in pairs.
pub(super) struct ArrayBounds {
    pub(super) values: Vec<Typed>,
    /// Of a slice: a bit for each bound that is not left out.
    pub(super) given: Option<i32>,
}

/// The form of TRIM.
fn trim_form(side: Option<TrimWhereField>) -> &'static str {
    match side {
        None | Some(TrimWhereField::Both) => "TRIM BOTH",
        Some(TrimWhereField::Leading) => "TRIM LEADING",
        Some(TrimWhereField::Trailing) => "TRIM TRAILING",
    }
}

/// What is said of a subscript that cannot be cast; of a literal that is no integer its own error tells more.
fn no_subscript(error: PlanError) -> PlanError {
    match error.code {
        "42846" => PlanError::new("42804", "array subscript must have type integer"),
        _ => error,
    }
}

/// The function behind TRIM.
pub(super) fn trim_name(side: Option<TrimWhereField>) -> &'static str {
    match side {
        None | Some(TrimWhereField::Both) => "btrim",
        Some(TrimWhereField::Leading) => "ltrim",
        Some(TrimWhereField::Trailing) => "rtrim",
    }
}

/// What finds a part of a jsonb: an integer or a text.
fn is_json_step(scalar: &ScalarType) -> bool {
    matches!(
        scalar,
        ScalarType::Unknown
            | ScalarType::Int2
            | ScalarType::Int4
            | ScalarType::Text
            | ScalarType::Varchar
            | ScalarType::Bpchar
            | ScalarType::Name
            | ScalarType::Char
    )
}

/// Whether PostgreSQL has an equality of just these types, where ours takes both as one.
fn compares_as_it_is(left: &ScalarType, right: &ScalarType) -> bool {
    use ScalarType::{Date, Float4, Float8, Int2, Int4, Int8, Name, Text, Timestamp, Timestamptz};
    matches!(
        (left, right),
        (Int2 | Int4 | Int8, Int2 | Int4 | Int8)
            | (Float4 | Float8, Float4 | Float8)
            | (Date | Timestamp | Timestamptz, Date | Timestamp | Timestamptz)
            | (Name, Text)
            | (Text, Name)
    )
}
