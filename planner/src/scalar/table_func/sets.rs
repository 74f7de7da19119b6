//! Rows from arrays and texts: unnest, splits, matches; and PostgreSQL's lists of words.

use super::{TableAnswer, TableFunctionDefinition, column, known, strict};
use crate::scalar::func::arguments::{array, ranges, text, text_array};
use crate::scalar::func::hstore::{hstore, or_null};
use crate::scalar::func::{all_groups, citext, find_sequence, options, split, split_pieces};
use repr::Datum;
use sqlparser::keywords::ALL_KEYWORDS;
use std::sync::Arc;

fn unnest(args: &[Datum]) -> TableAnswer {
    let array = Arc::clone(array(&args[0])?);
    let mut next = 0;
    Ok(Box::new(std::iter::from_fn(move || {
        next += 1;
        array.elements.get(next - 1).map(|element| Ok(vec![element.clone()]))
    })))
}

fn matches(args: &[Datum]) -> TableAnswer {
    let options = args.get(2).map_or_else(|| options(""), |flags| options(text(flags)?))?;
    column(all_groups(text(&args[0])?, text(&args[1])?, options)?)
}

/// An array's elements with their places: what information_schema's views are built on.
fn expand_array(args: &[Datum]) -> TableAnswer {
    let array = array(&args[0])?;
    let numbered = array.elements.iter().zip(1..);
    known(numbered.map(|(element, number)| vec![element.clone(), Datum::Int4(number)]).collect())
}

fn options_to_table(args: &[Datum]) -> TableAnswer {
    let options = text_array(&args[0])?;
    let row = |option: &str| match option.split_once('=') {
        Some((name, value)) => vec![Datum::text(name), Datum::text(value)],
        None => vec![Datum::text(option), Datum::Null],
    };
    known(options.into_iter().flatten().map(row).collect())
}

/// Words that may not be names without quotes, as `quote_ident` knows them, are reserved; the parser's other words are not.
fn keywords() -> TableAnswer {
    let row = |word: &&str| {
        let word = word.to_lowercase();
        let reserved = crate::scalar::func::quote_identifier(&word) != word;
        let (code, description) = if reserved { ("R", "reserved") } else { ("U", "unreserved") };
        let label = if reserved { "requires AS" } else { "can be bare label" };
        vec![Datum::text(word), Datum::text(code), Datum::Bool(!reserved), Datum::text(description), Datum::text(label)]
    };
    known(
        ALL_KEYWORDS.iter().filter(|word| word.chars().all(|c| c.is_ascii_alphabetic() || c == '_')).map(row).collect(),
    )
}

pub(super) const FUNCTIONS: &[TableFunctionDefinition] = &[
    ("unnest(anyarray) anyelement", |_, args, _| strict(args, unnest)),
    ("unnest(anymultirange) anyrange", |_, args, _| {
        strict(args, |args| {
            column(ranges(&args[0])?.iter().map(|range| Datum::Range(Arc::new(range.clone()))).collect())
        })
    }),
    ("regexp_matches(text, text, text?) text[]", |_, args, _| strict(args, matches)),
    ("regexp_matches(citext, citext, text?) text[]", |_, args, _| strict(args, |args| column(citext::matches(args)?))),
    ("regexp_split_to_table(citext, citext, text?) text", |_, args, _| {
        strict(args, |args| column(citext::split(args)?))
    }),
    ("regexp_split_to_table(text, text, text?) text", |_, args, _| strict(args, |args| column(split_pieces(args)?))),
    ("string_to_table(text, text, text?) text", |_, args, _| column(split(args)?.unwrap_or_default())),
    ("_pg_expandarray(anyarray) (x anyelement, n int4)", |_, args, _| strict(args, expand_array)),
    ("pg_options_to_table(text[]) (option_name text, option_value text)", |_, args, _| strict(args, options_to_table)),
    ("pg_get_keywords() (word text, catcode char, barelabel bool, catdesc text, baredesc text)", |_, _, _| keywords()),
    ("skeys(hstore) text", |_, args, _| {
        strict(args, |args| column(hstore(&args[0])?.pairs().map(|(key, _)| Datum::text(key)).collect()))
    }),
    ("svals(hstore) text", |_, args, _| {
        strict(args, |args| column(hstore(&args[0])?.pairs().map(|(_, value)| or_null(value)).collect()))
    }),
    ("each(hstore) (key text, value text)", |_, args, _| {
        strict(args, |args| {
            known(hstore(&args[0])?.pairs().map(|(key, value)| vec![Datum::text(key), or_null(value)]).collect())
        })
    }),
    ("pg_listening_channels() text", |ctx, _, _| {
        column(ctx.environment.acts()?.listening().into_iter().map(Datum::text).collect())
    }),
    // What a sequence is as a relation; no value is logged ahead that would have to be counted.
    ("pg_sequence_row(regclass) (last_value int8, log_cnt int8, is_called bool)", |ctx, args, _| {
        strict(args, |args| {
            let (value, called) = ctx.environment.sequence_state(find_sequence(ctx, &args[0])?)?;
            known(vec![vec![Datum::Int8(value), Datum::Int8(0), Datum::Bool(called)]])
        })
    }),
    // Tables have no partitions: each is its only ancestor.
    ("pg_partition_ancestors(regclass) (relid regclass)", |_, args, _| strict(args, |args| column(args.to_vec()))),
];
