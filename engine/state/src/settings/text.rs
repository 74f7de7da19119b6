//! Values that are strings of a kind: time zones, date styles, encodings, lists of names, roles.

use crate::SqlError;
use crate::settings::Settings;
use crate::settings::table::{KnownSetting, TextKind};
use crate::settings::value::invalid;
use repr::datetime::style::DateStyleError;
use repr::datetime::zone::ZoneError;
use repr::datetime::{DateStyle, Zone};
use repr::text::c_number::is_space;

/// As names are cut.
const NAME_BYTES_MAX: usize = 63;

/// Encodings that PostgreSQL knows, but for UTF8 and SQL_ASCII, with nothing but letters and digits.
const OTHER_ENCODINGS: &str = " EUCJP EUCCN EUCKR EUCTW EUCJIS2004 MULEINTERNAL LATIN1 LATIN2 LATIN3 LATIN4 LATIN5 LATIN6 \
LATIN7 LATIN8 LATIN9 LATIN10 WIN1256 WIN1258 WIN866 WIN874 KOI8R WIN1251 WIN1252 ISO88595 ISO88596 ISO88597 ISO88598 \
WIN1250 WIN1253 WIN1254 WIN1255 WIN1257 KOI8U SJIS BIG5 GBK UHC GB18030 JOHAB SHIFTJIS2004 ISO88591 WINDOWS1252 ";

/// PostgreSQL's text search configurations.
const SEARCH_CONFIGURATIONS: &str = " arabic armenian basque catalan danish dutch english finnish french german greek hindi \
hungarian indonesian irish italian lithuanian nepali norwegian portuguese romanian russian serbian simple spanish swedish \
tamil turkish yiddish ";

/// A string as it is kept, or why it cannot be.
pub fn checked(kind: TextKind, known: &KnownSetting, value: &str, settings: &Settings) -> Result<String, SqlError> {
    let invalid = || invalid(known.shown, value);
    let kept = || Ok(value.to_string());
    match kind {
        TextKind::Anything => kept(),
        TextKind::Name => {
            let mut name: String =
                value.bytes().map(|byte| if matches!(byte, 32..=126) { byte as char } else { '?' }).collect();
            name.truncate(NAME_BYTES_MAX);
            Ok(name)
        }
        TextKind::Zone => zone(value).map_err(|error| match error {
            ZoneError::Unknown => invalid(),
            ZoneError::OffsetOutOfRange => invalid().detail("UTC timezone offset is out of range."),
            ZoneError::Seconds => SqlError::new("22023", format!("time zone \"{value}\" appears to use leap seconds"))
                .detail("PostgreSQL does not support leap seconds."),
            ZoneError::Months => invalid().detail("Cannot specify months in time zone interval."),
            ZoneError::Days => invalid().detail("Cannot specify days in time zone interval."),
            ZoneError::Interval(error) => error.into(),
        }),
        TextKind::DateStyle => date_style(known, value, settings),
        TextKind::Encoding => encoding(value).ok_or_else(|| {
            let letters = letters(value).to_ascii_uppercase();
            if OTHER_ENCODINGS.contains(&format!(" {letters} ")) {
                SqlError::unsupported(format!("client encoding {letters}"))
                    .hint("Only UTF8 is supported, and SQL_ASCII, which is sent as it is stored.")
            } else {
                invalid()
            }
        }),
        TextKind::SearchPath => match identifiers(value) {
            Some(_) => kept(),
            None => Err(invalid().detail("List syntax is invalid.")),
        },
        TextKind::Locale => {
            let is_known = ["", "C", "POSIX", "C.UTF-8", "C.utf8"].contains(&value);
            if is_known { kept() } else { Err(invalid()) }
        }
        TextKind::Tablespace if is_tablespace(value) => kept(),
        TextKind::Tablespace => Err(invalid().detail(format!("Tablespace \"{value}\" does not exist."))),
        TextKind::Tablespaces => {
            let names = identifiers(value).ok_or_else(|| invalid().detail("List syntax is invalid."))?;
            match names.iter().find(|name| !is_tablespace(name)) {
                Some(name) => Err(SqlError::new("42704", format!("tablespace \"{name}\" does not exist"))),
                None => kept(),
            }
        }
        TextKind::AccessMethod if value == "heap" => kept(),
        TextKind::AccessMethod if value.is_empty() => {
            Err(invalid().detail(format!("{} cannot be empty.", known.shown)))
        }
        TextKind::AccessMethod => Err(invalid().detail(format!("Table access method \"{value}\" does not exist."))),
        TextKind::SearchConfiguration => {
            let name = value.strip_prefix("pg_catalog.").unwrap_or(value).to_ascii_lowercase();
            let is_known = !name.contains(' ') && SEARCH_CONFIGURATIONS.contains(&format!(" {name} "));
            if is_known { Ok(format!("pg_catalog.{name}")) } else { Err(invalid()) }
        }
        // Whose they may be is asked of the catalog before.
        TextKind::Role | TextKind::SessionUser => kept(),
    }
}

fn date_style(known: &KnownSetting, value: &str, settings: &Settings) -> Result<String, SqlError> {
    let invalid = || invalid(known.shown, value);
    let words = identifiers(value).ok_or_else(|| invalid().detail("List syntax is invalid."))?;
    let style = |kept: Option<&str>| kept.and_then(DateStyle::of_canonical).unwrap_or_default();
    let changed = style(settings.get(known.shown)).changed(&words, style(Some(settings.reset_value(known))));
    changed.map(|style| style.to_string()).map_err(|error| match error {
        DateStyleError::Word(word) => invalid().detail(format!("Unrecognized key word: \"{word}\".")),
        DateStyleError::Conflict => invalid().detail("Conflicting \"datestyle\" specifications."),
    })
}

/// The zone as it is shown.
fn zone(value: &str) -> Result<String, ZoneError> {
    Zone::setting(value).map(|zone| zone.to_string())
}

fn is_tablespace(name: &str) -> bool {
    name.is_empty() || name == "pg_default"
}

/// An encoding as it is shown, if it is one of ours.
fn encoding(value: &str) -> Option<String> {
    if value == "UNICODE" {
        // Old clients expect to see it as they said it.
        Some(value.to_string())
    } else if is_utf8(value) {
        Some("UTF8".to_string())
    } else {
        letters(value).eq_ignore_ascii_case("SQLASCII").then(|| "SQL_ASCII".to_string())
    }
}

/// Whether an encoding's name is one of PostgreSQL's spellings of UTF8.
pub fn is_utf8(encoding: &str) -> bool {
    let letters = letters(encoding);
    letters.eq_ignore_ascii_case("utf8") || letters.eq_ignore_ascii_case("unicode")
}

/// What counts of an encoding's name. asyncpg sends it with quotes.
fn letters(encoding: &str) -> String {
    encoding.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// Identifiers between commas, quoted or not; none if it is no such list.
pub(crate) fn identifiers(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = list.trim_start_matches(is_space);
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let (name, behind) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_identifier(quoted)?,
            None => {
                let end = rest.find(|c: char| c == ',' || is_space(c)).unwrap_or(rest.len());
                (rest[..end].to_ascii_lowercase(), &rest[end..])
            }
        };
        if name.is_empty() && !rest.starts_with('"') {
            return None;
        }
        names.push(name);
        rest = behind.trim_start_matches(is_space);
        if rest.is_empty() {
            return Some(names);
        }
        rest = rest.strip_prefix(',')?.trim_start_matches(is_space);
    }
}

/// A quoted identifier behind its first quote, and what stands behind the last.
fn quoted_identifier(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let (before, behind) = rest.split_once('"')?;
        name.push_str(before);
        match behind.strip_prefix('"') {
            Some(behind) => {
                name.push('"');
                rest = behind;
            }
            None => return Some((name, behind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{identifiers, is_utf8};

    #[test]
    fn lists_of_identifiers_are_read() {
        let read = |list: &str| identifiers(list).map(|names| names.join("|"));
        for (list, names) in [
            ("", Some("")),
            (" A , \"B c\" ", Some("a|B c")),
            ("\"a\"\"b\",c", Some("a\"b|c")),
            ("\"\"", Some("")),
            ("a,,b", None),
            ("a,", None),
            ("a b", None),
            ("\"a", None),
        ] {
            assert_eq!(read(list).as_deref(), names, "{list}");
        }
    }

    #[test]
    fn spellings_of_utf8() {
        assert!(is_utf8("\"UTF_8\"") && is_utf8("Unicode") && is_utf8("'utf-8'") && !is_utf8("utf16"));
    }
}
