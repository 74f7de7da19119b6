//! What a write assigns to: a column, or a part of one (`a[1]`, `j['k']`), which becomes a value of the whole column.
//!
//! ```text
//! SET a[1] = x, a[2] = y   ─▶   a = array_set_element(array_set_element(a, x, 1), y, 2)
//! ```
//! Nothing below knows of parts.

use super::scope::fold;
use super::special_syntax::ArrayBounds;
use super::updatable::ViewWrite;
use super::write_target::WriteTarget;
use super::{Resolver, Typed};
use crate::catalog::{Column, Table};
use crate::error::PlanError;
use crate::hir::HirExpr;
use crate::parse::part;
use crate::scalar::cast::CastContext;
use repr::{ColumnIndex, ColumnType, Datum, ScalarType};
use sqlparser::ast::{AccessExpr, Expr, ObjectName, ObjectNamePart, Subscript};

/// What is assigned to.
#[derive(Clone, Debug)]
pub(super) struct Assignee {
    /// The column.
    pub(super) index: ColumnIndex,
    /// Its place in what the statement names: in a view another.
    pub(super) named: ColumnIndex,
    /// The part of it; the whole, if none.
    pub(super) part: Option<Part>,
}

/// A part of a column.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The type of what is assigned.
    column_type: ColumnType,
    /// The function that puts it into the column's value, and its arguments behind these two.
    function: &'static str,
    places: Vec<Typed>,
    /// Where it is written.
    position: Option<u32>,
}

impl Assignee {
    /// A whole column.
    pub(super) fn whole(index: ColumnIndex) -> Self {
        Assignee { index, named: index, part: None }
    }

    /// The type of what is assigned.
    pub(super) fn column_type<'t>(&'t self, table: &'t Table) -> &'t ColumnType {
        match &self.part {
            Some(part) => &part.column_type,
            None => &table.columns[self.index].column_type,
        }
    }

    /// 0A000 for a part that is set to DEFAULT.
    pub(super) fn check_default(&self) -> Result<(), PlanError> {
        match &self.part {
            Some(part) => Err(PlanError::new("0A000", "cannot set an array element to DEFAULT").at(part.position)),
            None => Ok(()),
        }
    }
}

/// 42601 for a column that is given two values.
pub(super) fn assigned_twice(column: &str) -> PlanError {
    PlanError::new("42601", format!("multiple assignments to same column \"{column}\""))
}

impl Resolver<'_> {
    /// What a name in SET, or in the list of an INSERT's columns, means.
    pub(super) fn assignee(
        &mut self,
        table: &WriteTarget,
        written: &ObjectName,
        write: ViewWrite,
    ) -> Result<Assignee, PlanError> {
        let Some((name, access)) = part::written(written) else {
            let (named, index) = self.assigned_column(table, &written.0, write)?;
            return Ok(Assignee { named, ..Assignee::whole(index) });
        };
        let (named, index) = self.assigned_column(table, name, write)?;
        let position = name.first().and_then(ObjectNamePart::as_ident).and_then(|ident| self.at(ident.span));
        let column = &table.columns[index];
        let mut subscripts = Vec::with_capacity(access.len());
        for (place, access) in access.iter().enumerate() {
            match access {
                AccessExpr::Subscript(subscript) => subscripts.push(subscript),
                AccessExpr::Dot(field) => {
                    let scalar = match &column.column_type.scalar {
                        ScalarType::Array(element) if place > 0 => element,
                        other => other,
                    };
                    return Err(self.no_composite(scalar, &column.name, field).at(position));
                }
            }
        }
        let part = self.part(column, &subscripts, position)?;
        Ok(Assignee { index, named, part: Some(part) })
    }

    fn assigned_column(
        &self,
        table: &WriteTarget,
        name: &[ObjectNamePart],
        write: ViewWrite,
    ) -> Result<(ColumnIndex, ColumnIndex), PlanError> {
        let [first, behind @ ..] = name else { return Err(PlanError::new("42601", "syntax error")) };
        let Some(ident) = first.as_ident() else {
            return Err(PlanError::new("42601", format!("syntax error at or near \"{first}\"")));
        };
        let position = self.at(ident.span);
        let found = table.column(&fold(ident), write).map_err(|error| match error.code {
            // That nothing can be written to a column is said of the view.
            "0A000" => error,
            _ => error.at(position),
        });
        match (found, behind) {
            (found, []) => found,
            (Ok((_, index)), [field, ..]) => {
                let column = &table.columns[index];
                let field = field.as_ident().cloned().map_or_else(|| Expr::Identifier(ident.clone()), Expr::Identifier);
                Err(self.no_composite(&column.column_type.scalar, &column.name, &field).at(position))
            }
            (Err(error), _) => Err(error.hint("SET target columns cannot be qualified with the relation name.")),
        }
    }

    fn no_composite(&self, scalar: &ScalarType, column: &str, field: &Expr) -> PlanError {
        let field = match field {
            Expr::Identifier(ident) => fold(ident),
            other => other.to_string(),
        };
        let own = self.type_label(scalar);
        PlanError::new(
            "42804",
            format!(
                "cannot assign to field \"{field}\" of column \"{column}\" because its type {own} is not a composite type"
            ),
        )
    }

    fn part(&mut self, column: &Column, subscripts: &[&Subscript], position: Option<u32>) -> Result<Part, PlanError> {
        let own = &column.column_type;
        let element = match &own.scalar {
            ScalarType::Array(element) => (**element).clone(),
            ScalarType::Jsonb => {
                let (mut places, is_array) = self.json_steps(subscripts, position)?;
                places.insert(0, Typed::literal(Datum::Bool(is_array), ScalarType::Bool));
                let column_type = ColumnType::nullable(ScalarType::Jsonb);
                return Ok(Part { column_type, function: "jsonb_set_element", places, position });
            }
            ScalarType::Name => return Err(PlanError::unsupported("assignment to one byte of a name").at(position)),
            ScalarType::Int2Vector | ScalarType::OidVector => {
                let element = if own.scalar == ScalarType::Int2Vector { "smallint" } else { "oid" };
                let message = format!("cannot cast type {element}[] to {}", self.type_label(&own.scalar));
                return Err(PlanError::new("42846", message).at(position));
            }
            other => {
                let label = self.type_label(other);
                let message = format!("cannot subscript type {label} because it does not support subscripting");
                return Err(PlanError::new("42804", message).at(position));
            }
        };
        let ArrayBounds { mut values, given } = self.array_bounds(subscripts, position)?;
        let (scalar, function) = match given {
            None => (element, "array_set_element"),
            Some(given) => {
                values.insert(0, Typed::literal(Datum::Int4(given), ScalarType::Int4));
                (own.scalar.clone(), "array_set_slice")
            }
        };
        let column_type = ColumnType { scalar, nullable: true, ..own.clone() };
        Ok(Part { column_type, function, places: values, position })
    }

    /// A value as what is assigned to must be; 42804 if it cannot be.
    pub(super) fn assign_to(
        &mut self,
        table: &Table,
        target: &Assignee,
        typed: Typed,
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        let column = &table.columns[target.index];
        let Some(part) = &target.part else {
            return self.assign(typed, &column.column_type, &column.name, position);
        };
        let cast = self.try_coerce(&typed, &part.column_type, CastContext::Assignment);
        match cast.map_err(|error| error.at(position))? {
            Some(cast) => Ok(cast),
            None => {
                let (to, from) = (self.type_label(&part.column_type.scalar), self.type_label(typed.scalar()));
                let name = &column.name;
                Err(PlanError::new(
                    "42804",
                    format!("subscripted assignment to \"{name}\" requires type {to} but expression is of type {from}"),
                )
                .hint("You will need to rewrite or cast the expression.")
                .at(part.position))
            }
        }
    }

    /// The column's value with a part of it set.
    pub(super) fn with_part(
        &mut self,
        own: &ColumnType,
        base: Typed,
        part: &Part,
        value: Typed,
    ) -> Result<Typed, PlanError> {
        let mut arguments = Vec::with_capacity(2 + part.places.len());
        arguments.push(base);
        arguments.push(value);
        arguments.extend(part.places.iter().cloned());
        let mut call = self.call_named(part.function, arguments, part.position)?;
        if let HirExpr::Call { result, .. } = &mut call.expr {
            *result = own.scalar.clone();
        }
        call.column_type = ColumnType { nullable: true, ..own.clone() };
        Ok(call)
    }

    /// The values of columns whose parts are set one after another. The old row begins at column 0.
    pub(super) fn whole_columns(
        &mut self,
        table: &WriteTarget,
        assigned: Vec<(Assignee, Typed)>,
    ) -> Result<Vec<(ColumnIndex, Typed)>, PlanError> {
        let mut whole: Vec<(ColumnIndex, Typed, bool)> = Vec::with_capacity(assigned.len());
        let mut names: Vec<ColumnIndex> = Vec::with_capacity(assigned.len());
        for (Assignee { index, named, part }, value) in assigned {
            let is_twice = names.contains(&named);
            names.push(named);
            let column = &table.columns[index];
            let own = ColumnType { nullable: true, ..column.column_type.clone() };
            let earlier = whole.iter().position(|(other, ..)| *other == index);
            match (earlier, part) {
                (None, None) => whole.push((index, value, false)),
                (None, Some(part)) => {
                    let base = Typed::column(index, own.clone());
                    whole.push((index, self.with_part(&own, base, &part, value)?, true));
                }
                (Some(place), Some(part)) if whole[place].2 => {
                    let base = whole[place].1.clone();
                    whole[place].1 = self.with_part(&own, base, &part, value)?;
                }
                (Some(_), _) => {
                    // By two names of a view it is the table's column that is assigned twice.
                    let name = if is_twice { &table.named().columns[named].name } else { &column.name };
                    return Err(assigned_twice(name));
                }
            }
        }
        let mut columns = Vec::with_capacity(whole.len());
        for (index, value, _) in whole {
            columns.push((index, self.kept_until(table, index, value)?));
        }
        Ok(columns)
    }

    /// The value that an INSERT gives a column: that of the one target, or of parts that are set one after another.
    pub(super) fn inserted_value(
        &mut self,
        table: &Table,
        index: ColumnIndex,
        given: Vec<(&Assignee, Typed)>,
    ) -> Result<Typed, PlanError> {
        let own = &table.columns[index].column_type;
        let mut whole = super::dml::null_of(own);
        for (target, value) in given {
            whole = match &target.part {
                None => value,
                Some(part) => self.with_part(own, whole, part, value)?,
            };
        }
        Ok(whole)
    }
}
