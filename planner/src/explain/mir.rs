//! The second rung as text.

use super::Text;
use super::column::{Columns, Leaf, Shown, aggregate_over, all_over, at, chosen, ordered, over, window_over};
use super::expression::{Phrase, Piece};
use crate::mir::Mir;
use crate::names::Names;
use crate::plan::{Counting, LocalId, MatchKind};
use crate::scalar::{AggregateCall, Order, ScalarExpr, TableFunction, WindowCall};
use repr::{RelationId, ScalarType};

/// A set-returning function, what it is called with, and the types of its columns.
pub(super) type FunctionShown = (&'static TableFunction, Vec<Shown>, Vec<ScalarType>);

impl Text<'_> {
    /// A relation and its inputs; its columns.
    pub(super) fn mir(&mut self, mir: &Mir) -> Vec<Leaf> {
        let line = self.open();
        let (phrase, columns) = match mir {
            Mir::Constant { rows, types, names } => {
                let columns = self.columns.constant(types.iter().map(|column| column.scalar.clone()), names);
                (Phrase::of(format!("Constant ({} rows of {} columns)", rows.len(), types.len())), columns)
            }
            Mir::Get { relation, with_key, names, .. } => self.get(*relation, names, *with_key),
            Mir::GetLocal { id, names, .. } => self.get_local("Get", *id, names),
            Mir::Map { input, exprs } => self.map(input, exprs),
            Mir::Filter { input, predicates } => {
                let columns = self.under(input);
                (Phrase::of("Filter ").piece(Piece::All(all_over(predicates, &columns))), columns)
            }
            Mir::Project { input, columns: places } => {
                let columns = chosen(&self.under(input), places);
                (Phrase::of("Project ").columns(&columns), columns)
            }
            Mir::Join { inputs, on, same } => {
                let mut columns = Vec::new();
                for input in inputs {
                    columns.extend(self.under(input));
                }
                (conditions(Phrase::of("Join"), on, same, &columns), columns)
            }
            Mir::Match { left, right, kind, on, same } => self.matched((left, right), *kind, (on, same)),
            Mir::TableFunction { input, functions, ordinality, names } => {
                let columns = self.under(input);
                let calls = functions.iter().map(|(function, args, types)| {
                    let types = types.iter().map(|column| column.scalar.clone()).collect();
                    (*function, all_over(args, &columns), types)
                });
                let calls = calls.collect();
                self.functions(columns, calls, *ordinality, names)
            }
            Mir::Reduce { input, keys, aggregates, .. } => {
                let columns = self.under(input);
                self.groups(&columns, keys, aggregates)
            }
            Mir::TopK { input, keys, order, limit, offset, counting } => {
                let columns = self.under(input);
                let phrase = bounds(first_rows(&columns, keys, order), limit.as_ref(), offset.as_ref());
                (counted(phrase, *counting), columns)
            }
            Mir::Window { input, partition, order, calls } => {
                let columns = self.under(input);
                let calls = calls.iter().map(|call| window_over(call, &columns)).collect();
                self.windows(columns, calls, partition, order)
            }
            Mir::AtMostOne { input, keys } => at_most_one(self.under(input), keys),
            Mir::Union(inputs, names) => {
                let is_negated = |input: &Mir| matches!(input, Mir::Negate(_));
                let branches = inputs.iter().map(|input| (self.under(input), is_negated(input))).collect();
                self.union(branches, names)
            }
            Mir::Negate(input) => (Phrase::of("Negate"), self.under(input)),
            Mir::Threshold(input) => (Phrase::of("Threshold"), self.under(input)),
            Mir::Let { id, value, body } => {
                self.bind(*id, |text| text.under(value));
                (Phrase::of(format!("Let l{}", id.0)), self.under(body))
            }
            Mir::LetRec { id, base, step, distinct, body } => {
                self.bind(*id, |text| text.under(base));
                self.under(step);
                (recursive(*id, *distinct), self.under(body))
            }
        };
        self.lines[line].phrase = phrase;
        columns
    }

    fn map(&mut self, input: &Mir, exprs: &[ScalarExpr]) -> (Phrase, Vec<Leaf>) {
        let mut columns = self.under(input);
        let mut pieces = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let (leaf, piece) = self.mapped(over(expr, &columns));
            pieces.push(piece);
            columns.push(leaf);
        }
        (Phrase::of("Map ").made(pieces), columns)
    }

    fn matched(
        &mut self,
        (left, right): (&Mir, &Mir),
        kind: MatchKind,
        (on, same): (&[ScalarExpr], &[(usize, usize)]),
    ) -> (Phrase, Vec<Leaf>) {
        let mut columns = self.under(left);
        let width = columns.len();
        columns.extend(self.under(right));
        let phrase = conditions(Phrase::of(format!("{} join", kind_name(kind))), on, same, &columns);
        match kind {
            MatchKind::Inner => {}
            MatchKind::Left => Columns::without_row(&columns[width..]),
            MatchKind::Semi | MatchKind::Anti => columns.truncate(width),
        }
        (phrase, columns)
    }

    fn under(&mut self, mir: &Mir) -> Vec<Leaf> {
        self.nested(|text| text.mir(mir))
    }

    /// A stored relation.
    pub(super) fn get(&mut self, relation: RelationId, names: &Names, with_key: bool) -> (Phrase, Vec<Leaf>) {
        let phrase = self.relation((relation, names), Phrase::of("Get "));
        let phrase = if with_key { phrase.text(" with row key") } else { phrase };
        (phrase, self.columns.stored(relation, names, with_key))
    }

    /// Binds a local to its value, which is shown.
    pub(super) fn bind(&mut self, id: LocalId, shown: impl FnOnce(&mut Self) -> Vec<Leaf>) {
        let value = shown(self);
        self.locals.insert(id, value);
    }

    /// What a local is bound to.
    pub(super) fn get_local(&mut self, word: &str, id: LocalId, names: &Names) -> (Phrase, Vec<Leaf>) {
        let value = self.locals.get(&id).cloned().unwrap_or_default();
        let columns = self.columns.local(&value, names);
        (self.called(Phrase::of(format!("{word} l{}", id.0)), names), columns)
    }

    /// What an expression is, and how it is shown where it is computed, if it is.
    pub(super) fn mapped(&mut self, shown: Shown) -> (Leaf, Piece) {
        let is_column = matches!(shown, ScalarExpr::Column(_));
        let leaf = self.columns.mapped(shown);
        let piece = if is_column { Piece::Name(leaf.clone()) } else { Piece::Made(leaf.clone()) };
        (leaf, piece)
    }

    /// Group keys and aggregates.
    pub(super) fn groups(
        &mut self,
        columns: &[Leaf],
        keys: &[ScalarExpr],
        aggregates: &[AggregateCall],
    ) -> (Phrase, Vec<Leaf>) {
        let calls = aggregates.iter().map(|call| aggregate_over(call, columns)).collect();
        self.groups_of(all_over(keys, columns), calls)
    }

    /// The same over what columns are.
    pub(super) fn groups_of(&mut self, keys: Vec<Shown>, calls: Vec<AggregateCall<Leaf>>) -> (Phrase, Vec<Leaf>) {
        let is_distinct = calls.is_empty();
        let mut columns = Vec::with_capacity(keys.len() + calls.len());
        let mut by = Vec::with_capacity(keys.len());
        for key in keys {
            let (leaf, piece) = self.mapped(key);
            by.push(piece);
            columns.push(leaf);
        }
        if is_distinct {
            return (Phrase::of("Distinct ").made(by), columns);
        }
        let calls: Vec<Leaf> = calls.into_iter().map(|call| self.columns.aggregate(call)).collect();
        let phrase = Phrase::of("Reduce by ").made(by).text(" to ").made(calls.iter().cloned().map(Piece::Made));
        columns.extend(calls);
        (phrase, columns)
    }

    /// Window calls, which are appended to the columns.
    pub(super) fn windows(
        &mut self,
        mut columns: Vec<Leaf>,
        calls: Vec<WindowCall<Leaf>>,
        partition: &[usize],
        order: &[Order],
    ) -> (Phrase, Vec<Leaf>) {
        let (partition, order) = (chosen(&columns, partition), ordered(&columns, order));
        let calls: Vec<Leaf> = calls.into_iter().map(|call| self.columns.window(call, &partition, &order)).collect();
        let phrase = Phrase::of("Window ").list(calls.iter().cloned().map(Piece::Call));
        columns.extend(calls);
        (phrase.text(" by ").columns(&partition).text(" order (").order(&order).text(")"), columns)
    }

    /// Set-returning functions, whose columns are appended to the columns.
    pub(super) fn functions(
        &mut self,
        mut columns: Vec<Leaf>,
        calls: Vec<FunctionShown>,
        ordinality: bool,
        names: &Names,
    ) -> (Phrase, Vec<Leaf>) {
        let mut phrase = Phrase::of("TableFunction ");
        for (place, (function, args, _)) in calls.iter().enumerate() {
            let name = if place > 0 { format!(", {}(", function.name) } else { format!("{}(", function.name) };
            phrase = phrase.text(name).list(args.iter().cloned().map(Piece::Expr)).text(")");
        }
        let phrase = self.called(phrase, names);
        let phrase = if ordinality { phrase.text(" with ordinality") } else { phrase };
        columns.extend(self.columns.functions(calls, ordinality, names));
        (phrase, columns)
    }

    /// A UNION of branches, some of which take rows away.
    pub(super) fn union(&mut self, branches: Vec<(Vec<Leaf>, bool)>, names: &Names) -> (Phrase, Vec<Leaf>) {
        let adding: Vec<Vec<Leaf>> =
            branches.into_iter().filter(|(_, is_negated)| !is_negated).map(|(columns, _)| columns).collect();
        let columns = self.columns.either(&adding, names);
        let is_new = |leaf: &Leaf| adding.first().is_some_and(|first| !first.contains(leaf)) && leaf.is_either();
        if columns.iter().any(is_new) {
            return (Phrase::of("Union to ").columns(&columns), columns);
        }
        (Phrase::of("Union"), columns)
    }
}

/// The name of a kind of match.
pub(super) fn kind_name(kind: MatchKind) -> &'static str {
    match kind {
        MatchKind::Inner => "Inner",
        MatchKind::Left => "Left",
        MatchKind::Semi => "Semi",
        MatchKind::Anti => "Anti",
    }
}

/// The only row of each group.
pub(super) fn at_most_one(columns: Vec<Leaf>, keys: &[usize]) -> (Phrase, Vec<Leaf>) {
    (Phrase::of("AtMostOne by ").columns(&chosen(&columns, keys)), columns)
}

/// What adds to itself until nothing is new.
pub(super) fn recursive(id: LocalId, distinct: bool) -> Phrase {
    let union = if distinct { "union" } else { "union all" };
    Phrase::of(format!("LetRec l{} {union}", id.0))
}

/// The first rows of each group, before it is said how many.
pub(super) fn first_rows(columns: &[Leaf], keys: &[usize], order: &[Order]) -> Phrase {
    let phrase = Phrase::of("TopK by ").columns(&chosen(columns, keys));
    phrase.text(" order (").order(&ordered(columns, order)).text(")")
}

/// LIMIT and OFFSET, which see no columns.
pub(super) fn bounds(mut phrase: Phrase, limit: Option<&ScalarExpr>, offset: Option<&ScalarExpr>) -> Phrase {
    for (word, bound) in [(" limit ", limit), (" offset ", offset)] {
        if let Some(bound) = bound {
            phrase = phrase.text(word).piece(Piece::Expr(over(bound, &[])));
        }
    }
    phrase
}

/// What the limit of first rows counts, if not rows.
pub(super) fn counted(phrase: Phrase, counting: Counting) -> Phrase {
    match counting {
        Counting::Rows => phrase,
        Counting::RowsWithPeers => phrase.text(" with peers"),
        Counting::PeerGroups => phrase.text(" groups of peers"),
    }
}

fn conditions(mut phrase: Phrase, on: &[ScalarExpr], same: &[(usize, usize)], columns: &[Leaf]) -> Phrase {
    if !same.is_empty() {
        let pairs = same.iter().map(|(left, right)| (at(columns, *left), at(columns, *right))).collect();
        phrase = phrase.piece(Piece::Keys(pairs, true));
    }
    match (same.is_empty(), on.is_empty()) {
        (_, true) => phrase,
        (true, false) => phrase.text(" on ").piece(Piece::All(all_over(on, columns))),
        (false, false) => phrase.text(" and ").piece(Piece::All(all_over(on, columns))),
    }
}
