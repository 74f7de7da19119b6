//! Documents and queries of full text search: their forms come back as they were, and what is asked is found as PostgreSQL finds it.

mod support;

use repr::{Datum, Row, TsQuery, TsVector};
use support::Random;

fn text_of(query: &TsQuery) -> String {
    let mut text = String::new();
    query.write_text(&mut text);
    text
}

#[test]
fn forms_come_back() {
    let mut random = Random(7);
    for _ in 0..2000 {
        let (vector, query) = (random.ts_vector(), random.ts_query());
        let mut text = String::new();
        vector.write_text(&mut text);
        assert_eq!(TsVector::parse(&text).as_ref(), Ok(&vector), "{text}");
        // Whose parentheses do not matter is written without them.
        let again = TsQuery::parse(&text_of(&query)).unwrap();
        assert_eq!(text_of(&again), text_of(&query));
        let (mut vector_bytes, mut query_bytes) = (Vec::new(), Vec::new());
        vector.encode(&mut vector_bytes);
        query.encode(&mut query_bytes);
        assert_eq!(TsVector::decode(&vector_bytes).as_ref(), Ok(&vector));
        assert_eq!(TsQuery::decode(&query_bytes).as_ref(), Ok(&query));
        for bytes in [vector_bytes, query_bytes] {
            for end in 0..bytes.len() {
                assert!(TsVector::decode(&bytes[..end]).is_err() && TsQuery::decode(&bytes[..end]).is_err());
            }
        }
        let row = Row::pack(&[Datum::TsVector(vector.clone()), Datum::TsQuery(query.clone())]);
        assert_eq!(row.unpack(), [Datum::TsVector(vector), Datum::TsQuery(query)]);
    }
}

#[test]
fn long_queries_do_not_exhaust_the_stack() {
    let many = vec!["a"; 100_000].join(" & ");
    let query = TsQuery::parse(&many).unwrap();
    assert_eq!(text_of(&query).len(), 100_000 * 6 - 3);
    assert_eq!(query.matches(&TsVector::parse("a").unwrap()), Ok(true));
    let phrase = TsQuery::parse(&vec!["a"; 20_000].join(" <0> ")).unwrap();
    assert_eq!(phrase.matches(&TsVector::parse("a:1").unwrap()), Ok(true));
    for deep in ["(".repeat(100_000) + "a" + &")".repeat(100_000), "a & (".repeat(5_000) + "a" + &")".repeat(5_000)] {
        assert_eq!(TsQuery::parse(&deep).map_err(|error| error.code), Err("54001"));
    }
    let negated = (0..2000).try_fold(TsQuery::parse("a").unwrap(), |query, _| query.negated());
    assert_eq!(negated.map_err(|error| error.code), Err("54001"));
}

/// What PostgreSQL's `tsvectorsend` and `tsquerysend` make of these.
#[test]
fn binary_forms_are_those_of_postgresql() {
    let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let vector = TsVector::parse("a:1,2A 'é x' zz:16383C").unwrap();
    let query = TsQuery::parse("a & !b:*AB | 'é x' <3> c").unwrap();
    let (mut vector_bytes, mut query_bytes) = (Vec::new(), Vec::new());
    vector.encode(&mut vector_bytes);
    query.encode(&mut query_bytes);
    assert_eq!(hex(vector_bytes), "00000003610000020001c0027a7a0000017fffc3a92078000000");
    assert_eq!(hex(query_bytes), "000000080203020400030100006300010000c3a920780002020201010c0162000100006100");
}
