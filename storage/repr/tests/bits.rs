//! Strings of bits do what strings of the digits 0 and 1 do.

mod support;

use repr::{Bits, Datum, ScalarType, key};
use support::Random;

fn digits(bits: &Bits) -> String {
    let mut shown = String::new();
    bits.write(&mut shown);
    shown
}

fn bits(digits: &str) -> Bits {
    Bits::parse(digits).expect("they are digits")
}

#[test]
fn parts_of_bits_are_parts_of_their_digits() {
    let mut random = Random(11);
    for _ in 0..20_000 {
        let (one, other) = (random.some_bits(), random.some_bits());
        let (shown, others) = (digits(&one), digits(&other));
        assert_eq!(bits(&shown), one);
        let (unused, bytes) = one.parts();
        assert_eq!(Bits::of_parts(unused, bytes).as_ref(), Some(&one));
        assert_eq!(digits(&one.joined(&other).expect("they are few")), format!("{shown}{others}"));
        let (from, to) = (random.below(34) as usize, random.below(34) as usize);
        let part: String = shown.chars().take(to).skip(from).collect();
        assert_eq!(digits(&one.slice(from, to)), part, "{shown} {from} {to}");
        let found = one.find(&other).expect("nothing ends it");
        assert_eq!(found, shown.find(&others), "{others} in {shown}");
        let by = random.below(40) as i64 - 20;
        let count = (by.unsigned_abs() as usize).min(shown.len());
        let zeros = "0".repeat(count);
        let shifted = if by > 0 {
            format!("{}{zeros}", &shown[count..])
        } else {
            format!("{zeros}{}", &shown[..shown.len() - count])
        };
        assert_eq!(digits(&one.shifted(by)), shifted, "{shown} {by}");
        let inverted: String = shown.chars().map(|digit| if digit == '0' { '1' } else { '0' }).collect();
        assert_eq!(digits(&one.inverted()), inverted);
        if !one.is_empty() {
            let place = random.below(one.len() as u64) as usize;
            let mut changed = shown.clone();
            changed.replace_range(place..=place, "1");
            assert_eq!(digits(&one.with_bit(place, true)), changed);
        }
    }
}

#[test]
fn lengths_and_numbers_are_those_of_postgresql() {
    let cast = |digits: &str, modifier| bits(digits).cast_length(&ScalarType::Bit, modifier).expect("it is short");
    assert_eq!([cast("101", 2), cast("101", 5), cast("101", -1)], [bits("10"), bits("10100"), bits("101")]);
    let refused = |scalar: ScalarType, modifier: i32| {
        bits("101").assign_length(&scalar, modifier).map_err(|error| error.code).err()
    };
    assert_eq!(refused(ScalarType::Bit, 4), Some("22026"));
    assert_eq!(refused(ScalarType::VarBit, 2), Some("22001"));
    assert_eq!([refused(ScalarType::Bit, 3), refused(ScalarType::VarBit, 9), refused(ScalarType::Bit, -1)], [None; 3]);
    let mut random = Random(12);
    for _ in 0..2_000 {
        let (value, length) = (random.int(), 1 + random.below(80) as usize);
        let made = Bits::of_integer(value, length).expect("it is short");
        let expected: String =
            (0..length).rev().map(|place| if value >> place.min(63) & 1 == 1 { '1' } else { '0' }).collect();
        assert_eq!(digits(&made), expected, "{value} {length}");
        let wide = Bits::of_integer(value, 64).expect("it is short");
        assert_eq!(wide.to_integer(64), Some(value as u64));
        assert_eq!(wide.to_integer(32), None);
    }
}

#[test]
fn what_cannot_have_been_packed_is_none() {
    for (unused, bytes) in [(8, &[0u8][..]), (1, &[]), (1, &[1]), (7, &[0x40]), (255, &[0; 40])] {
        assert_eq!(Bits::of_parts(unused, bytes), None);
    }
    // Zeros behind others count, in keys as in SQL.
    let code = |digits: &str| key::encode_all(&[Datum::Bits(bits(digits))]);
    let ordered =
        ["", "0", "00", "00000000", "000000000", "0000000000000001", "00000001", "1", "10", "100000000", "11"];
    assert!(ordered.windows(2).all(|pair| code(pair[0]) < code(pair[1])));
    assert!(ordered.windows(2).all(|pair| bits(pair[0]).sql_cmp(&bits(pair[1])).is_lt()));
}
