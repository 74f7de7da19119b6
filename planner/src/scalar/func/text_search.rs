//! Full text search: texts as documents and as queries, what queries find, ranks and headlines.
//!
//! What a document and a query are stands in `repr::text_search`; how texts become lexemes stands here.

pub(crate) mod configuration;
mod document;
mod headline;
mod json_headline;
mod question;
mod rank;
mod tokens;

use super::arguments::{array, int4, jsonb, oid, string, text, text_array, truth, vector};
use super::{FunctionDefinition, strict};
use crate::scalar::{Answer, EvalContext};
use configuration::{Configuration, Dictionary};
use document::{Members, Words};
use repr::text_search::query::{Form, parse::distance_out_of_range};
use repr::text_search::{Operator, weight_of};
use repr::{Datum, TsQuery, TsVector, ValueError};
use tokens::{TokenKind, Tokens};

fn ts_vector(arg: &Datum) -> Result<&TsVector, ValueError> {
    match arg {
        Datum::TsVector(vector) => Ok(vector),
        _ => Err(ValueError::new("XX000", "a tsvector is expected")),
    }
}

fn ts_query(arg: &Datum) -> Result<&TsQuery, ValueError> {
    match arg {
        Datum::TsQuery(query) => Ok(query),
        _ => Err(ValueError::new("XX000", "a tsquery is expected")),
    }
}

fn named(arg: &Datum) -> Result<Configuration, ValueError> {
    Configuration::of(oid(arg)?)
}

fn to_vector(configuration: Configuration, text: &str) -> Result<TsVector, ValueError> {
    Words::of(configuration, text)?.into_vector()
}

fn to_query(configuration: Configuration, arg: &Datum, form: Form, joined_by: Operator) -> Answer {
    Ok(Datum::TsQuery(question::query(configuration, text(arg)?, form, joined_by)?))
}

const NEXT: Operator = Operator::Phrase(1);

/// The document of a json or jsonb.
fn of_json(configuration: Configuration, arg: &Datum, members: Members) -> Answer {
    Ok(Datum::TsVector(match arg {
        Datum::Jsonb(value) => document::of_jsonb(configuration, value, members)?,
        other => document::of_json(configuration, text(other)?, members)?,
    }))
}

fn members(arg: &Datum) -> Result<Members, ValueError> {
    Members::parse(jsonb(arg)?)
}

fn matches(vector: &Datum, query: &Datum) -> Answer {
    truth(ts_query(query)?.matches(ts_vector(vector)?)?)
}

fn text_matches(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let document = to_vector(Configuration::current(ctx)?, text(&args[0])?)?;
    truth(ts_query(&args[1])?.matches(&document)?)
}

fn texts_match(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let configuration = Configuration::current(ctx)?;
    let query = question::query(configuration, text(&args[1])?, Form::Plain, Operator::And)?;
    truth(query.matches(&to_vector(configuration, text(&args[0])?)?)?)
}

fn joined(args: &[Datum], operator: Operator) -> Answer {
    Ok(Datum::TsQuery(ts_query(&args[0])?.joined(operator, ts_query(&args[1])?)?))
}

fn phrase(args: &[Datum]) -> Answer {
    let distance = args.get(2).map_or(Ok(1), int4)?;
    let distance = u16::try_from(distance).ok().filter(|distance| *distance <= 1 << 14);
    joined(args, Operator::Phrase(distance.ok_or_else(distance_out_of_range)?))
}

fn query_tree(query: &TsQuery) -> Answer {
    if query.is_empty() {
        return string("");
    }
    let mut shown = String::new();
    match query.positive()? {
        Some(positive) => positive.write_text(&mut shown),
        None => shown.push('T'),
    }
    string(shown)
}

fn weight(arg: &Datum) -> Result<u8, ValueError> {
    let letter = text(arg)?.chars().next().unwrap_or('\0');
    weight_of(letter).ok_or_else(|| ValueError::new("XX000", format!("unrecognized weight: {}", letter as u32)))
}

fn set_weight(args: &[Datum]) -> Answer {
    let weight = weight(&args[1])?;
    let only = args.get(2).map(lexemes).transpose()?;
    Ok(Datum::TsVector(ts_vector(&args[0])?.weighed(weight, only.as_deref())?))
}

/// A list of lexemes, ascending; NULLs are none of them.
fn lexemes(arg: &Datum) -> Result<Vec<&str>, ValueError> {
    let mut lexemes: Vec<&str> = text_array(arg)?.into_iter().flatten().collect();
    lexemes.sort_unstable();
    Ok(lexemes)
}

fn filter(args: &[Datum]) -> Answer {
    let mut weights = 0;
    for element in &array(&args[1])?.elements {
        if element.is_null() {
            return Err(ValueError::new("22004", "weight array may not contain nulls"));
        }
        let letter = text(element)?.chars().next().unwrap_or('\0');
        let weight =
            weight_of(letter).ok_or_else(|| ValueError::new("22023", format!("unrecognized weight: \"{letter}\"")))?;
        weights |= 1 << weight;
    }
    Ok(Datum::TsVector(ts_vector(&args[0])?.filtered(weights)?))
}

fn of_array(arg: &Datum) -> Answer {
    if array(arg)?.elements.iter().any(Datum::is_null) {
        return Err(ValueError::new("22004", "lexeme array may not contain nulls"));
    }
    let lexemes = lexemes(arg)?;
    if lexemes.contains(&"") {
        return Err(ValueError::new("2200F", "lexeme array may not contain empty strings"));
    }
    let lexemes = lexemes.into_iter().map(|lexeme| (lexeme.to_owned(), Vec::new())).collect();
    Ok(Datum::TsVector(TsVector::of_lexemes(lexemes)?))
}

/// Of `ts_rank` and `ts_rank_cd`: weights may stand before the others, a method behind them.
fn ranked(args: &[Datum], rank: fn(&rank::Weights, &TsVector, &TsQuery, i32) -> Result<f32, ValueError>) -> Answer {
    let (weights, args) = match args {
        [Datum::Array(weights), rest @ ..] => (rank::weights(Some(weights))?, rest),
        rest => (rank::weights(None)?, rest),
    };
    let method = args.get(2).map_or(Ok(0), int4)?;
    Ok(Datum::Float4(rank(&weights, ts_vector(&args[0])?, ts_query(&args[1])?, method)?))
}

fn headline(configuration: Configuration, args: &[Datum]) -> Answer {
    let options = args.get(2).map(text).transpose()?;
    string(headline::headline(configuration, text(&args[0])?, ts_query(&args[1])?, options)?)
}

/// The same of a document's strings.
fn headline_of_document(configuration: Configuration, args: &[Datum]) -> Answer {
    let (query, options) = (ts_query(&args[1])?, args.get(2).map(text).transpose()?);
    let shown = |text: &str| headline::headline(configuration, text, query, options);
    match &args[0] {
        Datum::Jsonb(value) => Ok(Datum::Jsonb(json_headline::of_jsonb(value, &shown)?)),
        json => {
            let mut out = String::new();
            json_headline::of_json(&mut out, text(json)?, &shown)?;
            string(out)
        }
    }
}

fn lexize(args: &[Datum]) -> Answer {
    let lexeme = Dictionary::of(oid(&args[0])?)?.lexeme(text(&args[1])?);
    vector(lexeme.into_iter().map(Datum::text).collect())
}

fn length_of(vector: &TsVector) -> Answer {
    Ok(Datum::Int4(i32::try_from(vector.len()).unwrap_or(i32::MAX)))
}

/// The lexemes of a document with their places and weights, as rows.
pub(crate) fn unnest(arg: &Datum) -> Result<Vec<Vec<Datum>>, ValueError> {
    ts_vector(arg)?
        .iter()
        .map(|(lexeme, positions)| {
            let list = |make: fn(repr::text_search::Position) -> Datum| {
                if positions.is_empty() {
                    Ok(Datum::Null)
                } else {
                    vector(positions.iter().copied().map(make).collect())
                }
            };
            Ok(vec![
                Datum::text(lexeme),
                list(|position| Datum::Int2(position.place() as i16))?,
                list(|position| Datum::text(["D", "C", "B", "A"][usize::from(position.weight())]))?,
            ])
        })
        .collect()
}

/// The kinds of tokens with their numbers.
pub(crate) fn token_kind_numbers() -> impl Iterator<Item = (i32, TokenKind)> {
    tokens::ALL_KINDS.into_iter().map(|kind| (kind as i32, kind))
}

/// The kinds of tokens, as rows.
pub(crate) fn token_kinds(parser: &Datum) -> Result<Vec<Vec<Datum>>, ValueError> {
    check_parser(parser)?;
    let row = |(index, (name, description)): (i32, &(&str, &str))| {
        vec![Datum::Int4(index), Datum::text(name), Datum::text(description)]
    };
    Ok((1..).zip(&tokens::KINDS).map(row).collect())
}

/// The tokens of a text, as rows.
pub(crate) fn parsed(args: &[Datum]) -> Result<Vec<Vec<Datum>>, ValueError> {
    check_parser(&args[0])?;
    let mut tokens = Tokens::of(text(&args[1])?);
    let mut rows = Vec::new();
    while let Some(token) = tokens.next()? {
        rows.push(vec![Datum::Int4(token.kind as i32), Datum::text(token.text)]);
    }
    Ok(rows)
}

/// There is one, by its name or its OID.
fn check_parser(parser: &Datum) -> Result<(), ValueError> {
    match parser {
        Datum::Oid(PARSER) => Ok(()),
        Datum::Oid(id) => Err(ValueError::new("XX000", format!("cache lookup failed for text search parser {id}"))),
        name if matches!(text(name)?, "default" | "pg_catalog.default") => Ok(()),
        name => Err(ValueError::new("42704", format!("text search parser \"{}\" does not exist", text(name)?))),
    }
}

/// The OID of PostgreSQL's default parser.
pub(crate) const PARSER: u32 = 3722;

pub(super) const OPERATORS: &[FunctionDefinition] = &[
    strict("@@(tsvector, tsquery) bool", |_, a, _| matches(&a[0], &a[1])),
    strict("@@(tsquery, tsvector) bool", |_, a, _| matches(&a[1], &a[0])),
    strict("@@(text, tsquery) bool", |ctx, a, _| text_matches(ctx, a)).stable(),
    strict("@@(text, text) bool", |ctx, a, _| texts_match(ctx, a)).stable(),
    strict("@@@(tsvector, tsquery) bool", |_, a, _| matches(&a[0], &a[1])),
    strict("@@@(tsquery, tsvector) bool", |_, a, _| matches(&a[1], &a[0])),
    strict("||(tsvector, tsvector) tsvector", |_, a, _| {
        Ok(Datum::TsVector(ts_vector(&a[0])?.concat(ts_vector(&a[1])?)?))
    }),
    strict("&&(tsquery, tsquery) tsquery", |_, a, _| joined(a, Operator::And)),
    strict("||(tsquery, tsquery) tsquery", |_, a, _| joined(a, Operator::Or)),
    strict("<->(tsquery, tsquery) tsquery", |_, a, _| joined(a, NEXT)),
    strict("!!(tsquery) tsquery", |_, a, _| Ok(Datum::TsQuery(ts_query(&a[0])?.negated()?))),
    strict("@>(tsquery, tsquery) bool", |_, a, _| truth(ts_query(&a[0])?.contains(ts_query(&a[1])?))),
    strict("<@(tsquery, tsquery) bool", |_, a, _| truth(ts_query(&a[1])?.contains(ts_query(&a[0])?))),
];

/// Those that ask for a configuration: named, or the session's.
pub(super) const CONFIGURED: &[FunctionDefinition] = &[
    strict("get_current_ts_config() regconfig", |ctx, _, _| Ok(Datum::Oid(Configuration::current(ctx)?.oid())))
        .stable(),
    strict("to_tsvector(regconfig, text) tsvector", |_, a, _| {
        Ok(Datum::TsVector(to_vector(named(&a[0])?, text(&a[1])?)?))
    }),
    strict("to_tsvector(text) tsvector", |ctx, a, _| {
        Ok(Datum::TsVector(to_vector(Configuration::current(ctx)?, text(&a[0])?)?))
    })
    .stable(),
    strict("to_tsvector(regconfig, json) tsvector", |_, a, _| of_json(named(&a[0])?, &a[1], Members::STRINGS)),
    strict("to_tsvector(regconfig, jsonb) tsvector", |_, a, _| of_json(named(&a[0])?, &a[1], Members::STRINGS)),
    strict("to_tsvector(json) tsvector", |ctx, a, _| of_json(Configuration::current(ctx)?, &a[0], Members::STRINGS))
        .stable(),
    strict("to_tsvector(jsonb) tsvector", |ctx, a, _| of_json(Configuration::current(ctx)?, &a[0], Members::STRINGS))
        .stable(),
    strict("json_to_tsvector(regconfig, json, jsonb) tsvector", |_, a, _| {
        of_json(named(&a[0])?, &a[1], members(&a[2])?)
    }),
    strict("json_to_tsvector(json, jsonb) tsvector", |ctx, a, _| {
        of_json(Configuration::current(ctx)?, &a[0], members(&a[1])?)
    })
    .stable(),
    strict("jsonb_to_tsvector(regconfig, jsonb, jsonb) tsvector", |_, a, _| {
        of_json(named(&a[0])?, &a[1], members(&a[2])?)
    }),
    strict("jsonb_to_tsvector(jsonb, jsonb) tsvector", |ctx, a, _| {
        of_json(Configuration::current(ctx)?, &a[0], members(&a[1])?)
    })
    .stable(),
    strict("to_tsquery(regconfig, text) tsquery", |_, a, _| to_query(named(&a[0])?, &a[1], Form::Standard, NEXT)),
    strict("to_tsquery(text) tsquery", |ctx, a, _| to_query(Configuration::current(ctx)?, &a[0], Form::Standard, NEXT))
        .stable(),
    strict("plainto_tsquery(regconfig, text) tsquery", |_, a, _| {
        to_query(named(&a[0])?, &a[1], Form::Plain, Operator::And)
    }),
    strict("plainto_tsquery(text) tsquery", |ctx, a, _| {
        to_query(Configuration::current(ctx)?, &a[0], Form::Plain, Operator::And)
    })
    .stable(),
    strict("phraseto_tsquery(regconfig, text) tsquery", |_, a, _| to_query(named(&a[0])?, &a[1], Form::Plain, NEXT)),
    strict("phraseto_tsquery(text) tsquery", |ctx, a, _| {
        to_query(Configuration::current(ctx)?, &a[0], Form::Plain, NEXT)
    })
    .stable(),
    strict("websearch_to_tsquery(regconfig, text) tsquery", |_, a, _| to_query(named(&a[0])?, &a[1], Form::Web, NEXT)),
    strict("websearch_to_tsquery(text) tsquery", |ctx, a, _| {
        to_query(Configuration::current(ctx)?, &a[0], Form::Web, NEXT)
    })
    .stable(),
    strict("ts_headline(regconfig, text, tsquery, text?) text", |_, a, _| headline(named(&a[0])?, &a[1..])),
    strict("ts_headline(text, tsquery, text?) text", |ctx, a, _| headline(Configuration::current(ctx)?, a)).stable(),
    strict("ts_headline(regconfig, json, tsquery, text?) json", |_, a, _| headline_of_document(named(&a[0])?, &a[1..])),
    strict("ts_headline(json, tsquery, text?) json", |ctx, a, _| headline_of_document(Configuration::current(ctx)?, a))
        .stable(),
    strict("ts_headline(regconfig, jsonb, tsquery, text?) jsonb", |_, a, _| {
        headline_of_document(named(&a[0])?, &a[1..])
    }),
    strict("ts_headline(jsonb, tsquery, text?) jsonb", |ctx, a, _| {
        headline_of_document(Configuration::current(ctx)?, a)
    })
    .stable(),
];

pub(super) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("length(tsvector) int4", |_, a, _| length_of(ts_vector(&a[0])?)),
    strict("strip(tsvector) tsvector", |_, a, _| Ok(Datum::TsVector(ts_vector(&a[0])?.stripped()?))),
    strict("setweight(tsvector, char) tsvector", |_, a, _| set_weight(a)),
    strict("setweight(tsvector, char, text[]) tsvector", |_, a, _| set_weight(a)),
    strict("ts_delete(tsvector, text) tsvector", |_, a, _| {
        Ok(Datum::TsVector(ts_vector(&a[0])?.without(&[text(&a[1])?])?))
    }),
    strict("ts_delete(tsvector, text[]) tsvector", |_, a, _| {
        Ok(Datum::TsVector(ts_vector(&a[0])?.without(&lexemes(&a[1])?)?))
    }),
    strict("ts_filter(tsvector, char[]) tsvector", |_, a, _| filter(a)),
    strict("tsvector_to_array(tsvector) text[]", |_, a, _| {
        vector(ts_vector(&a[0])?.iter().map(|(lexeme, _)| Datum::text(lexeme)).collect())
    }),
    strict("array_to_tsvector(text[]) tsvector", |_, a, _| of_array(&a[0])),
    strict("tsvector_concat(tsvector, tsvector) tsvector", |_, a, _| {
        Ok(Datum::TsVector(ts_vector(&a[0])?.concat(ts_vector(&a[1])?)?))
    }),
    strict("ts_match_vq(tsvector, tsquery) bool", |_, a, _| matches(&a[0], &a[1])),
    strict("ts_match_qv(tsquery, tsvector) bool", |_, a, _| matches(&a[1], &a[0])),
    strict("ts_match_tq(text, tsquery) bool", |ctx, a, _| text_matches(ctx, a)).stable(),
    strict("ts_match_tt(text, text) bool", |ctx, a, _| texts_match(ctx, a)).stable(),
    strict("numnode(tsquery) int4", |_, a, _| {
        Ok(Datum::Int4(i32::try_from(ts_query(&a[0])?.items().len()).unwrap_or(i32::MAX)))
    }),
    strict("querytree(tsquery) text", |_, a, _| query_tree(ts_query(&a[0])?)),
    strict("tsquery_and(tsquery, tsquery) tsquery", |_, a, _| joined(a, Operator::And)),
    strict("tsquery_or(tsquery, tsquery) tsquery", |_, a, _| joined(a, Operator::Or)),
    strict("tsquery_not(tsquery) tsquery", |_, a, _| Ok(Datum::TsQuery(ts_query(&a[0])?.negated()?))),
    strict("tsquery_phrase(tsquery, tsquery) tsquery", |_, a, _| phrase(a)),
    strict("tsquery_phrase(tsquery, tsquery, int4) tsquery", |_, a, _| phrase(a)),
    strict("tsq_mcontains(tsquery, tsquery) bool", |_, a, _| truth(ts_query(&a[0])?.contains(ts_query(&a[1])?))),
    strict("tsq_mcontained(tsquery, tsquery) bool", |_, a, _| truth(ts_query(&a[1])?.contains(ts_query(&a[0])?))),
    strict("ts_rank(tsvector, tsquery, int4?) float4", |_, a, _| ranked(a, rank::frequency)),
    strict("ts_rank(float4[], tsvector, tsquery, int4?) float4", |_, a, _| ranked(a, rank::frequency)),
    strict("ts_rank_cd(tsvector, tsquery, int4?) float4", |_, a, _| ranked(a, rank::cover_density)),
    strict("ts_rank_cd(float4[], tsvector, tsquery, int4?) float4", |_, a, _| ranked(a, rank::cover_density)),
    strict("ts_lexize(regdictionary, text) text[]", |_, a, _| lexize(a)),
];
