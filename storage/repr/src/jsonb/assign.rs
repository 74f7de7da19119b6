//! `jsonb[a][b] = value`, as PostgreSQL's `jsonb_set_element`: gaps are filled with nulls, and what is missing is made.

use super::operators::invalid;
use super::{Jsonb, key_order};
use crate::{ValueError, poll};
use std::sync::Arc;

/// The most elements an array of a jsonb has in PostgreSQL.
const ELEMENTS_MAX: usize = 0x0FFF_FFFF;

impl Jsonb {
    /// The document with what is at the path set; what the path leads through and is not there is made, an array for an integer.
    ///
    /// # Errors
    /// 22023 if the path leads through a scalar, or before an array's first element; 22P02 for an array's step that is no integer;
    /// 54000 and 54001 for what is too large or too deep.
    pub fn assign<S: AsRef<str>>(&self, path: &[S], value: &Jsonb) -> Result<Jsonb, ValueError> {
        self.assigned(path, 0, value)?.check_depth()
    }

    fn assigned<S: AsRef<str>>(&self, path: &[S], depth: usize, value: &Jsonb) -> Result<Jsonb, ValueError> {
        let Some(step) = path.get(depth).map(AsRef::as_ref) else { return Ok(value.clone()) };
        match self {
            Jsonb::Object(pairs) => {
                let mut changed = pairs.to_vec();
                match pairs.binary_search_by(|(other, _)| key_order(other, step)) {
                    Ok(place) => changed[place].1 = changed[place].1.assigned(path, depth + 1, value)?,
                    Err(place) => changed.insert(place, (Arc::from(step), made(path, depth + 1, value)?)),
                }
                Ok(Jsonb::Object(Arc::from(changed)))
            }
            Jsonb::Array(elements) => {
                let at = depth + 1;
                let index = integer(step).ok_or_else(|| {
                    ValueError::new("22P02", format!("path element at position {at} is not an integer: \"{step}\""))
                })?;
                let place = if index < 0 { elements.len() as i64 + index } else { index };
                let Ok(place) = usize::try_from(place) else {
                    return Err(invalid(&format!("path element at position {at} is out of range: {index}")));
                };
                let mut changed = elements.to_vec();
                match elements.get(place) {
                    Some(element) => changed[place] = element.assigned(path, at, value)?,
                    None => {
                        fill(&mut changed, place)?;
                        changed.push(made(path, at, value)?);
                    }
                }
                Ok(Jsonb::array(changed))
            }
            Jsonb::Null | Jsonb::Bool(_) | Jsonb::Number(_) | Jsonb::String(_) => Err(ValueError {
                detail: Some("The path assumes key is a composite object, but it is a scalar value.".to_owned()),
                ..invalid("cannot replace existing key")
            }),
        }
    }
}

/// What is made for the rest of a path, from its end.
fn made<S: AsRef<str>>(path: &[S], depth: usize, value: &Jsonb) -> Result<Jsonb, ValueError> {
    let mut made = value.clone();
    for step in path[depth..].iter().rev().map(AsRef::as_ref) {
        made = match integer(step) {
            None => Jsonb::object(vec![(Arc::from(step), made)]),
            Some(index) => {
                let mut elements = Vec::new();
                // Before the first there is nothing to fill.
                fill(&mut elements, usize::try_from(index).unwrap_or(0))?;
                elements.push(made);
                Jsonb::array(elements)
            }
        };
    }
    Ok(made)
}

/// An integer as C's `strtol` reads all of a text.
fn integer(step: &str) -> Option<i64> {
    let step = step.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    step.parse::<i32>().ok().map(i64::from)
}

fn fill(elements: &mut Vec<Jsonb>, length: usize) -> Result<(), ValueError> {
    if length >= ELEMENTS_MAX {
        let message = format!("number of jsonb array elements exceeds the maximum allowed ({ELEMENTS_MAX})");
        return Err(ValueError::new("54000", message));
    }
    poll::room_for::<Jsonb>(length)?;
    elements.resize(length, Jsonb::Null);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Jsonb;

    #[test]
    fn what_is_missing_is_made() {
        for (source, path, expected) in [
            ("{}", vec!["a"], "{\"a\": 9}"),
            ("[]", vec!["2"], "[null, null, 9]"),
            ("[1, 2]", vec!["-1"], "[1, 9]"),
            ("{\"a\": {}}", vec!["a", "b", "1", "c"], "{\"a\": {\"b\": [null, {\"c\": 9}]}}"),
            ("[{\"a\": 1}]", vec!["0", "a"], "[{\"a\": 9}]"),
            ("[1]", vec!["3", "-2"], "[1, null, null, [9]]"),
            ("{\"a\": 1}", vec!["a"], "{\"a\": 9}"),
        ] {
            let source: Jsonb = source.parse().unwrap();
            assert_eq!(source.assign(&path, &"9".parse().unwrap()).unwrap().to_string(), expected);
        }
        for (source, path, code) in [
            ("1", vec!["a"], "22023"),
            ("{\"a\": 1}", vec!["a", "b"], "22023"),
            ("[1]", vec!["-2"], "22023"),
            ("[1]", vec!["x"], "22P02"),
            ("[1]", vec!["300000000"], "54000"),
        ] {
            let source: Jsonb = source.parse().unwrap();
            assert_eq!(source.assign(&path, &Jsonb::Null).unwrap_err().code, code);
        }
    }
}
