//! Configurations and dictionaries: which words are left out, and what the others become.
//!
//! Those that PostgreSQL's initdb makes and that are here have its OIDs.

use super::super::builtin_name;
use super::tokens::{TokenKind, folded};
use crate::scalar::EvalContext;
use repr::{Id, ValueError};
use rust_stemmers::{Algorithm, Stemmer};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// What makes lexemes of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dictionary {
    /// Lower case.
    Simple,
    /// Lower case, without the words that are everywhere, and without endings.
    EnglishStem,
}

/// What makes lexemes of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Configuration {
    Simple,
    English,
}

/// All of them.
pub(crate) const CONFIGURATIONS: [Configuration; 2] = [Configuration::Simple, Configuration::English];
pub(crate) const DICTIONARIES: [Dictionary; 2] = [Dictionary::Simple, Dictionary::EnglishStem];

/// What is longer is no word of any language.
const STEM_BYTES_MAX: usize = 1000;

static ENGLISH_STOPS: LazyLock<BTreeSet<&'static str>> =
    LazyLock::new(|| include_str!("english.stop").lines().collect());

impl Dictionary {
    pub(crate) fn oid(self) -> Id {
        match self {
            Dictionary::Simple => 3765,
            Dictionary::EnglishStem => 13163,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Dictionary::Simple => "simple",
            Dictionary::EnglishStem => "english_stem",
        }
    }

    /// The lexeme of a word; none if it is left out.
    pub(super) fn lexeme(self, word: &str) -> Option<String> {
        let lower = folded(word);
        if lower.is_empty() {
            return None;
        }
        match self {
            Dictionary::Simple => Some(lower),
            Dictionary::EnglishStem if word.len() > STEM_BYTES_MAX => Some(lower),
            Dictionary::EnglishStem if ENGLISH_STOPS.contains(lower.as_str()) => None,
            Dictionary::EnglishStem => Some(Stemmer::create(Algorithm::English).stem(&lower).into_owned()),
        }
    }

    pub(super) fn of(oid: Id) -> Result<Dictionary, ValueError> {
        DICTIONARIES
            .into_iter()
            .find(|dictionary| dictionary.oid() == oid)
            .ok_or_else(|| ValueError::new("XX000", format!("cache lookup failed for text search dictionary {oid}")))
    }
}

impl Configuration {
    pub(crate) fn oid(self) -> Id {
        match self {
            Configuration::Simple => 3748,
            Configuration::English => 13164,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Configuration::Simple => "simple",
            Configuration::English => "english",
        }
    }

    /// The dictionary of a kind of tokens; none if they are no words.
    pub(crate) fn dictionary(self, kind: TokenKind) -> Option<Dictionary> {
        use TokenKind as K;
        match kind {
            K::Blank | K::Tag | K::Protocol | K::Entity => None,
            K::AsciiWord | K::Word | K::WordPart | K::AsciiPart | K::AsciiHyphenated | K::Hyphenated => {
                Some(match self {
                    Configuration::Simple => Dictionary::Simple,
                    Configuration::English => Dictionary::EnglishStem,
                })
            }
            K::NumWord
            | K::Email
            | K::Url
            | K::Host
            | K::Scientific
            | K::Version
            | K::NumPart
            | K::NumHyphenated
            | K::UrlPath
            | K::File
            | K::Float
            | K::SignedInt
            | K::UnsignedInt => Some(Dictionary::Simple),
        }
    }

    pub(super) fn of(oid: Id) -> Result<Configuration, ValueError> {
        CONFIGURATIONS
            .into_iter()
            .find(|configuration| configuration.oid() == oid)
            .ok_or_else(|| ValueError::new("XX000", format!("cache lookup failed for text search configuration {oid}")))
    }

    /// The session's: `default_text_search_config`.
    pub(super) fn current(ctx: &EvalContext) -> Result<Configuration, ValueError> {
        let Some(name) = ctx.environment.setting("default_text_search_config") else {
            return Ok(Configuration::English);
        };
        let found = configuration_named(&name).and_then(|oid| Configuration::of(oid).ok());
        found.ok_or_else(|| ValueError::new("42704", format!("text search configuration \"{name}\" does not exist")))
    }
}

/// The OID of a configuration that is named as in SQL.
pub(crate) fn configuration_named(name: &str) -> Option<Id> {
    let name = builtin_name(name)?;
    CONFIGURATIONS.into_iter().find(|configuration| configuration.name() == name).map(Configuration::oid)
}

/// The OID of a dictionary that is named as in SQL.
pub(crate) fn dictionary_named(name: &str) -> Option<Id> {
    let name = builtin_name(name)?;
    DICTIONARIES.into_iter().find(|dictionary| dictionary.name() == name).map(Dictionary::oid)
}
