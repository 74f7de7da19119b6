//! Runs of plain literals (`parse::literals`) as constants: lists as arrays, rows as relations.
//!
//! What is cast is cast as a whole: an array, a column. What a literal is alone, and what it becomes among others, is as for literals of the tree; only nothing is made for each of
//! them but its value. Where no constant is one (operands that are unknown, arrays), they are taken one by one.

use super::coerce::check_unknown;
use super::naming::value_names;
use super::outputs::Outputs;
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::{Hir, HirExpr, HirNode, OutputColumn};
use crate::parse::literals::{self, List, LiteralRun, Rows, WrittenCast};
use crate::parse::parse_expression;
use crate::scalar::cast::{CastContext, select_common_type_for};
use repr::{Array, ColumnType, Datum, ScalarType, poll};
use sqlparser::ast::Expr;
use std::sync::Arc;

/// Elements of a list by the types that they have alone, in the order in which those come first. NULLs stand with the first.
pub(super) struct Grouped(pub Vec<(ScalarType, Vec<Datum>)>);

impl Grouped {
    pub(super) fn of(mut values: Vec<Datum>) -> Result<Grouped, PlanError> {
        let mut types: Vec<ScalarType> = Vec::new();
        let length = values.len();
        values.retain(|value| !value.is_null());
        let nulls = length - values.len();
        for value in &values {
            poll::step()?;
            let own = literal_type(value);
            if !types.contains(&own) {
                types.push(own);
            }
        }
        let mut groups: Vec<(ScalarType, Vec<Datum>)> = types.into_iter().map(|own| (own, Vec::new())).collect();
        match groups.as_mut_slice() {
            [] => groups.push((ScalarType::Unknown, values)),
            [(_, all)] => *all = values,
            several => {
                for value in values {
                    poll::step()?;
                    let own = literal_type(&value);
                    several
                        .iter_mut()
                        .filter(|(scalar, _)| *scalar == own)
                        .for_each(|(_, group)| group.push(value.clone()));
                }
            }
        }
        // Nothing equals them: how many there are says nothing.
        groups[0].1.extend((nulls > 0).then_some(Datum::Null));
        Ok(Grouped(groups))
    }

    /// Integers of both widths as one group.
    pub(super) fn widen_integers(&mut self) {
        let place = |groups: &[(ScalarType, _)], wanted: &ScalarType| groups.iter().position(|(own, _)| own == wanted);
        let (small, large) = (place(&self.0, &ScalarType::Int4), place(&self.0, &ScalarType::Int8));
        if let (Some(small), Some(large)) = (small, large) {
            let more = std::mem::take(&mut self.0[large].1);
            let (scalar, values) = &mut self.0[small];
            *scalar = ScalarType::Int8;
            values.iter_mut().for_each(|value| *value = widened(value, &ScalarType::Int8));
            values.extend(more);
            self.0.remove(large);
        }
    }

    pub(super) fn types(&self) -> impl Iterator<Item = &ScalarType> {
        self.0.iter().map(|(scalar, _)| scalar)
    }
}

/// An item of a list.
pub(super) enum Item<'q> {
    /// By itself.
    One(&'q Expr),
    /// Literals.
    Many(List<'q>),
}

/// The items of a list, none if there is no run among them.
pub(super) fn items(list: &[Expr]) -> Option<Vec<Item<'_>>> {
    if !list.iter().any(|expr| matches!(literals::run(expr), Some(LiteralRun::List(_)))) {
        return None;
    }
    let item = |expr| match literals::run(expr) {
        Some(LiteralRun::List(text)) => Item::Many(literals::elements(text)),
        Some(LiteralRun::Rows(_)) | None => Item::One(expr),
    };
    Some(list.iter().map(item).collect())
}

/// A list whose runs of rows are spread; none if it has none.
pub(super) fn spread_rows(list: &[Expr]) -> Result<Option<Vec<Expr>>, PlanError> {
    let text = |expr| match literals::run(expr) {
        Some(LiteralRun::Rows(text)) => Some(text),
        Some(LiteralRun::List(_)) | None => None,
    };
    if !list.iter().any(|expr| text(expr).is_some()) {
        return Ok(None);
    }
    let mut spread = Vec::new();
    for expr in list {
        match text(expr) {
            Some(text) => spread.extend(literals::spread(text)?),
            None => spread.push(expr.clone()),
        }
    }
    Ok(Some(spread))
}

/// The type of a literal that stands by itself.
pub(super) fn literal_type(value: &Datum) -> ScalarType {
    match value {
        Datum::Int4(_) => ScalarType::Int4,
        Datum::Int8(_) => ScalarType::Int8,
        Datum::Numeric(_) => ScalarType::Numeric,
        Datum::Bool(_) => ScalarType::Bool,
        _ => ScalarType::Unknown,
    }
}

/// The types of literals, in the order in which they come first; NULLs have none.
pub(super) fn types_of(values: &[Datum]) -> Result<Vec<ScalarType>, PlanError> {
    let mut types = Vec::new();
    for value in values {
        poll::step()?;
        note_type(&mut types, value);
    }
    Ok(types)
}

fn note_type(types: &mut Vec<ScalarType>, value: &Datum) {
    let own = literal_type(value);
    if !value.is_null() && !types.contains(&own) {
        types.push(own);
    }
}

/// The one type of literals: that of a string if all are NULL, none if there are several.
fn only_type(values: &[Datum]) -> Result<Option<ScalarType>, PlanError> {
    let mut types = types_of(values)?;
    let only = types.pop().unwrap_or(ScalarType::Unknown);
    Ok(types.is_empty().then_some(only))
}

/// A column of literals that is cast as a whole.
pub(super) struct ColumnCast {
    /// The literals' type.
    pub(super) from: ScalarType,
    /// As which they stand there.
    pub(super) to: ColumnType,
}

/// A literal by itself.
pub(super) fn single(value: Datum) -> Typed {
    let scalar = literal_type(&value);
    Typed::literal(value, scalar)
}

/// A number as one of a wider type.
pub(super) fn widened(value: &Datum, scalar: &ScalarType) -> Datum {
    match (value.as_i64(), scalar) {
        (Some(number), ScalarType::Int8) => Datum::Int8(number),
        (Some(number), ScalarType::Numeric) => Datum::Numeric(number.into()),
        _ => value.clone(),
    }
}

impl Resolver<'_> {
    /// A run where the grammar has none: what the text would have been.
    pub(super) fn stray_run(&mut self, run: LiteralRun<'_>, position: Option<u32>) -> Result<Typed, PlanError> {
        match run {
            LiteralRun::List(text) => {
                let row = parse_expression(&format!("({text})"))?;
                self.expr(&row)
            }
            LiteralRun::Rows(_) => Err(PlanError::new("42601", "syntax error at or near \",\"").at(position)),
        }
    }

    /// Literals of one type as an array of `to`, each cast as it would be alone.
    pub(super) fn literal_array(
        &mut self,
        from: &ScalarType,
        values: Vec<Datum>,
        to: &ScalarType,
        context: CastContext,
    ) -> Result<Typed, PlanError> {
        let is_text = *from == ScalarType::Unknown && matches!(to, ScalarType::Text | ScalarType::Varchar);
        let own = if is_text { to } else { from };
        if *own == ScalarType::Unknown {
            for value in &values {
                poll::step()?;
                check_unknown(value, to)?;
            }
        }
        let array_type = ScalarType::Array(Box::new(own.clone()));
        let array = Datum::Array(Arc::new(Array::vector(values)));
        let array = Typed::literal(array, array_type);
        if own == to {
            return Ok(array);
        }
        let to = ColumnType::nullable(ScalarType::Array(Box::new(to.clone())));
        let mut array = self.cast(array, &to, context)?;
        array.expr.fold();
        Ok(array)
    }

    /// What literals are cast to. None where a sign before them, which is taken of what is cast, would not be the literal's own.
    pub(super) fn cast_of(&self, cast: &WrittenCast<'_>, values: &[Datum]) -> Result<Option<ColumnType>, PlanError> {
        let Expr::Cast { data_type, .. } = parse_expression(&format!("NULL::{}", cast.to))? else { return Ok(None) };
        let to = self.written_type(&data_type)?;
        if to.domain != 0 {
            return Ok(None);
        }
        let least = match to.scalar {
            _ if !cast.signed => return Ok(Some(to)),
            ScalarType::Numeric => return Ok(Some(to)),
            ScalarType::Float4 | ScalarType::Float8 => {
                let has_zero =
                    values.iter().any(|value| value.as_i64() == Some(0) || matches!(value, Datum::Numeric(_)));
                return Ok((!has_zero).then_some(to));
            }
            ScalarType::Int2 => i64::from(i16::MIN),
            ScalarType::Int4 => i64::from(i32::MIN),
            ScalarType::Int8 => i64::MIN,
            _ => return Ok(None),
        };
        let fits = |value: &Datum| value.is_null() || value.as_i64().is_some_and(|value| value > least);
        Ok(values.iter().all(fits).then_some(to))
    }

    /// Literals that are cast, as an array of what they are cast to. None where they are not of one type, or there is no array.
    pub(super) fn cast_list(&mut self, list: &List<'_>) -> Result<Option<Typed>, PlanError> {
        let Some(cast) = &list.cast else { return Ok(None) };
        let (Some(to), Some(from)) = (self.cast_of(cast, &list.values)?, only_type(&list.values)?) else {
            return Ok(None);
        };
        if matches!(to.scalar, ScalarType::Array(_) | ScalarType::Record(_)) {
            return Ok(None);
        }
        if to.modifier == -1 {
            return self.literal_array(&from, list.values.clone(), &to.scalar, CastContext::Explicit).map(Some);
        }
        let array = Datum::Array(Arc::new(Array::vector(list.values.clone())));
        let array = Typed::literal(array, ScalarType::Array(Box::new(from)));
        let to = ColumnType { nullable: true, scalar: ScalarType::Array(Box::new(to.scalar)), ..to };
        let mut array = self.cast(array, &to, CastContext::Explicit)?;
        array.expr.fold();
        Ok(Some(array))
    }

    /// ARRAY of literals that become `element`, or what they have in common. Gives them back where they are not literals
    /// of one type, or of numbers: they are taken one by one.
    pub(super) fn array_of_run<'q>(
        &mut self,
        items: Vec<Item<'q>>,
        element: Option<&ScalarType>,
    ) -> Result<Result<Typed, Vec<Item<'q>>>, PlanError> {
        let [Item::Many(list)] = items.as_slice() else { return Ok(Err(items)) };
        if list.cast.is_some() {
            let Some(array) = self.cast_list(list)? else { return Ok(Err(items)) };
            let Some(element) = element else { return Ok(Ok(array)) };
            let to = ColumnType::nullable(ScalarType::Array(Box::new(element.clone())));
            return self.cast(array, &to, CastContext::Explicit).map(Ok);
        }
        let mut types: Vec<ScalarType> = types_of(&list.values)?;
        let is_number = |scalar: &ScalarType| !matches!(scalar, ScalarType::Unknown | ScalarType::Bool);
        let several = types.len() > 1;
        if several && (element.is_some() || !types.iter().all(is_number)) {
            return Ok(Err(items));
        }
        let from =
            if several { select_common_type_for("ARRAY", &types)? } else { types.pop().unwrap_or(ScalarType::Unknown) };
        let mut values = Vec::new();
        items.into_iter().for_each(|item| match item {
            Item::One(_) => {}
            Item::Many(list) => values = list.values,
        });
        if several {
            values.iter_mut().for_each(|value| *value = widened(value, &from));
        }
        let (to, context) = match element {
            Some(element) => (element.clone(), CastContext::Explicit),
            None if from == ScalarType::Unknown => (ScalarType::Text, CastContext::Implicit),
            None => (from.clone(), CastContext::Implicit),
        };
        self.literal_array(&from, values, &to, context).map(Ok)
    }

    /// All items one by one.
    pub(super) fn spread(&mut self, items: Vec<Item<'_>>) -> Result<Vec<Typed>, PlanError> {
        let mut typed = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Item::One(expr) => typed.push(self.expr(expr)?),
                Item::Many(List { text, cast: Some(_), .. }) => {
                    for expr in literals::spread(text)? {
                        typed.push(self.expr(&expr)?);
                    }
                }
                Item::Many(List { values, cast: None, .. }) => {
                    for value in values {
                        poll::step()?;
                        typed.push(single(value));
                    }
                }
            }
        }
        Ok(typed)
    }

    /// A VALUES that is one run; none if its casts are to be made one by one.
    pub(super) fn run_values(
        &mut self,
        rows: Rows<'_>,
        outputs: &Outputs<'_>,
    ) -> Result<Option<(Hir, Vec<OutputColumn>)>, PlanError> {
        let Some(casts) = self.column_casts(&rows)? else { return Ok(None) };
        let rows = rows.values;
        let width = casts.len();
        let mut types: Vec<Vec<ScalarType>> = vec![Vec::new(); width];
        let mut nullable = vec![false; width];
        for row in &rows {
            poll::steps(width)?;
            for (place, value) in row.iter().enumerate() {
                let scalar = literal_type(value);
                nullable[place] |= value.is_null();
                if !types[place].contains(&scalar) {
                    types[place].push(scalar);
                }
            }
        }
        let hinted = |place: usize| match outputs {
            Outputs::Hinted(hints) => hints.get(place),
            Outputs::Settled | Outputs::Kept => None,
        };
        // What each column has, and what that becomes.
        let mut columns: Vec<(ScalarType, ScalarType)> = Vec::with_capacity(width);
        for (place, own) in types.iter().enumerate() {
            if let Some(ColumnCast { from, to }) = &casts[place] {
                columns.push((from.clone(), to.scalar.clone()));
                continue;
            }
            let unknown = own.iter().all(|scalar| *scalar == ScalarType::Unknown);
            let common = match hinted(place) {
                Some(hint) if unknown => hint.scalar.clone(),
                _ if unknown && matches!(outputs, Outputs::Kept) => ScalarType::Unknown,
                _ => select_common_type_for("VALUES", own)?,
            };
            let is_text = matches!(common, ScalarType::Text | ScalarType::Varchar);
            columns.push((if unknown && !is_text { ScalarType::Unknown } else { common.clone() }, common));
        }
        let mut converted = Vec::with_capacity(rows.len());
        for row in rows {
            poll::steps(width)?;
            let mut own = Vec::with_capacity(width);
            for (value, (from, to)) in row.into_iter().zip(&columns) {
                check_unknown(&value, to)?;
                own.push(self.literal_among(value, from)?);
            }
            converted.push(own);
        }
        let typed = |((from, _), nullable): (&(ScalarType, _), &bool)| ColumnType {
            nullable: *nullable,
            ..ColumnType::nullable(from.clone())
        };
        let types = columns.iter().zip(&nullable).map(typed).collect();
        let constants = Hir { node: HirNode::Constant(converted, value_names(width)), types };
        let mut columns: Vec<ColumnType> = columns.into_iter().map(|(_, to)| ColumnType::nullable(to)).collect();
        let is_cast: Vec<bool> = casts.iter().map(Option::is_some).collect();
        for (column, cast) in columns.iter_mut().zip(casts) {
            cast.into_iter().for_each(|cast| *column = cast.to);
        }
        self.cast_values(constants, columns, &is_cast).map(Some)
    }

    /// What is cast in the columns of a run. None if a column's literals are not of one type, or it is not what the others become.
    pub(super) fn column_casts(&mut self, rows: &Rows<'_>) -> Result<Option<Vec<Option<ColumnCast>>>, PlanError> {
        let mut casts = Vec::with_capacity(rows.casts.len());
        for (place, cast) in rows.casts.iter().enumerate() {
            let Some(cast) = cast else {
                casts.push(None);
                continue;
            };
            let mut types = Vec::new();
            let mut column = Vec::new();
            for row in &rows.values {
                poll::step()?;
                note_type(&mut types, &row[place]);
                if cast.signed {
                    column.push(row[place].clone());
                }
            }
            let Some(to) = self.cast_of(cast, &column)? else { return Ok(None) };
            let from = types.pop().unwrap_or(ScalarType::Unknown);
            let follows = |from: &ScalarType| {
                let common = select_common_type_for("VALUES", &[to.scalar.clone(), from.clone()]);
                to.modifier == -1 && common.is_ok_and(|common| common == to.scalar)
            };
            if !types.is_empty() || rows.is_first_only && !follows(&from) {
                return Ok(None);
            }
            let is_text = to.modifier == -1 && matches!(to.scalar, ScalarType::Text | ScalarType::Varchar);
            let from = if is_text && from == ScalarType::Unknown { to.scalar.clone() } else { from };
            casts.push(Some(ColumnCast { from, to: ColumnType { nullable: true, ..to } }));
        }
        Ok(Some(casts))
    }

    /// A literal as a value of its column's type, which others have given it.
    fn literal_among(&mut self, value: Datum, to: &ScalarType) -> Result<Datum, PlanError> {
        match value {
            Datum::Text(text) if !matches!(to, ScalarType::Unknown | ScalarType::Text | ScalarType::Varchar) => {
                let mut cast = self.coerce(single(Datum::Text(text)), to)?;
                cast.expr.fold();
                match cast.expr {
                    HirExpr::Literal(value, _) => Ok(value),
                    other => Err(PlanError::new("XX000", format!("a literal among others is no constant: {other:?}"))),
                }
            }
            value => Ok(widened(&value, to)),
        }
    }

    /// Constants as the rows of a VALUES, each column cast once for all rows.
    fn cast_values(
        &mut self,
        constants: Hir,
        to: Vec<ColumnType>,
        is_cast: &[bool],
    ) -> Result<(Hir, Vec<OutputColumn>), PlanError> {
        let named = |(index, (to, from)): (usize, (&ColumnType, &ColumnType))| OutputColumn {
            name: format!("column{}", index + 1),
            column_type: ColumnType { nullable: from.nullable, ..to.clone() },
            origin: None,
        };
        let named: Vec<OutputColumn> = to.iter().zip(&constants.types).enumerate().map(named).collect();
        if constants.types.iter().zip(&to).all(|(own, to)| own.scalar == to.scalar && to.modifier == -1) {
            return Ok((constants, named));
        }
        let mut casts = Vec::with_capacity(to.len());
        for (place, to) in to.iter().enumerate() {
            let column = Typed::column(place, constants.types[place].clone());
            let context = if is_cast[place] { CastContext::Explicit } else { CastContext::Implicit };
            casts.push(self.cast(column, to, context)?);
        }
        let (relation, places) = constants.with_columns(casts);
        Ok((relation.project(places), named))
    }
}
