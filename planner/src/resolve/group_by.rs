//! GROUP BY: which keys there are, and which of them each grouping set has.

use super::calls::{Call, VIRTUAL};
use super::comparable::require_equality;
use super::expr::unnested;
use super::from::plain_column;
use super::group::{GroupKey, Grouping};
use super::query::ordinal;
use super::scope::{Clause, fold};
use super::select::Target;
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::parse::grouping_sets::{self, Nested};
use sqlparser::ast::{Expr, GroupByExpr, Value, ValueWithSpan};
use std::collections::BTreeSet;

/// The most sets that a clause may come to.
const SETS_MAX: usize = 4096;
/// The most elements of a CUBE.
const CUBE_MAX: usize = 12;

impl Resolver<'_> {
    /// `targets` are the select list and what ORDER BY added to it, the first `outputs` being the select list.
    pub(super) fn group_by(
        &mut self,
        written: &GroupByExpr,
        targets: &[Target],
        outputs: usize,
    ) -> Result<Option<Grouping>, PlanError> {
        let (exprs, modifiers) = match written {
            GroupByExpr::Expressions(exprs, modifiers) => (exprs.as_slice(), modifiers),
            GroupByExpr::All(_) => return Err(PlanError::new("42601", "syntax error at or near \"ALL\"")),
        };
        if exprs.is_empty() && modifiers.is_empty() {
            return Ok(None);
        }
        // Other systems' WITH ROLLUP and the like.
        if !modifiers.is_empty() {
            return Err(PlanError::new("42601", "syntax error at or near \"WITH\""));
        }
        let (distinct, exprs) = grouping_sets::distinct(exprs);
        let mut clause = GroupBy { targets, outputs, grouping: Grouping { keys: Vec::new(), sets: vec![Vec::new()] } };
        for expr in exprs {
            let choices = self.grouping_choices(expr, &mut clause)?;
            if clause.grouping.sets.len().saturating_mul(choices.len()) > SETS_MAX {
                return Err(too_many_sets());
            }
            clause.grouping.sets = combined(&clause.grouping.sets, &choices);
        }
        let mut grouping = clause.grouping;
        if distinct {
            let mut seen = BTreeSet::new();
            grouping.sets.retain(|set| seen.insert(set.iter().copied().collect::<BTreeSet<usize>>()));
        }
        Ok(Some(grouping))
    }

    /// The sets that an item stands for, of which each is combined with those of the other items.
    fn grouping_choices(&mut self, expr: &Expr, clause: &mut GroupBy<'_>) -> Result<Vec<Vec<usize>>, PlanError> {
        Ok(match expr {
            Expr::GroupingSets(sets) => {
                let mut choices = Vec::new();
                for set in sets {
                    match set.as_slice() {
                        [item] => choices.extend(self.nested_choices(item, clause)?),
                        items => choices.push(self.group_keys(items, clause)?),
                    }
                    if choices.len() > SETS_MAX {
                        return Err(too_many_sets());
                    }
                }
                choices
            }
            Expr::Rollup(parts) => {
                rolled_up(&parts.iter().map(|part| self.group_keys(part, clause)).collect::<Result<Vec<_>, _>>()?)
            }
            Expr::Cube(parts) => {
                cubed(&parts.iter().map(|part| self.group_keys(part, clause)).collect::<Result<Vec<_>, _>>()?)?
            }
            Expr::Tuple(items) => vec![self.group_keys(items, clause)?],
            other => vec![self.group_keys(std::slice::from_ref(other), clause)?],
        })
    }

    /// An element of GROUPING SETS.
    fn nested_choices(&mut self, item: &Expr, clause: &mut GroupBy<'_>) -> Result<Vec<Vec<usize>>, PlanError> {
        let parts_of = |resolver: &mut Self, items: &[&Expr], clause: &mut GroupBy<'_>| {
            let keys = |item: &&Expr| match item {
                Expr::Tuple(items) => resolver.group_keys(items, clause),
                item => resolver.group_keys(std::slice::from_ref(*item), clause),
            };
            items.iter().map(keys).collect::<Result<Vec<_>, PlanError>>()
        };
        Ok(match grouping_sets::nested(item)? {
            Some(Nested::Rollup(items)) => rolled_up(&parts_of(self, &items, clause)?),
            Some(Nested::Cube(items)) => cubed(&parts_of(self, &items, clause)?)?,
            Some(Nested::Sets(items)) => {
                let mut choices = Vec::new();
                for item in items {
                    choices.extend(self.nested_choices(item, clause)?);
                    if choices.len() > SETS_MAX {
                        return Err(too_many_sets());
                    }
                }
                choices
            }
            Some(Nested::Nothing) => vec![Vec::new()],
            None => match item {
                Expr::Tuple(items) => vec![self.group_keys(items, clause)?],
                item => vec![self.group_keys(std::slice::from_ref(item), clause)?],
            },
        })
    }

    fn group_keys(&mut self, exprs: &[Expr], clause: &mut GroupBy<'_>) -> Result<Vec<usize>, PlanError> {
        let mut keys = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let key = self.group_key(expr, clause)?;
            let known = clause.grouping.keys.iter().position(|known| match (known.target, key.target) {
                (Some(known), Some(target)) => known == target,
                (None, None) => known.typed.expr == key.typed.expr,
                (Some(_), None) | (None, Some(_)) => false,
            });
            keys.push(known.unwrap_or(clause.grouping.keys.len()));
            if known.is_none() {
                clause.grouping.keys.push(key);
            }
        }
        Ok(keys)
    }

    /// A column of FROM, an output by name or number, else an expression: the first output that is the same, if one is.
    fn group_key(&mut self, expr: &Expr, clause: &GroupBy<'_>) -> Result<GroupKey, PlanError> {
        let position = self.position_of(expr);
        let (typed, target) = match self.output_of(expr, &clause.targets[..clause.outputs])? {
            Some(target) => (clause.targets[target].typed.clone(), Some(target)),
            None => {
                let references = self.frames.last().map_or(0, |frame| frame.references.len());
                let typed = self.in_clause(Clause::GroupBy, |resolver| resolver.expr(expr))?;
                if let Some(frame) = self.frames.last_mut() {
                    frame.references.truncate(references);
                }
                let typed = self.settle(typed)?;
                let target = clause.targets.iter().position(|target| target.typed.expr == typed.expr);
                (typed, target)
            }
        };
        self.require_groupable(&typed).map_err(|error| error.at(position))?;
        Ok(GroupKey { typed, target })
    }

    /// The output that a name or a number in GROUP BY is; a column of FROM goes before an output's name.
    fn output_of(&self, expr: &Expr, targets: &[Target]) -> Result<Option<usize>, PlanError> {
        let position = self.position_of(expr);
        match unnested(expr) {
            Expr::Identifier(ident) => {
                let name = fold(ident);
                let in_from =
                    self.frames.last().is_some_and(|frame| frame.columns.iter().any(|column| column.name == name));
                if in_from {
                    return Ok(None);
                }
                let mut named = targets.iter().enumerate().filter(|(_, target)| target.name == name);
                let Some((index, first)) = named.next() else { return Ok(None) };
                if named.any(|(_, other)| other.typed.expr != first.typed.expr) {
                    let message = format!("GROUP BY \"{name}\" is ambiguous");
                    return Err(PlanError::new("42702", message).at(position));
                }
                Ok(Some(index))
            }
            Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => {
                ordinal(digits, targets.len(), "GROUP BY").map(Some).map_err(|error| error.at(position))
            }
            Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(_) | Value::Boolean(_), .. }) => {
                Err(PlanError::new("42601", "non-integer constant in GROUP BY").at(position))
            }
            _ => Ok(None),
        }
    }

    fn require_groupable(&self, typed: &Typed) -> Result<(), PlanError> {
        if self.is_whole_set(typed) {
            return Ok(());
        }
        let mut over_calls = false;
        super::levels::expr_levels(&typed.expr, &mut |level, index| over_calls |= level == 0 && index >= VIRTUAL);
        if self.returns_set(&typed.expr) {
            return Err(PlanError::unsupported("grouping by an expression over a set-returning function")
                .hint("Select it in a subquery in FROM, and group by its column."));
        }
        if over_calls {
            return Err(PlanError::new("42803", "aggregate functions are not allowed in GROUP BY"));
        }
        require_equality(typed.scalar())
    }

    /// Whether an expression is a set-returning call of one column, over no other.
    fn is_whole_set(&self, typed: &Typed) -> bool {
        let call = plain_column(&typed.expr).and_then(|index| index.checked_sub(VIRTUAL));
        let call = call.and_then(|call| self.frames.last().and_then(|frame| frame.calls.get(call)));
        let Some(Call::Set { args, columns, .. }) = call else { return false };
        let mut over_calls = false;
        for arg in args {
            super::levels::expr_levels(arg, &mut |level, index| over_calls |= level == 0 && index >= VIRTUAL);
        }
        columns.len() == 1 && !over_calls && !columns[0].scalar.is_without_equality()
    }
}

/// The clause while it is read.
struct GroupBy<'t> {
    targets: &'t [Target],
    outputs: usize,
    grouping: Grouping,
}

fn too_many_sets() -> PlanError {
    PlanError::new("54001", format!("too many grouping sets present (maximum {SETS_MAX})"))
}

/// Each of the sets with each of the choices.
fn combined(sets: &[Vec<usize>], choices: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let joined = |set: &Vec<usize>, choice: &Vec<usize>| {
        let mut joined = set.clone();
        for key in choice {
            if !joined.contains(key) {
                joined.push(*key);
            }
        }
        joined
    };
    sets.iter().flat_map(|set| choices.iter().map(move |choice| joined(set, choice))).collect()
}

/// ROLLUP: all parts, then without the last, down to none.
fn rolled_up(parts: &[Vec<usize>]) -> Vec<Vec<usize>> {
    (0..=parts.len()).rev().map(|length| parts[..length].concat()).collect()
}

/// CUBE: each choice of parts.
fn cubed(parts: &[Vec<usize>]) -> Result<Vec<Vec<usize>>, PlanError> {
    if parts.len() > CUBE_MAX {
        return Err(PlanError::new("54001", format!("CUBE is limited to {CUBE_MAX} elements")));
    }
    let chosen = |mask: usize| {
        let is_chosen = move |index: usize| mask & (1 << (parts.len() - 1 - index)) == 0;
        parts
            .iter()
            .enumerate()
            .filter(move |(index, _)| is_chosen(*index))
            .flat_map(|(_, part)| part.clone())
            .collect()
    };
    Ok((0..1_usize << parts.len()).map(chosen).collect())
}
