//! The last rung as text: the path by which each table is read.

use super::mir::{bounds, kind_name};
use super::{Text, columns, expr, order_items};
use crate::physical::KeyForms;
use crate::plan::{Access, JoinRange, Lookup, Plan};
use crate::scalar::{Mfp, ScalarExpr};
use repr::RelationId;

impl Text<'_> {
    /// A plan and its inputs.
    pub(super) fn plan(&mut self, plan: &Plan) {
        let column = |column: &usize| format!("#{column}");
        self.node = Some(std::ptr::from_ref(plan).addr());
        if let Plan::Get { relation, .. } | Plan::LookupJoin { relation, .. } = plan {
            self.about = Some(self.relation(*relation));
        }
        match plan {
            Plan::Constant { rows, arity } => {
                self.line(format_args!("Constant ({} rows of {arity} columns)", rows.len()));
            }
            Plan::Get { relation, access, with_key, mfp } => {
                let key = if *with_key { " with row key" } else { "" };
                let line = self.access(*relation, access);
                self.line(format_args!("{line}{key}{}", mfp_note(mfp)));
            }
            Plan::GetLocal { id, .. } => self.line(format_args!("Read l{}", id.0)),
            Plan::Mfp(input, mfp) => self.step(format!("Each row{}", mfp_note(mfp)), [&**input]),
            Plan::TableFunction { input, functions, ordinality } => {
                let calls: Vec<String> = functions
                    .iter()
                    .map(|(function, args, _)| format!("{}({})", function.name, expr::scalars(args)))
                    .collect();
                let ordinality = if *ordinality { " with ordinality" } else { "" };
                self.step(format!("TableFunction {}{ordinality}", calls.join(", ")), [&**input]);
            }
            Plan::LookupJoin { input, relation, lookup, key, kind, condition, with_key, mfp } => {
                let condition =
                    if condition.is_empty() { String::new() } else { format!(" if {}", expr::all(condition)) };
                let with_key = if *with_key { " with row key" } else { "" };
                let line = format!(
                    "LookupJoin {} {} using {} = ({}){condition}{with_key}{}",
                    kind_name(*kind),
                    self.relation(*relation),
                    self.lookup(*relation, *lookup),
                    expr::scalars(key),
                    mfp_note(mfp)
                );
                self.step(line, [&**input]);
            }
            Plan::Join { left, right, left_key, right_key, null_safe, kind, range, mfp } => {
                let equals = if *null_safe { "same as" } else { "=" };
                let key = if left_key.is_empty() && range.is_some() {
                    String::new()
                } else if left_key.is_empty() {
                    String::from(" all pairs")
                } else {
                    format!(" by ({}) {equals} ({})", expr::scalars(left_key), expr::scalars(right_key))
                };
                let range = range.as_ref().map(|range| range_note(range)).unwrap_or_default();
                self.step(format!("Join {}{key}{range}{}", kind_name(*kind), mfp_note(mfp)), [&**left, &**right]);
            }
            Plan::Reduce { input, keys, aggregates, .. } => {
                let line = if aggregates.is_empty() {
                    format!("Distinct ({})", expr::scalars(keys))
                } else {
                    let calls: Vec<String> = aggregates.iter().map(|call| expr::aggregate(call, &column)).collect();
                    format!("Reduce by ({}) to ({})", expr::scalars(keys), calls.join(", "))
                };
                self.step(line, [&**input]);
            }
            Plan::TopK { input, keys, order, limit, offset } => {
                let bounds = bounds(limit.as_ref(), offset.as_ref());
                self.step(format!("TopK by {} order ({}){bounds}", columns(keys), order_items(order)), [&**input]);
            }
            Plan::Window { input, partition, order, calls } => {
                let calls: Vec<String> = calls.iter().map(|call| expr::window(call, &column)).collect();
                let line =
                    format!("Window {} by {} order ({})", calls.join(", "), columns(partition), order_items(order));
                self.step(line, [&**input]);
            }
            Plan::AtMostOne { input, keys } => self.step(format!("AtMostOne by {}", columns(keys)), [&**input]),
            Plan::Union(inputs) => self.step("Union".to_owned(), inputs),
            Plan::Negate(input) => self.step("Negate".to_owned(), [&**input]),
            Plan::Threshold(input) => self.step("Threshold".to_owned(), [&**input]),
            Plan::Let { id, value, body } => self.step(format!("Let l{}", id.0), [&**value, &**body]),
            Plan::LetRec { id, base, step, distinct, body } => {
                let union = if *distinct { "union" } else { "union all" };
                self.step(format!("LetRec l{} {union}", id.0), [&**base, &**step, &**body]);
            }
        }
    }

    fn step<'p>(&mut self, line: String, inputs: impl IntoIterator<Item = &'p Plan>) {
        self.line(format_args!("{line}"));
        self.nested(|text| inputs.into_iter().for_each(|input| text.plan(input)));
    }

    fn access(&self, relation: RelationId, access: &Access) -> String {
        let name = self.relation(relation);
        match access {
            Access::Scan => format!("Scan {name}"),
            Access::Lookup { lookup, keys } => {
                let path = self.lookup(relation, *lookup);
                match keys.as_slice() {
                    [key] => format!("Lookup {name} using {path} = ({})", expr::scalars(key)),
                    keys => format!("Lookup {name} using {path}, {} keys", keys.len()),
                }
            }
            Access::Range { lookup, prefix, lower, upper, reverse, .. } => {
                // Of hashed keys, it is read where its order is in memory.
                let range = if self.catalog.ordered(relation) { "Range" } else { "OrderedScan" };
                let mut line = format!("{range} {name} using {}", self.lookup(relation, *lookup));
                if !prefix.is_empty() {
                    line.push_str(&format!(" = ({})", expr::scalars(prefix)));
                }
                let mut bound = |bound: &Option<(ScalarExpr, bool)>, strict: &str| {
                    if let Some((value, inclusive)) = bound {
                        let inclusive = if *inclusive { "=" } else { "" };
                        line.push_str(&format!(" {strict}{inclusive} {}", expr::scalar(value)));
                    }
                };
                bound(lower, ">");
                bound(upper, "<");
                if *reverse { line + " backwards" } else { line }
            }
        }
    }

    fn lookup(&self, relation: RelationId, lookup: Lookup) -> String {
        match lookup {
            Lookup::PrimaryKey => "primary key".to_owned(),
            Lookup::Index(id) => self.index(relation, id),
        }
    }
}

/// Which pairs of a join are looked at.
fn range_note(range: &JoinRange) -> String {
    let mut note = format!(" in order of ({})", expr::scalar(&range.value));
    for (bound, sign) in [(&range.lower, ">"), (&range.upper, "<")] {
        if let Some((value, inclusive)) = bound {
            let inclusive = if *inclusive { "=" } else { "" };
            note.push_str(&format!(" {sign}{inclusive} {}", expr::scalar(value)));
        }
    }
    if let Some(ends) = &range.ends {
        for (rows, which) in [(ends.low, "first"), (ends.high, "last")] {
            if rows > 0 {
                note.push_str(&format!(" {which} {rows}"));
            }
        }
    }
    note
}

/// What is done with each row, if anything.
fn mfp_note(mfp: &Mfp) -> String {
    let mut note = String::new();
    if !mfp.filter.is_empty() {
        let predicates: Vec<ScalarExpr> = mfp.filter.iter().map(|(_, predicate)| predicate.clone()).collect();
        note.push_str(&format!(" where {}", expr::all(&predicates)));
    }
    if !mfp.map.is_empty() {
        note.push_str(&format!(" compute ({})", expr::scalars(&mfp.map)));
    }
    if !mfp.project.iter().copied().eq(0..mfp.mapped_arity()) {
        note.push_str(&format!(" keep {}", columns(&mfp.project)));
    }
    note
}
