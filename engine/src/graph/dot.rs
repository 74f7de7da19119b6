//! The graph as Graphviz draws it: a box for each operator, views in frames of their own, arrows the way that rows go.

use super::{GraphOperator, OperatorKind};
use planner::catalog::Catalog;
use repr::RelationId;
use std::collections::BTreeMap;
use std::fmt::Write;

/// In the DOT language.
pub fn dot(operators: &[GraphOperator], catalog: &Catalog) -> String {
    let mut text = "digraph dataflow {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n".to_string();
    let mut frames: BTreeMap<RelationId, Vec<&GraphOperator>> = BTreeMap::new();
    for operator in operators {
        match (operator.kind, operator.relation) {
            (OperatorKind::Operator | OperatorKind::Arrangement, Some(view)) => {
                frames.entry(view).or_default().push(operator);
            }
            _ => line(&mut text, "  ", &node(operator)),
        }
    }
    for (view, inside) in frames {
        let name = catalog
            .table(view)
            .map_or_else(|| views::automatic::name(view), |table| catalog.server_name(table).into_owned());
        line(&mut text, "  ", &format!("subgraph {} {{", quoted(&format!("cluster_{view}"))));
        line(&mut text, "    ", &format!("label={};", quoted(&name)));
        inside.into_iter().for_each(|operator| line(&mut text, "    ", &node(operator)));
        line(&mut text, "  ", "}");
    }
    for operator in operators {
        for input in &operator.inputs {
            line(&mut text, "  ", &format!("{} -> {};", quoted(input), quoted(&operator.id)));
        }
    }
    text.push('}');
    text
}

fn line(text: &mut String, indent: &str, line: &str) {
    writeln!(text, "{indent}{line}").expect("writing to a string does not fail");
}

fn node(operator: &GraphOperator) -> String {
    let mut label = format!("{}\n{}", operator.kind.name(), operator.name);
    let sizes = [(operator.rows, "rows"), (operator.bytes, "bytes")];
    let sizes: Vec<String> = sizes.iter().filter_map(|(size, unit)| Some(format!("{} {unit}", (*size)?))).collect();
    if !sizes.is_empty() {
        label = format!("{label}\n{}", sizes.join(", "));
    }
    let style = match operator.kind {
        OperatorKind::Table => "shape=cylinder, style=filled, fillcolor=lightblue",
        OperatorKind::Index | OperatorKind::OrderedIndex => "shape=box, style=filled, fillcolor=aliceblue",
        OperatorKind::Ownership | OperatorKind::Owners => "shape=box, style=filled, fillcolor=lightyellow",
        OperatorKind::Access => "shape=box, style=\"filled,dashed\", fillcolor=lightyellow",
        OperatorKind::SubjectRequests => "shape=house, style=filled, fillcolor=khaki",
        OperatorKind::Operator => "shape=box, style=rounded",
        OperatorKind::Arrangement => "shape=box3d",
        OperatorKind::View | OperatorKind::MaterializedView | OperatorKind::AutomaticView => {
            "shape=folder, style=filled, fillcolor=honeydew"
        }
        OperatorKind::Subscription => "shape=cds, style=filled, fillcolor=lavender",
    };
    format!("{} [label={}, {style}];", quoted(&operator.id), quoted(&label))
}

/// As a quoted string: only quotes and backslashes mean something in it, and lines end in `\n`.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::super::{GraphOperator, OperatorKind};
    use super::dot;
    use planner::catalog::Catalog;
    use repr::RelationId;

    #[test]
    fn names_are_quoted_and_arrows_go_the_way_of_rows() {
        let relation = RelationId(20_000);
        let table =
            GraphOperator::new("table:20000".into(), OperatorKind::Table, "a \"b\"\\", relation).holding(None, Some(7));
        let index = GraphOperator::new("index:20001".into(), OperatorKind::Index, "i", relation)
            .reading(["table:20000".to_string()]);
        let text = dot(&[table, index], &Catalog::default());
        assert!(text.contains("label=\"table\\na \\\"b\\\"\\\\\\n7 bytes\""), "{text}");
        assert!(text.contains("  \"table:20000\" -> \"index:20001\";\n}"), "{text}");
    }
}
