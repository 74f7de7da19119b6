//! Every other setting of PostgreSQL 15: taken, checked and shown as PostgreSQL would, and of no effect here.
//!
//! The table is a file, `postgresql.tsv`, which is what PostgreSQL's `pg_settings` says of itself. How it was made stands in its first
//! lines. Values that would change what a statement gives are refused: they are listed here.

use crate::settings::table::{Context, KnownSetting, SettingKind, Supported, TextKind, Words, is_in_own_table};
use crate::settings::unit::Unit;
use std::sync::LazyLock;

const FILE: &str = include_str!("postgresql.tsv");

/// Settings of which another value than the default would change what statements give, or what is reported of a damaged folder.
const MEANINGFUL: [&str; 7] = [
    "exit_on_error",
    "gin_fuzzy_search_limit",
    "ignore_checksum_failure",
    "local_preload_libraries",
    "session_preload_libraries",
    "timezone_abbreviations",
    "zero_damaged_pages",
];

/// What the file has beyond the settings of our own tables, by name.
pub(super) static KNOWN: LazyLock<Vec<KnownSetting>> = LazyLock::new(|| {
    let lines = FILE.lines().filter(|line| !line.starts_with('#'));
    lines.map(setting).filter(|known| !is_in_own_table(known.shown)).collect()
});

fn setting(line: &'static str) -> KnownSetting {
    let fields: Vec<&'static str> = line.split('\t').collect();
    let [shown, unit, category, description, further, context, kind, low, high, words, default] = fields[..] else {
        panic!("a line of the table has eleven fields: {line}");
    };
    let unit = Unit::named(unit);
    let kind = match kind {
        "bool" => SettingKind::Bool,
        "integer" => SettingKind::Integer(unit, number(low), number(high)),
        "real" => SettingKind::Real(unit, number(low), number(high)),
        "enum" => SettingKind::OneOf(Box::leak(Box::new(choice(words)))),
        _ => SettingKind::Text(TextKind::Anything),
    };
    // PostgreSQL loads these abbreviations when it starts.
    let default = if shown == "timezone_abbreviations" { "Default" } else { default };
    let mut known = KnownSetting::new(shown, default, kind, (category, description));
    known.further = Some(further).filter(|further| !further.is_empty());
    known.context = Context::named(context);
    if MEANINGFUL.contains(&shown) {
        known.supported = Supported::Default;
    }
    known
}

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("the table's bounds are numbers")
}

/// Those of which some are on and off take a Boolean's other spellings, too.
fn choice(words: &'static str) -> Words {
    let shown: Vec<&'static str> = words.split(',').collect();
    let switch: &[(&str, &str)] = if shown.contains(&"on") && shown.contains(&"off") {
        &[("true", "on"), ("false", "off"), ("yes", "on"), ("no", "off"), ("1", "on"), ("0", "off")]
    } else {
        &[]
    };
    let debug: &[(&str, &str)] = if shown.contains(&"debug2") { &[("debug", "debug2")] } else { &[] };
    Words { shown: Vec::leak(shown), others: Vec::leak([switch, debug].concat()) }
}
