//! Aggregates over a group and window calls over a partition give what PostgreSQL 15 gave for the same values.

use planner::names::Label;
use planner::scalar::registry::{resolve_aggregate, resolve_window};
use planner::scalar::window::evaluate_partition;
use planner::scalar::{
    EvalContext, FrameBound, FrameExclusion, FrameOffset, FrameUnit, Order, ScalarExpr, WindowCall, WindowFrame,
    WindowKind,
};
use repr::text::{TextContext, format};
use repr::{Datum, ScalarType};

fn text(value: &Datum, scalar: &ScalarType) -> String {
    if value.is_null() { "null".to_owned() } else { format(value, scalar, &TextContext::default()) }
}

/// `x` in (1, 2, 2, 7), the twos given as one row of multiplicity 2.
#[test]
fn aggregates() {
    let cases = [
        ("count", "4"),
        ("sum", "12"),
        ("avg", "3.0000000000000000"),
        ("min", "1"),
        ("max", "7"),
        ("stddev", "2.7080128015453201"),
        ("var_pop", "5.5000000000000000"),
        ("array_agg", "{1,2,2,7}"),
        ("mode", "2"),
    ];
    let ctx = EvalContext::immutable();
    let group = [(Datum::Int4(1), 1), (Datum::Int4(2), 2), (Datum::Int4(7), 1)];
    for (name, expected) in cases {
        let found = resolve_aggregate(name, &[ScalarType::Int4]).expect("the aggregate exists");
        let rows: Vec<([Datum; 1], u64)> = group.iter().map(|(value, times)| ([value.clone()], *times)).collect();
        let mut items = rows.iter().map(|(args, times)| (args.as_slice(), *times));
        let value = found.function.evaluate(&ctx, &mut items, &found.result).expect("it has a value");
        assert_eq!(text(&value, &found.result), expected, "{name}");
        let mut nothing = std::iter::empty();
        let value = found.function.evaluate(&ctx, &mut nothing, &found.result).expect("also over nothing");
        assert_eq!(text(&value, &found.result), if name == "count" { "0" } else { "null" }, "{name} of nothing");
    }
}

fn frame(unit: FrameUnit, start: FrameBound, end: FrameBound, exclude: FrameExclusion) -> WindowFrame {
    WindowFrame { unit, start, end, exclude }
}

#[test]
fn windows() {
    let usual =
        frame(FrameUnit::Range, FrameBound::UnboundedPreceding, FrameBound::CurrentRow, FrameExclusion::NoOthers);
    let near = |unit, offset: fn(i64) -> Datum| {
        frame(
            unit,
            FrameBound::Preceding(FrameOffset::Constant(offset(1))),
            FrameBound::Following(FrameOffset::Constant(offset(1))),
            FrameExclusion::NoOthers,
        )
    };
    let groups = frame(
        FrameUnit::Groups,
        FrameBound::Preceding(FrameOffset::Constant(Datum::Int8(1))),
        FrameBound::CurrentRow,
        FrameExclusion::Ties,
    );
    let others =
        frame(FrameUnit::Rows, FrameBound::UnboundedPreceding, FrameBound::CurrentRow, FrameExclusion::CurrentRow);
    let four = |value: i64| Datum::Int4(value as i32);
    let cases: Vec<(&str, Vec<Datum>, WindowFrame, [&str; 4])> = vec![
        ("row_number", vec![], usual.clone(), ["1", "2", "3", "4"]),
        ("rank", vec![], usual.clone(), ["1", "2", "2", "4"]),
        ("dense_rank", vec![], usual.clone(), ["1", "2", "2", "3"]),
        ("percent_rank", vec![], usual.clone(), ["0", "0.3333333333333333", "0.3333333333333333", "1"]),
        ("cume_dist", vec![], usual.clone(), ["0.25", "0.75", "0.75", "1"]),
        ("lag", vec![Datum::Null], usual.clone(), ["null", "1", "2", "2"]),
        ("lead", vec![Datum::Null, Datum::Int4(1), Datum::Int4(-1)], usual.clone(), ["2", "2", "7", "-1"]),
        ("first_value", vec![Datum::Null], usual.clone(), ["1", "1", "1", "1"]),
        ("last_value", vec![Datum::Null], usual.clone(), ["1", "2", "2", "7"]),
        ("ntile", vec![Datum::Int4(2)], usual.clone(), ["1", "1", "2", "2"]),
        ("sum", vec![Datum::Null], usual, ["1", "5", "5", "12"]),
        ("sum", vec![Datum::Null], near(FrameUnit::Rows, Datum::Int8), ["3", "5", "11", "9"]),
        ("sum", vec![Datum::Null], near(FrameUnit::Range, four), ["5", "5", "5", "7"]),
        ("count", vec![Datum::Null], groups, ["1", "2", "2", "3"]),
        ("max", vec![Datum::Null], others, ["null", "1", "2", "2"]),
    ];
    let rows: Vec<Vec<Datum>> = [1, 2, 2, 7].into_iter().map(|value| vec![Datum::Int4(value)]).collect();
    let order = [Order::ascending(0)];
    for (name, args, frame, expected) in cases {
        let types = vec![ScalarType::Int4; args.len()];
        let (function, result) = match resolve_aggregate(name, &types) {
            Ok(found) => (WindowKind::Aggregate(found.function), found.result),
            Err(_) => {
                let found = resolve_window(name, &types).expect("the window function exists");
                (WindowKind::Function(found.function), found.result)
            }
        };
        // NULL stands for the column.
        let args = args.into_iter().map(|arg| match arg {
            Datum::Null => ScalarExpr::Column(0),
            value => ScalarExpr::Literal(value, repr::ColumnType::nullable(ScalarType::Int4)),
        });
        let args = args.collect();
        let label = Label::default();
        let call = WindowCall { function, args, filter: None, frame, result: result.clone(), label };
        let values = evaluate_partition(&rows, &order, &[call], &EvalContext::immutable()).expect("it has values");
        let shown: Vec<String> = values.iter().map(|row| text(&row[0], &result)).collect();
        assert_eq!(shown, expected, "{name}");
    }
}
