//! Calls of functions and procedures that somebody created: which one is meant, what it is given, and what stands in its place.
//!
//! ```text
//! f(a, 1) ─▶ candidates by name ─▶ one by its arguments ─┬─ one SELECT ─▶ its text, in the place of the call
//!                                                         └─ all else  ─▶ a call, which the session carries out
//! ```

use super::call::WrittenArguments;
use super::from::aliased;
use super::from_function::FunctionRows;
use super::named::named as named_argument;
use super::scope::{Binding, Clause, Frame, FromItem, Source, Visible, fold};
use super::statement::Resolved;
use super::{Resolver, Typed};
use crate::catalog::{ParameterMode, Privilege, ResultKind, Routine};
use crate::error::PlanError;
use crate::hir::walk::Visitor;
use crate::hir::{Hir, HirExpr, HirNode, HirQuery, WriteHir};
use crate::names::Names;
use crate::parse::type_definition::Call;
use crate::scalar::Volatility;
use crate::scalar::cast::CastContext;
use crate::scalar::func::routine::{ROWS, calling, is_call};
use crate::scalar::registry::{self, RoutineShape};
use repr::{ColumnType, Datum, ScalarType};
use sqlparser::ast::{
    DuplicateTreatment, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, ObjectName,
    TableAlias,
};
use std::sync::Arc;

/// A name in a call, and what it may mean.
pub(super) struct Called<'a> {
    pub(super) name: String,
    schema: Option<String>,
    routines: Vec<&'a Arc<Routine>>,
    pub(super) position: Option<u32>,
}

/// What a call is given.
#[derive(Default)]
struct CallArguments {
    positional: Vec<Typed>,
    named: Vec<(String, Typed)>,
    /// The last is the array that VARIADIC takes.
    variadic: bool,
}

/// A call whose arguments are what the routine takes, in order.
pub(super) struct Settled<'a> {
    pub(super) routine: &'a Arc<Routine>,
    pub(super) args: Vec<Typed>,
}

impl<'q> WrittenArguments<'q> {
    /// What a call of a function says that only aggregates have; its arguments are read elsewhere.
    pub(super) fn of_terms(function: &'q Function) -> Self {
        let mut written = WrittenArguments {
            args: Vec::new(),
            star: false,
            distinct: false,
            order_by: &[],
            whole_rows: Vec::new(),
            variadic: false,
        };
        if let FunctionArguments::List(list) = &function.args {
            written.distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
            for clause in &list.clauses {
                if let FunctionArgumentClause::OrderBy(items) = clause {
                    written.order_by = items;
                }
            }
        }
        written
    }
}

impl Called<'_> {
    fn dotted(&self) -> String {
        let schema = self.schema.as_ref().map(|schema| format!("{schema}."));
        format!("{}{}", schema.unwrap_or_default(), self.name)
    }

    /// Whether PostgreSQL has a function of that bare name, too.
    fn is_built_in(&self) -> bool {
        self.schema.is_none() && registry::is_known(&self.name)
    }
}

impl<'a> Resolver<'a> {
    /// What a name in a call may mean of what was created.
    pub(super) fn routines_called(&self, name: &ObjectName) -> Option<Called<'a>> {
        if self.catalog.routines.is_empty() {
            return None;
        }
        let parts: Vec<_> = name.0.iter().map(|part| part.as_ident()).collect::<Option<_>>()?;
        let (database, schema, ident) = match parts.as_slice() {
            [ident] => (None, None, *ident),
            [schema, ident] => (None, Some(fold(schema)), *ident),
            [database, schema, ident] => {
                self.scope().path.require_own(Some(&fold(database)), &fold(schema), &fold(ident)).ok()?;
                (Some(fold(database)), Some(fold(schema)), *ident)
            }
            _ => return None,
        };
        let name = fold(ident);
        let catalog = self.catalog;
        let scope = crate::catalog::Scope { catalog, path: &self.session.path };
        let before = (database.as_deref(), schema.as_deref());
        let found: Vec<u32> = scope.routines(before, &name).into_iter().map(|found| found.id).collect();
        let routines: Vec<&'a Arc<Routine>> = found.iter().filter_map(|id| catalog.routines.get(id)).collect();
        let position = self.at(ident.span);
        (!routines.is_empty()).then_some(Called { name, schema, routines, position })
    }

    /// A call, whoever has made what is called.
    pub(super) fn function(&mut self, function: &Function) -> Result<Typed, PlanError> {
        if let Some((scalar, name, position)) = self.range_called(&function.name) {
            return self.range_call(function, &scalar, &name).map_err(|error| error.at(position));
        }
        if let Some(called) = self.routines_called(&function.name)
            && let Some(found) = self.routine_function(function, &called)?
        {
            return Ok(found);
        }
        self.built_in(function)
    }

    /// A call among expressions; nothing where PostgreSQL's function of that name is meant.
    pub(super) fn routine_function(
        &mut self,
        function: &Function,
        called: &Called<'a>,
    ) -> Result<Option<Typed>, PlanError> {
        if called.is_built_in() {
            let before = self.frames.last().map(|frame| (frame.calls.len(), frame.references.len()));
            match self.built_in(function) {
                Ok(found) => return Ok(Some(found)),
                Err(error) if error.code == "42883" => {
                    if let (Some(frame), Some((calls, references))) = (self.frames.last_mut(), before) {
                        frame.calls.truncate(calls);
                        frame.references.truncate(references);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        let list: &[FunctionArg] = match &function.args {
            FunctionArguments::List(list) => &list.args,
            FunctionArguments::None | FunctionArguments::Subquery(_) => &[],
        };
        if function.over.is_some() {
            let message =
                format!("OVER specified, but {} is not a window function nor an aggregate function", called.dotted());
            return Err(PlanError::new("42809", message).at(called.position));
        }
        let written = WrittenArguments::of_terms(function);
        super::call::refuse_of_aggregates(function, &called.name, &written)?;
        let settled = self.settled(called, &list.iter().collect::<Vec<_>>(), false)?;
        self.routine_value(settled).map(Some).map_err(|error| error.at(called.position))
    }

    fn settled(&mut self, called: &Called<'a>, list: &[&FunctionArg], is_call: bool) -> Result<Settled<'a>, PlanError> {
        let given = self.given_arguments(list).map_err(|error| error.at(called.position))?;
        let settled = self.chosen(called, given, is_call).map_err(|error| error.at(called.position))?;
        self.needs.add(settled.routine.id, Privilege::Execute);
        Ok(settled)
    }

    /// A call of just that function, as an operator makes it.
    pub(super) fn call_of(
        &mut self,
        routine: &'a Arc<Routine>,
        args: Vec<Typed>,
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        let called = Called { name: routine.name.clone(), schema: None, routines: vec![routine], position };
        let given = CallArguments { positional: args, ..CallArguments::default() };
        let settled = self.chosen(&called, given, false)?;
        self.routine_value(settled)
    }

    fn given_arguments(&mut self, list: &[&FunctionArg]) -> Result<CallArguments, PlanError> {
        let mut given = CallArguments::default();
        for arg in list {
            if let Some((name, value)) = named_argument(arg) {
                if given.named.iter().any(|(known, _)| *known == name) {
                    return Err(PlanError::new("42601", format!("argument name \"{name}\" used more than once")));
                }
                let value = self.expr(value)?;
                given.named.push((name, value));
                continue;
            }
            match arg {
                FunctionArg::Unnamed(_) if !given.named.is_empty() => return Err(super::named::behind_named()),
                FunctionArg::Unnamed(FunctionArgExpr::Expr(sqlparser::ast::Expr::Prefixed { prefix, value }))
                    if prefix.value == crate::parse::dialect::VARIADIC =>
                {
                    given.positional.push(self.expr(value)?);
                    given.variadic = true;
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => given.positional.push(self.expr(expr)?),
                FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(table)) => {
                    given.positional.push(self.starred_row(table)?);
                }
                FunctionArg::Unnamed(_) | FunctionArg::Named { .. } | FunctionArg::ExprNamed { .. } => {
                    return Err(PlanError::new("42601", "syntax error at or near \"*\""));
                }
            }
        }
        Ok(given)
    }

    /// The one that is meant. `is_call`: by CALL, which gives parameters that come out a place.
    fn chosen(&mut self, called: &Called<'a>, given: CallArguments, is_call: bool) -> Result<Settled<'a>, PlanError> {
        // Drivers send what a function gives back as parameters of no value, which PostgreSQL passes over.
        let is_value = |typed: &Typed| is_call || !matches!(typed.expr, HirExpr::Param(_, ScalarType::Void));
        let positional: Vec<Typed> = given.positional.into_iter().filter(is_value).collect();
        let given = CallArguments { positional, ..given };
        let mut shapes: Vec<(&'a Arc<Routine>, RoutineShape, Vec<Option<usize>>)> = Vec::new();
        for routine in &called.routines {
            if let Some((shape, places)) = self.shape(routine, &given, is_call) {
                shapes.push((routine, shape, places));
            }
        }
        let all: Vec<&Typed> = given.positional.iter().chain(given.named.iter().map(|(_, value)| value)).collect();
        let types_of = |routine: &Routine, places: &[Option<usize>]| -> Vec<ScalarType> {
            given_for(routine, places, &all).iter().map(|value| value.scalar().clone()).collect()
        };
        let listed: Vec<(&RoutineShape, Vec<ScalarType>)> =
            shapes.iter().map(|(routine, shape, places)| (shape, types_of(routine, places))).collect();
        let found = registry::choose_routine(&listed, given.variadic);
        let found = match found {
            Ok(found) => found,
            Err(is_ambiguous) => return Err(self.no_routine(called, &given, is_ambiguous)),
        };
        let (routine, _, places) = &shapes[found.index];
        let wanted = given_for(routine, places, &all);
        let cast = self.convert_args(wanted, &found.arg_casts, &found.conversions)?;
        let mut cast = cast.into_iter().zip(&found.arg_casts);
        let mut values: Vec<Option<Typed>> = Vec::with_capacity(places.len());
        for place in places {
            let value = place.and_then(|_| cast.next());
            values.push(value.map(|(expr, scalar)| Typed::new(expr, scalar.clone())));
        }
        let args = self.arguments_of(routine, values, given.variadic, is_call)?;
        let written: Vec<String> = given.positional.iter().map(|value| registry::type_name(value.scalar())).collect();
        let signature = match given.named.is_empty() {
            true => format!("{}({})", called.dotted(), written.join(", ")),
            false => spaced(&routine.signature(self.scope())),
        };
        require_kind(routine, is_call, &signature)?;
        Ok(Settled { routine, args })
    }

    /// What the routine takes, if it may be meant: for each of its places which argument is given for it.
    fn shape(
        &self,
        routine: &Routine,
        given: &CallArguments,
        is_call: bool,
    ) -> Option<(RoutineShape, Vec<Option<usize>>)> {
        let takes = |mode: ParameterMode| mode.is_given() || is_call && mode == ParameterMode::Out;
        let taken: Vec<_> = routine.parameters.iter().filter(|parameter| takes(parameter.mode)).collect();
        let types: Vec<ScalarType> =
            taken.iter().map(|parameter| self.catalog.current_type(&parameter.column_type).scalar).collect();
        let variadic = taken.last().is_some_and(|last| last.mode == ParameterMode::Variadic);
        let positional = given.positional.len();
        if given.named.is_empty() && variadic {
            if given.variadic {
                let places = (0..taken.len()).map(Some).collect();
                return (positional == taken.len()).then_some((RoutineShape { types, variadic: true }, places));
            }
            let places = (0..positional).map(Some).collect();
            return (positional >= taken.len()).then_some((RoutineShape { types, variadic: true }, places));
        }
        if positional > taken.len() || given.variadic && given.named.is_empty() {
            return None;
        }
        let mut places: Vec<Option<usize>> = (0..positional).map(Some).collect();
        places.resize(taken.len(), None);
        for (number, (name, _)) in given.named.iter().enumerate() {
            let at = taken.iter().position(|parameter| parameter.name.as_deref() == Some(name))?;
            if places[at].is_some() {
                return None;
            }
            places[at] = Some(positional + number);
        }
        let is_there = |(place, parameter): (&Option<usize>, &&crate::catalog::Parameter)| {
            place.is_some() || parameter.default.is_some()
        };
        if !places.iter().zip(&taken).all(is_there) {
            return None;
        }
        let types = types.into_iter().zip(&places).filter(|(_, place)| place.is_some()).map(|(scalar, _)| scalar);
        Some((RoutineShape { types: types.collect(), variadic: false }, places))
    }

    fn no_routine(&self, called: &Called<'_>, given: &CallArguments, is_ambiguous: bool) -> PlanError {
        let positional = given.positional.iter().map(|value| registry::type_name(value.scalar()));
        let named =
            given.named.iter().map(|(name, value)| format!("{name} => {}", registry::type_name(value.scalar())));
        let types = positional.chain(named).collect::<Vec<_>>().join(", ");
        let noun = if called.routines.iter().all(|routine| routine.is_procedure) { "procedure" } else { "function" };
        let call = format!("{noun} {}({types})", called.dotted());
        let all: Vec<&Typed> = given.positional.iter().collect();
        self.named_types(
            match is_ambiguous {
                true => PlanError::new("42725", format!("{call} is not unique")).hint(format!(
                    "Could not choose a best candidate {noun}. You might need to add explicit type casts."
                )),
                false => PlanError::new("42883", format!("{call} does not exist")).hint(format!(
                    "No {noun} matches the given name and argument types. You might need to add explicit type casts."
                )),
            },
            &all,
        )
    }

    /// The arguments in the routine's order: what is left out by its default, the rest of a variadic one as an array.
    fn arguments_of(
        &mut self,
        routine: &Routine,
        values: Vec<Option<Typed>>,
        as_array: bool,
        is_call: bool,
    ) -> Result<Vec<Typed>, PlanError> {
        let takes = |mode: ParameterMode| mode.is_given() || is_call && mode == ParameterMode::Out;
        let taken: Vec<_> = routine.parameters.iter().filter(|parameter| takes(parameter.mode)).collect();
        let mut values = values.into_iter();
        let mut args = Vec::new();
        for parameter in taken {
            let to = self.catalog.current_type(&parameter.column_type);
            if parameter.mode == ParameterMode::Variadic && !as_array {
                let rest: Vec<HirExpr> = values.by_ref().flatten().map(|value| value.expr).collect();
                if !rest.is_empty() {
                    let element = to.scalar.element().unwrap_or(ScalarType::Text);
                    args.push(Typed::of(HirExpr::Array(rest, element), ColumnType { domain: 0, ..to }));
                    continue;
                }
            }
            let value = match (values.next().flatten(), &parameter.default) {
                (Some(value), _) => value,
                (None, Some(text)) => self.default_argument(text, &to)?,
                (None, None) => Typed::literal(Datum::Null, to.scalar.clone()),
            };
            if parameter.mode == ParameterMode::Out {
                continue;
            }
            let is_same = to.domain == 0 || value.column_type.domain == to.domain;
            args.push(if is_same { value } else { self.domain_value(value, to.domain)? });
        }
        Ok(args)
    }

    fn default_argument(&mut self, text: &str, to: &ColumnType) -> Result<Typed, PlanError> {
        let plain = ColumnType { domain: 0, modifier: -1, ..to.clone() };
        let frame = Frame::default().clause(Clause::Other);
        self.kept_expression(text, frame, |resolver, typed| resolver.cast(typed, &plain, CastContext::Assignment))
    }

    /// What a call gives among expressions.
    fn routine_value(&mut self, settled: Settled<'a>) -> Result<Typed, PlanError> {
        let Settled { routine, args } = settled;
        self.require_immutable(routine)?;
        if let Some(value) = self.inlined_value(routine, &args)? {
            return Ok(value);
        }
        let result = self.result_type(routine, "called in context that cannot accept type record")?;
        self.refuse_kept()?;
        self.calls += 1;
        if routine.result.is_set {
            return self.routine_set(routine, args, &result);
        }
        let function = calling(routine.terms.strict, routine.terms.volatility());
        let args = with_oid(routine, args);
        let scalar = result.scalar.clone();
        Ok(Typed::of(HirExpr::Call { function, args, result: scalar }, ColumnType { modifier: -1, ..result }))
    }

    /// 0A000 where a statement calls functions in a place where the session cannot carry them out: beside its query's rows.
    pub(super) fn refuse_calls(&self, resolved: &Resolved) -> Result<(), PlanError> {
        if self.calls == 0 {
            return Ok(());
        }
        let word = match resolved {
            Resolved::Write(write) => match &**write {
                WriteHir::Insert(insert) if count_calls(&insert.source) == self.calls => return Ok(()),
                WriteHir::Insert(_) => "INSERT, beside its rows",
                WriteHir::Update(_) => "UPDATE",
                WriteHir::Delete(_) => "DELETE",
                WriteHir::Merge(_) => "MERGE",
            },
            Resolved::With(_) => "a statement that writes in WITH",
            Resolved::Described { .. } => "a write of pg_description",
            Resolved::CopyTo { what, .. } | Resolved::DeclareCursor { what, .. } | Resolved::Explain { what, .. } => {
                return self.refuse_calls(what);
            }
            Resolved::Query(query) if !query.locks.is_empty() => "a query that locks rows",
            Resolved::Query(_) | Resolved::CreateTableAs { .. } | Resolved::Call(_) => return Ok(()),
            Resolved::Subscribe { .. } => "SUBSCRIBE",
            Resolved::CopyFrom { .. } => "COPY",
            Resolved::Gdpr { .. } | Resolved::Other(_) => "this statement",
        };
        Err(PlanError::unsupported(format!("a function that is more than one SELECT in {word}"))
            .hint("Call it first, by SELECT or in a variable of PL/pgSQL, and give the statement what it returned."))
    }

    /// The type of a call's value; 0A000 if nobody says it.
    fn result_type(&self, routine: &Routine, why: &str) -> Result<ColumnType, PlanError> {
        match &routine.result.kind {
            ResultKind::Value(column_type) => Ok(self.catalog.current_type(column_type)),
            ResultKind::Void => Ok(ColumnType::nullable(ScalarType::Void)),
            ResultKind::Record => match routine.record(self.catalog) {
                Some(fields) => {
                    let fields: Vec<(String, ScalarType)> =
                        fields.into_iter().map(|(name, own)| (name, own.scalar)).collect();
                    Ok(ColumnType::nullable(ScalarType::Record(fields.into())))
                }
                None => Err(PlanError::new("0A000", format!("function returning record {why}"))
                    .hint("Call it in FROM, with a list of columns behind it.")),
            },
            ResultKind::Trigger | ResultKind::EventTrigger => {
                Err(PlanError::new("0A000", "trigger functions can only be called as triggers"))
            }
        }
    }

    /// 42P17 where values are kept and the function does not say that they stay what they are.
    fn require_immutable(&self, routine: &Routine) -> Result<(), PlanError> {
        let clause = self.frames.last().map_or(Clause::Other, |frame| frame.clause);
        let message = match clause {
            Clause::IndexPredicate => "functions in index predicate must be marked IMMUTABLE",
            Clause::IndexExpression => "functions in index expression must be marked IMMUTABLE",
            Clause::ColumnGenerated => "generation expression is not immutable",
            _ => return Ok(()),
        };
        let is_immutable = routine.terms.volatility() == Volatility::Immutable || self.as_shown;
        if is_immutable { Ok(()) } else { Err(PlanError::new("42P17", message)) }
    }

    /// 0A000 where a text is kept whose values must stay what they are.
    pub(super) fn refuse_kept(&self) -> Result<(), PlanError> {
        let clause = self.frames.last().map_or(Clause::Other, |frame| frame.clause);
        let is_kept = matches!(
            clause,
            Clause::CheckConstraint
                | Clause::IndexPredicate
                | Clause::IndexExpression
                | Clause::ColumnDefault
                | Clause::ColumnGenerated
                | Clause::Transform
                | Clause::CopyWhere
                | Clause::Policy
                | Clause::MergeWhen
                | Clause::ExecuteParameters
        );
        if !is_kept || self.as_shown {
            return Ok(());
        }
        let clause = clause.describe();
        Err(PlanError::unsupported(format!("a function that is more than one SELECT in {clause}"))
            .hint("Write it in LANGUAGE sql as one SELECT, IMMUTABLE where that is asked."))
    }

    /// A function that gives rows in a select list.
    fn routine_set(&mut self, routine: &Routine, args: Vec<Typed>, result: &ColumnType) -> Result<Typed, PlanError> {
        let columns = match &result.scalar {
            ScalarType::Record(fields) => {
                fields.iter().map(|(_, scalar)| ColumnType::nullable(scalar.clone())).collect()
            }
            _ => vec![result.clone()],
        };
        let args = with_oid(routine, args);
        self.set_of(&ROWS, args, columns, result.scalar.clone())
    }

    /// A function in FROM; nothing where PostgreSQL's of that name is meant.
    pub(super) fn routine_item(
        &mut self,
        called: &Called<'a>,
        written: &[&FunctionArg],
        ordinality: bool,
        alias: Option<&TableAlias>,
    ) -> Result<Option<FromItem>, PlanError> {
        if called.is_built_in() {
            return Ok(None);
        }
        let (rows, _) = self
            .lateral(|resolver| {
                let frame = Frame::default().clause(Clause::FromFunction);
                resolver.with_frame(frame, |resolver| {
                    let settled = resolver.settled(called, written, false)?;
                    resolver.routine_rows(settled, ordinality, alias)
                })
            })
            .map_err(|error| error.at(called.position))?;
        let (hir, columns) = rows;
        let alone = columns.len() == 1 + usize::from(ordinality);
        let named = alias.map(|alias| fold(&alias.name));
        let visible = |(index, (name, column_type)): (usize, (String, ColumnType))| {
            let is_renamed = alone && index == 0 && name == called.name;
            let name = if is_renamed { named.clone().unwrap_or(name) } else { name };
            Visible { name, index, column_type, origin: None }
        };
        let columns = columns.into_iter().enumerate().map(visible).collect();
        let binding = Binding { source: Source::Function, ..Binding::of(called.name.clone(), columns) };
        Ok(Some(self.from_item(hir, aliased(binding, alias)?)))
    }

    fn routine_rows(
        &mut self,
        settled: Settled<'a>,
        ordinality: bool,
        alias: Option<&TableAlias>,
    ) -> Result<FunctionRows, PlanError> {
        let Settled { routine, args } = settled;
        let mut columns = self.columns_of_result(routine, alias)?;
        let mut hir = match self.inlined_rows(routine, &args, &columns)? {
            Some(hir) if !ordinality => hir,
            _ => {
                self.calls += 1;
                let types: Vec<ColumnType> = columns.iter().map(|(_, own)| own.clone()).collect();
                let functions = vec![(&ROWS, with_oid(routine, args), types.clone())];
                let (input, names) = (Box::new(Hir::unit()), Names::default());
                Hir { node: HirNode::TableFunction { input, functions, ordinality, names }, types }
            }
        };
        if ordinality {
            let count = ColumnType { nullable: false, ..ColumnType::nullable(ScalarType::Int8) };
            hir.types.push(count.clone());
            columns.push(("ordinality".to_owned(), count));
        }
        Ok((hir, columns))
    }

    /// The columns that a function has in FROM.
    fn columns_of_result(
        &mut self,
        routine: &Routine,
        alias: Option<&TableAlias>,
    ) -> Result<Vec<(String, ColumnType)>, PlanError> {
        let declared = self.column_definitions(alias)?;
        if let (ResultKind::Record, None) = (&routine.result.kind, routine.record(self.catalog)) {
            let message = "a column definition list is required for functions returning \"record\"";
            return declared.ok_or_else(|| PlanError::new("42601", message));
        }
        if declared.is_some() {
            let message = match routine.outputs().next() {
                Some(_) => "a column definition list is redundant for a function with OUT parameters",
                None => "a column definition list is only allowed for functions returning \"record\"",
            };
            return Err(PlanError::new("42601", message));
        }
        if let Some(fields) = routine.record(self.catalog) {
            return Ok(fields);
        }
        let result = self.result_type(routine, "called in context that cannot accept type record")?;
        if let ScalarType::Record(record) = &result.scalar {
            return Ok(super::records::columns_of(record));
        }
        let name = routine.outputs().next().and_then(|parameter| parameter.name.clone());
        Ok(vec![(name.unwrap_or_else(|| routine.name.clone()), ColumnType { modifier: -1, ..result })])
    }

    /// CALL: as a query of what comes out.
    pub(super) fn procedure_call(&mut self, call: &Call) -> Result<crate::hir::HirQuery, PlanError> {
        let position = Some(call.position);
        let name = &call.function.name;
        let list: &[FunctionArg] = match &call.function.args {
            FunctionArguments::List(list) => &list.args,
            FunctionArguments::None | FunctionArguments::Subquery(_) => &[],
        };
        let found = self.routines_called(name);
        let Some(called) = found else { return Err(self.no_procedure(name, list).at(position)) };
        let called = Called { position, ..called };
        let frame = Frame::default().clause(Clause::FromFunction);
        let ((hir, columns), _) = self.with_frame(frame, |resolver| {
            let settled = resolver.settled(&called, &list.iter().collect::<Vec<_>>(), true)?;
            let routine = settled.routine;
            let columns = match &routine.result.kind {
                ResultKind::Void => Vec::new(),
                _ => resolver.columns_of_result(routine, None)?,
            };
            let types: Vec<ColumnType> = columns.iter().map(|(_, own)| own.clone()).collect();
            let functions = vec![(&ROWS, with_oid(routine, settled.args), types.clone())];
            let (input, names) = (Box::new(Hir::unit()), Names::default());
            let node = HirNode::TableFunction { input, functions, ordinality: false, names };
            Ok((Hir { node, types }, columns))
        })?;
        let project = (0..columns.len()).collect();
        let output = |(name, column_type)| crate::hir::OutputColumn { name, column_type, origin: None };
        Ok(crate::hir::HirQuery::of(hir, project, columns.into_iter().map(output).collect()))
    }

    fn no_procedure(&mut self, name: &ObjectName, list: &[FunctionArg]) -> PlanError {
        let (given, _) = match self
            .with_frame(Frame::default(), |resolver| resolver.given_arguments(&list.iter().collect::<Vec<_>>()))
        {
            Ok(given) => given,
            Err(error) => return error,
        };
        let types: Vec<String> = given.positional.iter().map(|value| registry::type_name(value.scalar())).collect();
        let parts: Vec<String> = name.0.iter().filter_map(|part| part.as_ident()).map(fold).collect();
        let last = parts.last().cloned().unwrap_or_default();
        let call = format!("{}({})", parts.join("."), types.join(", "));
        if parts.len() == 1 && registry::is_known(&last) {
            return PlanError::new("42809", format!("{call} is not a procedure"))
                .hint("To call a function, use SELECT.");
        }
        PlanError::new("42883", format!("procedure {call} does not exist"))
            .hint("No procedure matches the given name and argument types. You might need to add explicit type casts.")
    }
}

/// 42809 for a procedure among expressions, and for a function behind CALL.
fn require_kind(routine: &Routine, is_call: bool, signature: &str) -> Result<(), PlanError> {
    match (routine.is_procedure, is_call) {
        (true, false) => {
            Err(PlanError::new("42809", format!("{signature} is a procedure")).hint("To call a procedure, use CALL."))
        }
        (false, true) => {
            Err(PlanError::new("42809", format!("{signature} is not a procedure"))
                .hint("To call a function, use SELECT."))
        }
        _ => Ok(()),
    }
}

/// What is given for the places of a routine. Drivers send parameters of no value for what comes out of CALL: they are of any type.
fn given_for(routine: &Routine, places: &[Option<usize>], all: &[&Typed]) -> Vec<Typed> {
    let comes_out = |number: usize| {
        let is_call = places.len() > routine.inputs().count();
        is_call && routine.parameters.get(number).is_some_and(|parameter| parameter.mode == ParameterMode::Out)
    };
    let value = |(number, place): (usize, &Option<usize>)| {
        let value = all[(*place)?];
        let is_nothing = matches!(value.expr, HirExpr::Param(_, ScalarType::Void)) && comes_out(number);
        Some(if is_nothing { Typed::literal(Datum::Null, ScalarType::Unknown) } else { value.clone() })
    };
    places.iter().enumerate().filter_map(value).collect()
}

/// How many functions are called in a query.
fn count_calls(query: &HirQuery) -> usize {
    let (mut rows, mut values) = (0, 0);
    Visitor {
        operator: &mut |hir| {
            if let HirNode::TableFunction { functions, .. } = &hir.node {
                rows += functions.iter().filter(|(function, ..)| **function == ROWS).count();
            }
        },
        expression: &mut |expr| {
            values += usize::from(matches!(expr, HirExpr::Call { function, .. } if is_call(function)));
        },
    }
    .query(query);
    rows + values
}

/// As messages have it: a blank behind each comma.
fn spaced(signature: &str) -> String {
    signature.replace(',', ", ")
}

/// What calls it: its OID before what it is given.
fn with_oid(routine: &Routine, args: Vec<Typed>) -> Vec<HirExpr> {
    let oid = Typed::literal(Datum::Oid(routine.id), ScalarType::Oid);
    std::iter::once(oid).chain(args).map(|arg| arg.expr).collect()
}
