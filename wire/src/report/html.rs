//! The report as a page: one file with all that it needs, which asks nothing of any other, and prints.

use super::{Document, Register, drawing, shown};
use std::fmt::Write;

const STYLE: &str = "body{font:14px/1.45 system-ui,sans-serif;color:#1b1f24;margin:2rem auto;max-width:78rem;padding:0 1rem}\
h1{font-size:1.6rem;margin-bottom:.2rem}h2{font-size:1.15rem;margin:2rem 0 .4rem}p{margin:.3rem 0}small{color:#57606a}\
table{border-collapse:collapse;width:100%;font-size:12px}th,td{border:1px solid #d0d7de;padding:.25rem .4rem;text-align:left;\
vertical-align:top;overflow-wrap:anywhere}th{background:#f3f5f7}td.n{text-align:right;white-space:nowrap}\
tr{break-inside:avoid}figure{margin:.5rem 0;overflow-x:auto}nav a{margin-right:1rem}svg{font:12px system-ui,sans-serif}\
@page{size:A4 landscape;margin:12mm}@media print{body{margin:0;max-width:none}nav{display:none}figure{overflow:visible}\
svg{max-width:100%;height:auto}}";

/// The page.
pub(super) fn page(document: &Document) -> String {
    let (database, made_at) = (escaped(&document.database), escaped(&document.made_at));
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>Registers of {database}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1>Registers of database {database}</h1>\n<p><small>Made at {made_at} by dogwood {}, from the catalog and from rows as they \
         were committed.</small></p>\n",
        env!("CARGO_PKG_VERSION")
    );
    out.push_str("<nav><a href=\"#graph\">Graph</a>");
    for (number, register) in document.registers.iter().enumerate() {
        write!(out, "<a href=\"#r{number}\">{}</a>", escaped(register.title)).expect("a string takes all");
    }
    out.push_str("</nav>\n<h2 id=\"graph\">Whose data is where</h2>\n<figure>\n");
    out.push_str(&drawing::svg(&document.graph));
    out.push_str(
        "</figure>\n<p><small>An arrow leads one step towards the person: solid to who owns a row, dashed to who may access it, \
         dotted where a foreign key says nothing of either.</small></p>\n",
    );
    for (number, register) in document.registers.iter().enumerate() {
        table(&mut out, number, register);
    }
    out.push_str("</body>\n</html>\n");
    out
}

fn table(out: &mut String, number: usize, register: &Register) {
    let Register { title, articles, relation, columns, rows } = register;
    let heading = format!(
        "<h2 id=\"r{number}\">{} <small>Art. {}, {}</small></h2>\n",
        escaped(title),
        escaped(articles),
        escaped(relation)
    );
    out.push_str(&heading);
    if rows.is_empty() {
        out.push_str("<p>Nothing.</p>\n");
        return;
    }
    let cells = |out: &mut String, tag: &str, values: &mut dyn Iterator<Item = (bool, String)>| {
        out.push_str("<tr>");
        for (is_number, value) in values {
            let class = if is_number { " class=\"n\"" } else { "" };
            write!(out, "<{tag}{class}>{}</{tag}>", escaped(&value)).expect("a string takes all");
        }
        out.push_str("</tr>\n");
    };
    out.push_str("<table>\n<thead>");
    cells(out, "th", &mut columns.iter().map(|column| (false, column.replace('_', " "))));
    out.push_str("</thead>\n<tbody>\n");
    for row in rows {
        cells(out, "td", &mut row.iter().map(|value| (matches!(value, repr::Datum::Int8(_)), shown(value))));
    }
    out.push_str("</tbody>\n</table>\n");
}

/// A text that is nothing but text, between tags and within quotes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // No document of HTML or XML may have these.
            control if control.is_control() && !matches!(control, '\n' | '\r' | '\t') => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use repr::Datum;

    #[test]
    fn nothing_that_was_said_becomes_a_tag() {
        let evil = "<script>alert(\"1\")</script>&'\u{0}";
        assert_eq!(escaped(evil), "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;\u{fffd}");
        let register = Register {
            title: "t",
            articles: "1",
            relation: "r",
            columns: vec![evil.to_owned()],
            rows: vec![vec![Datum::Text(evil.into())]],
        };
        let graph =
            format!("{{\"tables\": [{{\"name\": {:?}, \"kind\": \"personal\"}}], \"edges\": []}}", "<script>\"&");
        let document =
            Document { database: evil.to_owned(), made_at: evil.to_owned(), registers: vec![register], graph };
        let page = page(&document);
        assert!(!page.contains("<script"), "{page}");
        assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("src="), "{page}");
    }
}
