//! Type modifiers in PostgreSQL's encoding: lengths, digits, fractions of seconds, fields of intervals.

use crate::ValueError;

const INTERVAL_FULL_RANGE: i32 = 0x7FFF;
const INTERVAL_FULL_PRECISION: i32 = 0xFFFF;

/// The bit masks of `interval`'s fields in a modifier, with their spelling.
const INTERVAL_RANGES: [(i32, &str); 13] = [
    (1 << 2, " year"),
    (1 << 1, " month"),
    (1 << 3, " day"),
    (1 << 10, " hour"),
    (1 << 11, " minute"),
    (1 << 12, " second"),
    (1 << 2 | 1 << 1, " year to month"),
    (1 << 3 | 1 << 10, " day to hour"),
    (1 << 3 | 1 << 10 | 1 << 11, " day to minute"),
    (1 << 3 | 1 << 10 | 1 << 11 | 1 << 12, " day to second"),
    (1 << 10 | 1 << 11, " hour to minute"),
    (1 << 10 | 1 << 11 | 1 << 12, " hour to second"),
    (1 << 11 | 1 << 12, " minute to second"),
];

/// `interval` with its fields and precision.
pub(super) fn format_interval_type(modifier: i32) -> String {
    let range = modifier >> 16 & INTERVAL_FULL_RANGE;
    let precision = modifier & 0xFFFF;
    let fields = INTERVAL_RANGES.iter().find(|(mask, _)| *mask == range).map_or("", |(_, fields)| fields);
    if precision == INTERVAL_FULL_PRECISION {
        format!("interval{fields}")
    } else {
        format!("interval{fields}({precision})")
    }
}

/// The modifier of `interval`, from the fields' spelling (`"day to second"`; empty for all) and the precision.
pub fn encode_interval_modifier(fields: &str, precision: Option<i32>) -> Result<i32, ValueError> {
    let range = if fields.is_empty() {
        INTERVAL_FULL_RANGE
    } else {
        let found = INTERVAL_RANGES.iter().find(|(_, spelling)| spelling[1..].eq_ignore_ascii_case(fields));
        found.ok_or_else(|| ValueError::new("22023", "invalid INTERVAL type modifier"))?.0
    };
    match precision {
        None if fields.is_empty() => Ok(-1),
        None => Ok(range << 16 | INTERVAL_FULL_PRECISION),
        Some(precision) => Ok(range << 16 | encode_time_modifier(precision, "INTERVAL", "")?),
    }
}

/// The fields' mask and the precision of `interval`'s modifier, where given.
pub fn decode_interval_modifier(modifier: i32) -> (Option<i32>, Option<i32>) {
    if modifier < 0 {
        return (None, None);
    }
    let range = modifier >> 16 & INTERVAL_FULL_RANGE;
    let precision = modifier & 0xFFFF;
    ((range != INTERVAL_FULL_RANGE).then_some(range), (precision != INTERVAL_FULL_PRECISION).then_some(precision))
}

/// The modifier of varchar(`length`) or char(`length`); `name` is "varchar" or "char", for the message.
pub fn encode_length_modifier(length: i64, name: &str) -> Result<i32, ValueError> {
    if length < 1 {
        return Err(ValueError::new("22023", format!("length for type {name} must be at least 1")));
    }
    if length > 10_485_760 {
        return Err(ValueError::new("22023", format!("length for type {name} cannot exceed 10485760")));
    }
    Ok(length as i32 + 4)
}

/// The length of varchar or char, where given.
pub(crate) fn decode_length_modifier(modifier: i32) -> Option<usize> {
    (modifier >= 4).then(|| (modifier - 4) as usize)
}

/// The modifier of numeric(`precision`, `scale`).
pub fn encode_numeric_modifier(precision: i64, scale: i64) -> Result<i32, ValueError> {
    if !(1..=1000).contains(&precision) {
        return Err(ValueError::new("22023", format!("NUMERIC precision {precision} must be between 1 and 1000")));
    }
    if !(-1000..=1000).contains(&scale) {
        return Err(ValueError::new("22023", format!("NUMERIC scale {scale} must be between -1000 and 1000")));
    }
    Ok((precision as i32) << 16 | (scale as i32 & 0x7FF)).map(|packed| packed + 4)
}

/// Precision and scale of numeric, where given; the scale may be negative.
pub fn decode_numeric_modifier(modifier: i32) -> Option<(i32, i32)> {
    if modifier < 4 {
        return None;
    }
    let packed = modifier - 4;
    Some((packed >> 16 & 0xFFFF, ((packed & 0x7FF) ^ 1024) - 1024))
}

/// The modifier of time and timestamp types. More than six digits count as six (PostgreSQL warns).
pub(crate) fn encode_time_modifier(precision: i32, name: &str, suffix: &str) -> Result<i32, ValueError> {
    if precision < 0 {
        return Err(ValueError::new("22023", format!("{name}({precision}){suffix} precision must not be negative")));
    }
    Ok(precision.min(6))
}
