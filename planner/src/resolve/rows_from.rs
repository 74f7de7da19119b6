//! `ROWS FROM (f(…), g(…)) [WITH ORDINALITY]`: functions in step, the shorter ones padded with NULLs.
//!
//! A function that gives one value is one of one row here.

use super::from::aliased;
use super::records::{columns_of, makes_records};
use super::scope::{Binding, Clause, Frame, FromItem, Source, Visible, fold};
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::{Hir, HirFunctionCall, HirNode};
use crate::names::Names;
use crate::parse::rows_from::RowsFunction;
use crate::scalar::cast::CastContext;
use crate::scalar::registry;
use crate::scalar::table_func::ONE_ROW;
use repr::{ColumnType, ScalarType};
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, TableAlias};

/// FunctionColumns by their names.
type FunctionColumns = Vec<(String, ColumnType)>;

/// A function, and the columns that it gives: those of its rows, or the fields of its one.
struct FunctionInStep {
    call: HirFunctionCall,
    columns: FunctionColumns,
    is_record: bool,
}

impl Resolver<'_> {
    pub(super) fn rows_from(
        &mut self,
        functions: &[RowsFunction<'_>],
        ordinality: bool,
        alias: Option<&TableAlias>,
    ) -> Result<FromItem, PlanError> {
        if functions.is_empty() {
            return Err(PlanError::new("42601", "syntax error at or near \")\""));
        }
        refuse_definitions(functions, ordinality, alias)?;
        // The one function's columns may stand in the alias, too.
        let outer = alias.filter(|alias| functions.len() == 1 && has_types(alias));
        let mut steps = Vec::with_capacity(functions.len());
        let mut first = None;
        for function in functions {
            let (name, ident) = super::call::function_name(&function.call.name, self.scope())?;
            let position = self.at(ident.span);
            let declared = function.columns.as_ref().or(outer);
            let (found, _) = self
                .lateral(|resolver| {
                    let frame = Frame::default().clause(Clause::FromFunction);
                    resolver.with_frame(frame, |resolver| resolver.steps(&name, function, declared))
                })
                .map_err(|error| error.at(position))?;
            steps.extend(found);
            first.get_or_insert(name);
        }
        let name = first.unwrap_or_default();
        let (hir, columns) = self.in_step(steps, ordinality)?;
        let alone = columns.len() == 1 + usize::from(ordinality) && functions.len() == 1;
        let named = alias.map(|alias| fold(&alias.name)).filter(|_| alone);
        let columns = columns.into_iter().enumerate().map(|(index, (own, column_type))| {
            let name = named.clone().filter(|_| index == 0 && own != "value").unwrap_or(own);
            Visible { name, index, column_type, origin: None }
        });
        let binding = Binding { source: Source::Function, ..Binding::of(name, columns.collect()) };
        Ok(self.from_item(hir, aliased(binding, alias)?))
    }

    /// One function; `unnest` of several arrays is several.
    fn steps(
        &mut self,
        name: &str,
        function: &RowsFunction<'_>,
        declared: Option<&TableAlias>,
    ) -> Result<Vec<FunctionInStep>, PlanError> {
        let exprs = arguments(function)?;
        if name == "unnest" && exprs.len() > 1 {
            return exprs.into_iter().map(|array| self.step(name, &[array], declared)).collect();
        }
        Ok(vec![self.step(name, &exprs, declared)?])
    }

    fn step(
        &mut self,
        name: &str,
        exprs: &[&Expr],
        declared: Option<&TableAlias>,
    ) -> Result<FunctionInStep, PlanError> {
        let declared = self.column_definitions(declared)?;
        if makes_records(name) {
            let (columns, args) = self.record_columns(name, exprs, declared)?;
            let record = super::records::record_of(&columns);
            let call = match registry::is_table_function(name) {
                true => self.record_set_call(name, args, &record)?,
                false => one_row(self.record_call(name, args, &record)?),
            };
            return Ok(FunctionInStep { call, columns, is_record: true });
        }
        let args = exprs.iter().map(|expr| self.expr(expr)).collect::<Result<Vec<_>, _>>()?;
        if registry::is_table_function(name) {
            let given: Vec<ScalarType> = args.iter().map(|arg| arg.scalar().clone()).collect();
            let found = registry::resolve_table_function(name, &given)
                .map_err(|error| self.named_types(error, &args.iter().collect::<Vec<_>>()))?;
            let args = self.convert_args(args, &found.arg_casts, &found.conversions)?;
            if declared.is_some() {
                return Err(only_records());
            }
            let columns: FunctionColumns =
                found.columns.iter().map(|(name, own)| (name.clone(), ColumnType::nullable(own.clone()))).collect();
            let types = columns.iter().map(|(_, own)| own.clone()).collect();
            if let [(_, own)] = columns.as_slice()
                && let Some(record) = own.scalar.composite()
            {
                let call = (found.function, args, types);
                return Ok(FunctionInStep { call, columns: columns_of(record), is_record: true });
            }
            return Ok(FunctionInStep { call: (found.function, args, types), columns, is_record: false });
        }
        let call = self.call_named(name, args, None)?;
        let (columns, is_record) = match call.scalar() {
            ScalarType::Record(fields) if !fields.is_empty() => {
                (fields.iter().map(|(name, own)| (name.clone(), ColumnType::nullable(own.clone()))).collect(), true)
            }
            _ => (vec![(name.to_owned(), ColumnType { nullable: true, ..call.column_type.clone() })], false),
        };
        if declared.is_some() {
            return Err(only_records());
        }
        Ok(FunctionInStep { call: one_row(call), columns, is_record })
    }

    /// The functions beside one another, records as their fields.
    fn in_step(&mut self, steps: Vec<FunctionInStep>, ordinality: bool) -> Result<(Hir, FunctionColumns), PlanError> {
        let mut types: Vec<ColumnType> = Vec::new();
        let (mut values, mut columns, mut calls) =
            (Vec::new(), FunctionColumns::new(), Vec::with_capacity(steps.len()));
        for FunctionInStep { call, columns: own, is_record } in steps {
            let place = types.len();
            for (index, (_, column_type)) in own.iter().enumerate() {
                values.push(match is_record {
                    false => Typed::column(place + index, column_type.clone()),
                    true => {
                        let field = self.field_at(Typed::column(place, call.2[0].clone()), index)?;
                        self.cast(field, column_type, CastContext::Assignment)?
                    }
                });
            }
            types.extend(call.2.iter().cloned());
            columns.extend(own);
            calls.push(call);
        }
        if ordinality {
            let count = ColumnType { nullable: false, ..ColumnType::nullable(ScalarType::Int8) };
            values.push(Typed::column(types.len(), count.clone()));
            columns.push(("ordinality".to_owned(), count.clone()));
            types.push(count);
        }
        let (input, names) = (Box::new(Hir::unit()), Names::default());
        let hir = Hir { node: HirNode::TableFunction { input, functions: calls, ordinality, names }, types };
        let (hir, places) = hir.with_columns(values);
        Ok((hir.project(places), columns))
    }
}

fn arguments<'e>(function: &RowsFunction<'e>) -> Result<Vec<&'e Expr>, PlanError> {
    let FunctionArguments::List(list) = &function.call.args else { return Ok(Vec::new()) };
    let argument = |argument: &'e FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(expr),
        FunctionArg::Unnamed(_) => Err(PlanError::new("42601", "syntax error at or near \"*\"")),
        FunctionArg::Named { .. } | FunctionArg::ExprNamed { .. } => {
            Err(PlanError::unsupported("an argument by name in ROWS FROM").hint("Write the arguments in their order."))
        }
    };
    list.args.iter().map(argument).collect()
}

/// What one value is as a function of rows.
fn one_row(call: Typed) -> HirFunctionCall {
    let column_type = ColumnType { nullable: true, ..call.column_type };
    (&ONE_ROW, vec![call.expr], vec![column_type])
}

fn has_types(alias: &TableAlias) -> bool {
    alias.columns.iter().any(|column| column.data_type.is_some())
}

/// 42601 for a list of columns behind ROWS FROM that is not clear.
fn refuse_definitions(
    functions: &[RowsFunction<'_>],
    ordinality: bool,
    alias: Option<&TableAlias>,
) -> Result<(), PlanError> {
    if !alias.is_some_and(has_types) {
        return Ok(());
    }
    if functions.len() > 1 {
        let message = "ROWS FROM() with multiple functions cannot have a column definition list";
        return Err(PlanError::new("42601", message)
            .hint("Put a separate column definition list for each function inside ROWS FROM()."));
    }
    if ordinality {
        return Err(PlanError::new("42601", "WITH ORDINALITY cannot be used with a column definition list")
            .hint("Put the column definition list inside ROWS FROM()."));
    }
    Ok(())
}

fn only_records() -> PlanError {
    PlanError::new("42601", "a column definition list is only allowed for functions returning \"record\"")
}
