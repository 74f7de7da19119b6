//! What pg_proc lists and what can be called are one: each function is called by its name, with NULLs of its types. What
//! PostgreSQL cannot call by hand either, and what other relations of the catalog name and nothing calls, stands below.

use super::{SessionInfo, resolve};
use crate::catalog::Catalog;
use crate::parse::parse;
use crate::system::builtin::{function, type_name};
use std::collections::BTreeSet;

/// Named by other relations of pg_catalog, and not called by their names here: why, and which. `*` stands for anything.
const NAMED: &[(&str, &[&str])] = &[
    (
        "what types that came later compare, hash and send by",
        &[
            "citext_*",
            "citextin",
            "citextout",
            "citextsend",
            "hstore_in",
            "hstore_out",
            "hstore_send",
            "hstore_hash",
            "hstore_hash_extended",
            "jsonpath_send",
            "timetz",
            "timetz_cmp",
            "timetz_hash",
            "timetz_hash_extended",
            "timetz_send",
            "hash_aclitem*",
            "hashtid*",
            "pg_lsn_hash*",
            "pg_snapshot_send",
            "tidsend",
            "txid_snapshot_send",
        ],
    ),
    (
        "operators of shapes that are not here, and what shapes and XML are sent and put together by",
        &[
            "box_send",
            "circle_send",
            "close_*",
            "dist_*",
            "inter_*",
            "line_*",
            "lseg_*",
            "on_sb",
            "on_sl",
            "path_*",
            "point_send",
            "poly_*",
            "xml_send",
            "xmlconcat2",
        ],
    ),
    (
        "steps of aggregates",
        &[
            "*_accum",
            "*_accum_inv",
            "*_combine",
            "*_statefunc",
            "*_agg_transfn",
            "float8_avg",
            "float8_corr",
            "float8_covar_*",
            "float8_regr_*",
            "float8_stddev_*",
            "float8_var_*",
            "int2_sum",
            "int2int4_sum",
            "int4_sum",
            "int8_avg",
            "int8dec",
            "int8dec_any",
            "int8inc",
            "int8inc_any",
            "int8inc_float8_float8",
            "interval_avg",
        ],
    ),
    ("modifiers of types", &["*typmodin", "*typmodout"]),
    (
        "lengths, which casts give",
        &["bit", "bpchar", "interval", "numeric", "time", "timestamp", "timestamptz", "varbit", "varchar"],
    ),
    (
        "what pseudo-types and those of several types are read, written and sent by",
        &[
            "any*",
            "internal_in",
            "domain_in",
            "void_*",
            "trigger_in",
            "unknown*",
            "*_handler_in",
            "*_handler_out",
            "cstring_*",
            "record_in",
            "record_send",
            "array_in",
            "array_send",
            "enum_in",
            "range_in",
            "range_out",
            "range_send",
            "multirange_in",
            "multirange_out",
            "multirange_send",
        ],
    ),
    (
        "values of which types are sent with more than they say",
        &[
            "numeric_send",
            "charsend",
            "inet_send",
            "cidr_send",
            "jsonb_send",
            "int2vectorsend",
            "oidvectorsend",
            "tsquerysend",
            "tsvectorsend",
        ],
    ),
    (
        "orders that tell by how much, or whose texts have a collation",
        &[
            "bttext*",
            "btname*",
            "bpcharcmp",
            "btbpchar*",
            "btcharcmp",
            "byteacmp",
            "uuid_cmp",
            "bitcmp",
            "varbitcmp",
            "network_cmp",
            "jsonb_cmp",
            "tsquery_cmp",
            "tsvector_cmp",
            "btoidvectorcmp",
            "btarraycmp",
            "range_cmp",
            "multirange_cmp",
            "btrecord*",
            "text_larger",
            "text_smaller",
            "bpchar_larger",
            "bpchar_smaller",
            "array_larger",
            "array_smaller",
        ],
    ),
    ("orders and operators that are not here", &["*_pattern_lt", "*_pattern_le", "*_pattern_ge", "*_pattern_gt"]),
    ("what indexes ask", &["btequalimage", "btvarstrequalimage", "*_subdiff"]),
    ("what makes ranges of what can be counted", &["*_canonical"]),
    (
        "hashes of values that are written in several ways",
        &[
            "hash_array*",
            "hash_multirange*",
            "hash_numeric*",
            "hash_range*",
            "hash_record*",
            "hashchar*",
            "hashinet*",
            "hashoidvector*",
            "jsonb_hash*",
        ],
    ),
];

/// A value of a type, written as SQL; none for those that have no values.
fn value(type_name: &str) -> Option<String> {
    Some(match type_name {
        "\"any\"" | "anyelement" | "anynonarray" | "anycompatible" | "anycompatiblenonarray" => "NULL::int4".to_owned(),
        "anyarray" | "anycompatiblearray" => "NULL::int4[]".to_owned(),
        "anyrange" | "anycompatiblerange" => "NULL::int4range".to_owned(),
        "anymultirange" | "anycompatiblemultirange" => "NULL::int4multirange".to_owned(),
        "record" => "ROW(1)".to_owned(),
        "record[]" | "internal" | "anyenum" | "trigger" | "event_trigger" | "void" => return None,
        name => format!("NULL::{name}"),
    })
}

fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => pattern == name,
    }
}

/// That the list above names nothing that can be called by now.
fn assert_all_are_refused(refused: &BTreeSet<&str>) {
    let patterns = NAMED.iter().flat_map(|(_, names)| *names);
    let idle: Vec<&&str> = patterns.filter(|pattern| !refused.iter().any(|name| matches(pattern, name))).collect();
    assert_eq!(idle, Vec::<&&str>::new());
}

#[test]
fn what_is_listed_can_be_called() {
    let (catalog, session) = (Catalog::default(), SessionInfo::default());
    let (mut refused, mut named) = (BTreeSet::new(), BTreeSet::new());
    for function in function::all().iter().filter(|function| function.record.is_some()) {
        let names: Vec<String> = function.arguments.iter().map(|id| type_name(*id).unwrap_or_default()).collect();
        let Some(values) = names.iter().map(|name| value(name)).collect::<Option<Vec<String>>>() else {
            continue;
        };
        // What is declared so gets its last arguments one by one.
        if function.record.is_some_and(|row| row.id("provariadic") != 0) {
            continue;
        }
        let kind = function.record.map_or("f", |row| row.text("prokind"));
        let over = if kind == "w" { " OVER ()" } else { "" };
        let sql = format!("SELECT pg_catalog.\"{}\"({}){over}", function.name, values.join(", "));
        let answer = parse(&sql).and_then(|statements| resolve(&statements[0], &catalog, &session, &[]).map(drop));
        if let Err(error) = answer
            && ["42883", "42704", "42601", "42846"].contains(&error.code)
        {
            if NAMED.iter().any(|(_, names)| names.iter().any(|pattern| matches(pattern, function.name))) {
                named.insert(function.name);
                continue;
            }
            refused.insert(format!("{}({})", function.name, names.join(", ")));
        }
    }
    assert_eq!(refused, BTreeSet::new());
    assert_all_are_refused(&named);
}
