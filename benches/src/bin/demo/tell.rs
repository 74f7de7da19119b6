//! The demo's voice: chapters, facts with their times, listings, and claims that hold or end it.

use crate::failure::Failure;
use std::io::IsTerminal;
use std::time::Duration;

fn painted(code: &str, text: &str) -> String {
    if std::io::stdout().is_terminal() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
}

/// A new part of the story.
pub fn chapter(title: &str) {
    println!("\n{}", painted("1", title));
}

/// Something that was done, and how long it took.
pub fn fact(what: &str, time: Duration, outcome: &str) {
    println!("  {:>9.1} ms  {what:<19} {outcome}", time.as_secs_f64() * 1_000.0);
}

/// Rows under their headings.
pub fn listing(headings: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([headings[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        println!("      {}", padded.collect::<Vec<_>>().join("  ").trim_end());
    };
    line(&mut headings.iter().copied());
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
}

/// Says what holds; what does not hold ends the demo.
pub fn claim(what: &str, holds: bool) -> Result<(), Failure> {
    if holds {
        println!("  {} {what}", painted("32", "✓"));
        Ok(())
    } else {
        Err(Failure::Claim(format!("it does not hold that {what}")))
    }
}
