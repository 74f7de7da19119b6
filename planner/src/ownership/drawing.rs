//! EXPLAIN COMPLIANCE with FORMAT DOT and FORMAT JSON: the graph of tables, edges and rules, for whoever draws it.

use super::graph::Dog;
use super::{column_names, describe_edge_ref, edge_word};
use crate::catalog::{Catalog, RuleAction, RuleEvent, Table};

/// The graph for Graphviz: solid edges own, dashed ones access, dotted ones are plain foreign keys.
pub fn dot(catalog: &Catalog) -> String {
    let catalog = &catalog.without_own_tables();
    let dog = Dog::new(catalog);
    let quote = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let mut lines = vec!["digraph dog {".to_string(), "  rankdir=LR;".to_string()];
    for table in catalog.stored_tables() {
        let shape = if table.data_subject {
            "shape=box, style=\"filled,bold\", fillcolor=lightblue"
        } else if dog.is_personal(table.id) {
            "shape=box, style=filled, fillcolor=lightyellow"
        } else {
            "shape=box"
        };
        lines.push(format!("  {} [{shape}];", quote(&catalog.full_name(table))));
    }
    for table in catalog.stored_tables() {
        for key in &table.foreign_keys {
            let Some(target) = catalog.table(key.target) else { continue };
            let reference = crate::catalog::EdgeRef { table: table.id, foreign_key: key.constraint.id };
            let columns = column_names(table, &key.columns);
            let (from, to, label, style) = match dog.edge(reference) {
                Some(edge) => {
                    let (from, to) = if edge.along_foreign_key() {
                        (catalog.full_name(table), catalog.full_name(target))
                    } else {
                        (catalog.full_name(target), catalog.full_name(table))
                    };
                    let style = if edge.is_ownership() { "solid" } else { "dashed" };
                    (from, to, format!("{columns} {}", edge_word(edge.kind)), style)
                }
                None => (catalog.full_name(table), catalog.full_name(target), columns, "dotted"),
            };
            lines.push(format!("  {} -> {} [label={}, style={style}];", quote(&from), quote(&to), quote(&label)));
        }
    }
    lines.push("}".to_string());
    lines.join("\n")
}

/// The graph as JSON: tables with their kind, and edges with what each says.
pub fn json(catalog: &Catalog) -> String {
    let catalog = &catalog.without_own_tables();
    use serde_json::json;
    let dog = Dog::new(catalog);
    let tables: Vec<_> = catalog
        .stored_tables()
        .map(|table| {
            let kind = if table.data_subject {
                "data subject"
            } else if dog.is_personal(table.id) {
                "personal"
            } else {
                "impersonal"
            };
            json!({"name": catalog.full_name(table), "kind": kind, "pending": table.pending})
        })
        .collect();
    let mut edges = Vec::new();
    for table in catalog.stored_tables() {
        for key in &table.foreign_keys {
            let Some(target) = catalog.table(key.target) else { continue };
            let names = |table: &Table, columns: &[usize]| -> Vec<String> {
                columns.iter().map(|&column| table.columns[column].name.clone()).collect()
            };
            edges.push(json!({
                "constraint": key.constraint.name,
                "table": catalog.full_name(table),
                "columns": names(table, &key.columns),
                "target": catalog.full_name(target),
                "target_columns": names(target, &key.target_columns),
                "annotation": key.annotation.map(edge_word),
            }));
        }
    }
    let rules: Vec<_> = catalog
        .stored_tables()
        .flat_map(|table| {
            table.rules.iter().map(|rule| {
                let columns = match &rule.action {
                    RuleAction::Anon(columns) => {
                        Some(columns.iter().map(|&column| table.columns[column].name.clone()).collect::<Vec<_>>())
                    }
                    RuleAction::DeleteRow => None,
                };
                json!({
                    "table": catalog.full_name(table),
                    "event": match rule.event { RuleEvent::Get => "GET", RuleEvent::Del => "DEL" },
                    "edge": describe_edge_ref(catalog, rule.edge),
                    "action": if columns.is_some() { "ANON" } else { "DELETE_ROW" },
                    "columns": columns,
                })
            })
        })
        .collect();
    serde_json::to_string_pretty(&json!({"tables": tables, "edges": edges, "rules": rules})).unwrap_or_default()
}
