//! Plans run in the slow, obvious way over tables in memory: what the engine must agree with.
//!
//! Bags are lists of (row, multiplicity). Nothing is indexed; access paths filter a scan.

use planner::plan::{Access, Counting, Finishing, LocalId, Lookup, MatchKind, Plan, PlanFunctionCall, Query};
use planner::scalar::window::evaluate_partition;
use planner::scalar::{AggregateCall, EvalContext, Mfp, Order, ScalarExpr, WindowCall};
use repr::{Datum, RelationId, ValueError, key};
use std::collections::{BTreeMap, BTreeSet};

type Row = Vec<Datum>;
type Bag = Vec<(Row, i64)>;

/// Tables with their lookups' columns.
pub struct Database {
    /// Rows of each table.
    pub rows: BTreeMap<RelationId, Vec<Row>>,
    /// What plans were made against.
    pub catalog: planner::catalog::Catalog,
    /// What expressions see.
    pub context: EvalContext,
}

/// Runs a query; rows in order.
pub fn run(query: &Query, database: &Database) -> Result<Vec<Row>, ValueError> {
    let bag = Run { database, locals: BTreeMap::new() }.plan(&query.plan)?;
    finish(bag, &query.finishing, &database.context)
}

fn finish(bag: Bag, finishing: &Finishing, context: &EvalContext) -> Result<Vec<Row>, ValueError> {
    let mut rows = expanded(bag);
    if !finishing.order_by.is_empty() {
        rows.sort_by_cached_key(|row| order_key(row, &finishing.order_by));
    }
    let offset = bound(finishing.offset.as_ref(), context)?.unwrap_or(0);
    let limit = bound(finishing.limit.as_ref(), context)?.unwrap_or(usize::MAX);
    let rows = rows.into_iter().skip(offset).take(limit);
    Ok(rows.map(|row| finishing.project.iter().map(|column| row[*column].clone()).collect()).collect())
}

fn bound(expr: Option<&ScalarExpr>, context: &EvalContext) -> Result<Option<usize>, ValueError> {
    let Some(expr) = expr else { return Ok(None) };
    Ok(expr.eval(&[], context)?.as_i64().and_then(|bound| usize::try_from(bound).ok()))
}

fn expanded(bag: Bag) -> Vec<Row> {
    let mut rows = Vec::new();
    for (row, count) in consolidated(bag) {
        assert!(count >= 0, "a plan's result has no negative multiplicity");
        (0..count).for_each(|_| rows.push(row.clone()));
    }
    rows
}

/// Rows of one representation together, in the order of their first appearance.
fn consolidated(bag: Bag) -> Bag {
    let mut out: Bag = Vec::new();
    let mut at: BTreeMap<Box<[u8]>, usize> = BTreeMap::new();
    for (row, count) in bag {
        let bytes = repr::Row::pack(&row).bytes().into();
        let place = *at.entry(bytes).or_insert_with(|| {
            out.push((row, 0));
            out.len() - 1
        });
        out[place].1 += count;
    }
    out.retain(|(_, count)| *count != 0);
    out
}

fn order_key(row: &[Datum], order: &[Order]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for order in order {
        key::encode_ordered(&mut bytes, &row[order.column], order.descending, order.nulls_first);
    }
    bytes
}

fn equals(own: &[Datum], wanted: &[Datum]) -> bool {
    !wanted.iter().any(Datum::is_null) && key::encode_all(own) == key::encode_all(wanted)
}

fn at_most_one(input: Bag, keys: &[usize]) -> Result<Bag, ValueError> {
    let rows = expanded(input);
    if groups(rows.clone(), keys).iter().any(|group| group.len() > 1) {
        return Err(ValueError::new("21000", "more than one row returned by a subquery used as an expression"));
    }
    Ok(rows.into_iter().map(|row| (row, 1)).collect())
}

fn above_zero(input: Bag) -> Bag {
    let mut sums: BTreeMap<Vec<u8>, (Row, i64)> = BTreeMap::new();
    for (row, count) in input {
        sums.entry(key::encode_all(&row)).or_insert_with(|| (row, 0)).1 += count;
    }
    sums.into_values().filter(|(_, count)| *count > 0).collect()
}

struct Run<'a> {
    database: &'a Database,
    locals: BTreeMap<LocalId, Bag>,
}

impl Run<'_> {
    fn context(&self) -> &EvalContext {
        &self.database.context
    }

    fn plan(&mut self, plan: &Plan) -> Result<Bag, ValueError> {
        Ok(match plan {
            Plan::Constant { rows, .. } => rows.iter().map(|row| (row.unpack(), 1)).collect(),
            Plan::Get { relation, access, with_key, mfp, .. } => {
                let rows = self.access(*relation, access)?;
                let key_shown = |key: Datum| with_key.then_some(key);
                let rows = rows.into_iter().map(|(key, row)| (row.into_iter().chain(key_shown(key)).collect(), 1));
                self.mfp(rows.collect(), mfp)?
            }
            Plan::GetLocal { id, .. } => self.locals[id].clone(),
            Plan::Mfp(input, mfp) => {
                let input = self.plan(input)?;
                self.mfp(input, mfp)?
            }
            Plan::TableFunction { input, functions, ordinality, .. } => {
                let input = self.plan(input)?;
                self.functions(input, functions, *ordinality)?
            }
            Plan::LookupJoin { input, relation, lookup, key, kind, condition, with_key, mfp, .. } => {
                let columns = self.lookup_columns(*relation, *lookup);
                let width = self.database.catalog.table(*relation).map_or(0, |table| table.columns.len())
                    + usize::from(*with_key);
                let table = self.access(*relation, &Access::Scan)?;
                let (table, columns, key) = without_nulls(table, columns, key);
                let input = self.plan(input)?;
                let joined = self.joined(input, width, *kind, |run, row| {
                    let wanted = run.eval_all(&key, row)?;
                    run.found((row, &wanted), (&table, &columns), condition, *with_key)
                })?;
                self.mfp(joined, mfp)?
            }
            Plan::Join { left, right, left_key, right_key, null_safe, kind, range: _, mfp } => {
                let left = self.plan(left)?;
                let right = consolidated(self.plan(right)?);
                let width = mfp.input_arity.saturating_sub(left.first().map_or(0, |(row, _)| row.len()));
                let keys = (left_key.as_slice(), right_key.as_slice(), *null_safe);
                let joined = self.joined(left, width, *kind, |run, row| run.partners(row, &right, keys))?;
                self.mfp(joined, mfp)?
            }
            Plan::Reduce { input, keys, aggregates, scalar } => {
                let input = self.plan(input)?;
                self.reduce(input, keys, aggregates, *scalar)?
            }
            Plan::TopK { input, keys, order, limit, offset, counting } => {
                let input = self.plan(input)?;
                self.first_rows(input, keys, order, (limit.as_ref(), offset.as_ref(), *counting))?
            }
            Plan::Window { input, partition, order, calls } => {
                let input = self.plan(input)?;
                self.windows(input, partition, order, calls)?
            }
            Plan::AtMostOne { input, keys } => at_most_one(self.plan(input)?, keys)?,
            Plan::Union(inputs, _) => {
                inputs.iter().map(|input| self.plan(input)).collect::<Result<Vec<_>, _>>()?.concat()
            }
            Plan::Negate(input) => self.plan(input)?.into_iter().map(|(row, count)| (row, -count)).collect(),
            Plan::Threshold(input) => above_zero(self.plan(input)?),
            Plan::Temporal { .. } => panic!("plans that run once have no temporal filters"),
            Plan::Let { id, value, body } => {
                let value = self.plan(value)?;
                self.locals.insert(*id, value);
                self.plan(body)?
            }
            Plan::LetRec { id, base, step, distinct, body } => {
                let all = self.recursion(*id, base, step, *distinct)?;
                self.locals.insert(*id, all);
                self.plan(body)?
            }
        })
    }

    /// The rows of a table that have the wanted key, and hold a condition beside the row.
    fn found(
        &self,
        (row, wanted): (&[Datum], &[Datum]),
        (table, columns): (&[(Datum, Row)], &[usize]),
        condition: &[ScalarExpr],
        with_key: bool,
    ) -> Result<Bag, ValueError> {
        let mut found = Vec::new();
        for (row_key, other) in table {
            let own: Row = columns.iter().map(|column| other[*column].clone()).collect();
            if equals(&own, wanted) && self.holds(condition, row, other)? {
                let row_key = with_key.then(|| row_key.clone());
                found.push((other.iter().cloned().chain(row_key).collect(), 1));
            }
        }
        Ok(found)
    }

    /// The rows of the right side that a row of the left has the key of.
    fn partners(
        &self,
        row: &[Datum],
        right: &Bag,
        (left_key, right_key, null_safe): (&[ScalarExpr], &[ScalarExpr], bool),
    ) -> Result<Bag, ValueError> {
        let wanted = self.eval_all(left_key, row)?;
        let mut found = Vec::new();
        for (other, count) in right {
            let own = self.eval_all(right_key, other)?;
            let comparable = null_safe || !own.iter().chain(&wanted).any(Datum::is_null);
            if comparable && key::encode_all(&own) == key::encode_all(&wanted) {
                found.push((other.clone(), *count));
            }
        }
        Ok(found)
    }

    fn functions(&self, input: Bag, functions: &[PlanFunctionCall], ordinality: bool) -> Result<Bag, ValueError> {
        let mut out = Vec::new();
        for (row, count) in input {
            let mut columns = Vec::new();
            for (function, args, types) in functions {
                let args = self.eval_all(args, &row)?;
                let rows = (function.evaluate)(self.context(), &args, types)?.collect::<Result<Vec<_>, _>>()?;
                columns.push((rows, types.len()));
            }
            for at in 0..columns.iter().map(|(rows, _)| rows.len()).max().unwrap_or(0) {
                let mut row = row.clone();
                for (rows, width) in &columns {
                    row.extend(rows.get(at).cloned().unwrap_or_else(|| vec![Datum::Null; *width]));
                }
                if ordinality {
                    row.push(Datum::Int8(at as i64 + 1));
                }
                out.push((row, count));
            }
        }
        Ok(out)
    }

    fn first_rows(
        &self,
        input: Bag,
        keys: &[usize],
        order: &[Order],
        (limit, offset, counting): (Option<&ScalarExpr>, Option<&ScalarExpr>, Counting),
    ) -> Result<Bag, ValueError> {
        let offset = bound(offset, self.context())?.unwrap_or(0);
        let limit = bound(limit, self.context())?.unwrap_or(usize::MAX);
        let mut out = Vec::new();
        for mut rows in groups(expanded(input), keys) {
            rows.sort_by_cached_key(|row| (order_key(row, order), repr::Row::pack(row)));
            let key = |row: &[Datum]| order_key(row, Order::written(order));
            let keys: BTreeSet<Vec<u8>> = rows.iter().map(|row| key(row)).collect();
            let within = |(at, row): &(usize, Vec<Datum>)| match counting {
                Counting::Rows => *at < limit.saturating_add(offset),
                Counting::RowsWithPeers => rows.iter().filter(|other| key(other) < key(row)).count() < limit,
                Counting::PeerGroups => keys.range(..key(row)).count() < limit,
            };
            out.extend(rows.iter().cloned().enumerate().skip(offset).filter(within).map(|(_, row)| (row, 1)));
        }
        Ok(out)
    }

    fn windows(
        &self,
        input: Bag,
        partition: &[usize],
        order: &[Order],
        calls: &[WindowCall],
    ) -> Result<Bag, ValueError> {
        let mut out = Vec::new();
        for mut rows in groups(expanded(input), partition) {
            rows.sort_by_cached_key(|row| (order_key(row, order), repr::Row::pack(row)));
            let columns = evaluate_partition(&rows, order, calls, self.context())?;
            for (row, columns) in rows.iter_mut().zip(columns) {
                row.extend(columns);
            }
            out.extend(rows.into_iter().map(|row| (row, 1)));
        }
        Ok(out)
    }

    fn recursion(&mut self, id: LocalId, base: &Plan, step: &Plan, distinct: bool) -> Result<Bag, ValueError> {
        let mut all: Bag = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        let mut last = self.plan(base)?;
        loop {
            last = expanded(last)
                .into_iter()
                .filter(|row| !distinct || seen.insert(key::encode_all(row)))
                .map(|row| (row, 1))
                .collect();
            if last.is_empty() {
                break;
            }
            all.extend(last.iter().cloned());
            self.locals.insert(id, last);
            last = self.plan(step)?;
        }
        Ok(all)
    }

    fn holds(&self, conditions: &[ScalarExpr], left: &[Datum], right: &[Datum]) -> Result<bool, ValueError> {
        let both: Row = left.iter().chain(right).cloned().collect();
        for condition in conditions {
            if !condition.holds(&both, self.context())? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn eval_all(&self, exprs: &[ScalarExpr], row: &[Datum]) -> Result<Row, ValueError> {
        exprs.iter().map(|expr| expr.eval(row, self.context())).collect()
    }

    fn mfp(&self, bag: Bag, mfp: &Mfp) -> Result<Bag, ValueError> {
        let mut out = Vec::new();
        for (mut row, count) in bag {
            assert_eq!(row.len(), mfp.input_arity, "rows have the width that the plan says");
            if mfp.evaluate(&mut row, self.context())? {
                out.push((row, count));
            }
        }
        Ok(out)
    }

    fn joined(
        &self,
        left: Bag,
        width: usize,
        kind: MatchKind,
        matches: impl Fn(&Self, &[Datum]) -> Result<Bag, ValueError>,
    ) -> Result<Bag, ValueError> {
        let mut out = Vec::new();
        for (row, count) in consolidated(left) {
            let found = matches(self, &row)?;
            match kind {
                MatchKind::Semi if !found.is_empty() => out.push((row, count)),
                MatchKind::Anti if found.is_empty() => out.push((row, count)),
                MatchKind::Semi | MatchKind::Anti => {}
                MatchKind::Left if found.is_empty() => {
                    out.push((row.into_iter().chain(vec![Datum::Null; width]).collect(), count));
                }
                MatchKind::Left | MatchKind::Inner => {
                    for (other, times) in found {
                        out.push((row.iter().cloned().chain(other).collect(), count * times));
                    }
                }
            }
        }
        Ok(out)
    }

    fn lookup_columns(&self, relation: RelationId, lookup: Lookup) -> Vec<usize> {
        let table = self.database.catalog.table(relation).expect("lookups are of tables");
        match lookup {
            Lookup::PrimaryKey => table.primary_key_columns().expect("it has a primary key").to_vec(),
            Lookup::Index(id) => table.index(id).expect("the index is there").columns.clone(),
        }
    }

    fn access(&self, relation: RelationId, access: &Access) -> Result<Vec<(Datum, Row)>, ValueError> {
        let rows = self.database.rows[&relation].iter().enumerate();
        let rows = rows.map(|(at, row)| (Datum::Bytea((at as u32).to_be_bytes().as_slice().into()), row.clone()));
        let own = |columns: &[usize], row: &Row| columns.iter().map(|column| row[*column].clone()).collect::<Row>();
        Ok(match access {
            // What an inverted index finds may be too much, so all will do.
            Access::Scan | Access::Listed { .. } | Access::Met { .. } | Access::Inverted { .. } => rows.collect(),
            Access::Lookup { lookup, keys, .. } => {
                let columns = self.lookup_columns(relation, *lookup);
                let mut wanted_keys = Vec::with_capacity(keys.len());
                for key in keys {
                    let values = self.eval_all(key, &[])?;
                    // NULL is looked up where the plan says so itself.
                    let by_value = |(expr, value): (&ScalarExpr, &Datum)| {
                        matches!(expr, ScalarExpr::Literal(..)) || !value.is_null()
                    };
                    if key.iter().zip(&values).all(by_value) {
                        wanted_keys.push(values);
                    }
                }
                let wanted = |row: &Row| {
                    let own = own(&columns, row);
                    wanted_keys.iter().any(|key| key::encode_all(key) == key::encode_all(&own[..key.len()]))
                };
                rows.filter(|(_, row)| wanted(row)).collect()
            }
            Access::Range { lookup, prefix, lower, upper, reverse, .. } => {
                let columns = self.lookup_columns(relation, *lookup);
                let prefix = self.eval_all(prefix, &[])?;
                let bound = |bound: &Option<(ScalarExpr, bool)>| match bound {
                    Some((expr, inclusive)) => Ok(Some((expr.eval(&[], self.context())?, *inclusive))),
                    None => Ok::<_, ValueError>(None),
                };
                let (lower, upper) = (bound(lower)?, bound(upper)?);
                let mut rows: Vec<(Datum, Row)> = rows
                    .filter(|(_, row)| {
                        let own = own(&columns, row);
                        own.iter().zip(&prefix).all(|(own, wanted)| own.sql_eq(wanted))
                            && own.get(prefix.len()).is_none_or(|next| {
                                lower.as_ref().is_none_or(|(bound, inclusive)| {
                                    next.sql_cmp(bound).is_gt() || (*inclusive && next.sql_eq(bound))
                                }) && upper.as_ref().is_none_or(|(bound, inclusive)| {
                                    next.sql_cmp(bound).is_lt() || (*inclusive && next.sql_eq(bound))
                                })
                            })
                    })
                    .collect();
                rows.sort_by_cached_key(|(_, row)| key::encode_all(&own(&columns, row)));
                if *reverse {
                    rows.reverse();
                }
                rows
            }
        })
    }

    fn reduce(&self, bag: Bag, keys: &[ScalarExpr], calls: &[AggregateCall], scalar: bool) -> Result<Bag, ValueError> {
        let mut grouped: BTreeMap<Vec<u8>, (Row, Vec<Row>)> = BTreeMap::new();
        if scalar {
            grouped.insert(Vec::new(), (Vec::new(), Vec::new()));
        }
        for row in expanded(bag) {
            let key = self.eval_all(keys, &row)?;
            grouped.entry(key::encode_all(&key)).or_insert_with(|| (key, Vec::new())).1.push(row);
        }
        let mut out = Vec::new();
        for (mut key, rows) in grouped.into_values() {
            for call in calls {
                key.push(self.aggregate(call, &rows)?);
            }
            out.push((key, 1));
        }
        Ok(out)
    }

    fn aggregate(&self, call: &AggregateCall, rows: &[Row]) -> Result<Datum, ValueError> {
        let mut inputs: Vec<(Vec<u8>, Row)> = Vec::new();
        for row in rows {
            if let Some(filter) = &call.filter
                && !filter.holds(row, self.context())?
            {
                continue;
            }
            let mut order = Vec::new();
            for (expr, descending, nulls_first) in &call.order_by {
                key::encode_ordered(&mut order, &expr.eval(row, self.context())?, *descending, *nulls_first);
            }
            let args = self.eval_all(&call.args, row)?;
            if call.function.skips_nulls && args.iter().any(Datum::is_null) {
                continue;
            }
            inputs.push((order, args));
        }
        if call.distinct {
            let mut seen = std::collections::BTreeSet::new();
            inputs.retain(|(_, args)| seen.insert(key::encode_all(args)));
            inputs.sort_by_cached_key(|(order, args)| (order.clone(), key::encode_all(args)));
        }
        inputs.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut items = inputs.iter().map(|(_, args)| (args.as_slice(), 1));
        call.function.evaluate(self.context(), &mut items, &call.result)
    }
}

/// Rows by the SQL equality of some columns.
/// A table and the key that is asked of it, without the literal NULLs, which ask for NULLs.
fn without_nulls(
    mut table: Vec<(Datum, Row)>,
    columns: Vec<usize>,
    key: &[ScalarExpr],
) -> (Vec<(Datum, Row)>, Vec<usize>, Vec<ScalarExpr>) {
    let asks_null = |value: &ScalarExpr| matches!(value, ScalarExpr::Literal(Datum::Null, _));
    let (nulls, others): (Vec<_>, Vec<_>) =
        columns.into_iter().zip(key.iter().cloned()).partition(|(_, value)| asks_null(value));
    table.retain(|(_, row)| nulls.iter().all(|(column, _)| row[*column].is_null()));
    let (columns, key) = others.into_iter().unzip();
    (table, columns, key)
}

fn groups(rows: Vec<Row>, keys: &[usize]) -> Vec<Vec<Row>> {
    let mut groups: BTreeMap<Vec<u8>, Vec<Row>> = BTreeMap::new();
    for row in rows {
        let key: Row = keys.iter().map(|column| row[*column].clone()).collect();
        groups.entry(key::encode_all(&key)).or_default().push(row);
    }
    groups.into_values().collect()
}
