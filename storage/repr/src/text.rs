//! Text input and output of every type: the one place that dispatches on it.
//!
//! Literals, parameters in text format, COPY, casts to and from text, and results on the wire all pass here.
//! Scalars are in `text::scalar`, integers in `text::integer`, floats in `text::float`, arrays and composites in `text::nested`. Never reads
//! a clock or a catalog: the `TextContext` brings what is needed of them.

pub mod c_number;
mod float;
pub mod integer;
pub(crate) mod nested;
mod scalar;

pub use float::{format_float4, format_float8, format_rounded};
pub(crate) use float::{parse_float4, parse_float8};
pub use scalar::{assign_length, byte_of_char, cast_length, char_of_byte};
pub(crate) use scalar::{format_uuid, parse_bool, parse_bytea, parse_int, parse_uuid};

use crate::datetime::parse::{DateContext, parse_date, parse_time, parse_time_tz, parse_timestamp, parse_timestamptz};
use crate::datetime::{self, DateStyle, Zone, round_to_precision};
use crate::geometry::GeometricType;
use crate::hstore;
use crate::interval::IntervalStyle;
use crate::money::{parse_money, write_money};
use crate::numeric::write_decimal;
use crate::range::{parse_multirange, parse_range, write_multirange, write_range};
use crate::unsigned;
use crate::{
    Bits, Datum, Encoding, Geometry, Id, Interval, JsonPath, Jsonb, MacAddress, Network, Numeric, ScalarType, TsQuery,
    TsVector, Value, ValueError,
};
use std::fmt::Write;
use std::sync::Arc;

/// What text forms need of a catalog: enums and the names behind reg* values.
pub trait TextCatalog: Send + Sync {
    /// The enum's name.
    fn enum_name(&self, id: Id) -> Option<String>;
    /// A label's place in the enum's order.
    fn enum_position(&self, id: Id, label: &str) -> Option<u32>;
    /// The name behind a reg* value, spelled as PostgreSQL prints it.
    fn object_name(&self, kind: &ScalarType, oid: Id) -> Option<String>;
    /// The object that a reg* literal names.
    ///
    /// # Errors
    /// 42725 for a name that several have, 42601 and its like for what is no name.
    fn object_oid(&self, kind: &ScalarType, name: &str) -> Result<Option<Id>, ValueError>;
    /// An entry of an access list, as it is written.
    ///
    /// # Errors
    /// 22P02 for what is none, 42704 for a role that is not there.
    fn grant(&self, text: &str) -> Result<String, ValueError>;
}

/// The `bytea_output` setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ByteaOutput {
    /// `\\x0aff`
    #[default]
    Hex,
    /// `\\012\\377`
    Escape,
}

/// The settings on which text forms depend. The default is PostgreSQL's, with zone UTC.
#[derive(Clone)]
pub struct TextContext {
    /// `TimeZone`
    pub zone: Zone,
    /// `extra_float_digits`
    pub extra_float_digits: i32,
    /// `bytea_output`
    pub bytea_output: ByteaOutput,
    /// `DateStyle`
    pub date_style: DateStyle,
    /// `IntervalStyle`
    pub interval_style: IntervalStyle,
    /// The transaction's start in microseconds from 2000-01-01 UTC, if 'now' and 'today' may be read.
    pub now: Option<i64>,
    /// `client_encoding`: in which text goes to the client and comes from it.
    pub encoding: Encoding,
    /// Enums and names of objects; without one, enums cannot be read and reg* values print as numbers.
    pub catalog: Option<Arc<dyn TextCatalog>>,
}

impl Default for TextContext {
    fn default() -> Self {
        TextContext {
            zone: Zone::utc(),
            extra_float_digits: 1,
            bytea_output: ByteaOutput::Hex,
            date_style: DateStyle::default(),
            interval_style: IntervalStyle::Postgres,
            now: None,
            encoding: Encoding::UTF8,
            catalog: None,
        }
    }
}

impl TextContext {
    /// The part that dates and times need.
    pub(crate) fn date_context(&self) -> DateContext {
        DateContext { zone: self.zone.clone(), order: self.date_style.order, now: self.now }
    }
}

/// A type's input function. The modifier (-1 for none) is applied as an assignment does: 22001 for strings too long.
pub fn parse(scalar: &ScalarType, modifier: i32, text: &str, context: &TextContext) -> Result<Datum, ValueError> {
    Ok(match scalar {
        ScalarType::Bool => Datum::Bool(parse_bool(text)?),
        ScalarType::Int2 => Datum::Int2(parse_int(text, "smallint")?),
        ScalarType::Int4 => Datum::Int4(parse_int(text, "integer")?),
        ScalarType::Int8 => Datum::Int8(parse_int(text, "bigint")?),
        ScalarType::Oid => Datum::Oid(scalar::parse_oid(text, "oid")?),
        ScalarType::Xid => Datum::Oid(scalar::parse_oid(text, "xid")?),
        ScalarType::Regclass
        | ScalarType::Regtype
        | ScalarType::Regproc
        | ScalarType::Regprocedure
        | ScalarType::Regoper
        | ScalarType::Regoperator
        | ScalarType::Regrole
        | ScalarType::Regcollation
        | ScalarType::Regconfig
        | ScalarType::Regdictionary
        | ScalarType::Regnamespace => Datum::Oid(scalar::parse_object(scalar, text, context)?),
        ScalarType::Float4 => Datum::Float4(parse_float4(text)?),
        ScalarType::Float8 => Datum::Float8(parse_float8(text)?),
        ScalarType::Numeric => Datum::Numeric(text.parse::<Numeric>()?.apply_modifier(modifier)?),
        ScalarType::Text | ScalarType::Cstring | ScalarType::Refcursor | ScalarType::Unknown => {
            Datum::Text(Arc::from(scalar::without_zero_bytes(text)?))
        }
        ScalarType::Varchar | ScalarType::Bpchar => assign_length(scalar, modifier, scalar::without_zero_bytes(text)?)?,
        ScalarType::Citext => Datum::Citext(Arc::from(scalar::without_zero_bytes(text)?)),
        ScalarType::Name => Datum::Text(Arc::from(scalar::truncate_name(scalar::without_zero_bytes(text)?))),
        ScalarType::Char => Datum::Text(scalar::char_of_byte(scalar::byte_of_char(text.as_bytes()))),
        ScalarType::Bytea => Datum::Bytea(Arc::from(parse_bytea(text)?)),
        ScalarType::Date => Datum::Date(parse_date(text, &context.date_context())?),
        ScalarType::Time => Datum::Time(round_to_precision(parse_time(text, &context.date_context())?, modifier)),
        ScalarType::TimeTz => Datum::TimeTz(parse_time_tz(text, &context.date_context())?.rounded(modifier)),
        ScalarType::Timestamp => {
            let parsed = parse_timestamp(text, &context.date_context())?;
            Datum::Timestamp(datetime::check_timestamp(round_to_precision(parsed, modifier))?)
        }
        ScalarType::Timestamptz => {
            let parsed = parse_timestamptz(text, &context.date_context())?;
            Datum::Timestamptz(datetime::check_timestamp(round_to_precision(parsed, modifier))?)
        }
        ScalarType::Interval => Datum::Interval(Interval::parse(text, modifier, context.interval_style)?),
        ScalarType::Inet => Datum::Network(Network::parse(text, false)?),
        ScalarType::Cidr => Datum::Network(Network::parse(text, true)?),
        ScalarType::MacAddr => Datum::MacAddress(MacAddress::parse(text)?),
        ScalarType::MacAddr8 => Datum::MacAddress(MacAddress::parse_eight(text)?),
        ScalarType::Bit | ScalarType::VarBit => Datum::Bits(Bits::parse(text)?.assign_length(scalar, modifier)?),
        ScalarType::Money => Datum::Money(parse_money(text)?),
        ScalarType::Xml => Datum::Xml(Arc::from(crate::xml::checked(scalar::without_zero_bytes(text)?)?)),
        ScalarType::Hstore => Datum::Hstore(hstore::parse(scalar::without_zero_bytes(text)?)?),
        ScalarType::Uuid => Datum::Uuid(parse_uuid(text)?),
        ScalarType::TsVector => Datum::TsVector(TsVector::parse(scalar::without_zero_bytes(text)?)?),
        ScalarType::TsQuery => Datum::TsQuery(TsQuery::parse(scalar::without_zero_bytes(text)?)?),
        ScalarType::Json => {
            crate::jsonb::validate_json(text)?;
            Datum::Text(Arc::from(text))
        }
        ScalarType::Jsonb => Datum::Jsonb(text.parse::<Jsonb>()?),
        ScalarType::JsonPath => Datum::JsonPath(JsonPath::parse(scalar::without_zero_bytes(text)?)?),
        ScalarType::Int2Vector | ScalarType::OidVector => nested::parse_vector(scalar, text)?,
        ScalarType::Void => Datum::Text(Arc::from("")),
        ScalarType::Enum(id) => scalar::parse_enum(*id, text, context)?,
        ScalarType::Record(record) => nested::parse_record(record, text, context)?,
        ScalarType::Array(element) => nested::parse_array(element, modifier, text, context)?,
        other => parse_other(other, text, context)?,
    })
}

/// Reads a shape, a number without a sign, a range or a multirange.
fn parse_other(scalar: &ScalarType, text: &str, context: &TextContext) -> Result<Datum, ValueError> {
    Ok(match scalar {
        ScalarType::Xid8 => Datum::Unsigned(unsigned::parse_xid8(text)),
        ScalarType::PgLsn => Datum::Unsigned(unsigned::parse_lsn(text)?),
        ScalarType::Tid => Datum::Unsigned(unsigned::parse_tid(text)?),
        ScalarType::AclItem => Datum::Text(Arc::from(scalar::parse_grant(text, context)?)),
        ScalarType::PgSnapshot | ScalarType::TxidSnapshot => {
            Datum::Text(Arc::from(unsigned::TransactionSnapshot::parse(text)?.text()))
        }
        other => match GeometricType::of(other) {
            Some(kind) => Datum::Geometry(Arc::new(Geometry::parse(kind, text)?)),
            None => parse_ranges(other, text, context)?,
        },
    })
}

/// Reads a range or a multirange.
fn parse_ranges(scalar: &ScalarType, text: &str, context: &TextContext) -> Result<Datum, ValueError> {
    match scalar.multirange_range() {
        Some(range) => Ok(Datum::Multirange(Arc::from(parse_multirange(&range, text, context)?))),
        None => Ok(Datum::Range(Arc::new(parse_range(scalar, text, context)?))),
    }
}

/// What the bounds of a range or a multirange are.
fn bounds_of(scalar: &ScalarType) -> ScalarType {
    let range = scalar.multirange_range();
    range.as_ref().unwrap_or(scalar).range_element().unwrap_or(ScalarType::Text)
}

/// A type's output function. NULL has no text: callers look for it first, and get an empty string here.
pub fn format(datum: &Datum, scalar: &ScalarType, context: &TextContext) -> String {
    let mut out = String::new();
    write_text(&mut out, datum, scalar, context);
    out
}

const WRITING: &str = "writing to a String does not fail";

/// Appends a datum's text.
pub fn write_text(out: &mut String, datum: &Datum, scalar: &ScalarType, context: &TextContext) {
    match datum {
        // Known to be UTF-8.
        Datum::Text(text) | Datum::Bpchar(text) | Datum::Citext(text) => out.push_str(text),
        datum => write_value(out, datum.value(), scalar, context),
    }
}

/// Appends a value's text.
pub fn write_value(out: &mut String, value: Value<'_>, scalar: &ScalarType, context: &TextContext) {
    match value {
        Value::Null => {}
        Value::Bool(value) => out.push(if value { 't' } else { 'f' }),
        Value::Int2(value) => integer::push(out, i64::from(value)),
        Value::Int4(value) => integer::push(out, i64::from(value)),
        Value::Int8(value) => integer::push(out, value),
        Value::Oid(value) => scalar::write_object(out, value, scalar, context),
        Value::Float4(value) if context.extra_float_digits > 0 => out.push_str(&format_float4(value)),
        Value::Float4(value) => {
            out.push_str(&float::format_rounded(f64::from(value), (6 + context.extra_float_digits).max(1) as usize));
        }
        Value::Float8(value) if context.extra_float_digits > 0 => out.push_str(&format_float8(value)),
        Value::Float8(value) => {
            out.push_str(&float::format_rounded(value, (15 + context.extra_float_digits).max(1) as usize));
        }
        Value::Numeric(value) => write!(out, "{}", *value).expect(WRITING),
        Value::Decimal { unscaled, scale } => write_decimal(out, unscaled, scale).expect(WRITING),
        Value::Text(text) | Value::Bpchar(text) | Value::Citext(text) | Value::Enum { label: text, .. } => {
            out.push_str(std::str::from_utf8(text).expect("packed from a string"));
        }
        Value::Xml(text) => out.push_str(&crate::xml::shown(std::str::from_utf8(text).expect("packed from a string"))),
        Value::Hstore(value) => hstore::format(value.pairs(), out),
        Value::Bytea(bytes) => scalar::write_bytea(out, bytes, context.bytea_output),
        Value::Date(value) => context.date_style.write_date(out, value),
        Value::Time(value) => datetime::write_time(out, value),
        Value::TimeTz(value) => value.write(out),
        Value::Timestamp(value) => context.date_style.write_timestamp(out, value),
        Value::Timestamptz(value) => context.date_style.write_timestamptz(out, value, &context.zone),
        Value::Interval(value) => out.push_str(&value.format(context.interval_style)),
        Value::Network(value) => out.push_str(&value.shown(*scalar == ScalarType::Cidr)),
        Value::MacAddress(value) => value.write(out),
        Value::Bits(bits) => bits.write(out),
        Value::Money(value) => write_money(out, value),
        Value::Unsigned(value) => unsigned::write(out, value, scalar),
        Value::Geometry(shape) => shape.write(out, context),
        Value::Uuid(bytes) => out.push_str(&format_uuid(bytes)),
        Value::TsVector(vector) => vector.write_text(out),
        Value::TsQuery(query) => query.write_text(out),
        Value::Jsonb(value) => value.write_text(out),
        Value::JsonPath(path) => path.write_text(out),
        Value::Array(array) => nested::write_array(out, &array, scalar, context),
        Value::Record(fields) => nested::write_record(out, &fields, scalar, context),
        Value::Range(range) => write_range(out, &range, &bounds_of(scalar), context),
        Value::Multirange(ranges) => write_multirange(out, &ranges, &bounds_of(scalar), context),
    }
}
