//! What EXPLAIN says of a statement as a whole: its operators, what became of them, which way it goes.
//!
//! As text, in PostgreSQL's manner, one operator a line; or as JSON with PostgreSQL's field names, so that tools
//! which draw plans draw these. Knows nothing of how the numbers were found.

use super::document;
use crate::plan::Way;
use crate::scalar::func::parse_identifier;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// One operator of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorLine {
    /// How deep it stands.
    pub depth: usize,
    /// What it does.
    pub text: String,
    /// The plan's place in memory, as long as the plan is there: which plan the line is of.
    pub node: Option<usize>,
    /// The relation that it reads or writes.
    pub relation: Option<String>,
    /// What the statement calls this relation.
    pub alias: Option<String>,
    /// What is known of it besides its plan.
    pub foreseen: Foreseen,
    /// What it did, under ANALYZE.
    pub actual: Option<Actual>,
    /// What is held for it, under ANALYZE, such as the batches of a view.
    pub held: Vec<(&'static str, u64)>,
}

/// What is known of an operator before it runs, or of how it began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Foreseen {
    /// How it finds its rows, where its plan leaves a choice and it is known.
    pub way: Option<Way>,
    /// How many rows it is expected to give, where its tables have statistics.
    pub rows: Option<u64>,
}

/// What an operator did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Actual {
    /// How often it was begun; if never, the rest is nothing.
    pub loops: u64,
    /// Rows that came out, in all.
    pub rows: u64,
    /// To the first row, where that is known, and in all; inputs included.
    pub times: Option<(Option<Duration>, Duration)>,
}

/// Which way a query goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Path {
    /// By key in the leaves.
    Lookup,
    /// A materialized view's rows as they are.
    Maintained(String),
    /// The rows of a view that the query has earned.
    Automatic {
        /// Its name.
        name: String,
        /// The columns of its key.
        keys: Vec<String>,
        /// Of a key that has many rows it holds so many of the first ones at least; none: all.
        rows_min: Option<usize>,
    },
    /// Computed now, perhaps over the rows of materialized views.
    OneShot {
        /// Their names.
        over: Vec<String>,
    },
    /// A walk over the leaves from one person.
    Traversal {
        /// What is owned is read from the µDB; else, after changes of the transaction's own, by indexes.
        by_microdb: bool,
    },
}

/// An index of hashed keys, whose order is in memory if it is anywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderedIndex {
    /// Its name.
    pub name: String,
    /// Why it is not in memory; all rows are read until then.
    pub why_not: Option<String>,
}

impl OrderedIndex {
    fn text(&self) -> String {
        match &self.why_not {
            None => format!("Ordered index: {} in memory", self.name),
            Some(why) => format!("Ordered index: {} not in memory, so that all rows are read: {why}", self.name),
        }
    }

    fn json(&self) -> Value {
        json!({ "Index": self.name, "In Memory": self.why_not.is_none(), "Why Not": self.why_not })
    }
}

/// EXPLAIN's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The operators, each before its inputs.
    pub operators: Vec<OperatorLine>,
    /// The way.
    pub path: Path,
    /// Why it does not read a view.
    pub why_no_view: Option<String>,
    /// Whose order in memory its plan can read.
    pub ordered_indexes: Vec<OrderedIndex>,
    /// Time taken to plan, if it is shown.
    pub planning: Option<Duration>,
    /// Time taken to run.
    pub execution: Option<Duration>,
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

impl Path {
    fn text(&self) -> String {
        match self {
            Path::Lookup => "lookup".into(),
            Path::Maintained(view) => format!("maintained view \"{view}\""),
            Path::Automatic { name, keys, rows_min } => {
                let held = rows_min.map_or_else(String::new, |rows| format!(", first {rows} rows or more of each key"));
                let by = if keys.is_empty() { "as a whole".into() } else { format!("keyed by ({})", keys.join(", ")) };
                format!("automatic view \"{name}\" {by}{held}")
            }
            Path::OneShot { over } if over.is_empty() => "one-shot".into(),
            Path::OneShot { over } => {
                let over: Vec<String> = over.iter().map(|view| format!("\"{view}\"")).collect();
                format!("one-shot over maintained view{} {}", if over.len() == 1 { "" } else { "s" }, over.join(", "))
            }
            Path::Traversal { by_microdb: true } => "traversal of the µDB and its edges".into(),
            Path::Traversal { by_microdb: false } => "traversal by indexes, over changes of the transaction".into(),
        }
    }

    fn fields(&self, fields: &mut Map<String, Value>) {
        let mut put = |name: &str, value: Value| fields.insert(name.into(), value);
        match self {
            Path::Lookup => {
                put("Path", json!("lookup"));
            }
            Path::Maintained(view) => {
                put("Path", json!("maintained view"));
                put("View", json!(view));
            }
            Path::Automatic { name, keys, rows_min } => {
                put("Path", json!("automatic view"));
                put("View", json!(name));
                put("View Key", json!(keys));
                if let Some(rows) = rows_min {
                    put("First Rows Held", json!(rows));
                }
            }
            Path::OneShot { over } => {
                put("Path", json!("one-shot"));
                if !over.is_empty() {
                    put("Views", json!(over));
                }
            }
            Path::Traversal { by_microdb } => {
                put("Path", json!("traversal"));
                put("Reads", json!(if *by_microdb { "µDB" } else { "indexes" }));
            }
        }
    }
}

impl Actual {
    fn text(&self) -> String {
        if self.loops == 0 {
            return " (never executed)".into();
        }
        let times = self.times.map_or_else(String::new, |(first, all)| {
            let first = first.map_or_else(String::new, |first| format!("{:.3}..", milliseconds(first)));
            format!("time={first}{:.3} ", milliseconds(all))
        });
        format!(" (actual {times}rows={} loops={})", self.rows, self.loops)
    }

    fn fields(&self, fields: &mut Map<String, Value>) {
        if let Some((first, all)) = self.times {
            fields.extend(first.map(|first| ("Actual Startup Time".to_string(), json!(milliseconds(first)))));
            fields.insert("Actual Total Time".into(), json!(milliseconds(all)));
        }
        fields.insert("Actual Rows".into(), json!(self.rows));
        fields.insert("Actual Loops".into(), json!(self.loops));
    }
}

impl Report {
    /// Lines of text.
    pub fn text(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .operators
            .iter()
            .map(|operator| {
                let actual = operator.actual.as_ref().map_or_else(String::new, Actual::text);
                let held: Vec<String> = operator.held.iter().map(|(name, count)| format!("{name}={count}")).collect();
                let held = if held.is_empty() { String::new() } else { format!(" (held {})", held.join(" ")) };
                let Foreseen { way, rows } = operator.foreseen;
                let way = way.map_or_else(String::new, |way| format!(" (read {})", way.words()));
                let rows = rows.map_or_else(String::new, |rows| format!(" (rows={rows})"));
                format!("{}{}{way}{rows}{actual}{held}", "  ".repeat(operator.depth), operator.text)
            })
            .collect();
        lines.push(format!("Path: {}", self.path.text()));
        lines.extend(self.why_no_view.iter().map(|why| format!("Why not a view: {why}")));
        lines.extend(self.ordered_indexes.iter().map(OrderedIndex::text));
        for (name, time) in [("Planning", self.planning), ("Execution", self.execution)] {
            lines.extend(time.map(|time| format!("{name} Time: {:.3} ms", milliseconds(time))));
        }
        lines
    }

    /// One document, as PostgreSQL's: an array of one object.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(&Value::Array(vec![Value::Object(self.fields())])).unwrap_or_default()
    }

    /// The same as XML.
    pub fn xml(&self) -> String {
        document::xml(&self.fields())
    }

    /// The same as YAML.
    pub fn yaml(&self) -> String {
        document::yaml(&self.fields())
    }

    fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        if let Some(plan) = tree(&mut self.operators.iter().peekable(), 0).pop() {
            fields.insert("Plan".into(), plan);
        }
        self.path.fields(&mut fields);
        fields.extend(self.why_no_view.iter().map(|why| ("Why Not A View".to_string(), json!(why))));
        if !self.ordered_indexes.is_empty() {
            let indexes = self.ordered_indexes.iter().map(OrderedIndex::json).collect();
            fields.insert("Ordered Indexes".into(), Value::Array(indexes));
        }
        for (name, time) in [("Planning Time", self.planning), ("Execution Time", self.execution)] {
            fields.extend(time.map(|time| (name.to_string(), json!(milliseconds(time)))));
        }
        fields
    }
}

fn title(name: &str) -> String {
    let mut title = name.to_string();
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    title
}

/// The operators at this depth, each with those below it.
fn tree<'o>(operators: &mut std::iter::Peekable<impl Iterator<Item = &'o OperatorLine>>, depth: usize) -> Vec<Value> {
    let mut found = Vec::new();
    while let Some(operator) = operators.next_if(|operator| operator.depth >= depth) {
        let mut fields = Map::new();
        let kind = operator.text.split_whitespace().next().unwrap_or_default();
        fields.insert("Node Type".into(), json!(kind));
        // What PostgreSQL's node is called that writes.
        if matches!(kind, "Insert" | "Update" | "Delete" | "Merge") {
            fields.insert("Operation".into(), json!(kind));
        }
        fields.extend(operator.relation.iter().flat_map(|spelled| named(spelled)));
        fields.extend(operator.alias.iter().map(|alias| ("Alias".to_string(), json!(alias))));
        fields.insert("Description".into(), json!(operator.text));
        fields.extend(operator.foreseen.way.map(|way| ("Read".to_string(), json!(way.words()))));
        fields.extend(operator.foreseen.rows.map(|rows| ("Plan Rows".to_string(), json!(rows))));
        if let Some(actual) = &operator.actual {
            actual.fields(&mut fields);
        }
        fields.extend(operator.held.iter().map(|(name, count)| (format!("Held {}", title(name)), json!(count))));
        let below = tree(operators, operator.depth + 1);
        found.push(Value::Object(match (output(&operator.text), below.as_slice()) {
            (Some(columns), [Value::Object(below)]) => with_output(below.clone(), columns, operator.actual.as_ref()),
            (_, []) => fields,
            _ => {
                fields.insert("Plans".into(), Value::Array(below));
                fields
            }
        }));
    }
    found
}

/// A relation's name, and its schema where it is not found without.
fn named(spelled: &str) -> impl Iterator<Item = (String, Value)> {
    let parts = parse_identifier(spelled, true).unwrap_or_else(|_| vec![spelled.to_owned()]);
    parts.into_iter().rev().zip(["Relation Name", "Schema"]).map(|(part, field)| (field.to_owned(), json!(part)))
}

/// What the last operator gives, where that is all it does: to PostgreSQL no operator, but what its input is said to put out.
fn output(text: &str) -> Option<Vec<&str>> {
    let (list, rest) = inside(text.strip_prefix("Finish output ")?)?;
    rest.is_empty().then_some(list)
}

/// The parts of a list in parentheses, and what is behind it.
fn inside(text: &str) -> Option<(Vec<&str>, &str)> {
    let (mut depth, mut quote, mut parts, mut from) = (0_usize, None, Vec::new(), 1);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if quote.is_some() => quote = quote.filter(|quote| *quote != letter),
            '"' | '\'' => quote = Some(letter),
            '(' | '[' => depth += 1,
            ')' | ']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    parts.extend(text.get(from..at).filter(|part| !part.is_empty()));
                    return Some((parts, &text[at + 1..]));
                }
            }
            ',' if depth == 1 => {
                parts.push(text.get(from..at)?);
                from = at + 2;
            }
            _ => {}
        }
    }
    None
}

/// An input with what is put out of it, as long as that took.
fn with_output(mut input: Map<String, Value>, columns: Vec<&str>, actual: Option<&Actual>) -> Map<String, Value> {
    input.insert("Output".into(), json!(columns));
    if let Some(actual) = actual {
        actual.fields(&mut input);
    }
    input
}

#[cfg(test)]
mod tests {
    use super::{Actual, Foreseen, OperatorLine, OrderedIndex, Path, Report, Way};
    use std::time::Duration;

    fn operator(depth: usize, text: &str, actual: Option<Actual>) -> OperatorLine {
        let held = if actual.is_some() { vec![("batches", 2)] } else { Vec::new() };
        let way = actual.as_ref().map(|_| Way::AllRows);
        let foreseen = Foreseen { way, rows: way.map(|_| 7) };
        OperatorLine { depth, text: text.into(), node: None, relation: None, alias: None, foreseen, actual, held }
    }

    #[test]
    fn text_and_json_say_the_same() {
        let times = Some((Some(Duration::from_micros(5)), Duration::from_micros(1_500)));
        let join = Actual { loops: 1, rows: 3, times };
        let report = Report {
            operators: vec![
                operator(0, "Finish output (id, f(a, 'b, c'))", None),
                operator(1, "Join inner", Some(join)),
                operator(2, "Scan a", Some(Actual::default())),
                operator(2, "Scan b", None),
            ],
            path: Path::OneShot { over: vec!["v".into()] },
            why_no_view: Some("it is young".into()),
            ordered_indexes: vec![
                OrderedIndex { name: "i".into(), why_not: None },
                OrderedIndex { name: "j".into(), why_not: Some("it is seldom".into()) },
            ],
            planning: None,
            execution: Some(Duration::from_millis(2)),
        };
        let expected = [
            "Finish output (id, f(a, 'b, c'))",
            "  Join inner (read all rows) (rows=7) (actual time=0.005..1.500 rows=3 loops=1) (held batches=2)",
            "    Scan a (read all rows) (rows=7) (never executed) (held batches=2)",
            "    Scan b",
            "Path: one-shot over maintained view \"v\"",
            "Why not a view: it is young",
            "Ordered index: i in memory",
            "Ordered index: j not in memory, so that all rows are read: it is seldom",
            "Execution Time: 2.000 ms",
        ];
        assert_eq!(report.text(), expected);
        let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
        let plan = &json[0]["Plan"];
        assert_eq!(plan["Output"], serde_json::json!(["id", "f(a, 'b, c')"]));
        assert_eq!(plan["Node Type"], "Join");
        assert_eq!(plan["Actual Total Time"], 1.5);
        assert_eq!(plan["Held Batches"], 2);
        assert_eq!(plan["Read"], "all rows");
        assert_eq!(plan["Plan Rows"], 7);
        assert_eq!(plan["Plans"][1]["Node Type"], "Scan");
        assert_eq!(json[0]["Views"][0], "v");
        assert_eq!(json[0]["Ordered Indexes"][1]["Why Not"], "it is seldom");
        assert_eq!(json[0]["Why Not A View"], "it is young");
    }
}
