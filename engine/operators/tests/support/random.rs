//! Random plans over tables 1, 2 and 3, whose columns are all small integers or NULL.

use super::memory::{
    COUNT, EQUAL, LESS, LIST, MAX, MIDDLE, MODE, PLUS, Random, SERIES, SUM, aggregate, call, column, index_id, literal,
};
use planner::names::{Label, Names};
use planner::plan::{Access, Besides, Counting, LocalId, Lookup, MatchKind, Plan};
use planner::scalar::window::WindowFunctionKind;
use planner::scalar::{
    AggregateCall, FrameBound, FrameExclusion, FrameUnit, Mfp, Order, ScalarExpr, WindowCall, WindowFrame,
    WindowFunction, WindowKind,
};
use repr::{Datum, RelationId, Row, ScalarType};

/// A plan and how many columns it has. `locals` are those in scope.
pub fn plan(random: &mut Random, depth: usize, locals: &mut Vec<(LocalId, usize)>) -> (Plan, usize) {
    if depth == 0 {
        return leaf(random, locals);
    }
    match random.below(13) {
        0 | 1 => {
            let (input, width) = plan(random, depth - 1, locals);
            let mfp = mfp(random, width);
            let width = mfp.project.len();
            (Plan::Mfp(Box::new(input), mfp), width)
        }
        2 | 3 => lookup_join(random, depth, locals),
        4 | 5 => join(random, depth, locals),
        6 => reduce(random, depth, locals),
        7 => first_rows(random, depth, locals),
        8 => {
            let inputs: Vec<_> = (0..=random.below(3)).map(|_| narrow(random, depth, locals, 2)).collect();
            (Plan::Union(inputs, Names::default()), 2)
        }
        9 => {
            let (left, right) = (narrow(random, depth, locals, 1), narrow(random, depth, locals, 1));
            (Plan::Threshold(Box::new(Plan::Union(vec![left, Plan::Negate(Box::new(right))], Names::default()))), 1)
        }
        10 => {
            let (value, width) = plan(random, depth - 1, locals);
            let id = LocalId(locals.len() + 10 * depth + 100 * random.below(1000));
            locals.push((id, width));
            let (body, width) = plan(random, depth - 1, locals);
            locals.pop();
            (Plan::Let { id, value: Box::new(value), body: Box::new(body) }, width)
        }
        11 => {
            let (input, width) = plan(random, depth - 1, locals);
            let calls: Vec<_> = (0..=random.below(2)).map(|_| window_call(random)).collect();
            let added = calls.len();
            let window = Plan::Window {
                input: Box::new(input),
                partition: if random.chance(3) { vec![] } else { vec![random.below(width)] },
                order: if random.chance(4) { vec![] } else { vec![order(random, width)] },
                calls,
            };
            (window, width + added)
        }
        _ => {
            let (input, width) = plan(random, depth - 1, locals);
            let count = |random: &mut Random| literal(random.below(4) as i32);
            let functions = (0..=random.below(2)).map(|_| (&SERIES, vec![count(random)], vec![ScalarType::Int8]));
            let functions: Vec<_> = functions.collect();
            let ordinality = random.chance(2);
            let width = width + functions.len() + usize::from(ordinality);
            (Plan::TableFunction { input: Box::new(input), functions, ordinality, names: Names::default() }, width)
        }
    }
}

fn first_rows(random: &mut Random, depth: usize, locals: &mut Vec<(LocalId, usize)>) -> (Plan, usize) {
    let (input, width) = plan(random, depth - 1, locals);
    let counting = [Counting::Rows, Counting::Rows, Counting::RowsWithPeers, Counting::PeerGroups][random.below(4)];
    let mut order = vec![order(random, width), order(random, width)];
    order[1].tie = random.chance(2);
    let top = Plan::TopK {
        input: Box::new(input),
        keys: if random.chance(2) { vec![random.below(width)] } else { vec![] },
        order,
        limit: (!random.chance(4)).then(|| literal(random.below(4) as i32)),
        offset: (counting == Counting::Rows && random.chance(3)).then(|| literal(random.below(3) as i32)),
        counting,
    };
    (top, width)
}

fn window_call(random: &mut Random) -> WindowCall {
    let function = match random.below(3) {
        0 => WindowKind::Function(&ROW_NUMBER),
        1 => WindowKind::Function(&RANK),
        _ => WindowKind::Aggregate(&COUNT),
    };
    WindowCall {
        function,
        args: Vec::new(),
        filter: None,
        frame: WindowFrame {
            unit: FrameUnit::Range,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::CurrentRow,
            exclude: FrameExclusion::NoOthers,
        },
        result: ScalarType::Int8,
        label: Label::default(),
    }
}

static ROW_NUMBER: WindowFunction = WindowFunction { name: "row_number", kind: WindowFunctionKind::RowNumber };
static RANK: WindowFunction = WindowFunction { name: "rank", kind: WindowFunctionKind::Rank };

fn leaf(random: &mut Random, locals: &[(LocalId, usize)]) -> (Plan, usize) {
    if !locals.is_empty() && random.chance(2) {
        let (id, arity) = locals[random.below(locals.len())];
        return (Plan::GetLocal { id, arity, names: Names::default() }, arity);
    }
    if random.chance(5) {
        let value =
            |random: &mut Random| if random.chance(4) { Datum::Null } else { Datum::Int4(random.below(4) as i32) };
        let rows = (0..random.below(4)).map(|_| Row::pack(&[value(random), value(random)])).collect();
        return (Plan::Constant { rows, arity: 2, names: Names::default() }, 2);
    }
    let relation = 1 + random.below(3) as u32;
    let access = match random.below(3) {
        0 => Access::Scan,
        lookup => Access::Lookup {
            lookup: if lookup == 1 { Lookup::PrimaryKey } else { Lookup::Index(index_id(relation, 1)) },
            keys: (0..=random.below(3)).map(|_| vec![literal(random.below(5) as i32)]).collect(),
            besides: Besides::None,
        },
    };
    let mfp = if random.chance(2) { Mfp::identity(3) } else { mfp(random, 3) };
    let width = mfp.project.len();
    (Plan::Get { relation: RelationId(relation), access, with_key: false, names: Names::default(), mfp }, width)
}

/// A plan cut or doubled to a width.
fn narrow(random: &mut Random, depth: usize, locals: &mut Vec<(LocalId, usize)>, to: usize) -> Plan {
    let (input, width) = plan(random, depth - 1, locals);
    // Texts of LIST stay out of unions with integers, which have one type a column.
    let project = (0..to).map(|position| position % width).collect();
    Plan::Mfp(Box::new(input), Mfp { project, ..Mfp::identity(width) })
}

fn mfp(random: &mut Random, width: usize) -> Mfp {
    let mut mfp = Mfp::identity(width);
    if random.chance(2) {
        let coalesced = ScalarExpr::Coalesce(vec![literal(2)], ScalarType::Int4);
        mfp.map.push(call(&PLUS, coalesced, literal(random.below(3) as i32)));
    }
    let known = width + mfp.map.len();
    if random.chance(2) {
        let function = if random.chance(2) { &EQUAL } else { &LESS };
        mfp.filter.push((known, call(function, column(random.below(known)), literal(random.below(5) as i32))));
    }
    mfp.project = (0..=random.below(4)).map(|_| random.below(known)).collect();
    mfp
}

fn order(random: &mut Random, width: usize) -> Order {
    Order { column: random.below(width), descending: random.chance(2), nulls_first: random.chance(2), tie: false }
}

fn kind(random: &mut Random) -> MatchKind {
    [MatchKind::Inner, MatchKind::Left, MatchKind::Semi, MatchKind::Anti][random.below(4)]
}

fn joined_mfp(random: &mut Random, kind: MatchKind, left: usize, right: usize) -> Mfp {
    let width = match kind {
        MatchKind::Inner | MatchKind::Left => left + right,
        MatchKind::Semi | MatchKind::Anti => left,
    };
    if random.chance(2) { Mfp::identity(width) } else { mfp(random, width) }
}

fn lookup_join(random: &mut Random, depth: usize, locals: &mut Vec<(LocalId, usize)>) -> (Plan, usize) {
    let (input, left) = plan(random, depth - 1, locals);
    let (relation, kind) = (1 + random.below(3) as u32, kind(random));
    let mfp = joined_mfp(random, kind, left, 3);
    let width = mfp.project.len();
    let join = Plan::LookupJoin {
        input: Box::new(input),
        relation: RelationId(relation),
        lookup: if random.chance(2) { Lookup::PrimaryKey } else { Lookup::Index(index_id(relation, 1)) },
        key: vec![column(random.below(left))],
        kind,
        condition: if random.chance(2) { vec![call(&LESS, column(left + 2), literal(2))] } else { vec![] },
        with_key: false,
        names: Names::default(),
        mfp,
    };
    (join, width)
}

fn join(random: &mut Random, depth: usize, locals: &mut Vec<(LocalId, usize)>) -> (Plan, usize) {
    let (left_plan, left) = plan(random, depth - 1, locals);
    let (right_plan, right) = plan(random, depth - 1, locals);
    let keys = random.below(3);
    let kind = kind(random);
    let mfp = joined_mfp(random, kind, left, right);
    let width = mfp.project.len();
    let join = Plan::Join {
        left: Box::new(left_plan),
        right: Box::new(right_plan),
        left_key: (0..keys).map(|_| column(random.below(left))).collect(),
        right_key: (0..keys).map(|_| column(random.below(right))).collect(),
        null_safe: random.chance(2),
        kind,
        mfp,
        range: None,
    };
    (join, width)
}

fn reduce(random: &mut Random, depth: usize, locals: &mut Vec<(LocalId, usize)>) -> (Plan, usize) {
    // Columns of scans only: SUM and the others are over integers.
    let relation = RelationId(1 + random.below(3) as u32);
    let table =
        Plan::Get { relation, access: Access::Scan, with_key: false, names: Names::default(), mfp: Mfp::identity(3) };
    let (other, _) = plan(random, depth - 1, locals);
    let other_width = operators::plan::arity(&other);
    let input = Plan::Join {
        left: Box::new(table),
        right: Box::new(other),
        left_key: vec![],
        right_key: vec![],
        null_safe: true,
        kind: MatchKind::Inner,
        mfp: Mfp::identity(3 + other_width),
        range: None,
    };
    let scalar = random.chance(3);
    let keys: Vec<_> =
        if scalar { vec![] } else { (0..=random.below(2)).map(|_| column(1 + random.below(2))).collect() };
    let lists = random.chance(3);
    let aggregates: Vec<AggregateCall> = (0..random.below(3) + usize::from(scalar))
        .map(|_| {
            let function = if lists {
                [&COUNT, &SUM, &MAX, &LIST, &MIDDLE, &MODE][random.below(6)]
            } else {
                [&COUNT, &SUM, &MAX][random.below(3)]
            };
            let mut aggregate = aggregate(function, vec![column(random.below(3))]);
            aggregate.distinct = random.chance(3) && function.name != "mode";
            if random.chance(3) {
                aggregate.filter = Some(call(&LESS, column(1 + random.below(2)), literal(2)));
            }
            if function.is_ordered() {
                // By its argument, so that the answer is determined.
                let argument = aggregate.args[0].clone();
                aggregate.order_by = vec![(argument, random.chance(2), random.chance(2))];
            }
            aggregate
        })
        .collect();
    let width = keys.len() + aggregates.len();
    if width == 0 {
        return (Plan::Reduce { input: Box::new(input), keys: vec![column(0)], aggregates, scalar: false }, 1);
    }
    (Plan::Reduce { input: Box::new(input), keys, aggregates, scalar }, width)
}
