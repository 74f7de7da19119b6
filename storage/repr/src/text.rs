//! Text input and output (helper writes).

/// double precision as PostgreSQL prints it: shortest digits that read back, `1e+20`, `Infinity`.
pub fn format_float8(value: f64) -> String {
    if value.is_finite() { layout_float(value.is_sign_negative(), &format!("{:e}", value.abs())) } else { special_float(value) }
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
