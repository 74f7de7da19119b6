//! Visitors and mappers over expressions, their types and their volatility.

use crate::scalar::ScalarExpr;
use crate::scalar::cast::{Cast, CastMethod};
use crate::scalar::func::Volatility;
use repr::{ScalarType, poll};
use std::collections::BTreeSet;
use std::convert::Infallible;

impl<C> ScalarExpr<C> {
    /// The type; `column_type` tells those of columns.
    pub(crate) fn scalar_type(&self, column_type: &impl Fn(&C) -> ScalarType) -> ScalarType {
        match self {
            ScalarExpr::Column(column) => column_type(column),
            ScalarExpr::Literal(_, literal) => literal.scalar.clone(),
            ScalarExpr::Param(_, scalar) => scalar.clone(),
            ScalarExpr::Call { result, .. } | ScalarExpr::Case { result, .. } => result.clone(),
            ScalarExpr::And(_) | ScalarExpr::Or(_) => ScalarType::Bool,
            ScalarExpr::Coalesce(_, scalar) | ScalarExpr::Record(_, scalar) | ScalarExpr::Operand(scalar) => {
                scalar.clone()
            }
            ScalarExpr::Once { body: value, .. } | ScalarExpr::Tested { operand: value, .. } => {
                value.scalar_type(column_type)
            }
            ScalarExpr::Array(_, element) => ScalarType::Array(Box::new(element.clone())),
            ScalarExpr::Cast { to, .. } => to.scalar.clone(),
        }
    }

    /// The direct parts.
    pub fn children(&self) -> Vec<&ScalarExpr<C>> {
        let mut children = Vec::new();
        self.each_child(&mut |child| children.push(child));
        children
    }

    /// Calls `visitor` on the direct parts. Whoever runs a plan asks for its columns this way, so nothing is allocated.
    fn each_child<'a>(&'a self, visitor: &mut dyn FnMut(&'a ScalarExpr<C>)) {
        poll::step_or_unwind();
        match self {
            ScalarExpr::Column(_) | ScalarExpr::Literal(..) | ScalarExpr::Param(..) | ScalarExpr::Operand(_) => {}
            ScalarExpr::Call { args, .. }
            | ScalarExpr::And(args)
            | ScalarExpr::Or(args)
            | ScalarExpr::Coalesce(args, _)
            | ScalarExpr::Array(args, _)
            | ScalarExpr::Record(args, _) => args.iter().for_each(visitor),
            ScalarExpr::Case { branches, otherwise, .. } => {
                for (condition, value) in branches {
                    visitor(condition);
                    visitor(value);
                }
                visitor(otherwise);
            }
            ScalarExpr::Once { operand, body } | ScalarExpr::Tested { operand, body } => {
                visitor(operand);
                visitor(body);
            }
            ScalarExpr::Cast { expr, .. } => visitor(expr),
        }
    }

    /// The direct parts, to be changed.
    pub(crate) fn children_mut(&mut self) -> Vec<&mut ScalarExpr<C>> {
        poll::step_or_unwind();
        match self {
            ScalarExpr::Column(_) | ScalarExpr::Literal(..) | ScalarExpr::Param(..) | ScalarExpr::Operand(_) => {
                Vec::new()
            }
            ScalarExpr::Call { args, .. }
            | ScalarExpr::And(args)
            | ScalarExpr::Or(args)
            | ScalarExpr::Coalesce(args, _)
            | ScalarExpr::Array(args, _)
            | ScalarExpr::Record(args, _) => args.iter_mut().collect(),
            ScalarExpr::Case { branches, otherwise, .. } => {
                let branches = branches.iter_mut().flat_map(|(condition, value)| [condition, value]);
                branches.chain([&mut **otherwise]).collect()
            }
            ScalarExpr::Once { operand, body } | ScalarExpr::Tested { operand, body } => {
                vec![&mut **operand, &mut **body]
            }
            ScalarExpr::Cast { expr, .. } => vec![&mut **expr],
        }
    }

    /// Calls `visitor` on this expression, then on all its parts.
    pub fn visit<'a>(&'a self, visitor: &mut impl FnMut(&'a ScalarExpr<C>)) {
        visitor(self);
        self.each_child(&mut |child| child.visit(visitor));
    }

    /// Calls `visitor` on all parts, then on this expression.
    pub(crate) fn visit_mut(&mut self, visitor: &mut impl FnMut(&mut ScalarExpr<C>)) {
        for child in self.children_mut() {
            child.visit_mut(visitor);
        }
        visitor(self);
    }

    /// The body of a `Once` with its operand put in place.
    #[must_use]
    pub(crate) fn with_operand(&self, value: &ScalarExpr<C>) -> ScalarExpr<C>
    where
        C: Clone,
    {
        let mut body = self.clone();
        body.put_operand(value);
        body
    }

    fn put_operand(&mut self, value: &ScalarExpr<C>)
    where
        C: Clone,
    {
        match self {
            ScalarExpr::Operand(_) => *self = value.clone(),
            // What stands inside is its own.
            ScalarExpr::Once { operand, .. } | ScalarExpr::Tested { operand, .. } => operand.put_operand(value),
            other => other.children_mut().into_iter().for_each(|child| child.put_operand(value)),
        }
    }

    /// Replaces each column by an expression.
    pub(crate) fn map_columns<D>(self, map: &mut impl FnMut(C) -> ScalarExpr<D>) -> ScalarExpr<D> {
        match self.try_map_columns(&mut |column| Ok::<_, Infallible>(map(column))) {
            Ok(mapped) => mapped,
            Err(never) => match never {},
        }
    }

    /// The same, where it may fail.
    pub fn try_map_columns<D, E>(
        self,
        map: &mut impl FnMut(C) -> Result<ScalarExpr<D>, E>,
    ) -> Result<ScalarExpr<D>, E> {
        poll::step_or_unwind();
        Ok(match self {
            ScalarExpr::Column(column) => map(column)?,
            ScalarExpr::Literal(value, literal) => ScalarExpr::Literal(value, literal),
            ScalarExpr::Param(index, scalar) => ScalarExpr::Param(index, scalar),
            ScalarExpr::Call { function, args, result } => {
                ScalarExpr::Call { function, args: map_all(args, map)?, result }
            }
            ScalarExpr::And(terms) => ScalarExpr::And(map_all(terms, map)?),
            ScalarExpr::Or(terms) => ScalarExpr::Or(map_all(terms, map)?),
            ScalarExpr::Case { branches, otherwise, result } => {
                let mut mapped = Vec::with_capacity(branches.len());
                for (condition, value) in branches {
                    mapped.push((condition.try_map_columns(map)?, value.try_map_columns(map)?));
                }
                ScalarExpr::Case { branches: mapped, otherwise: Box::new(otherwise.try_map_columns(map)?), result }
            }
            ScalarExpr::Coalesce(args, scalar) => ScalarExpr::Coalesce(map_all(args, map)?, scalar),
            ScalarExpr::Array(args, scalar) => ScalarExpr::Array(map_all(args, map)?, scalar),
            ScalarExpr::Record(args, scalar) => ScalarExpr::Record(map_all(args, map)?, scalar),
            ScalarExpr::Once { operand, body } => ScalarExpr::Once {
                operand: Box::new(operand.try_map_columns(map)?),
                body: Box::new(body.try_map_columns(map)?),
            },
            ScalarExpr::Tested { operand, body } => ScalarExpr::Tested {
                operand: Box::new(operand.try_map_columns(map)?),
                body: Box::new(body.try_map_columns(map)?),
            },
            ScalarExpr::Operand(scalar) => ScalarExpr::Operand(scalar),
            ScalarExpr::Cast { expr, cast, to } => {
                ScalarExpr::Cast { expr: Box::new(expr.try_map_columns(map)?), cast, to }
            }
        })
    }

    /// The most volatile part. Columns count as immutable.
    pub fn volatility(&self) -> Volatility {
        let mut most = Volatility::Immutable;
        self.visit(&mut |part| most = most.max(part.own_volatility()));
        most
    }

    /// Of this node without its parts.
    pub(crate) fn own_volatility(&self) -> Volatility {
        match self {
            ScalarExpr::Call { function, .. } => function.volatility,
            // Of what it is the value, which is not to be seen from here.
            ScalarExpr::Operand(_) => Volatility::Volatile,
            ScalarExpr::Cast { expr, .. } if is_settled_literal(expr, self) => Volatility::Immutable,
            ScalarExpr::Cast { cast, to, .. } => cast_volatility(cast, &to.scalar),
            ScalarExpr::Column(_)
            | ScalarExpr::Literal(..)
            | ScalarExpr::Param(..)
            | ScalarExpr::And(_)
            | ScalarExpr::Or(_)
            | ScalarExpr::Case { .. }
            | ScalarExpr::Coalesce(..)
            | ScalarExpr::Array(..)
            | ScalarExpr::Record(..)
            | ScalarExpr::Once { .. }
            | ScalarExpr::Tested { .. } => Volatility::Immutable,
        }
    }

    /// Whether it is a literal.
    pub(crate) fn as_literal(&self) -> Option<&repr::Datum> {
        match self {
            ScalarExpr::Literal(value, _) => Some(value),
            ScalarExpr::Column(_)
            | ScalarExpr::Param(..)
            | ScalarExpr::Call { .. }
            | ScalarExpr::And(_)
            | ScalarExpr::Or(_)
            | ScalarExpr::Case { .. }
            | ScalarExpr::Coalesce(..)
            | ScalarExpr::Array(..)
            | ScalarExpr::Record(..)
            | ScalarExpr::Once { .. }
            | ScalarExpr::Tested { .. }
            | ScalarExpr::Operand(_)
            | ScalarExpr::Cast { .. } => None,
        }
    }
}

impl ScalarExpr<usize> {
    /// The columns it reads.
    pub fn columns(&self) -> BTreeSet<usize> {
        let mut columns = BTreeSet::new();
        self.each_column(&mut |column| {
            columns.insert(column);
        });
        columns
    }

    /// Calls `visitor` with each column that it reads, with some several times.
    pub fn each_column(&self, visitor: &mut impl FnMut(usize)) {
        self.visit(&mut |part| {
            if let ScalarExpr::Column(column) = part {
                visitor(*column);
            }
        });
    }

    /// Renumbers the columns.
    #[must_use]
    pub(crate) fn permute(self, new_index: &impl Fn(usize) -> usize) -> ScalarExpr<usize> {
        self.map_columns(&mut |column| ScalarExpr::Column(new_index(column)))
    }
}

fn map_all<C, D, E>(
    exprs: Vec<ScalarExpr<C>>,
    map: &mut impl FnMut(C) -> Result<ScalarExpr<D>, E>,
) -> Result<Vec<ScalarExpr<D>>, E> {
    exprs.into_iter().map(|expr| expr.try_map_columns(map)).collect()
}

/// Casts that read the session's settings, the catalog or the clock are stable.
fn cast_volatility(cast: &Cast, to: &ScalarType) -> Volatility {
    if cast.from == *to && cast.from.any_part(is_of_session) {
        return Volatility::Immutable;
    }
    let is_stable = cast.from.any_part(is_of_session)
        || to.any_part(is_of_session)
        || match &cast.method {
            CastMethod::Output | CastMethod::Print => cast.from.any_part(is_written_by_settings),
            // Dates and timestamps within JSON have one form.
            CastMethod::ToJson => cast.from.any_part(|part| is_written_by_settings(part) && !is_date(part)),
            CastMethod::Input => to.any_part(is_read_by_settings),
            CastMethod::Elements(element) => {
                let to = to.element().unwrap_or(ScalarType::Text);
                return cast_volatility(element, &to);
            }
            CastMethod::Pairs(casts) => {
                let to = to.element().unwrap_or(ScalarType::Text);
                let key = cast_volatility(&casts.0, &ScalarType::Text);
                return if key == Volatility::Stable { key } else { cast_volatility(&casts.1, &to) };
            }
            // The offset is that of the session's zone today.
            CastMethod::DateTime => *to == ScalarType::TimeTz,
            CastMethod::Relabel
            | CastMethod::Number
            | CastMethod::Network
            | CastMethod::Range
            | CastMethod::Shape
            | CastMethod::Hstore
            | CastMethod::Json
            | CastMethod::TypeOf => false,
        };
    if is_stable { Volatility::Stable } else { Volatility::Immutable }
}

/// Whether values of this type are read and written by the session: as names in its catalog, in its time zone.
fn is_of_session(scalar: &ScalarType) -> bool {
    *scalar == ScalarType::Timestamptz || scalar.names_things()
}

fn is_date(scalar: &ScalarType) -> bool {
    matches!(scalar, ScalarType::Date | ScalarType::Timestamp)
}

/// DateStyle, IntervalStyle, extra_float_digits and bytea_output say how.
fn is_written_by_settings(scalar: &ScalarType) -> bool {
    is_date(scalar)
        || matches!(scalar, ScalarType::Interval | ScalarType::Float4 | ScalarType::Float8 | ScalarType::Bytea)
}

/// DateStyle orders the fields, IntervalStyle says what a sign is of, and 'now' and 'today' are words of such input.
fn is_read_by_settings(scalar: &ScalarType) -> bool {
    is_date(scalar) || matches!(scalar, ScalarType::Interval | ScalarType::Time | ScalarType::TimeTz)
}

/// Whether it casts a literal that reads the same in every session: see `reads_alike`.
fn is_settled_literal<C>(expr: &ScalarExpr<C>, cast: &ScalarExpr<C>) -> bool {
    match (expr.as_literal(), cast) {
        (Some(repr::Datum::Text(text)), ScalarExpr::Cast { to, .. }) => reads_alike(text, &to.scalar),
        (Some(repr::Datum::Array(array)), ScalarExpr::Cast { cast, to, .. }) => {
            let element = to.scalar.element();
            let settled = |value: &repr::Datum| match (value, &element) {
                (repr::Datum::Text(text), Some(element)) => reads_alike(text, element),
                (value, _) => value.is_null(),
            };
            matches!(&cast.method, CastMethod::Elements(own) if own.from == ScalarType::Unknown)
                && array.elements.iter().all(settled)
        }
        _ => false,
    }
}

/// Whether a text is the same value in every session: a date or time in ISO form, such as `2024-02-29 12:00`, with an offset for
/// timestamptz; the ends of time; an interval that has no minus in front of several parts; a list of such.
pub(crate) fn reads_alike(text: &str, scalar: &ScalarType) -> bool {
    let digits_at = |place: usize, count: usize| {
        text.as_bytes().get(place..place + count).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let mark_at = |place: usize, mark: u8| text.as_bytes().get(place) == Some(&mark);
    let is_date = digits_at(0, 4) && mark_at(4, b'-') && digits_at(5, 2) && mark_at(7, b'-') && digits_at(8, 2);
    let is_end = |text: &str| ["infinity", "-infinity", "epoch"].iter().any(|end| text.eq_ignore_ascii_case(end));
    match scalar {
        ScalarType::Date | ScalarType::Timestamp | ScalarType::Timestamptz if is_end(text.trim()) => true,
        ScalarType::Date | ScalarType::Timestamp => is_date,
        ScalarType::Time => digits_at(0, 2) && mark_at(2, b':') && digits_at(3, 2),
        // With an offset, and no date.
        ScalarType::TimeTz => {
            let is_offset = |letter: char| matches!(letter, '+' | '-');
            digits_at(0, 2)
                && mark_at(2, b':')
                && text.matches(is_offset).count() == 1
                && text
                    .chars()
                    .all(|letter| letter.is_ascii_digit() || is_offset(letter) || matches!(letter, ':' | '.'))
        }
        ScalarType::Timestamptz => {
            is_date && text.get(10..).is_some_and(|time| time.ends_with(['Z', 'z']) || time.contains(['+', '-']))
        }
        ScalarType::Interval => match text.trim_start_matches([' ', '\t', '\n', '@', ',']).strip_prefix('-') {
            // A sign in front is of one part alone if there is no other.
            Some(behind) => !behind
                .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ':' | '-'))
                .contains(|c: char| c.is_ascii_digit()),
            None => true,
        },
        ScalarType::Array(element) => text.split(',').all(|element_text| {
            let bare = element_text.trim_matches([' ', '{', '}', '"']);
            bare.eq_ignore_ascii_case("null") || reads_alike(bare, element)
        }),
        _ => false,
    }
}
