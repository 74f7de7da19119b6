//! Values that are no strings: Booleans, numbers, words. How they are read, kept and shown.

use crate::SqlError;
use crate::settings::table::{KnownSetting, SettingKind, Words};
use crate::settings::unit::{Unit, general};
use repr::text::c_number::{is_space, leading_float, leading_integer};

/// A value as it is kept, or why it cannot be: 22023. `name` is how the client spells the setting's. Strings are in `text`.
pub fn checked(known: &KnownSetting, name: &str, value: &str) -> Result<String, SqlError> {
    match known.kind {
        SettingKind::Bool => match boolean(value) {
            Some(on) => Ok(if on { "on" } else { "off" }.to_string()),
            None => Err(SqlError::new("22023", format!("parameter \"{name}\" requires a Boolean value"))),
        },
        SettingKind::Integer(unit, low, high) => {
            let number = integer(value, unit).map_err(|unread| unread.error(name, value))?;
            if (low..=high).contains(&number) {
                Ok(number.to_string())
            } else {
                Err(out_of_range(name, &number.to_string(), unit, (&low.to_string(), &high.to_string())))
            }
        }
        SettingKind::Real(unit, low, high) => {
            let number = real(value, unit).map_err(|unread| unread.error(name, value))?;
            if (low..=high).contains(&number) {
                Ok(number.to_string())
            } else {
                Err(out_of_range(name, &general(number), unit, (&general(low), &general(high))))
            }
        }
        SettingKind::OneOf(words) => match word(words, value) {
            Some(word) => Ok(word.to_string()),
            None => Err(invalid(name, value).hint(format!("Available values: {}.", words.shown.join(", ")))),
        },
        SettingKind::Text(_) => Ok(value.to_string()),
    }
}

/// A kept value as SHOW writes it.
pub fn shown(known: &KnownSetting, kept: &str) -> String {
    match known.kind {
        SettingKind::Integer(unit, ..) => {
            kept.parse().map_or_else(|_| kept.to_string(), |number| unit.show_integer(number))
        }
        SettingKind::Real(unit, ..) => kept.parse().map_or_else(|_| kept.to_string(), |number| unit.show_real(number)),
        SettingKind::Bool | SettingKind::OneOf(_) | SettingKind::Text(_) => kept.to_string(),
    }
}

/// A kept value as `pg_settings` has it: in the setting's unit.
pub fn bare(known: &KnownSetting, kept: &str) -> String {
    match known.kind {
        SettingKind::Real(..) => kept.parse().map_or_else(|_| kept.to_string(), general),
        SettingKind::Bool | SettingKind::Integer(..) | SettingKind::OneOf(_) | SettingKind::Text(_) => kept.to_string(),
    }
}

/// 22023: this is no value of the setting.
pub fn invalid(name: &str, value: &str) -> SqlError {
    SqlError::new("22023", format!("invalid value for parameter \"{name}\": \"{value}\""))
}

fn out_of_range(name: &str, number: &str, unit: Unit, (low, high): (&str, &str)) -> SqlError {
    let unit = unit.name().map_or_else(String::new, |unit| format!(" {unit}"));
    let message = format!("{number}{unit} is outside the valid range for parameter \"{name}\" ({low} .. {high})");
    SqlError::new("22023", message)
}

/// A Boolean in any of its spellings.
pub fn boolean(value: &str) -> Option<bool> {
    let value = value.to_ascii_lowercase();
    // Any unique beginning of a word counts; "o" is not one.
    let begins = |word: &str, least: usize| value.len() >= least && word.starts_with(&value);
    if value == "1" || begins("true", 1) || begins("yes", 1) || value == "on" {
        Some(true)
    } else if value == "0" || begins("false", 1) || begins("no", 1) || begins("off", 2) {
        Some(false)
    } else {
        None
    }
}

fn word(words: &Words, value: &str) -> Option<&'static str> {
    let shown = words.shown.iter().find(|word| word.eq_ignore_ascii_case(value)).copied();
    let other = || words.others.iter().find(|(word, _)| word.eq_ignore_ascii_case(value)).map(|(_, means)| *means);
    shown.or_else(other)
}

/// Why a number was not read, and what to do instead.
struct Unread {
    hint: Option<&'static str>,
}

const NOT_A_NUMBER: Unread = Unread { hint: None };

impl Unread {
    fn error(&self, name: &str, value: &str) -> SqlError {
        let error = invalid(name, value);
        match self.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

/// A whole number of the unit. What has a fraction or an exponent is rounded.
fn integer(value: &str, unit: Unit) -> Result<i32, Unread> {
    let whole = leading_integer(value).filter(|whole| !whole.rest.starts_with(['.', 'e', 'E']));
    let (number, rest) = match whole {
        Some(whole) => (whole.value as f64, whole.rest),
        // A fraction alone counts only at the very beginning.
        None if value.starts_with('.') || begins(value, char::is_numeric) => float(value)?,
        None => return Err(NOT_A_NUMBER),
    };
    let number = of_unit(number, rest, unit)?.round_ties_even();
    if number < f64::from(i32::MIN) || number > f64::from(i32::MAX) {
        return Err(Unread { hint: Some("Value exceeds integer range.") });
    }
    Ok(number as i32)
}

fn real(value: &str, unit: Unit) -> Result<f64, Unread> {
    let (number, rest) = float(value)?;
    of_unit(number, rest, unit)
}

/// A number that fits, and what stands behind it.
fn float(value: &str) -> Result<(f64, &str), Unread> {
    let float = leading_float(value).ok_or(NOT_A_NUMBER)?;
    let is_too_large = float.value.is_infinite() && !begins(value, char::is_alphabetic);
    if is_too_large { Err(NOT_A_NUMBER) } else { Ok((float.value, float.rest)) }
}

/// What a number begins with behind blanks and its sign: infinity and NaN have letters.
fn begins(value: &str, is: impl Fn(char) -> bool) -> bool {
    value.trim_start_matches(|c: char| is_space(c) || c == '+' || c == '-').starts_with(is)
}

/// A number in a setting's unit, by what stands behind it.
fn of_unit(number: f64, rest: &str, unit: Unit) -> Result<f64, Unread> {
    if number.is_nan() {
        return Err(NOT_A_NUMBER);
    }
    let named = rest.trim_matches(is_space);
    if named.is_empty() {
        return Ok(number);
    }
    unit.convert(number, named).ok_or(Unread { hint: unit.hint() })
}

#[cfg(test)]
mod tests {
    use super::{checked, shown};
    use crate::settings::table::find;

    #[test]
    fn what_is_no_value_is_refused_in_the_words_of_postgresql() {
        for (name, value, message, hint) in [
            ("enable_sort", "o", "parameter \"enable_sort\" requires a Boolean value", None),
            ("enable_sort", " on", "parameter \"enable_sort\" requires a Boolean value", None),
            ("work_mem", "10", "10 kB is outside the valid range for parameter \"work_mem\" (64 .. 2147483647)", None),
            (
                "work_mem",
                "1 fortnight",
                "invalid value for parameter \"work_mem\": \"1 fortnight\"",
                Some("Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\"."),
            ),
            (
                "work_mem",
                "99999999999999",
                "invalid value for parameter \"work_mem\": \"99999999999999\"",
                Some("Value exceeds integer range."),
            ),
            ("work_mem", " .5min", "invalid value for parameter \"work_mem\": \" .5min\"", None),
            ("work_mem", "inf", "invalid value for parameter \"work_mem\": \"inf\"", None),
            ("work_mem", "1e400", "invalid value for parameter \"work_mem\": \"1e400\"", None),
            ("geqo_threshold", "5kB", "invalid value for parameter \"geqo_threshold\": \"5kB\"", None),
            (
                "seq_page_cost",
                "-1",
                "-1 is outside the valid range for parameter \"seq_page_cost\" (0 .. 1.79769e+308)",
                None,
            ),
            (
                "cpu_tuple_cost",
                "inf",
                "Infinity is outside the valid range for parameter \"cpu_tuple_cost\" (0 .. 1.79769e+308)",
                None,
            ),
            ("cpu_tuple_cost", "nan", "invalid value for parameter \"cpu_tuple_cost\": \"nan\"", None),
            (
                "IntervalStyle",
                "x",
                "invalid value for parameter \"IntervalStyle\": \"x\"",
                Some("Available values: postgres, postgres_verbose, sql_standard, iso_8601."),
            ),
            (
                "backslash_quote",
                "t",
                "invalid value for parameter \"backslash_quote\": \"t\"",
                Some("Available values: safe_encoding, on, off."),
            ),
        ] {
            let error = checked(find(name).expect(name), name, value).expect_err(value);
            assert_eq!((error.code, error.message.as_str()), ("22023", message));
            assert_eq!(error.hint.as_deref(), hint, "{name} = {value}");
        }
    }

    #[test]
    fn values_are_shown_as_in_postgresql() {
        for (name, value, expected) in [
            ("statement_timeout", "1.5s", "1500ms"),
            ("statement_timeout", "2 h", "2h"),
            ("statement_timeout", "2500us", "2ms"),
            ("work_mem", "0x1000", "4MB"),
            ("work_mem", "010000", "4MB"),
            ("work_mem", " 1 MB ", "1MB"),
            ("work_mem", "1e3", "1000kB"),
            ("temp_buffers", "100", "800kB"),
            ("seq_page_cost", "1.123456789", "1.12346"),
            ("vacuum_cost_delay", "1.5ms", "1500us"),
            ("enable_sort", "tru", "on"),
            ("client_min_messages", "DEBUG", "debug2"),
            ("client_min_messages", "info", "info"),
            ("constraint_exclusion", "yes", "on"),
        ] {
            let known = find(name).expect(name);
            assert_eq!(shown(known, &checked(known, name, value).expect(value)), expected, "{name} = {value}");
        }
    }
}
