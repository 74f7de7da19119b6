//! Lifting through each operator, and where it must stop.

use super::{AbsentKeys, KeyValues, RankEnd, RankRange, mentions_parameter};
use crate::mir::{Mir, expr};
use crate::names::{ColumnName, Names};
use crate::plan::MatchKind;
use crate::scalar::Comparison;
use crate::scalar::{AggregateCall, ScalarExpr, Volatility};
use crate::transform::{ranks, shape};
use repr::{ColumnType, Datum, ScalarType};

// Alternatives of one query. Unions of unions multiply them.
const ALTERNATIVES_MAX: usize = 64;

/// Lifting under way. Lifted columns stand behind the relation's own, in the order of each alternative's values.
#[derive(Clone)]
pub struct Lifting {
    /// Literals are lifted.
    pub literals: bool,
    /// Conditions on ranks are lifted, up to this one.
    pub ranks_held: Option<i64>,
    /// How many columns were lifted.
    count: usize,
    /// Their values, one list for each alternative.
    pub asked: Vec<Vec<KeyValues>>,
    /// A column may have several values here: nothing above tells rows of different keys apart.
    several: bool,
    /// Conditions may be lifted through a group that is there without rows.
    through_scalar: bool,
    /// They were.
    pub scalar: bool,
    /// Branches that ask for different keys were left as they are.
    pub apart: bool,
}

impl Lifting {
    /// Nothing yet, in a whole query.
    pub fn new(absent: AbsentKeys, ranks_held: Option<i64>) -> Lifting {
        Lifting {
            literals: false,
            ranks_held,
            count: 0,
            asked: vec![Vec::new()],
            several: true,
            through_scalar: absent == AbsentKeys::Computed,
            scalar: false,
            apart: false,
        }
    }

    /// The relation without liftable conditions, its columns followed by what was lifted in it.
    pub fn lift(&mut self, mir: Mir) -> Mir {
        let before = self.count;
        match mir {
            Mir::Filter { input, predicates } => self.filter(*input, predicates),
            Mir::Map { input, exprs } => {
                let arity = input.arity();
                let input = self.lift(*input);
                let lifted = self.count - before;
                let count = exprs.len();
                let moved = |column: usize| if column < arity { column } else { column + lifted };
                let exprs = exprs.iter().map(|own| expr::renumber(own, moved)).collect();
                let columns = (0..arity).chain(arity + lifted..arity + lifted + count).chain(arity..arity + lifted);
                input.map(exprs).project(columns.collect())
            }
            Mir::Project { input, columns } => {
                let arity = input.arity();
                let input = self.lift(*input);
                let lifted = self.count - before;
                input.project(columns.into_iter().chain(arity..arity + lifted).collect())
            }
            Mir::Join { inputs, on, same } => self.join(inputs, &on, &same),
            Mir::Match { left, right, kind, on, same } => self.matched(*left, right, kind, (&on, &same)),
            Mir::Reduce { input, keys, aggregates, scalar: true } if !self.through_scalar => {
                Mir::Reduce { input, keys, aggregates, scalar: true }
            }
            Mir::Reduce { input, keys, aggregates, scalar } => self.groups(*input, keys, aggregates, scalar),
            Mir::TopK { input, mut keys, order, limit, offset, counting } => {
                let arity = input.arity();
                let input = Box::new(self.within_groups(*input));
                keys.extend(arity..arity + self.count - before);
                Mir::TopK { input, keys, order, limit, offset, counting }
            }
            Mir::AtMostOne { input, mut keys } => {
                let arity = input.arity();
                let input = Box::new(self.within_groups(*input));
                keys.extend(arity..arity + self.count - before);
                Mir::AtMostOne { input, keys }
            }
            Mir::Window { input, mut partition, order, calls } => {
                let arity = input.arity();
                let count = calls.len();
                let input = Box::new(self.within_groups(*input));
                let lifted = self.count - before;
                partition.extend(arity..arity + lifted);
                // Calls see the input's columns only, which have kept their places.
                let windowed = Mir::Window { input, partition, order, calls };
                let calls = arity + lifted..arity + lifted + count;
                windowed.project((0..arity).chain(calls).chain(arity..arity + lifted).collect())
            }
            Mir::Let { id, value, body } => Mir::Let { id, value, body: Box::new(self.lift(*body)) },
            other @ (Mir::Constant { .. }
            | Mir::Get { .. }
            | Mir::GetLocal { .. }
            | Mir::TableFunction { .. }
            | Mir::Negate(_)
            | Mir::Threshold(_)
            | Mir::LetRec { .. }) => other,
            Mir::Union(inputs, names) => self.union(inputs, names),
        }
    }

    /// What is lifted of the predicates stands in the place of those.
    fn filter(&mut self, input: Mir, predicates: Vec<ScalarExpr>) -> Mir {
        let input = self.lift(input);
        let types = input.types();
        let (mut kept, mut lifted) = (Vec::new(), Vec::new());
        let predicates = self.ranks(&input, predicates, &mut lifted);
        for predicate in predicates {
            match self.condition(&predicate, &types) {
                // It would hold all ranks, and whatever comes moves all behind it.
                Some((ScalarExpr::Column(column), _)) if ranks::of_column(&input, column).is_some() => {
                    kept.push(predicate);
                }
                Some((column, values)) => {
                    lifted.push(column);
                    self.ask(&values);
                }
                None => kept.push(predicate),
            }
        }
        input.filter(kept).map(lifted)
    }

    /// Lifts ranks that are compared with parameters. The predicates that are left: in the place of those that were lifted what
    /// holds for all ranks that the view has.
    fn ranks(&mut self, input: &Mir, predicates: Vec<ScalarExpr>, lifted: &mut Vec<ScalarExpr>) -> Vec<ScalarExpr> {
        let asked = |predicate: &ScalarExpr| {
            let rank = rank_of(input, predicate)?;
            (mentions_parameter(&rank.end.value) && !expr::is_volatile(&rank.end.value)).then_some(rank)
        };
        let Some(held) = self.ranks_held else { return predicates };
        let upper = |predicate: &ScalarExpr| {
            let rank = asked(predicate).filter(|rank| self.several || rank.side == RankSide::Both)?;
            (rank.side != RankSide::First).then_some(rank)
        };
        let Some(Rank { column, side, end }) = predicates.iter().find_map(upper) else { return predicates };
        let Ok(within) = shape::at_most(column, held) else { return predicates };
        let first = |predicate: &ScalarExpr| {
            let rank = asked(predicate).filter(|rank| rank.column == column && rank.side == RankSide::First)?;
            Some(rank.end)
        };
        let first = match side {
            RankSide::Both => Some(end.clone()),
            RankSide::First | RankSide::Last => predicates.iter().find_map(first),
        };
        let says = |predicate: &ScalarExpr| {
            asked(predicate).is_some_and(|rank| {
                rank.column == column && (rank.end == end && rank.side == side || Some(&rank.end) == first.as_ref())
            })
        };
        let kept: Vec<ScalarExpr> =
            predicates.into_iter().filter(|predicate| !says(predicate)).chain([within]).collect();
        lifted.push(ScalarExpr::Column(column));
        self.ask(&KeyValues::Ranks(RankRange { first, last: end, held }));
        kept
    }

    /// Nothing is lifted in the right side, whose rows may be missing.
    fn matched(
        &mut self,
        left: Mir,
        right: Box<Mir>,
        kind: MatchKind,
        (on, same): (&[ScalarExpr], &[(usize, usize)]),
    ) -> Mir {
        let before = self.count;
        let (arity, width) = (left.arity(), right.arity());
        let left = self.lift(left);
        let lifted = self.count - before;
        let moved = |column: usize| if column < arity { column } else { column + lifted };
        let matched = Mir::Match {
            left: Box::new(left),
            right,
            kind,
            on: on.iter().map(|own| expr::renumber(own, moved)).collect(),
            same: same.iter().map(|(left, right)| (moved(*left), moved(*right))).collect(),
        };
        match kind {
            MatchKind::Semi | MatchKind::Anti => matched,
            MatchKind::Inner | MatchKind::Left => {
                let right = arity + lifted..arity + lifted + width;
                matched.project((0..arity).chain(right).chain(arity..arity + lifted).collect())
            }
        }
    }

    /// What is lifted of whole groups, or in their rows, is among their keys.
    fn groups(&mut self, input: Mir, mut keys: Vec<ScalarExpr>, aggregates: Vec<AggregateCall>, scalar: bool) -> Mir {
        let before = self.count;
        let (input, whole) = self.of_whole_groups(input, &keys);
        if !whole.is_empty() {
            let reduced = Mir::Reduce { input: Box::new(input), keys, aggregates, scalar };
            return self.lift(reduced.filter(whole));
        }
        let arity = input.arity();
        let input = Box::new(self.within_groups(input));
        let lifted = self.count - before;
        let (own, calls) = (keys.len(), aggregates.len());
        keys.extend((arity..arity + lifted).map(ScalarExpr::Column));
        let keyed = scalar && lifted > 0;
        self.scalar |= keyed;
        let reduced = Mir::Reduce { input, keys, aggregates, scalar: scalar && !keyed };
        let aggregates = own + lifted..own + lifted + calls;
        reduced.project((0..own).chain(aggregates).chain(own..own + lifted).collect())
    }

    /// One more lifted column, with the same values whatever else is asked for.
    fn ask(&mut self, values: &KeyValues) {
        self.count += 1;
        self.asked.iter_mut().for_each(|alternative| alternative.push(values.clone()));
    }

    /// Branches that ask for the same values are asked by them; those that ask for different ones by the branch's number too,
    /// unless rows of different keys are told apart above. Else nothing is lifted in them.
    fn union(&mut self, inputs: Vec<Mir>, names: Names) -> Mir {
        let mut branches = Vec::with_capacity(inputs.len());
        for input in &inputs {
            // A branch that has a row without rows of its key would be missed where another branch has rows.
            let mut own = Lifting { count: 0, asked: vec![Vec::new()], through_scalar: false, ..self.clone() };
            let lifted = own.lift(input.clone());
            self.apart |= own.apart;
            branches.push((lifted, own));
        }
        let arity = inputs.first().map_or(0, Mir::arity);
        let types: Vec<Vec<ScalarType>> =
            branches.iter().map(|(branch, _)| lifted_types(branch, arity).collect()).collect();
        let Some((first, (_, Lifting { asked, .. }))) = types.first().zip(branches.first()) else {
            return Mir::Union(inputs, names);
        };
        if types.iter().all(|types| types == first) && branches.iter().all(|(_, own)| own.asked == *asked) {
            self.alternatives(first.len(), asked.clone());
            return Mir::Union(branches.into_iter().map(|(branch, _)| branch).collect(), names);
        }
        let count: usize = branches.iter().map(|(_, own)| own.asked.len()).sum();
        self.apart |= !self.several;
        if !self.several || self.asked.len() * count > ALTERNATIVES_MAX {
            return Mir::Union(inputs, names);
        }
        let (places, columns) = common_columns(&types);
        let (mut numbered, mut all) = (Vec::with_capacity(branches.len()), Vec::with_capacity(count));
        for ((number, (branch, own)), places) in (0..).zip(branches).zip(places) {
            let number = ScalarExpr::Literal(
                Datum::Int4(number),
                ColumnType { nullable: false, ..ColumnType::nullable(ScalarType::Int4) },
            );
            numbered.push(with_columns(branch, arity, &places, &columns).map(vec![number.clone()]));
            all.extend(own.asked.into_iter().map(|asked| {
                let of_place = |place: &Option<usize>| place.map_or(KeyValues::Absent, |own| asked[own].clone());
                places.iter().map(of_place).chain([KeyValues::One(number.clone())]).collect()
            }));
        }
        let mut names = names;
        names.call_column(arity + columns.len(), &ColumnName { relation: None, name: "branch".into() });
        self.alternatives(columns.len() + 1, all);
        Mir::Union(numbered, names)
    }

    /// More lifted columns: each alternative so far with each of these.
    fn alternatives(&mut self, columns: usize, more: Vec<Vec<KeyValues>>) {
        self.count += columns;
        let with =
            |asked: &Vec<KeyValues>| more.iter().map(|more| [asked.as_slice(), more].concat()).collect::<Vec<_>>();
        self.asked = self.asked.iter().flat_map(with).collect();
    }

    /// Conditions below a group that give one of its keys several values hold for whole groups: they are put above it, where
    /// rows of different keys are told apart. Gives the input without them, and them.
    fn of_whole_groups(&self, input: Mir, keys: &[ScalarExpr]) -> (Mir, Vec<ScalarExpr>) {
        let Mir::Filter { input, predicates } = input else { return (input, Vec::new()) };
        let types = input.types();
        let (mut kept, mut whole) = (Vec::new(), Vec::new());
        for predicate in predicates {
            let key = match self.condition(&predicate, &types) {
                Some((column @ ScalarExpr::Column(from), KeyValues::Several(_) | KeyValues::Elements(_))) => {
                    keys.iter().position(|key| *key == column).map(|key| (from, key))
                }
                _ => None,
            };
            match key {
                Some((from, key)) => whole.push(expr::renumber(&predicate, |own| if own == from { key } else { own })),
                None => kept.push(predicate),
            }
        }
        (input.filter(kept), whole)
    }

    /// Below an operator that looks at rows of one key together.
    fn within_groups(&mut self, input: Mir) -> Mir {
        let several = std::mem::replace(&mut self.several, false);
        let input = self.lift(input);
        self.several = several;
        input
    }

    fn join(&mut self, inputs: Vec<Mir>, on: &[ScalarExpr], same: &[(usize, usize)]) -> Mir {
        let (mut places, mut lifted, mut joined) = (Vec::new(), Vec::new(), Vec::with_capacity(inputs.len()));
        let mut start = 0;
        for input in inputs {
            let arity = input.arity();
            let input = self.lift(input);
            places.extend(start..start + arity);
            lifted.extend(start + arity..start + input.arity());
            start += input.arity();
            joined.push(input);
        }
        let join = Mir::Join {
            inputs: joined,
            on: on.iter().map(|own| expr::renumber(own, |column| places[column])).collect(),
            same: same.iter().map(|(left, right)| (places[*left], places[*right])).collect(),
        };
        join.project(places.into_iter().chain(lifted).collect())
    }

    /// The column and its values, if that is what a condition says.
    fn condition(&self, predicate: &ScalarExpr, types: &[ColumnType]) -> Option<(ScalarExpr, KeyValues)> {
        if let Some((left, right)) = shape::equality(predicate) {
            let (column, value) = self.sides(left, right, types).or_else(|| self.sides(right, left, types))?;
            return Some((column.clone(), KeyValues::One(value.clone())));
        }
        if !self.several {
            return None;
        }
        if let Some((left, array)) = shape::equal_to_any(predicate) {
            let fits = self.is_column(left, types) && self.is_value(array);
            return fits.then(|| (left.clone(), KeyValues::Elements(array.clone())));
        }
        if let ScalarExpr::Or(terms) = predicate {
            let mut column = None;
            let mut values = Vec::with_capacity(terms.len());
            for term in terms {
                let (left, right) = shape::equality(term)?;
                let (own, value) = self.sides(left, right, types).or_else(|| self.sides(right, left, types))?;
                if *column.get_or_insert(own) != own {
                    return None;
                }
                values.push(value.clone());
            }
            return Some((column?.clone(), KeyValues::Several(values)));
        }
        None
    }

    fn sides<'e>(
        &self,
        column: &'e ScalarExpr,
        value: &'e ScalarExpr,
        types: &[ColumnType],
    ) -> Option<(&'e ScalarExpr, &'e ScalarExpr)> {
        (self.is_column(column, types) && self.is_value(value)).then_some((column, value))
    }

    fn is_column(&self, side: &ScalarExpr, types: &[ColumnType]) -> bool {
        !expr::is_constant(side)
            && !mentions_parameter(side)
            && side.volatility() == Volatility::Immutable
            && shape::key_class(&expr::scalar_type(side, types)).is_some()
    }

    fn is_value(&self, side: &ScalarExpr) -> bool {
        // What the session says is asked of it when the view is read.
        let is_of_session = || side.volatility() == Volatility::Stable;
        expr::is_constant(side)
            && !expr::is_volatile(side)
            && (self.literals || mentions_parameter(side) || is_of_session())
    }
}

/// A rank, and what it is compared with.
struct Rank {
    column: usize,
    side: RankSide,
    end: RankEnd,
}

/// Which end of the ranks a comparison gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RankSide {
    First,
    Last,
    /// It is equal.
    Both,
}

/// The comparison of a rank with an integer, if a condition is one.
fn rank_of(input: &Mir, predicate: &ScalarExpr) -> Option<Rank> {
    let (comparison, left, right) = shape::compared(predicate)?;
    let (comparison, column, value) = match (shape::relabelled(left), shape::relabelled(right)) {
        (ScalarExpr::Column(column), _) if expr::is_constant(right) => (comparison, *column, right),
        (_, ScalarExpr::Column(column)) if expr::is_constant(left) => (comparison.commuted(), *column, left),
        _ => return None,
    };
    let (side, inclusive) = match comparison {
        Comparison::Equal => (RankSide::Both, true),
        Comparison::Less => (RankSide::Last, false),
        Comparison::LessOrEqual => (RankSide::Last, true),
        Comparison::Greater => (RankSide::First, false),
        Comparison::GreaterOrEqual => (RankSide::First, true),
        Comparison::NotEqual | Comparison::Distinct | Comparison::NotDistinct => return None,
    };
    ranks::of_column(input, column)?;
    let is_integer = matches!(expr::scalar_type(value, &[]), ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8);
    is_integer.then(|| Rank { column, side, end: RankEnd { value: value.clone(), inclusive } })
}

/// The types of the columns that were lifted, behind the relation's own.
fn lifted_types(branch: &Mir, arity: usize) -> impl Iterator<Item = ScalarType> {
    branch.types().into_iter().skip(arity).map(|own| own.scalar)
}

/// Columns that have room for those of every branch: where each is in each branch, if it is, and their types.
fn common_columns(branches: &[Vec<ScalarType>]) -> (Vec<Vec<Option<usize>>>, Vec<ScalarType>) {
    let mut columns: Vec<ScalarType> = Vec::new();
    let mut places: Vec<Vec<Option<usize>>> = Vec::with_capacity(branches.len());
    for types in branches {
        let mut own: Vec<Option<usize>> = vec![None; columns.len()];
        for (index, scalar) in types.iter().enumerate() {
            match (0..columns.len()).find(|&column| own[column].is_none() && columns[column] == *scalar) {
                Some(column) => own[column] = Some(index),
                None => {
                    columns.push(scalar.clone());
                    own.push(Some(index));
                }
            }
        }
        places.push(own);
    }
    places.iter_mut().for_each(|own| own.resize(columns.len(), None));
    (places, columns)
}

/// A branch with these columns behind its own rather than those that were lifted in it: NULL where it has none.
fn with_columns(branch: Mir, arity: usize, places: &[Option<usize>], columns: &[ScalarType]) -> Mir {
    let width = branch.arity();
    let missing = || places.iter().zip(columns).filter(|(place, _)| place.is_none());
    let nulls: Vec<ScalarExpr> =
        missing().map(|(_, own)| ScalarExpr::Literal(Datum::Null, ColumnType::nullable(own.clone()))).collect();
    let mut next_null = width;
    let mut column = |place: &Option<usize>| match place {
        Some(lifted) => arity + lifted,
        None => {
            next_null += 1;
            next_null - 1
        }
    };
    let projected: Vec<usize> = (0..arity).chain(places.iter().map(&mut column)).collect();
    branch.map(nulls).project(projected)
}
