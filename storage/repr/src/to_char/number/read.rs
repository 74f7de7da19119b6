//! `to_number`: text and template are walked together, piece by piece, as PostgreSQL does.
//!
//! ```text
//! template   $   9   ,   9   9   9   .   9   S
//! text       $   1   ,   2   3   4   .   5   -      number: -1234.5
//! ```

use super::template::{Anchor, NumberPiece, NumberTemplate};
use crate::{Numeric, ValueError};

/// `to_number(text, template)`: what the text has where the template has its places; none is NULL, which an empty template gives.
///
/// # Errors
/// 42601 of a template that is none, 0A000 where it is only for writing, 22P02 where no digit was met, and 22003 where more
/// digits were than the template has.
pub fn to_number(text: &str, template: &str) -> Result<Option<Numeric>, ValueError> {
    if template.is_empty() {
        return Ok(None);
    }
    let template = NumberTemplate::parse(template)?;
    if template.is_scientific {
        return Err(ValueError::new("0A000", "\"EEEE\" not supported for input"));
    }
    if template.is_roman {
        return Err(ValueError::new("0A000", "\"RN\" not supported for input"));
    }
    let mut reader = NumberReader::new(&template, text);
    for piece in &template.pieces {
        if reader.is_at_end() {
            break;
        }
        reader.piece(*piece);
    }
    reader.number().map(Some)
}

struct NumberReader<'a> {
    template: &'a NumberTemplate,
    text: &'a [u8],
    /// Where in the text the next piece begins. A place of digits that finds none takes a byte, as in PostgreSQL.
    place: usize,
    /// The sign that was met.
    sign: Option<u8>,
    /// The digits and the point that were met.
    number: String,
    /// How many digits stand before and after the point.
    whole: usize,
    decimals: usize,
    has_point: bool,
}

impl<'a> NumberReader<'a> {
    fn new(template: &'a NumberTemplate, text: &'a str) -> NumberReader<'a> {
        let (number, text) = (String::new(), text.as_bytes());
        NumberReader { template, text, place: 0, sign: None, number, whole: 0, decimals: 0, has_point: false }
    }

    fn here(&self) -> Option<u8> {
        self.text.get(self.place).copied()
    }

    fn is_at_end(&self) -> bool {
        self.place >= self.text.len()
    }

    fn piece(&mut self, piece: NumberPiece) {
        match piece {
            NumberPiece::Nine | NumberPiece::Zero => {
                self.digit_place(true);
                self.place += 1;
            }
            NumberPiece::Point => {
                self.digit_place(false);
                self.place += 1;
            }
            NumberPiece::Comma | NumberPiece::Group => self.pass_comma(),
            NumberPiece::Currency => self.pass_other(1),
            NumberPiece::Ordinal(_) if self.template.has_point => {}
            NumberPiece::Ordinal(_) => self.pass_other(2),
            NumberPiece::Minus => self.sign_or_other(b"-"),
            NumberPiece::Plus => self.sign_or_other(b"+"),
            NumberPiece::Signed => self.sign_or_other(b"-+"),
            // Whether it is the same or not.
            NumberPiece::Literal(_) => self.pass_character(),
            NumberPiece::Roman(_) => {}
        }
    }

    fn pass_character(&mut self) {
        let length = match self.here() {
            Some(0xC0..=0xDF) => 2,
            Some(0xE0..=0xEF) => 3,
            Some(0xF0..=0xFF) => 4,
            Some(_) => 1,
            None => 0,
        };
        self.place += length;
    }

    /// Passes over that many characters at most, none of which belongs to a number.
    fn pass_other(&mut self, count: usize) {
        for _ in 0..count {
            if self.here().is_none_or(|byte| b"0123456789.,+-".contains(&byte)) {
                return;
            }
            self.pass_character();
        }
    }

    fn pass_comma(&mut self) {
        if self.here() == Some(b',') && !self.template.is_filled {
            self.place += 1;
        }
    }

    /// MI, PL and SG: one of these signs, or what stands in its place.
    fn sign_or_other(&mut self, signs: &[u8]) {
        match self.here() {
            Some(byte) if signs.contains(&byte) => {
                self.sign = Some(byte);
                self.place += 1;
            }
            _ => self.pass_other(1),
        }
    }

    /// A place of a digit or of the point, which takes either; signs are met in front of the first and behind the last.
    fn digit_place(&mut self, is_digit: bool) {
        if self.here() == Some(b' ') {
            self.place += 1;
        }
        if is_digit && self.sign.is_none() && self.whole + self.decimals == 0 {
            self.leading_sign();
        }
        let Some(byte) = self.here() else { return };
        let mut is_read = false;
        if byte.is_ascii_digit() {
            if self.has_point && self.decimals == self.template.decimals {
                return;
            }
            *(if self.has_point { &mut self.decimals } else { &mut self.whole }) += 1;
            self.number.push(char::from(byte));
            is_read = true;
        } else if byte == b'.' && self.template.has_point && !self.has_point {
            self.has_point = true;
            self.number.push('.');
            is_read = true;
        }
        if self.sign.is_none() && self.whole + self.decimals > 0 {
            self.trailing_sign(is_read);
        }
    }

    fn leading_sign(&mut self) {
        let sign = match self.here() {
            Some(sign @ (b'-' | b'+')) => sign,
            Some(b'<') if self.template.is_bracketed && self.template.sign == Anchor::None => b'-',
            _ => return,
        };
        self.sign = Some(sign);
        self.place += 1;
    }

    /// With `S` the sign stands right behind what was read; with MI, PL and SG also where a digit was looked for.
    fn trailing_sign(&mut self, is_read: bool) {
        let template = self.template;
        let sign_at = |place: usize| self.text.get(place).copied().filter(|byte| b"-+".contains(byte));
        if template.sign != Anchor::None {
            if is_read && let Some(sign) = sign_at(self.place + 1) {
                self.sign = Some(sign);
                self.place += 1;
            }
        } else if !is_read && (template.has_plus || template.has_minus) {
            self.sign = sign_at(self.place);
        }
    }

    /// The number that was met, which has as many decimals as were read.
    fn number(mut self) -> Result<Numeric, ValueError> {
        if self.number.ends_with('.') {
            self.number.pop();
        }
        let mut shown = String::from(char::from(self.sign.unwrap_or(b' ')));
        shown.push_str(&self.number);
        let value: Numeric = shown.parse()?;
        let precision = self.template.whole + self.template.shift + self.decimals;
        let value = value.apply_modifier(numeric_modifier(precision, self.decimals))?;
        if !self.template.has_shift {
            return Ok(value);
        }
        let shift = i32::try_from(self.template.shift).unwrap_or(i32::MAX);
        value.mul(&Numeric::from(10).power(&Numeric::from(-shift))?)
    }
}

/// The modifier that PostgreSQL makes of them, of the lowest bits that it has room for.
fn numeric_modifier(precision: usize, scale: usize) -> i32 {
    (((precision as i32) << 16) | scale as i32).wrapping_add(4)
}
