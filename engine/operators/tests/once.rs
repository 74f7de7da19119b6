//! Operators that run once against a naive evaluator, over random plans and bags; and what ends them early.

#[path = "support/memory.rs"]
mod memory;
#[path = "support/naive.rs"]
mod naive;
#[path = "support/random.rs"]
mod random;

use memory::{
    COUNT, DIVIDE, EQUAL, LESS, LIST, MAX, Memory, PLUS, Random, SERIES, SUM, aggregate, call, column, context, filter,
    index_id, int, limits, literal, query,
};
use naive::{Naive, bag};
use operators::query::{QueryLimits, computed, run};
use planner::names::Names;
use planner::plan::{Access, Besides, Counting, Finishing, InOrder, LocalId, Lookup, MatchKind, Plan, Query};
use planner::scalar::{Mfp, Order, ScalarExpr};
use repr::poll::{self, Overseer};
use repr::{ColumnType, Datum, Numeric, RelationId, Row, ScalarType};
use state::SqlError;
use state::account::Account;
use state::cancel::CancelFlag;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a query may hold is what the allocator says.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn small_tables(random: &mut Random) -> Arc<Memory> {
    let table = |id: u32, random: &mut Random| {
        let value = |random: &mut Random| match random.below(6) {
            0 => Datum::Null,
            number => Datum::Int4(number as i32 - 1),
        };
        let rows = random.below(14);
        let rows = (0..rows).map(|number| {
            let mut row = vec![Datum::Int4(number as i32), value(random), value(random)];
            if random.chance(5) {
                row.truncate(2);
            }
            row
        });
        (id, 3, rows.collect())
    };
    Memory::new(vec![table(1, random), table(2, random), table(3, random)])
}

fn all(plan: Plan, memory: &Arc<Memory>, limits: QueryLimits) -> Result<Vec<Vec<Datum>>, SqlError> {
    let width = operators::plan::arity(&plan);
    finished(query(plan, width), memory, limits)
}

fn finished(query: Query, memory: &Arc<Memory>, limits: QueryLimits) -> Result<Vec<Vec<Datum>>, SqlError> {
    let overseer: Arc<dyn Overseer> = limits.account.clone();
    let _overseen = poll::under(&overseer);
    run(Arc::new(query), memory.clone(), context(Vec::new()), limits)?.collect()
}

fn scan(relation: u32) -> Plan {
    Plan::Get {
        relation: RelationId(relation),
        access: Access::Scan,
        with_key: false,
        names: Names::default(),
        mfp: Mfp::identity(3),
    }
}

fn constant(rows: &[&[i32]]) -> Plan {
    let arity = rows.first().map_or(1, |row| row.len());
    let rows = rows.iter().map(|row| Row::pack(&row.iter().map(|value| Datum::Int4(*value)).collect::<Vec<_>>()));
    Plan::Constant { rows: rows.collect(), arity, names: Names::default() }
}

fn numbers(rows: &[Vec<Datum>]) -> Vec<Vec<i64>> {
    let mut rows: Vec<Vec<i64>> =
        rows.iter().map(|row| row.iter().map(|value| value.as_i64().unwrap_or(-999)).collect()).collect();
    rows.sort();
    rows
}

#[test]
fn random_plans_give_what_the_naive_evaluator_gives() {
    for seed in 1..=600 {
        let mut random = Random(seed * 7919);
        let memory = small_tables(&mut random);
        let (plan, width) = random::plan(&mut random, 3, &mut Vec::new());
        assert_eq!(operators::plan::arity(&plan), width, "seed {seed}");
        let naive = Naive { memory: &memory, eval: context(Vec::new()) };
        let expected = bag(&naive.rows(&plan, &naive::Locals::new()));
        let rows = all(plan.clone(), &memory, limits()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(bag(&rows), expected, "seed {seed}: {plan:#?}");
    }
}

#[test]
fn finishing_orders_limits_and_projects() {
    for seed in 1..=200 {
        let mut random = Random(seed * 104_729);
        let memory = small_tables(&mut random);
        let plan = if random.chance(2) {
            scan(1)
        } else {
            Plan::Reduce {
                input: Box::new(Plan::Union(vec![scan(1), scan(2)], Names::default())),
                keys: vec![column(0), column(1), column(2)],
                aggregates: Vec::new(),
                scalar: false,
            }
        };
        let item = |column, random: &mut Random| Order {
            column,
            descending: random.chance(2),
            nulls_first: random.chance(2),
            tie: false,
        };
        let order_by = vec![item(1, &mut random), item(2, &mut random), item(0, &mut random)];
        let limit = (!random.chance(3)).then(|| random.below(8) as i32);
        let offset = random.chance(2).then(|| random.below(4) as i32);
        let everything = Plan::TopK {
            input: Box::new(plan.clone()),
            keys: Vec::new(),
            order: order_by.clone(),
            limit: limit.map(literal),
            offset: offset.map(literal),
            counting: Counting::Rows,
        };
        let naive = Naive { memory: &memory, eval: context(Vec::new()) };
        let expected: Vec<_> = naive
            .rows(&everything, &naive::Locals::new())
            .into_iter()
            .map(|row| vec![row[2].clone(), row[0].clone(), row[2].clone()])
            .collect();
        let (limit, offset) = (limit.map(literal), offset.map(literal));
        let finishing = Finishing { order_by, limit, offset, late: Vec::new(), project: vec![2, 0, 2] };
        let query = Query { finishing, ..query(plan, 0) };
        assert_eq!(finished(query, &memory, limits()).unwrap(), expected, "seed {seed}");
    }
}

#[test]
fn groups_are_equal_by_sql_equality() {
    let numeric = |unscaled: i64, scale| Datum::Numeric(Numeric::Finite { unscaled: unscaled.into(), scale });
    let rows = [numeric(10, 1), numeric(100, 2), numeric(1, 0), numeric(2, 0), Datum::Null, Datum::Null];
    let rows = || Plan::Constant {
        rows: rows.iter().map(|value| Row::pack([value])).collect(),
        arity: 1,
        names: Names::default(),
    };
    let memory = Memory::new(Vec::new());
    let reduce =
        |aggregates| Plan::Reduce { input: Box::new(rows()), keys: vec![column(0)], aggregates, scalar: false };
    assert_eq!(all(reduce(Vec::new()), &memory, limits()).unwrap().len(), 3);
    for function in [&COUNT, &LIST] {
        let rows = all(reduce(vec![aggregate(function, vec![literal(1)])]), &memory, limits()).unwrap();
        assert_eq!(rows.len(), 3, "by {}", function.name);
    }
    let taken = vec![Row::pack([&numeric(1000, 3)])];
    let taken = Plan::Negate(Box::new(Plan::Constant { rows: taken, arity: 1, names: Names::default() }));
    let except = Plan::Threshold(Box::new(Plan::Union(vec![rows(), taken], Names::default())));
    assert_eq!(all(except, &memory, limits()).unwrap().len(), 5);
    let join = Plan::Join {
        left: Box::new(rows()),
        right: Box::new(rows()),
        left_key: vec![column(0)],
        right_key: vec![column(0)],
        null_safe: false,
        kind: MatchKind::Inner,
        mfp: Mfp::identity(2),
        range: None,
    };
    assert_eq!(all(join, &memory, limits()).unwrap().len(), 10);
}

#[test]
fn scalar_aggregates_of_nothing_are_one_row() {
    let memory = Memory::new(vec![(1, 3, Vec::new())]);
    for function in [&COUNT, &SUM, &MAX, &LIST] {
        let reduce = Plan::Reduce {
            input: Box::new(scan(1)),
            keys: Vec::new(),
            aggregates: vec![aggregate(function, vec![column(1)])],
            scalar: true,
        };
        let rows = all(reduce, &memory, limits()).unwrap();
        let expected = match function.name {
            "count" => Datum::Int8(0),
            "list" => Datum::text(""),
            _ => Datum::Null,
        };
        assert_eq!(rows, vec![vec![expected]], "{}", function.name);
    }
}

#[test]
fn errors_of_rows_end_the_query_unless_the_row_is_filtered_before() {
    let memory = Memory::new(vec![(1, 3, vec![vec![Datum::Int4(1), Datum::Int4(0), Datum::Int4(0)]])]);
    let quotient = Mfp { map: vec![call(&DIVIDE, literal(1), column(1))], project: vec![3], ..Mfp::identity(3) };
    let failing = |input: Plan| Plan::Mfp(Box::new(input), quotient.clone());
    let group = |input: Plan| Plan::Reduce {
        input: Box::new(input),
        keys: vec![column(0), column(1), column(2)],
        aggregates: Vec::new(),
        scalar: false,
    };
    let filtered = Plan::Mfp(Box::new(scan(1)), filter(3, call(&LESS, literal(5), column(0))));
    for plan in [failing(scan(1)), failing(group(scan(1)))] {
        assert_eq!(all(plan, &memory, limits()).unwrap_err().code, "22012");
    }
    for plan in [failing(filtered.clone()), failing(group(filtered.clone()))] {
        assert_eq!(all(plan, &memory, limits()).unwrap(), Vec::<Vec<Datum>>::new());
    }
    let key = vec![call(&DIVIDE, literal(1), column(1))];
    let join = |null_safe| Plan::Join {
        left: Box::new(scan(1)),
        right: Box::new(scan(1)),
        left_key: key.clone(),
        right_key: vec![column(0)],
        null_safe,
        kind: MatchKind::Anti,
        mfp: Mfp::identity(3),
        range: None,
    };
    assert_eq!(all(join(true), &memory, limits()).unwrap_err().code, "22012");
    let reduce = |function| Plan::Reduce {
        input: Box::new(scan(1)),
        keys: Vec::new(),
        aggregates: vec![aggregate(function, vec![call(&DIVIDE, literal(1), column(1))])],
        scalar: true,
    };
    assert_eq!(all(reduce(&SUM), &memory, limits()).unwrap_err().code, "22012");
    assert_eq!(all(reduce(&MAX), &memory, limits()).unwrap_err().code, "22012");
}

#[test]
fn a_subquery_of_more_than_one_row_is_an_error() {
    let memory = Memory::new(Vec::new());
    let one = |rows: &[&[i32]], keys: Vec<usize>| Plan::AtMostOne { input: Box::new(constant(rows)), keys };
    assert_eq!(all(one(&[&[1, 1]], vec![]), &memory, limits()).unwrap().len(), 1);
    assert_eq!(all(one(&[&[1, 1], &[2, 1]], vec![0]), &memory, limits()).unwrap().len(), 2);
    for plan in [one(&[&[1, 1], &[2, 1]], vec![]), one(&[&[1, 1], &[1, 2]], vec![0]), one(&[&[1, 1], &[1, 1]], vec![0])]
    {
        assert_eq!(all(plan, &memory, limits()).unwrap_err().code, "21000");
    }
}

fn series(input: Plan, last: ScalarExpr) -> Plan {
    Plan::TableFunction {
        input: Box::new(input),
        functions: vec![(&SERIES, vec![last], vec![ScalarType::Int8])],
        ordinality: false,
        names: Names::default(),
    }
}

fn endless() -> Plan {
    series(constant(&[&[0]]), ScalarExpr::Literal(Datum::Null, ColumnType::nullable(ScalarType::Int4)))
}

#[test]
fn limit_stops_endless_functions_and_recursions() {
    let memory = Memory::new(Vec::new());
    let limited = |plan: Plan| {
        let width = operators::plan::arity(&plan);
        let mut query = query(plan, width);
        query.finishing.limit = Some(literal(5));
        query.finishing.offset = Some(literal(2));
        query
    };
    let rows = finished(limited(endless()), &memory, limits()).unwrap();
    assert_eq!(numbers(&rows), (3..8).map(|number| vec![0, number]).collect::<Vec<_>>());
    let rows = finished(limited(counting(None, false)), &memory, limits()).unwrap();
    assert_eq!(numbers(&rows), (3..8).map(|number| vec![number]).collect::<Vec<_>>());
    let first = |plan| {
        let (input, counting) = (Box::new(plan), Counting::Rows);
        Plan::TopK { input, keys: vec![], order: vec![], limit: Some(literal(3)), offset: None, counting }
    };
    let count = Plan::Reduce {
        input: Box::new(first(endless())),
        keys: vec![],
        aggregates: vec![aggregate(&COUNT, vec![])],
        scalar: true,
    };
    assert_eq!(numbers(&all(count, &memory, limits()).unwrap()), vec![vec![3]]);
}

/// WITH RECURSIVE t(n) AS (SELECT 1 UNION [ALL] SELECT n + 1 FROM t [WHERE n < last]) SELECT n FROM t
fn counting(last: Option<i32>, distinct: bool) -> Plan {
    let id = LocalId(1);
    let local = || Box::new(Plan::GetLocal { id, arity: 1, names: Names::default() });
    let mut next = Mfp { map: vec![call(&PLUS, column(0), literal(1))], project: vec![1], ..Mfp::identity(1) };
    next.filter.extend(last.map(|last| (1, call(&LESS, column(0), literal(last)))));
    let step = Plan::Mfp(local(), next);
    Plan::LetRec { id, base: Box::new(constant(&[&[1]])), step: Box::new(step), distinct, body: local() }
}

/// Reachability over table 1 (edges from column 0 to column 1) by lookups, by a join on either side, or by a join below a step
/// that looks at the round as a whole.
fn reachable(how: &str, distinct: bool) -> Plan {
    let id = LocalId(1);
    let local = || Box::new(Plan::GetLocal { id, arity: 1, names: Names::default() });
    let step = match how {
        "lookup" => Plan::LookupJoin {
            input: local(),
            relation: RelationId(1),
            lookup: Lookup::PrimaryKey,
            key: vec![column(0)],
            kind: MatchKind::Inner,
            condition: Vec::new(),
            with_key: false,
            names: Names::default(),
            mfp: Mfp { project: vec![2], ..Mfp::identity(4) },
        },
        "swapped" => Plan::Join {
            left: Box::new(scan(1)),
            right: local(),
            left_key: vec![column(0)],
            right_key: vec![column(0)],
            null_safe: false,
            kind: MatchKind::Inner,
            mfp: Mfp { project: vec![1], ..Mfp::identity(4) },
            range: None,
        },
        _ => Plan::Join {
            left: local(),
            right: Box::new(scan(1)),
            left_key: vec![column(0)],
            right_key: vec![column(0)],
            null_safe: false,
            kind: MatchKind::Inner,
            mfp: Mfp { project: vec![2], ..Mfp::identity(4) },
            range: None,
        },
    };
    let step = match how {
        "whole" => Plan::Reduce { input: Box::new(step), keys: vec![column(0)], aggregates: vec![], scalar: false },
        _ => step,
    };
    Plan::LetRec { id, base: Box::new(constant(&[&[0], &[3]])), step: Box::new(step), distinct, body: local() }
}

#[test]
fn recursions_give_the_same_however_they_are_planned() {
    for seed in 1..=60 {
        let mut random = Random(seed * 31);
        let distinct = random.chance(2);
        // Without cycles for UNION ALL: edges go up.
        let edge = |from: i32, random: &mut Random| match random.below(4) {
            0 => Datum::Null,
            _ if distinct => Datum::Int4(random.below(12) as i32),
            _ => Datum::Int4(from + 1 + random.below(3) as i32),
        };
        let rows = (0..12).map(|from| vec![Datum::Int4(from), edge(from, &mut random), Datum::Int4(0)]).collect();
        let memory = Memory::new(vec![(1, 3, rows)]);
        let naive = Naive { memory: &memory, eval: context(Vec::new()) };
        for how in ["lookup", "join", "swapped", "whole"] {
            let plan = reachable(how, distinct);
            let expected = bag(&naive.rows(&plan, &naive::Locals::new()));
            assert_eq!(bag(&all(plan.clone(), &memory, limits()).unwrap()), expected, "{how}, seed {seed}");
            // The recursion as an input of something larger.
            let counted = |plan| Plan::Reduce {
                input: Box::new(plan),
                keys: vec![column(0)],
                aggregates: vec![aggregate(&COUNT, vec![])],
                scalar: false,
            };
            let expected = bag(&naive.rows(&counted(plan.clone()), &naive::Locals::new()));
            assert_eq!(bag(&all(counted(plan), &memory, limits()).unwrap()), expected, "{how}, seed {seed}");
        }
    }
    let memory = Memory::new(Vec::new());
    for distinct in [false, true] {
        let rows = all(counting(Some(2000), distinct), &memory, limits()).unwrap();
        assert_eq!(numbers(&rows), (1..=2000).map(|number| vec![number]).collect::<Vec<_>>());
    }
}

#[test]
fn ranges_are_ordered_and_null_bounds_match_nothing() {
    let rows = (0..20).map(|number| vec![Datum::Int4(number), Datum::Null, Datum::Null]).collect();
    let memory = Memory::new(vec![(1, 3, rows)]);
    let range = |lower: Option<(ScalarExpr, bool)>, upper, reverse| Plan::Get {
        relation: RelationId(1),
        access: Access::Range {
            lookup: Lookup::PrimaryKey,
            prefix: vec![],
            lower,
            upper,
            reverse,
            in_order: InOrder::No,
        },
        with_key: true,
        names: Names::default(),
        mfp: Mfp { project: vec![0], ..Mfp::identity(4) },
    };
    let ids = |plan| -> Vec<i64> { all(plan, &memory, limits()).unwrap().iter().map(|row| int(&row[0])).collect() };
    assert_eq!(ids(range(Some((literal(3), true)), Some((literal(6), false)), false)), [3, 4, 5]);
    assert_eq!(ids(range(Some((literal(16), false)), None, true)), [19, 18, 17]);
    let null = ScalarExpr::Literal(Datum::Null, ColumnType::nullable(ScalarType::Int4));
    assert_eq!(ids(range(Some((null, true)), None, false)), Vec::<i64>::new());
}

/// A plan that takes far longer than any test should: a cross join of a table with itself, four times.
fn enormous() -> Plan {
    let cross = |left: Plan, right: Plan| {
        let arity = operators::plan::arity(&left) + operators::plan::arity(&right);
        Plan::Join {
            left: Box::new(left),
            right: Box::new(right),
            left_key: vec![],
            right_key: vec![],
            null_safe: true,
            kind: MatchKind::Inner,
            mfp: Mfp { project: vec![0], ..Mfp::identity(arity) },
            range: None,
        }
    };
    let join = cross(cross(scan(1), scan(1)), cross(scan(1), scan(1)));
    Plan::Reduce { input: Box::new(join), keys: vec![], aggregates: vec![aggregate(&COUNT, vec![])], scalar: true }
}

fn thousand_rows() -> Arc<Memory> {
    let rows = (0..1000).map(|number| vec![Datum::Int4(number), Datum::Int4(number % 10), Datum::Null]);
    Memory::new(vec![(1, 3, rows.collect())])
}

#[test]
fn cancel_deadline_and_forgetting_end_a_query() {
    let memory = thousand_rows();
    let flag: Arc<CancelFlag> = Arc::default();
    let cancelled = QueryLimits { account: Account::new(flag.clone(), None, 1 << 30), ..limits() };
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        flag.cancel();
    });
    let error = all(enormous(), &memory, cancelled).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), ("57014", "canceling statement due to user request"));
    canceller.join().unwrap();

    for plan in [enormous(), Plan::Mfp(Box::new(endless()), filter(2, call(&LESS, column(1), literal(0))))] {
        let deadline = Some(Instant::now() + Duration::from_millis(50));
        let late = QueryLimits { account: Account::new(Arc::default(), deadline, 1 << 30), ..limits() };
        let error = all(plan.clone(), &memory, late).unwrap_err();
        assert_eq!((error.code, error.message.as_str()), ("57014", "canceling statement due to statement timeout"));
        let start = Instant::now();
        let forget = move || {
            (start.elapsed() > Duration::from_millis(50))
                .then(|| SqlError::new("40001", "a data subject was forgotten"))
        };
        let error = all(plan, &memory, QueryLimits { ended: Arc::new(forget), ..limits() }).unwrap_err();
        assert_eq!(error.code, "40001");
    }
}

#[test]
fn memory_is_bounded_on_every_path() {
    let memory = thousand_rows();
    let bounded = |plan: Plan, order_by: Vec<Order>| {
        let width = operators::plan::arity(&plan);
        let mut query = query(plan, width);
        query.finishing.order_by = order_by;
        finished(query, &memory, QueryLimits { account: Account::new(Arc::default(), None, 2 << 20), ..limits() })
    };
    let millions = || series(scan(1), literal(10_000));
    let distinct = |input| Plan::Reduce {
        input: Box::new(input),
        keys: vec![column(0), column(3)],
        aggregates: vec![],
        scalar: false,
    };
    let ascending = vec![Order::ascending(3)];
    let twice = Plan::Join {
        left: Box::new(series(scan(1), literal(200))),
        right: Box::new(scan(1)),
        left_key: vec![column(1)],
        right_key: vec![column(1)],
        null_safe: false,
        kind: MatchKind::Left,
        mfp: Mfp::identity(7),
        range: None,
    };
    for (name, result) in [
        ("sort", bounded(millions(), ascending.clone())),
        ("distinct", bounded(distinct(millions()), vec![])),
        (
            "expansion inside",
            bounded(
                series(distinct(series(constant(&[&[1, 1, 1]]), literal(1))), literal(i32::MAX)),
                vec![Order::ascending(0)],
            ),
        ),
        // The join itself streams its left side: what must be held is its sorted result.
        ("outer join", bounded(twice, ascending.clone())),
        ("recursion", bounded(counting(None, true), vec![Order::ascending(0)])),
    ] {
        let error = result.map(|rows| rows.len()).unwrap_err();
        assert_eq!(error.code, "53200", "{name}: {error}");
        assert!(error.hint.is_some(), "{name}");
    }
    // What is summed as it comes, or limited, needs little.
    let count = Plan::Reduce {
        input: Box::new(series(scan(1), literal(200))),
        keys: vec![column(1)],
        aggregates: vec![aggregate(&COUNT, vec![])],
        scalar: false,
    };
    assert_eq!(bounded(count, vec![]).unwrap().len(), 10);
    let mut first = query(series(scan(1), literal(200)), 4);
    first.finishing.order_by = ascending;
    first.finishing.limit = Some(literal(7));
    let limits = QueryLimits { account: Account::new(Arc::default(), None, 2 << 20), ..limits() };
    assert_eq!(finished(first, &memory, limits).unwrap().len(), 7);
}

#[test]
fn an_unread_result_ends_its_dataflow_and_blocks_nobody() {
    let memory = thousand_rows();
    let cross = || Plan::Join {
        left: Box::new(scan(1)),
        right: Box::new(scan(1)),
        left_key: vec![],
        right_key: vec![],
        null_safe: true,
        kind: MatchKind::Inner,
        mfp: Mfp::identity(6),
        range: None,
    };
    // More open results than dataflows that may compute at once.
    let mut open: Vec<_> = (0..8)
        .map(|_| run(Arc::new(query(cross(), 6)), memory.clone(), context(Vec::new()), limits()).unwrap())
        .collect();
    for rows in &mut open {
        assert!(rows.next().unwrap().is_ok());
    }
    assert_eq!(all(reachable("join", true), &memory, limits()).unwrap().len(), 2);
    let rest = open.pop().unwrap().map(|row| row.unwrap().len()).sum::<usize>();
    assert_eq!(rest, 999_999 * 6);
}

#[test]
fn limits_below_zero_are_refused() {
    let memory = thousand_rows();
    let mut negative = query(scan(1), 3);
    negative.finishing.limit = Some(literal(-1));
    assert_eq!(finished(negative.clone(), &memory, limits()).unwrap_err().code, "2201W");
    negative.finishing = Finishing { offset: Some(literal(-1)), ..Finishing::default() };
    assert_eq!(finished(negative, &memory, limits()).unwrap_err().code, "2201X");
    let (input, counting) = (Box::new(scan(1)), Counting::Rows);
    let top = Plan::TopK { input, keys: vec![1], order: vec![], limit: Some(literal(-1)), offset: None, counting };
    assert_eq!(all(top, &memory, limits()).unwrap_err().code, "2201W");
}

#[test]
fn lookups_take_keys_once_and_no_nulls() {
    let memory = thousand_rows();
    let null = ScalarExpr::Literal(Datum::Null, ColumnType::nullable(ScalarType::Int4));
    let get = |lookup, keys: Vec<ScalarExpr>| Plan::Get {
        relation: RelationId(1),
        access: Access::Lookup {
            lookup,
            keys: keys.into_iter().map(|key| vec![key]).collect(),
            besides: Besides::None,
        },
        with_key: false,
        names: Names::default(),
        mfp: Mfp::identity(3),
    };
    let keys = vec![literal(3), null, literal(3), literal(5), literal(5000)];
    assert_eq!(all(get(Lookup::PrimaryKey, keys.clone()), &memory, limits()).unwrap().len(), 2);
    assert_eq!(all(get(Lookup::Index(index_id(1, 1)), keys), &memory, limits()).unwrap().len(), 200);
    let equal = call(&EQUAL, column(0), column(2));
    assert_eq!(all(Plan::Mfp(Box::new(scan(1)), filter(3, equal)), &memory, limits()).unwrap().len(), 0);
}

/// What is computed of constants without operators is what operators give, errors included; all else is left to them.
#[test]
fn constants_are_computed_as_operators_would() {
    let memory = Memory::new(Vec::new());
    let plain = constant(&[&[4, 2], &[7, 0], &[1, 9]]);
    let mapped = |map: Vec<ScalarExpr>, predicate: Option<ScalarExpr>, project: Vec<usize>| {
        let filter = predicate.map(|predicate| (2, predicate)).into_iter().collect();
        Plan::Mfp(Box::new(plain.clone()), Mfp { map, filter, project, ..Mfp::identity(2) })
    };
    let sum = || call(&PLUS, column(0), column(1));
    let plans = [
        plain.clone(),
        mapped(vec![sum()], None, vec![2, 0]),
        mapped(vec![sum()], Some(call(&LESS, column(0), column(1))), vec![0, 1, 2, 0]),
        mapped(vec![call(&DIVIDE, column(0), column(1))], None, vec![2]),
        mapped(vec![call(&DIVIDE, column(0), column(1))], Some(call(&LESS, literal(0), column(1))), vec![2]),
    ];
    for plan in plans {
        let width = operators::plan::arity(&plan);
        for late in [Vec::new(), vec![call(&PLUS, column(0), literal(3))]] {
            let project: Vec<usize> = (0..width + late.len()).rev().collect();
            let mut one = query(plan.clone(), width);
            one.finishing = Finishing { late, project, ..Finishing::default() };
            let rows = computed(&one, &context(Vec::new())).expect("it reads nothing");
            assert_eq!(rows, finished(one.clone(), &memory, limits()), "{one:?}");
            one.finishing.limit = Some(literal(1));
            assert!(computed(&one, &context(Vec::new())).is_none(), "operators know when to end");
        }
    }
    let many = constant(&vec![[1].as_slice(); 100]);
    for read in [scan(1), many, Plan::Mfp(Box::new(scan(1)), Mfp::identity(3))] {
        assert!(computed(&query(read, 1), &context(Vec::new())).is_none());
    }
}
