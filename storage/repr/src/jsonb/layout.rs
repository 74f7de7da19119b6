//! Where PostgreSQL has the parts of a document in its binary form: `.keyvalue()` of a path names objects by that.
//!
//! ```text
//! container   header (4) │ an entry for each key, then each value or element (4 each) │ keys │ values or elements
//! string      its bytes
//! number      to a multiple of 4 │ header (6, or 8 for many digits) │ two bytes for each four digits
//! container   to a multiple of 4 │ as above
//! ```

use super::Jsonb;
use crate::{Numeric, poll};

const ENTRY_BYTES: usize = 4;

fn aligned(place: usize) -> usize {
    place.next_multiple_of(4)
}

impl Jsonb {
    /// Shows each array and object in it with the bytes before it, itself first.
    ///
    /// Steps are polled by unwinding: see `poll::unwinds_to`.
    pub fn containers<'j>(&'j self, visit: &mut dyn FnMut(&'j Jsonb, usize)) {
        self.lay_out(0, visit);
    }

    /// Where it ends if it begins there.
    fn lay_out<'j>(&'j self, place: usize, visit: &mut dyn FnMut(&'j Jsonb, usize)) -> usize {
        poll::step_or_unwind();
        match self {
            Jsonb::Null | Jsonb::Bool(_) => place,
            Jsonb::String(text) => place + text.len(),
            Jsonb::Number(number) => aligned(place) + stored_bytes(number),
            Jsonb::Array(elements) => {
                let begin = aligned(place);
                visit(self, begin);
                let place = begin + ENTRY_BYTES * (1 + elements.len());
                elements.iter().fold(place, |place, element| element.lay_out(place, visit))
            }
            Jsonb::Object(pairs) => {
                let begin = aligned(place);
                visit(self, begin);
                let place = begin + ENTRY_BYTES * (1 + 2 * pairs.len());
                let place = pairs.iter().fold(place, |place, (key, _)| place + key.len());
                pairs.iter().fold(place, |place, (_, value)| value.lay_out(place, visit))
            }
        }
    }
}

/// What PostgreSQL stores a number in.
fn stored_bytes(number: &Numeric) -> usize {
    let Numeric::Finite { unscaled, scale } = number else { return 6 };
    let digits = unscaled.magnitude().to_string();
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    let (weight, groups) = if zeros == digits.len() {
        (0, 0)
    } else {
        // Powers of ten of the first and the last digit that is not 0, in groups of four digits.
        let weight = (digits.len() as i64 - 1 - i64::from(*scale)).div_euclid(4);
        let last = (zeros as i64 - i64::from(*scale)).div_euclid(4);
        (weight, weight - last + 1)
    };
    let header = if *scale <= 63 && (-64..=63).contains(&weight) { 6 } else { 8 };
    header + 2 * groups as usize
}

#[cfg(test)]
mod tests {
    use super::Jsonb;

    #[test]
    fn parts_lie_where_postgresql_has_them() {
        let text = r#"{"b": [1, {"c": 10000.5}, "xyz"], "a": {"d": {}}, "ccc": [[], {"e": 1e100}]}"#;
        let document: Jsonb = text.parse().expect("it is JSON");
        let mut places = Vec::new();
        document.containers(&mut |part, place| {
            if matches!(part, Jsonb::Object(pairs) if !pairs.is_empty()) {
                places.push(place);
            }
        });
        // `jsonb_path_query(…, 'strict $.** ? (@.type() == "object").keyvalue().id')` of PostgreSQL 15.
        assert_eq!(places, [0, 36, 80, 128]);
    }
}
