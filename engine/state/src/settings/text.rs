//! Values that are strings of a kind: time zones, date styles, encodings, lists of names, roles.

use crate::SqlError;
use crate::settings::Settings;
use crate::settings::table::{KnownSetting, TextKind};
use crate::settings::value::invalid;
use repr::Encoding;
use repr::datetime::style::DateStyleError;
use repr::datetime::zone::ZoneError;
use repr::datetime::{DateStyle, Zone};
use repr::text::c_number::is_space;

/// As names are cut.
const NAME_BYTES_MAX: usize = 63;

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
        // Old clients expect to see it as they said it.
        TextKind::Encoding if value == "UNICODE" => kept(),
        TextKind::Encoding => match Encoding::named(value) {
            Some(found) if found.is_supported() => Ok(found.name().to_owned()),
            Some(found) => Err(SqlError::unsupported(format!("client encoding {}", found.name())).hint("Use UTF8.")),
            None => Err(invalid()),
        },
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
        TextKind::Role | TextKind::SessionUser | TextKind::Purpose => kept(),
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
    use super::identifiers;

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
}
