//! What a write assigns to: a column, or a part of one (`a[1]`, `j['k']`, `c.f`), which becomes a value of the whole column.
//!
//! ```text
//! SET a[1] = x, a[2] = y   ─▶   a = array_set_element(array_set_element(a, x, 1), y, 2)
//! SET c.a[1] = x           ─▶   c = record_set_field(c, array_set_element(c.a, x, 1), place of a, count of fields)
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
    /// The way to it from the column's value: never empty.
    steps: Vec<PartStep>,
    /// Where it is written.
    position: Option<u32>,
}

/// A part of a value, which is of a type of its own.
#[derive(Clone, Debug)]
struct PartStep {
    /// The type of the value.
    own: ColumnType,
    /// The type of the part.
    column_type: ColumnType,
    /// The function that puts the part into the value, and its arguments behind these two.
    function: &'static str,
    places: Vec<Typed>,
}

impl PartStep {
    /// The name of the field that it sets.
    fn field(&self) -> &str {
        let place = self.places.first().map(|place| &place.expr);
        match (&self.own.scalar, place) {
            (ScalarType::Record(record), Some(HirExpr::Literal(Datum::Int4(place), _))) => {
                record.get(usize::try_from(*place).unwrap_or(usize::MAX)).map_or("", |(name, _)| name)
            }
            _ => "",
        }
    }
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
            Some(part) => {
                let is_field = part.steps.last().is_some_and(|step| step.function == SET_FIELD);
                let what = if is_field { "a subfield" } else { "an array element" };
                Err(PlanError::new("0A000", format!("cannot set {what} to DEFAULT")).at(part.position))
            }
            None => Ok(()),
        }
    }
}

const SET_FIELD: &str = "record_set_field";

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
        let (name, access) = part::written(written).unwrap_or((&written.0, &[]));
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
        let (named, index) = found.map_err(|error| match behind {
            [] => error,
            _ => error.hint("SET target columns cannot be qualified with the relation name."),
        })?;
        let column = &table.columns[index];
        let field = |part: &ObjectNamePart| {
            AccessExpr::Dot(Expr::Identifier(part.as_ident().cloned().unwrap_or_else(|| ident.clone())))
        };
        let access: Vec<AccessExpr> = behind.iter().map(field).chain(access.iter().cloned()).collect();
        let part = if access.is_empty() { None } else { Some(self.part(column, &access, position)?) };
        Ok(Assignee { index, named, part })
    }

    /// The part of a column that fields and subscripts behind its name lead to.
    fn part(&mut self, column: &Column, access: &[AccessExpr], position: Option<u32>) -> Result<Part, PlanError> {
        let mut steps: Vec<PartStep> = Vec::new();
        let mut own = ColumnType { nullable: true, ..column.column_type.clone() };
        let mut rest = access;
        while let Some(first) = rest.first() {
            let step = match first {
                AccessExpr::Dot(field) => {
                    rest = &rest[1..];
                    self.field_step(&own, &column.name, field, position)?
                }
                AccessExpr::Subscript(_) => {
                    let count = rest.iter().take_while(|access| matches!(access, AccessExpr::Subscript(_))).count();
                    let subscript = |access: &'_ AccessExpr| match access {
                        AccessExpr::Subscript(subscript) => Some(subscript.clone()),
                        AccessExpr::Dot(_) => None,
                    };
                    let subscripts: Vec<Subscript> = rest[..count].iter().filter_map(subscript).collect();
                    rest = &rest[count..];
                    self.subscript_step(&own, &subscripts.iter().collect::<Vec<_>>(), position)?
                }
            };
            own = step.column_type.clone();
            steps.push(step);
        }
        Ok(Part { column_type: own, steps, position })
    }

    /// A field of a composite value; 42804 if it is none.
    fn field_step(
        &mut self,
        own: &ColumnType,
        column: &str,
        field: &Expr,
        position: Option<u32>,
    ) -> Result<PartStep, PlanError> {
        let name = match field {
            Expr::Identifier(ident) => fold(ident),
            other => other.to_string(),
        };
        let label = self.type_label(&own.scalar);
        let of_column = format!("cannot assign to field \"{name}\" of column \"{column}\" because");
        let ScalarType::Record(record) = &own.scalar else {
            let message = format!("{of_column} its type {label} is not a composite type");
            return Err(PlanError::new("42804", message).at(position));
        };
        let Some(place) = record.iter().position(|(field, _)| *field == name) else {
            let message = format!("{of_column} there is no such column in data type {label}");
            return Err(PlanError::new("42703", message).at(position));
        };
        let column_type = record.column_type(place);
        let number =
            |count: usize| Typed::literal(Datum::Int4(i32::try_from(count).unwrap_or(i32::MAX)), ScalarType::Int4);
        let places = vec![number(place), number(record.len())];
        Ok(PartStep { own: own.clone(), column_type, function: SET_FIELD, places })
    }

    /// What subscripts lead to.
    fn subscript_step(
        &mut self,
        own: &ColumnType,
        subscripts: &[&Subscript],
        position: Option<u32>,
    ) -> Result<PartStep, PlanError> {
        let element = match &own.scalar {
            ScalarType::Array(element) => (**element).clone(),
            ScalarType::Jsonb => {
                let (mut places, is_array) = self.json_steps(subscripts, position)?;
                places.insert(0, Typed::literal(Datum::Bool(is_array), ScalarType::Bool));
                let column_type = ColumnType::nullable(ScalarType::Jsonb);
                return Ok(PartStep { own: own.clone(), column_type, function: "jsonb_set_element", places });
            }
            ScalarType::Hstore => {
                let places = vec![self.hstore_key(subscripts, position)?];
                let column_type = ColumnType::nullable(ScalarType::Text);
                return Ok(PartStep { own: own.clone(), column_type, function: "hstore_set_element", places });
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
        // The domain is of the whole array.
        let column_type = ColumnType { scalar, nullable: true, domain: 0, ..own.clone() };
        Ok(PartStep { own: own.clone(), column_type, function, places: values })
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
            Some(cast) if part.column_type.domain != 0 => self.domain_value(cast, part.column_type.domain),
            Some(cast) => Ok(cast),
            None => {
                let (to, from) = (self.type_label(&part.column_type.scalar), self.type_label(typed.scalar()));
                let name = &column.name;
                let message = match part.steps.last() {
                    Some(step) if step.function == SET_FIELD => {
                        format!("subfield \"{}\" is of type {to} but expression is of type {from}", step.field())
                    }
                    _ => format!(
                        "subscripted assignment to \"{name}\" requires type {to} but expression is of type {from}"
                    ),
                };
                Err(PlanError::new("42804", message)
                    .hint("You will need to rewrite or cast the expression.")
                    .at(part.position))
            }
        }
    }

    /// The column's value with a part of it set.
    pub(super) fn with_part(&mut self, base: Typed, part: &Part, value: Typed) -> Result<Typed, PlanError> {
        self.with_step(base, &part.steps, value, part.position)
    }

    fn with_step(
        &mut self,
        base: Typed,
        steps: &[PartStep],
        value: Typed,
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        let [step, inner @ ..] = steps else { return Ok(value) };
        let value = if inner.is_empty() {
            value
        } else {
            let part = self.read_step(base.clone(), step, position)?;
            self.with_step(part, inner, value, position)?
        };
        let mut arguments = Vec::with_capacity(2 + step.places.len());
        arguments.push(base);
        arguments.push(value);
        arguments.extend(step.places.iter().cloned());
        let mut call = self.call_named(step.function, arguments, position)?;
        if let HirExpr::Call { result, .. } = &mut call.expr {
            *result = step.own.scalar.clone();
        }
        call.column_type = step.own.clone();
        Ok(call)
    }

    /// The part as it is, of which a part is set.
    fn read_step(&mut self, base: Typed, step: &PartStep, position: Option<u32>) -> Result<Typed, PlanError> {
        let function = match step.function {
            SET_FIELD => "record_field",
            "array_set_element" => "array_subscript",
            _ => return Err(PlanError::unsupported("assignment to a part of a slice").at(position)),
        };
        // Of a field its place alone is asked for.
        let places = if function == "record_field" { &step.places[..1] } else { &step.places };
        let arguments = std::iter::once(base).chain(places.iter().cloned()).collect();
        let mut call = self.call_named(function, arguments, position)?;
        if let HirExpr::Call { result, .. } = &mut call.expr {
            *result = step.column_type.scalar.clone();
        }
        call.column_type = step.column_type.clone();
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
                    whole.push((index, self.with_part(base, &part, value)?, true));
                }
                (Some(place), Some(part)) if whole[place].2 => {
                    let base = whole[place].1.clone();
                    whole[place].1 = self.with_part(base, &part, value)?;
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
                Some(part) => self.with_part(whole, part, value)?,
            };
        }
        Ok(whole)
    }
}
