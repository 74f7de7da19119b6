//! What pg_trgm and unaccent have: how alike texts are by the groups of three characters that they are made of, and texts
//! without accents.
//!
//! ```text
//! 'two dogs'  ─▶  "  t" " tw" "two" "wo "   "  d" " do" "dog" "ogs" "gs "
//! ```
//! PostgreSQL keeps a hash of groups with other characters than ASCII's; here they are kept as they are.

use super::arguments::{string, text, truth};
use super::{FunctionDefinition, strict};
use crate::scalar::{Answer, EvalContext};
use repr::hash::HashMap;
use repr::{Datum, ValueError, poll};
use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

type Trigram = [char; 3];

/// The trigrams of a text's words, in order; of each whether a word begins or ends with it.
fn trigrams(text: &str) -> Result<Vec<(Trigram, bool, bool)>, ValueError> {
    poll::room(text.len() * 16)?;
    poll::bytes(text.len())?;
    let lower = text.to_lowercase();
    let mut found = Vec::with_capacity(text.len());
    for word in lower.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let padded: Vec<char> = "  ".chars().chain(word.chars()).chain([' ']).collect();
        let last = padded.len() - 3;
        found.extend(
            padded.windows(3).enumerate().map(|(at, three)| ([three[0], three[1], three[2]], at == 0, at == last)),
        );
    }
    Ok(found)
}

fn distinct(text: &str) -> Result<BTreeSet<Trigram>, ValueError> {
    Ok(trigrams(text)?.into_iter().map(|(trigram, ..)| trigram).collect())
}

/// How many are in both, by how many are in either.
fn share(both: usize, one: usize, other: usize) -> f32 {
    if one == 0 || other == 0 { 0.0 } else { both as f32 / (one + other - both) as f32 }
}

fn similarity(a: &[Datum]) -> Result<f32, ValueError> {
    let (one, other) = (distinct(text(&a[0])?)?, distinct(text(&a[1])?)?);
    Ok(share(one.intersection(&other).count(), one.len(), other.len()))
}

/// Where a part of the second text may begin and end that is compared with the first.
#[derive(Clone, Copy, PartialEq)]
enum Bounds {
    Anywhere,
    OfWords,
}

/// The greatest similarity of the first text's trigrams and those of any part of the second.
fn word_similarity(word: &Datum, within: &Datum, bounds: Bounds) -> Result<f32, ValueError> {
    let (wanted, given) = (distinct(text(word)?)?, trigrams(text(within)?)?);
    let mut best = 0.0_f32;
    let starts = given.iter().enumerate().filter(|(_, (trigram, begins, _))| match bounds {
        Bounds::Anywhere => wanted.contains(trigram),
        Bounds::OfWords => *begins,
    });
    for (start, _) in starts {
        let (mut seen, mut both) = (HashSet::new(), 0);
        for (trigram, _, ends) in &given[start..] {
            poll::step()?;
            let is_wanted = wanted.contains(trigram);
            if seen.insert(trigram) {
                both += usize::from(is_wanted);
            }
            // No longer part can be more alike: no more than all are in both.
            if share(wanted.len().min(seen.len()), wanted.len(), seen.len()) < best {
                break;
            }
            if if bounds == Bounds::OfWords { *ends } else { is_wanted } {
                best = best.max(share(both, wanted.len(), seen.len()));
            }
        }
    }
    Ok(best)
}

fn real(value: f32) -> Answer {
    Ok(Datum::Float4(value))
}

/// Whether it is no less than a setting, which is a number between 0 and 1 if it is one.
fn reaches(value: f32, ctx: &EvalContext, kind: &str, otherwise: f32) -> Answer {
    let setting = ctx.environment.setting(&format!("pg_trgm.{kind}_threshold"));
    truth(value >= setting.and_then(|text| text.trim().parse().ok()).unwrap_or(otherwise))
}

/// A text without accents, by PostgreSQL's rules.
fn unaccent(source: &str) -> Answer {
    static RULES: LazyLock<HashMap<char, &str>> = LazyLock::new(|| {
        let rule = |line: &'static str| {
            let (code, plain) = line.split_once('\t')?;
            Some((char::from_u32(u32::from_str_radix(code, 16).ok()?)?, plain))
        };
        include_str!("text/unaccent.tsv").lines().filter_map(rule).collect()
    });
    poll::bytes(source.len())?;
    let mut plain = String::with_capacity(source.len());
    for character in source.chars() {
        match RULES.get(&character) {
            Some(rule) => plain.push_str(rule),
            None => plain.push(character),
        }
    }
    string(plain)
}

const SIMILAR: (&str, f32) = ("similarity", 0.3);
const WORD_SIMILAR: (&str, f32) = ("word_similarity", 0.6);
const STRICTLY_SIMILAR: (&str, f32) = ("strict_word_similarity", 0.5);

pub(super) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("similarity(text, text) float4", |_, a, _| real(similarity(a)?)),
    strict("word_similarity(text, text) float4", |_, a, _| real(word_similarity(&a[0], &a[1], Bounds::Anywhere)?)),
    strict("strict_word_similarity(text, text) float4", |_, a, _| {
        real(word_similarity(&a[0], &a[1], Bounds::OfWords)?)
    }),
    strict("unaccent(text) text", |_, a, _| unaccent(text(&a[0])?)).stable(),
];

pub(super) const OPERATORS: &[FunctionDefinition] = &[
    strict("%(text, text) bool", |ctx, a, _| reaches(similarity(a)?, ctx, SIMILAR.0, SIMILAR.1)).stable(),
    strict("<->(text, text) float4", |_, a, _| real(1.0 - similarity(a)?)),
    strict("<%(text, text) bool", |ctx, a, _| {
        reaches(word_similarity(&a[0], &a[1], Bounds::Anywhere)?, ctx, WORD_SIMILAR.0, WORD_SIMILAR.1)
    })
    .stable(),
    strict("%>(text, text) bool", |ctx, a, _| {
        reaches(word_similarity(&a[1], &a[0], Bounds::Anywhere)?, ctx, WORD_SIMILAR.0, WORD_SIMILAR.1)
    })
    .stable(),
    strict("<<->(text, text) float4", |_, a, _| real(1.0 - word_similarity(&a[0], &a[1], Bounds::Anywhere)?)),
    strict("<->>(text, text) float4", |_, a, _| real(1.0 - word_similarity(&a[1], &a[0], Bounds::Anywhere)?)),
    strict("<<%(text, text) bool", |ctx, a, _| {
        reaches(word_similarity(&a[0], &a[1], Bounds::OfWords)?, ctx, STRICTLY_SIMILAR.0, STRICTLY_SIMILAR.1)
    })
    .stable(),
    strict("%>>(text, text) bool", |ctx, a, _| {
        reaches(word_similarity(&a[1], &a[0], Bounds::OfWords)?, ctx, STRICTLY_SIMILAR.0, STRICTLY_SIMILAR.1)
    })
    .stable(),
    strict("<<<->(text, text) float4", |_, a, _| real(1.0 - word_similarity(&a[0], &a[1], Bounds::OfWords)?)),
    strict("<->>>(text, text) float4", |_, a, _| real(1.0 - word_similarity(&a[1], &a[0], Bounds::OfWords)?)),
];
