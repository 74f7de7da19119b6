//! Function calls: scalar ones, and those that belong to the query around them: aggregates, windows, sets.

use super::calls::{Call, VIRTUAL};
use super::collate::{BY_KEY, derived};
use super::comparable::{require_comparison, require_equality, require_ordering};
use super::levels::{expr_levels, shift_expr};
use super::named::{add_named, behind_named, named as named_argument};
use super::records::makes_records;
use super::scope::{Clause, fold};
use super::{Resolver, Typed};
use crate::catalog::Scope;
use crate::error::PlanError;
use crate::hir::{HirColumn, HirExpr};
use crate::names::Label;
use crate::parse::dialect::VARIADIC;
use crate::scalar::cast::CastContext;
use crate::scalar::registry::FunctionMatch;
use crate::scalar::{AggregateCall, TableFunction, registry};
use repr::{Collation, ColumnType, Datum, ScalarType};
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, Ident, ObjectName,
    ObjectNamePart, OrderByExpr,
};

/// A function call's arguments as they were written.
pub(super) struct WrittenArguments<'q> {
    pub(super) args: Vec<&'q Expr>,
    pub(super) star: bool,
    pub(super) distinct: bool,
    pub(super) order_by: &'q [OrderByExpr],
    pub(super) whole_rows: Vec<(usize, Vec<Ident>)>,
    /// Whether the last of them is an array of arguments.
    pub(super) variadic: bool,
}

/// A function's name, without `pg_catalog`: nobody makes functions in other schemas.
pub(super) fn function_name<'n>(name: &'n ObjectName, scope: Scope<'_>) -> Result<(String, &'n Ident), PlanError> {
    let mut idents = Vec::with_capacity(name.0.len());
    for part in &name.0 {
        match part {
            ObjectNamePart::Identifier(ident) => idents.push(ident),
            ObjectNamePart::Function(_) => {
                return Err(PlanError::new("42601", format!("syntax error at or near \"{name}\"")));
            }
        }
    }
    let (database, schema, ident) = match idents.as_slice() {
        [ident] => return Ok((fold(ident), ident)),
        [schema, ident] => (None, fold(schema), *ident),
        [database, schema, ident] => (Some(fold(database)), fold(schema), *ident),
        [] => return Err(PlanError::new("42601", "a function needs a name")),
        several => {
            let dotted = several.iter().map(|ident| fold(ident)).collect::<Vec<_>>().join(".");
            let message = format!("improper qualified name (too many dotted names): {dotted}");
            return Err(PlanError::new("42601", message));
        }
    };
    let called = fold(ident);
    scope.path.require_own(database.as_deref(), &schema, &called)?;
    scope.require_namespace(&schema)?;
    match &*schema {
        "pg_catalog" => Ok((called, ident)),
        // What its views are built on, and pgjdbc asks with.
        "information_schema" if called.starts_with("_pg_") => Ok((called, ident)),
        _ => Err(PlanError::new("42883", format!("function {schema}.{called}() does not exist"))),
    }
}

/// WITHIN GROUP is for aggregates over an ordered set, and those are nothing without it.
fn check_within_group(function: &Function, name: &str, written: &WrittenArguments<'_>) -> Result<(), PlanError> {
    let is_there = !function.within_group.is_empty();
    match (registry::is_of_ordered_set(name), is_there) {
        (true, false) => {
            let message = format!("WITHIN GROUP is required for ordered-set aggregate {name}");
            Err(PlanError::new("42809", message))
        }
        (true, true) if !written.order_by.is_empty() => {
            Err(PlanError::new("42601", "cannot use multiple ORDER BY clauses with WITHIN GROUP"))
        }
        (true, true) if written.distinct => Err(PlanError::new("42601", "cannot use DISTINCT with WITHIN GROUP")),
        // What takes no such arguments is not found below.
        (true, true) | (false, true | false) => Ok(()),
    }
}

/// What was written for an argument.
fn without_implicit_casts(expr: &HirExpr) -> &HirExpr {
    match expr {
        HirExpr::Cast { expr, cast, .. } if !cast.explicit => without_implicit_casts(expr),
        other => other,
    }
}

/// What only aggregates have.
pub(super) fn refuse_of_aggregates(
    function: &Function,
    name: &str,
    written: &WrittenArguments<'_>,
) -> Result<(), PlanError> {
    let what = if written.distinct {
        "DISTINCT"
    } else if function.filter.is_some() {
        "FILTER"
    } else if !written.order_by.is_empty() {
        "ORDER BY"
    } else if !function.within_group.is_empty() {
        "WITHIN GROUP"
    } else if written.star {
        return Err(PlanError::new("42883", format!("function {name}() does not exist")));
    } else {
        return Ok(());
    };
    Err(PlanError::new("42809", format!("{what} specified, but {name} is not an aggregate function")))
}

impl Resolver<'_> {
    /// A call of what PostgreSQL has.
    pub(super) fn built_in(&mut self, function: &Function) -> Result<Typed, PlanError> {
        let (name, ident) = function_name(&function.name, self.scope())?;
        let position = self.at(ident.span);
        self.function_inner(function, &name, ident, position).map_err(|error| error.at(position))
    }

    fn function_inner(
        &mut self,
        function: &Function,
        name: &str,
        ident: &Ident,
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        let list = match &function.args {
            FunctionArguments::Subquery(query) if name == "array" => return self.array_subquery(query),
            FunctionArguments::Subquery(_) => {
                return Err(PlanError::new("42601", "syntax error at or near \"SELECT\""));
            }
            FunctionArguments::None => return self.keyword(name),
            FunctionArguments::List(list) => list,
        };
        if list.args.is_empty()
            && ident.quote_style.is_none()
            && matches!(name, "current_timestamp" | "localtimestamp" | "current_time" | "localtime")
        {
            return self.keyword(name);
        }
        let written = self.written_arguments(function, name)?;
        let is_call = written.variadic || written.star;
        if ident.quote_style.is_none() && function.over.is_none() && !is_call {
            match name {
                "coalesce" => return self.coalesce(&written.args),
                "nullif" => return self.null_if(&written.args),
                "greatest" | "least" => return self.extreme(name, &written.args),
                "row" => return self.row(&Expr::Function(function.clone())),
                "grouping" => return self.grouping(&written.args, position),
                _ => {}
            }
        }
        if written.variadic && (function.over.is_some() || !registry::is_function(name)) {
            return Err(PlanError::unsupported(format!("VARIADIC in a call of {name}"))
                .hint("Give the elements of the array by themselves."));
        }
        if let Some(over) = &function.over {
            return self.window_call(function, name, &written, over, position);
        }
        if registry::is_aggregate(name) {
            return self.aggregate_call(function, name, &written, position);
        }
        if registry::is_window_function(name) {
            return match is_hypothetical(name) && !function.within_group.is_empty() {
                true => self.hypothetical(function, name, &written),
                false => Err(without_a_window(name).at(position)),
            };
        }
        refuse_of_aggregates(function, name, &written)?;
        if makes_records(name) && written.whole_rows.is_empty() {
            return self.record_value(name, &written.args, position);
        }
        let args = self.arguments(&written)?;
        if let ("pg_collation_for", [arg]) = (name, args.as_slice()) {
            return self.collation_for(arg);
        }
        if written.variadic
            && let Some(last) = args.last()
            && !last.is_unknown()
            && last.scalar().element().is_none()
        {
            return Err(PlanError::new("42804", "VARIADIC argument must be an array"));
        }
        if registry::is_table_function(name) && !registry::is_function(name) {
            return self.set_call(name, args, None, position);
        }
        self.scalar_call(name, args, written.variadic)
    }

    fn scalar_call(&mut self, name: &str, args: Vec<Typed>, variadic: bool) -> Result<Typed, PlanError> {
        // Drivers send what a function gives back as parameters of no value, which PostgreSQL passes over.
        let args: Vec<Typed> =
            args.into_iter().filter(|arg| !matches!(arg.expr, HirExpr::Param(_, ScalarType::Void))).collect();
        if let ("pg_typeof", [Typed { column_type, .. }]) = (name, args.as_slice())
            && column_type.domain != 0
        {
            return Ok(Typed::literal(Datum::Oid(column_type.domain), ScalarType::Regtype));
        }
        let types: Vec<ScalarType> = args.iter().map(|arg| arg.scalar().clone()).collect();
        // A literal behind a type's name is one of that type, also where functions of that name take one argument.
        if let ([ScalarType::Unknown], [arg]) = (types.as_slice(), args.as_slice())
            && let Some(scalar) = self.literal_type(name)
        {
            return self.cast(arg.clone(), &ColumnType::nullable(scalar), CastContext::Explicit);
        }
        let found = match registry::resolve_function(name, &types, variadic) {
            Ok(found) => found,
            Err(error) => {
                // `text(x)`, `date(x)`: a type's name over one argument is a cast.
                // Not of a row to a text, which would be `row.name`.
                if let [arg] = args.as_slice()
                    && let Some(scalar) = super::types::by_name(name, self.scope())
                    && !(matches!(arg.scalar(), ScalarType::Record(_)) && scalar.is_string())
                    && !(matches!(scalar, ScalarType::Record(_)) && (arg.is_unknown() || arg.scalar().is_string()))
                    && self.scope().type_named(None, name).is_none_or(|found| found.domain().is_none())
                {
                    let to = ColumnType::nullable(scalar);
                    return self.cast(arg.clone(), &to, CastContext::Explicit);
                }
                if let Some(call) = self.io_call(name, &args)? {
                    return Ok(call);
                }
                // `field(row)`.
                if let [arg] = args.as_slice()
                    && matches!(arg.scalar(), ScalarType::Record(fields) if fields.iter().any(|(field, _)| field == name))
                {
                    return self.field(arg.clone(), name, None);
                }
                return Err(self.named_types(error, &args.iter().collect::<Vec<_>>()));
            }
        };
        if let Some(extension) = found.result.extension()
            && !self.scope().has_extension(extension)
        {
            let error = PlanError::new("42883", format!("function {name} does not exist"));
            return Err(
                error.hint(format!("It is the extension \"{extension}\"'s: CREATE EXTENSION {extension} first."))
            );
        }
        // Beside what sets settings it gives what stands there just then, from left to right.
        let function = match name {
            "current_setting" if self.positions.names("set_config") => registry::unsettled_setting(found.function),
            _ => found.function,
        };
        self.called(FunctionMatch { function, ..found }, args)
    }

    /// What a literal is behind this name, though functions of the name take one argument: a multirange, an extension's type.
    fn literal_type(&self, name: &str) -> Option<ScalarType> {
        let built_in = ScalarType::from_catalog_name(name).filter(|scalar| scalar.multirange_range().is_some());
        let created = || self.scope().created_type(None, name).filter(|scalar| scalar.extension().is_some());
        built_in.or_else(created)
    }

    /// `current_date`, `current_user` and the like: words that call a function.
    pub(super) fn keyword(&mut self, name: &str) -> Result<Typed, PlanError> {
        let name = match name {
            "user" => "USER",
            "current_role" => "CURRENT_ROLE",
            "current_catalog" => "CURRENT_CATALOG",
            "current_schema" => "CURRENT_SCHEMA",
            other => other,
        };
        self.call_named(name, Vec::new(), None)
    }

    fn coalesce(&mut self, args: &[&Expr]) -> Result<Typed, PlanError> {
        let sets = self.sets_so_far();
        let items = args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<_>, _>>()?;
        let (items, common) = self.unify("COALESCE", items)?;
        let collation = derived(&items)?;
        self.refuse_sets_since(sets, "COALESCE")?;
        let nullable = items.iter().all(|item| item.column_type.nullable);
        let expr = HirExpr::Coalesce(items.into_iter().map(|item| item.expr).collect(), common.clone());
        let column_type = ColumnType { nullable, ..ColumnType::nullable(common) };
        Ok(Typed::of(expr, column_type).of_collation(collation))
    }

    /// GREATEST and LEAST: of one type, as PostgreSQL's COALESCE is.
    fn extreme(&mut self, name: &str, args: &[&Expr]) -> Result<Typed, PlanError> {
        let items = args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<_>, _>>()?;
        let (items, _) = self.unify(&name.to_uppercase(), items)?;
        items.iter().try_for_each(|item| require_comparison(item.scalar()))?;
        match self.keys_of_extremes(&items)? {
            Some(keys) => {
                let extreme = self.scalar_call(name, keys, false)?;
                self.text_of_key(extreme, derived(&items)?)
            }
            None => self.scalar_call(name, items, false),
        }
    }

    pub(super) fn written_arguments<'q>(
        &self,
        function: &'q Function,
        name: &str,
    ) -> Result<WrittenArguments<'q>, PlanError> {
        let mut written = WrittenArguments::of_terms(function);
        let FunctionArguments::List(list) = &function.args else {
            return Ok(written);
        };
        if let Some(other) = list.clauses.iter().find(|clause| !matches!(clause, FunctionArgumentClause::OrderBy(_))) {
            return Err(PlanError::unsupported(format!("\"{other}\" in a function call")));
        }
        let mut named = Vec::new();
        for arg in &list.args {
            if let Some(found) = named_argument(arg) {
                named.push(found);
                continue;
            }
            match arg {
                FunctionArg::Unnamed(_) if !named.is_empty() => return Err(behind_named()),
                FunctionArg::Unnamed(_) if written.variadic => {
                    return Err(PlanError::new("42601", "only the last argument can be VARIADIC"));
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Prefixed { prefix, value }))
                    if prefix.value == VARIADIC =>
                {
                    written.args.push(value);
                    written.variadic = true;
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => written.args.push(expr),
                FunctionArg::Unnamed(FunctionArgExpr::Wildcard | FunctionArgExpr::WildcardWithOptions(_)) => {
                    if written.distinct {
                        return Err(PlanError::new("42601", "syntax error at or near \"*\""));
                    }
                    written.star = true;
                }
                FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(table)) => {
                    let parts = table.0.iter().filter_map(|part| part.as_ident().cloned()).collect();
                    written.whole_rows.push((written.args.len() + written.whole_rows.len(), parts));
                }
                FunctionArg::Named { .. } | FunctionArg::ExprNamed { .. } => {
                    return Err(PlanError::new("42601", "syntax error at or near \"=>\""));
                }
            }
        }
        add_named(name, &mut written.args, &named)?;
        Ok(written)
    }

    /// Resolves the arguments.
    pub(super) fn arguments(&mut self, written: &WrittenArguments<'_>) -> Result<Vec<Typed>, PlanError> {
        let mut args = written.args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<_>, _>>()?;
        for (index, qualifier) in &written.whole_rows {
            let Some((level, table)) = self.find_table(qualifier)? else {
                return Err(self.missing_table(qualifier));
            };
            let row = self.whole_row(level, &table, None)?;
            args.insert((*index).min(args.len()), row);
        }
        Ok(args)
    }

    /// Runs `body` with the innermost frame in another clause.
    pub(super) fn in_clause<T>(
        &mut self,
        clause: Clause,
        body: impl FnOnce(&mut Self) -> Result<T, PlanError>,
    ) -> Result<T, PlanError> {
        let Some(frame) = self.frames.last_mut() else { return body(self) };
        let before = std::mem::replace(&mut frame.clause, clause);
        let result = body(self);
        if let Some(frame) = self.frames.last_mut() {
            frame.clause = before;
        }
        result
    }

    fn aggregate_call(
        &mut self,
        function: &Function,
        name: &str,
        written: &WrittenArguments<'_>,
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        let references = self.frames.last().map_or(0, |frame| frame.references.len());
        let (aggregate, levels, collation) = self.aggregate_parts(function, name, written)?;
        if let Some(frame) = self.frames.last_mut() {
            frame.references.truncate(references);
        }
        let level = levels;
        let Some(frame_index) = self.frames.len().checked_sub(1 + level) else {
            return Err(PlanError::new(
                "42803",
                format!("aggregate functions are not allowed in {}", Clause::Other.describe()),
            )
            .at(position));
        };
        let clause = self.frames[frame_index].clause;
        if !clause.allows_aggregates() {
            return Err(match clause {
                Clause::AggregateArguments | Clause::AggregateFilter if clause == Clause::AggregateArguments => {
                    PlanError::new("42803", "aggregate function calls cannot be nested")
                }
                other => {
                    PlanError::new("42803", format!("aggregate functions are not allowed in {}", other.describe()))
                }
            }
            .at(position));
        }
        self.refuse_nested(&aggregate, frame_index).map_err(|error| error.at(position))?;
        let result = aggregate.result.clone();
        let nullable = aggregate.function.name != "count";
        let by_keys = aggregate.function.name.ends_with(BY_KEY);
        let index = self.add_call(frame_index, Call::Aggregate(aggregate));
        let column = HirExpr::Column(HirColumn::Column { level, index });
        let typed = Typed::of(column, ColumnType { nullable, ..ColumnType::nullable(result) });
        if by_keys { self.text_of_key(typed, collation) } else { Ok(typed.of_collation(collation)) }
    }

    /// What an aggregate adds up is there before the calls of its own query level are computed.
    fn refuse_nested(&self, aggregate: &AggregateCall<HirColumn>, frame_index: usize) -> Result<(), PlanError> {
        let calls = &self.frames[frame_index].calls;
        let mut nested = None;
        for expr in crate::mir::expr::aggregate_exprs(aggregate) {
            expr_levels(expr, &mut |level, index| {
                if level == 0 && index >= VIRTUAL {
                    nested = calls.get(index - VIRTUAL);
                }
            });
        }
        match nested {
            None => Ok(()),
            Some(Call::Aggregate(_) | Call::Grouping(_)) => {
                Err(PlanError::new("42803", "aggregate function calls cannot be nested"))
            }
            Some(Call::Window(_)) => {
                Err(PlanError::new("42803", "aggregate function calls cannot contain window function calls"))
            }
            Some(Call::Set { .. }) => {
                Err(PlanError::new("0A000", "aggregate function calls cannot contain set-returning function calls")
                    .hint(SETS_IN_FROM))
            }
        }
    }

    /// How many set-returning calls the query at hand has so far.
    pub(super) fn sets_so_far(&self) -> usize {
        let calls = self.frames.last().map_or(&[] as &[Call], |frame| frame.calls.as_slice());
        calls.iter().filter(|call| matches!(call, Call::Set { .. })).count()
    }

    /// 0A000 if a construct that need not evaluate its parts has got set-returning calls since.
    pub(super) fn refuse_sets_since(&self, before: usize, construct: &str) -> Result<(), PlanError> {
        if self.sets_so_far() == before {
            return Ok(());
        }
        Err(PlanError::new("0A000", format!("set-returning functions are not allowed in {construct}"))
            .hint(SETS_IN_FROM))
    }

    /// Whether a value has set-returning calls of the query at hand in it.
    pub(super) fn returns_set(&self, value: &HirExpr) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        let mut found = false;
        expr_levels(value, &mut |level, index| {
            let call = if level == 0 { index.checked_sub(VIRTUAL).and_then(|at| frame.calls.get(at)) } else { None };
            found |= matches!(call, Some(Call::Set { .. }));
        });
        found
    }

    /// The call over its own level's row, and how many levels out that is.
    pub(super) fn aggregate_parts(
        &mut self,
        function: &Function,
        name: &str,
        written: &WrittenArguments<'_>,
    ) -> Result<(AggregateCall<HirColumn>, usize, (Collation, bool)), PlanError> {
        let mut args = self.in_clause(Clause::AggregateArguments, |resolver| resolver.arguments(written))?;
        check_within_group(function, name, written)?;
        if written.star && name != "count" {
            return Err(PlanError::new("42883", format!("function {name}() does not exist")));
        }
        if !written.star && args.is_empty() && name == "count" {
            return Err(PlanError::new("42809", "count(*) must be used to call a parameterless aggregate function"));
        }
        let within = self.within_group(function)?;
        let direct = args.len();
        args.extend(within.iter().map(|(typed, _, _)| typed.clone()));
        let collation = derived(&args)?;
        self.refuse_keys(&args[direct..], "WITHIN GROUP")?;
        let (name, args) = self.extreme_by_keys(name, args)?;
        let types: Vec<ScalarType> = args.iter().map(|arg| arg.scalar().clone()).collect();
        let found = registry::resolve_aggregate(&name, &types)
            .map_err(|error| self.named_types(error, &args.iter().collect::<Vec<_>>()))?;
        if !within.is_empty() && !registry::is_of_ordered_set(found.function.name) {
            let message = format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP");
            return Err(PlanError::new("42809", message));
        }
        let mut args = self.convert_args(args, &found.arg_casts, &found.conversions)?;
        if written.distinct {
            found.arg_casts.iter().try_for_each(require_equality)?;
        }
        let mut order_by = Vec::new();
        for (offset, (_, descending, nulls_first)) in within.iter().enumerate() {
            order_by.push((args[direct + offset].clone(), *descending, *nulls_first));
        }
        order_by.extend(self.aggregate_order(written, &args)?);
        let mut filter = match &function.filter {
            Some(filter) => {
                let typed = self.in_clause(Clause::AggregateFilter, |resolver| resolver.expr(filter))?;
                Some(self.condition(typed, "FILTER", None)?)
            }
            None => None,
        };
        let mut level = usize::MAX;
        for expr in args.iter().chain(filter.iter()).chain(order_by.iter().map(|(expr, _, _)| expr)) {
            expr_levels(expr, &mut |at, _| level = level.min(at));
        }
        let level = if level == usize::MAX { 0 } else { level };
        let by = -isize::try_from(level).unwrap_or(0);
        for expr in args.iter_mut().chain(filter.iter_mut()).chain(order_by.iter_mut().map(|(expr, _, _)| expr)) {
            shift_expr(expr, by);
        }
        Ok((
            AggregateCall {
                function: found.function,
                args,
                distinct: written.distinct,
                filter,
                order_by,
                result: found.result,
                label: Label::default(),
            },
            level,
            collation,
        ))
    }

    /// WITHIN GROUP (ORDER BY …): what, whether descending, whether NULLs come first.
    fn within_group(&mut self, function: &Function) -> Result<Vec<(Typed, bool, bool)>, PlanError> {
        let mut within = Vec::with_capacity(function.within_group.len());
        for item in &function.within_group {
            let typed = self.in_clause(Clause::AggregateArguments, |resolver| resolver.expr(&item.expr))?;
            require_ordering(typed.scalar())?;
            let (descending, nulls_first) = super::direction::direction(&item.options)?;
            within.push((typed, descending, nulls_first));
        }
        Ok(within)
    }

    /// ORDER BY among an aggregate's arguments: what, whether descending, whether NULLs come first.
    fn aggregate_order(
        &mut self,
        written: &WrittenArguments<'_>,
        args: &[HirExpr],
    ) -> Result<Vec<(HirExpr, bool, bool)>, PlanError> {
        let mut order_by = Vec::with_capacity(written.order_by.len());
        for item in written.order_by {
            let typed = self.in_clause(Clause::AggregateArguments, |resolver| resolver.expr(&item.expr))?;
            let typed = self.settle(typed)?;
            require_ordering(typed.scalar())?;
            let (descending, nulls_first) = super::direction::direction(&item.options)?;
            // An argument by what was written for it, whatever type it has become of.
            let argument = args.iter().find(|arg| without_implicit_casts(arg) == &typed.expr);
            if written.distinct && argument.is_none() {
                return Err(PlanError::new(
                    "42P10",
                    "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list",
                ));
            }
            if written.distinct {
                self.refuse_keys(std::slice::from_ref(&typed), "an aggregate with DISTINCT")?;
            }
            let key = match argument.filter(|_| written.distinct) {
                Some(argument) => argument.clone(),
                None => self.sort_key(typed)?.expr,
            };
            order_by.push((key, descending, nulls_first));
        }
        Ok(order_by)
    }

    /// The column that stands for a call over a frame; equal aggregates are one.
    pub(super) fn add_call(&mut self, frame_index: usize, call: Call) -> usize {
        let clause = self.frames[frame_index].clause;
        let chooses = matches!(clause, Clause::GroupBy | Clause::OrderBy | Clause::DistinctOn);
        let calls = &mut self.frames[frame_index].calls;
        // A set that is grouped or ordered by is the one that was selected.
        let may_be_one = matches!(call, Call::Aggregate(_)) || (chooses && matches!(call, Call::Set { .. }));
        if may_be_one && let Some(position) = calls.iter().position(|other| *other == call) {
            return VIRTUAL + position;
        }
        calls.push(call);
        VIRTUAL + calls.len() - 1
    }

    /// A set-returning function among expressions; `record` is its type where the call says that.
    pub(super) fn set_call(
        &mut self,
        name: &str,
        args: Vec<Typed>,
        record: Option<&ScalarType>,
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        let types: Vec<ScalarType> = args.iter().map(|arg| arg.scalar().clone()).collect();
        let found = registry::resolve_table_function(name, &types)
            .map_err(|error| self.named_types(error, &args.iter().collect::<Vec<_>>()))?;
        let args = self.convert_args(args, &found.arg_casts, &found.conversions)?;
        let columns = match record {
            Some(record) => vec![(name.to_owned(), record.clone())],
            None => found.columns,
        };
        let scalar = match columns.as_slice() {
            [(_, only)] => only.clone(),
            several => ScalarType::Record(several.to_vec().into()),
        };
        let columns = columns.into_iter().map(|(_, scalar)| ColumnType::nullable(scalar)).collect();
        self.set_of(found.function, args, columns, scalar).map_err(|error| error.at(position))
    }

    /// What gives rows, among expressions, in the place where that may stand.
    pub(super) fn set_of(
        &mut self,
        function: &'static TableFunction,
        args: Vec<HirExpr>,
        columns: Vec<ColumnType>,
        scalar: ScalarType,
    ) -> Result<Typed, PlanError> {
        let clause = self.frames.last().map_or(Clause::Other, |frame| frame.clause);
        if !clause.allows_sets() {
            return Err(match clause {
                Clause::AggregateArguments | Clause::WindowArguments => {
                    let calls = clause.describe();
                    PlanError::new("0A000", format!("{calls} cannot contain set-returning function calls"))
                        .hint(SETS_IN_FROM)
                }
                Clause::FromFunction => {
                    PlanError::new("0A000", "set-returning functions must appear at top level of FROM")
                }
                _ => {
                    let clause = clause.describe();
                    PlanError::new("0A000", format!("set-returning functions are not allowed in {clause}"))
                }
            });
        }
        let frame_index = self.frames.len() - 1;
        let index = self.add_call(frame_index, Call::Set { function, args, columns });
        Ok(Typed::new(HirExpr::Column(HirColumn::Column { level: 0, index }), scalar))
    }

    /// GROUPING(…): which of its arguments the row's grouping set leaves out; of the query level that they are columns of.
    fn grouping(&mut self, args: &[&Expr], position: Option<u32>) -> Result<Typed, PlanError> {
        let mut exprs = Vec::with_capacity(args.len());
        for arg in args {
            exprs.push(self.expr(arg)?.expr);
        }
        let mut level = usize::MAX;
        for expr in &exprs {
            expr_levels(expr, &mut |at, _| level = level.min(at));
        }
        let level = if level == usize::MAX { 0 } else { level };
        for expr in &mut exprs {
            shift_expr(expr, -isize::try_from(level).unwrap_or(0));
        }
        let frame_index = self.frames.len().checked_sub(1 + level);
        let clause = frame_index.map_or(Clause::Other, |index| self.frames[index].clause);
        let Some(frame_index) = frame_index.filter(|_| clause.allows_aggregates()) else {
            return Err(PlanError::new(
                "42803",
                format!("grouping operations are not allowed in {}", clause.describe()),
            )
            .at(position));
        };
        let index = self.add_call(frame_index, Call::Grouping(exprs));
        Ok(Typed::new(HirExpr::Column(HirColumn::Column { level, index }), ScalarType::Int4))
    }
}

const SETS_IN_FROM: &str = "You might be able to move the set-returning function into a LATERAL FROM item.";

/// Why a window function cannot be called as it is.
fn without_a_window(name: &str) -> PlanError {
    PlanError::new("42809", format!("window function {name} requires an OVER clause"))
}

/// Whether an aggregate of that name supposes a row.
fn is_hypothetical(name: &str) -> bool {
    matches!(name, "rank" | "dense_rank" | "percent_rank" | "cume_dist")
}
