//! GDPR EXPORT: the portable form of a subject's data, one self-describing document.
//!
//! ```text
//! {"dogwood_export":1, "generated":…, "schema":[…],
//! "rows":[
//! {…},
//! …
//! ], "audit":[…], "signature":…}
//! ```
//! Who read or changed the data is there WITH AUDIT alone.
//!
//! The signature is over every byte before its own field, by the key in `public.key`.

use crate::access::AccessRow;
use planner::catalog::Table;
use planner::parse::request::ExportFormat;
use repr::Jsonb;
use repr::datetime::Zone;
use state::{SqlError, clock};
use std::collections::BTreeMap;
use storage::Store;

/// The document's lines. `audit`: what the audit log tells the person, if it is to.
pub fn document(
    format: ExportFormat,
    rows: impl Iterator<Item = Result<AccessRow, SqlError>> + Send + 'static,
    audit: Option<Vec<Jsonb>>,
    store: &Store,
) -> Box<dyn Iterator<Item = Result<String, SqlError>> + Send> {
    let store = store.clone();
    // The schema names the tables that occur, and the signature needs every line: the rows are at hand first.
    let rows: Vec<AccessRow> = match rows.collect() {
        Ok(rows) => rows,
        Err(error) => return Box::new(std::iter::once(Err(error))),
    };
    let generated = repr::datetime::format_timestamptz(clock::now_micros(), &Zone::utc());
    let mut lines = match format {
        ExportFormat::Json => json(&rows, &generated),
        ExportFormat::Csv => csv(&rows, &generated),
    };
    if let Some(entries) = audit {
        match format {
            ExportFormat::Json => add_json(&mut lines, &entries),
            ExportFormat::Csv => {
                lines.extend(entries.iter().map(|entry| format!("# audit,{}", quote(&entry.to_string()))));
            }
        }
    }
    let signed = lines.join("\n");
    let signature = store.sign_document(signed.as_bytes());
    lines.push(match format {
        ExportFormat::Json => format!("], \"signature\":\"{signature}\"}}"),
        ExportFormat::Csv => format!("# signature,{signature}"),
    });
    Box::new(lines.into_iter().map(Ok))
}

/// The audit log's part, behind the rows; its last bracket is the signature's line's.
fn add_json(lines: &mut Vec<String>, entries: &[Jsonb]) {
    lines.push("], \"audit\":[".to_string());
    for (number, entry) in entries.iter().enumerate() {
        lines.push(format!("{entry}{}", if number + 1 < entries.len() { "," } else { "" }));
    }
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn string(text: &str) -> String {
    Jsonb::String(text.into()).to_string()
}

/// The tables that occur, by name.
fn tables(rows: &[AccessRow]) -> BTreeMap<&str, &Table> {
    rows.iter().map(|row| (&*row.form.table, &*row.form.of)).collect()
}

fn json(rows: &[AccessRow], generated: &str) -> Vec<String> {
    let schema: Vec<String> = tables(rows)
        .into_iter()
        .map(|(name, table)| {
            let columns: Vec<String> = table
                .live_columns()
                .map(|(_, column)| {
                    let written = column.column_type.scalar.format_type(column.column_type.modifier);
                    let property = column
                        .property
                        .map_or_else(String::new, |property| format!(",\"property\":\"{}\"", property.name()));
                    format!("{{\"column\":{},\"type\":{}{property}}}", string(&column.name), string(&written))
                })
                .collect();
            format!("{{\"table\":{},\"columns\":[{}]}}", string(name), columns.join(","))
        })
        .collect();
    let mut lines = vec![
        format!("{{\"dogwood_export\":1, \"generated\":{}, \"schema\":[{}],", string(generated), schema.join(",")),
        "\"rows\":[".to_string(),
    ];
    for (number, row) in rows.iter().enumerate() {
        let redacted: Vec<String> = row.form.redacted.iter().map(|name| string(name)).collect();
        let comma = if number + 1 < rows.len() { "," } else { "" };
        lines.push(format!(
            "{{\"table\":{},\"relation\":\"{}\",\"path\":{},\"row\":{},\"redacted\":[{}]}}{comma}",
            string(&row.form.table),
            row.relation,
            string(&row.form.path),
            row.row,
            redacted.join(",")
        ));
    }
    lines
}

fn csv(rows: &[AccessRow], generated: &str) -> Vec<String> {
    let mut lines = vec![format!("# dogwood_export,1,generated,{generated}")];
    for (name, table) in tables(rows) {
        for (_, column) in table.live_columns() {
            if let Some(property) = column.property {
                lines.push(format!("# property,{},{},{}", quote(name), quote(&column.name), property.name()));
            }
        }
    }
    lines.push("table,relation,path,row,redacted".to_string());
    for row in rows {
        lines.push(format!(
            "{},{},{},{},{}",
            quote(&row.form.table),
            row.relation,
            quote(&row.form.path),
            quote(&row.row),
            quote(&row.form.redacted.join(","))
        ));
    }
    lines
}
