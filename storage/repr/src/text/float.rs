//! Text of floats: shortest digits that read back, laid out as C's `%g` does.

use crate::ValueError;

/// double precision as PostgreSQL prints it: shortest digits that read back, `1e+20`, `Infinity`.
pub fn format_float8(value: f64) -> String {
    if value.is_finite() {
        layout_float(value.is_sign_negative(), &format!("{:e}", value.abs()))
    } else {
        special_float(value)
    }
}

/// real as PostgreSQL prints it.
pub fn format_float4(value: f32) -> String {
    if value.is_finite() {
        layout_float_within(value.is_sign_negative(), &format!("{:e}", value.abs()), 6)
    } else {
        special_float(f64::from(value))
    }
}

fn special_float(value: f64) -> String {
    let text = if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    };
    text.to_owned()
}

fn layout_float(negative: bool, scientific: &str) -> String {
    layout_float_within(negative, scientific, 15)
}

/// Lays shortest digits out as `%g` does, with the exponent's threshold of the type.
fn layout_float_within(negative: bool, scientific: &str, fixed_digits: i32) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let mut out = String::with_capacity(24);
    if negative {
        out.push('-');
    }
    let count = digits.len() as i32;
    if exponent < -4 || exponent >= fixed_digits.max(0) {
        out.push_str(&digits[..1]);
        if count > 1 {
            out.push('.');
            out.push_str(&digits[1..]);
        }
        out.push('e');
        out.push(if exponent < 0 { '-' } else { '+' });
        out.push_str(&format!("{:02}", exponent.abs()));
    } else if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', (-exponent - 1) as usize));
        out.push_str(&digits);
    } else if count <= exponent + 1 {
        out.push_str(&digits);
        out.extend(std::iter::repeat_n('0', (exponent + 1 - count) as usize));
    } else {
        out.push_str(&digits[..(exponent + 1) as usize]);
        out.push('.');
        out.push_str(&digits[(exponent + 1) as usize..]);
    }
    out
}

/// double precision with `digits` significant digits (extra_float_digits of 0 and below), as C's `%.*g`.
pub fn format_rounded(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return special_float(value);
    }
    let digits = digits.max(1);
    let scientific = format!("{:.*e}", digits - 1, value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    layout_float_within(value.is_sign_negative(), &format!("{mantissa}e{exponent}"), digits as i32)
}

/// double precision input.
pub(crate) fn parse_float8(text: &str) -> Result<f64, ValueError> {
    let value: f64 = parse_with(text, "double precision")?;
    Ok(value)
}

/// real input.
pub(crate) fn parse_float4(text: &str) -> Result<f32, ValueError> {
    parse_with(text, "real")
}

trait Float: std::str::FromStr + Copy {
    fn is_extreme(self) -> bool;
}

impl Float for f64 {
    fn is_extreme(self) -> bool {
        self == 0.0 || self.is_infinite()
    }
}

impl Float for f32 {
    fn is_extreme(self) -> bool {
        self == 0.0 || self.is_infinite()
    }
}

fn parse_with<F: Float>(text: &str, type_name: &str) -> Result<F, ValueError> {
    let syntax = || ValueError::new("22P02", format!("invalid input syntax for type {type_name}: \"{text}\""));
    let trimmed = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}');
    // Rust reads what C reads, but for hexadecimal floats, which PostgreSQL takes by accident of libc.
    let value: F = trimmed.parse().map_err(|_| syntax())?;
    let is_number = trimmed.bytes().any(|byte| byte.is_ascii_digit());
    let mantissa = trimmed.split(['e', 'E']).next().unwrap_or("");
    let is_zero = !mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    if is_number && !is_zero && value.is_extreme() {
        return Err(ValueError::new("22003", format!("\"{trimmed}\" is out of range for type {type_name}")));
    }
    Ok(value)
}
