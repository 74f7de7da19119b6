//! Seeded random datums for the property tests of the vocabulary.
#![allow(dead_code)]

use num_bigint::BigInt;
use repr::geometry::Point;
use repr::range::{Bound, of_ranges};
use repr::text_search::query::Polish;
use repr::text_search::{Operator, Position};
use repr::{
    Array, Bits, Datum, Geometry, Hstore, Interval, JsonPath, Jsonb, MacAddress, Network, Numeric, Range, TsQuery,
    TsVector,
};
use std::sync::Arc;

/// A small deterministic generator (splitmix64).
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }

    /// An integer whose width is itself random, so that small and large ones both occur.
    pub fn int(&mut self) -> i64 {
        let bits = self.below(64);
        let magnitude = (self.bits() >> (63 - bits)) as i64;
        if self.below(2) == 0 { magnitude } else { !magnitude }
    }

    /// A string over an alphabet that provokes escapes and ties.
    pub fn text(&mut self) -> String {
        let alphabet = ['a', 'b', ' ', 'é', '"', '\\', ',', '{', '}', '(', '\u{1}', '𝄞', 'Z', '\n'];
        (0..self.below(6)).map(|_| alphabet[self.below(alphabet.len() as u64) as usize]).collect()
    }

    /// A numeric of up to some sixty digits, often equal to another but for its scale.
    pub fn numeric(&mut self) -> Numeric {
        match self.below(12) {
            0 => Numeric::NaN,
            1 => Numeric::Infinity,
            2 => Numeric::NegativeInfinity,
            3 => Numeric::Finite {
                unscaled: BigInt::from(self.int()) * BigInt::from(self.bits()) * self.bits(),
                scale: self.below(70) as u16,
            },
            4 => {
                let zeros = self.below(5) as u32;
                let unscaled = BigInt::from(self.below(21) as i64 - 10) * 10i64.pow(zeros);
                Numeric::Finite { unscaled, scale: zeros as u16 }
            }
            _ => Numeric::Finite { unscaled: BigInt::from(self.int() >> self.below(60)), scale: self.below(9) as u16 },
        }
    }

    /// A finite JSON value.
    pub fn jsonb(&mut self, depth: u64) -> Jsonb {
        match self.below(if depth == 0 { 4 } else { 6 }) {
            0 => Jsonb::Null,
            1 => Jsonb::Bool(self.below(2) == 0),
            2 => loop {
                let number = self.numeric();
                if matches!(number, Numeric::Finite { .. }) {
                    break Jsonb::Number(number);
                }
            },
            3 => Jsonb::String(Arc::from(self.text())),
            4 => Jsonb::Array((0..self.below(3)).map(|_| self.jsonb(depth - 1)).collect()),
            _ => {
                let mut pairs: Vec<(Arc<str>, Jsonb)> = Vec::new();
                for _ in 0..self.below(3) {
                    let key = self.text();
                    if pairs.iter().all(|(other, _)| **other != *key) {
                        pairs.push((Arc::from(key), self.jsonb(depth - 1)));
                    }
                }
                pairs.sort_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then_with(|| a.as_bytes().cmp(b.as_bytes())));
                Jsonb::Object(Arc::from(pairs))
            }
        }
    }

    /// A shape of any kind, of few places.
    pub fn geometry(&mut self) -> Geometry {
        let mut point = || Point::new(self.below(3) as f64, self.below(5) as f64 / 4.0);
        let (one, other) = (point(), point());
        match self.below(7) {
            0 => Geometry::Point(one),
            1 => Geometry::Lseg([one, other]),
            2 => Geometry::Line([one.x, -1.0, one.y]),
            3 => Geometry::of_corners(one, other),
            4 => Geometry::Path(self.below(2) == 0, [one, other].into()),
            5 => Geometry::Polygon([one, other, one].into()),
            _ => Geometry::Circle(one, 1.5),
        }
    }

    /// One of few networks, so that they meet, within one another and not.
    pub fn network(&mut self) -> Network {
        let bytes: Vec<u8> = match self.below(2) {
            0 => (0..4).map(|_| [0, 10, 255][self.below(3) as usize]).collect(),
            _ => (0..16).map(|_| [0, 1, 255][self.below(3) as usize]).collect(),
        };
        let length = self.below(bytes.len() as u64 * 8 + 1) as u8;
        Network::of_bytes(&bytes, length).expect("a length of its family")
    }

    /// A string of few bits, or of some bytes of which few differ.
    pub fn some_bits(&mut self) -> Bits {
        let most = if self.below(2) == 0 { 6 } else { 30 };
        let length = self.below(most) as usize;
        Bits::new(length, (0..length.div_ceil(8)).map(|_| [0, 0x80, 255][self.below(3) as usize]).collect())
    }

    /// A few pairs of few different texts.
    pub fn hstore(&mut self) -> Hstore {
        let mut text = || ["", "a", "b", "aa", "é", "\0", "\u{1}"][self.below(7) as usize].into();
        Hstore::of_pairs((0..3).map(|_| (text(), Some(text()).filter(|value| value != "b"))).collect())
    }

    /// An address of few different bytes.
    pub fn mac_address(&mut self, is_long: bool) -> MacAddress {
        let mut byte = |_| [0, 1, 255][self.below(3) as usize];
        if is_long {
            MacAddress::Eight(std::array::from_fn(&mut byte))
        } else {
            MacAddress::Six(std::array::from_fn(&mut byte))
        }
    }

    /// A range of few values, so that they meet in every way: of integers, or of what lies close together.
    pub fn range(&mut self, whole: bool) -> Range {
        if self.below(8) == 0 {
            return Range::EMPTY;
        }
        let mut values = [self.below(6), self.below(6)].map(|value| value as i32);
        values.sort_unstable();
        let bounds = values.map(|value| {
            let datum = match whole {
                true => Datum::Int4(value),
                false => Datum::Numeric(
                    format!("{}{}", value, ["", ".0"][self.below(2) as usize]).parse().expect("a number"),
                ),
            };
            Bound::new(if self.below(6) == 0 { Datum::Null } else { datum }, self.below(2) == 0)
        });
        let [from, to] = bounds;
        let range = if whole { Range::counted(from, to) } else { Range::new(from, to) };
        range.expect("they are in order")
    }

    /// A set of few ranges.
    pub fn multirange(&mut self) -> Vec<Range> {
        let ranges: Vec<Range> = (0..self.below(4)).map(|_| self.range(false)).collect();
        of_ranges(ranges)
    }

    /// A document of few lexemes, some of them without positions.
    pub fn ts_vector(&mut self) -> TsVector {
        let mut lexemes = Vec::new();
        for _ in 0..self.below(4) {
            let lexeme = ["a", "ab", "b", "é", "'"][self.below(5) as usize].to_owned();
            let positions = (0..self.below(4)).map(|_| Position::new(1 + self.below(3) as u16, self.below(4) as u8));
            lexemes.push((lexeme, positions.collect()));
        }
        TsVector::of_lexemes(lexemes).expect("it is small")
    }

    /// A query of few items.
    pub fn ts_query(&mut self) -> TsQuery {
        let mut polish = Polish::default();
        let mut parts = 0;
        for _ in 0..self.below(8) {
            match self.below(3) {
                0 if parts > 1 => {
                    let operators = [Operator::And, Operator::Or, Operator::Phrase(1), Operator::Phrase(2)];
                    polish.push_operator(operators[self.below(4) as usize]);
                    parts -= 1;
                }
                1 if parts > 0 => polish.push_operator(Operator::Not),
                _ => {
                    let lexeme = ["a", "ab", "b", "é"][self.below(4) as usize];
                    polish.push_operand(lexeme, self.below(16) as u8, self.below(2) == 0).expect("it is small");
                    parts += 1;
                }
            }
        }
        for _ in 1..parts {
            polish.push_operator(Operator::And);
        }
        polish.finish().expect("each operator has its operands")
    }

    /// A path of few steps, among them those that PostgreSQL writes without the parentheses that they need.
    pub fn json_path(&mut self) -> JsonPath {
        const HEADS: [&str; 6] = ["$", "(-1)", "(1 + $.a)", "(-$.b)", "(exists ($))", "(($ == 1) is unknown)"];
        const STEPS: [&str; 5] = [".a", "[*]", ".**{1 to last}", " ? (@ > 1 || @ like_regex \"x\")", ".size()"];
        let mut text = ["", "strict "][self.below(2) as usize].to_owned();
        text.push_str(HEADS[self.below(6) as usize]);
        for _ in 0..=self.below(3) {
            text.push_str(STEPS[self.below(5) as usize]);
        }
        JsonPath::parse(&text).expect("it is a path")
    }

    fn array_of(&mut self, kind: u64) -> Array {
        let rows = self.below(3) as usize;
        if rows > 0 && self.below(3) == 0 {
            let elements = (0..rows * 2).map(|_| self.datum(kind)).collect();
            Array::new(vec![(rows, 1), (2, self.below(2) as i32)], elements)
        } else {
            Array::vector((0..rows).map(|_| self.datum(kind)).collect())
        }
    }

    /// A datum of the kind numbered `kind`; kinds compare only among themselves.
    pub fn datum(&mut self, kind: u64) -> Datum {
        if self.below(12) == 0 {
            return Datum::Null;
        }
        match kind {
            0 => Datum::Bool(self.below(2) == 0),
            1 => match self.below(4) {
                0 => Datum::Int2(self.int() as i16),
                1 => Datum::Int4(self.int() as i32),
                2 => Datum::Oid(self.int() as u32),
                _ => Datum::Int8(self.int()),
            },
            2 => {
                let value = match self.below(6) {
                    0 => f64::NAN,
                    1 => -0.0,
                    2 => f64::INFINITY,
                    3 => self.below(4) as f64,
                    4 => -(self.below(1000) as f64) / 8.0,
                    _ => f64::from_bits(self.bits()),
                };
                if self.below(3) == 0 { Datum::Float4(value as f32) } else { Datum::Float8(value) }
            }
            3 => Datum::Numeric(self.numeric()),
            4 => Datum::Text(Arc::from(self.text())),
            5 => {
                if self.below(2) == 0 {
                    Datum::Bpchar(Arc::from(self.text()))
                } else {
                    Datum::Text(Arc::from(self.text().trim_end_matches(' ')))
                }
            }
            6 => Datum::Bytea((0..self.below(5)).map(|_| [0, 1, 255, 97][self.below(4) as usize]).collect()),
            7 => Datum::Date(self.below(4_000_000) as i32 - 2_000_000),
            8 => Datum::Time(self.below(86_400_000_001) as i64),
            9 => Datum::Timestamp(self.int() >> 7),
            10 => Datum::Timestamptz(self.int() >> 7),
            11 => Datum::Interval(Interval {
                months: self.below(5) as i32 - 2,
                days: (self.below(5) as i32 - 2) * if self.below(2) == 0 { 30 } else { 1 },
                micros: (self.below(5) as i64 - 2) * if self.below(2) == 0 { 86_400_000_000 } else { 1 },
            }),
            12 => Datum::Uuid([self.below(3) as u8; 16]),
            13 => Datum::Jsonb(self.jsonb(2)),
            14 => Datum::Network(self.network()),
            15 => {
                let position = self.below(4) as u32;
                Datum::Enum { position, label: Arc::from(format!("label {position}")) }
            }
            16 => Datum::Array(Arc::new(self.array_of(1))),
            17 => Datum::TsVector(self.ts_vector()),
            18 => Datum::TsQuery(self.ts_query()),
            19 => Datum::JsonPath(self.json_path()),
            20 | 21 => Datum::Range(Arc::new(self.range(kind == 20))),
            22 => Datum::Multirange(self.multirange().into()),
            23 => Datum::Bits(self.some_bits()),
            24 | 25 => Datum::MacAddress(self.mac_address(kind == 25)),
            26 => Datum::Money(self.int()),
            27 => Datum::Geometry(Arc::new(self.geometry())),
            28 => Datum::Xml(Arc::from(format!("<a>{}</a>", self.below(3)))),
            29 => Datum::Hstore(self.hstore()),
            _ => Datum::Record(Arc::from(vec![self.datum(0), self.datum(3), self.datum(4)])),
        }
    }
}

/// How many kinds `Random::datum` knows.
pub const KINDS: u64 = 31;
