//! Functions in FROM: their rows, their columns' names, WITH ORDINALITY.

use super::call::function_name;
use super::from::aliased;
use super::named::{add_named, behind_named, named as named_argument};
use super::records::{columns_of, makes_records};
use super::scope::{Binding, Clause, Frame, FromItem, Source, Visible, fold};
use super::{Resolver, Typed};
use crate::catalog::Sequence;
use crate::error::PlanError;
use crate::hir::{Hir, HirExpr, HirNode};
use crate::names::Names;
use crate::parse::rows_from;
use crate::scalar::registry;
use repr::{ColumnType, Datum, ScalarType};
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, ObjectName, TableAlias};

/// A function's rows, and the names and types of their columns.
pub(super) type FunctionRows = (Hir, Vec<(String, ColumnType)>);

impl Resolver<'_> {
    /// A function in FROM: set-returning, or one row.
    pub(super) fn function_item(
        &mut self,
        name: &ObjectName,
        written: &[&FunctionArg],
        ordinality: bool,
        alias: Option<&TableAlias>,
    ) -> Result<FromItem, PlanError> {
        if let Some(functions) = rows_from::functions(name, written) {
            return self.rows_from(&functions?, ordinality, alias);
        }
        if let Some(called) = self.routines_called(name)
            && let Some(item) = self.routine_item(&called, written, ordinality, alias)?
        {
            return Ok(item);
        }
        let (function, ident) = function_name(name, self.scope())?;
        let position = self.at(ident.span);
        let mut exprs: Vec<&Expr> = Vec::with_capacity(written.len());
        let mut named = Vec::new();
        for arg in written {
            if let Some(found) = named_argument(arg) {
                named.push(found);
                continue;
            }
            match arg {
                FunctionArg::Unnamed(_) if !named.is_empty() => return Err(behind_named().at(position)),
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => exprs.push(expr),
                FunctionArg::Unnamed(_) => {
                    return Err(PlanError::new("42601", "syntax error at or near \"*\"").at(position));
                }
                FunctionArg::Named { .. } | FunctionArg::ExprNamed { .. } => {
                    return Err(PlanError::new("42601", "syntax error at or near \"=>\""));
                }
            }
        }
        add_named(&function, &mut exprs, &named).map_err(|error| error.at(position))?;
        let (hir, columns) = self
            .lateral(|resolver| {
                let frame = Frame::default().clause(Clause::FromFunction);
                resolver.with_frame(frame, |resolver| resolver.function_rows(&function, &exprs, ordinality, alias))
            })
            .map_err(|error| error.at(position))?
            .0;
        let alone = columns.len() == 1 + usize::from(ordinality);
        let named = alias.map_or_else(|| function.clone(), |alias| fold(&alias.name));
        // json_array_elements and its like name their one result; others' is called as the function is.
        let is_scalar = columns.len() == 1 && columns[0].0 == "value";
        let columns: Vec<Visible> = columns
            .into_iter()
            .enumerate()
            .map(|(index, (name, column_type))| Visible {
                name: if alone && index == 0 && name != "value" { named.clone() } else { name },
                index,
                column_type,
                origin: None,
            })
            .collect();
        let binding = Binding { is_scalar, source: Source::Function, ..Binding::of(function, columns) };
        Ok(self.from_item(hir, aliased(binding, alias)?))
    }

    /// A sequence as a relation.
    pub(super) fn sequence_row(&mut self, sequence: &Sequence) -> Result<(Hir, Vec<Visible>), PlanError> {
        let found = registry::resolve_table_function("pg_sequence_row", &[ScalarType::Regclass])?;
        let id = Typed::literal(Datum::Oid(sequence.id.0), ScalarType::Regclass);
        let args = self.convert_args(vec![id], &found.arg_casts, &found.conversions)?;
        let columns: Vec<Visible> = found
            .columns
            .iter()
            .enumerate()
            .map(|(index, (name, scalar))| Visible {
                name: name.clone(),
                index,
                column_type: ColumnType::nullable(scalar.clone()),
                origin: None,
            })
            .collect();
        let types: Vec<ColumnType> = columns.iter().map(|column| column.column_type.clone()).collect();
        let functions = vec![(found.function, args, types.clone())];
        let node = HirNode::TableFunction {
            input: Box::new(Hir::unit()),
            functions,
            ordinality: false,
            names: Names::default(),
        };
        Ok((Hir { node, types }, columns))
    }

    fn function_rows(
        &mut self,
        function: &str,
        exprs: &[&Expr],
        ordinality: bool,
        alias: Option<&TableAlias>,
    ) -> Result<FunctionRows, PlanError> {
        if makes_records(function) {
            let declared = self.column_definitions(alias)?;
            return self.record_rows(function, exprs, ordinality, declared);
        }
        let args = exprs.iter().map(|expr| self.expr(expr)).collect::<Result<Vec<_>, _>>()?;
        let types: Vec<ScalarType> = args.iter().map(|arg| arg.scalar().clone()).collect();
        let (mut hir, mut columns);
        if registry::is_table_function(function) {
            (hir, columns) = self.table_function_rows(function, (args, &types), ordinality, alias)?;
            if ordinality {
                hir.types.push(ColumnType { nullable: false, ..ColumnType::nullable(ScalarType::Int8) });
            }
            (hir, columns) = self.with_attributes((hir, columns), ordinality)?;
        } else {
            (hir, columns) = self.called_row(function, args, alias)?;
            if ordinality {
                let one = Typed::literal(repr::Datum::Int8(1), ScalarType::Int8);
                hir = hir.map(vec![one]);
            }
        }
        if ordinality {
            columns.push((
                "ordinality".to_owned(),
                ColumnType { nullable: false, ..ColumnType::nullable(ScalarType::Int8) },
            ));
        }
        Ok((hir, columns))
    }

    /// The rows of a set-returning function.
    fn table_function_rows(
        &mut self,
        function: &str,
        (args, types): (Vec<Typed>, &[ScalarType]),
        ordinality: bool,
        alias: Option<&TableAlias>,
    ) -> Result<FunctionRows, PlanError> {
        let found = registry::resolve_table_function(function, types)
            .map_err(|error| self.named_types(error, &args.iter().collect::<Vec<_>>()))?;
        let args = self.convert_args(args, &found.arg_casts, &found.conversions)?;
        let mut columns: Vec<(String, ColumnType)> =
            found.columns.iter().map(|(name, scalar)| (name.clone(), ColumnType::nullable(scalar.clone()))).collect();
        if let Some(declared) = self.column_definitions(alias)? {
            columns = declared;
        }
        let types: Vec<ColumnType> = columns.iter().map(|(_, column_type)| column_type.clone()).collect();
        let hir = Hir {
            node: HirNode::TableFunction {
                input: Box::new(Hir::unit()),
                functions: vec![(found.function, args, types.clone())],
                ordinality,
                names: Names::default(),
            },
            types,
        };
        Ok((hir, columns))
    }

    /// Columns of composite types as their attributes.
    fn with_attributes(&mut self, (hir, columns): FunctionRows, ordinality: bool) -> Result<FunctionRows, PlanError> {
        if !columns.iter().any(|(_, own)| own.scalar.composite().is_some()) {
            return Ok((hir, columns));
        }
        let (mut values, mut expanded) = (Vec::new(), Vec::new());
        for (place, (name, own)) in columns.into_iter().enumerate() {
            let column = Typed::column(place, own.clone());
            let Some(record) = own.scalar.composite() else {
                values.push(column);
                expanded.push((name, own));
                continue;
            };
            for (index, attribute) in columns_of(record).into_iter().enumerate() {
                values.push(self.field_at(column.clone(), index)?);
                expanded.push(attribute);
            }
        }
        if ordinality {
            let last = hir.types.len() - 1;
            values.push(Typed::column(last, hir.types[last].clone()));
        }
        let (mapped, places) = hir.with_columns(values);
        Ok((mapped.project(places), expanded))
    }

    /// One row: what another function returns, or the fields of that.
    fn called_row(
        &mut self,
        function: &str,
        args: Vec<Typed>,
        alias: Option<&TableAlias>,
    ) -> Result<FunctionRows, PlanError> {
        let mut call = self.call_named(function, args, None)?;
        if let Some(declared) = self.column_definitions(alias)? {
            let fields: Vec<(String, ScalarType)> =
                declared.iter().map(|(name, column_type)| (name.clone(), column_type.scalar.clone())).collect();
            let scalar = ScalarType::Record(fields.into());
            if let HirExpr::Call { result, .. } = &mut call.expr {
                *result = scalar.clone();
            }
            call.column_type.scalar = scalar;
        }
        match call.scalar().clone() {
            ScalarType::Record(fields) if !fields.is_empty() => {
                let (input, places) = Hir::unit().with_columns(vec![call.clone()]);
                let row = Typed::column(places[0], call.column_type.clone());
                let mut values = Vec::with_capacity(fields.len());
                for index in 0..fields.len() {
                    values.push(self.field_at(row.clone(), index)?);
                }
                let (mapped, places) = input.with_columns(values);
                let columns =
                    fields.iter().map(|(name, scalar)| (name.clone(), ColumnType::nullable(scalar.clone()))).collect();
                Ok((mapped.project(places), columns))
            }
            _ => {
                let columns = vec![(function.to_owned(), call.column_type.clone())];
                Ok((Hir::unit().map(vec![call]), columns))
            }
        }
    }

    /// `AS t(a int, b text)`: the columns of a function that returns records.
    pub(super) fn column_definitions(
        &self,
        alias: Option<&TableAlias>,
    ) -> Result<Option<Vec<(String, ColumnType)>>, PlanError> {
        let Some(alias) = alias else { return Ok(None) };
        if alias.columns.is_empty() || alias.columns.iter().any(|column| column.data_type.is_none()) {
            return Ok(None);
        }
        let mut columns = Vec::with_capacity(alias.columns.len());
        for column in &alias.columns {
            if let Some(written) = &column.data_type {
                let column_type = self.written_type(written)?;
                if column_type.domain != 0 {
                    return Err(PlanError::unsupported("a column of a domain in a list of a function's columns")
                        .hint("Use the type below the domain, and cast the column."));
                }
                columns.push((fold(&column.name), column_type));
            }
        }
        Ok(Some(columns))
    }

    /// `unnest(a, b, …)`: arrays in step.
    pub(super) fn unnest_item(
        &mut self,
        arrays: &[Expr],
        ordinality: bool,
        alias: Option<&TableAlias>,
    ) -> Result<FromItem, PlanError> {
        let (functions, _) = self.lateral(|resolver| {
            let frame = Frame::default().clause(Clause::FromFunction);
            resolver.with_frame(frame, |resolver| {
                let mut functions = Vec::with_capacity(arrays.len());
                for array in arrays {
                    let position = resolver.position_of(array);
                    let arg = resolver.expr(array)?;
                    let found = registry::resolve_table_function("unnest", &[arg.scalar().clone()])
                        .map_err(|error| resolver.named_types(error, &[&arg]).at(position))?;
                    let args = resolver.convert_args(vec![arg], &found.arg_casts, &found.conversions)?;
                    functions.push((found.function, args, found.columns));
                }
                Ok(functions)
            })
        })?;
        let named = alias.map_or_else(|| "unnest".to_owned(), |alias| fold(&alias.name));
        let (mut columns, mut calls) = (Vec::new(), Vec::new());
        for (function, args, outputs) in functions {
            let own: Vec<ColumnType> = outputs.iter().map(|(_, scalar)| ColumnType::nullable(scalar.clone())).collect();
            for ((name, _), column_type) in outputs.into_iter().zip(&own) {
                let name = if own.len() > 1 {
                    name
                } else if arrays.len() == 1 {
                    named.clone()
                } else {
                    "unnest".to_owned()
                };
                columns.push((name, column_type.clone()));
            }
            calls.push((function, args, own));
        }
        let row_type = match columns.as_slice() {
            [(_, own)] if !ordinality => own.scalar.composite().cloned(),
            _ => None,
        };
        let mut types: Vec<ColumnType> = columns.iter().map(|(_, own)| own.clone()).collect();
        let count = ColumnType { nullable: false, ..ColumnType::nullable(ScalarType::Int8) };
        types.extend(ordinality.then(|| count.clone()));
        let (input, names) = (Box::new(Hir::unit()), Names::default());
        let hir = Hir { node: HirNode::TableFunction { input, functions: calls, ordinality, names }, types };
        let (hir, mut columns) = self.with_attributes((hir, columns), ordinality)?;
        columns.extend(ordinality.then(|| ("ordinality".to_owned(), count)));
        let visible = |(index, (name, column_type))| Visible { name, index, column_type, origin: None };
        let columns: Vec<Visible> = columns.into_iter().enumerate().map(visible).collect();
        let binding = Binding { row_type, ..Binding::of("unnest", columns) };
        Ok(self.from_item(hir, aliased(binding, alias)?))
    }
}
