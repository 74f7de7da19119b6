//! `to_char` of numbers. Templates are taken apart in `template`, and what has one is read by it in `read`.

mod read;
mod template;

pub use read::to_number;

use super::ordinal;
use crate::{Numeric, ValueError};
use template::{Anchor, NumberPiece, NumberTemplate};

/// The digits that a real and a double precision keep.
const SINGLE_DIGITS: usize = 6;
const DOUBLE_DIGITS: usize = 15;
/// Behind so many digits any double precision has zeros only.
const DECIMALS_MAX: usize = 1100;

/// `to_char(double precision, template)`, or real's: no more digits than the type keeps.
pub fn float_to_char(value: f64, is_single: bool, template: &str) -> Result<String, ValueError> {
    let mut template = NumberTemplate::parse(template)?;
    if template.is_roman {
        return Ok(roman(&template, value.round_ties_even() as i64));
    }
    let digits = if is_single { SINGLE_DIGITS } else { DOUBLE_DIGITS };
    if template.is_scientific {
        return Ok(float_scientific(value, &template));
    }
    let factor = 10_f64.powf(template.shift as f64);
    let shifted = if is_single { f64::from(value as f32 * factor as f32) } else { value * factor };
    if !shifted.is_finite() {
        // Its letters count as digits.
        let letters = if shifted.is_nan() { "NaN" } else { "Infinity" };
        template.decimals = template.decimals.min(digits.saturating_sub(letters.len()));
        return number_to_char(&Numeric::from_f64(shifted)?, template);
    }
    template.whole += template.shift;
    let whole_digits = format!("{:.0}", shifted.abs()).len();
    template.decimals = template.decimals.min(digits.saturating_sub(whole_digits));
    let shown = format!("{:.*}", template.decimals, shifted.abs());
    fill(&mut template, shown, value.is_sign_negative())
}

/// `to_char(integer, template)`, which writes exponents as those of a double precision.
pub fn integer_to_char(value: i64, template: &str) -> Result<String, ValueError> {
    let template = NumberTemplate::parse(template)?;
    if template.is_scientific {
        return Ok(float_scientific(value as f64, &template));
    }
    number_to_char(&Numeric::from(value), template)
}

/// `to_char(bigint, template)`: what `V` shifts is a bigint too.
pub fn bigint_to_char(value: i64, template: &str) -> Result<String, ValueError> {
    let template = NumberTemplate::parse(template)?;
    if template.has_shift && !template.is_roman {
        let factor = u32::try_from(template.shift).ok().and_then(|shift| 10_i64.checked_pow(shift));
        if factor.and_then(|factor| value.checked_mul(factor)).is_none() {
            return Err(ValueError::new("22003", "bigint out of range"));
        }
    }
    number_to_char(&Numeric::from(value), template)
}

/// `to_char(numeric, template)`
pub fn numeric_to_char(value: &Numeric, template: &str) -> Result<String, ValueError> {
    number_to_char(value, NumberTemplate::parse(template)?)
}

fn number_to_char(value: &Numeric, mut template: NumberTemplate) -> Result<String, ValueError> {
    if template.is_scientific {
        return Ok(scientific(value, &template));
    }
    if template.is_roman {
        return Ok(roman(&template, i64::from(value.to_i32()?)));
    }
    template.whole += template.shift;
    let shifted = if template.has_shift {
        value.mul(&Numeric::new(crate::numeric::power_of_ten(template.shift), 0)?)?
    } else {
        value.clone()
    };
    let rounded = shifted.round(template.decimals as i32)?;
    let (is_negative, text) = match rounded.to_string() {
        text if text.starts_with('-') => (true, text[1..].to_owned()),
        text => (false, text),
    };
    fill(&mut template, text, is_negative)
}

/// A rounded number's digits in their template, or `#` where they are more than it has.
fn fill(template: &mut NumberTemplate, text: String, is_negative: bool) -> Result<String, ValueError> {
    let whole_length = text.find('.').unwrap_or(text.len());
    let (text, spaces) = if whole_length > template.whole {
        (format!("{}.{}", "#".repeat(template.whole), "#".repeat(template.decimals)), 0)
    } else {
        let spaces = template.whole - whole_length;
        (text, spaces)
    };
    NumberWriter::new(template, &text, is_negative, spaces).finish()
}

/// What has no digits, with an exponent.
fn no_digits(template: &NumberTemplate) -> String {
    format!(" {}.{}", "#".repeat(template.whole), "#".repeat(template.decimals + 4))
}

fn scientific(value: &Numeric, template: &NumberTemplate) -> String {
    let Numeric::Finite { unscaled, scale } = value else { return no_digits(template) };
    let decimals = template.decimals;
    let digits = unscaled.magnitude().to_string();
    let is_zero = digits == "0";
    let exponent = if is_zero { 0 } else { digits.len() as i64 - 1 - i64::from(*scale) };
    let scaled = crate::numeric::round_scaled(unscaled, i64::from(*scale) + exponent, decimals as i64);
    let shown = scaled.magnitude().to_string();
    let shown = "0".repeat((decimals + 1).saturating_sub(shown.len())) + &shown;
    // What rounds up to ten stays ten, as in PostgreSQL.
    let (whole, fraction) = shown.split_at(shown.len() - decimals);
    let sign = if value.is_negative() { '-' } else { ' ' };
    let point = if decimals > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{fraction}{}", exponent_text(exponent))
}

/// The same of floats, which are rounded half to even.
fn float_scientific(value: f64, template: &NumberTemplate) -> String {
    if !value.is_finite() {
        return no_digits(template);
    }
    let decimals = template.decimals.min(DECIMALS_MAX);
    let shown = format!("{:.*e}", decimals, value.abs());
    let (digits, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
    let sign = if value.is_sign_negative() { '-' } else { ' ' };
    let zeros = "0".repeat(template.decimals - decimals);
    format!("{sign}{digits}{zeros}{}", exponent_text(exponent.parse().unwrap_or(0)))
}

fn exponent_text(exponent: i64) -> String {
    format!("e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

struct NumberWriter<'a> {
    template: &'a NumberTemplate,
    out: String,
    digits: &'a [u8],
    /// The next digit to write.
    next: usize,
    /// The position within the template's digits.
    position: usize,
    spaces: usize,
    zero_start: Option<usize>,
    /// With FM, the last digit after the point that is not cut.
    last_relevant: Option<usize>,
    is_negative: bool,
    is_bracketed: bool,
    sign: Anchor,
    sign_written: bool,
    /// Whether a sign is still to be written where all places have digits: it counts as one.
    has_sign_place: bool,
    /// Whether the last place has a digit.
    digit_written: bool,
    /// Where what is written ends, though the template goes on.
    end: Option<usize>,
}

impl<'a> NumberWriter<'a> {
    fn new(template: &'a mut NumberTemplate, text: &'a str, is_negative: bool, spaces: usize) -> NumberWriter<'a> {
        let template: &'a NumberTemplate = template;
        let digits = text.as_bytes();
        let mut last_relevant = None;
        if template.is_filled && template.has_point {
            last_relevant = text.find('.').map(|point| {
                let relevant = digits[point..].iter().rposition(|digit| *digit != b'0').unwrap_or(0);
                point + relevant
            });
            if let Some(last) = &mut last_relevant
                && template.zero_end > spaces
            {
                *last = (*last).max((digits.len() - 1).min(template.zero_end - spaces));
            }
        }
        let mut sign = template.sign;
        let mut is_bracketed = template.is_bracketed;
        let sign_written = if template.has_plus || template.has_minus {
            !template.has_plus || template.has_minus
        } else {
            if !is_negative && template.is_filled {
                is_bracketed = false;
            }
            if sign == Anchor::Before && template.whole == template.digits_before_sign {
                sign = Anchor::After;
            }
            !is_negative && template.is_filled && template.sign == Anchor::None
        };
        let zero_start = template.zero_start.map(|start| start - 1);
        NumberWriter {
            template,
            out: String::new(),
            digits,
            next: 0,
            position: 0,
            spaces,
            zero_start,
            last_relevant,
            is_negative,
            is_bracketed,
            sign,
            sign_written,
            has_sign_place: !sign_written && spaces == 0,
            digit_written: false,
            end: None,
        }
    }

    fn sign_character(&self) -> char {
        if self.is_negative { '-' } else { '+' }
    }

    fn unless_filled(&mut self, character: char) {
        if !self.template.is_filled {
            self.out.push(character);
        }
    }

    fn finish(mut self) -> Result<String, ValueError> {
        for piece in &self.template.pieces {
            match *piece {
                NumberPiece::Nine => self.digit(false),
                NumberPiece::Zero => self.digit(true),
                NumberPiece::Point => self.digit(false),
                NumberPiece::Comma | NumberPiece::Group if self.digit_written => self.out.push(','),
                NumberPiece::Comma | NumberPiece::Group => self.unless_filled(' '),
                NumberPiece::Currency => self.out.push(' '),
                NumberPiece::Minus if self.is_negative => self.out.push('-'),
                NumberPiece::Plus if !self.is_negative => self.out.push('+'),
                NumberPiece::Minus | NumberPiece::Plus => self.unless_filled(' '),
                NumberPiece::Signed => self.out.push(self.sign_character()),
                NumberPiece::Ordinal(is_upper) => self.ending(is_upper)?,
                NumberPiece::Literal(character) => self.out.push(character),
                NumberPiece::Roman(_) => {}
            }
        }
        self.out.truncate(self.end.unwrap_or(self.out.len()));
        Ok(self.out)
    }

    /// TH, of a whole number that is neither negative nor too long.
    fn ending(&mut self, is_upper: bool) -> Result<(), ValueError> {
        if self.is_negative || self.template.has_point || self.digits.first() == Some(&b'#') {
            return Ok(());
        }
        if !self.digits.last().is_some_and(u8::is_ascii_digit) {
            let shown = String::from_utf8_lossy(self.digits);
            return Err(ValueError::new("22P02", format!("\"{shown}\" is not a number")));
        }
        let ending = ordinal(std::str::from_utf8(self.digits).unwrap_or(""));
        self.out.push_str(&if is_upper { ending.to_uppercase() } else { ending.to_owned() });
        Ok(())
    }

    /// A leading zero that gives way to the point: `9.9` of 0.1.
    fn is_silent_zero(&self) -> bool {
        self.zero_start.is_none() && self.next == 0 && self.digits.first() == Some(&b'0') && self.template.decimals != 0
    }

    fn last_is_point(&self) -> bool {
        self.last_relevant.is_some_and(|last| self.digits.get(last) == Some(&b'.'))
    }

    fn write_sign(&mut self) {
        let at_number = self.position >= self.spaces || self.zero_start == Some(self.position);
        if self.sign_written || !at_number || (self.is_silent_zero() && !self.last_is_point()) {
            return;
        }
        if self.template.sign != Anchor::None {
            if self.sign == Anchor::Before {
                self.out.push(self.sign_character());
                self.sign_written = true;
            }
        } else if self.is_bracketed {
            self.out.push(if self.is_negative { '<' } else { ' ' });
            self.sign_written = true;
        } else {
            if self.is_negative {
                self.out.push('-');
            } else {
                self.unless_filled(' ');
            }
            self.sign_written = true;
        }
    }

    fn digit(&mut self, is_zero: bool) {
        self.digit_written = false;
        self.write_sign();
        let has_started = self.zero_start.is_some_and(|start| start <= self.position);
        if self.position < self.spaces && !has_started {
            self.unless_filled(' ');
        } else if self.position < self.spaces {
            self.out.push('0');
            self.digit_written = true;
        } else {
            match self.digits.get(self.next) {
                // A point that FM leaves last is written as well: `FM9.9` of 5 is `5.`.
                Some(b'.') => self.out.push('.'),
                _ if self.last_relevant.is_some_and(|last| self.next > last) && !is_zero => {}
                Some(_) if self.is_silent_zero() => {
                    if !self.template.is_filled {
                        self.out.push(' ');
                    } else if self.last_is_point() {
                        self.out.push('0');
                    }
                }
                Some(digit) => {
                    self.out.push(char::from(*digit));
                    self.digit_written = true;
                }
                // A place that the type has no digit for ends all: nothing of the template comes behind it.
                None => {
                    self.end.get_or_insert(self.out.len());
                }
            }
            self.next = (self.next + 1).min(self.digits.len());
        }
        let places = self.template.whole + self.template.decimals + usize::from(self.template.has_point);
        let is_last = self.position + 2 == places + usize::from(self.spaces > 0) + usize::from(self.has_sign_place);
        // Not where the next digit is the last that FM leaves.
        if is_last && self.last_relevant != Some(self.next) {
            self.write_trailing_sign();
        }
        self.position += 1;
    }

    fn write_trailing_sign(&mut self) {
        if self.sign_written && self.is_bracketed {
            self.out.push(if self.is_negative { '>' } else { ' ' });
        } else if self.template.sign != Anchor::None && self.sign == Anchor::After {
            self.out.push(self.sign_character());
        }
    }
}

/// A number in its template as a Roman numeral, which has no sign and no places of digits.
fn roman(template: &NumberTemplate, number: i64) -> String {
    let text = if (1..=3999).contains(&number) { roman_numeral(number) } else { "#".repeat(15) };
    let mut out = String::new();
    for piece in &template.pieces {
        match piece {
            NumberPiece::Roman(is_upper) => {
                let text = if *is_upper { text.clone() } else { text.to_lowercase() };
                out.push_str(&if template.is_filled { text } else { format!("{text:>15}") });
            }
            NumberPiece::Literal(character) => out.push(*character),
            NumberPiece::Currency => out.push(' '),
            NumberPiece::Comma | NumberPiece::Group | NumberPiece::Minus | NumberPiece::Plus => {
                out.push_str(if template.is_filled { "" } else { " " });
            }
            // The sign that is not there ends all.
            NumberPiece::Signed => break,
            NumberPiece::Nine | NumberPiece::Zero | NumberPiece::Point | NumberPiece::Ordinal(_) => {}
        }
    }
    out
}

fn roman_numeral(mut number: i64) -> String {
    let steps = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut out = String::new();
    for (value, letters) in steps {
        while number >= value {
            out.push_str(letters);
            number -= value;
        }
    }
    out
}
