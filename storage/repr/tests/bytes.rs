//! Properties of rows and keys: packing returns what it was given, keys order as SQL does.

mod support;

use repr::{Datum, Row, key};
use std::cmp::Ordering;
use support::{KINDS, Random};

#[test]
fn rows_unpack_to_what_was_packed() {
    let mut random = Random(1);
    for _ in 0..3_000 {
        let datums: Vec<Datum> = (0..random.below(8))
            .map(|_| {
                let kind = random.below(KINDS);
                random.datum(kind)
            })
            .collect();
        let row = Row::pack(&datums);
        assert_eq!(format!("{:?}", row.unpack()), format!("{datums:?}"));
        for (index, datum) in datums.iter().enumerate() {
            assert_eq!(format!("{:?}", row.get(index)), format!("{:?}", Some(datum)));
        }
        assert_eq!(row.get(datums.len()), None);
        assert_eq!(Row::validate(row.bytes().into()), Ok(row.clone()));
        assert_eq!(Row::pack(&row.unpack()), row);
    }
}

#[test]
fn rows_of_any_bytes_are_refused_or_readable() {
    let mut random = Random(2);
    for _ in 0..20_000 {
        let kind = random.below(KINDS);
        let mut bytes = Row::pack([&random.datum(kind), &random.datum(3)]).bytes().to_vec();
        for _ in 0..=random.below(3) {
            let place = random.below(bytes.len() as u64) as usize;
            bytes[place] = random.bits() as u8;
        }
        bytes.truncate(1 + random.below(bytes.len() as u64) as usize);
        if let Ok(row) = Row::validate(bytes.into()) {
            assert!(row.get(row.unpack().len()).is_none());
        }
    }
}

#[test]
fn rows_are_small() {
    let row = Row::pack([&Datum::Int8(0), &Datum::Int4(-1), &Datum::Int4(300), &Datum::text("abc"), &Datum::Null]);
    assert_eq!(row.bytes(), [0x30, 0x29, 0xFF, 0x2A, 0x2C, 0x01, 0x83, b'a', b'b', b'c', 0x00]);
}

#[test]
fn keys_agree_with_sql_order_and_equality() {
    let mut random = Random(3);
    for kind in 0..KINDS {
        for _ in 0..4_000 {
            let (a, b) = (random.datum(kind), random.datum(kind));
            let expected = a.sql_cmp(&b);
            assert_eq!(b.sql_cmp(&a), expected.reverse(), "{a:?} {b:?}");
            let (ka, kb) = (key::encode_all(std::slice::from_ref(&a)), key::encode_all(std::slice::from_ref(&b)));
            assert_eq!(ka.cmp(&kb), expected, "{a:?} {b:?} {ka:?} {kb:?}");
            assert!(ka == kb || !kb.starts_with(&ka), "prefix-free: {a:?} {b:?}");
            for descending in [false, true] {
                for nulls_first in [false, true] {
                    let (mut ka, mut kb) = (Vec::new(), Vec::new());
                    key::encode_ordered(&mut ka, &a, descending, nulls_first);
                    key::encode_ordered(&mut kb, &b, descending, nulls_first);
                    let wanted = match (a.is_null(), b.is_null()) {
                        (true, true) => Ordering::Equal,
                        (true, false) => {
                            if nulls_first {
                                Ordering::Less
                            } else {
                                Ordering::Greater
                            }
                        }
                        (false, true) => {
                            if nulls_first {
                                Ordering::Greater
                            } else {
                                Ordering::Less
                            }
                        }
                        (false, false) => {
                            if descending {
                                expected.reverse()
                            } else {
                                expected
                            }
                        }
                    };
                    assert_eq!(ka.cmp(&kb), wanted, "{a:?} {b:?}");
                }
            }
        }
    }
}
