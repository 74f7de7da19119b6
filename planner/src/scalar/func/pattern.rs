//! Patterns: LIKE and ILIKE, SIMILAR TO, POSIX regular expressions and the regexp_* functions.

pub(crate) mod like;
pub(crate) mod regular;

use super::arguments::{int4, string, text, truth, vector};
use super::{Definition, lenient, strict};
use regular::{Options, compile};
use repr::{Datum, ValueError};

type Answer = Result<Datum, ValueError>;

fn flags(args: &[Datum], place: usize) -> Result<Options, ValueError> {
    args.get(place).map_or(Ok(Options::default()), |flags| Options::parse(text(flags)?))
}

fn matches(args: &[Datum], insensitive: bool) -> Result<bool, ValueError> {
    let options = Options { insensitive, ..Options::default() };
    Ok(compile(text(&args[1])?, options)?.is_match(text(&args[0])?))
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

/// The groups of one match, or all of it if it has none.
pub(crate) fn groups(found: &regex::Captures<'_>) -> Datum {
    let group = |group: Option<regex::Match<'_>>| group.map_or(Datum::Null, |group| Datum::text(group.as_str()));
    let groups = if found.len() == 1 { vec![group(found.get(0))] } else { found.iter().skip(1).map(group).collect() };
    Datum::Array(std::sync::Arc::new(repr::Array::vector(groups)))
}

fn regexp_match(args: &[Datum]) -> Answer {
    let options = no_global(flags(args, 2)?, "regexp_match()", Some("regexp_matches"))?;
    let regex = compile(text(&args[1])?, options)?;
    Ok(regex.captures(text(&args[0])?).map_or(Datum::Null, |found| groups(&found)))
}

fn regexp_replace(args: &[Datum], start: i32, nth: i32, options: Options) -> Answer {
    let (source, template) = (text(&args[0])?, text(&args[2])?);
    let regex = compile(text(&args[1])?, options)?;
    let (mut result, mut copied) = (String::with_capacity(source.len()), 0);
    let from = byte_offset(source, positive(start, "start")?);
    let mut seen = 0;
    for found in regex.captures_iter(source) {
        let whole = found.get(0).expect("group 0 always takes part");
        if whole.start() < from {
            continue;
        }
        seen += 1;
        if nth != 0 && seen < nth {
            continue;
        }
        result.push_str(&source[copied..whole.start()]);
        expand(template, &found, &mut result);
        copied = whole.end();
        if nth != 0 {
            break;
        }
    }
    result.push_str(&source[copied..]);
    string(result)
}

/// `\1` … `\9` are groups, `\&` is the whole match, `\\` a backslash.
fn expand(template: &str, found: &regex::Captures<'_>, result: &mut String) {
    let mut characters = template.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            result.push(character);
            continue;
        }
        match characters.next() {
            Some('&') => result.push_str(&found[0]),
            Some('\\') => result.push('\\'),
            Some(digit @ '1'..='9') => {
                let group = digit.to_digit(10).map_or(0, |digit| digit as usize);
                result.push_str(found.get(group).map_or("", |group| group.as_str()));
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

fn byte_offset(source: &str, start: usize) -> usize {
    source
        .char_indices()
        .nth(start - 1)
        .map_or(source.len() + usize::from(source.chars().count() < start - 1), |at| at.0)
}

/// Pieces between matches; an empty match at the ends or after a match splits nothing.
pub(crate) fn split_pieces(args: &[Datum]) -> Result<Vec<Datum>, ValueError> {
    let options = no_global(flags(args, 2)?, "regexp_split_to_array()", None)?;
    let source = text(&args[0])?;
    let regex = compile(text(&args[1])?, options)?;
    let (mut pieces, mut from, mut last_end) = (Vec::new(), 0, 0);
    for found in regex.find_iter(source) {
        if found.is_empty() && (found.start() == last_end && found.start() == from && from != 0 || found.start() == 0) {
            continue;
        }
        if found.is_empty() && found.start() == source.len() {
            continue;
        }
        pieces.push(Datum::text(&source[from..found.start()]));
        from = found.end();
        last_end = found.end();
    }
    pieces.push(Datum::text(&source[from..]));
    Ok(pieces)
}

fn substring_matching(source: &str, pattern: &str, options: Options) -> Answer {
    let regex = compile(pattern, options)?;
    let Some(found) = regex.captures(source) else { return Ok(Datum::Null) };
    let group = if found.len() > 1 { found.get(1) } else { found.get(0) };
    Ok(group.map_or(Datum::Null, |group| Datum::text(group.as_str())))
}

fn count_matches(args: &[Datum]) -> Answer {
    let start = args.get(2).map_or(Ok(1), int4)?;
    let options = no_global(flags(args, 3)?, "regexp_count()", None)?;
    let source = text(&args[0])?;
    let from = byte_offset(source, positive(start, "start")?);
    let count = compile(text(&args[1])?, options)?.find_iter(source).filter(|found| found.start() >= from).count();
    Ok(Datum::Int4(i32::try_from(count).unwrap_or(i32::MAX)))
}

/// The n-th match from a position on, and a group of it.
fn nth_match<'a>(args: &'a [Datum], options: Options, group: i32) -> Result<Option<regex::Match<'a>>, ValueError> {
    let source = text(&args[0])?;
    let from = byte_offset(source, positive(args.get(2).map_or(Ok(1), int4)?, "start")?);
    let nth = positive(args.get(3).map_or(Ok(1), int4)?, "n")?;
    let group = usize::try_from(group)
        .map_err(|_| ValueError::new("22023", format!("invalid value for parameter \"subexpr\": {group}")))?;
    let regex = compile(text(&args[1])?, options)?;
    let mut found = regex.captures_iter(source).filter(|found| found.get(0).is_some_and(|all| all.start() >= from));
    Ok(found.nth(nth - 1).and_then(|found| found.get(group)))
}

fn regexp_instr(args: &[Datum]) -> Answer {
    let end = match args.get(4).map_or(Ok(0), int4)? {
        0 => false,
        1 => true,
        other => return Err(ValueError::new("22023", format!("invalid value for parameter \"endoption\": {other}"))),
    };
    let options = no_global(flags(args, 5)?, "regexp_instr()", None)?;
    let group = args.get(6).map_or(Ok(0), int4)?;
    let source = text(&args[0])?;
    let place = nth_match(args, options, group)?.map_or(0, |found| {
        let at = if end { found.end() } else { found.start() };
        source[..at].chars().count() + 1
    });
    Ok(Datum::Int4(i32::try_from(place).unwrap_or(i32::MAX)))
}

fn regexp_substr(args: &[Datum]) -> Answer {
    let options = no_global(flags(args, 4)?, "regexp_substr()", None)?;
    let group = args.get(5).map_or(Ok(0), int4)?;
    Ok(nth_match(args, options, group)?.map_or(Datum::Null, |found| Datum::text(found.as_str())))
}

pub(crate) const FUNCTIONS: &[Definition] = &[
    strict("like(text, text) bool", |_, a, _| truth(like::like(text(&a[0])?, text(&a[1])?)?)),
    strict("notlike(text, text) bool", |_, a, _| truth(!like::like(text(&a[0])?, text(&a[1])?)?)),
    strict("like_escape(text, text) text", |_, a, _| string(like::with_escape(text(&a[0])?, text(&a[1])?)?)),
    lenient("similar_to_escape(text, text?) text", |_, a, _| like::similar_to_regular(a)),
    strict("regexp_match(text, text, text?) text[]", |_, a, _| regexp_match(a)),
    strict("regexp_like(text, text, text?) bool", |_, a, _| {
        let options = no_global(flags(a, 2)?, "regexp_like()", None)?;
        truth(compile(text(&a[1])?, options)?.is_match(text(&a[0])?))
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

pub(crate) const OPERATORS: &[Definition] = &[
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
