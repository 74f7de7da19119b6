//! EXPLAIN's document as XML and as YAML, in PostgreSQL's manner; JSON is the form that it is made in.

use serde_json::{Map, Value};
use std::fmt::Write as _;

/// What PostgreSQL's tools know the document by.
const NAMESPACE: &str = "http://www.postgresql.org/2009/explain";

/// As XML.
pub(super) fn xml(fields: &Map<String, Value>) -> String {
    let mut out = format!("<explain xmlns=\"{NAMESPACE}\">\n");
    xml_element(&mut out, "Query", &Value::Object(fields.clone()), 1);
    out.push_str("</explain>");
    out
}

fn xml_element(out: &mut String, name: &str, value: &Value, depth: usize) {
    let (indent, tag) = ("  ".repeat(depth), tag(name));
    let mut line = |text: String| writeln!(out, "{indent}{text}").expect("writing to a String does not fail");
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            line(format!("<{tag}>"));
            fields.iter().for_each(|(name, value)| xml_element(out, name, value, depth + 1));
            writeln!(out, "{indent}</{tag}>").expect("writing to a String does not fail");
        }
        Value::Array(items) => {
            line(format!("<{tag}>"));
            let of_items = match items.first() {
                Some(Value::Object(_)) => singular(name),
                _ => "Item",
            };
            items.iter().for_each(|item| xml_element(out, of_items, item, depth + 1));
            writeln!(out, "{indent}</{tag}>").expect("writing to a String does not fail");
        }
        Value::String(text) => line(format!("<{tag}>{}</{tag}>", escaped(text))),
        Value::Bool(_) | Value::Number(_) => line(format!("<{tag}>{value}</{tag}>")),
    }
}

/// A field's name as the name of an element.
fn tag(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' }).collect()
}

fn singular(name: &str) -> &str {
    name.strip_suffix("exes").map_or_else(|| name.strip_suffix('s').unwrap_or(name), |_| &name[..name.len() - 2])
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#x0d;"),
            other => out.push(other),
        }
    }
    out
}

/// As YAML.
pub(super) fn yaml(fields: &Map<String, Value>) -> String {
    let mut out = String::from("- ");
    yaml_fields(&mut out, fields, 1);
    out
}

/// The first field stands where the text stands, the others on lines of their own.
fn yaml_fields(out: &mut String, fields: &Map<String, Value>, depth: usize) {
    for (place, (name, value)) in fields.iter().enumerate() {
        if place > 0 {
            write!(out, "\n{}", "  ".repeat(depth)).expect("writing to a String does not fail");
        }
        write!(out, "{name}: ").expect("writing to a String does not fail");
        match value {
            Value::Object(fields) => {
                write!(out, "\n{}", "  ".repeat(depth + 1)).expect("writing to a String does not fail");
                yaml_fields(out, fields, depth + 1);
            }
            Value::Array(items) => {
                for item in items {
                    write!(out, "\n{}- ", "  ".repeat(depth + 1)).expect("writing to a String does not fail");
                    match item {
                        Value::Object(fields) => yaml_fields(out, fields, depth + 2),
                        plain => out.push_str(&plain.to_string()),
                    }
                }
            }
            plain => out.push_str(&plain.to_string()),
        }
    }
}
