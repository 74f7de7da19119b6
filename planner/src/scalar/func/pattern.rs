//! Patterns: LIKE and ILIKE, SIMILAR TO, POSIX regular expressions and the regexp_* functions.

pub(crate) mod like;
pub(crate) mod regular;

use super::arguments::{bytea, int4, string, text, truth, vector};
use super::{FunctionDefinition, lenient, strict};
use crate::scalar::Answer;
use regular::{Options, Regular, Text, TextMatch, compile};
use repr::{Datum, ValueError, poll};
use std::rc::Rc;

fn flags(args: &[Datum], place: usize) -> Result<Options, ValueError> {
    args.get(place).map_or(Ok(Options::default()), |flags| Options::parse(text(flags)?))
}

fn matches(args: &[Datum], insensitive: bool) -> Result<bool, ValueError> {
    compile(text(&args[1])?, Options::case(insensitive))?.is_match(text(&args[0])?)
}

/// The options that a text of flags means.
pub(crate) fn options(flags: &str) -> Result<Options, ValueError> {
    Options::parse(flags)
}

/// bpchar against a pattern: blanks count.
fn padded(arg: &Datum) -> &str {
    arg.as_str().unwrap_or_default()
}

fn no_global(options: Options, function: &str, instead: Option<&str>) -> Result<Options, ValueError> {
    if options.global {
        return Err(ValueError {
            hint: instead.map(|instead| format!("Use the {instead} function instead.")),
            ..ValueError::new("22023", format!("{function} does not support the \"global\" option"))
        });
    }
    Ok(options)
}

/// Matches in a text, one after the other; one that is empty may stand right behind another.
struct Matches<'a> {
    regular: Rc<Regular>,
    text: Text<'a>,
    from: usize,
}

impl<'a> Matches<'a> {
    /// Those that begin at the character with this number, from one on, or behind it.
    fn new(source: &'a str, pattern: &str, options: Options, start: usize) -> Result<Matches<'a>, ValueError> {
        Ok(Matches { regular: compile(pattern, options)?, text: Text::new(source), from: start - 1 })
    }

    fn next(&mut self) -> Result<Option<TextMatch>, ValueError> {
        let found = self.regular.find(&self.text, self.from)?;
        if let Some(found) = &found {
            self.from = found.next();
        }
        Ok(found)
    }

    /// The groups of a match, or all of it if nothing captures.
    fn groups(&self, found: &TextMatch) -> Datum {
        let shown =
            |at: Option<(usize, usize)>| at.map_or(Datum::Null, |(from, to)| Datum::text(self.text.slice(from, to)));
        let groups = if found.groups.is_empty() {
            vec![shown(Some((found.begin, found.end)))]
        } else {
            found.groups.iter().map(|group| shown(*group)).collect()
        };
        Datum::Array(std::sync::Arc::new(repr::Array::vector(groups)))
    }
}

/// The groups of the first match, or of each.
pub(crate) fn all_groups(source: &str, pattern: &str, options: Options) -> Result<Vec<Datum>, ValueError> {
    let mut matches = Matches::new(source, pattern, options, 1)?;
    let mut all = Vec::new();
    while let Some(found) = matches.next()? {
        all.push(matches.groups(&found));
        if !options.global {
            break;
        }
    }
    Ok(all)
}

pub(super) fn regexp_match(args: &[Datum]) -> Answer {
    let options = no_global(flags(args, 2)?, "regexp_match()", Some("regexp_matches"))?;
    Ok(all_groups(text(&args[0])?, text(&args[1])?, options)?.pop().unwrap_or(Datum::Null))
}

fn regexp_replace(args: &[Datum], start: i32, nth: i32, options: Options) -> Answer {
    let (source, template) = (text(&args[0])?, text(&args[2])?);
    let mut matches = Matches::new(source, text(&args[1])?, options, positive(start, "start")?)?;
    let (mut result, mut copied, mut seen) = (String::with_capacity(source.len()), 0, 0);
    while let Some(found) = matches.next()? {
        seen += 1;
        if nth != 0 && seen < nth {
            continue;
        }
        result.push_str(matches.text.slice(copied, found.begin));
        expand(template, &found, &matches.text, &mut result);
        copied = found.end;
        poll::bytes(template.len())?;
        if result.len() > super::text::BYTES_MAX {
            return Err(super::text::too_long());
        }
        if nth != 0 {
            break;
        }
    }
    if copied == 0 && result.is_empty() {
        return string(source.to_owned());
    }
    result.push_str(matches.text.slice(copied, matches.text.length()));
    string(result)
}

/// `regexp_replace` with these flags.
pub(super) fn replaced(source: &str, pattern: &str, template: &str, flags: &str) -> Answer {
    let options = options(flags)?;
    let args = [source, pattern, template].map(Datum::text);
    regexp_replace(&args, 1, i32::from(!options.global), options)
}

/// `\1` … `\9` are groups, `\&` is the whole match, `\\` a backslash.
fn expand(template: &str, found: &TextMatch, text: &Text<'_>, result: &mut String) {
    let mut characters = template.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            result.push(character);
            continue;
        }
        match characters.next() {
            Some('&') => result.push_str(text.slice(found.begin, found.end)),
            Some('\\') => result.push('\\'),
            Some(digit @ '1'..='9') => {
                let group =
                    digit.to_digit(10).and_then(|digit| found.groups.get(digit as usize - 1)).copied().flatten();
                result.push_str(group.map_or("", |(from, to)| text.slice(from, to)));
            }
            Some(other) => result.extend(['\\', other]),
            None => result.push('\\'),
        }
    }
}

fn positive(value: i32, name: &str) -> Result<usize, ValueError> {
    usize::try_from(value)
        .ok()
        .filter(|value| *value > 0)
        .ok_or_else(|| ValueError::new("22023", format!("invalid value for parameter \"{name}\": {value}")))
}

/// Pieces between matches; an empty match at the ends or after a match splits nothing.
pub(crate) fn split_pieces(args: &[Datum]) -> Result<Vec<Datum>, ValueError> {
    let options = no_global(flags(args, 2)?, "regexp_split_to_array()", None)?;
    let mut matches = Matches::new(text(&args[0])?, text(&args[1])?, options, 1)?;
    let (mut pieces, mut from, mut last_end) = (Vec::new(), 0, 0);
    while let Some(found) = matches.next()? {
        if found.begin < matches.text.length() && found.end > last_end {
            pieces.push(Datum::text(matches.text.slice(from, found.begin)));
            from = found.end;
        }
        poll::step()?;
        last_end = found.end;
    }
    pieces.push(Datum::text(matches.text.slice(from, matches.text.length())));
    Ok(pieces)
}

fn substring_matching(source: &str, pattern: &str, options: Options) -> Answer {
    let mut matches = Matches::new(source, pattern, options, 1)?;
    let Some(found) = matches.next()? else { return Ok(Datum::Null) };
    let group = found.groups.first().copied().unwrap_or(Some((found.begin, found.end)));
    Ok(group.map_or(Datum::Null, |(from, to)| Datum::text(matches.text.slice(from, to))))
}

fn count_matches(args: &[Datum]) -> Answer {
    let start = args.get(2).map_or(Ok(1), int4)?;
    let options = no_global(flags(args, 3)?, "regexp_count()", None)?;
    let mut matches = Matches::new(text(&args[0])?, text(&args[1])?, options, positive(start, "start")?)?;
    let mut count = 0;
    while matches.next()?.is_some() {
        count += 1;
    }
    Ok(Datum::Int4(count))
}

/// The n-th match from a position on, or a group of it, and its text.
fn nth_match(args: &[Datum], options: Options, group: i32) -> Result<Option<TextPart<'_>>, ValueError> {
    let start = positive(args.get(2).map_or(Ok(1), int4)?, "start")?;
    let nth = positive(args.get(3).map_or(Ok(1), int4)?, "n")?;
    let group = usize::try_from(group)
        .map_err(|_| ValueError::new("22023", format!("invalid value for parameter \"subexpr\": {group}")))?;
    let mut matches = Matches::new(text(&args[0])?, text(&args[1])?, options, start)?;
    for _ in 1..nth {
        if matches.next()?.is_none() {
            return Ok(None);
        }
    }
    let Some(found) = matches.next()? else { return Ok(None) };
    // Where nothing captures, the whole match is the first group.
    let at = match group {
        0 => Some((found.begin, found.end)),
        1 if found.groups.is_empty() => Some((found.begin, found.end)),
        group => found.groups.get(group - 1).copied().flatten(),
    };
    Ok(at.map(|(begin, end)| TextPart { text: matches.text, begin, end }))
}

/// A part of a text, in characters.
struct TextPart<'a> {
    text: Text<'a>,
    begin: usize,
    end: usize,
}

fn regexp_instr(args: &[Datum]) -> Answer {
    let end = match args.get(4).map_or(Ok(0), int4)? {
        0 => false,
        1 => true,
        other => return Err(ValueError::new("22023", format!("invalid value for parameter \"endoption\": {other}"))),
    };
    let options = no_global(flags(args, 5)?, "regexp_instr()", None)?;
    let group = args.get(6).map_or(Ok(0), int4)?;
    let place = nth_match(args, options, group)?.map_or(0, |part| if end { part.end } else { part.begin } + 1);
    Ok(Datum::Int4(i32::try_from(place).unwrap_or(i32::MAX)))
}

fn regexp_substr(args: &[Datum]) -> Answer {
    let options = no_global(flags(args, 4)?, "regexp_substr()", None)?;
    let group = args.get(5).map_or(Ok(0), int4)?;
    Ok(nth_match(args, options, group)?.map_or(Datum::Null, |part| Datum::text(part.text.slice(part.begin, part.end))))
}

/// Each byte as the character of that number.
fn as_characters(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("like(text, text) bool", |_, a, _| truth(like::like(text(&a[0])?, text(&a[1])?)?)),
    strict("notlike(text, text) bool", |_, a, _| truth(!like::like(text(&a[0])?, text(&a[1])?)?)),
    strict("like_escape(bytea, bytea) bytea", |_, a, _| {
        let escaped = like::with_escape(&as_characters(bytea(&a[0])?), &as_characters(bytea(&a[1])?))?;
        Ok(Datum::Bytea(escaped.chars().map(|character| u32::from(character) as u8).collect()))
    }),
    strict("like_escape(text, text) text", |_, a, _| string(like::with_escape(text(&a[0])?, text(&a[1])?)?)),
    lenient("similar_to_escape(text, text?) text", |_, a, _| like::similar_to_regular(a)),
    strict("regexp_match(text, text, text?) text[]", |_, a, _| regexp_match(a)),
    strict("regexp_like(text, text, text?) bool", |_, a, _| {
        let options = no_global(flags(a, 2)?, "regexp_like()", None)?;
        truth(compile(text(&a[1])?, options)?.is_match(text(&a[0])?)?)
    }),
    strict("regexp_count(text, text, int4?, text?) int4", |_, a, _| count_matches(a)),
    strict("regexp_instr(text, text, int4?, int4?, int4?, text?, int4?) int4", |_, a, _| regexp_instr(a)),
    strict("regexp_substr(text, text, int4?, int4?, text?, int4?) text", |_, a, _| regexp_substr(a)),
    strict("regexp_replace(text, text, text) text", |_, a, _| regexp_replace(a, 1, 1, Options::default())),
    strict("regexp_replace(text, text, text, text) text", |_, a, _| {
        let options = flags(a, 3)?;
        regexp_replace(a, 1, i32::from(!options.global), options)
    }),
    strict("regexp_replace(text, text, text, int4, int4, text?) text", |_, a, _| {
        let nth = int4(&a[4])?;
        if nth < 0 {
            return Err(ValueError::new("22023", format!("invalid value for parameter \"n\": {nth}")));
        }
        regexp_replace(a, int4(&a[3])?, nth, flags(a, 5)?)
    }),
    strict("regexp_replace(text, text, text, int4) text", |_, a, _| {
        regexp_replace(a, int4(&a[3])?, 1, Options::default())
    }),
    strict("regexp_split_to_array(text, text, text?) text[]", |_, a, _| vector(split_pieces(a)?)),
    strict("substring(text, text) text", |_, a, _| substring_matching(text(&a[0])?, text(&a[1])?, Options::default())),
    strict("substring(text, text, text) text", |_, a, _| {
        let Datum::Text(pattern) = like::similar_to_regular(&a[1..])? else { return Ok(Datum::Null) };
        substring_matching(text(&a[0])?, &pattern, Options::default())
    }),
];

pub(crate) const OPERATORS: &[FunctionDefinition] = &[
    strict("~~(bytea, bytea) bool", |_, a, _| truth(like::like_bytes(bytea(&a[0])?, bytea(&a[1])?)?)),
    strict("!~~(bytea, bytea) bool", |_, a, _| truth(!like::like_bytes(bytea(&a[0])?, bytea(&a[1])?)?)),
    strict("~~(text, text) bool", |_, a, _| truth(like::like(text(&a[0])?, text(&a[1])?)?)),
    strict("!~~(text, text) bool", |_, a, _| truth(!like::like(text(&a[0])?, text(&a[1])?)?)),
    strict("~~*(text, text) bool", |_, a, _| truth(like::ilike(text(&a[0])?, text(&a[1])?)?)),
    strict("!~~*(text, text) bool", |_, a, _| truth(!like::ilike(text(&a[0])?, text(&a[1])?)?)),
    strict("~~(bpchar, text) bool", |_, a, _| truth(like::like(padded(&a[0]), text(&a[1])?)?)),
    strict("!~~(bpchar, text) bool", |_, a, _| truth(!like::like(padded(&a[0]), text(&a[1])?)?)),
    strict("~~*(bpchar, text) bool", |_, a, _| truth(like::ilike(padded(&a[0]), text(&a[1])?)?)),
    strict("!~~*(bpchar, text) bool", |_, a, _| truth(!like::ilike(padded(&a[0]), text(&a[1])?)?)),
    strict("~~(name, text) bool", |_, a, _| truth(like::like(text(&a[0])?, text(&a[1])?)?)),
    strict("!~~(name, text) bool", |_, a, _| truth(!like::like(text(&a[0])?, text(&a[1])?)?)),
    strict("~(text, text) bool", |_, a, _| truth(matches(a, false)?)),
    strict("!~(text, text) bool", |_, a, _| truth(!matches(a, false)?)),
    strict("~*(text, text) bool", |_, a, _| truth(matches(a, true)?)),
    strict("!~*(text, text) bool", |_, a, _| truth(!matches(a, true)?)),
    strict("~(name, text) bool", |_, a, _| truth(matches(a, false)?)),
    strict("!~(name, text) bool", |_, a, _| truth(!matches(a, false)?)),
    strict("~*(name, text) bool", |_, a, _| truth(matches(a, true)?)),
    strict("!~*(name, text) bool", |_, a, _| truth(!matches(a, true)?)),
];
