//! The ownership graph as a drawing: people at the left, and what is theirs to the right of them, step by step.
//!
//! ```text
//! column 0      column 1      column 2          last
//! users   ◀───  stories  ◀──  comments          what is nobody's
//! ```
//! A table stands as many columns from the left as it is steps from a person. Within a column tables are put beside what they lead to.

use super::html::escaped;
use repr::Jsonb;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::str::FromStr;

const COLUMN: usize = 290;
const LINE: usize = 62;
const WIDTH: usize = 190;
const HEIGHT: usize = 36;
const MARGIN: usize = 16;
/// Of longer names what is left is shown where the pointer stands.
const LETTERS_MAX: usize = 24;

struct Node {
    name: String,
    kind: String,
    column: usize,
    row: usize,
}

/// One step towards a person, or a plain foreign key.
struct Arrow {
    near: usize,
    far: usize,
    label: String,
    style: Style,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Owns,
    Accesses,
    Plain,
}

/// Draws what EXPLAIN (FORMAT JSON) COMPLIANCE says.
pub(super) fn svg(graph: &str) -> String {
    let Ok(graph) = Jsonb::from_str(graph) else { return String::new() };
    let mut nodes: Vec<Node> = items(&graph, "tables")
        .iter()
        .map(|table| Node { name: string(table, "name"), kind: string(table, "kind"), column: 0, row: 0 })
        .collect();
    let steps = steps(&graph, &nodes);
    let columns = place(&mut nodes, &steps);
    let rows = nodes.iter().map(|node| node.row + 1).max().unwrap_or_default();
    let (width, height) = (columns * COLUMN + 2 * MARGIN, rows * LINE + 2 * MARGIN);
    let mut out = format!(
        "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-label=\"The ownership graph\">\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" \
         markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#57606a\"/></marker></defs>\n"
    );
    for (number, step) in steps.iter().enumerate() {
        let of_table = |others: &[Arrow]| others.iter().filter(|other| other.near == step.near).count();
        // Those of one table leave it one below the other.
        let leaves_at = HEIGHT * (of_table(&steps[..number]) + 1) / (of_table(&steps) + 1);
        draw_step(&mut out, &nodes[step.near], &nodes[step.far], (step, leaves_at));
    }
    nodes.iter().for_each(|node| draw_node(&mut out, node));
    out.push_str("</svg>\n");
    out
}

fn items<'g>(graph: &'g Jsonb, key: &str) -> &'g [Jsonb] {
    match graph.get(key) {
        Some(Jsonb::Array(items)) => items,
        Some(_) | None => &[],
    }
}

fn string(item: &Jsonb, key: &str) -> String {
    match item.get(key) {
        Some(Jsonb::String(text)) => text.to_string(),
        Some(_) | None => String::new(),
    }
}

fn steps(graph: &Jsonb, nodes: &[Node]) -> Vec<Arrow> {
    let by_name: BTreeMap<&str, usize> = nodes.iter().enumerate().map(|(at, node)| (node.name.as_str(), at)).collect();
    let step = |edge: &Jsonb| {
        let holder = *by_name.get(string(edge, "table").as_str())?;
        let target = *by_name.get(string(edge, "target").as_str())?;
        let word = string(edge, "annotation");
        let columns: Vec<String> = items(edge, "columns")
            .iter()
            .map(|column| if let Jsonb::String(name) = column { name.to_string() } else { String::new() })
            .collect();
        let style = match word.as_str() {
            "OWNED_BY" | "OWNS" => Style::Owns,
            "ACCESSED_BY" | "ACCESSES" => Style::Accesses,
            _ => Style::Plain,
        };
        // OWNS and ACCESSES say of the row that is referred to whose it is.
        let (near, far) =
            if matches!(word.as_str(), "OWNS" | "ACCESSES") { (target, holder) } else { (holder, target) };
        Some(Arrow { near, far, label: format!("{} {word}", columns.join(", ")).trim_end().to_owned(), style })
    };
    items(graph, "edges").iter().filter_map(step).collect()
}

/// Gives each table its place; how many columns there are.
fn place(nodes: &mut [Node], steps: &[Arrow]) -> usize {
    let unplaced = usize::MAX;
    for node in nodes.iter_mut() {
        node.column = if node.kind == "data subject" { 0 } else { unplaced };
    }
    let mut column = 0;
    // Owners count before those who may only access.
    for styles in [&[Style::Owns][..], &[Style::Owns, Style::Accesses][..]] {
        column = 0;
        while nodes.iter().any(|node| node.column == column) {
            let is_next = |step: &&Arrow| {
                styles.contains(&step.style) && nodes[step.far].column == column && nodes[step.near].column == unplaced
            };
            let next: Vec<usize> = steps.iter().filter(is_next).map(|step| step.near).collect();
            next.into_iter().for_each(|near| nodes[near].column = column + 1);
            column += 1;
        }
    }
    let is_left = nodes.iter().any(|node| node.column == unplaced);
    nodes.iter_mut().filter(|node| node.column == unplaced).for_each(|node| node.column = column);
    let columns = column + usize::from(is_left);
    for column in 0..columns {
        // Beside the middle of what it leads to; by name where it leads to nothing that has its place.
        let mut here: Vec<(usize, usize)> = (0..nodes.len())
            .filter(|at| nodes[*at].column == column)
            .map(|at| {
                let led = steps.iter().filter(|step| step.near == at && nodes[step.far].column < column);
                let rows: Vec<usize> = led.map(|step| nodes[step.far].row).collect();
                (if rows.is_empty() { usize::MAX } else { rows.iter().sum::<usize>() * 16 / rows.len() }, at)
            })
            .collect();
        here.sort_by(|(one, a), (other, b)| one.cmp(other).then_with(|| nodes[*a].name.cmp(&nodes[*b].name)));
        here.into_iter().enumerate().for_each(|(row, (_, at))| nodes[at].row = row);
    }
    columns
}

fn corner(node: &Node) -> (usize, usize) {
    (MARGIN + node.column * COLUMN, MARGIN + node.row * LINE)
}

fn draw_node(out: &mut String, node: &Node) {
    let (x, y) = corner(node);
    let (fill, line) = match node.kind.as_str() {
        "data subject" => ("#cfe8ff", "#0969da"),
        "personal" => ("#fff8c5", "#9a6700"),
        _ => ("#f6f8fa", "#8c959f"),
    };
    let (middle, base) = (x + WIDTH / 2, y + HEIGHT / 2 + 4);
    let short = shortened(&node.name);
    writeln!(
        out,
        "<g><title>{}: {}</title><rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"5\" fill=\"{fill}\" \
         stroke=\"{line}\"/><text x=\"{middle}\" y=\"{base}\" text-anchor=\"middle\">{}</text></g>",
        escaped(&node.name),
        escaped(&node.kind),
        escaped(&short)
    )
    .expect("a string takes all");
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(LETTERS_MAX) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

fn draw_step(out: &mut String, near: &Node, far: &Node, (step, leaves_at): (&Arrow, usize)) {
    let ((near_x, near_y), (far_x, far_y)) = (corner(near), corner(far));
    let (from_y, to_y) = (near_y + leaves_at, far_y + HEIGHT / 2);
    let is_leftward = near.column > far.column;
    let from = if is_leftward { near_x } else { near_x + WIDTH };
    let (to, around) = match near.column.cmp(&far.column) {
        Ordering::Greater => {
            (far_x + WIDTH, (from - (from - far_x - WIDTH) / 2, far_x + WIDTH + (from - far_x - WIDTH) / 2))
        }
        // Around, by the right; a table to itself, too.
        Ordering::Equal => (far_x + WIDTH, (from + 56, from + 56)),
        Ordering::Less => (far_x, (from + (far_x - from) / 2, far_x - (far_x - from) / 2)),
    };
    let to_y = if near_y == far_y && near_x == far_x { to_y + 12 } else { to_y };
    let path = format!("M{from} {from_y}C{} {from_y} {} {to_y} {to} {to_y}", around.0, around.1);
    let (x, anchor) = if is_leftward { (from - 4, "end") } else { (from + 4, "start") };
    let dashes = match step.style {
        Style::Owns => "",
        Style::Accesses => " stroke-dasharray=\"6 4\"",
        Style::Plain => " stroke-dasharray=\"1 4\"",
    };
    let (title, label) = (format!("{} {} → {}", near.name, step.label, far.name), shortened(&step.label));
    writeln!(
        out,
        "<g><title>{}</title><path d=\"{path}\" fill=\"none\" stroke=\"#57606a\"{dashes} marker-end=\"url(#tip)\"/><text x=\"{x}\" y=\"{}\" \
         text-anchor=\"{anchor}\" font-size=\"9\" fill=\"#57606a\">{}</text></g>",
        escaped(&title),
        from_y - 2,
        escaped(&label)
    )
    .expect("a string takes all");
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAPH: &str = r#"{"tables": [{"name": "u", "kind": "data subject"}, {"name": "s", "kind": "personal"},
        {"name": "c", "kind": "personal"}, {"name": "g", "kind": "personal"}, {"name": "n", "kind": "impersonal"}],
        "edges": [{"table": "s", "columns": ["a"], "target": "u", "annotation": "OWNED_BY"},
                  {"table": "c", "columns": ["s"], "target": "s", "annotation": "OWNED_BY"},
                  {"table": "c", "columns": ["p"], "target": "c", "annotation": "ACCESSED_BY"},
                  {"table": "s", "columns": ["g"], "target": "g", "annotation": "OWNS"},
                  {"table": "c", "columns": ["n"], "target": "n", "annotation": null}]}"#;

    #[test]
    fn tables_stand_as_far_from_people_as_they_are() {
        let graph = Jsonb::from_str(GRAPH).expect("JSON");
        let mut nodes: Vec<Node> = items(&graph, "tables")
            .iter()
            .map(|table| Node { name: string(table, "name"), kind: string(table, "kind"), column: 0, row: 0 })
            .collect();
        let steps = steps(&graph, &nodes);
        assert_eq!(place(&mut nodes, &steps), 4);
        let columns: Vec<(&str, usize, usize)> =
            nodes.iter().map(|node| (node.name.as_str(), node.column, node.row)).collect();
        assert_eq!(columns, [("u", 0, 0), ("s", 1, 0), ("c", 2, 0), ("g", 2, 1), ("n", 3, 0)]);
        let drawn = svg(GRAPH);
        assert_eq!((drawn.matches("<rect").count(), drawn.matches("marker-end").count()), (5, 5));
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert!(svg(r#"{"tables": [], "edges": []}"#).starts_with("<svg"));
        assert_eq!(svg("no JSON"), "");
    }
}
