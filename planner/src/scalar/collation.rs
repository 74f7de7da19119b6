//! The collations that there are, and how each orders text.
//!
//! ```text
//! a < b COLLATE "sv-x-icu"          ─▶  COLLATION KEY(a) < COLLATION KEY(b)
//! ORDER BY name COLLATE "sv-x-icu"  ─▶  COLLATION KEY(name)
//! max(name COLLATE "sv-x-icu")      ─▶  COLLATED TEXT(max(COLLATION KEY(name)))
//!
//! weights  0  text  its length (4)          a key: texts whose weights are equal stand by their bytes, as in PostgreSQL
//! ```
//! So nothing below `resolve` knows of collations: keys are bytea. The weights are CLDR's, by `icu_collator`.

use crate::scalar::func::quote_identifier;
use crate::system::builtin;
use icu_collator::options::CollatorOptions;
use icu_collator::{Collator, CollatorBorrowed};
use icu_locale_core::Locale;
use repr::{Collation, Id, ValueError, poll};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Those of names like PostgreSQL's of the operating system (`sv_SE`) have OIDs from here on, two each.
const OPERATING_SYSTEM: Id = 14_000;

/// What is known of a collation.
pub(crate) struct Known {
    /// Its name.
    pub(crate) name: String,
    /// Whose rules it has.
    pub(crate) provider: Provider,
    /// `pg_collation.collversion`.
    pub(crate) version: Option<&'static str>,
}

/// Whose rules a collation has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    /// The database's.
    Database,
    /// The order of code points.
    CodePoints,
    /// CLDR's for a locale, under a name as PostgreSQL gives those of ICU.
    Icu(&'static str),
    /// The same, under a name as operating systems have it.
    OperatingSystem(&'static str),
}

impl Provider {
    /// `pg_collation.collprovider`.
    pub(crate) fn letter(self) -> &'static str {
        match self {
            Provider::Database => "d",
            Provider::CodePoints | Provider::OperatingSystem(_) => "c",
            Provider::Icu(_) => "i",
        }
    }

    fn locale(self) -> Option<&'static str> {
        match self {
            Provider::Database | Provider::CodePoints => None,
            Provider::Icu(locale) | Provider::OperatingSystem(locale) => Some(locale),
        }
    }
}

static KNOWN: LazyLock<BTreeMap<Collation, Known>> = LazyLock::new(|| {
    let own = |id, name: &str, provider| (Collation(id), Known { name: name.to_owned(), provider, version: None });
    let mut known = BTreeMap::from([
        own(Collation::DEFAULT.0, "default", Provider::Database),
        own(Collation::C.0, "C", Provider::CodePoints),
        own(Collation::POSIX.0, "POSIX", Provider::CodePoints),
        own(12_340, "ucs_basic", Provider::CodePoints),
        own(12_341, "C.utf8", Provider::CodePoints),
    ]);
    let mut next = OPERATING_SYSTEM;
    for row in builtin::listed("pg_collation") {
        let locale = row.text("colliculocale");
        let (name, provider) = (row.text("collname").to_owned(), Provider::Icu(locale));
        known.insert(Collation(row.id("oid")), Known { name, provider, version: row.get("collversion") });
        let Some((language, territory)) = locale.split_once('-').filter(|(_, territory)| territory.len() == 2) else {
            continue;
        };
        for suffix in ["", ".utf8"] {
            let name = format!("{language}_{territory}{suffix}");
            let provider = Provider::OperatingSystem(locale);
            known.insert(Collation(next), Known { name, provider, version: None });
            next += 1;
        }
    }
    known
});

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = (Collation, &'static Known)> {
    KNOWN.iter().map(|(collation, known)| (*collation, known))
}

/// The collation of that name. What operating systems call `UTF-8` is `utf8`.
pub(crate) fn named(name: &str) -> Option<Collation> {
    static NAMES: LazyLock<BTreeMap<&'static str, Collation>> =
        LazyLock::new(|| all().map(|(collation, known)| (known.name.as_str(), collation)).collect());
    let written = name.strip_suffix(".UTF-8").map(|before| format!("{before}.utf8"));
    NAMES.get(written.as_deref().unwrap_or(name)).copied()
}

/// What a collation is called.
pub(crate) fn name(collation: Collation) -> Option<&'static str> {
    KNOWN.get(&collation).map(|known| known.name.as_str())
}

/// The same as SQL has it.
pub(crate) fn quoted(collation: Collation) -> String {
    quote_identifier(name(collation).unwrap_or_default())
}

/// Whether it orders by anything but code points.
pub(crate) fn has_keys(collation: Collation) -> bool {
    KNOWN.get(&collation).is_some_and(|known| known.provider.locale().is_some())
}

/// A key whose bytes stand where the text stands. A text is weighed in one go, however long: it is as fast as copying is.
///
/// # Errors
/// If there is no room for it.
pub(crate) fn key(collation: Collation, text: &str) -> Result<Vec<u8>, ValueError> {
    // Weights of a character are a few bytes.
    poll::room(text.len() * 4)?;
    poll::bytes(text.len())?;
    let mut key = Vec::with_capacity(text.len() * 4 + 8);
    with_collator(collation, |collator| {
        // Writing to memory does not fail.
        let Ok(()) = collator.write_sort_key_to(text, &mut key);
    });
    key.push(0);
    key.extend_from_slice(text.as_bytes());
    // No text is larger: see `VALUE_BYTES_MAX`.
    key.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
    Ok(key)
}

/// The text that a key was made of.
pub(crate) fn text_of(key: &[u8]) -> Option<&str> {
    let (before, length) = key.split_last_chunk::<4>()?;
    let start = before.len().checked_sub(u32::from_be_bytes(*length) as usize)?;
    std::str::from_utf8(&before[start..]).ok()
}

fn with_collator(collation: Collation, mut weigh: impl FnMut(&CollatorBorrowed<'static>)) {
    thread_local! {
        static COLLATORS: RefCell<BTreeMap<Collation, CollatorBorrowed<'static>>> = const { RefCell::new(BTreeMap::new()) };
    }
    COLLATORS.with_borrow_mut(|collators| weigh(collators.entry(collation).or_insert_with(|| collator(collation))));
}

/// Locales that have no rules of their own have the root's.
fn collator(collation: Collation) -> CollatorBorrowed<'static> {
    let locale = KNOWN.get(&collation).and_then(|known| known.provider.locale()).unwrap_or("und");
    let locale: Locale = locale.parse().unwrap_or(Locale::UNKNOWN);
    Collator::try_new((&locale).into(), CollatorOptions::default())
        .expect("the data is compiled in, and a locale without rules falls back to the root")
}
