//! Quoting of identifiers and literals, and reading of qualified names.

use repr::ValueError;

/// Words that `quote_ident` must quote although they look like names: PostgreSQL's reserved,
/// type-or-function and column-name keywords.
const KEYWORDS: &str = " all analyse analyze and any array as asc asymmetric authorization between bigint binary bit \
boolean both case cast char character check coalesce collate collation column concurrently constraint create cross \
current_catalog current_date current_role current_schema current_time current_timestamp current_user dec decimal \
default deferrable desc distinct do else end except exists extract false fetch float for foreign freeze from full \
grant greatest group grouping having ilike in initially inner inout int integer intersect interval into is isnull \
join lateral leading least left like limit localtime localtimestamp national natural nchar none normalize not \
notnull null nullif numeric offset on only or order out outer overlaps overlay placing position precision primary \
real references returning right row select session_user setof similar smallint some substring symmetric table \
tablesample then time timestamp to trailing treat trim true union unique user using values varchar variadic verbose \
when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot \
xmlserialize xmltable ";

/// `name` as it must be written in SQL.
pub fn quote_identifier(name: &str) -> String {
    let plain = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        && !KEYWORDS.contains(&format!(" {name} "));
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// `value` as a string literal.
pub(crate) fn quote_literal(value: &str) -> String {
    let doubled = value.replace('\'', "''");
    if value.contains('\\') { format!("E'{}'", doubled.replace('\\', "\\\\")) } else { format!("'{doubled}'") }
}

/// The name of what can only be in pg_catalog, without its schema; none if another is written.
pub(crate) fn builtin_name(written: &str) -> Option<String> {
    let mut parts = parse_identifier(written, true).ok()?;
    let last = parts.pop()?;
    match parts.as_slice() {
        [] => Some(last),
        [schema] if schema == "pg_catalog" => Some(last),
        _ => None,
    }
}

/// The parts of a qualified name. `strict` refuses what follows the last part.
pub(crate) fn parse_identifier(source: &str, strict: bool) -> Result<Vec<String>, ValueError> {
    let invalid = |detail: Option<String>| ValueError {
        detail,
        ..ValueError::new("22023", format!("string is not a valid identifier: \"{source}\""))
    };
    let mut parts = Vec::new();
    let mut rest = source.trim_start();
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut part = String::new();
            let mut characters = quoted.char_indices().peekable();
            let end = loop {
                match characters.next() {
                    Some((_, '"')) if matches!(characters.peek(), Some((_, '"'))) => {
                        part.push('"');
                        characters.next();
                    }
                    Some((at, '"')) => break at + 1,
                    Some((_, character)) => part.push(character),
                    None => return Err(invalid(Some("String has unclosed double quotes.".to_owned()))),
                }
            };
            if part.is_empty() {
                return Err(invalid(Some("Quoted identifier must not be empty.".to_owned())));
            }
            parts.push(part);
            rest = &quoted[end..];
        } else if rest.starts_with(|first: char| first.is_alphabetic() || first == '_' || !first.is_ascii()) {
            let end = rest
                .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()))
                .unwrap_or(rest.len());
            parts.push(rest[..end].to_lowercase());
            rest = &rest[end..];
        } else if rest.starts_with('.') {
            return Err(invalid(Some("No valid identifier before \".\".".to_owned())));
        } else if parts.is_empty() {
            return Err(invalid(None));
        } else {
            return Err(invalid(Some("No valid identifier after \".\".".to_owned())));
        }
        rest = rest.trim_start();
        match rest.strip_prefix('.') {
            Some(after) => rest = after.trim_start(),
            None if rest.is_empty() || !strict => return Ok(parts),
            None => return Err(invalid(None)),
        }
    }
}
