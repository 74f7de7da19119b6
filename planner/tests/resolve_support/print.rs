//! `hir` as indented text.

use planner::hir::{
    DeleteHir, Hir, HirColumn, HirExpr, HirFunctionCall, HirNode, HirQuery, InsertHir, RowChecksHir, UpdateHir,
};
use planner::scalar::{AggregateCall, Order, ScalarExpr, WindowCall, WindowKind};
use repr::Datum;

/// Subqueries, by the names that stand in the place of them.
type Subs = Vec<(String, Hir)>;

fn line(out: &mut String, depth: usize, text: &str) {
    out.push_str(&"  ".repeat(depth));
    out.push_str(text);
    out.push('\n');
}

fn datum(value: &Datum) -> String {
    match value {
        Datum::Null => "null".to_owned(),
        Datum::Bool(flag) => flag.to_string(),
        Datum::Int4(number) => number.to_string(),
        Datum::Int8(number) => format!("{number}L"),
        Datum::Oid(number) => format!("oid {number}"),
        Datum::Text(text) => format!("'{text}'"),
        other => format!("{other:?}"),
    }
}

fn list(exprs: &[HirExpr], subs: &mut Subs) -> String {
    exprs.iter().map(|expr| text(expr, subs)).collect::<Vec<_>>().join(", ")
}

fn sub(subs: &mut Subs, hir: &Hir) -> String {
    let name = format!("sub{}", subs.len() + 1);
    subs.push((name.clone(), hir.clone()));
    name
}

fn text(expr: &HirExpr, subs: &mut Subs) -> String {
    match expr {
        ScalarExpr::Column(HirColumn::Column { level: 0, index }) => format!("#{index}"),
        ScalarExpr::Column(HirColumn::Column { level, index }) => format!("#{}{index}", "^".repeat(*level)),
        ScalarExpr::Column(HirColumn::Exists(hir)) => format!("exists({})", sub(subs, hir)),
        ScalarExpr::Column(HirColumn::Scalar(hir)) => format!("scalar({})", sub(subs, hir)),
        ScalarExpr::Column(HirColumn::ArrayOf(hir, _)) => format!("array({})", sub(subs, hir)),
        ScalarExpr::Column(HirColumn::Any { relation, condition }) => {
            let name = sub(subs, relation);
            format!("any({name}: {})", text(condition, subs))
        }
        ScalarExpr::Literal(value, column_type) => match value {
            Datum::Null => format!("null::{}", column_type.scalar.type_name()),
            Datum::Text(_) if column_type.scalar != repr::ScalarType::Text => {
                format!("{}::{}", datum(value), column_type.scalar.type_name())
            }
            other => datum(other),
        },
        ScalarExpr::Param(index, scalar) => format!("${}:{}", index + 1, scalar.type_name()),
        ScalarExpr::Call { function, args, .. } => match args.as_slice() {
            [left, right] if !function.name.starts_with(|first: char| first.is_alphabetic()) => {
                format!("({} {} {})", text(left, subs), function.name, text(right, subs))
            }
            _ => format!("{}({})", function.name, list(args, subs)),
        },
        ScalarExpr::And(items) => format!("and({})", list(items, subs)),
        ScalarExpr::Or(items) => format!("or({})", list(items, subs)),
        ScalarExpr::Case { branches, otherwise, .. } => {
            let branches: Vec<String> = branches
                .iter()
                .map(|(test, result)| format!("{} => {}", text(test, subs), text(result, subs)))
                .collect();
            format!("case({}; {})", branches.join(", "), text(otherwise, subs))
        }
        ScalarExpr::Coalesce(items, _) => format!("coalesce({})", list(items, subs)),
        ScalarExpr::Array(items, _) => format!("array[{}]", list(items, subs)),
        ScalarExpr::Record(items, _) => format!("row({})", list(items, subs)),
        ScalarExpr::Tested { operand, body } => format!("tested({}; {})", text(operand, subs), text(body, subs)),
        ScalarExpr::Once { operand, body } => format!("once({}; {})", text(operand, subs), text(body, subs)),
        ScalarExpr::Operand(_) => "operand".to_owned(),
        ScalarExpr::Cast { expr, to, .. } => {
            format!("{}::{}", text(expr, subs), to.scalar.format_type(to.modifier))
        }
    }
}

fn aggregate(call: &AggregateCall<HirColumn>, subs: &mut Subs) -> String {
    let mut out =
        format!("{}({}{})", call.function.name, if call.distinct { "distinct " } else { "" }, list(&call.args, subs));
    for (expr, descending, _) in &call.order_by {
        out.push_str(&format!(" order {}{}", text(expr, subs), if *descending { " desc" } else { "" }));
    }
    if let Some(filter) = &call.filter {
        out.push_str(&format!(" filter {}", text(filter, subs)));
    }
    out
}

fn order(items: &[Order]) -> String {
    items
        .iter()
        .map(|item| {
            let mut text = format!("#{}", item.column);
            if item.descending {
                text.push_str(" desc");
            }
            if item.nulls_first != item.descending {
                text.push_str(if item.nulls_first { " nulls first" } else { " nulls last" });
            }
            text
        })
        .collect::<Vec<_>>()
        .join(", ")
}

fn constant_row(row: &[Datum]) -> String {
    format!("({})", row.iter().map(datum).collect::<Vec<_>>().join(", "))
}

fn function((function, args, _): &HirFunctionCall, subs: &mut Subs) -> String {
    format!("{}({})", function.name, list(args, subs))
}

fn bounds(limit: Option<&HirExpr>, offset: Option<&HirExpr>, subs: &mut Subs) -> String {
    let mut shown = String::new();
    for (word, bound) in [("limit", limit), ("offset", offset)] {
        if let Some(bound) = bound {
            shown.push_str(&format!(" {word} {}", text(bound, subs)));
        }
    }
    shown
}

fn window(call: &WindowCall<HirColumn>, subs: &mut Subs) -> String {
    let name = match call.function {
        WindowKind::Function(function) => function.name,
        WindowKind::Aggregate(function) => function.name,
    };
    let frame = &call.frame;
    format!("{name}({}) {:?} {:?}..{:?}", list(&call.args, subs), frame.unit, frame.start, frame.end)
}

fn inputs(node: &HirNode) -> Vec<&Hir> {
    match node {
        HirNode::Constant(..) | HirNode::Get { .. } | HirNode::GetCte(..) => Vec::new(),
        HirNode::Map(input, _)
        | HirNode::Filter(input, _)
        | HirNode::Project(input, _)
        | HirNode::TableFunction { input, .. }
        | HirNode::Reduce { input, .. }
        | HirNode::Distinct(input)
        | HirNode::TopK { input, .. }
        | HirNode::Window { input, .. } => vec![input],
        HirNode::Join { left, right, .. }
        | HirNode::Except { left, right, .. }
        | HirNode::Intersect { left, right, .. } => vec![left, right],
        HirNode::Union(all, _) => all.iter().collect(),
        HirNode::Let { value, body, .. } => vec![value, body],
        HirNode::LetRec { base, step, body, .. } => vec![base, step, body],
    }
}

fn head(node: &HirNode, subs: &mut Subs) -> String {
    match node {
        HirNode::Constant(rows, _) => {
            format!("constant {}", rows.iter().map(|row| constant_row(row)).collect::<Vec<_>>().join(" "))
        }
        HirNode::Get { relation, with_key, .. } => {
            format!("get {relation}{}", if *with_key { " with key" } else { "" })
        }
        HirNode::GetCte(id, _) => format!("get cte {}", id.0),
        HirNode::Map(_, exprs) => {
            format!("map {}", list(exprs, subs))
        }
        HirNode::Filter(_, exprs) => {
            format!("filter {}", list(exprs, subs))
        }
        HirNode::Project(_, columns) => {
            format!("project {columns:?}")
        }
        HirNode::Join { kind, on, lateral, .. } => {
            format!("{}{kind:?} join on {}", if *lateral { "lateral " } else { "" }, text(on, subs)).to_lowercase()
        }
        HirNode::TableFunction { functions, ordinality, .. } => {
            let calls: Vec<String> = functions.iter().map(|call| function(call, subs)).collect();
            format!("table function {}{}", calls.join(", "), if *ordinality { " with ordinality" } else { "" })
        }
        HirNode::Reduce { keys, aggregates, scalar, .. } => {
            let calls: Vec<String> = aggregates.iter().map(|call| aggregate(call, subs)).collect();
            let scalar = if *scalar { " scalar" } else { "" };
            format!("reduce keys [{}] aggregates [{}]{scalar}", list(keys, subs), calls.join(", "))
        }
        HirNode::Distinct(_) => "distinct".to_owned(),
        HirNode::TopK { keys, order: by, limit, offset, .. } => {
            let head = format!("top k keys {keys:?} order [{}]", order(by));
            head + &bounds(limit.as_ref(), offset.as_ref(), subs)
        }
        HirNode::Window { partition, order: by, calls, .. } => {
            let calls: Vec<String> = calls.iter().map(|call| window(call, subs)).collect();
            format!("window partition {partition:?} order [{}] calls [{}]", order(by), calls.join(", "))
        }
        HirNode::Union(..) => "union".to_owned(),
        HirNode::Except { all, .. } => {
            format!("except{}", if *all { " all" } else { "" })
        }
        HirNode::Intersect { all, .. } => {
            format!("intersect{}", if *all { " all" } else { "" })
        }
        HirNode::Let { id, name, .. } => {
            format!("let {} {name}", id.0)
        }
        HirNode::LetRec { id, name, distinct, .. } => {
            format!("let rec {} {name}{}", id.0, if *distinct { " distinct" } else { "" })
        }
    }
}

/// A relation.
pub fn hir(hir: &Hir, depth: usize, out: &mut String) {
    let mut subs = Vec::new();
    let head = head(&hir.node, &mut subs);
    line(out, depth, &head);
    for (name, relation) in &subs {
        line(out, depth + 1, &format!("{name}:"));
        self::hir(relation, depth + 2, out);
    }
    for input in inputs(&hir.node) {
        self::hir(input, depth + 1, out);
    }
}

/// A query.
pub fn query(query: &HirQuery, depth: usize, out: &mut String) {
    let columns: Vec<String> = query
        .columns
        .iter()
        .zip(&query.project)
        .map(|(column, place)| {
            format!("{}:{}=#{place}", column.name, column.column_type.scalar.format_type(column.column_type.modifier))
        })
        .collect();
    line(out, depth, &format!("columns {}", columns.join(" ")));
    if !query.order_by.is_empty() {
        line(out, depth, &format!("order [{}]", order(&query.order_by)));
    }
    for (word, bound) in [("limit", &query.limit), ("offset", &query.offset)] {
        if let Some(bound) = bound {
            let mut subs = Vec::new();
            line(out, depth, &format!("{word} {}", text(bound, &mut subs)));
        }
    }
    for lock in &query.locks {
        let word = lock.strength.words();
        line(out, depth, &format!("lock {} for {word} key #{} {:?}", lock.table, lock.key_column, lock.wait));
    }
    hir(&query.relation, depth, out);
}

fn checks(checks: &RowChecksHir, out: &mut String) {
    let mut subs = Vec::new();
    for (column, expr) in &checks.generated {
        line(out, 1, &format!("generated {column}: {}", text(expr, &mut subs)));
    }
    if !checks.not_null.is_empty() {
        line(out, 1, &format!("not null {:?}", checks.not_null));
    }
    for (name, expr) in &checks.checks {
        line(out, 1, &format!("check {name}: {}", text(expr, &mut subs)));
    }
}

fn returning(returning: Option<&planner::hir::ReturningHir>, out: &mut String) {
    if let Some(returning) = returning {
        let names: Vec<&str> = returning.columns.iter().map(|column| column.name.as_str()).collect();
        line(out, 1, &format!("returning {}: {}", names.join(" "), list(&returning.exprs, &mut Vec::new())));
    }
}

/// INSERT.
pub fn insert(insert: &InsertHir, out: &mut String) {
    line(out, 0, &format!("insert {}", insert.table));
    checks(&insert.checks, out);
    if let Some(conflict) = &insert.on_conflict {
        line(out, 1, &format!("on conflict {:?}", conflict.arbiters));
        if let Some(update) = &conflict.update {
            for (column, expr) in &update.assignments {
                line(out, 2, &format!("set {column} = {}", text(expr, &mut Vec::new())));
            }
            if let Some(condition) = &update.condition {
                line(out, 2, &format!("where {}", text(condition, &mut Vec::new())));
            }
        }
    }
    returning(insert.returning.as_ref(), out);
    line(out, 1, &format!("project {:?}", insert.source.project));
    hir(&insert.source.relation, 1, out);
}

/// UPDATE.
pub fn update(update: &UpdateHir, out: &mut String) {
    line(out, 0, &format!("update {}", update.table));
    for (column, expr) in &update.assignments {
        line(out, 1, &format!("set {column} = {}", text(expr, &mut Vec::new())));
    }
    checks(&update.checks, out);
    returning(update.returning.as_ref(), out);
    hir(&update.source.relation, 1, out);
}

/// DELETE.
pub fn delete(delete: &DeleteHir, out: &mut String) {
    line(out, 0, &format!("delete {}", delete.table));
    returning(delete.returning.as_ref(), out);
    hir(&delete.source.relation, 1, out);
}
