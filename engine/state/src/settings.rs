//! A session's settings: what SET, SHOW, RESET and the startup packet name.
//!
//! ```text
//! known    which settings there are, and what each takes     value, unit   Booleans, numbers, words
//! server   those that all sessions share                     text          zones, styles, lists, roles
//! ```
//! Here is one small map of what was set, and how transactions and savepoints take it back. Values are checked when they are set
//! and take effect where they are read. Never knows what a setting does.

pub mod server;
mod table;
mod text;
mod unit;
mod value;

pub use value::boolean;

use crate::SqlError;
use planner::parse::utility::SetValue;
use planner::scalar::{ListedSetting, quote_identifier};
use server::{ServerSettings, is_shared};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use table::{Context, KnownSetting, ListKind, SettingKind, Supported};

/// What PostgreSQL tells a client at its start and at every change.
const REPORTED: &[&str] = &[
    "application_name",
    "client_encoding",
    "datestyle",
    "default_transaction_read_only",
    "in_hot_standby",
    "integer_datetimes",
    "intervalstyle",
    "is_superuser",
    "server_encoding",
    "server_version",
    "session_authorization",
    "standard_conforming_strings",
    "timezone",
];

/// The settings of one session.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What RESET goes back to, where it is not the default.
    start: BTreeMap<String, StartValue>,
    /// As they stand, where that is not where they started.
    current: BTreeMap<String, String>,
    /// What SET in this transaction replaced, for its end.
    saved: BTreeMap<String, Saved>,
    /// The transaction's savepoints, each with what stood there if anything has changed since: none that has, after one that has not.
    savepoints: Vec<Option<Arc<AtSavepoint>>>,
    version: SettingsVersion,
    /// Settings of the client's own that it has named: they stay, empty, when what was set is taken back.
    named: BTreeSet<String>,
    /// What is set for all sessions.
    server: Option<Arc<ServerSettings>>,
}

/// Grows with every change of a session's settings.
#[derive(Clone, Debug, Default)]
pub struct SettingsVersion(Arc<AtomicU64>);

impl SettingsVersion {
    /// What it is now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn grow(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a session started with.
#[derive(Clone, Debug)]
struct StartValue {
    value: String,
    given: StartSource,
}

/// Who says what a session starts with, the weaker ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartSource {
    /// ALTER ROLE ALL … SET
    Global,
    /// ALTER DATABASE … SET
    Database,
    /// ALTER ROLE … SET
    Role,
    /// ALTER ROLE … IN DATABASE … SET
    RoleInDatabase,
    /// The startup packet, or the server.
    Client,
}

impl StartSource {
    /// As in `pg_settings.source`.
    fn name(self) -> &'static str {
        match self {
            StartSource::Global => "global",
            StartSource::Database => "database",
            StartSource::Role => "user",
            StartSource::RoleInDatabase => "database user",
            StartSource::Client => "client",
        }
    }
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

/// Whether it is for whoever defines what roles and databases start with, and not for their sessions.
pub fn is_of_definers(name: &str) -> bool {
    table::find(&lower(name)).is_some_and(|known| known.context == Context::Definer)
}

fn refuse_of_definers(name: &str) -> Result<(), SqlError> {
    match is_of_definers(name) {
        true => Err(SqlError::new("42501", format!("permission denied to set parameter \"{name}\""))
            .hint("The controller sets it for a role or a database, by ALTER ROLE or ALTER DATABASE; the server's start for all.")),
        false => Ok(()),
    }
}

impl Settings {
    /// Shares what is set for all sessions.
    pub fn share(&mut self, server: &Arc<ServerSettings>) {
        self.server = Some(server.clone());
    }

    /// Grows with every change: what was made of the settings stands while this does.
    pub fn version(&self) -> u64 {
        self.version.get()
    }

    /// For whoever looks at it often.
    pub fn watched_version(&self) -> SettingsVersion {
        self.version.clone()
    }

    /// The value as it is kept: durations in milliseconds, sizes in kB.
    pub fn get(&self, name: &str) -> Option<&str> {
        let name = lower(name);
        let value = self.current.get(&*name).map(String::as_str).or_else(|| self.started(&name));
        value
            .or_else(|| self.given(&name))
            .or_else(|| table::find(&name).map(|known| known.default))
            .or_else(|| self.named.get(&*name).map(|_| ""))
    }

    /// What the session was started with.
    fn started(&self, lower: &str) -> Option<&str> {
        self.start.get(lower).map(|start| &*start.value)
    }

    /// What the server was started with.
    fn given(&self, lower: &str) -> Option<&str> {
        self.server.as_ref()?.given(lower)
    }

    /// What RESET goes back to.
    fn reset_value(&self, known: &KnownSetting) -> &str {
        let name = lower(known.shown);
        self.started(&name).or_else(|| self.given(&name)).unwrap_or(known.default)
    }

    /// The name as PostgreSQL spells it and the value as SHOW writes it. 42704 for an unknown setting.
    pub fn show(&self, name: &str) -> Result<(String, String), SqlError> {
        let known = table::find(&lower(name));
        if let Some(known) = known {
            return Ok((known.shown.to_string(), value::shown(known, &self.kept(known))));
        }
        let value = self.get(name).ok_or_else(|| unrecognized(name))?;
        Ok((name.to_string(), value.to_string()))
    }

    /// A known setting's value as it is kept, those included that all sessions share.
    fn kept(&self, known: &'static KnownSetting) -> Cow<'_, str> {
        match self.server.as_ref().and_then(|server| server.shared(known.shown)) {
            Some(shared) => Cow::Owned(shared.kept().to_string()),
            None => Cow::Borrowed(self.get(known.shown).unwrap_or(known.default)),
        }
    }

    /// SHOW ALL: every setting and what it is, by name.
    pub fn all(&self) -> Vec<[String; 3]> {
        let shown = table::all().into_iter().filter(|known| !known.is_hidden);
        shown
            .map(|known| {
                let value = value::shown(known, &self.kept(known));
                [known.shown.to_string(), value, known.description.to_string()]
            })
            .collect()
    }

    /// The rows of `pg_settings`, by name.
    pub fn listed(&self) -> Vec<ListedSetting> {
        table::all().into_iter().filter(|known| !known.is_hidden).map(|known| self.listing(known)).collect()
    }

    fn listing(&self, known: &'static KnownSetting) -> ListedSetting {
        let (unit, bounds) = match known.kind {
            SettingKind::Integer(unit, low, high) => (unit.name(), Some((low.to_string(), high.to_string()))),
            SettingKind::Real(unit, low, high) => (unit.name(), Some((unit::general(low), unit::general(high)))),
            SettingKind::Bool | SettingKind::OneOf(_) | SettingKind::Text(_) => (None, None),
        };
        let source = if self.current.contains_key(&*lower(known.shown)) {
            "session"
        } else if let Some(start) = self.start.get(&*lower(known.shown)) {
            start.given.name()
        } else if self.given(&lower(known.shown)).is_some() {
            "command line"
        } else {
            "default"
        };
        ListedSetting {
            name: known.shown,
            value: value::bare(known, &self.kept(known)),
            unit,
            category: known.category,
            description: known.description,
            further: known.further,
            context: known.context.name(),
            kind: match known.kind {
                SettingKind::Bool => "bool",
                SettingKind::Integer(..) => "integer",
                SettingKind::Real(..) => "real",
                SettingKind::OneOf(_) => "enum",
                SettingKind::Text(_) => "string",
            },
            source,
            bounds,
            words: match known.kind {
                SettingKind::OneOf(words) => Some(words.shown),
                SettingKind::Bool | SettingKind::Integer(..) | SettingKind::Real(..) | SettingKind::Text(_) => None,
            },
            default: value::bare(known, known.default),
            reset: match self.server.as_ref().and_then(|server| server.shared(known.shown)) {
                Some(shared) => shared.start().to_string(),
                None => value::bare(known, self.reset_value(known)),
            },
        }
    }

    /// Settings that a server is started with, as they are kept: for all sessions, and for each.
    pub fn of_server(given: &[(String, String)], mut server: ServerSettings) -> Result<ServerSettings, SqlError> {
        let settings = Settings::default();
        for (name, value) in given {
            let kept = settings.checked_by_name(name, value)?;
            let name = lower(name).into_owned();
            if table::find(&name).is_none_or(|known| known.is_hidden) {
                return Err(unrecognized(&name));
            }
            match kept.parse::<usize>() {
                Ok(kept) if is_shared(&name) => server.start_with(&name, kept),
                Ok(_) | Err(_) => server.give(name, kept),
            }
        }
        Ok(server)
    }

    /// From how long on a statement is logged.
    pub fn log_min_duration(&self) -> Option<Duration> {
        let milliseconds = self.get("log_min_duration_statement")?.parse().ok()?;
        Some(Duration::from_millis(milliseconds))
    }

    /// What the session starts with: what RESET goes back to.
    pub fn start(&mut self, name: &str, value: &str, given: StartSource) -> Result<(), SqlError> {
        if given == StartSource::Client {
            refuse_of_definers(name)?;
        }
        let value = self.checked_for_start(name, value)?;
        let name = lower(name);
        self.version.grow();
        self.current.remove(&*name);
        self.start.insert(name.into_owned(), StartValue { value, given });
        Ok(())
    }

    /// A value with which sessions may start, as it is kept, or why they cannot.
    fn checked_for_start(&self, name: &str, value: &str) -> Result<String, SqlError> {
        if is_shared(&lower(name)) {
            return Err(SqlError::new("55P02", format!("parameter \"{name}\" cannot be set when a session starts"))
                .hint("It is set for all sessions: use SET."));
        }
        self.checked_by_name(name, value)
    }

    /// For ALTER DATABASE and ALTER ROLE: a setting's name as PostgreSQL spells it, and the value as it was written, if sessions may
    /// start with that.
    pub fn for_later_sessions(&self, name: &str, values: &[SetValue]) -> Result<(String, String), SqlError> {
        let value = self.value_of(name, values)?;
        self.checked_for_start(name, &value)?;
        Ok((spelled(name).to_owned(), value))
    }

    /// Sets what the server decides (is_superuser, session_authorization, transaction_isolation), past all checks.
    pub fn force(&mut self, name: &str, value: String) {
        let name = lower(name);
        self.version.grow();
        self.saved.remove(&*name);
        self.current.remove(&*name);
        self.start.insert(name.into_owned(), StartValue { value, given: StartSource::Client });
    }

    /// The values of a SET as one string: lists are put together, others have one. 22023 for several.
    pub fn value_of(&self, name: &str, values: &[SetValue]) -> Result<String, SqlError> {
        let list = match table::find(&lower(name)) {
            Some(KnownSetting { kind: SettingKind::Text(kind), .. }) => kind.list(),
            Some(_) | None => None,
        };
        let texts: Vec<Cow<'_, str>> = values
            .iter()
            .map(|value| match (list, value) {
                (Some(ListKind::Identifiers), SetValue::Text(text)) => Cow::Owned(quote_identifier(text)),
                (Some(ListKind::Identifiers | ListKind::Words) | None, value) => Cow::Borrowed(value.text()),
            })
            .collect();
        match texts.as_slice() {
            [one] => Ok(one.to_string()),
            several if list.is_some() => Ok(several.join(", ")),
            _ => Err(SqlError::new("22023", format!("SET {name} takes only one argument"))),
        }
    }

    /// SET and SET LOCAL; `None` is DEFAULT, which is RESET too. Undone by `end_transaction`.
    pub fn set(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<(), SqlError> {
        refuse_of_definers(name)?;
        if let Some(shared) = self.server.as_ref().and_then(|server| server.shared(&lower(name))) {
            if local {
                return Err(SqlError::unsupported(format!("SET LOCAL {name}"))
                    .hint("It is set for all sessions, at once and until the server stops: use SET."));
            }
            let kept = match value {
                Some(value) => self.checked_by_name(name, value)?.parse::<usize>().ok(),
                None => None,
            };
            shared.set(kept);
            return Ok(());
        }
        if table::find(&lower(name)).is_some_and(|known| known.context.is_of_start()) {
            return Err(SqlError::new("55P02", format!("parameter \"{name}\" cannot be set after connection start")));
        }
        let value = match value {
            Some(value) => Some(self.checked_by_name(name, value)?),
            None => {
                if let Some(known) = find(name)? {
                    refuse_fixed(known, name)?;
                }
                None
            }
        };
        let name = lower(name).into_owned();
        if table::find(&name).is_none() {
            self.named.insert(name.clone());
        }
        self.keep_for_savepoints();
        let before = self.current.get(&name).cloned();
        let saved = self.saved.entry(name.clone()).or_insert_with(|| Saved { committed: before.clone(), before });
        if !local {
            saved.committed.clone_from(&value);
        }
        self.put(name, value);
        Ok(())
    }

    /// A value as it is kept, or why it cannot be.
    fn checked_by_name(&self, name: &str, value: &str) -> Result<String, SqlError> {
        match find(name)? {
            Some(known) => {
                refuse_fixed(known, name)?;
                self.checked(known, name, value)
            }
            // As in PostgreSQL, a name with a dot is a setting of the client's own.
            None => Ok(value.to_string()),
        }
    }

    fn checked(&self, known: &'static KnownSetting, name: &str, value: &str) -> Result<String, SqlError> {
        let kept = match known.kind {
            SettingKind::Text(kind) => text::checked(kind, known, value, self)?,
            SettingKind::Bool | SettingKind::Integer(..) | SettingKind::Real(..) | SettingKind::OneOf(_) => {
                value::checked(known, name, value)?
            }
        };
        let is_supported = match known.supported {
            Supported::All => true,
            Supported::Default => kept == known.default,
        };
        if is_supported {
            return Ok(kept);
        }
        Err(SqlError::unsupported(format!("SET {} = {kept}", known.shown))
            .hint(format!("Leave it at {}.", known.default)))
    }

    /// RESET ALL, DISCARD ALL: everything as the session started.
    pub fn reset_all(&mut self) {
        self.keep_for_savepoints();
        self.version.grow();
        let is_kept = |name: &str| table::find(name).is_some_and(|known| known.is_hidden);
        let (kept, current) = std::mem::take(&mut self.current).into_iter().partition(|(name, _)| is_kept(name));
        self.current = kept;
        for (name, value) in BTreeMap::<String, String>::into_iter(current) {
            let saved = self.saved.entry(name).or_insert_with(|| Saved { before: Some(value), committed: None });
            saved.committed = None;
        }
        self.saved.iter_mut().filter(|(name, _)| !is_kept(name)).for_each(|(_, saved)| saved.committed = None);
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
            self.version.grow();
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
        self.version.grow();
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

/// What is settings of ours: no client may name its own like that.
const OWN_PREFIX: &str = "dogwood.";

/// The known setting of this name; none for one of the client's own, whose name has a dot. 42704 for any other, 42602 for what is
/// no name of a setting.
fn find(name: &str) -> Result<Option<&'static KnownSetting>, SqlError> {
    let lower = lower(name);
    match table::find(&lower) {
        Some(known) => Ok(Some(known)),
        None if !lower.contains('.') || lower.starts_with(OWN_PREFIX) => Err(unrecognized(name)),
        None if name.split('.').all(is_simple_identifier) => Ok(None),
        None => Err(SqlError::new("42602", format!("invalid configuration parameter name \"{name}\""))
            .detail("Custom parameter names must be two or more simple identifiers separated by dots.")),
    }
}

fn is_simple_identifier(name: &str) -> bool {
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    name.starts_with(begins) && name.chars().all(|c| begins(c) || c.is_ascii_digit() || c == '$')
}

fn unrecognized(name: &str) -> SqlError {
    SqlError::new("42704", format!("unrecognized configuration parameter \"{name}\""))
}

fn refuse_fixed(known: &KnownSetting, name: &str) -> Result<(), SqlError> {
    let refused = |refusal: &str| Err(SqlError::new("55P02", format!("parameter \"{name}\" {refusal}")));
    known.context.refusal().map_or(Ok(()), refused)
}

/// Whether there is a setting of that name, in lower case.
pub fn is_known(lower: &str) -> bool {
    table::find(lower).is_some()
}

/// As PostgreSQL spells a setting's name, where it is known.
pub fn spelled(name: &str) -> &str {
    table::find(&lower(name)).map_or(name, |known| known.shown)
}

#[cfg(test)]
mod tests;
