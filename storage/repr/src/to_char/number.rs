//! `to_char` of numbers, and `to_number`.

use super::ordinal;
use crate::{Numeric, ValueError};
use std::cell::RefCell;

#[derive(Clone, Copy, Debug, PartialEq)]
enum NumberPiece {
    Nine,
    Zero,
    Point,
    Comma,
    Currency,
    Minus,
    Plus,
    Signed,
    Roman(bool),
    Ordinal(bool),
    Literal(char),
}

#[derive(Clone, Copy, PartialEq)]
enum Anchor {
    None,
    Before,
    After,
}

/// A number's template, taken apart.
#[derive(Clone)]
struct NumberTemplate {
    pieces: Vec<NumberPiece>,
    /// Digits before and after the point.
    whole: usize,
    decimals: usize,
    /// Digits shifted by `V`.
    shift: usize,
    has_shift: bool,
    has_point: bool,
    is_filled: bool,
    is_bracketed: bool,
    has_minus: bool,
    has_plus: bool,
    is_scientific: bool,
    is_roman: bool,
    sign: Anchor,
    /// Digits before the `S`.
    digits_before_sign: usize,
    /// Position of the first and last `0`, from 1.
    zero_start: Option<usize>,
    zero_end: usize,
}

/// The digits that a real and a double precision keep.
const SINGLE_DIGITS: usize = 6;
const DOUBLE_DIGITS: usize = 15;

fn invalid(message: &str) -> ValueError {
    ValueError::new("42601", message)
}

impl NumberTemplate {
    /// Takes a template apart. A thread keeps the last one: the next row mostly has the same.
    fn parse(text: &str) -> Result<NumberTemplate, ValueError> {
        thread_local! {
            static LAST: RefCell<Option<(Box<str>, NumberTemplate)>> = const { RefCell::new(None) };
        }
        LAST.with_borrow_mut(|last| match last {
            Some((known, template)) if **known == *text => Ok(template.clone()),
            _ => {
                let template = NumberTemplate::taken_apart(text)?;
                *last = Some((text.into(), template.clone()));
                Ok(template)
            }
        })
    }

    fn taken_apart(text: &str) -> Result<NumberTemplate, ValueError> {
        let mut template = NumberTemplate {
            pieces: Vec::new(),
            whole: 0,
            decimals: 0,
            shift: 0,
            has_shift: false,
            has_point: false,
            is_filled: false,
            is_bracketed: false,
            has_minus: false,
            has_plus: false,
            is_scientific: false,
            is_roman: false,
            sign: Anchor::None,
            digits_before_sign: 0,
            zero_start: None,
            zero_end: 0,
        };
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let is = |word: &str| rest.starts_with(word) || rest.starts_with(&word.to_ascii_lowercase());
            let words =
                ["EEEE", "FM", "MI", "PL", "PR", "RN", "SG", "TH", "B", "D", "G", "L", "S", "V", "9", "0", ".", ","];
            if first == '"' {
                rest = template.quoted(&rest[1..]);
                continue;
            }
            if rest.starts_with("\\\"") {
                template.pieces.push(NumberPiece::Literal('"'));
                rest = &rest[2..];
                continue;
            }
            match words.into_iter().find(|word| is(word)) {
                Some(word) => {
                    template.word(word, &rest[..word.len()])?;
                    rest = &rest[word.len()..];
                }
                None => {
                    template.pieces.push(NumberPiece::Literal(first));
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        Ok(template)
    }

    /// Takes text up to the quote that ends it, where a backslash stands before what is taken as it is; what follows.
    fn quoted<'t>(&mut self, text: &'t str) -> &'t str {
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                '"' => break,
                '\\' => self.pieces.push(NumberPiece::Literal(characters.next().unwrap_or('\\'))),
                other => self.pieces.push(NumberPiece::Literal(other)),
            }
        }
        characters.as_str()
    }

    fn word(&mut self, word: &str, spelling: &str) -> Result<(), ValueError> {
        let is_upper = spelling == word;
        if self.is_scientific {
            return Err(invalid("\"EEEE\" must be the last pattern used"));
        }
        match word {
            "9" => {
                if self.is_bracketed {
                    return Err(invalid("\"9\" must be ahead of \"PR\""));
                }
                if self.has_shift {
                    self.shift += 1;
                } else if self.has_point {
                    self.decimals += 1;
                } else {
                    self.whole += 1;
                }
                self.pieces.push(NumberPiece::Nine);
            }
            "0" => {
                if self.is_bracketed {
                    return Err(invalid("\"0\" must be ahead of \"PR\""));
                }
                if self.zero_start.is_none() && !self.has_point {
                    self.zero_start = Some(self.whole + 1);
                }
                if self.has_point {
                    self.decimals += 1;
                } else {
                    self.whole += 1;
                }
                self.zero_end = self.whole + self.decimals;
                self.pieces.push(NumberPiece::Zero);
            }
            "." | "D" => {
                if self.has_point {
                    return Err(invalid("multiple decimal points"));
                }
                if self.has_shift {
                    return Err(invalid("cannot use \"V\" and decimal point together"));
                }
                self.has_point = true;
                self.pieces.push(NumberPiece::Point);
            }
            "," | "G" => self.pieces.push(NumberPiece::Comma),
            "L" => self.pieces.push(NumberPiece::Currency),
            "FM" => self.is_filled = true,
            // Blanks for zero are what PostgreSQL reads and does not do.
            "B" => {}
            "S" | "MI" | "PL" | "SG" | "PR" => self.sign_word(word)?,
            "RN" => {
                self.is_roman = true;
                self.pieces.push(NumberPiece::Roman(is_upper));
            }
            "TH" => self.pieces.push(NumberPiece::Ordinal(is_upper)),
            "V" => {
                if self.has_point {
                    return Err(invalid("cannot use \"V\" and decimal point together"));
                }
                self.has_shift = true;
            }
            _ => self.is_scientific = true,
        }
        Ok(())
    }

    /// Where a sign stands: one of S, MI, PL, SG and PR.
    fn sign_word(&mut self, word: &str) -> Result<(), ValueError> {
        match word {
            "S" => {
                if self.sign != Anchor::None {
                    return Err(invalid("cannot use \"S\" twice"));
                }
                if self.has_minus || self.has_plus || self.is_bracketed {
                    return Err(invalid("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"));
                }
                self.sign = if self.has_point { Anchor::After } else { Anchor::Before };
                self.digits_before_sign = self.whole;
            }
            "MI" | "PL" | "SG" => {
                if self.sign != Anchor::None {
                    return Err(invalid(&format!("cannot use \"S\" and \"{word}\" together")));
                }
                self.has_minus |= word != "PL";
                self.has_plus |= word != "MI";
                self.pieces.push(match word {
                    "MI" => NumberPiece::Minus,
                    "PL" => NumberPiece::Plus,
                    _ => NumberPiece::Signed,
                });
            }
            // "PR"
            _ => {
                if self.sign != Anchor::None || self.has_plus || self.has_minus {
                    return Err(invalid("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"));
                }
                self.is_bracketed = true;
            }
        }
        Ok(())
    }
}

/// `to_char(double precision, template)`, or real's: no more digits than the type keeps.
pub fn float_to_char(value: f64, is_single: bool, template: &str) -> Result<String, ValueError> {
    let mut template = NumberTemplate::parse(template)?;
    if template.is_roman {
        return number_to_char(&Numeric::from_f64(value.round_ties_even())?, template);
    }
    let digits = if is_single { SINGLE_DIGITS } else { DOUBLE_DIGITS };
    if !value.is_finite() || template.is_scientific {
        if value.is_infinite() && !template.is_scientific {
            // Its letters count as digits.
            template.decimals = template.decimals.min(digits.saturating_sub("Infinity".len()));
        }
        return number_to_char(&Numeric::from_f64(value)?, template);
    }
    template.whole += template.shift;
    let factor = 10_f64.powi(template.shift as i32);
    let shifted = if is_single { f64::from(value as f32 * factor as f32) } else { value * factor };
    let whole_digits = format!("{:.0}", shifted.abs()).len();
    template.decimals = template.decimals.min(digits.saturating_sub(whole_digits));
    let shown = format!("{:.*}", template.decimals, shifted.abs());
    Ok(fill(&mut template, shown, value.is_sign_negative()))
}

/// `to_char(numeric, template)`; integers come as numerics too.
pub fn numeric_to_char(value: &Numeric, template: &str) -> Result<String, ValueError> {
    number_to_char(value, NumberTemplate::parse(template)?)
}

fn number_to_char(value: &Numeric, mut template: NumberTemplate) -> Result<String, ValueError> {
    if template.is_scientific {
        return Ok(scientific(value, template.decimals));
    }
    if template.is_roman {
        return NumberWriter::roman(&template, value);
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
    Ok(fill(&mut template, text, is_negative))
}

/// A rounded number's digits in their template, or `#` where they are more than it has.
fn fill(template: &mut NumberTemplate, text: String, is_negative: bool) -> String {
    let whole_length = text.find('.').unwrap_or(text.len());
    let (text, spaces) = if whole_length > template.whole {
        let mut filled = "#".repeat(template.whole);
        if template.has_point {
            filled.push('.');
            filled.push_str(&"#".repeat(template.decimals));
        }
        (filled, 0)
    } else {
        let spaces = template.whole - whole_length;
        (text, spaces)
    };
    NumberWriter::new(template, &text, is_negative, spaces).finish()
}

fn scientific(value: &Numeric, decimals: usize) -> String {
    let Numeric::Finite { unscaled, scale } = value else {
        // PostgreSQL writes '#' for what has no digits.
        return format!(" #.{}", "#".repeat(decimals + 4));
    };
    let digits = unscaled.magnitude().to_string();
    let is_zero = digits == "0";
    let exponent = if is_zero { 0 } else { digits.len() as i64 - 1 - i64::from(*scale) };
    let scaled = crate::numeric::round_scaled(unscaled, i64::from(*scale) + exponent, decimals as i64);
    let shown = format!("{:0>width$}", scaled.magnitude().to_string(), width = decimals + 1);
    // What rounds up to ten stays ten, as in PostgreSQL.
    let (whole, fraction) = shown.split_at(shown.len() - decimals);
    let sign = if value.is_negative() { '-' } else { ' ' };
    let point = if decimals > 0 { "." } else { "" };
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{whole}{point}{fraction}e{exponent_sign}{:02}", exponent.abs())
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
            digit_written: false,
            end: None,
        }
    }

    fn roman(template: &NumberTemplate, value: &Numeric) -> Result<String, ValueError> {
        let number = Some(i64::from(value.to_i32()?)).filter(|number| (1..=3999).contains(number));
        let text = number.map_or("#".repeat(15), roman_numeral);
        let mut out = String::new();
        for piece in &template.pieces {
            match piece {
                NumberPiece::Roman(is_upper) => {
                    let text = if *is_upper { text.clone() } else { text.to_lowercase() };
                    out.push_str(&if template.is_filled { text } else { format!("{text:>15}") });
                }
                NumberPiece::Literal(character) => out.push(*character),
                _ => {}
            }
        }
        Ok(out)
    }

    fn sign_character(&self) -> char {
        if self.is_negative { '-' } else { '+' }
    }

    fn unless_filled(&mut self, character: char) {
        if !self.template.is_filled {
            self.out.push(character);
        }
    }

    fn finish(mut self) -> String {
        for piece in &self.template.pieces {
            match *piece {
                NumberPiece::Nine => self.digit(false),
                NumberPiece::Zero => self.digit(true),
                NumberPiece::Point => self.digit(false),
                NumberPiece::Comma if self.digit_written => self.out.push(','),
                NumberPiece::Comma | NumberPiece::Currency => self.unless_filled(' '),
                NumberPiece::Minus if self.is_negative => self.out.push('-'),
                NumberPiece::Plus if !self.is_negative => self.out.push('+'),
                NumberPiece::Minus | NumberPiece::Plus => self.unless_filled(' '),
                NumberPiece::Signed => self.out.push(self.sign_character()),
                NumberPiece::Ordinal(is_upper) => {
                    let has_none = self.is_negative || self.template.has_point || self.digits.first() == Some(&b'#');
                    if !has_none {
                        let ending = ordinal(std::str::from_utf8(self.digits).unwrap_or(""));
                        self.out.push_str(&if is_upper { ending.to_uppercase() } else { ending.to_owned() });
                    }
                }
                NumberPiece::Literal(character) => self.out.push(character),
                NumberPiece::Roman(_) => {}
            }
        }
        self.out.truncate(self.end.unwrap_or(self.out.len()));
        self.out
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
                Some(_) if self.last_relevant.is_some_and(|last| self.next > last) && !is_zero => {}
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
        let count = (self.template.whole + self.template.decimals) as i64 - 1;
        let mut end = count + i64::from(self.spaces > 0) + i64::from(self.template.has_point);
        if self.last_relevant == Some(self.next) {
            end = self.position as i64;
        }
        if self.position as i64 + 1 == end + i64::from(self.spaces == 0) {
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

/// `to_number(text, template)`: the digits, point and sign that the text has where the template allows them.
pub fn to_number(text: &str, template: &str) -> Result<Numeric, ValueError> {
    let template = NumberTemplate::parse(template)?;
    if template.is_roman {
        return Err(ValueError::new("0A000", "\"RN\" not supported for input"));
    }
    if template.is_scientific {
        return Err(ValueError::new("0A000", "\"EEEE\" not supported for input"));
    }
    let mut digits = String::new();
    let mut is_negative = false;
    let mut whole = 0;
    let mut decimals = None;
    for character in text.chars() {
        match character {
            '-' | '<' => is_negative = true,
            '0'..='9' => match &mut decimals {
                Some(count) if *count < template.decimals => {
                    *count += 1;
                    digits.push(character);
                }
                None if whole < template.whole => {
                    whole += 1;
                    digits.push(character);
                }
                Some(_) | None => {}
            },
            '.' if template.has_point && decimals.is_none() => {
                decimals = Some(0);
                digits.push('.');
            }
            _ => {}
        }
    }
    if !digits.bytes().any(|byte| byte.is_ascii_digit()) {
        return Err(ValueError::new(
            "22P02",
            format!("invalid input syntax for type numeric: \"{}\"", if digits.is_empty() { " " } else { &digits }),
        ));
    }
    let value: Numeric = digits.parse()?;
    Ok(if is_negative { value.negate() } else { value })
}
