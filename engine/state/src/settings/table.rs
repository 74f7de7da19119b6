//! The settings that there are: what each takes, what it is at first, and what `pg_settings` says of it.
//!
//! The tables are `table::session` (what sessions see and do), `table::tuning` (what would tune PostgreSQL's planner and its
//! resources: taken, checked and shown, without an effect here) and `table::inert` (all the rest that PostgreSQL knows). What a value
//! must be like is checked in `value` and `text`.

mod inert;
mod session;
mod tuning;

use crate::settings::unit::Unit;
use std::cmp::Ordering;

/// One known setting.
#[derive(Debug)]
pub struct KnownSetting {
    /// As PostgreSQL spells it; it is found in any case.
    pub shown: &'static str,
    /// As values are kept.
    pub default: &'static str,
    /// What values it takes.
    pub kind: SettingKind,
    /// Where `pg_settings` has it.
    pub category: &'static str,
    /// What it is, in a sentence.
    pub description: &'static str,
    /// More about it.
    pub further: Option<&'static str>,
    /// When it may be set.
    pub context: Context,
    /// Which of its values have a meaning here.
    pub supported: Supported,
    /// Whether SHOW ALL and `pg_settings` leave it out, and RESET ALL leaves it as it is.
    pub is_hidden: bool,
}

/// When a setting may be set, in PostgreSQL's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// Never.
    Internal,
    /// When the server starts.
    Postmaster,
    /// When the server reads its configuration.
    Sighup,
    /// When a session starts.
    Backend,
    /// The same, by a superuser: whoever logs in may.
    SuperuserBackend,
    /// At any time, by a superuser: whoever is logged in may.
    Superuser,
    /// By whoever defines what roles and databases start with, and never by the session that it is about.
    Definer,
    /// At any time.
    User,
}

impl Context {
    /// As `pg_settings` names it.
    pub fn name(self) -> &'static str {
        match self {
            Context::Internal => "internal",
            Context::Postmaster => "postmaster",
            Context::Sighup => "sighup",
            Context::Backend => "backend",
            Context::SuperuserBackend => "superuser-backend",
            Context::Superuser | Context::Definer => "superuser",
            Context::User => "user",
        }
    }

    fn named(name: &str) -> Context {
        match name {
            "postmaster" => Context::Postmaster,
            "sighup" => Context::Sighup,
            "backend" => Context::Backend,
            "superuser-backend" => Context::SuperuserBackend,
            "superuser" => Context::Superuser,
            "user" => Context::User,
            _ => Context::Internal,
        }
    }

    /// Why no session may set it, not even when it starts.
    pub fn refusal(self) -> Option<&'static str> {
        match self {
            Context::Internal => Some("cannot be changed"),
            Context::Postmaster => Some("cannot be changed without restarting the server"),
            Context::Sighup => Some("cannot be changed now"),
            Context::Backend | Context::SuperuserBackend | Context::Superuser | Context::Definer | Context::User => {
                None
            }
        }
    }

    /// Whether it is decided when a session starts.
    pub fn is_of_start(self) -> bool {
        matches!(self, Context::Backend | Context::SuperuserBackend)
    }
}

/// Which of a setting's values have a meaning here; the others are understood and refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supported {
    /// All.
    All,
    /// The default alone.
    Default,
}

/// What values a setting takes.
#[derive(Clone, Copy, Debug)]
pub enum SettingKind {
    /// on, off and their spellings.
    Bool,
    /// A whole number within these bounds.
    Integer(Unit, i32, i32),
    /// A number within these bounds.
    Real(Unit, f64, f64),
    /// One of these words.
    OneOf(&'static Words),
    /// A string.
    Text(TextKind),
}

/// The words that a setting takes.
#[derive(Debug)]
pub struct Words {
    /// Those that its hint names.
    pub shown: &'static [&'static str],
    /// Others, and what they mean.
    pub others: &'static [(&'static str, &'static str)],
}

/// What a setting's string must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// Anything.
    Anything,
    /// A name in ASCII, cut to the length of names.
    Name,
    /// A time zone.
    Zone,
    /// A style of dates and an order of day, month and year.
    DateStyle,
    /// A client encoding.
    Encoding,
    /// A list of schemas.
    SearchPath,
    /// A locale.
    Locale,
    /// The one tablespace.
    Tablespace,
    /// A list of tablespaces.
    Tablespaces,
    /// The one access method.
    AccessMethod,
    /// A text search configuration.
    SearchConfiguration,
    /// The session's own role, or none.
    Role,
    /// The session's own user.
    SessionUser,
    /// What a purpose is called.
    Purpose,
}

impl TextKind {
    /// Whether SET takes several values, and whether it quotes each as an identifier.
    pub fn list(self) -> Option<ListKind> {
        match self {
            TextKind::SearchPath | TextKind::Tablespaces => Some(ListKind::Identifiers),
            TextKind::DateStyle => Some(ListKind::Words),
            TextKind::Anything
            | TextKind::Name
            | TextKind::Zone
            | TextKind::Encoding
            | TextKind::Locale
            | TextKind::Tablespace
            | TextKind::AccessMethod
            | TextKind::SearchConfiguration
            | TextKind::Role
            | TextKind::SessionUser
            | TextKind::Purpose => None,
        }
    }
}

/// How SET makes one string of several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// Quoted where they must be.
    Identifiers,
    /// As they are.
    Words,
}

impl KnownSetting {
    const fn new(
        shown: &'static str,
        default: &'static str,
        kind: SettingKind,
        about: (&'static str, &'static str),
    ) -> KnownSetting {
        let (category, description) = about;
        KnownSetting {
            shown,
            default,
            kind,
            category,
            description,
            further: None,
            context: Context::User,
            supported: Supported::All,
            is_hidden: false,
        }
    }

    const fn further(mut self, further: &'static str) -> KnownSetting {
        self.further = Some(further);
        self
    }

    const fn only_default(mut self) -> KnownSetting {
        self.supported = Supported::Default;
        self
    }

    const fn of_start(mut self) -> KnownSetting {
        self.context = Context::Backend;
        self
    }

    const fn of_definers(mut self) -> KnownSetting {
        self.context = Context::Definer;
        self
    }

    const fn hidden(mut self) -> KnownSetting {
        self.is_hidden = true;
        self
    }
}

const fn fixed(
    shown: &'static str,
    value: &'static str,
    kind: SettingKind,
    category: &'static str,
    about: &'static str,
) -> KnownSetting {
    let mut known = KnownSetting::new(shown, value, kind, (category, about));
    known.context = Context::Internal;
    known
}

const fn boolean(
    shown: &'static str,
    default: &'static str,
    category: &'static str,
    about: &'static str,
) -> KnownSetting {
    KnownSetting::new(shown, default, SettingKind::Bool, (category, about))
}

const fn integer(
    shown: &'static str,
    default: &'static str,
    unit: Unit,
    (low, high): (i32, i32),
    category: &'static str,
    about: &'static str,
) -> KnownSetting {
    KnownSetting::new(shown, default, SettingKind::Integer(unit, low, high), (category, about))
}

const fn real(
    shown: &'static str,
    default: &'static str,
    unit: Unit,
    (low, high): (f64, f64),
    category: &'static str,
    about: &'static str,
) -> KnownSetting {
    KnownSetting::new(shown, default, SettingKind::Real(unit, low, high), (category, about))
}

const fn one_of(
    shown: &'static str,
    default: &'static str,
    words: &'static Words,
    category: &'static str,
    about: &'static str,
) -> KnownSetting {
    KnownSetting::new(shown, default, SettingKind::OneOf(words), (category, about))
}

const fn text(
    shown: &'static str,
    default: &'static str,
    kind: TextKind,
    category: &'static str,
    about: &'static str,
) -> KnownSetting {
    KnownSetting::new(shown, default, SettingKind::Text(kind), (category, about))
}

/// Words of which none has another spelling.
const fn words(shown: &'static [&'static str]) -> Words {
    Words { shown, others: &[] }
}

/// Words of which two are on and off.
const fn words_with_switch(shown: &'static [&'static str]) -> Words {
    let others = &[("true", "on"), ("false", "off"), ("yes", "on"), ("no", "off"), ("1", "on"), ("0", "off")];
    Words { shown, others }
}

/// The tables, each sorted by name.
fn tables() -> [&'static [KnownSetting]; 3] {
    [session::KNOWN, tuning::KNOWN, &inert::KNOWN]
}

/// Whether a setting stands in a table of our own, where it may have an effect.
fn is_in_own_table(name: &str) -> bool {
    [session::KNOWN, tuning::KNOWN].into_iter().any(|table| find_in(table, name).is_some())
}

/// Names are compared as PostgreSQL compares them: ASCII letters in any case.
pub fn compare(left: &str, right: &str) -> Ordering {
    left.bytes().map(|byte| byte.to_ascii_lowercase()).cmp(right.bytes().map(|byte| byte.to_ascii_lowercase()))
}

/// The setting of this name, in any case.
pub fn find(name: &str) -> Option<&'static KnownSetting> {
    tables().into_iter().find_map(|table| find_in(table, name))
}

fn find_in(table: &'static [KnownSetting], name: &str) -> Option<&'static KnownSetting> {
    let place = table.binary_search_by(|known| compare(known.shown, name)).ok()?;
    Some(&table[place])
}

/// Every setting, by name.
pub fn all() -> Vec<&'static KnownSetting> {
    let mut all: Vec<&KnownSetting> = tables().into_iter().flatten().collect();
    all.sort_by(|left, right| compare(left.shown, right.shown));
    all
}

#[cfg(test)]
mod tests {
    use super::{SettingKind, all, compare, find, tables};
    use crate::settings::Settings;

    #[test]
    fn the_tables_are_sorted_and_their_defaults_are_valid() {
        for table in tables() {
            assert!(table.is_sorted_by(|left, right| compare(left.shown, right.shown).is_lt()));
        }
        let settings = Settings::default();
        for known in all() {
            assert!(find(known.shown).is_some_and(|found| std::ptr::eq(found, known)), "{}", known.shown);
            if known.context.refusal().is_none() && !known.is_hidden {
                assert_eq!(settings.checked(known, known.shown, known.default).expect(known.shown), known.default);
            }
            if let SettingKind::OneOf(words) = known.kind {
                assert!(words.others.iter().all(|(_, means)| words.shown.contains(means) || *means == "info"));
            }
        }
    }
}
