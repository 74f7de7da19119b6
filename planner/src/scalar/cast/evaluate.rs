//! The casts between types, and running them, modifiers included.

use super::{Cast, CastContext, CastMethod};
use crate::scalar::func::jsonpath::check as check_path;
use crate::scalar::func::{append_json, hstore, reshaped, to_jsonb};
use crate::scalar::{Answer, EvalContext};
use repr::datetime::arithmetic::{date_to_timestamp, timestamp_to_date};
use repr::datetime::{self, DAY_MICROS, round_to_precision};
use repr::range::of_ranges;
use repr::text::{self, TextContext};
use repr::types::Modifier;
use repr::{Array, Bits, ColumnType, Datum, Jsonb, MacAddress, Numeric, ScalarType, TimeTz, ValueError, poll};
use std::sync::{Arc, LazyLock};

/// The cents of one, as a factor and as digits behind the point.
const CENTS: i64 = 100;
const MONEY_SCALE: u16 = 2;

/// The rows of `pg_cast` among the types we have, and the least context they apply in.
pub(super) fn listed(from: &ScalarType, to: &ScalarType) -> Option<(CastMethod, CastContext)> {
    use CastContext::{Assignment, Explicit, Implicit};
    use CastMethod::{DateTime, Input, Json, Network, Number, Output, Relabel, Shape};
    use ScalarType as T;
    Some(match (from, to) {
        (T::Bool, T::Text | T::Varchar | T::Bpchar) => (Output, Assignment),
        (T::Bool, T::Int4) | (T::Int4, T::Bool) => (Number, Explicit),
        (T::Int4, T::Char) | (T::Char, T::Int4) => (Number, Explicit),
        (T::Citext, T::Text | T::Varchar) => (Relabel, Implicit),
        (T::Citext, T::Bpchar) | (T::Text | T::Varchar | T::Bpchar, T::Citext) => (Relabel, Assignment),
        (T::Bool | T::Inet, T::Citext) => (Output, Assignment),
        (T::Char, T::Text) => (Relabel, Implicit),
        (T::Char, T::Varchar | T::Bpchar) => (Relabel, Assignment),
        (T::Text | T::Varchar | T::Bpchar, T::Char) => (Relabel, Assignment),
        (T::Text | T::Varchar, T::Text | T::Varchar | T::Bpchar | T::Name) => (Relabel, Implicit),
        (T::Bpchar, T::Text | T::Varchar | T::Name) => (Relabel, Implicit),
        (T::Name, T::Text) => (Relabel, Implicit),
        (T::Name, T::Varchar | T::Bpchar) => (Relabel, Assignment),
        (T::Text | T::Varchar, T::Regclass) => (Input, Implicit),
        (T::Int2, T::Int4 | T::Int8 | T::Float4 | T::Float8 | T::Numeric) => (Number, Implicit),
        (T::Int4, T::Int8 | T::Float4 | T::Float8 | T::Numeric) => (Number, Implicit),
        (T::Int8, T::Float4 | T::Float8 | T::Numeric) => (Number, Implicit),
        (T::Int4 | T::Int8, T::Int2) | (T::Int8, T::Int4) => (Number, Assignment),
        (T::Int2 | T::Int4 | T::Int8, T::Oid) => (Number, Implicit),
        (T::Int2 | T::Int4 | T::Int8, reg) if reg.is_reg() => (Number, Implicit),
        (T::Float4, T::Float8) => (Number, Implicit),
        (T::Float8, T::Float4) => (Number, Assignment),
        (T::Float4 | T::Float8, T::Int2 | T::Int4 | T::Int8 | T::Numeric) => (Number, Assignment),
        (T::Numeric, T::Float4 | T::Float8) => (Number, Implicit),
        (T::Numeric, T::Int2 | T::Int4 | T::Int8) => (Number, Assignment),
        (T::Oid, T::Int4 | T::Int8) => (Number, Assignment),
        (T::Regproc, T::Regprocedure) | (T::Regprocedure, T::Regproc) => (Relabel, Implicit),
        (T::Regoper, T::Regoperator) | (T::Regoperator, T::Regoper) => (Relabel, Implicit),
        (T::Oid, reg) if reg.is_reg() => (Relabel, Implicit),
        (reg, T::Oid) if reg.is_reg() => (Relabel, Implicit),
        (reg, T::Int4 | T::Int8) if reg.is_reg() => (Number, Assignment),
        (T::Date, T::Timestamp | T::Timestamptz) => (DateTime, Implicit),
        (T::Timestamp, T::Timestamptz) => (DateTime, Implicit),
        (T::Timestamp | T::Timestamptz, T::Date | T::Time) => (DateTime, Assignment),
        (T::Timestamptz, T::Timestamp) => (DateTime, Assignment),
        (T::Time, T::TimeTz) => (DateTime, Implicit),
        (T::TimeTz, T::Time) | (T::Timestamptz, T::TimeTz) => (DateTime, Assignment),
        (T::Time, T::Interval) => (DateTime, Implicit),
        (T::Interval, T::Time) => (DateTime, Assignment),
        (T::Cidr, T::Inet) => (Relabel, Implicit),
        (T::Inet, T::Cidr) => (Network, Assignment),
        (T::MacAddr, T::MacAddr8) | (T::MacAddr8, T::MacAddr) => (Network, Implicit),
        (T::Bit, T::VarBit) | (T::VarBit, T::Bit) => (Relabel, Implicit),
        (T::Int4 | T::Int8, T::Bit) | (T::Bit, T::Int4 | T::Int8) => (Number, Explicit),
        (T::Money, T::Numeric) | (T::Numeric | T::Int4 | T::Int8, T::Money) => (Number, Assignment),
        (T::Xid8, T::Xid) => (Number, Explicit),
        (T::Xml, T::Text | T::Varchar | T::Bpchar) => (Relabel, Assignment),
        (T::Point, T::Box) | (T::Path | T::Box, T::Polygon) | (T::Polygon, T::Path) => (Shape, Assignment),
        (T::Lseg | T::Box | T::Polygon | T::Circle, T::Point) => (Shape, Explicit),
        (T::Box, T::Lseg | T::Circle) | (T::Polygon, T::Box | T::Circle) | (T::Circle, T::Box | T::Polygon) => {
            (Shape, Explicit)
        }
        (T::Hstore, T::Json | T::Jsonb) => (CastMethod::Hstore, Explicit),
        (T::Array(element), T::Hstore) if **element == T::Text => (CastMethod::Hstore, Explicit),
        (T::Json, T::Jsonb) | (T::Jsonb, T::Json) => (Json, Assignment),
        (T::Jsonb, T::Bool | T::Int2 | T::Int4 | T::Int8 | T::Float4 | T::Float8 | T::Numeric) => (Json, Explicit),
        (range, multirange) if multirange.multirange_range().as_ref() == Some(range) => (CastMethod::Range, Explicit),
        (T::Int2Vector, T::Array(element)) if **element == T::Int2 => (Relabel, Implicit),
        (T::OidVector, T::Array(element)) if **element == T::Oid => (Relabel, Implicit),
        _ => return None,
    })
}

impl Cast {
    /// The value as one of `to`. NULL stays NULL, but for `TypeOf`.
    pub fn evaluate(&self, value: Datum, to: &ColumnType, ctx: &EvalContext) -> Answer {
        if let CastMethod::TypeOf = self.method {
            return Ok(Datum::Oid(self.from.oid()));
        }
        if value.is_null() {
            return Ok(Datum::Null);
        }
        let bytes = match &value {
            // A digit each, as text.
            Datum::Bits(bits) => bits.len(),
            value => value.bytes(),
        };
        poll::room(bytes.min(poll::VALUE_BYTES_MAX))?;
        if value.is_nested() {
            // It is written by what can give no error.
            return poll::unwinds_to(|| self.evaluate_value(value, to, ctx));
        }
        self.evaluate_value(value, to, ctx)
    }

    fn evaluate_value(&self, value: Datum, to: &ColumnType, ctx: &EvalContext) -> Answer {
        match &self.method {
            CastMethod::Relabel => self.relabel(value, to),
            CastMethod::Number => self.number(&value, to),
            CastMethod::DateTime => date_time(&value, to, ctx),
            CastMethod::Input => with_context(&to.scalar, ctx, |context| self.input(&value, to, context)),
            CastMethod::Output => {
                let shown = with_context(&self.from, ctx, |context| match (&value, &to.scalar) {
                    // Only casts print booleans as words, and addresses with their length.
                    (Datum::Bool(value), _) => value.to_string(),
                    (Datum::Network(value), _) => value.full(),
                    _ => text::format(&value, &self.from, context),
                });
                self.string(&shown, to)
            }
            CastMethod::Print => {
                let shown = with_context(&self.from, ctx, |context| text::format(&value, &self.from, context));
                self.string(&shown, to)
            }
            CastMethod::Network | CastMethod::Range => related(&value),
            CastMethod::Shape => reshaped(&value, &to.scalar),
            CastMethod::Hstore => hstore::cast(&value, &to.scalar),
            CastMethod::Json => json(value, to),
            CastMethod::Elements(cast) => {
                let Datum::Array(array) = &value else { return mismatch() };
                let element = ColumnType {
                    modifier: to.modifier,
                    ..ColumnType::nullable(to.scalar.element().unwrap_or(ScalarType::Text))
                };
                let mut elements = Vec::with_capacity(array.elements.len());
                if cast.method == CastMethod::Input && element.scalar.reads_settings() {
                    // Gathered once for all.
                    let context = ctx.text_context();
                    for item in &array.elements {
                        poll::step()?;
                        elements.push(match item {
                            Datum::Null => Datum::Null,
                            item => cast.input(item, &element, &context)?,
                        });
                    }
                    return Ok(Datum::Array(Arc::new(Array::new(array.dimensions.clone(), elements))));
                }
                for item in &array.elements {
                    poll::step()?;
                    elements.push(cast.evaluate(item.clone(), &element, ctx)?);
                }
                // int2vector and oidvector count from 0.
                let is_vector = matches!(to.scalar, ScalarType::Int2Vector | ScalarType::OidVector);
                let dimensions = match array.dimensions.as_slice() {
                    [(count, _)] if is_vector => vec![(*count, 0)],
                    all => all.to_vec(),
                };
                Ok(Datum::Array(Arc::new(Array::new(dimensions, elements))))
            }
            CastMethod::Pairs(casts) => pairs(&value, casts, to, ctx),
            CastMethod::ToJson if to.scalar == ScalarType::Jsonb => {
                with_context(&self.from, ctx, |context| to_jsonb(&value, &self.from, context)).map(Datum::Jsonb)
            }
            CastMethod::ToJson => {
                let mut shown = String::new();
                with_context(&self.from, ctx, |context| append_json(&mut shown, &value, &self.from, context));
                Ok(Datum::Text(shown.into()))
            }
            CastMethod::TypeOf => mismatch(),
        }
    }

    /// The same representation, or that of another string type; the modifier applies.
    fn relabel(&self, value: Datum, to: &ColumnType) -> Answer {
        match (&value, &to.scalar) {
            (Datum::Citext(_), ScalarType::Citext) => Ok(value),
            (Datum::Citext(shown), ScalarType::Text | ScalarType::Json) => Ok(Datum::Text(Arc::clone(shown))),
            (Datum::Citext(shown), _) => self.string(shown, to),
            (Datum::Text(_) | Datum::Bpchar(_), ScalarType::Json) => Ok(value),
            (Datum::Text(shown), ScalarType::Text) => Ok(Datum::Text(Arc::clone(shown))),
            (Datum::Text(_), ScalarType::Varchar) if to.modifier < 4 => Ok(value),
            (Datum::Text(shown), _) => self.string(shown, to),
            // A char(n) keeps its blanks only among its kind.
            (Datum::Bpchar(shown), ScalarType::Bpchar) => self.string(shown, to),
            (Datum::Bpchar(shown), _) => self.string(shown.trim_end_matches(' '), to),
            (Datum::Xml(shown), _) => self.string(shown, to),
            (Datum::Numeric(number), _) => Ok(Datum::Numeric(number.apply_modifier(to.modifier)?)),
            (Datum::Time(micros), _) => Ok(Datum::Time(round_to_precision(*micros, to.modifier))),
            (Datum::TimeTz(time), _) => Ok(Datum::TimeTz(time.rounded(to.modifier))),
            (Datum::Timestamp(micros), _) => {
                Ok(Datum::Timestamp(datetime::check_timestamp(round_to_precision(*micros, to.modifier))?))
            }
            (Datum::Timestamptz(micros), _) => {
                Ok(Datum::Timestamptz(datetime::check_timestamp(round_to_precision(*micros, to.modifier))?))
            }
            (Datum::Bits(bits), scalar) => Ok(Datum::Bits(match self.explicit {
                true => bits.clone().cast_length(scalar, to.modifier)?,
                false => bits.clone().assign_length(scalar, to.modifier)?,
            })),
            (Datum::Interval(interval), _) => Ok(Datum::Interval(interval.apply_modifier(to.modifier))),
            _ => Ok(value),
        }
    }

    /// A string as one of a string type.
    fn string(&self, shown: &str, to: &ColumnType) -> Answer {
        match to.scalar {
            ScalarType::Varchar | ScalarType::Bpchar if self.explicit => {
                Ok(text::cast_length(&to.scalar, to.modifier, shown))
            }
            ScalarType::Varchar | ScalarType::Bpchar => text::assign_length(&to.scalar, to.modifier, shown),
            ScalarType::Citext => Ok(Datum::Citext(Arc::from(shown))),
            ScalarType::Name => text::parse(&ScalarType::Name, -1, shown, plain()),
            ScalarType::Char => Ok(Datum::Text(text::char_of_byte(text::byte_of_char(shown.as_bytes())))),
            _ => Ok(Datum::text(shown)),
        }
    }

    fn input(&self, value: &Datum, to: &ColumnType, context: &TextContext) -> Answer {
        let shown = match value {
            Datum::Text(shown) | Datum::Citext(shown) => shown,
            Datum::Bpchar(shown) => shown.trim_end_matches(' '),
            _ => return mismatch(),
        };
        if self.explicit && matches!(to.scalar, ScalarType::Varchar | ScalarType::Bpchar) {
            return Ok(text::cast_length(&to.scalar, to.modifier, shown));
        }
        if self.explicit && to.modifier != -1 && has_length(&to.scalar) {
            return self.fitted(text::parse(&to.scalar, -1, shown, context)?, to);
        }
        let parsed = text::parse(&to.scalar, to.modifier, shown, context)?;
        if let Datum::JsonPath(path) = &parsed {
            check_path(path)?;
        }
        Ok(parsed)
    }

    /// What was read as of any length, or its elements, with that of the type.
    fn fitted(&self, read: Datum, to: &ColumnType) -> Answer {
        let (Datum::Array(array), Some(scalar)) = (&read, to.scalar.element()) else { return self.relabel(read, to) };
        let element = ColumnType { scalar, ..to.clone() };
        let elements = array.elements.iter().map(|item| self.relabel(item.clone(), &element));
        Ok(Datum::Array(Arc::new(Array::new(array.dimensions.clone(), elements.collect::<Result<_, _>>()?))))
    }

    /// Among integers, oids, floats, numeric, boolean, money and strings of bits.
    fn number(&self, value: &Datum, to: &ColumnType) -> Answer {
        let result = match value {
            Datum::Bool(value) => Datum::Int4(i32::from(*value)),
            Datum::Bits(bits) => from_bits(bits, &to.scalar)?,
            // The low half, as of old.
            Datum::Unsigned(number) => Datum::Oid(*number as u32),
            Datum::Money(cents) => Datum::Numeric(Numeric::new((*cents).into(), MONEY_SCALE)?),
            // "char" to integer: the byte, signed.
            Datum::Text(shown) => Datum::Int4(i32::from(text::byte_of_char(shown.as_bytes()) as i8)),
            Datum::Float4(value) => from_float(f64::from(*value), Some(*value), &to.scalar)?,
            Datum::Float8(value) => from_float(*value, None, &to.scalar)?,
            Datum::Numeric(value) => from_numeric(value, &to.scalar)?,
            integer if to.scalar == ScalarType::Bit => {
                let value = integer.as_i64().map_or_else(|| mismatch().map(|_| 0), Ok)?;
                Datum::Bits(Bits::of_integer(value, usize::try_from(to.modifier.max(1)).unwrap_or(1))?)
            }
            integer => {
                from_integer(integer.as_i64().map_or_else(|| mismatch().map(|_| 0), Ok)?, &self.from, &to.scalar)?
            }
        };
        match result {
            Datum::Numeric(number) => Ok(Datum::Numeric(number.apply_modifier(to.modifier)?)),
            other => Ok(other),
        }
    }
}

/// Whether values are of a length that a cast cuts or fills them to.
fn has_length(scalar: &ScalarType) -> bool {
    let modifier = match scalar {
        ScalarType::Array(element) => element.modifier(),
        other => other.modifier(),
    };
    matches!(modifier, Modifier::Length | Modifier::Count)
}

fn mismatch() -> Answer {
    Err(ValueError::new("XX000", "a cast got a value of another type than planned"))
}

fn out_of_range(scalar: &ScalarType) -> ValueError {
    ValueError::new("22003", format!("{} out of range", scalar.name()))
}

fn from_integer(value: i64, from: &ScalarType, to: &ScalarType) -> Answer {
    let range = || out_of_range(to);
    Ok(match to {
        ScalarType::Bool => Datum::Bool(value != 0),
        ScalarType::Int2 => Datum::Int2(i16::try_from(value).map_err(|_| range())?),
        // An oid as an integer keeps its bits.
        ScalarType::Int4 if from.is_oid() => Datum::Int4(value as u32 as i32),
        ScalarType::Int4 => Datum::Int4(i32::try_from(value).map_err(|_| range())?),
        ScalarType::Int8 => Datum::Int8(value),
        ScalarType::Float4 => Datum::Float4(value as f32),
        ScalarType::Float8 => Datum::Float8(value as f64),
        ScalarType::Numeric => Datum::Numeric(Numeric::from(value)),
        ScalarType::Char => {
            let byte = i8::try_from(value).map_err(|_| ValueError::new("22003", "\"char\" out of range"))?;
            Datum::Text(text::char_of_byte(byte as u8))
        }
        ScalarType::Money => Datum::Money(value.checked_mul(CENTS).ok_or_else(|| out_of_range(&ScalarType::Int8))?),
        oid if oid.is_oid() => match from {
            ScalarType::Int8 => {
                Datum::Oid(u32::try_from(value).map_err(|_| ValueError::new("22003", "OID out of range"))?)
            }
            _ => Datum::Oid(value as u32),
        },
        _ => return mismatch(),
    })
}

fn from_bits(bits: &Bits, to: &ScalarType) -> Answer {
    let narrow = *to == ScalarType::Int4;
    let value = bits.to_integer(if narrow { 32 } else { 64 }).ok_or_else(|| out_of_range(to))?;
    Ok(if narrow { Datum::Int4(value as u32 as i32) } else { Datum::Int8(value as i64) })
}

fn from_float(value: f64, single: Option<f32>, to: &ScalarType) -> Answer {
    // Half to even, and the bounds are exact in doubles.
    let rounded = value.round_ties_even();
    let within = |low: f64, high: f64| rounded >= low && rounded < high;
    Ok(match to {
        ScalarType::Int2 if within(-32768.0, 32768.0) => Datum::Int2(rounded as i16),
        ScalarType::Int4 if within(-2147483648.0, 2147483648.0) => Datum::Int4(rounded as i32),
        ScalarType::Int8 if within(-9223372036854775808.0, 9223372036854775808.0) => Datum::Int8(rounded as i64),
        ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8 => return Err(out_of_range(to)),
        ScalarType::Float4 => {
            let narrow = value as f32;
            if narrow.is_infinite() && !value.is_infinite() {
                return Err(ValueError::new("22003", "value out of range: overflow"));
            }
            if narrow == 0.0 && value != 0.0 {
                return Err(ValueError::new("22003", "value out of range: underflow"));
            }
            Datum::Float4(narrow)
        }
        ScalarType::Float8 => Datum::Float8(value),
        ScalarType::Numeric => Datum::Numeric(match single {
            Some(single) => Numeric::from_f32(single)?,
            None => Numeric::from_f64(value)?,
        }),
        _ => return mismatch(),
    })
}

fn from_numeric(value: &Numeric, to: &ScalarType) -> Answer {
    Ok(match to {
        ScalarType::Int2 => Datum::Int2(value.to_i16()?),
        ScalarType::Int4 => Datum::Int4(value.to_i32()?),
        ScalarType::Int8 => Datum::Int8(value.to_i64()?),
        ScalarType::Float4 => Datum::Float4(value.to_f32()?),
        ScalarType::Float8 => Datum::Float8(value.to_f64()?),
        ScalarType::Money => Datum::Money(value.mul(&Numeric::from(CENTS))?.to_i64()?),
        _ => return mismatch(),
    })
}

/// A local time as a moment, the infinities staying.
pub(crate) fn local_to_utc(micros: i64, zone: &datetime::Zone) -> Result<i64, ValueError> {
    if datetime::is_infinite(micros) { Ok(micros) } else { zone.to_utc(micros) }
}

/// A moment as local time, the infinities staying.
pub(crate) fn utc_to_local(micros: i64, zone: &datetime::Zone) -> Result<i64, ValueError> {
    if datetime::is_infinite(micros) { Ok(micros) } else { zone.to_local(micros) }
}

/// The network that an address is in, an interface's address of the other length, the multirange that a range is.
fn related(value: &Datum) -> Answer {
    match value {
        Datum::Network(network) => Ok(Datum::Network(network.network())),
        Datum::MacAddress(six @ MacAddress::Six(_)) => Ok(Datum::MacAddress(six.to_eight())),
        Datum::MacAddress(eight) => Ok(Datum::MacAddress(eight.to_six()?)),
        Datum::Range(range) => Ok(Datum::Multirange(Arc::from(of_ranges([(**range).clone()])))),
        _ => mismatch(),
    }
}

fn date_time(value: &Datum, to: &ColumnType, ctx: &EvalContext) -> Answer {
    let rounded = |micros: i64| datetime::check_timestamp(round_to_precision(micros, to.modifier));
    let time_of = |micros: i64| {
        if datetime::is_infinite(micros) {
            Datum::Null
        } else {
            Datum::Time(round_to_precision(micros.rem_euclid(DAY_MICROS), to.modifier))
        }
    };
    Ok(match (value, &to.scalar) {
        (Datum::Date(days), ScalarType::Timestamp) => Datum::Timestamp(date_to_timestamp(*days)?),
        (Datum::Date(days), ScalarType::Timestamptz) => {
            Datum::Timestamptz(local_to_utc(date_to_timestamp(*days)?, &ctx.zone())?)
        }
        (Datum::Timestamp(micros), ScalarType::Timestamptz) => {
            Datum::Timestamptz(rounded(local_to_utc(*micros, &ctx.zone())?)?)
        }
        (Datum::Timestamp(micros), ScalarType::Date) => Datum::Date(timestamp_to_date(*micros)),
        (Datum::Timestamp(micros), ScalarType::Time) => time_of(*micros),
        (Datum::Timestamptz(micros), ScalarType::Date) => {
            Datum::Date(timestamp_to_date(utc_to_local(*micros, &ctx.zone())?))
        }
        (Datum::Timestamptz(micros), ScalarType::Timestamp) => {
            Datum::Timestamp(rounded(utc_to_local(*micros, &ctx.zone())?)?)
        }
        (Datum::Timestamptz(micros), ScalarType::Time) => time_of(utc_to_local(*micros, &ctx.zone())?),
        (Datum::Timestamptz(micros), ScalarType::TimeTz) if datetime::is_infinite(*micros) => Datum::Null,
        (Datum::Timestamptz(micros), ScalarType::TimeTz) => {
            Datum::TimeTz(TimeTz::of_moment(*micros, &ctx.zone()).rounded(to.modifier))
        }
        (Datum::Time(micros), ScalarType::TimeTz) => {
            let zone = ctx.zone();
            // On the day that the transaction began.
            let today = utc_to_local(ctx.environment.transaction_timestamp(), &zone)?.div_euclid(DAY_MICROS);
            let offset = zone.offset_of_local(today * DAY_MICROS + micros);
            Datum::TimeTz(TimeTz::new(*micros, offset).rounded(to.modifier))
        }
        (Datum::TimeTz(time), ScalarType::Time) => Datum::Time(round_to_precision(time.micros, to.modifier)),
        (Datum::Time(micros), ScalarType::Interval) => {
            Datum::Interval(repr::Interval { months: 0, days: 0, micros: *micros }.apply_modifier(to.modifier))
        }
        (Datum::Interval(interval), ScalarType::Time) => {
            Datum::Time(round_to_precision(interval.micros.rem_euclid(DAY_MICROS), to.modifier))
        }
        _ => return mismatch(),
    })
}

fn json(value: Datum, to: &ColumnType) -> Answer {
    Ok(match (&value, &to.scalar) {
        (Datum::Text(shown), ScalarType::Jsonb) => Datum::Jsonb(shown.parse::<Jsonb>()?),
        (Datum::Jsonb(document), ScalarType::Json) => {
            let mut shown = String::new();
            document.write_text(&mut shown);
            Datum::Text(shown.into())
        }
        (Datum::Jsonb(document), ScalarType::Bool) => Datum::Bool(document.to_bool("boolean")?),
        (Datum::Jsonb(document), scalar) => {
            let number = document.to_numeric(&scalar.name())?;
            match scalar {
                ScalarType::Numeric => Datum::Numeric(number.apply_modifier(to.modifier)?),
                other => from_numeric(number, other)?,
            }
        }
        _ => return mismatch(),
    })
}

/// Settings for types whose text forms depend on none.
pub(crate) fn plain() -> &'static TextContext {
    static PLAIN: LazyLock<TextContext> = LazyLock::new(TextContext::default);
    &PLAIN
}

/// Keys and values in turns; what is a document stays one among the keys, where it is refused.
fn pairs(value: &Datum, casts: &(Cast, Cast), to: &ColumnType, ctx: &EvalContext) -> Answer {
    let Datum::Array(array) = value else { return mismatch() };
    let key = if casts.0.method == CastMethod::Json { ScalarType::Jsonb } else { ScalarType::Text };
    let key = ColumnType::nullable(key);
    let item = ColumnType::nullable(to.scalar.element().unwrap_or(ScalarType::Text));
    let mut elements = Vec::with_capacity(array.elements.len());
    for (place, element) in array.elements.iter().enumerate() {
        poll::step()?;
        let (cast, to) = if place % 2 == 0 { (&casts.0, &key) } else { (&casts.1, &item) };
        elements.push(cast.evaluate(element.clone(), to, ctx)?);
    }
    Ok(Datum::Array(Arc::new(Array::new(array.dimensions.clone(), elements))))
}

/// Calls with the session's settings, gathered only for types whose text forms depend on them.
fn with_context<R>(scalar: &ScalarType, ctx: &EvalContext, call: impl FnOnce(&TextContext) -> R) -> R {
    if scalar.reads_settings() { ctx.with_texts(call) } else { call(plain()) }
}
