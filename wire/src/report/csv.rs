//! The report as tables: for each a line that names it, one with its columns, its rows, and an empty line.

use super::{Document, shown};

/// All tables in one text.
pub(super) fn tables(document: &Document) -> String {
    let mut out = format!("# database,{}\r\n# made at,{}\r\n\r\n", field(&document.database), field(&document.made_at));
    for register in &document.registers {
        out.push_str(&format!("# {}\r\n{}\r\n", register.relation, line(register.columns.iter().map(String::as_str))));
        for row in &register.rows {
            let values: Vec<String> = row.iter().map(shown).collect();
            out.push_str(&line(values.iter().map(String::as_str)));
            out.push_str("\r\n");
        }
        out.push_str("\r\n");
    }
    out
}

fn line<'v>(values: impl Iterator<Item = &'v str>) -> String {
    values.map(field).collect::<Vec<_>>().join(",")
}

/// RFC 4180: in quotes where it must be.
fn field(value: &str) -> String {
    match value.contains(['"', ',', '\n', '\r']) || value.starts_with('#') {
        true => format!("\"{}\"", value.replace('"', "\"\"")),
        false => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(line(["a", "b,c", "d\"e", "", "f\ng", "# h"].into_iter()), "a,\"b,c\",\"d\"\"e\",,\"f\ng\",\"# h\"");
    }
}
