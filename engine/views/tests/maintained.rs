//! Maintained views over random plans and random commit groups: after each, what is maintained is what the naive
//! evaluator computes anew. Drives one view's dataflow directly, over leaves in memory.
//!
//! Groups come one by one, or several at once as when a view catches up after it was filled. Plans that a view
//! refuses (a lookup whose changes cannot be followed) are counted, so that the test cannot run dry.

#[path = "../../operators/tests/support/memory.rs"]
mod memory;
#[path = "../../operators/tests/support/naive.rs"]
mod naive;
#[path = "../../operators/tests/support/random.rs"]
mod random;

use arrangements::merging::Extent;
use arrangements::ordered_row::group_key;
use memory::{DIVIDE, LESS, Memory, Random, call, column, context, filter, limits, literal, query};
use naive::{Naive, bag};
use operators::delta::{Feed, Group};
use planner::catalog::Catalog;
use planner::delta::pipelines;
use planner::names::Names;
use planner::plan::{Access, Lookup, Plan};
use planner::scalar::{Mfp, Order};
use repr::{CommitTime, Datum, IndexId, RelationId, Row};
use state::reader::Reader;
use state::view_states::{Arrangement, Stage, ViewState};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use views::bound::Bound;
use views::dataflow::{ArrangedBy, Definition, ViewDataflow};
use views::hydrate::Hydration;

const WIDTH: usize = 3;
const TABLES: [u32; 3] = [1, 2, 3];
const BUDGET_BYTES: usize = 1 << 28;

/// The rows of each table, by primary key.
#[derive(Clone, Default)]
struct Tables(BTreeMap<u32, BTreeMap<i32, Vec<Datum>>>);

impl Tables {
    fn memory(&self) -> Arc<Memory> {
        let rows = |id: u32| self.0.get(&id).into_iter().flat_map(|rows| rows.values().cloned()).collect();
        Memory::new(TABLES.map(|id| (id, WIDTH, rows(id))).into())
    }

    /// Some rows inserted, updated and deleted.
    fn change(&mut self, random: &mut Random) {
        for id in TABLES {
            let rows = self.0.entry(id).or_default();
            for _ in 0..random.below(4) {
                let key = random.below(12) as i32;
                if random.chance(3) {
                    rows.remove(&key);
                } else {
                    rows.insert(key, row(key, random));
                }
            }
            if random.chance(20) {
                rows.clear();
            }
        }
    }

    /// What became of each row, as a commit group tells it.
    fn changes_since(&self, before: &Tables) -> BTreeMap<RelationId, Arc<Vec<(Row, isize)>>> {
        let mut changes = BTreeMap::new();
        for id in TABLES {
            let (then, now) = (before.0.get(&id).cloned().unwrap_or_default(), self.0.get(&id).cloned());
            let now = now.unwrap_or_default();
            let gone = then.iter().filter(|(key, row)| now.get(key) != Some(row)).map(|(_, row)| (Row::pack(row), -1));
            let come = now.iter().filter(|(key, row)| then.get(key) != Some(row)).map(|(_, row)| (Row::pack(row), 1));
            let rows: Vec<_> = gone.chain(come).collect();
            if !rows.is_empty() {
                changes.insert(RelationId(id), Arc::new(rows));
            }
        }
        changes
    }
}

fn row(key: i32, random: &mut Random) -> Vec<Datum> {
    let value = |random: &mut Random| match random.below(6) {
        0 => Datum::Null,
        number => Datum::Int4(number as i32 - 1),
    };
    let mut row = vec![Datum::Int4(key), value(random), value(random)];
    if random.chance(5) {
        // Written before the last column was added.
        row.truncate(WIDTH - 1);
    }
    row
}

/// Makes a plan one of the kind that views get: tables are read whole, and within rounds looked up only where their changes
/// can be followed in the leaves.
fn make_followable(plan: &mut Plan, catalog: &Catalog, recursing: bool) {
    match plan {
        Plan::Get { access, .. } => *access = Access::Scan,
        Plan::Constant { .. } | Plan::GetLocal { .. } => {}
        Plan::Mfp(input, _)
        | Plan::TableFunction { input, .. }
        | Plan::LookupJoin { input, .. }
        | Plan::Reduce { input, .. }
        | Plan::TopK { input, .. }
        | Plan::Window { input, .. }
        | Plan::AtMostOne { input, .. }
        | Plan::Temporal { input, .. }
        | Plan::Negate(input)
        | Plan::Threshold(input) => make_followable(input, catalog, recursing),
        Plan::Join { left: one, right: other, .. } | Plan::Let { value: one, body: other, .. } => {
            [one, other].into_iter().for_each(|input| make_followable(input, catalog, recursing));
        }
        Plan::Union(inputs, _) => inputs.iter_mut().for_each(|input| make_followable(input, catalog, recursing)),
        Plan::LetRec { base, step, body, .. } => {
            make_followable(step, catalog, true);
            [base, body].into_iter().for_each(|input| make_followable(input, catalog, recursing));
        }
    }
    if recursing
        && pipelines(plan, catalog).is_none()
        && let Plan::LookupJoin { input, relation, lookup, key, kind, mfp, .. } = plan
    {
        let right = Plan::Get {
            relation: *relation,
            access: Access::Scan,
            with_key: false,
            names: Names::default(),
            mfp: Mfp::identity(WIDTH),
        };
        *plan = Plan::Join {
            left: input.clone(),
            right: Box::new(right),
            left_key: key.clone(),
            right_key: vec![column(usize::from(*lookup != Lookup::PrimaryKey))],
            null_safe: false,
            kind: *kind,
            mfp: mfp.clone(),
            range: None,
        };
    }
}

/// A view and what it is over.
struct Maintained {
    flow: ViewDataflow,
    tables: Tables,
}

impl Maintained {
    /// None if the plan's changes cannot be followed.
    fn new(plan: &Plan, tables: Tables) -> Option<Self> {
        Self::within(None, plan, tables)
    }

    /// The same, with so many rows of a key.
    fn within(bound: Option<Bound>, plan: &Plan, tables: Tables) -> Option<Self> {
        let by = |index: u32, key: Vec<usize>, order: Vec<Order>| ArrangedBy { index: IndexId(index), key, order };
        let falling = Order { descending: true, ..Order::ascending(0) };
        let definition = Definition {
            id: RelationId(90),
            name: "view".into(),
            plan: Arc::new(plan.clone()),
            arrangements: vec![by(1, Vec::new(), Vec::new()), by(2, vec![0], vec![falling])],
            bound,
            planned_over: Vec::new(),
        };
        let catalog = tables.memory().catalog.clone();
        let flow = ViewDataflow::build(definition, &catalog, context(Vec::new()), Arc::new(|| None)).ok()?;
        let mut maintained = Maintained { flow, tables };
        let mut hydration =
            Hydration::new(maintained.tables.memory(), (CommitTime(1), 0), &maintained.flow.chains, Rc::default());
        while let Some(feed) = hydration.next_chunk(Duration::from_millis(2)).expect("memory can be read") {
            maintained.feed(vec![feed]);
        }
        Some(maintained)
    }

    fn feed(&mut self, feeds: Vec<Feed>) {
        self.flow.apply(feeds, BUDGET_BYTES).expect("there is memory enough");
    }

    /// A tick without anything.
    fn rest(&mut self) {
        self.feed(Vec::new());
    }

    /// So many commit groups in one tick.
    fn groups(&mut self, count: usize, random: &mut Random) {
        let mut feeds = Vec::new();
        for _ in 0..count {
            let before = self.tables.clone();
            self.tables.change(random);
            let group = Group {
                clock: 0,
                before: before.memory() as Arc<dyn Reader>,
                after: self.tables.memory(),
                changes: self.tables.changes_since(&before),
                time: CommitTime(0),
            };
            feeds.push(Feed::Group(Arc::new(group)));
        }
        self.feed(feeds);
    }

    /// As while no commit comes.
    fn merge(&mut self, extent: Extent) {
        while self.flow.merge(extent).more {}
    }

    fn state(&self) -> ViewState {
        self.flow.state(Stage::Ready)
    }

    /// The rows of one of its arrangements.
    fn rows(&self, arrangement: usize) -> Vec<Vec<Datum>> {
        self.state().arrangements[arrangement].rows().map(|row| row.unpack()).collect()
    }

    fn computed(&self, plan: &Plan) -> Vec<Vec<Datum>> {
        let memory = self.tables.memory();
        Naive { memory: &memory, eval: context(Vec::new()) }.rows(plan, &naive::Locals::new())
    }
}

#[test]
fn what_is_maintained_is_what_is_computed_anew() {
    let (mut followed, mut refused) = (0, 0);
    for seed in 1..=700 {
        let mut random = Random(seed * 6_700_417);
        let mut tables = Tables::default();
        (0..3).for_each(|_| tables.change(&mut random));
        let (mut plan, _width) = random::plan(&mut random, 3, &mut Vec::new());
        make_followable(&mut plan, &tables.memory().catalog, false);
        let Some(mut view) = Maintained::new(&plan, tables) else {
            refused += 1;
            continue;
        };
        followed += 1;
        for step in 0..8 {
            let expected = bag(&view.computed(&plan));
            assert!(view.flow.error().is_none(), "seed {seed}, step {step}");
            for arrangement in 0..2 {
                let found = bag(&view.rows(arrangement));
                assert_eq!(found, expected, "seed {seed}, step {step}, arrangement {arrangement}: {plan:#?}");
            }
            // One group, or what waits after a view was filled.
            let count = if random.chance(3) { 1 + random.below(5) } else { 1 };
            view.groups(count, &mut random);
            match random.below(4) {
                0 => {
                    view.merge(Extent::All);
                    let state = view.state();
                    assert!(state.arrangements.iter().all(|arrangement| arrangement.batches.len() <= 1));
                }
                1 => view.merge(Extent::UnderWay),
                _ => {}
            }
        }
    }
    assert!(followed >= 400, "{followed} of {} plans are maintained", followed + refused);
}

/// The rows of one key, in the arrangement's order.
fn of_key(arrangement: &Arrangement, key: &[u8]) -> Vec<Vec<u8>> {
    let mut rows = Vec::new();
    arrangement.for_key(key, |row| {
        rows.push(row.to_vec());
        true
    });
    rows
}

#[test]
fn within_a_bound_each_key_has_its_first_rows() {
    const ROWS_MIN: usize = 2;
    let (mut cut, mut whole, mut short) = (0, 0, 0);
    for seed in 1..=400 {
        let mut random = Random(seed * 32_452_843);
        let mut tables = Tables::default();
        (0..3).for_each(|_| tables.change(&mut random));
        let (mut plan, width) = random::plan(&mut random, 3, &mut Vec::new());
        make_followable(&mut plan, &tables.memory().catalog, false);
        let Some(mut view) = Maintained::new(&plan, tables.clone()) else { continue };
        let bound = Bound::new(ROWS_MIN, random.below(3));
        let mut bounded = Maintained::within(Some(bound), &plan, tables).expect("it can be followed");
        for step in 0..12 {
            if random.chance(2) {
                bounded.rest();
            }
            if bounded.flow.is_short() {
                short += 1;
                break;
            }
            let (all, first) = (view.state(), bounded.state());
            for (all, first) in all.arrangements.iter().zip(&first.arrangements) {
                assert_eq!((all.rows_min, first.rows_min), (None, Some(ROWS_MIN)));
                let by: &[usize] = if all.ordered { &[0] } else { &[] };
                let keys: BTreeSet<Vec<u8>> = all.rows().map(|row| group_key(by, &row.unpack())).collect();
                for key in &keys {
                    let (expected, found) = (of_key(all, key), of_key(first, key));
                    assert!(expected.starts_with(&found), "seed {seed}, step {step}: {plan:#?}");
                    assert!(found.len() >= expected.len().min(ROWS_MIN), "seed {seed}, step {step}: {plan:#?}");
                    *(if found.len() < expected.len() { &mut cut } else { &mut whole }) += 1;
                }
                let others = first.rows().map(|row| group_key(by, &row.unpack())).filter(|key| !keys.contains(key));
                assert_eq!(others.count(), 0, "seed {seed}, step {step}: rows of keys without rows; {width} columns");
            }
            // Both the same groups.
            let count = 1 + random.below(2);
            let mut same = Random(random.0);
            view.groups(count, &mut random);
            bounded.groups(count, &mut same);
            match random.below(3) {
                0 => bounded.merge(Extent::All),
                1 => bounded.merge(Extent::UnderWay),
                _ => {}
            }
        }
    }
    assert!(cut > 200 && whole > 2_000 && short > 20, "{cut} keys are cut, {whole} whole, {short} views short");
}

#[test]
fn the_changes_of_each_group_add_up_to_the_rows() {
    for seed in 1..=200 {
        let mut random = Random(seed * 15_485_863);
        let mut tables = Tables::default();
        tables.change(&mut random);
        let (mut plan, _width) = random::plan(&mut random, 2, &mut Vec::new());
        make_followable(&mut plan, &tables.memory().catalog, false);
        let Some(mut view) = Maintained::new(&plan, tables) else { continue };
        let mut sums: BTreeMap<Vec<u8>, isize> = BTreeMap::new();
        for step in 0..8 {
            for batch in view.flow.take_fresh() {
                batch.for_each(|_key, row, diff| *sums.entry(row.to_vec()).or_insert(0) += diff);
            }
            sums.retain(|_, count| *count != 0);
            assert!(sums.values().all(|count| *count > 0), "seed {seed}, step {step}: no row less than none");
            let mut expected: BTreeMap<Vec<u8>, isize> = BTreeMap::new();
            for row in view.state().arrangements[0].rows() {
                *expected.entry(row.bytes().to_vec()).or_insert(0) += 1;
            }
            assert_eq!(sums, expected, "seed {seed}, step {step}");
            view.groups(1, &mut random);
            view.merge(Extent::All);
        }
    }
}

#[test]
fn a_row_that_fails_is_counted_until_it_goes() {
    let scan = Plan::Get {
        relation: RelationId(1),
        access: Access::Scan,
        with_key: false,
        names: Names::default(),
        mfp: Mfp::identity(WIDTH),
    };
    let mut mfp = filter(WIDTH, call(&LESS, column(0), literal(9)));
    mfp.map.push(call(&DIVIDE, literal(12), column(1)));
    mfp.project = vec![0, WIDTH];
    let plan = Plan::Mfp(Box::new(scan), mfp);
    let mut view = Maintained::new(&plan, Tables::default()).expect("a chain can be followed");
    let mut random = Random(11);
    let (mut failed, mut healed) = (0, 0);
    for _ in 0..60 {
        let was_failing = view.flow.error().is_some();
        view.groups(1, &mut random);
        let fails = |(key, row): &(&i32, &Vec<Datum>)| **key < 9 && row[1] == Datum::Int4(0);
        let zeros = view.tables.0.get(&1).map_or(0, |rows| rows.iter().filter(fails).count());
        assert_eq!(view.flow.error().is_some(), zeros > 0, "{zeros} rows divide by zero");
        assert_eq!(view.state().is_readable(), zeros == 0);
        assert_eq!(view.state().error.is_some(), zeros > 0);
        failed += usize::from(zeros > 0);
        healed += usize::from(was_failing && zeros == 0);
        if zeros == 0 {
            let finished = query(plan.clone(), 2);
            let memory = view.tables.memory();
            let rows = operators::query::run(Arc::new(finished), memory, context(Vec::new()), limits());
            let rows: Vec<_> = rows.and_then(Iterator::collect).expect("no row fails");
            assert_eq!(bag(&view.rows(0)), bag(&rows));
        }
    }
    assert!(failed > 5 && healed > 1, "rows fail {failed} times and go {healed} times");
}
