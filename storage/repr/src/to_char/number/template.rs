//! A number's template, taken apart: what stands in it in its order, and what all of it says together.

use super::super::{LastTemplate, quoted, taken_apart_once};
use crate::ValueError;
use std::cell::RefCell;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NumberPiece {
    Nine,
    Zero,
    Point,
    /// `,` and `G`, which differ for text that is read.
    Comma,
    Group,
    Currency,
    Minus,
    Plus,
    Signed,
    Roman(bool),
    Ordinal(bool),
    Literal(char),
}

/// On which side of the digits an `S` stands.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Anchor {
    None,
    Before,
    After,
}

/// A number's template, taken apart. More than eight fields: each is one of PostgreSQL's, and they are asked for one by one.
#[derive(Clone)]
pub(super) struct NumberTemplate {
    pub(super) pieces: Vec<NumberPiece>,
    /// Digits before and after the point.
    pub(super) whole: usize,
    pub(super) decimals: usize,
    /// Digits shifted by `V`.
    pub(super) shift: usize,
    pub(super) has_shift: bool,
    pub(super) has_point: bool,
    pub(super) is_filled: bool,
    pub(super) is_bracketed: bool,
    pub(super) has_minus: bool,
    pub(super) has_plus: bool,
    pub(super) is_scientific: bool,
    pub(super) is_roman: bool,
    /// `B` in front of all digits: blanks for zero, which PostgreSQL reads and does not do.
    pub(super) has_blank: bool,
    pub(super) sign: Anchor,
    /// Digits before the `S`.
    pub(super) digits_before_sign: usize,
    /// Position of the first and last `0`, from 1.
    pub(super) zero_start: Option<usize>,
    pub(super) zero_end: usize,
}

/// The patterns, longer before shorter where one begins another. Each is also one in lower case.
const WORDS: [&str; 20] =
    ["EEEE", "FM", "MI", "PL", "PR", "RN", "SG", "SP", "TH", "B", "C", "D", "G", "L", "S", "V", "9", "0", ".", ","];

fn invalid(message: &str) -> ValueError {
    ValueError::new("42601", message)
}

impl NumberTemplate {
    /// A template, taken apart.
    pub(super) fn parse(text: &str) -> Result<NumberTemplate, ValueError> {
        thread_local! {
            static LAST: LastTemplate<NumberTemplate> = const { RefCell::new(None) };
        }
        taken_apart_once(&LAST, text, NumberTemplate::taken_apart)
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
            has_blank: false,
            sign: Anchor::None,
            digits_before_sign: 0,
            zero_start: None,
            zero_end: 0,
        };
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let is = |word: &str| rest.starts_with(word) || rest.starts_with(&word.to_ascii_lowercase());
            if first == '"' {
                rest = quoted(&rest[1..], |character| template.pieces.push(NumberPiece::Literal(character)));
                continue;
            }
            if rest.starts_with("\\\"") {
                template.pieces.push(NumberPiece::Literal('"'));
                rest = &rest[2..];
                continue;
            }
            match WORDS.into_iter().find(|word| is(word)) {
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

    fn word(&mut self, word: &str, spelling: &str) -> Result<(), ValueError> {
        let is_upper = spelling == word;
        if self.is_scientific && word != "EEEE" {
            return Err(invalid("\"EEEE\" must be the last pattern used"));
        }
        match word {
            "9" | "0" => self.digit(word)?,
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
            "," => self.pieces.push(NumberPiece::Comma),
            "G" => self.pieces.push(NumberPiece::Group),
            "L" => self.pieces.push(NumberPiece::Currency),
            "FM" => self.is_filled = true,
            "B" => self.has_blank |= self.whole + self.decimals == 0,
            // A currency's name and spelled numbers are read and not done as well.
            "C" | "SP" => {}
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
            _ => self.exponent()?,
        }
        Ok(())
    }

    fn digit(&mut self, word: &str) -> Result<(), ValueError> {
        if self.is_bracketed {
            return Err(invalid(&format!("\"{word}\" must be ahead of \"PR\"")));
        }
        if word == "9" && self.has_shift {
            self.shift += 1;
        } else if self.has_point {
            self.decimals += 1;
        } else {
            self.whole += 1;
        }
        if word == "9" {
            self.pieces.push(NumberPiece::Nine);
            return Ok(());
        }
        if self.zero_start.is_none() && !self.has_point {
            self.zero_start = Some(self.whole);
        }
        self.zero_end = self.whole + self.decimals;
        self.pieces.push(NumberPiece::Zero);
        Ok(())
    }

    /// `EEEE`, which stands with digits and a point alone.
    fn exponent(&mut self) -> Result<(), ValueError> {
        if self.is_scientific {
            return Err(invalid("cannot use \"EEEE\" twice"));
        }
        let has_sign = self.sign != Anchor::None || self.is_bracketed || self.has_minus || self.has_plus;
        if has_sign || self.is_filled || self.is_roman || self.has_shift || self.has_blank {
            let detail = "\"EEEE\" may only be used together with digit and decimal point patterns.".to_owned();
            return Err(ValueError { detail: Some(detail), ..invalid("\"EEEE\" is incompatible with other formats") });
        }
        self.is_scientific = true;
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
