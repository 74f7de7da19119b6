//! A row as flat bytes: what is stored (sealed), what flows through dataflows.
//!
//! ```text
//! row     = datum*
//! datum   = tag payload
//! text    = 0x80 | length (below 128), bytes          short text has no length of its own
//! ints    = tag | count of bytes (0 for zero), minimal little-endian two's complement
//! others  = tag, then fixed bytes, varints, or varint length and bytes
//! nested  = tag, varint length of the rest, content   so that `get` skips without decoding
//! ```
//!
//! Equal datum lists give equal bytes, which is identity of representation; SQL's equality and order
//! are `key`'s. Bytes from outside pass `Row::validate` first; this file never panics on those.

mod documents;
mod plain;
mod ranges;

use documents::write_jsonb;
pub use plain::Plain;
use ranges::write_range;

use crate::jsonb::MAX_DEPTH;
use crate::numeric::SCALE_MAX;
use crate::range::of_ranges;
use crate::value::Held;
use crate::{
    Array, Bits, Datum, Geometry, Hstore, Interval, JsonPath, MacAddress, Network, Numeric, TimeTz, TsQuery, TsVector,
    Value, ValueError,
};
use num_bigint::BigInt;
use std::cell::RefCell;
use std::sync::Arc;

/// Datums packed one after another, each a tag byte and its payload.
///
/// Packing is deterministic: equal datum lists give equal bytes. `Ord` is byte order, which is only a
/// total order for consolidation, never SQL's order (that is `key`).
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Row(Box<[u8]>);

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Row(..)")
    }
}

/// No datum's packed bytes begin with this.
pub const NO_TAG: u8 = 0x1F;

const NULL: u8 = 0x00;
const FALSE: u8 = 0x01;
const TRUE: u8 = 0x02;
const FLOAT4: u8 = 0x03;
const FLOAT8: u8 = 0x04;
const NUMERIC: u8 = 0x05;
const NUMERIC_NAN: u8 = 0x06;
const NUMERIC_INFINITY: u8 = 0x07;
const NUMERIC_NEGATIVE_INFINITY: u8 = 0x08;
const TEXT: u8 = 0x09;
const BPCHAR: u8 = 0x0A;
const BYTEA: u8 = 0x0B;
const DATE: u8 = 0x0C;
const TIME: u8 = 0x0D;
const TIMESTAMP: u8 = 0x0E;
const TIMESTAMPTZ: u8 = 0x0F;
const INTERVAL: u8 = 0x10;
const UUID: u8 = 0x11;
const JSONB: u8 = 0x12;
const ENUM: u8 = 0x13;
const ARRAY: u8 = 0x14;
const RECORD: u8 = 0x15;
// The bytes of an address behind them.
const NETWORK_V4: u8 = 0x16;
const NETWORK_V6: u8 = 0x17;
const TSVECTOR: u8 = 0x18;
const TSQUERY: u8 = 0x19;
const JSONPATH: u8 = 0x1A;
const CITEXT: u8 = 0x1B;
const TIME_TZ: u8 = 0x1C;
const RANGE: u8 = 0x1D;
const MULTIRANGE: u8 = 0x1E;
// The low bits of these count the bytes that follow.
const INT2: u8 = 0x20;
const INT4: u8 = 0x28;
const INT8: u8 = 0x30;
const OID: u8 = 0x40;
const BITS: u8 = 0x48;
const MAC_ADDRESS: u8 = 0x49;
const MAC_ADDRESS_8: u8 = 0x4A;
const MONEY: u8 = 0x4B;
const UNSIGNED: u8 = 0x4C;
const GEOMETRY: u8 = 0x50;
const XML: u8 = 0x51;
const HSTORE: u8 = 0x52;
const SHORT_TEXT: u8 = 0x80;

/// What is kept of the place where rows are packed.
const PACKING_BYTES_MAX: usize = 64 << 10;

thread_local! {
    /// Where rows are packed, so that each is allocated once, with its own length.
    static PACKING: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

const TRUSTED: &str = "the bytes were made by Row::pack or passed Row::validate";

impl Row {
    /// Packs datums.
    pub fn pack<'a>(datums: impl IntoIterator<Item = &'a Datum>) -> Row {
        PACKING.with_borrow_mut(|bytes| {
            bytes.clear();
            bytes.shrink_to(PACKING_BYTES_MAX);
            datums.into_iter().for_each(|datum| write_datum(bytes, datum));
            let row = Row(bytes.as_slice().into());
            // A shorter one that comes next would leave its end there.
            bytes.fill(0);
            row
        })
    }

    /// Takes bytes that `pack` made and storage authenticated.
    pub fn from_bytes(bytes: Box<[u8]>) -> Row {
        Row(bytes)
    }

    /// Takes bytes of any origin: every later access to the row is then free of panics.
    pub fn validate(bytes: Box<[u8]>) -> Result<Row, ValueError> {
        let mut reader = PackedReader { bytes: &bytes, depth: 0 };
        while !reader.bytes.is_empty() {
            if reader.datum().is_none() {
                return Err(ValueError::new("XX001", "row bytes are malformed"));
            }
        }
        Ok(Row(bytes))
    }

    /// The packed bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// All datums.
    pub fn unpack(&self) -> Vec<Datum> {
        let mut datums = Vec::new();
        self.unpack_into(&mut datums);
        datums
    }

    /// Replaces the content of `datums` with this row's, keeping the allocation.
    pub fn unpack_into(&self, datums: &mut Vec<Datum>) {
        datums.clear();
        datums.extend(self.iter());
    }

    /// The datums one after another.
    pub fn iter(&self) -> RowIter<'_> {
        RowIter { reader: PackedReader { bytes: &self.0, depth: 0 } }
    }

    /// The datum at `index`, skipping those before it without decoding them; none past the end.
    pub fn get(&self, index: usize) -> Option<Datum> {
        let mut reader = PackedReader { bytes: &self.0, depth: 0 };
        for _ in 0..index {
            if reader.bytes.is_empty() {
                return None;
            }
            reader.skip().expect(TRUSTED);
        }
        if reader.bytes.is_empty() { None } else { Some(reader.datum().expect(TRUSTED)) }
    }

    /// Which columns another version of the row has other bytes in; neither has more columns than it tells of.
    pub fn changed_columns(&self, other: &Row, changed: &mut Vec<bool>) {
        changed.clear();
        let (mut one, mut other) = (RowIter::over(&self.0), RowIter::over(&other.0));
        loop {
            let (before, after) = (one.rest(), other.rest());
            if !(one.pass() | other.pass()) {
                return;
            }
            changed.push(before[..before.len() - one.rest().len()] != after[..after.len() - other.rest().len()]);
        }
    }

    /// Whether there are no datums.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for &'a Row {
    type Item = Datum;
    type IntoIter = RowIter<'a>;
    fn into_iter(self) -> RowIter<'a> {
        self.iter()
    }
}

/// Decodes a row's datums one after another.
pub struct RowIter<'a> {
    reader: PackedReader<'a>,
}

impl<'a> RowIter<'a> {
    /// Over the bytes of a `Row` that stand in another container, such as an arrangement's batch.
    pub fn over(bytes: &'a [u8]) -> Self {
        RowIter { reader: PackedReader { bytes, depth: 0 } }
    }

    /// Passes over one datum without decoding it; false at the end.
    pub fn pass(&mut self) -> bool {
        if self.reader.bytes.is_empty() {
            return false;
        }
        self.reader.skip().expect(TRUSTED);
        true
    }

    /// The packed bytes of those to come.
    pub fn rest(&self) -> &'a [u8] {
        self.reader.bytes
    }
}

/// The values of a packed row, in any order of its columns. Quickest from left to right.
pub struct Columns<'a> {
    bytes: &'a [u8],
    reader: PackedReader<'a>,
    /// The column that the reader stands before.
    at: usize,
}

impl<'a> Columns<'a> {
    /// Over the bytes of a `Row`.
    pub fn over(bytes: &'a [u8]) -> Self {
        Columns { bytes, reader: PackedReader { bytes, depth: 0 }, at: 0 }
    }

    /// One column; none if the row ends before it.
    #[inline(always)]
    pub fn value(&mut self, column: usize) -> Option<Value<'a>> {
        if column != self.at {
            self.seek(column);
        }
        if self.reader.bytes.is_empty() {
            return None;
        }
        self.at += 1;
        Some(self.reader.value().expect(TRUSTED))
    }

    /// Goes before a column; to the end, if the row ends before it.
    fn seek(&mut self, column: usize) {
        if column < self.at {
            *self = Columns::over(self.bytes);
        }
        while self.at < column && !self.reader.bytes.is_empty() {
            self.reader.skip().expect(TRUSTED);
            self.at += 1;
        }
    }
}

impl Iterator for RowIter<'_> {
    type Item = Datum;
    fn next(&mut self) -> Option<Datum> {
        if self.reader.bytes.is_empty() {
            return None;
        }
        Some(self.reader.datum().expect(TRUSTED))
    }
}

/// Appends one datum's packed bytes.
pub fn write_datum(out: &mut Vec<u8>, datum: &Datum) {
    match datum {
        Datum::Null => out.push(NULL),
        Datum::Bool(false) => out.push(FALSE),
        Datum::Bool(true) => out.push(TRUE),
        Datum::Int2(value) => write_int(out, INT2, i64::from(*value)),
        Datum::Int4(value) => write_int(out, INT4, i64::from(*value)),
        Datum::Int8(value) => write_int(out, INT8, *value),
        // As a signed number, so that four bytes always do.
        Datum::Oid(value) => write_int(out, OID, i64::from(*value as i32)),
        Datum::Float4(value) => {
            out.push(FLOAT4);
            out.extend_from_slice(&value.to_bits().to_le_bytes());
        }
        Datum::Float8(value) => {
            out.push(FLOAT8);
            out.extend_from_slice(&value.to_bits().to_le_bytes());
        }
        Datum::Numeric(value) => write_numeric(out, value),
        Datum::Text(text) if text.len() < 128 => {
            out.push(SHORT_TEXT | text.len() as u8);
            out.extend_from_slice(text.as_bytes());
        }
        Datum::Text(text) => write_bytes(out, TEXT, text.as_bytes()),
        Datum::Bpchar(text) => write_bytes(out, BPCHAR, text.as_bytes()),
        Datum::Citext(text) => write_bytes(out, CITEXT, text.as_bytes()),
        Datum::Xml(text) => write_bytes(out, XML, text.as_bytes()),
        Datum::Hstore(value) => write_bytes(out, HSTORE, value.packed()),
        Datum::Bytea(bytes) => write_bytes(out, BYTEA, bytes),
        Datum::Date(value) => write_signed(out, DATE, i64::from(*value)),
        Datum::Time(value) => write_signed(out, TIME, *value),
        Datum::TimeTz(value) => write_time_tz(out, *value),
        Datum::Timestamp(value) => write_signed(out, TIMESTAMP, *value),
        Datum::Timestamptz(value) => write_signed(out, TIMESTAMPTZ, *value),
        Datum::Interval(value) => write_interval(out, value),
        Datum::Network(value) => write_network(out, value),
        Datum::MacAddress(value) => write_mac_address(out, *value),
        Datum::Bits(bits) => write_bits(out, bits),
        Datum::Money(value) => write_signed(out, MONEY, *value),
        Datum::Unsigned(value) => write_signed(out, UNSIGNED, value.cast_signed()),
        Datum::Uuid(bytes) => {
            out.push(UUID);
            out.extend_from_slice(bytes);
        }
        // As they are sent.
        Datum::Geometry(shape) => write_nested(out, GEOMETRY, |content| shape.pack(content)),
        Datum::TsVector(vector) => write_nested(out, TSVECTOR, |content| vector.encode(content)),
        Datum::TsQuery(query) => write_nested(out, TSQUERY, |content| query.encode(content)),
        Datum::Jsonb(value) => write_nested(out, JSONB, |content| write_jsonb(content, value)),
        Datum::JsonPath(path) => write_bytes(out, JSONPATH, path.packed().as_bytes()),
        Datum::Enum { position, label } => write_nested(out, ENUM, |content| {
            write_varint(content, u64::from(*position));
            content.extend_from_slice(label.as_bytes());
        }),
        Datum::Array(array) => write_nested(out, ARRAY, |content| write_array(content, array)),
        Datum::Record(fields) => write_nested(out, RECORD, |content| {
            for field in fields.iter() {
                write_datum(content, field);
            }
        }),
        Datum::Range(range) => write_nested(out, RANGE, |content| write_range(content, range)),
        Datum::Multirange(ranges) => write_nested(out, MULTIRANGE, |content| {
            for range in ranges.iter() {
                write_range(content, range);
            }
        }),
    }
}

fn write_array(out: &mut Vec<u8>, array: &Array) {
    write_varint(out, array.dimensions.len() as u64);
    for (length, lower) in &array.dimensions {
        write_varint(out, *length as u64);
        write_varint(out, zigzag(i64::from(*lower)));
    }
    for element in &array.elements {
        write_datum(out, element);
    }
}

fn write_mac_address(out: &mut Vec<u8>, value: MacAddress) {
    out.push(if value.bytes().len() == 6 { MAC_ADDRESS } else { MAC_ADDRESS_8 });
    out.extend_from_slice(value.bytes());
}

fn write_bits(out: &mut Vec<u8>, bits: &Bits) {
    let (unused, bytes) = bits.parts();
    out.push(BITS);
    write_varint(out, bytes.len() as u64 + 1);
    out.push(unused);
    out.extend_from_slice(bytes);
}

fn write_time_tz(out: &mut Vec<u8>, value: TimeTz) {
    write_signed(out, TIME_TZ, value.micros);
    write_varint(out, zigzag(i64::from(value.west)));
}

fn write_network(out: &mut Vec<u8>, value: &Network) {
    out.push(if value.is_v4() { NETWORK_V4 } else { NETWORK_V6 });
    out.push(value.length());
    value.append_to(out);
}

fn write_interval(out: &mut Vec<u8>, value: &Interval) {
    write_signed(out, INTERVAL, i64::from(value.months));
    write_varint(out, zigzag(i64::from(value.days)));
    write_varint(out, zigzag(value.micros));
}

fn write_int(out: &mut Vec<u8>, tag: u8, value: i64) {
    let mut length = 0;
    if value != 0 {
        // One bit more than the magnitude needs, for the sign.
        let bits = 65 - if value < 0 { (!value).leading_zeros() } else { value.leading_zeros() };
        length = bits.div_ceil(8) as usize;
    }
    out.push(tag | length as u8);
    out.extend_from_slice(&value.to_le_bytes()[..length]);
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    ((value >> 1) as i64) ^ -((value & 1) as i64)
}

fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn write_signed(out: &mut Vec<u8>, tag: u8, value: i64) {
    out.push(tag);
    write_varint(out, zigzag(value));
}

fn write_bytes(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    write_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn write_nested(out: &mut Vec<u8>, tag: u8, write: impl FnOnce(&mut Vec<u8>)) {
    let mut content = Vec::new();
    write(&mut content);
    write_bytes(out, tag, &content);
}

fn write_numeric(out: &mut Vec<u8>, value: &Numeric) {
    match value {
        Numeric::Finite { unscaled, scale } => {
            out.push(NUMERIC);
            write_varint(out, u64::from(*scale));
            let bytes = unscaled.to_signed_bytes_le();
            write_varint(out, bytes.len() as u64);
            out.extend_from_slice(&bytes);
        }
        Numeric::NaN => out.push(NUMERIC_NAN),
        Numeric::Infinity => out.push(NUMERIC_INFINITY),
        Numeric::NegativeInfinity => out.push(NUMERIC_NEGATIVE_INFINITY),
    }
}

/// A number in two's complement of at most eight bytes; none are zero.
fn little_endian(bytes: &[u8]) -> i64 {
    let fill = if bytes.last().is_some_and(|last| last & 0x80 != 0) { 0xFF } else { 0 };
    let mut full = [fill; 8];
    full[..bytes.len()].copy_from_slice(bytes);
    i64::from_le_bytes(full)
}

/// Reads packed bytes; every method answers `None` for bytes that `pack` cannot have made.
struct PackedReader<'a> {
    bytes: &'a [u8],
    depth: usize,
}

impl<'a> PackedReader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7F);
            if shift == 63 && part > 1 {
                return None;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        self.varint().map(unzigzag)
    }

    fn counted(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        self.take(length)
    }

    fn text(&mut self) -> Option<Arc<str>> {
        std::str::from_utf8(self.counted()?).ok().map(Arc::from)
    }

    fn nested(&mut self) -> Option<PackedReader<'a>> {
        if self.depth > MAX_DEPTH {
            return None;
        }
        Some(PackedReader { depth: self.depth + 1, bytes: self.counted()? })
    }

    #[inline]
    fn int(&mut self, length: u8, most: u8) -> Option<i64> {
        if length > most {
            return None;
        }
        if length > 0
            && let Some(ahead) = self.bytes.first_chunk::<8>()
        {
            // What belongs to the next ones is shifted out.
            let shift = 64 - 8 * u32::from(length);
            let value = i64::from_le_bytes(*ahead) << shift >> shift;
            self.bytes = &self.bytes[usize::from(length)..];
            return Some(value);
        }
        self.take(usize::from(length)).map(little_endian)
    }

    fn datum(&mut self) -> Option<Datum> {
        self.value()?.into_datum()
    }

    #[inline(always)]
    fn value(&mut self) -> Option<Value<'a>> {
        let tag = self.byte()?;
        Some(match tag {
            NULL => Value::Null,
            FALSE => Value::Bool(false),
            TRUE => Value::Bool(true),
            FLOAT4 => Value::Float4(f32::from_bits(u32::from_le_bytes(self.take(4)?.try_into().ok()?))),
            FLOAT8 => Value::Float8(f64::from_bits(u64::from_le_bytes(self.take(8)?.try_into().ok()?))),
            NUMERIC..=NUMERIC_NEGATIVE_INFINITY => self.numeric(tag)?,
            TEXT => Value::Text(self.counted()?),
            BPCHAR => Value::Bpchar(self.counted()?),
            CITEXT => Value::Citext(self.counted()?),
            XML => Value::Xml(self.counted()?),
            HSTORE => Value::Hstore(Hstore::of_packed(self.counted()?)?),
            BYTEA => Value::Bytea(self.counted()?),
            DATE => Value::Date(i32::try_from(self.signed()?).ok()?),
            TIME => Value::Time(self.signed()?),
            TIME_TZ => Value::TimeTz(TimeTz { micros: self.signed()?, west: i32::try_from(self.signed()?).ok()? }),
            TIMESTAMP => Value::Timestamp(self.signed()?),
            TIMESTAMPTZ => Value::Timestamptz(self.signed()?),
            INTERVAL => Value::Interval(Interval {
                months: i32::try_from(self.signed()?).ok()?,
                days: i32::try_from(self.signed()?).ok()?,
                micros: self.signed()?,
            }),
            NETWORK_V4 => Value::Network(self.network(4)?),
            NETWORK_V6 => Value::Network(self.network(16)?),
            BITS => {
                let (unused, bytes) = self.counted()?.split_first()?;
                Value::Bits(Bits::of_parts(*unused, bytes)?)
            }
            MAC_ADDRESS => Value::MacAddress(MacAddress::Six(self.take(6)?.try_into().ok()?)),
            MAC_ADDRESS_8 => Value::MacAddress(MacAddress::Eight(self.take(8)?.try_into().ok()?)),
            MONEY => Value::Money(self.signed()?),
            UNSIGNED => Value::Unsigned(self.signed()?.cast_unsigned()),
            GEOMETRY => Value::Geometry(Arc::new(Geometry::unpack(self.counted()?)?)),
            UUID => Value::Uuid(self.take(16)?.try_into().ok()?),
            TSVECTOR => Value::TsVector(TsVector::unpack(self.counted()?)?),
            TSQUERY => Value::TsQuery(TsQuery::decode(self.counted()?).ok()?),
            JSONPATH => Value::JsonPath(JsonPath::unpack(self.counted()?)?),
            JSONB | ENUM | ARRAY | RECORD | RANGE | MULTIRANGE => self.parts(tag)?,
            INT2..=0x27 => Value::Int2(self.int(tag - INT2, 2)? as i16),
            INT4..=0x2F => Value::Int4(self.int(tag - INT4, 4)? as i32),
            INT8..=0x3F => Value::Int8(self.int(tag - INT8, 8)?),
            OID..=0x47 => Value::Oid(self.int(tag - OID, 4)? as i32 as u32),
            SHORT_TEXT..=0xFF => Value::Text(self.take(usize::from(tag & !SHORT_TEXT))?),
            // Bytes are not our enum: whatever is left was never written.
            _ => return None,
        })
    }

    /// What has content of its own.
    fn parts(&mut self, tag: u8) -> Option<Value<'a>> {
        let mut content = self.nested()?;
        Some(match tag {
            JSONB => {
                let value = content.jsonb(0)?;
                content.ended()?;
                Value::Jsonb(Held::Made(Box::new(value)))
            }
            ENUM => Value::Enum { position: u32::try_from(content.varint()?).ok()?, label: content.bytes },
            ARRAY => Value::Array(Arc::new(content.array()?)),
            RECORD => {
                let mut fields = Vec::new();
                while !content.bytes.is_empty() {
                    fields.push(content.datum()?);
                }
                Value::Record(Arc::from(fields))
            }
            RANGE => {
                let range = content.range()?;
                content.ended()?;
                Value::Range(Arc::new(range))
            }
            MULTIRANGE => {
                let mut ranges = Vec::new();
                while !content.bytes.is_empty() {
                    ranges.push(content.range()?);
                }
                Value::Multirange(Arc::from(of_ranges(ranges)))
            }
            _ => return None,
        })
    }

    fn ended(&self) -> Option<()> {
        self.bytes.is_empty().then_some(())
    }

    fn numeric(&mut self, tag: u8) -> Option<Value<'a>> {
        Some(Value::Numeric(Held::Made(Box::new(match tag {
            NUMERIC => {
                let scale = u16::try_from(self.varint()?).ok().filter(|scale| usize::from(*scale) <= SCALE_MAX)?;
                let digits = self.counted()?;
                if digits.len() <= 8 {
                    return Some(Value::Decimal { unscaled: little_endian(digits), scale });
                }
                Numeric::Finite { unscaled: BigInt::from_signed_bytes_le(digits), scale }
            }
            NUMERIC_NAN => Numeric::NaN,
            NUMERIC_INFINITY => Numeric::Infinity,
            NUMERIC_NEGATIVE_INFINITY => Numeric::NegativeInfinity,
            _ => return None,
        }))))
    }

    fn array(&mut self) -> Option<Array> {
        let count = self.varint()?;
        if count > 6 {
            return None;
        }
        let mut dimensions = Vec::with_capacity(count as usize);
        let mut expected = usize::from(count > 0);
        for _ in 0..count {
            let length = usize::try_from(self.varint()?).ok()?;
            expected = expected.checked_mul(length)?;
            dimensions.push((length, i32::try_from(self.signed()?).ok()?));
        }
        // Each element takes at least a byte: nothing is reserved on the word of a length.
        let mut elements = Vec::with_capacity(expected.min(self.bytes.len()));
        while !self.bytes.is_empty() {
            elements.push(self.datum()?);
        }
        (elements.len() == expected).then_some(Array::new(dimensions, elements))
    }

    fn network(&mut self, bytes: usize) -> Option<Network> {
        let length = self.byte()?;
        Network::of_bytes(self.take(bytes)?, length)
    }

    fn skip(&mut self) -> Option<()> {
        let tag = self.byte()?;
        match tag {
            NULL | FALSE | TRUE | NUMERIC_NAN | NUMERIC_INFINITY | NUMERIC_NEGATIVE_INFINITY => {}
            FLOAT4 => drop(self.take(4)?),
            FLOAT8 => drop(self.take(8)?),
            NUMERIC => {
                self.varint()?;
                self.counted()?;
            }
            TEXT | BPCHAR | CITEXT | BYTEA | BITS | TSVECTOR | TSQUERY | JSONPATH | JSONB | ENUM | ARRAY | RECORD
            | RANGE | MULTIRANGE | GEOMETRY | XML | HSTORE => {
                self.counted()?;
            }
            DATE | TIME | TIMESTAMP | TIMESTAMPTZ | MONEY | UNSIGNED => drop(self.varint()?),
            TIME_TZ => {
                self.varint()?;
                self.varint()?;
            }
            INTERVAL => {
                self.varint()?;
                self.varint()?;
                self.varint()?;
            }
            NETWORK_V4 => drop(self.take(5)?),
            NETWORK_V6 => drop(self.take(17)?),
            MAC_ADDRESS => drop(self.take(6)?),
            MAC_ADDRESS_8 => drop(self.take(8)?),
            UUID => drop(self.take(16)?),
            INT2..=0x27 => drop(self.take(usize::from(tag - INT2))?),
            INT4..=0x2F => drop(self.take(usize::from(tag - INT4))?),
            INT8..=0x3F => drop(self.take(usize::from(tag - INT8))?),
            OID..=0x47 => drop(self.take(usize::from(tag - OID))?),
            SHORT_TEXT..=0xFF => drop(self.take(usize::from(tag & !SHORT_TEXT))?),
            _ => return None,
        }
        Some(())
    }
}
