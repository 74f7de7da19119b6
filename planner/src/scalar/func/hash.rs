//! The hashes that PostgreSQL's hash indexes are built on, which applications call for themselves: `hashtext`, `hashint4`.
//!
//! Bob Jenkins' lookup3, as `src/common/hashfn.c` has it, on a machine that stores the low byte first.

use super::arguments::{float, int4, integer, interval, mac_address, oid, text, time, timestamp};
use super::{FunctionDefinition, strict};
use crate::scalar::Answer;
use repr::{Datum, ValueError};

/// lookup3's three words.
struct Lookup3 {
    a: u32,
    b: u32,
    c: u32,
}

impl Lookup3 {
    fn new(bytes: usize, seed: u64) -> Lookup3 {
        let start = 0x9e37_79b9_u32.wrapping_add(bytes as u32).wrapping_add(3_923_095);
        let mut state = Lookup3 { a: start, b: start, c: start };
        if seed != 0 {
            state.a = state.a.wrapping_add((seed >> 32) as u32);
            state.b = state.b.wrapping_add(seed as u32);
            state.mix();
        }
        state
    }

    fn add(&mut self, words: [u32; 3]) {
        self.a = self.a.wrapping_add(words[0]);
        self.b = self.b.wrapping_add(words[1]);
        self.c = self.c.wrapping_add(words[2]);
    }

    fn mix(&mut self) {
        let Lookup3 { a, b, c } = self;
        let step = |x: &mut u32, y: u32, by: u32| *x = x.wrapping_sub(y) ^ y.rotate_left(by);
        step(a, *c, 4);
        *c = c.wrapping_add(*b);
        step(b, *a, 6);
        *a = a.wrapping_add(*c);
        step(c, *b, 8);
        *b = b.wrapping_add(*a);
        step(a, *c, 16);
        *c = c.wrapping_add(*b);
        step(b, *a, 19);
        *a = a.wrapping_add(*c);
        step(c, *b, 4);
        *b = b.wrapping_add(*a);
    }

    fn finish(mut self) -> u64 {
        let Lookup3 { a, b, c } = &mut self;
        let step = |x: &mut u32, y: u32, by: u32| *x = (*x ^ y).wrapping_sub(y.rotate_left(by));
        step(c, *b, 14);
        step(a, *c, 11);
        step(b, *a, 25);
        step(c, *b, 16);
        step(a, *c, 4);
        step(b, *a, 14);
        step(c, *b, 24);
        u64::from(self.b) << 32 | u64::from(self.c)
    }
}

fn of_bytes(bytes: &[u8], seed: u64) -> u64 {
    let mut state = Lookup3::new(bytes.len(), seed);
    let word = |bytes: &[u8], place: usize| {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        u32::from_le_bytes([byte(place), byte(place + 1), byte(place + 2), byte(place + 3)])
    };
    let mut chunks = bytes.chunks_exact(12);
    for chunk in &mut chunks {
        state.add([word(chunk, 0), word(chunk, 4), word(chunk, 8)]);
        state.mix();
    }
    // The lowest byte of the third word is the length's.
    let rest = chunks.remainder();
    state.add([word(rest, 0), word(rest, 4), word(rest.get(8..).unwrap_or_default(), 0) << 8]);
    state.finish()
}

fn of_word(word: u32, seed: u64) -> u64 {
    let mut state = Lookup3::new(4, seed);
    state.add([word, 0, 0]);
    state.finish()
}

/// So that it is that of a narrower integer of the same value.
fn of_long(value: i64, seed: u64) -> u64 {
    let (low, high) = (value as u32, (value >> 32) as u32);
    of_word(low ^ if value >= 0 { high } else { !high }, seed)
}

fn of_float(value: f64, seed: u64) -> u64 {
    if value == 0.0 {
        return seed;
    }
    let value = if value.is_nan() { f64::NAN } else { value };
    of_bytes(&value.to_le_bytes(), seed)
}

fn short(hash: u64) -> Answer {
    Ok(Datum::Int4(hash as u32 as i32))
}

fn long(hash: u64) -> Answer {
    Ok(Datum::Int8(hash as i64))
}

fn seed(arg: &Datum) -> Result<u64, ValueError> {
    Ok(integer(arg)? as u64)
}

/// Both forms of one hash.
macro_rules! hashes {
    ($($short:literal, $long:literal, $hash:expr;)*) => {
        pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
            $(
                strict($short, |_, a, _| {
                    let hash: fn(&Datum, u64) -> Result<u64, ValueError> = $hash;
                    short(hash(&a[0], 0)?)
                }),
                strict($long, |_, a, _| {
                    let hash: fn(&Datum, u64) -> Result<u64, ValueError> = $hash;
                    long(hash(&a[0], seed(&a[1])?)?)
                }),
            )*
        ];
    };
}

hashes! {
    "hashint2(int2) int4", "hashint2extended(int2, int8) int8", |a, seed| Ok(of_word(integer(a)? as u32, seed));
    "hashint4(int4) int4", "hashint4extended(int4, int8) int8", |a, seed| Ok(of_word(int4(a)? as u32, seed));
    "hashint8(int8) int4", "hashint8extended(int8, int8) int8", |a, seed| Ok(of_long(integer(a)?, seed));
    "hashoid(oid) int4", "hashoidextended(oid, int8) int8", |a, seed| Ok(of_word(oid(a)?, seed));
    "hashfloat4(float4) int4", "hashfloat4extended(float4, int8) int8", |a, seed| Ok(of_float(float(a)?, seed));
    "hashfloat8(float8) int4", "hashfloat8extended(float8, int8) int8", |a, seed| Ok(of_float(float(a)?, seed));
    "hashtext(text) int4", "hashtextextended(text, int8) int8", |a, seed| Ok(of_bytes(text(a)?.as_bytes(), seed));
    "hashname(name) int4", "hashnameextended(name, int8) int8", |a, seed| Ok(of_bytes(text(a)?.as_bytes(), seed));
    "hashbpchar(bpchar) int4", "hashbpcharextended(bpchar, int8) int8", |a, seed| {
        Ok(of_bytes(text(a)?.trim_end_matches(' ').as_bytes(), seed))
    };
    "time_hash(time) int4", "time_hash_extended(time, int8) int8", |a, seed| Ok(of_long(time(a)?, seed));
    "timestamp_hash(timestamp) int4", "timestamp_hash_extended(timestamp, int8) int8", |a, seed| {
        Ok(of_long(timestamp(a)?, seed))
    };
    "uuid_hash(uuid) int4", "uuid_hash_extended(uuid, int8) int8", |a, seed| match a {
        Datum::Uuid(bytes) => Ok(of_bytes(bytes.as_ref(), seed)),
        _ => Err(ValueError::new("42804", "a uuid is expected")),
    };
    "hashmacaddr(macaddr) int4", "hashmacaddrextended(macaddr, int8) int8", |a, seed| {
        Ok(of_bytes(mac_address(a)?.bytes(), seed))
    };
    "hashmacaddr8(macaddr8) int4", "hashmacaddr8extended(macaddr8, int8) int8", |a, seed| {
        Ok(of_bytes(mac_address(a)?.bytes(), seed))
    };
    "interval_hash(interval) int4", "interval_hash_extended(interval, int8) int8", |a, seed| {
        Ok(of_long(interval(a)?.comparison_value() as i64, seed))
    };
}
