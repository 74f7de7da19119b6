//! Functions whose records are as the call says: `json_to_record(…) AS (a int)`, `json_populate_record(NULL::table, …)`.
//!
//! A base is a record, or what is cast to a table's name, which is no type anywhere else.

use super::from_function::FunctionRows;
use super::relation::{NamedRelation, Stored};
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::{Hir, HirExpr, HirFunctionCall, HirNode};
use crate::names::Names;
use crate::scalar::cast::CastContext;
use crate::scalar::registry;
use repr::types::RecordType;
use repr::{ColumnType, Datum, ScalarType};
use sqlparser::ast::{DataType, Expr, Value};

/// The columns of a record, with their modifiers.
type RecordColumns = Vec<(String, ColumnType)>;

/// Functions that take the record's columns from their first argument.
fn populates(function: &str) -> bool {
    matches!(
        function,
        "json_populate_record"
            | "json_populate_recordset"
            | "jsonb_populate_record"
            | "jsonb_populate_recordset"
            | "populate_record"
    )
}

/// Whether a function's record is as its call says.
pub(super) fn makes_records(function: &str) -> bool {
    populates(function)
        || matches!(function, "json_to_record" | "json_to_recordset" | "jsonb_to_record" | "jsonb_to_recordset")
}

/// The type of a record of these columns.
pub(super) fn record_of(columns: &RecordColumns) -> ScalarType {
    let fields: Vec<(String, ScalarType)> =
        columns.iter().map(|(name, column_type)| (name.clone(), column_type.scalar.clone())).collect();
    ScalarType::Record(fields.into())
}

/// The columns of a record.
pub(super) fn columns_of(record: &RecordType) -> RecordColumns {
    record.iter().enumerate().map(|(place, (name, _))| (name.clone(), record.column_type(place))).collect()
}

/// Whether a row is written out, which is of no table's type.
fn is_row(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_row(inner),
        Expr::Tuple(_) => true,
        Expr::Function(function) => function.name.to_string().eq_ignore_ascii_case("row"),
        _ => false,
    }
}

fn undetermined(function: &str) -> PlanError {
    PlanError::new("0A000", format!("could not determine row type for result of {function}")).hint(
        "Provide a non-null record argument, or call the function in the FROM clause using a column definition list.",
    )
}

impl Resolver<'_> {
    /// The arguments of such a function, and the columns that the first of them says.
    fn record_arguments(&mut self, function: &str, exprs: &[&Expr]) -> Result<(Vec<Typed>, RecordColumns), PlanError> {
        let mut args = Vec::with_capacity(exprs.len());
        let mut columns = RecordColumns::new();
        for (place, expr) in exprs.iter().enumerate() {
            if place > 0 || !populates(function) {
                args.push(self.expr(expr)?);
                continue;
            }
            let base;
            (base, columns) = self.base_record(expr)?;
            if !matches!(base.scalar(), ScalarType::Record(_)) {
                return Err(PlanError::new("42804", format!("first argument of {function} must be a row type")));
            }
            args.push(base);
        }
        Ok((args, columns))
    }

    /// A base and its columns.
    fn base_record(&mut self, expr: &Expr) -> Result<(Typed, RecordColumns), PlanError> {
        if let Expr::Nested(inner) = expr {
            return self.base_record(inner);
        }
        if let Expr::Cast { expr: inner, data_type: written @ DataType::Custom(name, modifiers), .. } = expr
            && modifiers.is_empty()
            && let Err(unknown) = self.written_type(written)
        {
            let columns = match self.find_relation(name) {
                Ok(NamedRelation::Stored(Stored { columns, .. })) => {
                    columns.into_iter().map(|column| (column.name, column.column_type)).collect()
                }
                Ok(NamedRelation::View(view)) => {
                    let columns = view.columns.iter();
                    columns.map(|column| (column.name.clone(), column.column_type.clone())).collect()
                }
                Ok(NamedRelation::Cte(_) | NamedRelation::Sequence(_)) | Err(_) => return Err(unknown),
            };
            let record = record_of(&columns);
            if let Expr::Value(value) = &**inner
                && value.value == Value::Null
            {
                return Ok((Typed::literal(Datum::Null, record), columns));
            }
            let row = self.expr(inner)?;
            let ScalarType::Record(wanted) = &record else { return Err(unknown) };
            return Ok((self.row_as(row, wanted, &name.to_string(), CastContext::Explicit)?, columns));
        }
        let base = self.expr(expr)?;
        match base.scalar().clone() {
            ScalarType::Record(record) => Ok((base, columns_of(&record))),
            ScalarType::Unknown => {
                let message = "could not determine polymorphic type because input has type unknown";
                Err(PlanError::new("42804", message))
            }
            _ => Ok((base, RecordColumns::new())),
        }
    }

    /// An anonymous row as one of a type that `to` names, field by field.
    pub(super) fn row_as(
        &mut self,
        row: Typed,
        wanted: &RecordType,
        to: &str,
        context: CastContext,
    ) -> Result<Typed, PlanError> {
        let ScalarType::Record(given) = row.scalar().clone() else {
            return Err(PlanError::new("42846", format!("cannot cast type {} to {to}", self.type_label(row.scalar()))));
        };
        let refused =
            |detail: String| PlanError::new("42846", format!("cannot cast type record to {to}")).detail(detail);
        if given.len() != wanted.len() {
            let what = if given.len() < wanted.len() { "few" } else { "many" };
            return Err(refused(format!("Input has too {what} columns.")));
        }
        let (row, operand) = super::build::shared(row);
        let mut items = Vec::with_capacity(wanted.len());
        for (place, (_, column_type)) in columns_of(wanted).iter().enumerate() {
            let field = self.field_at(row.clone(), place)?;
            let Some(cast) = self.try_coerce(&field, column_type, context)? else {
                let (from, to) = (self.type_label(field.scalar()), self.type_label(&column_type.scalar));
                return Err(refused(format!("Cannot cast type {from} to {to} in column {}.", place + 1)));
            };
            items.push(match column_type.domain {
                0 => cast.expr,
                domain => self.domain_value(cast, domain)?.expr,
            });
        }
        let scalar = ScalarType::Record(wanted.clone());
        Ok(Typed::new(super::build::once(operand, HirExpr::Record(items, scalar.clone())), scalar))
    }

    /// The columns of such a function's record, and its arguments.
    pub(super) fn record_columns(
        &mut self,
        function: &str,
        exprs: &[&Expr],
        declared: Option<RecordColumns>,
    ) -> Result<(RecordColumns, Vec<Typed>), PlanError> {
        let (args, mut columns) = self.record_arguments(function, exprs)?;
        let types = |columns: &RecordColumns| columns.iter().map(|(_, own)| own.scalar.clone()).collect::<Vec<_>>();
        match declared {
            Some(declared) if exprs.first().is_some_and(|base| is_row(base)) => {
                if types(&declared) != types(&columns) {
                    let message = "function return row and query-specified return row do not match";
                    return Err(PlanError::new("42804", message));
                }
                columns = declared;
            }
            Some(_) if !columns.is_empty() => {
                let message = "a column definition list is redundant for a function returning a named composite type";
                return Err(PlanError::new("42601", message));
            }
            Some(declared) => columns = declared,
            None if columns.is_empty() => {
                let message = "a column definition list is required for functions returning \"record\"";
                return Err(PlanError::new("42601", message));
            }
            None => {}
        }
        Ok((columns, args))
    }

    /// Such a function in FROM, and the columns of its rows, `ordinality` among them.
    pub(super) fn record_rows(
        &mut self,
        function: &str,
        exprs: &[&Expr],
        ordinality: bool,
        declared: Option<RecordColumns>,
    ) -> Result<FunctionRows, PlanError> {
        let (mut columns, args) = self.record_columns(function, exprs, declared)?;
        let record = record_of(&columns);
        let (mut hir, place) = if registry::is_table_function(function) {
            (self.record_set(function, args, &record, ordinality)?, 0)
        } else {
            let call = self.record_call(function, args, &record)?;
            let (hir, places) = Hir::unit().with_columns(vec![call]);
            (hir, places[0])
        };
        let row = Typed::column(place, ColumnType::nullable(record));
        let mut values = Vec::with_capacity(columns.len() + 1);
        for (index, (_, column_type)) in columns.iter().enumerate() {
            let field = self.field_at(row.clone(), index)?;
            let cast = self.cast(field, column_type, CastContext::Assignment)?;
            values.push(match column_type.domain {
                0 => cast,
                domain => self.domain_value(cast, domain)?,
            });
        }
        if ordinality {
            let count = ColumnType { nullable: false, ..ColumnType::nullable(ScalarType::Int8) };
            values.push(match registry::is_table_function(function) {
                true => Typed::column(1, count.clone()),
                false => Typed::literal(Datum::Int8(1), ScalarType::Int8),
            });
            columns.push(("ordinality".to_owned(), count));
        }
        let places;
        (hir, places) = hir.with_columns(values);
        Ok((hir.project(places), columns))
    }

    fn record_set(
        &mut self,
        function: &str,
        args: Vec<Typed>,
        record: &ScalarType,
        ordinality: bool,
    ) -> Result<Hir, PlanError> {
        let functions = vec![self.record_set_call(function, args, record)?];
        let mut types = functions[0].2.clone();
        if ordinality {
            types.push(ColumnType { nullable: false, ..ColumnType::nullable(ScalarType::Int8) });
        }
        let input = Box::new(Hir::unit());
        Ok(Hir { node: HirNode::TableFunction { input, functions, ordinality, names: Names::default() }, types })
    }

    pub(super) fn record_set_call(
        &mut self,
        function: &str,
        args: Vec<Typed>,
        record: &ScalarType,
    ) -> Result<HirFunctionCall, PlanError> {
        let given: Vec<ScalarType> = args.iter().map(|arg| arg.scalar().clone()).collect();
        let found = registry::resolve_table_function(function, &given)
            .map_err(|error| self.named_types(error, &args.iter().collect::<Vec<_>>()))?;
        let args = self.convert_args(args, &found.arg_casts, &found.conversions)?;
        Ok((found.function, args, vec![ColumnType::nullable(record.clone())]))
    }

    pub(super) fn record_call(
        &mut self,
        function: &str,
        args: Vec<Typed>,
        record: &ScalarType,
    ) -> Result<Typed, PlanError> {
        let mut call = self.call_named(function, args, None)?;
        if let HirExpr::Call { result, .. } = &mut call.expr {
            *result = record.clone();
        }
        call.column_type.scalar = record.clone();
        Ok(call)
    }

    /// Such a function among expressions: a record for a value, or a set of them.
    pub(super) fn record_value(
        &mut self,
        function: &str,
        exprs: &[&Expr],
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        if !populates(function) {
            return Err(undetermined(function));
        }
        let (args, columns) = self.record_arguments(function, exprs)?;
        if columns.is_empty() {
            return Err(undetermined(function));
        }
        let base = args.first().map(Typed::scalar).filter(|base| base.composite().is_some());
        let record = base.cloned().unwrap_or_else(|| record_of(&columns));
        let made = if registry::is_table_function(function) {
            self.set_call(function, args, Some(&record), position)?
        } else {
            self.record_call(function, args, &record)?
        };
        if columns.iter().all(|(_, column_type)| column_type.modifier == -1) {
            return self.tested(made);
        }
        let (row, operand) = super::build::shared(made);
        let mut items = Vec::with_capacity(columns.len());
        for (index, (_, column_type)) in columns.iter().enumerate() {
            let field = self.field_at(row.clone(), index)?;
            items.push(self.cast(field, column_type, CastContext::Assignment)?.expr);
        }
        let made = HirExpr::Record(items, record.clone());
        self.tested(Typed::new(super::build::once(operand, made), record))
    }
}
