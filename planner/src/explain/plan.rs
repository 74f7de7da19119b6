//! The last rung as text: the path by which each table is read.

use super::Text;
use super::column::{Columns, Leaf, Shown, Steps, all_over, chosen, over, window_over};
use super::expression::{Phrase, Piece};
use super::mir::{FunctionShown, at_most_one, bounds, counted, first_rows, kind_name, recursive};
use crate::names::Names;
use crate::physical::KeyForms;
use crate::plan::{Access, Besides, JoinRange, Lookup, MatchKind, Plan, PlanFunctionCall};
use crate::scalar::{Mfp, ScalarExpr};
use crate::temporal::ClockCondition;
use repr::{ColumnIndex, RelationId, ScalarType};

/// More keys than this are counted.
const KEYS_SHOWN_MAX: usize = 10;

impl Text<'_> {
    /// A plan and its inputs; its columns.
    pub(super) fn plan(&mut self, plan: &Plan) -> Vec<Leaf> {
        let line = self.open();
        self.lines[line].node = Some(std::ptr::from_ref(plan).addr());
        let (phrase, columns) = self.described(line, plan);
        self.lines[line].phrase = phrase;
        columns
    }

    /// The same on a line that is there.
    fn described(&mut self, line: usize, plan: &Plan) -> (Phrase, Vec<Leaf>) {
        match plan {
            Plan::Constant { rows, arity, names } => {
                let columns = self.columns.constant(std::iter::repeat_n(ScalarType::Unknown, *arity), names);
                (Phrase::of(format!("Constant ({} rows of {arity} columns)", rows.len())), columns)
            }
            Plan::Get { relation, access, with_key, names, mfp } => {
                let columns = self.columns.stored(*relation, names, *with_key);
                self.about(line, *relation, names);
                let phrase = self.access((*relation, names), access, &columns);
                self.with_steps(phrase.text(row_key(*with_key)), mfp, columns)
            }
            Plan::GetLocal { id, names, .. } => self.get_local("Read", *id, names),
            Plan::Mfp(input, mfp) => {
                let columns = self.below(input);
                self.with_steps(Phrase::of("Each row"), mfp, columns)
            }
            Plan::TableFunction { input, functions, ordinality, names } => {
                let columns = self.below(input);
                let calls = functions.iter().map(|call| function_over(call, &columns)).collect();
                self.functions(columns, calls, *ordinality, names)
            }
            Plan::LookupJoin { input, relation, lookup, key, kind, condition, with_key, names, mfp } => {
                let left = self.below(input);
                let right = self.columns.stored(*relation, names, *with_key);
                self.about(line, *relation, names);
                let phrase = self.relation((*relation, names), Phrase::of(format!("LookupJoin {} ", kind_name(*kind))));
                let phrase = self.looked_up(phrase, (*relation, *lookup), all_over(key, &left), &right);
                let (phrase, columns) = with_found(phrase, (left, right), *kind, condition);
                self.with_steps(phrase.text(row_key(*with_key)), mfp, columns)
            }
            Plan::Join { left, right, left_key, right_key, null_safe, kind, range, mfp } => {
                let keys = (left_key.as_slice(), right_key.as_slice(), *null_safe);
                let (phrase, columns) = self.join((left, right), keys, *kind, range.as_deref());
                self.with_steps(phrase, mfp, columns)
            }
            Plan::Reduce { input, keys, aggregates, .. } => {
                let columns = self.below(input);
                self.groups(&columns, keys, aggregates)
            }
            Plan::TopK { input, keys, order, limit, offset, counting } => {
                let columns = self.below(input);
                let phrase = bounds(first_rows(&columns, keys, order), limit.as_ref(), offset.as_ref());
                (counted(phrase, *counting), columns)
            }
            Plan::Window { input, partition, order, calls } => {
                let columns = self.below(input);
                let calls = calls.iter().map(|call| window_over(call, &columns)).collect();
                self.windows(columns, calls, partition, order)
            }
            Plan::AtMostOne { input, keys } => at_most_one(self.below(input), keys),
            Plan::Union(inputs, names) => {
                let is_negated = |input: &Plan| matches!(input, Plan::Negate(_));
                let branches = inputs.iter().map(|input| (self.below(input), is_negated(input))).collect();
                self.union(branches, names)
            }
            Plan::Negate(input) => (Phrase::of("Negate"), self.below(input)),
            Plan::Threshold(input) => (Phrase::of("Threshold"), self.below(input)),
            Plan::Temporal { input, conditions } => self.temporal(input, conditions),
            Plan::Let { id, value, body } => {
                self.bind(*id, |text| text.below(value));
                (Phrase::of(format!("Let l{}", id.0)), self.below(body))
            }
            Plan::LetRec { id, base, step, distinct, body } => {
                self.bind(*id, |text| text.below(base));
                self.below(step);
                (recursive(*id, *distinct), self.below(body))
            }
        }
    }

    fn temporal(&mut self, input: &Plan, conditions: &[ClockCondition]) -> (Phrase, Vec<Leaf>) {
        let columns = self.below(input);
        let conditions: Vec<ScalarExpr> = conditions.iter().map(|own| own.condition.clone()).collect();
        (Phrase::of("Temporal filter ").piece(Piece::All(all_over(&conditions, &columns))), columns)
    }

    fn below(&mut self, plan: &Plan) -> Vec<Leaf> {
        self.nested(|text| text.plan(plan))
    }

    fn join(
        &mut self,
        (left, right): (&Plan, &Plan),
        (left_key, right_key, null_safe): (&[ScalarExpr], &[ScalarExpr], bool),
        kind: MatchKind,
        range: Option<&JoinRange>,
    ) -> (Phrase, Vec<Leaf>) {
        let (left, right) = (self.below(left), self.below(right));
        let pairs: Vec<_> = all_over(left_key, &left).into_iter().zip(all_over(right_key, &right)).collect();
        let mut phrase = Phrase::of(format!("Join {}", kind_name(kind)));
        if !pairs.is_empty() {
            phrase = phrase.piece(Piece::Keys(pairs, null_safe));
        } else if range.is_none() {
            phrase = phrase.text(" all pairs");
        }
        if let Some(range) = range {
            phrase = with_range(phrase, range, &left, &right);
        }
        (phrase, joined(left, right, kind))
    }

    /// By which key rows are looked up, and with which values.
    fn looked_up(
        &self,
        phrase: Phrase,
        (relation, lookup): (RelationId, Lookup),
        values: Vec<Shown>,
        columns: &[Leaf],
    ) -> Phrase {
        let equal = self.indexed(relation, lookup, columns);
        let equal = equal.into_iter().zip(values).map(|(leaf, value)| (leaf, vec![value])).collect();
        phrase.text(format!(" using {} ", self.lookup(relation, lookup))).piece(Piece::Equal(equal, Vec::new()))
    }

    /// The relation that a line is about.
    fn about(&mut self, line: usize, relation: RelationId, names: &Names) {
        self.lines[line].relation = Some(self.relation_name(relation));
        self.lines[line].item = Some(self.columns.stored_item(relation, names));
    }

    fn with_steps(&mut self, phrase: Phrase, mfp: &Mfp, columns: Vec<Leaf>) -> (Phrase, Vec<Leaf>) {
        let Steps { filter, within, output, all } = self.columns.steps(mfp, columns);
        let mut phrase = phrase;
        if !filter.is_empty() {
            phrase = phrase.text(" where ").piece(Piece::All(filter));
        }
        // What is computed on the way is seen where it is used, unless it has a name.
        phrase.0.extend((!within.is_empty()).then_some(Piece::Within(within)));
        if !all {
            let computes = output.iter().any(|(_, is_made)| *is_made);
            let pieces = output
                .iter()
                .map(|(leaf, is_made)| if *is_made { Piece::Made(leaf.clone()) } else { Piece::Name(leaf.clone()) });
            phrase = phrase.text(if computes { " compute " } else { " keep " }).made(pieces);
        }
        (phrase, output.into_iter().map(|(leaf, _)| leaf).collect())
    }

    fn access(&mut self, relation: (RelationId, &Names), access: &Access, columns: &[Leaf]) -> Phrase {
        let (id, _) = relation;
        match access {
            Access::Scan => self.relation(relation, Phrase::of("Scan ")),
            Access::Listed { lookup, values } => {
                let or = format!(" or {} keys using {}", values.elements.len(), self.lookup(id, *lookup));
                self.relation(relation, Phrase::of("Scan ")).text(or)
            }
            Access::Met { lookup, keys_max, .. } => {
                let or = format!(" or up to {keys_max} keys using {}", self.lookup(id, *lookup));
                self.relation(relation, Phrase::of("Scan ")).text(or)
            }
            Access::Lookup { lookup, keys, besides } => {
                let phrase = self.relation(relation, Phrase::of("Lookup "));
                let phrase = phrase.text(format!(" using {} ", self.lookup(id, *lookup)));
                let indexed = self.indexed(id, *lookup, columns);
                let phrase = match self.listed(&indexed, keys) {
                    Some(equal) => phrase.piece(Piece::Equal(equal, Vec::new())),
                    None => phrase.columns(&indexed).text(format!(", {} keys", keys.len())),
                };
                match besides {
                    Besides::None => phrase,
                    Besides::Narrowing(others) => {
                        let others: Vec<String> = others.iter().map(|(index, _)| self.index(id, *index)).collect();
                        phrase.text(format!(" beside {}", others.join(", ")))
                    }
                    Besides::InCommon { index, .. } => phrase.text(format!(" or using {}", self.index(id, *index))),
                }
            }
            Access::Inverted { index, .. } => {
                let using = format!(" using {}", self.index(id, *index));
                self.relation(relation, Phrase::of("InvertedScan ")).text(using)
            }
            Access::Range { lookup, prefix, lower, upper, reverse, .. } => {
                // Of hashed keys, it is read where its order is in memory.
                let range = if self.catalog.ordered(id) { "Range " } else { "OrderedScan " };
                let phrase = self.relation(relation, Phrase::of(range));
                let mut phrase = phrase.text(format!(" using {}", self.lookup(id, *lookup)));
                let indexed = self.indexed(id, *lookup, columns);
                let equal: Vec<(Leaf, Vec<Shown>)> =
                    indexed.iter().cloned().zip(prefix.iter().map(|value| vec![over(value, &[])])).collect();
                let bound = |bound: &Option<(ScalarExpr, bool)>, [strict, inclusive]: [&'static str; 2]| {
                    let (value, is_inclusive) = bound.as_ref()?;
                    let sign = if *is_inclusive { inclusive } else { strict };
                    Some((indexed.get(prefix.len())?.clone(), sign, over(value, &[])))
                };
                let bounds: Vec<_> = bound(lower, [">", ">="]).into_iter().chain(bound(upper, ["<", "<="])).collect();
                if !equal.is_empty() || !bounds.is_empty() {
                    phrase = phrase.text(" ").piece(Piece::Equal(equal, bounds));
                }
                if *reverse { phrase.text(" backwards") } else { phrase }
            }
        }
    }

    /// Keys column by column, if they are few and differ in one column.
    fn listed(&self, indexed: &[Leaf], keys: &[Vec<ScalarExpr>]) -> Option<Vec<(Leaf, Vec<Shown>)>> {
        let first = keys.first()?;
        let mut differing = 0;
        let mut listed = Vec::with_capacity(first.len());
        for (place, value) in first.iter().enumerate() {
            let differs = keys.iter().any(|key| key.get(place) != Some(value));
            differing += usize::from(differs);
            let values = keys.iter().take(if differs { keys.len() } else { 1 });
            let values = values.filter_map(|key| Some(over(key.get(place)?, &[]))).collect();
            listed.push((indexed.get(place)?.clone(), values));
        }
        (differing <= 1 && keys.len() <= KEYS_SHOWN_MAX).then_some(listed)
    }

    /// The columns of a key or an index.
    fn indexed(&self, relation: RelationId, lookup: Lookup, columns: &[Leaf]) -> Vec<Leaf> {
        let table = self.catalog.table(relation);
        let places: &[ColumnIndex] = match (table, lookup) {
            // Numbered catalog relations have a key of their first column.
            (None, _) => &[0],
            (Some(table), Lookup::PrimaryKey) => table.primary_key_columns().unwrap_or_default(),
            (Some(table), Lookup::Index(id)) => table.index(id).map_or(&[], |index| &index.columns),
        };
        chosen(columns, places)
    }

    fn lookup(&self, relation: RelationId, lookup: Lookup) -> String {
        match lookup {
            Lookup::PrimaryKey => "primary key".to_owned(),
            Lookup::Index(id) => self.index(relation, id),
        }
    }
}

fn function_over((function, args, types): &PlanFunctionCall, columns: &[Leaf]) -> FunctionShown {
    (*function, all_over(args, columns), types.clone())
}

fn row_key(with_key: bool) -> &'static str {
    if with_key { " with row key" } else { "" }
}

/// Which of the rows that are found count, and the columns with theirs, if they are given.
fn with_found(
    mut phrase: Phrase,
    (mut columns, found): (Vec<Leaf>, Vec<Leaf>),
    kind: MatchKind,
    condition: &[ScalarExpr],
) -> (Phrase, Vec<Leaf>) {
    let width = columns.len();
    columns.extend(found);
    if !condition.is_empty() {
        phrase = phrase.text(" if ").piece(Piece::All(all_over(condition, &columns)));
    }
    match kind {
        MatchKind::Inner | MatchKind::Left => {}
        MatchKind::Semi | MatchKind::Anti => columns.truncate(width),
    }
    (phrase, columns)
}

/// The columns of a join.
fn joined(mut left: Vec<Leaf>, right: Vec<Leaf>, kind: MatchKind) -> Vec<Leaf> {
    match kind {
        MatchKind::Inner => left.extend(right),
        MatchKind::Left => {
            Columns::without_row(&right);
            left.extend(right);
        }
        MatchKind::Semi | MatchKind::Anti => {}
    }
    left
}

/// Which pairs of a join are looked at.
fn with_range(phrase: Phrase, range: &JoinRange, left: &[Leaf], right: &[Leaf]) -> Phrase {
    let value = over(&range.value, right);
    let mut phrase = phrase.text(" in order of ").piece(Piece::Expr(value.clone()));
    for (bound, strict, inclusive) in [(&range.lower, " > ", " >= "), (&range.upper, " < ", " <= ")] {
        if let Some((bound, is_inclusive)) = bound {
            let sign = if *is_inclusive { inclusive } else { strict };
            phrase = phrase.text(sign).piece(Piece::Expr(over(bound, left)));
        }
    }
    if let Some(ends) = &range.ends {
        for (rows, which) in [(ends.low, "first"), (ends.high, "last")] {
            if rows > 0 {
                phrase = phrase.text(format!(" {which} {rows}"));
            }
        }
    }
    phrase
}
