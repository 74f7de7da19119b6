//! What plans mean, evaluated as plainly as possible: nested loops over lists of rows.

use super::memory::{Memory, int};
use planner::plan::{Access, Counting, LocalId, Lookup, MatchKind, Plan, PlanFunctionCall};
use planner::scalar::{AggregateCall, EvalContext, Mfp, Order, ScalarExpr, WindowCall};
use repr::{Datum, Row, key};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

type Rows = Vec<Vec<Datum>>;
pub type Locals = BTreeMap<LocalId, Rows>;

pub struct Naive<'m> {
    pub memory: &'m Memory,
    pub eval: EvalContext,
}

fn code(row: &[Datum]) -> Vec<u8> {
    key::encode_all(row)
}

/// Rows as a bag by SQL equality.
pub fn bag(rows: &[Vec<Datum>]) -> BTreeMap<Vec<u8>, usize> {
    let mut bag = BTreeMap::new();
    for row in rows {
        *bag.entry(code(row)).or_insert(0) += 1;
    }
    bag
}

fn picked(row: &[Datum], columns: &[usize]) -> Vec<Datum> {
    columns.iter().map(|column| row[*column].clone()).collect()
}

fn compare(left: &[Datum], right: &[Datum], order: &[Order]) -> Ordering {
    for item in order {
        let (left, right) = (&left[item.column], &right[item.column]);
        let ordering = match (left.is_null(), right.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) => {
                if item.nulls_first {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (false, true) => {
                if item.nulls_first {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (false, false) => {
                let ordering = left.sql_cmp(right);
                if item.descending { ordering.reverse() } else { ordering }
            }
        };
        if ordering != Ordering::Equal {
            return ordering;
        }
    }
    Ordering::Equal
}

fn groups(rows: Rows, key: impl Fn(&[Datum]) -> Vec<Datum>) -> BTreeMap<Vec<u8>, (Vec<Datum>, Rows)> {
    let mut groups = BTreeMap::new();
    for row in rows {
        let key = key(&row);
        groups.entry(code(&key)).or_insert_with(|| (key, Rows::new())).1.push(row);
    }
    groups
}

impl Naive<'_> {
    fn through(&self, rows: Rows, mfp: &Mfp) -> Rows {
        let mut output = Rows::new();
        for mut row in rows {
            for expression in &mfp.map {
                row.push(expression.eval(&row, &self.eval).unwrap());
            }
            if mfp.filter.iter().all(|(_, predicate)| predicate.eval(&row, &self.eval).unwrap() == Datum::Bool(true)) {
                output.push(picked(&row, &mfp.project));
            }
        }
        output
    }

    fn table(&self, relation: repr::RelationId) -> Rows {
        let width = self.memory.catalog.relations[&relation].columns.len();
        let rows = self.memory.tables[&relation].values().map(|row| {
            let mut row = row.unpack();
            row.resize(width, Datum::Int4(-7));
            row
        });
        rows.collect()
    }

    pub fn rows(&self, plan: &Plan, locals: &Locals) -> Rows {
        match plan {
            Plan::Constant { rows, .. } => rows.iter().map(Row::unpack).collect(),
            Plan::Get { relation, access, mfp, .. } => self.through(self.found(*relation, access), mfp),
            Plan::GetLocal { id, .. } => locals[id].clone(),
            Plan::Mfp(input, mfp) => self.through(self.rows(input, locals), mfp),
            Plan::TableFunction { input, functions, ordinality, .. } => {
                self.functions(self.rows(input, locals), functions, *ordinality)
            }
            Plan::LookupJoin { input, relation, lookup, key, kind, condition, mfp, .. } => {
                let right = self.table(*relation);
                let column = lookup_column(*lookup);
                let width = self.memory.catalog.relations[relation].columns.len();
                let matches = |left: &[Datum], right: &[Datum]| {
                    let key = key[0].eval(left, &self.eval).unwrap();
                    let both = [left, right].concat();
                    !key.is_null()
                        && !right[column].is_null()
                        && key.sql_eq(&right[column])
                        && condition.iter().all(|term| term.eval(&both, &self.eval).unwrap() == Datum::Bool(true))
                };
                self.through(join(self.rows(input, locals), &right, width, *kind, matches), mfp)
            }
            Plan::Join { left, right, left_key, right_key, null_safe, kind, range: _, mfp } => {
                let right_rows = self.rows(right, locals);
                let width = operators::plan::arity(right);
                let matches = |left: &[Datum], right: &[Datum]| {
                    left_key.iter().zip(right_key).all(|(left_key, right_key)| {
                        let left = left_key.eval(left, &self.eval).unwrap();
                        let right = right_key.eval(right, &self.eval).unwrap();
                        match (left.is_null(), right.is_null()) {
                            (true, true) => *null_safe,
                            (false, false) => left.sql_eq(&right),
                            (true, false) | (false, true) => false,
                        }
                    })
                };
                self.through(join(self.rows(left, locals), &right_rows, width, *kind, matches), mfp)
            }
            Plan::Reduce { input, keys, aggregates, scalar } => {
                self.reduce(self.rows(input, locals), keys, aggregates, *scalar)
            }
            Plan::TopK { input, keys, order, limit, offset, counting } => {
                self.first_rows(self.rows(input, locals), keys, order, (limit.as_ref(), offset.as_ref(), *counting))
            }
            // The values of a sorted partition are tested beside `evaluate_partition`.
            Plan::Window { input, partition, order, calls } => {
                self.windows(self.rows(input, locals), partition, order, calls)
            }
            Plan::AtMostOne { input, .. } => self.rows(input, locals),
            Plan::Union(inputs, _) => inputs.iter().flat_map(|input| self.rows(input, locals)).collect(),
            Plan::Temporal { .. } | Plan::Negate(_) => panic!("not in what runs once, or below a threshold only"),
            Plan::Threshold(input) => {
                let Plan::Union(inputs, _) = input.as_ref() else { panic!("threshold of a union") };
                let [left, Plan::Negate(right)] = inputs.as_slice() else { panic!("of a plan and a negated one") };
                without(self.rows(left, locals), &self.rows(right, locals))
            }
            Plan::Let { id, value, body } => {
                let mut locals = locals.clone();
                locals.insert(*id, self.rows(value, &locals));
                self.rows(body, &locals)
            }
            Plan::LetRec { id, base, step, distinct, body } => {
                let all = self.recursion(*id, (base, step), *distinct, locals);
                let mut inner = locals.clone();
                inner.insert(*id, all);
                self.rows(body, &inner)
            }
        }
    }

    fn found(&self, relation: repr::RelationId, access: &Access) -> Rows {
        let mut rows = self.table(relation);
        if let Access::Lookup { lookup, keys, .. } = access {
            let column = lookup_column(*lookup);
            rows.retain(|row| {
                keys.iter().any(|key| {
                    let value = key[0].eval(&[], &self.eval).unwrap();
                    !value.is_null() && !row[column].is_null() && row[column].sql_eq(&value)
                })
            });
        }
        rows
    }

    fn functions(&self, input: Rows, functions: &[PlanFunctionCall], ordinality: bool) -> Rows {
        let mut output = Rows::new();
        for row in input {
            let lasts: Vec<i64> =
                functions.iter().map(|(_, args, _)| int(&args[0].eval(&row, &self.eval).unwrap())).collect();
            for number in 1..=lasts.iter().copied().max().unwrap_or(0) {
                let mut row = row.clone();
                for last in &lasts {
                    row.push(if number <= *last { Datum::Int8(number) } else { Datum::Null });
                }
                if ordinality {
                    row.push(Datum::Int8(number));
                }
                output.push(row);
            }
        }
        output
    }

    fn reduce(&self, input: Rows, keys: &[ScalarExpr], aggregates: &[AggregateCall], scalar: bool) -> Rows {
        let key = |row: &[Datum]| keys.iter().map(|key| key.eval(row, &self.eval).unwrap()).collect::<Vec<_>>();
        let mut groups = groups(input, key);
        if scalar && groups.is_empty() {
            groups.insert(Vec::new(), (Vec::new(), Rows::new()));
        }
        let output = groups.into_values().map(|(mut output, rows)| {
            output.extend(aggregates.iter().map(|call| self.aggregate(call, &rows)));
            output
        });
        output.collect()
    }

    fn first_rows(
        &self,
        input: Rows,
        keys: &[usize],
        order: &[Order],
        (limit, offset, counting): (Option<&ScalarExpr>, Option<&ScalarExpr>, Counting),
    ) -> Rows {
        let number = |expression: Option<&ScalarExpr>| {
            expression.map(|expression| int(&expression.eval(&[], &self.eval).unwrap()) as usize)
        };
        let (limit, offset) = (number(limit), number(offset));
        let mut output = Rows::new();
        for (_, mut rows) in groups(input, |row| picked(row, keys)).into_values() {
            rows.sort_by(|left, right| {
                compare(left, right, order).then_with(|| Row::pack(left).cmp(&Row::pack(right)))
            });
            let written = |left: &Vec<Datum>, right: &Vec<Datum>| compare(left, right, Order::written(order));
            let mut groups = rows.clone();
            groups.dedup_by(|right, left| written(left, right).is_eq());
            let place = |(at, row): &(usize, Vec<Datum>)| match counting {
                Counting::Rows => *at,
                Counting::RowsWithPeers => rows.iter().filter(|other| written(other, row).is_lt()).count(),
                Counting::PeerGroups => groups.iter().filter(|other| written(other, row).is_lt()).count(),
            };
            let placed = rows.iter().cloned().enumerate().skip(offset.unwrap_or(0));
            let last = limit.map_or(usize::MAX, |limit| limit + offset.unwrap_or(0));
            output.extend(placed.filter(|row| place(row) < last).map(|(_, row)| row));
        }
        output
    }

    fn windows(&self, input: Rows, partition: &[usize], order: &[Order], calls: &[WindowCall]) -> Rows {
        let mut output = Rows::new();
        for (_, mut rows) in groups(input, |row| picked(row, partition)).into_values() {
            rows.sort_by(|left, right| {
                compare(left, right, order).then_with(|| Row::pack(left).cmp(&Row::pack(right)))
            });
            let values = planner::scalar::window::evaluate_partition(&rows, order, calls, &self.eval).unwrap();
            output.extend(rows.into_iter().zip(values).map(|(row, values)| [row, values].concat()));
        }
        output
    }

    fn recursion(&self, id: LocalId, (base, step): (&Plan, &Plan), distinct: bool, locals: &Locals) -> Rows {
        let mut inner = locals.clone();
        let mut all = Rows::new();
        let mut seen = BTreeSet::new();
        let mut round = self.rows(base, locals);
        loop {
            if distinct {
                round.retain(|row| seen.insert(code(row)));
            }
            if round.is_empty() {
                break;
            }
            all.extend(round.iter().cloned());
            inner.insert(id, round);
            round = self.rows(step, &inner);
        }
        all
    }

    fn aggregate(&self, call: &AggregateCall, rows: &Rows) -> Datum {
        let eval =
            |expression: &planner::scalar::ScalarExpr, row: &Vec<Datum>| expression.eval(row, &self.eval).unwrap();
        let rows =
            rows.iter().filter(|row| call.filter.as_ref().is_none_or(|filter| eval(filter, row) == Datum::Bool(true)));
        // (ORDER BY values, argument)
        let mut values: Vec<(Vec<Datum>, Datum)> = rows
            .map(|row| {
                let order = call.order_by.iter().map(|(expression, _, _)| eval(expression, row)).collect();
                (order, call.args.first().map_or(Datum::Bool(true), |arg| eval(arg, row)))
            })
            .collect();
        if call.function.skips_nulls {
            values.retain(|(_, value)| !value.is_null());
        }
        let order: Vec<Order> = (call.order_by.iter().enumerate())
            .map(|(column, (_, descending, nulls_first))| Order {
                descending: *descending,
                nulls_first: *nulls_first,
                ..Order::ascending(column)
            })
            .collect();
        values.sort_by(|left, right| compare(&left.0, &right.0, &order).then_with(|| left.1.sql_cmp(&right.1)));
        if call.distinct {
            values.dedup_by(|left, right| code(std::slice::from_ref(&left.1)) == code(std::slice::from_ref(&right.1)));
        }
        match call.function.name {
            "count" => Datum::Int8(values.len() as i64),
            "sum" if values.is_empty() => Datum::Null,
            "sum" => Datum::Int8(values.iter().map(|(_, value)| int(value)).sum()),
            "max" => values.iter().map(|(_, value)| int(value)).max().map_or(Datum::Null, Datum::Int8),
            "list" => {
                let texts =
                    values.iter().map(|(_, value)| value.as_i64().map_or("-,".into(), |value| format!("{value},")));
                Datum::text(texts.collect::<String>())
            }
            "middle" => values.get(values.len() / 2).map_or(Datum::Null, |(_, value)| value.clone()),
            "mode" => {
                let times = |value: &Datum| values.iter().filter(|(_, other)| other.sql_eq(value)).count();
                let most = values.iter().map(|(_, value)| times(value)).max();
                let found = values.iter().find(|(_, value)| Some(times(value)) == most);
                found.map_or(Datum::Null, |(_, value)| value.clone())
            }
            name => panic!("no naive {name}"),
        }
    }
}

fn without(mut rows: Rows, removed: &Rows) -> Rows {
    let mut removed = bag(removed);
    rows.retain(|row| match removed.get_mut(&code(row)) {
        Some(copies) if *copies > 0 => {
            *copies -= 1;
            false
        }
        _ => true,
    });
    rows
}

fn lookup_column(lookup: Lookup) -> usize {
    match lookup {
        Lookup::PrimaryKey => 0,
        Lookup::Index(id) => (id.0 % 100) as usize,
    }
}

fn join(
    left: Rows,
    right: &Rows,
    right_width: usize,
    kind: MatchKind,
    matches: impl Fn(&[Datum], &[Datum]) -> bool,
) -> Rows {
    let mut output = Rows::new();
    for row in left {
        let found: Vec<_> = right.iter().filter(|candidate| matches(&row, candidate)).collect();
        match kind {
            MatchKind::Semi if !found.is_empty() => output.push(row),
            MatchKind::Anti if found.is_empty() => output.push(row),
            MatchKind::Semi | MatchKind::Anti => {}
            MatchKind::Left if found.is_empty() => output.push([row, vec![Datum::Null; right_width]].concat()),
            MatchKind::Inner | MatchKind::Left => {
                output.extend(found.into_iter().map(|found| [row.as_slice(), found].concat()));
            }
        }
    }
    output
}
