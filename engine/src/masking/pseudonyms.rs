//! Pseudonyms of values, as COPY writes them: of the same type and shape, the same for the same value, and never two for one.

use super::alphabet::Alphabets;
use super::permutation::Permutation;
use repr::Jsonb;
use repr::datetime::{civil_from_days, days_from_civil};
use std::net::IpAddr;
use std::sync::Arc;

/// By how many whole weeks moments are moved into the past.
const WEEKS: (u32, u32) = (30, 150);
/// The least ones: no other number is as long and as small.
const LEAST: [&str; 3] = ["-32768", "-2147483648", "-9223372036854775808"];
/// A permutation that leaves its range is followed until it is back; longer than that takes none.
const STEPS_MAX: usize = 10_000;

/// What is done to the values of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mask {
    /// Letters become letters, digits digits.
    Text,
    /// Digits become digits; what was zero stays zero.
    Number,
    /// Moved by whole weeks, the same for all.
    Moment,
    /// An address becomes another one of its family; of a network its own part alone.
    Address,
    /// Hexadecimal digits become others.
    Hexadecimal,
    /// Texts and numbers within, whatever they are called.
    Json,
    /// The words of a text search vector.
    Words,
    /// Each element of an array.
    Each(Box<Mask>),
    /// It becomes NULL.
    Null,
}

/// Pseudonyms by one key.
pub struct Pseudonyms {
    permutation: Permutation,
    alphabets: Alphabets,
    days: i64,
    /// The greatest numbers of smallint, integer and bigint: nothing is moved across.
    limits: [String; 3],
}

impl Pseudonyms {
    /// By that key: without it nobody can tell which value a pseudonym stands for.
    pub fn new(key: &[u8]) -> Pseudonyms {
        let permutation = Permutation::new(key);
        let weeks = WEEKS.0 + permutation.secret("weeks") % (WEEKS.1 - WEEKS.0);
        let limits = [i64::from(i16::MAX), i64::from(i32::MAX), i64::MAX].map(|limit| limit.to_string());
        Pseudonyms { permutation, alphabets: Alphabets::default(), days: -7 * i64::from(weeks), limits }
    }

    /// The pseudonym of a value; none is NULL. What is not of the shape that its type asks for is refused, and not told.
    pub fn of(&mut self, mask: &Mask, value: &str) -> Result<Option<String>, Unmasked> {
        Ok(Some(match mask {
            Mask::Null => return Ok(None),
            Mask::Text => self.text(value),
            Mask::Number => self.number(value),
            Mask::Moment => self.moment(value)?,
            Mask::Address => self.address(value)?,
            Mask::Hexadecimal => self.hexadecimal(value),
            Mask::Json => {
                let json: Jsonb = value.parse().map_err(|_| Unmasked)?;
                self.json(&json)?.to_string()
            }
            Mask::Words => self.words(value),
            Mask::Each(mask) => self.elements(mask, value)?,
        }))
    }

    fn text(&mut self, value: &str) -> String {
        let spelled = self.alphabets.spell(value);
        let symbols = self.permutation.permute(&spelled.tweak, &spelled.symbols, &spelled.radices);
        spelled.text(&symbols)
    }

    fn hexadecimal(&mut self, value: &str) -> String {
        let digits: Vec<u32> = value.chars().filter_map(|digit| digit.to_digit(16)).collect();
        let shape: String = value.chars().map(|digit| if digit.is_ascii_hexdigit() { '0' } else { digit }).collect();
        let mut out = self.permutation.permute(&shape, &digits, &vec![16; digits.len()]).into_iter();
        let digit = |was: char| match was.to_digit(16) {
            Some(_) => out.next().and_then(|digit| char::from_digit(digit, 16)).unwrap_or('0'),
            None => was,
        };
        value.chars().map(digit).collect()
    }

    /// Its first digit that is not zero, and the last one of its fraction, stay other than zero: as long, and as it is written.
    fn number(&mut self, value: &str) -> String {
        let (mantissa, exponent) = value.split_at(value.find(['e', 'E']).unwrap_or(value.len()));
        let within = mantissa.trim_start_matches(|character: char| !character.is_ascii_digit() || character == '0');
        let fraction = mantissa.contains('.');
        let significant = if fraction { within.trim_end_matches(['0', '.']) } else { within };
        if significant.is_empty() || LEAST.contains(&value) {
            return value.to_owned();
        }
        let start = mantissa.len() - within.len();
        let (before, behind) = (&mantissa[..start], &within[significant.len()..]);
        let limit = self.limits.iter().filter(|_| !fraction).find(|limit| limit.len() == significant.len()).cloned();
        let is_low = |digits: &str| limit.as_deref().is_none_or(|limit| digits <= limit);
        let mut out = significant.to_owned();
        for _ in 0..STEPS_MAX {
            out = self.digits(before.trim_start_matches(['-', '+']), &out);
            if is_low(&out) == is_low(significant) && is_finite(&format!("{before}{out}{behind}{exponent}")) {
                break;
            }
        }
        format!("{before}{out}{behind}{exponent}")
    }

    fn digits(&mut self, before: &str, significant: &str) -> String {
        let count = significant.chars().filter(char::is_ascii_digit).count();
        let ends_fraction = significant.contains('.') || before.contains('.');
        let (mut symbols, mut radices, mut place) = (Vec::new(), Vec::new(), 0);
        for digit in significant.chars().filter_map(|digit| digit.to_digit(10)) {
            let least = u32::from(place == 0 || ends_fraction && place + 1 == count);
            symbols.push(digit - least);
            radices.push(10 - least);
            place += 1;
        }
        let shape: String =
            before.chars().chain(significant.chars()).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        let out = self.permutation.permute(&shape, &symbols, &radices);
        let mut out = out.into_iter().zip(&radices).map(|(symbol, radix)| symbol + 10 - radix);
        let digit = |was: char| match was.is_ascii_digit() {
            true => out.next().and_then(|digit| char::from_digit(digit, 10)).unwrap_or('1'),
            false => was,
        };
        significant.chars().map(digit).collect()
    }

    /// `2026-01-31 12:00:00+00`, perhaps BC: what stands behind the day stays.
    fn moment(&self, value: &str) -> Result<String, Unmasked> {
        if value.ends_with("infinity") {
            return Ok(value.to_owned());
        }
        let (value, era) = value.strip_suffix(" BC").map_or((value, ""), |value| (value, " BC"));
        let (day, rest) = value.split_at(value.find(' ').unwrap_or(value.len()));
        let mut parts = day.rsplitn(3, '-').map(str::parse::<i64>);
        let mut next = || parts.next().and_then(Result::ok).ok_or(Unmasked);
        let (day, month, year) = (next()?, next()?, next()?);
        let year = if era.is_empty() { year } else { 1 - year };
        let small = |part: i64| u32::try_from(part).map_err(|_| Unmasked);
        let days = days_from_civil(year, small(month)?, small(day)?);
        let (year, month, day) = civil_from_days(days + self.days);
        let (year, era) = if year > 0 { (year, "") } else { (1 - year, " BC") };
        Ok(format!("{year:04}-{month:02}-{day:02}{rest}{era}"))
    }

    fn address(&self, value: &str) -> Result<String, Unmasked> {
        let (address, prefix) = value.split_at(value.find('/').unwrap_or(value.len()));
        let address: IpAddr = address.parse().map_err(|_| Unmasked)?;
        let (bits, width) = match address {
            IpAddr::V4(address) => (u128::from(u32::from(address)), 32),
            IpAddr::V6(address) => (u128::from(address), 128),
        };
        let host = match prefix.get(1..) {
            Some(length) => width - length.parse::<u32>().map_err(|_| Unmasked)?.min(width),
            None => 0,
        };
        // A network has no bits behind its own, and stays one; an address does not become one.
        let is_network = |bits: u128| host > 0 && bits & (u128::MAX >> (128 - host)) == 0;
        let own = if is_network(bits) { width - host } else { width };
        let shape = format!("{width}{prefix}:{own}");
        let mut out = bits;
        for _ in 0..STEPS_MAX {
            let symbols: Vec<u32> = (0..own).map(|place| ((out >> (width - 1 - place)) & 1) as u32).collect();
            let symbols = self.permutation.permute(&shape, &symbols, &vec![2; symbols.len()]);
            let bit = |(bit, place): (&u32, u32)| u128::from(*bit) << (width - 1 - place);
            out = symbols.iter().zip(0..).map(bit).sum();
            if is_network(out) == is_network(bits) {
                break;
            }
        }
        let bits = out;
        let address = match width {
            32 => IpAddr::from((bits as u32).to_be_bytes()),
            _ => IpAddr::from(bits.to_be_bytes()),
        };
        Ok(format!("{address}{prefix}"))
    }

    fn json(&mut self, value: &Jsonb) -> Result<Jsonb, Unmasked> {
        Ok(match value {
            Jsonb::Null | Jsonb::Bool(_) => value.clone(),
            Jsonb::Number(number) => {
                self.number(&number.to_string()).parse().map(Jsonb::Number).map_err(|_| Unmasked)?
            }
            Jsonb::String(text) => Jsonb::string(self.text(text)),
            Jsonb::Array(items) => {
                Jsonb::Array(items.iter().map(|item| self.json(item)).collect::<Result<Vec<_>, _>>()?.into())
            }
            Jsonb::Object(pairs) => {
                let mut masked = Vec::with_capacity(pairs.len());
                for (key, value) in pairs.iter() {
                    masked.push((Arc::clone(key), self.json(value)?));
                }
                Jsonb::object(masked)
            }
        })
    }

    /// `'cat':3A 'fat':2,4`: what stands between quotes.
    fn words(&mut self, value: &str) -> String {
        let mut out = String::new();
        for (number, part) in value.split('\'').enumerate() {
            if number > 0 {
                out.push('\'');
            }
            if number % 2 == 1 { out += &self.text(part) } else { out += part }
        }
        out
    }

    /// `{a,"b c",NULL,{d}}`, perhaps behind its bounds.
    fn elements(&mut self, mask: &Mask, value: &str) -> Result<String, Unmasked> {
        let start = value.find('{').ok_or(Unmasked)?;
        let mut out = value[..start].to_owned();
        let mut rest = value[start..].chars().peekable();
        while let Some(character) = rest.next() {
            match character {
                '{' | '}' | ',' => out.push(character),
                '"' => {
                    let mut element = String::new();
                    loop {
                        match rest.next().ok_or(Unmasked)? {
                            '"' => break,
                            '\\' => element.push(rest.next().ok_or(Unmasked)?),
                            other => element.push(other),
                        }
                    }
                    push_element(&mut out, self.of(mask, &element)?);
                }
                first => {
                    let mut element = String::from(first);
                    while let Some(next) = rest.next_if(|next| !matches!(next, ',' | '}')) {
                        element.push(next);
                    }
                    let masked = if element == "NULL" { None } else { self.of(mask, &element)? };
                    push_element(&mut out, masked);
                }
            }
        }
        Ok(out)
    }
}

/// A value that is not of the shape of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unmasked;

fn push_element(out: &mut String, element: Option<String>) {
    let Some(element) = element else { return out.push_str("NULL") };
    out.push('"');
    for character in element.chars() {
        if matches!(character, '"' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out.push('"');
}

/// Whether a double holds a number: a column of real may hold less, and says so when it is restored.
fn is_finite(number: &str) -> bool {
    number.parse::<f64>().is_ok_and(f64::is_finite)
}
