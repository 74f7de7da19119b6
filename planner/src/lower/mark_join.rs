//! `IN (subquery)` as a value, true, false or NULL: the subquery's values once, and each row marked by what it finds there.
//!
//! ```text
//!   rows ──┬───────────────────────────────────────┬─ the same value?   ─┬─ any value?  ─┬─ a NULL? ─▶ CASE
//!          └─ outer columns ─ subquery ─ distinct ─┴─────────────────────┴───────────────┘
//! ```
//!
//! For equalities of something outside with something inside, of one field or of several. Each mark is a left join by key
//! with rows of which one matches at most, so that it costs what its inputs cost. Only rows with NULLs in some of several
//! fields are compared one by one, with those of the other side that have NULLs too.

use super::Lowering;
use super::branch::{pair, position};
use super::env::Env;
use super::scalar::Rel;
use crate::error::PlanError;
use crate::hir::{Hir, HirColumn, HirExpr};
use crate::mir::{Mir, expr};
use crate::names::Names;
use crate::plan::MatchKind;
use crate::scalar::func::Comparison;
use crate::scalar::{Function, ScalarExpr};
use crate::transform::shape;
use repr::ScalarType;

/// `outside = inside`, or another comparison, of one field.
pub(super) struct Field<'e> {
    pub(super) function: &'static Function,
    pub(super) outside: &'e HirExpr,
    pub(super) inside: &'e HirExpr,
    /// The outside is the function's first argument.
    pub(super) in_order: bool,
}

/// Rows with what they compare, and the distinct rows of a subquery: outer columns, then its fields.
pub(super) struct MarkSides {
    pub(super) rows: Mir,
    pub(super) found: Mir,
    /// Where the rows have the outer columns.
    pub(super) correlated: Vec<usize>,
    /// Where they have their fields.
    pub(super) left: Vec<usize>,
}

impl Lowering<'_> {
    /// `condition ANY (sub)` by marks; none if it is no equality field by field.
    pub(super) fn mark(
        &mut self,
        sub: &Hir,
        condition: &HirExpr,
        rel: &mut Rel,
        guard: &[ScalarExpr],
    ) -> Result<Option<ScalarExpr>, PlanError> {
        let Some(fields) = fields(condition, sub) else { return Ok(None) };
        self.beside_found(&fields, sub, rel, guard, |this, sides| {
            Marks { sides, functions: functions(&fields) }.value(this)
        })
    }

    /// What `make` makes of the rows of `rel` beside those of `sub`: columns appended to `rel`, and an expression over them. None if
    /// a field's type is not told apart as the subquery's is.
    pub(super) fn beside_found(
        &mut self,
        fields: &[Field],
        sub: &Hir,
        rel: &mut Rel,
        guard: &[ScalarExpr],
        make: impl FnOnce(&mut Self, MarkSides) -> Result<(Mir, ScalarExpr), PlanError>,
    ) -> Result<Option<ScalarExpr>, PlanError> {
        let Some(mut outsides) = self.outsides(fields, sub, rel, guard)? else { return Ok(None) };
        let inside = rel.inside();
        let types = rel.mir.types();
        if !guard.is_empty() {
            // Rows that do not get here must not fail here.
            for outside in &mut outsides {
                let result = expr::scalar_type(outside, &types);
                *outside = ScalarExpr::Case {
                    branches: vec![(ScalarExpr::And(guard.to_vec()), outside.clone())],
                    otherwise: Box::new(expr::null(result.clone())),
                    result,
                };
            }
        }
        let used = self.free(sub, inside.scopes);
        let correlated = used.iter().map(|column| position(&inside, *column)).collect::<Result<Vec<_>, _>>()?;
        let mir = std::mem::replace(&mut rel.mir, Mir::unit());
        let arity = mir.arity();
        let count = fields.len();
        let left: Vec<usize> = (arity..arity + count).collect();
        let mut value = expr::boolean(false);
        rel.mir = self.bind(mir.map(outsides), |this, rows| {
            let keys = match correlated.is_empty() && guard.is_empty() {
                true => Mir::unit(),
                false => rows.clone().filter(guard.to_vec()).project(correlated.clone()).distinct(),
            };
            let found = this.insides(fields, sub, keys, &inside.narrowed(&used))?;
            this.bind(found, |this, found| {
                let (mir, made) = make(this, MarkSides { rows, found, correlated, left })?;
                value = made;
                Ok(mir)
            })
        })?;
        Ok(Some(value))
    }

    /// The rows of `rel` for which `condition ANY (sub)` is true, if `sub` reads nothing of theirs but what is around them: then
    /// it is joined with that before that is multiplied with the rows.
    pub(super) fn found_around(&mut self, rel: &Rel, sub: &Hir, condition: &HirExpr) -> Result<Option<Mir>, PlanError> {
        let Some(fields) = fields(condition, sub) else { return Ok(None) };
        let inside = rel.inside();
        let used = self.free(sub, inside.scopes);
        let own = inside.scopes - 1;
        if used.is_empty() || used.iter().any(|(scope, _)| *scope == own) {
            return Ok(None);
        }
        let arity = rel.mir.arity();
        let mut rel = Rel { mir: rel.mir.clone(), columns: rel.columns.clone(), env: rel.env.clone() };
        let Some(outsides) = self.outsides(&fields, sub, &mut rel, &[])? else { return Ok(None) };
        let correlated = used.iter().map(|column| position(&inside, *column)).collect::<Result<Vec<_>, _>>()?;
        let mut rows = rel.mir;
        let whole = rows.arity();
        let Some(outer) = outermost(&mut rows, &correlated).map(|outer| std::mem::replace(outer, Mir::unit())) else {
            return Ok(None);
        };
        let joined = self.bind(outer, |this, outer| {
            let keys = outer.clone().project(correlated.clone()).distinct();
            if let Some(place) = outermost(&mut rows, &[]) {
                *place = outer;
            }
            let found = this.insides(&fields, sub, keys, &inside.narrowed(&used))?;
            let compared = |(at, outside): (usize, &ScalarExpr)| {
                let (function, in_order) = functions(&fields)[at];
                let value = ScalarExpr::Column(whole + correlated.len() + at);
                compare(function, in_order, outside.clone(), value)
            };
            let on = outsides.iter().enumerate().map(compared).collect();
            let same = correlated.iter().enumerate().map(|(at, column)| (*column, whole + at)).collect();
            Ok(Mir::Join { inputs: vec![rows, found], on, same })
        })?;
        Ok(Some(joined.project((0..arity).collect())))
    }

    /// What the rows compare, over them; none if a type is not told apart as the subquery's is. Subqueries within append columns.
    fn outsides(
        &mut self,
        fields: &[Field],
        sub: &Hir,
        rel: &mut Rel,
        guard: &[ScalarExpr],
    ) -> Result<Option<Vec<ScalarExpr>>, PlanError> {
        // The same rows, as they are seen from the subquery's.
        let env = rel.inside();
        let mir = std::mem::replace(&mut rel.mir, Mir::unit());
        let mut around = Rel { mir, columns: Vec::new(), env };
        let outsides = fields.iter().map(|field| self.scalar(field.outside, &mut around, guard));
        let outsides = outsides.collect::<Result<Vec<_>, _>>()?;
        rel.mir = around.mir;
        let types = rel.mir.types();
        let agree = fields.iter().zip(&outsides).all(|(field, outside)| {
            let class = shape::key_class(&expr::scalar_type(outside, &types));
            class.is_some() && class == shape::key_class(&inside_type(field.inside, sub))
        });
        Ok(agree.then_some(outsides))
    }

    /// The distinct rows of a subquery: the outer columns in `keys`, then its fields.
    fn insides(&mut self, fields: &[Field], sub: &Hir, keys: Mir, env: &Env) -> Result<Mir, PlanError> {
        let width = keys.arity();
        let mut found = Rel::over(self.apply(sub, keys, true, env)?, width, env);
        let insides = fields.iter().map(|field| field.inside.clone()).collect::<Vec<_>>();
        let insides = self.scalars(&insides, &mut found)?;
        let at = found.mir.arity();
        Ok(found.mir.map(insides).project((0..width).chain(at..at + fields.len()).collect()).distinct())
    }
}

/// The relation that others were multiplied with, if it has all these columns.
fn outermost<'m>(mir: &'m mut Mir, columns: &[usize]) -> Option<&'m mut Mir> {
    match mir {
        Mir::Filter { input, .. } => outermost(input, columns),
        Mir::Join { inputs, .. } => {
            inputs.first_mut().filter(|first| columns.iter().all(|column| *column < first.arity()))
        }
        _ => None,
    }
}

/// Both sides of equalities.
struct Marks {
    sides: MarkSides,
    /// How fields are compared, and whether that of the rows comes first.
    functions: Vec<(&'static Function, bool)>,
}

impl Marks {
    /// The rows with their marks appended, and the value.
    fn value(self, lowering: &mut Lowering) -> Result<(Mir, ScalarExpr), PlanError> {
        let width = self.sides.correlated.len();
        let (rows_types, found_types) = (self.sides.rows.types(), self.sides.found.types());
        let right: Vec<usize> = (width..width + self.sides.left.len()).collect();
        let outside = |at: usize| ScalarExpr::Column(self.sides.left[at]);
        let inside = |at: usize| ScalarExpr::Column(right[at]);
        let nulls_of = |side: &dyn Fn(usize) -> ScalarExpr, types: &[repr::ColumnType]| {
            let nullable = (0..right.len()).filter(|at| expr::nullable(&side(*at), types));
            nullable.map(|at| Ok((at, shape::is_null(&side(at), types)?))).collect::<Result<Nulls, PlanError>>()
        };
        let null_outside = nulls_of(&outside, &rows_types)?;
        let null_inside = nulls_of(&inside, &found_types)?;

        let whole = null_inside.iter().map(|(_, null)| expr::is_not_true(null.clone())).collect();
        let same: Vec<usize> = self.sides.correlated.iter().chain(&self.sides.left).copied().collect();
        let (mut mir, equal) = marked(self.sides.rows.clone(), self.sides.found.clone().filter(whole), &same);
        let mut unknown = Vec::new();
        if self.sides.left.len() == 1 {
            let of_outer = |found: Mir| found.project((0..width).collect());
            for (_, null) in null_inside {
                let (with_mark, null) =
                    marked(mir, of_outer(self.sides.found.clone().filter(vec![null])), &self.sides.correlated);
                mir = with_mark;
                unknown.push(null);
            }
            for (_, null) in null_outside {
                let (with_mark, any) =
                    marked(mir, of_outer(self.sides.found.clone()).distinct(), &self.sides.correlated);
                mir = with_mark;
                unknown.push(ScalarExpr::And(vec![null, any]));
            }
        } else if !null_inside.is_empty() || !null_outside.is_empty() {
            let partial = self.partial(lowering, null_outside, null_inside, &same)?;
            let (with_mark, mark) = marked(mir, partial, &same);
            mir = with_mark;
            unknown.push(mark);
        }
        let mut branches = vec![(equal, expr::boolean(true))];
        branches.extend(unknown.into_iter().map(|unknown| (unknown, expr::null(ScalarType::Bool))));
        let value = ScalarExpr::Case { branches, otherwise: Box::new(expr::boolean(false)), result: ScalarType::Bool };
        Ok((mir, value))
    }

    /// The outer columns and fields of rows that agree with one of the subquery's but for NULLs: by the fields that are none in
    /// either, and one by one where both sides have some.
    fn partial(
        &self,
        lowering: &mut Lowering,
        null_outside: Nulls,
        null_inside: Nulls,
        same: &[usize],
    ) -> Result<Mir, PlanError> {
        let width = self.sides.correlated.len();
        let place = |column: usize| same.iter().position(|own| *own == column).unwrap_or(0);
        let null_outside: Nulls = null_outside.iter().map(|(at, null)| (*at, expr::renumber(null, place))).collect();
        let equal = |at: usize| {
            let (own, other) = (ScalarExpr::Column(width + at), ScalarExpr::Column(same.len() + width + at));
            let (function, in_order) = self.functions[at];
            compare(function, in_order, own, other)
        };
        let joined = |keys: Mir, found: Mir, on: Vec<ScalarExpr>| {
            let outer = (0..width).map(|column| (column, same.len() + column)).collect();
            Mir::Join { inputs: vec![keys, found], on, same: outer }.project((0..same.len()).collect())
        };
        let none = |nulls: &Nulls| nulls.iter().map(|(_, null)| expr::is_not_true(null.clone())).collect::<Vec<_>>();
        let some = |nulls: &Nulls| vec![ScalarExpr::Or(nulls.iter().map(|(_, null)| null.clone()).collect())];
        let all: Vec<usize> = (0..self.sides.left.len()).collect();
        let keys = self.sides.rows.clone().project(same.to_vec()).distinct();
        lowering.bind(keys, |_, keys| {
            let (whole_keys, whole_found) =
                (keys.clone().filter(none(&null_outside)), self.sides.found.clone().filter(none(&null_inside)));
            let loosely = || all.iter().map(|at| expr::is_not_false(equal(*at))).collect::<Vec<_>>();
            let ways = |nulls: &Nulls| match nulls.len() {
                0 => Vec::new(),
                1..=PATTERN_FIELDS_MAX => {
                    let on = |others: Vec<usize>| others.into_iter().map(equal).collect();
                    patterns(nulls, &all).into_iter().map(|(says, others)| (says, on(others))).collect()
                }
                _ => vec![(some(nulls), loosely())],
            };
            let mut parts = Vec::new();
            for (says, on) in ways(&null_outside) {
                parts.push(joined(keys.clone().filter(says), whole_found.clone(), on));
            }
            for (says, on) in ways(&null_inside) {
                parts.push(joined(whole_keys.clone(), self.sides.found.clone().filter(says), on));
            }
            if !null_outside.is_empty() && !null_inside.is_empty() {
                let found = self.sides.found.clone().filter(some(&null_inside));
                parts.push(joined(keys.filter(some(&null_outside)), found, loosely()));
            }
            Ok(Mir::Union(parts, Names::default()).distinct())
        })
    }
}

/// Fields that can be NULL, and what says that they are.
type Nulls = Vec<(usize, ScalarExpr)>;

/// The patterns of more fields than these are not told apart.
const PATTERN_FIELDS_MAX: usize = 3;

/// The ways in which some of the fields are NULL: what says so, and the other fields.
fn patterns(nulls: &Nulls, all: &[usize]) -> Vec<(Vec<ScalarExpr>, Vec<usize>)> {
    let pattern = |pattern: usize| {
        let is_null = |index: usize| pattern & (1 << index) != 0;
        let says = |(index, (_, null)): (usize, &(usize, ScalarExpr))| {
            if is_null(index) { null.clone() } else { expr::is_not_true(null.clone()) }
        };
        let null: Vec<usize> = (0..nulls.len()).filter(|index| is_null(*index)).map(|index| nulls[index].0).collect();
        let others = all.iter().copied().filter(|at| !null.contains(at)).collect();
        (nulls.iter().enumerate().map(says).collect(), others)
    };
    (1..1_usize << nulls.len()).map(pattern).collect()
}

/// The rows with a column more: true where `found`, none of whose rows are equal, has theirs, else NULL.
pub(super) fn marked(rows: Mir, found: Mir, key: &[usize]) -> (Mir, ScalarExpr) {
    let marked = pair(rows, found.map(vec![expr::boolean(true)]), key, MatchKind::Left);
    let mark = ScalarExpr::Column(marked.arity() - 1);
    (marked, mark)
}

/// A comparison of what is outside with what is inside.
pub(super) fn compare(
    function: &'static Function,
    in_order: bool,
    outside: ScalarExpr,
    inside: ScalarExpr,
) -> ScalarExpr {
    let args = if in_order { vec![outside, inside] } else { vec![inside, outside] };
    ScalarExpr::Call { function, args, result: ScalarType::Bool }
}

fn functions(fields: &[Field]) -> Vec<(&'static Function, bool)> {
    fields.iter().map(|field| (field.function, field.in_order)).collect()
}

/// The condition as equalities; none if it is something else.
fn fields<'e>(condition: &'e HirExpr, sub: &Hir) -> Option<Vec<Field<'e>>> {
    let parts = match condition {
        ScalarExpr::And(parts) => parts.as_slice(),
        only => std::slice::from_ref(only),
    };
    let equality = |field: &Field| {
        // Of these a part can be NULL.
        let whole = !matches!(inside_type(field.inside, sub), ScalarType::Record(_) | ScalarType::Array(_));
        whole && field.function.comparison() == Some(Comparison::Equal)
    };
    parts.iter().map(|part| field(part).filter(equality)).collect()
}

/// A comparison of something outside with something inside, NULL where one of them is.
pub(super) fn field(part: &HirExpr) -> Option<Field<'_>> {
    let ScalarExpr::Call { function, args, .. } = part else { return None };
    let [first, second] = args.as_slice() else { return None };
    if !shape::is_comparison(function) {
        return None;
    }
    let (outside, inside, in_order) = match (reads(first), reads(second)) {
        (Reads { within: false, .. }, Reads { within: true, without: false }) => (first, second, true),
        (Reads { within: true, without: false }, Reads { within: false, .. }) => (second, first, false),
        _ => return None,
    };
    Some(Field { function, outside, inside, in_order })
}

/// Which rows an expression reads.
struct Reads {
    /// The subquery's.
    within: bool,
    /// Those around it.
    without: bool,
}

fn reads(expression: &HirExpr) -> Reads {
    let mut reads = Reads { within: false, without: false };
    expr::visit_columns(expression, &mut |column| match column {
        HirColumn::Column { level: 0, .. } => reads.within = true,
        _ => reads.without = true,
    });
    reads
}

fn inside_type(inside: &HirExpr, sub: &Hir) -> ScalarType {
    inside.scalar_type(&|column| match column {
        HirColumn::Column { level: 0, index } => sub.types[*index].scalar.clone(),
        _ => ScalarType::Unknown,
    })
}
