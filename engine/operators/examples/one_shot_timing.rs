//! Prints how long one-shots take over rows in memory: lookups, lookup joins, dataflows. Not a benchmark of
//! storage, whose reads come on top.

#[path = "../tests/support/memory.rs"]
#[allow(dead_code, reason = "shared with the tests, which use all of it")]
mod memory;

use memory::{COUNT, Memory, SUM, aggregate, column, context, index_id, limits, query};
use operators::query::run;
use planner::names::Names;
use planner::plan::{Access, Besides, Finishing, Lookup, MatchKind, Plan, Query};
use planner::scalar::{Mfp, Order, ScalarExpr};
use repr::{Datum, RelationId, ScalarType};
use std::sync::Arc;
use std::time::Instant;

const ROWS: i32 = 1_000_000;

fn get(relation: u32, access: Access) -> Plan {
    Plan::Get {
        relation: RelationId(relation),
        access,
        with_key: false,
        names: Names::default(),
        mfp: Mfp::identity(3),
    }
}

fn by_param(lookup: Lookup) -> Access {
    Access::Lookup { lookup, keys: vec![vec![ScalarExpr::Param(0, ScalarType::Int4)]], besides: Besides::None }
}

fn main() {
    let row = |number: i32| vec![Datum::Int4(number), Datum::Int4(number / 10), Datum::text(format!("row {number}"))];
    let memory = Memory::new(vec![(1, 3, (0..ROWS).map(row).collect()), (2, 3, (0..ROWS / 10).map(row).collect())]);
    let time = |name: &str, times: usize, query: Query| time(&memory, name, times, query);
    let lookup_join = |input| Plan::LookupJoin {
        input: Box::new(input),
        relation: RelationId(1),
        lookup: Lookup::Index(index_id(1, 1)),
        key: vec![column(0)],
        kind: MatchKind::Inner,
        condition: vec![],
        with_key: false,
        names: Names::default(),
        mfp: Mfp::identity(6),
    };
    let reduce = |input, keys: Vec<ScalarExpr>| Plan::Reduce {
        input: Box::new(input),
        scalar: keys.is_empty(),
        keys,
        aggregates: vec![aggregate(&COUNT, vec![]), aggregate(&SUM, vec![column(0)])],
    };
    time("point lookup", 20_000, query(get(1, by_param(Lookup::PrimaryKey)), 3));
    time("point lookup joined with ten rows", 20_000, query(lookup_join(get(2, by_param(Lookup::PrimaryKey))), 6));
    let ten = || get(1, by_param(Lookup::Index(index_id(1, 1))));
    time("count of ten rows found by index (dataflow)", 2_000, query(reduce(ten(), vec![]), 2));
    time("scan of 1M rows", 3, query(get(1, Access::Scan), 3));
    let finishing = Finishing {
        order_by: vec![Order { descending: true, nulls_first: true, ..Order::ascending(2) }],
        limit: Some(memory::literal(10)),
        offset: None,
        late: Vec::new(),
        project: vec![0],
    };
    let top = Query {
        plan: get(1, Access::Scan),
        finishing,
        columns: vec![],
        locks: vec![],
        locking: vec![],
        acts: false,
        calls: false,
        constants: Vec::new(),
    };
    time("top ten of 1M rows", 3, top);
    time("count and sum of 1M rows", 3, query(reduce(get(1, Access::Scan), vec![]), 2));
    time("count and sum of 1M rows by 100k keys", 3, query(reduce(get(1, Access::Scan), vec![column(1)]), 3));
    let join = Plan::Join {
        left: Box::new(get(1, Access::Scan)),
        right: Box::new(get(2, Access::Scan)),
        left_key: vec![column(1)],
        right_key: vec![column(0)],
        null_safe: false,
        kind: MatchKind::Inner,
        mfp: Mfp::identity(6),
        range: None,
    };
    time("1M rows joined with 100k (arranged)", 2, query(join, 6));
    time(
        "1M rows joined with 100k (looked up), counted",
        2,
        query(reduce(lookup_join(get(2, Access::Scan)), vec![]), 2),
    );
}

fn time(memory: &Arc<Memory>, name: &str, times: usize, query: Query) {
    let query = Arc::new(query);
    let mut micros = Vec::with_capacity(times);
    let mut rows = 0;
    for number in 0..times {
        let params = vec![Datum::Int4((number * 7919 % (ROWS as usize / 10)) as i32)];
        let start = Instant::now();
        rows = run(query.clone(), memory.clone(), context(params), limits())
            .expect("it starts")
            .inspect(|row| assert!(row.is_ok(), "no errors"))
            .count();
        micros.push(start.elapsed().as_nanos() as f64 / 1000.0);
    }
    micros.sort_by(f64::total_cmp);
    println!("{name:48} {rows:8} rows  p50 {:12.1} us  p99 {:12.1} us", micros[times / 2], micros[times * 99 / 100]);
}
