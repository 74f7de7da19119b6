//! Functions and operators of citext, which ignore case; they are PostgreSQL's, defined by those of text.
//!
//! Comparisons are in `compare`: they ask the values themselves.

use super::arguments::{int4, text, truth, vector};
use super::pattern::like::ilike;
use super::pattern::{all_groups, options, regexp_match, replaced, split_pieces};
use super::text::{lowered, position, translate, uppered};
use super::{FunctionDefinition, strict};
use crate::scalar::Answer;
use repr::{Datum, ValueError};

/// The flags that ignore case, unless they say otherwise.
fn flags(given: Option<&Datum>) -> Result<String, ValueError> {
    let given = given.map_or(Ok(""), text)?;
    Ok(if given.contains('c') { given.to_owned() } else { format!("{given}i") })
}

/// Two texts, and the flags behind them.
fn insensitive(args: &[Datum]) -> Result<[Datum; 3], ValueError> {
    Ok([args[0].clone(), args[1].clone(), Datum::text(flags(args.get(2))?)])
}

/// The groups of the first match, or of each.
pub(crate) fn matches(args: &[Datum]) -> Result<Vec<Datum>, ValueError> {
    all_groups(text(&args[0])?, text(&args[1])?, options(&flags(args.get(2))?)?)
}

/// What stands between matches.
pub(crate) fn split(args: &[Datum]) -> Result<Vec<Datum>, ValueError> {
    split_pieces(&insensitive(args)?)
}

fn matched(args: &[Datum], wanted: bool) -> Answer {
    truth(matches(args)?.is_empty() != wanted)
}

fn like(args: &[Datum], wanted: bool) -> Answer {
    truth(ilike(text(&args[0])?, text(&args[1])?)? == wanted)
}

/// A regular expression of what is no more than a text.
fn literally(searched: &Datum) -> Result<String, ValueError> {
    let mut pattern = String::new();
    for letter in text(searched)?.chars() {
        if !(letter.is_ascii_alphanumeric() || letter == '_') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    Ok(pattern)
}

fn replace(args: &[Datum]) -> Answer {
    replaced(text(&args[0])?, &literally(&args[1])?, text(&args[2])?, "gi")
}

/// Counted from the start; NULL where there is no such part.
fn split_part(args: &[Datum]) -> Answer {
    let pieces = split(&[args[0].clone(), Datum::text(literally(&args[1])?)])?;
    let place = usize::try_from(int4(&args[2])?).ok().and_then(|place| place.checked_sub(1));
    Ok(place.and_then(|place| pieces.into_iter().nth(place)).unwrap_or(Datum::Null))
}

fn translated(args: &[Datum]) -> Answer {
    let (from, to) = (text(&args[1])?, text(&args[2])?);
    let lower = translate(text(&args[0])?, &lowered(from), to)?;
    translate(text(&lower)?, &uppered(from), to)
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("regexp_match(citext, citext, text?) text[]", |_, a, _| regexp_match(&insensitive(a)?)),
    strict("regexp_replace(citext, citext, text, text?) text", |_, a, _| {
        replaced(text(&a[0])?, text(&a[1])?, text(&a[2])?, &flags(a.get(3))?)
    }),
    strict("regexp_split_to_array(citext, citext, text?) text[]", |_, a, _| vector(split(a)?)),
    strict("strpos(citext, citext) int4", |_, a, _| position(&lowered(text(&a[0])?), &lowered(text(&a[1])?))),
    strict("replace(citext, citext, citext) text", |_, a, _| replace(a)),
    strict("split_part(citext, citext, int4) text", |_, a, _| split_part(a)),
    strict("translate(citext, citext, text) text", |_, a, _| translated(a)),
];

pub(crate) const OPERATORS: &[FunctionDefinition] = &[
    strict("~~(citext, citext) bool", |_, a, _| like(a, true)),
    strict("~~(citext, text) bool", |_, a, _| like(a, true)),
    strict("~~*(citext, citext) bool", |_, a, _| like(a, true)),
    strict("~~*(citext, text) bool", |_, a, _| like(a, true)),
    strict("!~~(citext, citext) bool", |_, a, _| like(a, false)),
    strict("!~~(citext, text) bool", |_, a, _| like(a, false)),
    strict("!~~*(citext, citext) bool", |_, a, _| like(a, false)),
    strict("!~~*(citext, text) bool", |_, a, _| like(a, false)),
    strict("~(citext, citext) bool", |_, a, _| matched(a, true)),
    strict("~(citext, text) bool", |_, a, _| matched(a, true)),
    strict("~*(citext, citext) bool", |_, a, _| matched(a, true)),
    strict("~*(citext, text) bool", |_, a, _| matched(a, true)),
    strict("!~(citext, citext) bool", |_, a, _| matched(a, false)),
    strict("!~(citext, text) bool", |_, a, _| matched(a, false)),
    strict("!~*(citext, citext) bool", |_, a, _| matched(a, false)),
    strict("!~*(citext, text) bool", |_, a, _| matched(a, false)),
];
