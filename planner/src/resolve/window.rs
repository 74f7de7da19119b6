//! Window calls: OVER, named windows, frames.

use super::call::WrittenArguments;
use super::calls::{Call, WindowedCall};
use super::collate::{BY_KEY, derived};
use super::comparable::{require_equality, require_ordering};
use super::scope::{Clause, fold};
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::{HirColumn, HirExpr};
use crate::parse::frame_exclusion;
use crate::scalar::cast::CastContext;
use crate::scalar::{FrameBound, FrameExclusion, FrameOffset, FrameUnit, WindowFrame, WindowKind, registry};
use repr::{ColumnType, Datum, ScalarType};
use sqlparser::ast::{
    Expr, Function, NamedWindowDefinition, NamedWindowExpr, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

impl Resolver<'_> {
    /// The WINDOW clause, kept with the frame until a call names it.
    pub(super) fn named_windows(
        &self,
        definitions: &[NamedWindowDefinition],
    ) -> Result<Vec<(String, WindowSpec)>, PlanError> {
        let mut windows: Vec<(String, WindowSpec)> = Vec::with_capacity(definitions.len());
        for NamedWindowDefinition(name, definition) in definitions {
            let name = fold(name);
            if windows.iter().any(|(other, _)| *other == name) {
                return Err(PlanError::new("42P20", format!("window \"{name}\" is already defined")));
            }
            let spec = match definition {
                NamedWindowExpr::WindowSpec(spec) => spec.clone(),
                NamedWindowExpr::NamedWindow(other) => WindowSpec {
                    window_name: Some(other.clone()),
                    partition_by: Vec::new(),
                    order_by: Vec::new(),
                    window_frame: None,
                },
            };
            windows.push((name, spec));
        }
        Ok(windows)
    }

    fn find_window(&self, name: &str) -> Result<WindowSpec, PlanError> {
        self.frames
            .last()
            .and_then(|frame| frame.windows.iter().find(|(other, _)| other == name))
            .map(|(_, spec)| spec.clone())
            .ok_or_else(|| PlanError::new("42704", format!("window \"{name}\" does not exist")))
    }

    /// A specification with what it inherits.
    fn complete_window(&self, spec: &WindowSpec, depth: usize) -> Result<WindowSpec, PlanError> {
        const CHAIN_MAX: usize = 100;
        let (_, refined) = frame_exclusion::of(spec.window_name.as_ref());
        let Some(base_name) = refined else { return Ok(spec.clone()) };
        let name = fold(&base_name);
        if depth > CHAIN_MAX {
            return Err(PlanError::new("42704", format!("window \"{name}\" does not exist")));
        }
        let base = self.complete_window(&self.find_window(&name)?, depth + 1)?;
        if !spec.partition_by.is_empty() {
            return Err(PlanError::new("42P20", format!("cannot override PARTITION BY clause of window \"{name}\"")));
        }
        if !spec.order_by.is_empty() && !base.order_by.is_empty() {
            return Err(PlanError::new("42P20", format!("cannot override ORDER BY clause of window \"{name}\"")));
        }
        if base.window_frame.is_some() {
            return Err(PlanError::new(
                "42P20",
                format!("cannot copy window \"{name}\" because it has a frame clause"),
            ));
        }
        let order_by = if spec.order_by.is_empty() { base.order_by } else { spec.order_by.clone() };
        // The frame is this one's, and so is what it excludes.
        let window_name = frame_exclusion::without_refined(spec.window_name.as_ref());
        Ok(WindowSpec {
            window_name,
            partition_by: base.partition_by,
            order_by,
            window_frame: spec.window_frame.clone(),
        })
    }

    pub(super) fn window_call(
        &mut self,
        function: &Function,
        name: &str,
        written: &WrittenArguments<'_>,
        over: &WindowType,
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        let clause = self.frames.last().map_or(Clause::Other, |frame| frame.clause);
        if !clause.allows_windows() {
            return Err(match clause {
                Clause::WindowArguments | Clause::WindowDefinition if clause == Clause::WindowArguments => {
                    PlanError::new("42P20", "window function calls cannot be nested")
                }
                Clause::AggregateArguments => {
                    PlanError::new("42803", "aggregate function calls cannot contain window function calls")
                }
                other => PlanError::new("42P20", format!("window functions are not allowed in {}", other.describe())),
            }
            .at(position));
        }
        if function.null_treatment.is_some() {
            return Err(PlanError::unsupported("IGNORE NULLS"));
        }
        let spec = match over {
            WindowType::WindowSpec(spec) => self.complete_window(spec, 0)?,
            // OVER name takes the window as it is, frame included.
            WindowType::NamedWindow(ident) => {
                let found = self.find_window(&fold(ident))?;
                self.complete_window(&found, 0)?
            }
        };
        if written.distinct {
            return Err(PlanError::unsupported("DISTINCT for window functions"));
        }
        if !written.order_by.is_empty() {
            return Err(PlanError::unsupported("aggregate ORDER BY for window functions"));
        }
        let (partition, order) = self.window_order(&spec)?;
        let args = self.in_clause(Clause::WindowArguments, |resolver| resolver.arguments(written))?;
        let filter = match &function.filter {
            Some(filter) => {
                let typed = self.in_clause(Clause::WindowArguments, |resolver| resolver.expr(filter))?;
                Some(self.condition(typed, "FILTER", position)?)
            }
            None => None,
        };
        let counts_nothing = !written.star && args.is_empty();
        let collation = derived(&args)?;
        let (name, args) = self.extreme_by_keys(name, args)?;
        let (kind, args, result) = self.window_function(&name, args, (filter.is_some(), counts_nothing), position)?;
        let frame = self.window_frame(&spec, &order)?;
        let frame_index = self.frames.len() - 1;
        let call = WindowedCall { function: kind, args, filter, frame, result: result.clone(), partition, order };
        let index = self.add_call(frame_index, Call::Window(Box::new(call)));
        let typed = Typed::new(HirExpr::Column(HirColumn::Column { level: 0, index }), result);
        if name.ends_with(BY_KEY) { self.text_of_key(typed, collation) } else { Ok(typed.of_collation(collation)) }
    }

    /// PARTITION BY and ORDER BY.
    fn window_order(&mut self, spec: &WindowSpec) -> Result<(Vec<Typed>, Vec<(Typed, bool, bool)>), PlanError> {
        self.in_clause(Clause::WindowDefinition, |resolver| {
            let mut partition = Vec::with_capacity(spec.partition_by.len());
            for expr in &spec.partition_by {
                let typed = resolver.expr(expr)?;
                let typed = resolver.settle(typed)?;
                require_equality(typed.scalar())?;
                partition.push(typed);
            }
            let mut order = Vec::with_capacity(spec.order_by.len());
            for item in &spec.order_by {
                let typed = resolver.expr(&item.expr)?;
                let typed = resolver.settle(typed)?;
                require_ordering(typed.scalar())?;
                let typed = resolver.sort_key(typed)?;
                let (descending, nulls_first) = super::direction::direction(&item.options)?;
                order.push((typed, descending, nulls_first));
            }
            Ok((partition, order))
        })
    }

    /// The function that OVER is about, its arguments as it takes them, and what it gives.
    fn window_function(
        &mut self,
        name: &str,
        args: Vec<Typed>,
        (filtered, counts_nothing): (bool, bool),
        position: Option<u32>,
    ) -> Result<(WindowKind, Vec<HirExpr>, ScalarType), PlanError> {
        let types: Vec<ScalarType> = args.iter().map(|arg| arg.scalar().clone()).collect();
        if registry::is_window_function(name) {
            if filtered {
                return Err(PlanError::new("0A000", "FILTER is not implemented for non-aggregate window functions"));
            }
            let found = registry::resolve_window(name, &types).map_err(|error| error.at(position))?;
            let args = self.convert_args(args, &found.arg_casts, &found.conversions)?;
            Ok((WindowKind::Function(found.function), args, found.result))
        } else if registry::is_aggregate(name) {
            if counts_nothing && name == "count" {
                return Err(PlanError::new(
                    "42809",
                    "count(*) must be used to call a parameterless aggregate function",
                ));
            }
            let found = registry::resolve_aggregate(name, &types).map_err(|error| error.at(position))?;
            let args = self.convert_args(args, &found.arg_casts, &found.conversions)?;
            Ok((WindowKind::Aggregate(found.function), args, found.result))
        } else if registry::is_function(name) || registry::is_table_function(name) {
            Err(PlanError::new(
                "42809",
                format!("OVER specified, but {name} is not a window function nor an aggregate function"),
            ))
        } else {
            let types: Vec<String> = types.iter().map(|scalar| self.type_label(scalar)).collect();
            Err(PlanError::new("42883", format!("function {name}({}) does not exist", types.join(", "))).hint(
                "No function matches the given name and argument types. You might need to add explicit type casts.",
            ))
        }
    }

    fn window_frame(&mut self, window: &WindowSpec, order: &[(Typed, bool, bool)]) -> Result<WindowFrame, PlanError> {
        let (exclude, _) = frame_exclusion::of(window.window_name.as_ref());
        let Some(written) = &window.window_frame else {
            if exclude != FrameExclusion::NoOthers {
                return Err(PlanError::new("42601", "syntax error at or near \"EXCLUDE\""));
            }
            return Ok(WindowFrame {
                unit: FrameUnit::Range,
                start: FrameBound::UnboundedPreceding,
                end: FrameBound::CurrentRow,
                exclude: FrameExclusion::NoOthers,
            });
        };
        let unit = match written.units {
            WindowFrameUnits::Rows => FrameUnit::Rows,
            WindowFrameUnits::Range => FrameUnit::Range,
            WindowFrameUnits::Groups => FrameUnit::Groups,
        };
        if unit == FrameUnit::Groups && order.is_empty() {
            return Err(PlanError::new("42P20", "GROUPS mode requires an ORDER BY clause"));
        }
        let start = self.frame_bound(&written.start_bound, unit, order)?;
        let end = match &written.end_bound {
            Some(bound) => self.frame_bound(bound, unit, order)?,
            None => FrameBound::CurrentRow,
        };
        let invalid = |message: &str| Err(PlanError::new("42P20", message));
        match (&start, &end) {
            (FrameBound::UnboundedFollowing, _) => return invalid("frame start cannot be UNBOUNDED FOLLOWING"),
            (_, FrameBound::UnboundedPreceding) => return invalid("frame end cannot be UNBOUNDED PRECEDING"),
            (FrameBound::CurrentRow, FrameBound::Preceding(_)) => {
                return invalid("frame starting from current row cannot have preceding rows");
            }
            (FrameBound::Following(_), FrameBound::CurrentRow | FrameBound::Preceding(_)) => {
                return invalid("frame starting from following row cannot have preceding rows");
            }
            _ => {}
        }
        Ok(WindowFrame { unit, start, end, exclude })
    }

    fn frame_bound(
        &mut self,
        bound: &WindowFrameBound,
        unit: FrameUnit,
        order: &[(Typed, bool, bool)],
    ) -> Result<FrameBound, PlanError> {
        Ok(match bound {
            WindowFrameBound::CurrentRow => FrameBound::CurrentRow,
            WindowFrameBound::Preceding(None) => FrameBound::UnboundedPreceding,
            WindowFrameBound::Following(None) => FrameBound::UnboundedFollowing,
            WindowFrameBound::Preceding(Some(offset)) => FrameBound::Preceding(self.frame_offset(offset, unit, order)?),
            WindowFrameBound::Following(Some(offset)) => FrameBound::Following(self.frame_offset(offset, unit, order)?),
        })
    }

    fn frame_offset(
        &mut self,
        written: &Expr,
        unit: FrameUnit,
        order: &[(Typed, bool, bool)],
    ) -> Result<FrameOffset, PlanError> {
        let position = self.position_of(written);
        let typed = self.expr(written)?;
        if let Some(index) = parameter_of(&typed.expr) {
            self.offset_parameter(typed, unit, order).map_err(|error| error.at(position))?;
            return Ok(FrameOffset::Param(index));
        }
        if let (FrameUnit::Range, [(key, _, _)]) = (unit, order)
            && let Some(distance) = self.range_offset(&typed, key.scalar()).map_err(|error| error.at(position))?
        {
            return Ok(FrameOffset::Constant(distance));
        }
        let typed = match unit {
            FrameUnit::Rows | FrameUnit::Groups if typed.is_unknown() => {
                let mut count = self.coerce(typed, &ScalarType::Int8)?;
                count.expr.fold();
                count
            }
            FrameUnit::Rows | FrameUnit::Groups | FrameUnit::Range => typed,
        };
        let constant = constant_of(&typed.expr).ok_or_else(|| {
            PlanError::unsupported("a frame offset that is neither a constant nor a parameter").at(position)
        })?;
        self.constant_offset(constant, unit, order, position).map(FrameOffset::Constant)
    }

    /// A constant distance between values of a type, as one of the type that measures it.
    fn range_offset(&mut self, typed: &Typed, key: &ScalarType) -> Result<Option<Datum>, PlanError> {
        let given = typed.scalar();
        let (wanted, fits) = match key {
            ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8 => (ScalarType::Int8, given.is_integer()),
            ScalarType::Float4 | ScalarType::Float8 => {
                let is_real = matches!(given, ScalarType::Float4 | ScalarType::Float8 | ScalarType::Numeric);
                (ScalarType::Float8, is_real || given.is_integer())
            }
            ScalarType::Numeric => (ScalarType::Numeric, *given == ScalarType::Numeric || given.is_integer()),
            _ => return Ok(None),
        };
        if *given != ScalarType::Unknown && !fits {
            return Err(no_distance(&key.name(), &given.name()));
        }
        let mut cast = self.cast(typed.clone(), &ColumnType::nullable(wanted), CastContext::Implicit)?.expr;
        cast.fold();
        Ok(cast.as_literal().cloned())
    }

    /// That a parameter is of a type that counts or measures, or becomes of one.
    fn offset_parameter(
        &mut self,
        typed: Typed,
        unit: FrameUnit,
        order: &[(Typed, bool, bool)],
    ) -> Result<(), PlanError> {
        let wanted = match (unit, order) {
            (FrameUnit::Rows | FrameUnit::Groups, _) => ScalarType::Int8,
            (FrameUnit::Range, [(key, _, _)]) if is_time(key.scalar()) => ScalarType::Interval,
            (FrameUnit::Range, [(key, _, _)]) => key.scalar().clone(),
            (FrameUnit::Range, _) => return Err(one_column()),
        };
        let given = typed.scalar().clone();
        if given == ScalarType::Unknown {
            self.cast(typed, &ColumnType::nullable(wanted), CastContext::Implicit)?;
        } else if given != wanted && !(given.is_integer() && wanted.is_integer()) {
            let name = given.name();
            let counted = |what: &str| {
                PlanError::new("42804", format!("argument of {what} must be type bigint, not type {name}"))
            };
            return Err(match unit {
                FrameUnit::Rows => counted("ROWS"),
                FrameUnit::Groups => counted("GROUPS"),
                FrameUnit::Range => {
                    let key = order.first().map_or_else(String::new, |(key, _, _)| key.scalar().name());
                    no_distance(&key, &name)
                }
            });
        }
        Ok(())
    }

    fn constant_offset(
        &mut self,
        constant: Datum,
        unit: FrameUnit,
        order: &[(Typed, bool, bool)],
        position: Option<u32>,
    ) -> Result<Datum, PlanError> {
        match unit {
            FrameUnit::Rows | FrameUnit::Groups => match constant.as_i64() {
                Some(count) if count >= 0 => Ok(Datum::Int8(count)),
                Some(_) => Err(PlanError::new("22013", "frame starting offset must not be negative").at(position)),
                None => Err(PlanError::new("42804", "argument of ROWS must be type bigint").at(position)),
            },
            FrameUnit::Range => {
                let [(key, _, _)] = order else { return Err(one_column().at(position)) };
                match constant {
                    Datum::Text(text) if is_time(key.scalar()) => match text.parse::<repr::Interval>() {
                        Ok(interval) => Ok(Datum::Interval(interval)),
                        Err(error) => Err(PlanError::from(error).at(position)),
                    },
                    Datum::Text(_) => {
                        Err(PlanError::new("42804", "a RANGE offset must be a number or an interval").at(position))
                    }
                    other => Ok(other),
                }
            }
        }
    }
}

/// Whether distances between values are intervals.
fn is_time(scalar: &ScalarType) -> bool {
    matches!(
        scalar,
        ScalarType::Date
            | ScalarType::Time
            | ScalarType::TimeTz
            | ScalarType::Timestamp
            | ScalarType::Timestamptz
            | ScalarType::Interval
    )
}

fn no_distance(key: &str, given: &str) -> PlanError {
    PlanError::new(
        "0A000",
        format!("RANGE with offset PRECEDING/FOLLOWING is not supported for column type {key} and offset type {given}"),
    )
    .hint("Cast the offset value to an appropriate type.")
}

fn one_column() -> PlanError {
    PlanError::new("42P20", "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column")
}

/// The parameter that an expression is, through casts among integers, which change no count.
fn parameter_of(expr: &HirExpr) -> Option<usize> {
    match expr {
        HirExpr::Param(index, _) => Some(*index),
        // From narrow to wide, as they stand in the enumeration.
        HirExpr::Cast { expr, cast, to }
            if cast.from.is_integer() && to.scalar.is_integer() && cast.from <= to.scalar =>
        {
            parameter_of(expr)
        }
        _ => None,
    }
}

/// The value of a literal, through casts of literals that do not change it.
fn constant_of(expr: &HirExpr) -> Option<Datum> {
    match expr {
        HirExpr::Literal(datum, _) => Some(datum.clone()),
        HirExpr::Cast { expr, .. } => constant_of(expr),
        _ => None,
    }
}
