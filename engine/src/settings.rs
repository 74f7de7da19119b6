//! A session's settings: what SET, SHOW, RESET and the startup packet name.
//!
//! One static table of the PostgreSQL 15 settings that clients use, one small map of what was set. Values are
//! checked here and take effect where they are read. Never knows what a setting does. What all sessions share is
//! in `server`.

pub mod server;

use crate::SqlError;
use repr::datetime::Zone;
use server::{SERVER_MEMORY, SUBSCRIPTION_MEMORY, ServerSettings, VIEW_MEMORY, is_shared};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What values a setting takes.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// The server's own: SET is refused.
    ReadOnly,
    /// Anything.
    Text,
    /// on, off and their spellings.
    Bool,
    /// A whole number within these bounds.
    Int(i64, i64),
    /// A duration; a bare number is in milliseconds.
    Milliseconds,
    /// A memory size; a bare number is in kB.
    Kilobytes,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A time zone.
    Zone,
    /// An output style and an order of day, month and year.
    DateStyle,
    /// A client encoding.
    Encoding,
}

/// One known setting.
struct Known {
    name: &'static str,
    shown: &'static str,
    default: &'static str,
    kind: Kind,
}

const fn known(name: &'static str, default: &'static str, kind: Kind) -> Known {
    Known { name, shown: name, default, kind }
}

const ISOLATION_LEVELS: &[&str] = &["serializable", "repeatable read", "read committed", "read uncommitted"];
const MESSAGE_LEVELS: &[&str] =
    &["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"];

/// Sorted by name.
static KNOWN: &[Known] = &[
    known("allow_system_table_mods", "off", Kind::Bool),
    known("application_name", "", Kind::Text),
    known("backslash_quote", "safe_encoding", Kind::OneOf(&["safe_encoding", "on", "off"])),
    known("bytea_output", "hex", Kind::OneOf(&["escape", "hex"])),
    known("check_function_bodies", "on", Kind::Bool),
    known("client_encoding", "UTF8", Kind::Encoding),
    known("client_min_messages", "notice", Kind::OneOf(MESSAGE_LEVELS)),
    Known { name: "datestyle", shown: "DateStyle", default: "ISO, MDY", kind: Kind::DateStyle },
    known("default_table_access_method", "heap", Kind::OneOf(&["heap"])),
    known("default_tablespace", "", Kind::OneOf(&[""])),
    known("default_text_search_config", "pg_catalog.simple", Kind::Text),
    known("default_transaction_deferrable", "off", Kind::Bool),
    known("default_transaction_isolation", "read committed", Kind::OneOf(ISOLATION_LEVELS)),
    known("default_transaction_read_only", "off", Kind::Bool),
    known("dogwood.auto_views", "on", Kind::Bool),
    known("dogwood.forget_wait", "1000", Kind::Milliseconds),
    known("dogwood.restoring", "off", Kind::Bool),
    known(SUBSCRIPTION_MEMORY, "262144", Kind::Kilobytes),
    known(VIEW_MEMORY, "1048576", Kind::Kilobytes),
    known("enable_bitmapscan", "on", Kind::Bool),
    known("enable_hashagg", "on", Kind::Bool),
    known("enable_hashjoin", "on", Kind::Bool),
    known("enable_indexonlyscan", "on", Kind::Bool),
    known("enable_indexscan", "on", Kind::Bool),
    known("enable_material", "on", Kind::Bool),
    known("enable_mergejoin", "on", Kind::Bool),
    known("enable_nestloop", "on", Kind::Bool),
    known("enable_seqscan", "on", Kind::Bool),
    known("enable_sort", "on", Kind::Bool),
    known("escape_string_warning", "on", Kind::Bool),
    known("extra_float_digits", "1", Kind::Int(-15, 3)),
    known("idle_in_transaction_session_timeout", "60000", Kind::Milliseconds),
    known("idle_session_timeout", "0", Kind::Milliseconds),
    known("integer_datetimes", "on", Kind::ReadOnly),
    Known {
        name: "intervalstyle",
        shown: "IntervalStyle",
        default: "postgres",
        kind: Kind::OneOf(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]),
    },
    known("is_superuser", "off", Kind::ReadOnly),
    known("jit", "off", Kind::Bool),
    known("lc_collate", "C", Kind::ReadOnly),
    known("lc_ctype", "C.UTF-8", Kind::ReadOnly),
    known("lc_messages", "C", Kind::Text),
    known("lc_monetary", "C", Kind::Text),
    known("lc_numeric", "C", Kind::Text),
    known("lc_time", "C", Kind::Text),
    known("lock_timeout", "0", Kind::Milliseconds),
    known("max_identifier_length", "63", Kind::ReadOnly),
    known("max_index_keys", "32", Kind::ReadOnly),
    known("row_security", "on", Kind::Bool),
    known("search_path", "\"$user\", public", Kind::Text),
    known("server_encoding", "UTF8", Kind::ReadOnly),
    known(SERVER_MEMORY, "4194304", Kind::Kilobytes),
    known("server_version", "15.8", Kind::ReadOnly),
    known("server_version_num", "150008", Kind::ReadOnly),
    known("session_authorization", "", Kind::Text),
    known("ssl", "off", Kind::ReadOnly),
    known("standard_conforming_strings", "on", Kind::OneOf(&["on"])),
    known("statement_memory", "1048576", Kind::Kilobytes),
    known("statement_timeout", "30000", Kind::Milliseconds),
    known("synchronize_seqscans", "on", Kind::Bool),
    known("synchronous_commit", "on", Kind::OneOf(&["on", "off", "local", "remote_write", "remote_apply"])),
    Known { name: "timezone", shown: "TimeZone", default: "UTC", kind: Kind::Zone },
    known("transaction_isolation", "read committed", Kind::OneOf(ISOLATION_LEVELS)),
    known("transaction_read_only", "off", Kind::Bool),
    known("transaction_timeout", "0", Kind::Milliseconds),
    known("work_mem", "4096", Kind::Kilobytes),
    known("xmloption", "content", Kind::OneOf(&["content", "document"])),
];

/// What PostgreSQL tells a client at its start and at every change.
const REPORTED: &[&str] = &[
    "application_name",
    "client_encoding",
    "datestyle",
    "default_transaction_read_only",
    "integer_datetimes",
    "intervalstyle",
    "is_superuser",
    "server_encoding",
    "server_version",
    "session_authorization",
    "standard_conforming_strings",
    "timezone",
];

const MILLISECOND_UNITS: &[(&str, i64)] =
    &[("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];
const KILOBYTE_UNITS: &[(&str, i64)] = &[("TB", 1 << 30), ("GB", 1 << 20), ("MB", 1 << 10), ("kB", 1)];
/// The unit below the smallest that is kept, and how many make one.
const MICROSECOND: (&str, f64) = ("us", 1_000.0);
const BYTE: (&str, f64) = ("B", 1_024.0);

/// The settings of one session.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What RESET goes back to, where it is not the default.
    start: BTreeMap<String, String>,
    /// As they stand, where that is not where they started.
    current: BTreeMap<String, String>,
    /// What SET in this transaction replaced, for its end.
    saved: BTreeMap<String, Saved>,
    /// The transaction's savepoints, each with what stood there if anything has changed since: none that has, after one that has not.
    savepoints: Vec<Option<Arc<AtSavepoint>>>,
    /// Grows with every change.
    version: u64,
    /// What is set for all sessions.
    server: Option<Arc<ServerSettings>>,
}

/// A setting that this transaction has changed.
#[derive(Clone, Debug)]
struct Saved {
    /// Before the transaction.
    before: Option<String>,
    /// After a COMMIT: what SET gave last, whatever SET LOCAL has laid over it.
    committed: Option<String>,
}

/// What a savepoint goes back to.
#[derive(Clone, Debug)]
struct AtSavepoint {
    current: BTreeMap<String, String>,
    saved: BTreeMap<String, Saved>,
}

impl Settings {
    /// Shares what is set for all sessions.
    pub fn share(&mut self, server: &Arc<ServerSettings>) {
        self.server = Some(server.clone());
    }

    /// Grows with every change: what was made of the settings stands while this does.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The value as it is kept: durations in milliseconds, sizes in kB.
    pub fn get(&self, name: &str) -> Option<&str> {
        let name = lower(name);
        let value = self.current.get(&*name).or_else(|| self.start.get(&*name)).map(String::as_str);
        value.or_else(|| find(&name).map(|known| known.default))
    }

    /// The name as PostgreSQL spells it and the value as SHOW writes it. 42704 for an unknown setting.
    pub fn show(&self, name: &str) -> Result<(String, String), SqlError> {
        let name = lower(name);
        let shared = self.server.as_ref().and_then(|server| server.shared(&name));
        if let (Some(shared), Some(known)) = (shared, find(&name)) {
            let kilobytes = (shared.bytes() >> 10).to_string();
            return Ok((known.shown.to_string(), shown_value(known, &kilobytes)));
        }
        let value = self.get(&name).ok_or_else(|| unrecognized(&name))?;
        Ok(match find(&name) {
            Some(known) => (known.shown.to_string(), shown_value(known, value)),
            None => (name.to_string(), value.to_string()),
        })
    }

    /// SHOW ALL: every setting, by name.
    pub fn all(&self) -> Vec<(String, String)> {
        let custom = self.start.keys().chain(self.current.keys()).map(String::as_str);
        let mut names: Vec<&str> = KNOWN.iter().map(|known| known.name).chain(custom).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().filter_map(|name| self.show(name).ok()).collect()
    }

    /// A value from the startup packet: what RESET goes back to.
    pub fn start(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        let name = lower(name);
        if is_shared(&name) {
            return Err(SqlError::new("55P02", format!("parameter \"{name}\" cannot be set when a session starts"))
                .hint("It is set for all sessions: use SET."));
        }
        let value = checked(&name, value)?;
        self.version += 1;
        self.current.remove(&*name);
        self.start.insert(name.into_owned(), value);
        Ok(())
    }

    /// Sets what the server decides (is_superuser, session_authorization, transaction_isolation), past all checks.
    pub fn force(&mut self, name: &str, value: String) {
        let name = lower(name);
        self.version += 1;
        self.saved.remove(&*name);
        self.current.remove(&*name);
        self.start.insert(name.into_owned(), value);
    }

    /// SET and SET LOCAL; `None` is DEFAULT, which is RESET too. Undone by `end_transaction`.
    pub fn set(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<(), SqlError> {
        let name = lower(name).into_owned();
        if let Some(shared) = self.server.as_ref().and_then(|server| server.shared(&name)) {
            if local {
                return Err(SqlError::unsupported(format!("SET LOCAL {name}"))
                    .hint("It is set for all sessions, at once and until the server stops: use SET."));
            }
            let bytes = match value {
                Some(value) => checked(&name, value)?.parse::<usize>().ok().map(|kilobytes| kilobytes << 10),
                None => None,
            };
            shared.set(bytes);
            return Ok(());
        }
        let value = match value {
            Some(value) => Some(checked(&name, value)?),
            None => {
                refuse_read_only(&name)?;
                if find(&name).is_none() && !name.contains('.') {
                    return Err(unrecognized(&name));
                }
                None
            }
        };
        self.keep_for_savepoints();
        let before = self.current.get(&name).cloned();
        let saved = self.saved.entry(name.clone()).or_insert_with(|| Saved { committed: before.clone(), before });
        if !local {
            saved.committed.clone_from(&value);
        }
        self.put(name, value);
        Ok(())
    }

    /// RESET ALL, DISCARD ALL: everything as the session started.
    pub fn reset_all(&mut self) {
        self.keep_for_savepoints();
        self.version += 1;
        for (name, value) in std::mem::take(&mut self.current) {
            let saved = self.saved.entry(name).or_insert_with(|| Saved { before: Some(value), committed: None });
            saved.committed = None;
        }
        self.saved.values_mut().for_each(|saved| saved.committed = None);
    }

    /// SAVEPOINT
    pub fn savepoint(&mut self) {
        self.savepoints.push(None);
    }

    /// RELEASE SAVEPOINT of the transaction's n-th: what was set since stays, SET LOCAL up to the transaction's end.
    pub fn release_savepoint(&mut self, position: usize) {
        self.savepoints.truncate(position);
    }

    /// ROLLBACK TO SAVEPOINT, the transaction's n-th: what SET and SET LOCAL have done since is taken back.
    pub fn roll_back_to_savepoint(&mut self, position: usize) {
        self.savepoints.truncate(position + 1);
        if let Some(before) = self.savepoints.get_mut(position).and_then(Option::take) {
            let AtSavepoint { current, saved } = Arc::unwrap_or_clone(before);
            (self.current, self.saved) = (current, saved);
            self.version += 1;
        }
    }

    /// Before a change: savepoints that nothing has changed after keep what stands here.
    fn keep_for_savepoints(&mut self) {
        let unchanged = self.savepoints.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        if unchanged < self.savepoints.len() {
            let here = AtSavepoint { current: self.current.clone(), saved: self.saved.clone() };
            self.savepoints[unchanged..].fill(Some(Arc::new(here)));
        }
    }

    /// Ends what SET LOCAL has done, and after a rollback what SET has done too.
    pub fn end_transaction(&mut self, committed: bool) {
        self.savepoints.clear();
        for (name, saved) in std::mem::take(&mut self.saved) {
            self.put(name, if committed { saved.committed } else { saved.before });
        }
    }

    /// Whether the end of the transaction changes anything here.
    pub fn awaits_end(&self) -> bool {
        !self.saved.is_empty()
    }

    /// What a client is told without asking, by shown name.
    pub fn reported(&self) -> Vec<(String, String)> {
        REPORTED.iter().filter_map(|name| self.show(name).ok()).collect()
    }

    /// A timeout; 0 is none.
    pub fn timeout(&self, name: &str) -> Option<Duration> {
        let milliseconds: u64 = self.get(name)?.parse().ok()?;
        (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
    }

    /// A size in bytes.
    pub fn size(&self, name: &str) -> usize {
        self.get(name)
            .and_then(|kilobytes| kilobytes.parse::<usize>().ok())
            .map_or(usize::MAX, |kilobytes| kilobytes << 10)
    }

    /// Whether a boolean setting is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name) == Some("on")
    }

    fn put(&mut self, name: String, value: Option<String>) {
        self.version += 1;
        match value {
            Some(value) => self.current.insert(name, value),
            None => self.current.remove(&name),
        };
    }
}

fn lower(name: &str) -> Cow<'_, str> {
    // Read for many a value that is cast or written: the usual spelling is not copied.
    let name = match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(name.to_ascii_lowercase()),
        false => Cow::Borrowed(name),
    };
    if name == "time zone" { Cow::Borrowed("timezone") } else { name }
}

fn find(name: &str) -> Option<&'static Known> {
    KNOWN.binary_search_by(|known| known.name.cmp(name)).ok().map(|position| &KNOWN[position])
}

fn unrecognized(name: &str) -> SqlError {
    SqlError::new("42704", format!("unrecognized configuration parameter \"{name}\""))
}

fn refuse_read_only(name: &str) -> Result<(), SqlError> {
    match find(name) {
        Some(Known { kind: Kind::ReadOnly, .. }) => {
            Err(SqlError::new("55P02", format!("parameter \"{name}\" cannot be changed")))
        }
        Some(_) | None => Ok(()),
    }
}

/// A value as it is kept, or why it cannot be.
fn checked(name: &str, value: &str) -> Result<String, SqlError> {
    let Some(known) = find(name) else {
        // As in PostgreSQL, a name with a dot is a setting of the client's own.
        return if name.contains('.') { Ok(value.to_string()) } else { Err(unrecognized(name)) };
    };
    let invalid = || SqlError::new("22023", format!("invalid value for parameter \"{}\": \"{value}\"", known.shown));
    match known.kind {
        Kind::ReadOnly => refuse_read_only(name).map(|()| value.to_string()),
        Kind::Text => Ok(value.to_string()),
        Kind::Bool => match boolean(value) {
            Some(on) => Ok(if on { "on" } else { "off" }.to_string()),
            None => Err(SqlError::new("22023", format!("parameter \"{}\" requires a Boolean value", known.shown))),
        },
        Kind::Int(low, high) => {
            let number = value.trim().parse::<i64>().map_err(|_| invalid())?;
            within(known, number, low, high)
        }
        Kind::Milliseconds => {
            within(known, with_unit(known, value, MILLISECOND_UNITS, MICROSECOND)?, 0, i64::from(i32::MAX))
        }
        Kind::Kilobytes => within(known, with_unit(known, value, KILOBYTE_UNITS, BYTE)?, 64, i64::from(i32::MAX)),
        Kind::OneOf(words) => {
            let found = words.iter().find(|word| word.eq_ignore_ascii_case(value.trim()));
            // PostgreSQL's mixed settings take Boolean spellings for their on and off.
            let spelled = boolean(value).map(|on| if on { "on" } else { "off" });
            match found.copied().or(spelled.filter(|word| words.contains(word))) {
                Some(word) => Ok(word.to_string()),
                None => Err(invalid().hint(format!("Available values: {}.", words.join(", ")))),
            }
        }
        Kind::Zone => {
            let zone = value.trim();
            match Zone::parse(zone).map_err(|_| invalid())? {
                Zone::Named(named) => Ok(named.name().to_string()),
                Zone::Fixed(..) => Ok(zone.to_string()),
            }
        }
        Kind::DateStyle => date_style(value).ok_or_else(|| {
            invalid().hint("Only output style ISO is supported, with MDY, DMY or YMD for the order of input.")
        }),
        Kind::Encoding => {
            if is_utf8(value) {
                Ok("UTF8".to_string())
            } else if unquoted(value).eq_ignore_ascii_case("SQL_ASCII") {
                Ok("SQL_ASCII".to_string())
            } else {
                Err(invalid().hint("Only UTF8 is supported, and SQL_ASCII, which is sent as it is stored."))
            }
        }
    }
}

/// A Boolean in any of its spellings.
pub(crate) fn boolean(value: &str) -> Option<bool> {
    let value = value.trim().to_ascii_lowercase();
    // Any unique beginning of a word counts; "o" is not one.
    let begins = |word: &str, least: usize| value.len() >= least && word.starts_with(&value);
    if value == "1" || begins("true", 1) || begins("yes", 1) || value == "on" {
        Some(true)
    } else if value == "0" || begins("false", 1) || begins("no", 1) || begins("off", 2) {
        Some(false)
    } else {
        None
    }
}

fn within(known: &Known, number: i64, low: i64, high: i64) -> Result<String, SqlError> {
    if (low..=high).contains(&number) {
        return Ok(number.to_string());
    }
    let unit = match known.kind {
        Kind::Milliseconds => " ms",
        Kind::Kilobytes => " kB",
        Kind::ReadOnly
        | Kind::Text
        | Kind::Bool
        | Kind::Int(..)
        | Kind::OneOf(_)
        | Kind::Zone
        | Kind::DateStyle
        | Kind::Encoding => "",
    };
    let message = format!(
        "{number}{unit} is outside the valid range for parameter \"{}\" ({low}{unit} .. {high}{unit})",
        known.shown
    );
    Err(SqlError::new("22023", message))
}

/// A number with or without a unit, in the smallest of `units`.
fn with_unit(known: &Known, value: &str, units: &[(&str, i64)], below: (&str, f64)) -> Result<i64, SqlError> {
    let invalid =
        || {
            let valid: Vec<String> = units.iter().rev().map(|(unit, _)| format!("\"{unit}\"")).collect();
            let (last, others) = valid.split_last().expect("every kind has units");
            SqlError::new("22023", format!("invalid value for parameter \"{}\": \"{value}\"", known.shown))
                .hint(format!("Valid units for this parameter are \"{}\", {}, and {last}.", below.0, others.join(", ")))
        };
    let trimmed = value.trim();
    let split = trimmed.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(trimmed.len());
    let (number, unit) = (trimmed[..split].trim(), &trimmed[split..]);
    let factor = match units.iter().find(|(name, _)| *name == unit) {
        Some((_, factor)) => *factor as f64,
        None if unit.is_empty() => 1.0,
        None if unit == below.0 => 1.0 / below.1,
        None => return Err(invalid()),
    };
    // As PostgreSQL: fractions are for the unit, what is kept is whole.
    let rounded = (number.parse::<f64>().map_err(|_| invalid())? * factor).round_ties_even();
    if rounded.abs() < 9e15 { Ok(rounded as i64) } else { Err(invalid()) }
}

fn shown_value(known: &Known, value: &str) -> String {
    let units = match known.kind {
        Kind::Milliseconds => MILLISECOND_UNITS,
        Kind::Kilobytes => KILOBYTE_UNITS,
        Kind::ReadOnly
        | Kind::Text
        | Kind::Bool
        | Kind::Int(..)
        | Kind::OneOf(_)
        | Kind::Zone
        | Kind::DateStyle
        | Kind::Encoding => return value.to_string(),
    };
    // The largest unit that leaves a whole number, as PostgreSQL writes it.
    match value.parse::<i64>() {
        Ok(number) if number != 0 => units
            .iter()
            .find(|(_, factor)| number % factor == 0)
            .map_or_else(|| value.to_string(), |(unit, factor)| format!("{}{unit}", number / factor)),
        Ok(_) | Err(_) => value.to_string(),
    }
}

fn unquoted(value: &str) -> &str {
    value.trim().trim_matches(|c| matches!(c, '\'' | '"')).trim()
}

/// Whether an encoding's name, quoted or not, is one of PostgreSQL's spellings of UTF8.
pub fn is_utf8(encoding: &str) -> bool {
    let letters: String = unquoted(encoding).chars().filter(char::is_ascii_alphanumeric).collect();
    // libpq's "auto" has been resolved by the client; "unicode" is PostgreSQL's old name.
    letters.eq_ignore_ascii_case("utf8") || letters.eq_ignore_ascii_case("unicode")
}

fn date_style(value: &str) -> Option<String> {
    let mut order = "MDY";
    for word in value.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty()) {
        match word.to_ascii_lowercase().as_str() {
            "iso" => {}
            "mdy" | "us" | "noneuro" | "noneuropean" => order = "MDY",
            "dmy" | "euro" | "european" => order = "DMY",
            "ymd" => order = "YMD",
            _ => return None,
        }
    }
    Some(format!("ISO, {order}"))
}

#[cfg(test)]
mod tests {
    use super::{KNOWN, REPORTED, Settings, checked, find, is_utf8};
    use std::time::Duration;

    fn shown(settings: &Settings, name: &str) -> String {
        settings.show(name).unwrap().1
    }

    #[test]
    fn the_table_is_sorted_and_its_defaults_are_valid() {
        assert!(KNOWN.is_sorted_by(|left, right| left.name < right.name));
        assert!(REPORTED.iter().all(|name| find(name).is_some()));
        for known in KNOWN {
            match checked(known.name, known.default) {
                Ok(value) => assert_eq!(value, known.default, "{}", known.name),
                Err(error) => assert_eq!(error.code, "55P02", "{}", known.name),
            }
        }
    }

    #[test]
    fn values_are_shown_as_in_postgresql() {
        let mut settings = Settings::default();
        for (name, value, expected) in [
            ("statement_timeout", "30000", "30s"),
            ("statement_timeout", "60000", "1min"),
            ("statement_timeout", "1500", "1500ms"),
            ("statement_timeout", "1.5s", "1500ms"),
            ("statement_timeout", "2 h", "2h"),
            ("statement_timeout", "2500us", "2ms"),
            ("statement_timeout", "0", "0"),
            ("work_mem", "64MB", "64MB"),
            ("work_mem", "1000", "1000kB"),
            ("enable_sort", "f", "off"),
            ("enable_sort", "YES", "on"),
            ("datestyle", "european, iso", "ISO, DMY"),
            ("client_encoding", "'utf-8'", "UTF8"),
            ("client_encoding", "sql_ascii", "SQL_ASCII"),
            ("timezone", "europe/berlin", "Europe/Berlin"),
            ("Synchronous_Commit", "false", "off"),
            ("extra_float_digits", "3", "3"),
            ("my.own", "Anything", "Anything"),
        ] {
            settings.set(name, Some(value), false).unwrap();
            assert_eq!(shown(&settings, name), expected, "{name} = {value}");
        }
        assert_eq!(settings.show("time zone").unwrap().0, "TimeZone");
        assert_eq!(settings.show("datestyle").unwrap().0, "DateStyle");
    }

    #[test]
    fn what_is_wrong_is_refused() {
        let mut settings = Settings::default();
        for (name, value, code) in [
            ("no_such", "1", "42704"),
            ("server_version", "16", "55P02"),
            ("is_superuser", "on", "55P02"),
            ("client_encoding", "latin1", "22023"),
            ("datestyle", "German", "22023"),
            ("timezone", "Mars/Olympus", "22023"),
            ("statement_timeout", "-1", "22023"),
            ("statement_timeout", "1 fortnight", "22023"),
            ("statement_timeout", "99999999999999999d", "22023"),
            ("extra_float_digits", "4", "22023"),
            ("enable_sort", "o", "22023"),
            ("standard_conforming_strings", "off", "22023"),
            ("bytea_output", "base64", "22023"),
        ] {
            assert_eq!(settings.set(name, Some(value), false).unwrap_err().code, code, "{name} = {value}");
        }
        assert_eq!(settings.set("no_such", None, false).unwrap_err().code, "42704");
        assert_eq!(settings.set("server_version", None, false).unwrap_err().code, "55P02");
        let error = settings.show("no_such").unwrap_err();
        assert_eq!(error.message, "unrecognized configuration parameter \"no_such\"");
    }

    #[test]
    fn the_end_of_a_transaction_takes_back_what_it_must() {
        let mut settings = Settings::default();
        let set = |settings: &mut Settings, value: &str, local| {
            settings.set("application_name", Some(value), local).unwrap();
        };
        set(&mut settings, "a", false);
        settings.end_transaction(true);
        set(&mut settings, "b", true);
        assert_eq!(shown(&settings, "application_name"), "b");
        settings.end_transaction(true);
        assert_eq!(shown(&settings, "application_name"), "a");
        set(&mut settings, "c", false);
        set(&mut settings, "d", true);
        settings.end_transaction(true);
        assert_eq!(shown(&settings, "application_name"), "c");
        set(&mut settings, "e", true);
        set(&mut settings, "f", false);
        settings.end_transaction(false);
        assert_eq!(shown(&settings, "application_name"), "c");
        set(&mut settings, "g", false);
        settings.reset_all();
        assert_eq!(shown(&settings, "application_name"), "");
        settings.end_transaction(false);
        assert_eq!(shown(&settings, "application_name"), "c");
        settings.reset_all();
        settings.end_transaction(true);
        assert_eq!(shown(&settings, "application_name"), "");
    }

    #[test]
    fn a_savepoint_takes_back_what_was_set_after_it() {
        let mut settings = Settings::default();
        let set = |settings: &mut Settings, value: &str, local| {
            settings.set("application_name", Some(value), local).unwrap();
        };
        set(&mut settings, "a", false);
        settings.savepoint();
        settings.savepoint();
        set(&mut settings, "b", false);
        settings.savepoint();
        set(&mut settings, "c", true);
        let version = settings.version();
        settings.roll_back_to_savepoint(2);
        assert_eq!(shown(&settings, "application_name"), "b");
        assert!(settings.version() > version);
        settings.roll_back_to_savepoint(2);
        set(&mut settings, "d", true);
        settings.release_savepoint(2);
        assert_eq!(shown(&settings, "application_name"), "d");
        settings.roll_back_to_savepoint(1);
        assert_eq!(shown(&settings, "application_name"), "a");
        settings.reset_all();
        settings.roll_back_to_savepoint(0);
        assert_eq!(shown(&settings, "application_name"), "a");
        set(&mut settings, "e", true);
        settings.end_transaction(true);
        assert_eq!(shown(&settings, "application_name"), "a");
        settings.savepoint();
        settings.release_savepoint(0);
        set(&mut settings, "f", false);
        settings.end_transaction(false);
        assert_eq!(shown(&settings, "application_name"), "a");
    }

    #[test]
    fn reset_goes_back_to_the_startup_packet() {
        let mut settings = Settings::default();
        settings.start("TimeZone", "Europe/Rome").unwrap();
        settings.set("timezone", Some("UTC"), false).unwrap();
        settings.set("timezone", None, false).unwrap();
        assert_eq!(shown(&settings, "timezone"), "Europe/Rome");
        settings.force("is_superuser", "on".to_string());
        assert!(settings.is_on("is_superuser"));
        assert_eq!(settings.start("server_version", "9").unwrap_err().code, "55P02");
        let reported = settings.reported();
        assert!(reported.contains(&("TimeZone".to_string(), "Europe/Rome".to_string())));
        assert_eq!(reported.len(), REPORTED.len());
        assert!(settings.all().len() >= KNOWN.len());
    }

    #[test]
    fn what_is_set_for_all_sessions_is_seen_by_all() {
        let server = std::sync::Arc::new(super::ServerSettings::new(1 << 30, 256 << 20, 4 << 30));
        let (mut one, mut other) = (Settings::default(), Settings::default());
        one.share(&server);
        other.share(&server);
        assert_eq!(shown(&one, "dogwood.view_memory"), "1GB");
        one.set("dogwood.view_memory", Some("64MB"), false).unwrap();
        one.end_transaction(false);
        assert_eq!(shown(&other, "dogwood.view_memory"), "64MB");
        assert_eq!(server.view_memory.bytes(), 64 << 20);
        assert_eq!(other.set("dogwood.view_memory", Some("1 fortnight"), false).unwrap_err().code, "22023");
        assert_eq!(other.set("dogwood.view_memory", Some("1GB"), true).unwrap_err().code, "0A000");
        assert_eq!(other.start("dogwood.view_memory", "1GB").unwrap_err().code, "55P02");
        other.reset_all();
        assert_eq!(shown(&one, "dogwood.view_memory"), "64MB");
        other.set("dogwood.subscription_memory", Some("1MB"), false).unwrap();
        assert_eq!(
            (shown(&one, "dogwood.subscription_memory").as_str(), server.subscription_memory.bytes()),
            ("1MB", 1 << 20)
        );
        other.set("dogwood.view_memory", None, false).unwrap();
        assert_eq!(shown(&one, "dogwood.view_memory"), "1GB");
    }

    #[test]
    fn timeouts_are_durations() {
        let mut settings = Settings::default();
        assert_eq!(settings.timeout("statement_timeout"), Some(Duration::from_secs(30)));
        assert_eq!(settings.timeout("lock_timeout"), None);
        settings.set("lock_timeout", Some("250ms"), true).unwrap();
        assert_eq!(settings.timeout("lock_timeout"), Some(Duration::from_millis(250)));
        assert!(is_utf8("\"UTF_8\"") && is_utf8("Unicode") && !is_utf8("utf16"));
    }
}
