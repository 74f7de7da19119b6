//! What jsonb's operators and functions do: access, containment, change. Values are never altered in place.

use super::{Jsonb, key_order};
use crate::{Numeric, ValueError};
use std::sync::Arc;

pub(super) fn invalid(message: &str) -> ValueError {
    ValueError::new("22023", message)
}

impl Jsonb {
    /// `-> text`: an object's value.
    pub fn get(&self, key: &str) -> Option<&Jsonb> {
        let Jsonb::Object(pairs) = self else { return None };
        let place = pairs.binary_search_by(|(other, _)| key_order(other, key)).ok()?;
        Some(&pairs[place].1)
    }

    /// `-> integer`: an array's element, from the end if negative.
    pub fn get_index(&self, index: i64) -> Option<&Jsonb> {
        let elements = match self {
            Jsonb::Array(elements) => elements,
            Jsonb::Object(_) => return None,
            // PostgreSQL stores a scalar as an array of one, and here it shows.
            scalar => return (index == 0 || index == -1).then_some(scalar),
        };
        let place = if index < 0 { elements.len() as i64 + index } else { index };
        elements.get(usize::try_from(place).ok()?)
    }

    /// `->> text`: an object's value as text; none for JSON null.
    pub fn get_text(&self, key: &str) -> Option<String> {
        self.get(key).and_then(Jsonb::as_text)
    }

    /// `->> integer`
    pub fn get_index_text(&self, index: i64) -> Option<String> {
        self.get_index(index).and_then(Jsonb::as_text)
    }

    /// The text that `->>` gives: strings bare, none for null, all else as JSON.
    pub fn as_text(&self) -> Option<String> {
        match self {
            Jsonb::Null => None,
            Jsonb::String(text) => Some(text.to_string()),
            Jsonb::Bool(_) | Jsonb::Number(_) | Jsonb::Array(_) | Jsonb::Object(_) => Some(self.to_string()),
        }
    }

    /// `#>`: follows keys and indexes.
    pub fn get_path<S: AsRef<str>>(&self, path: &[S]) -> Option<&Jsonb> {
        path.iter().try_fold(self, |value, step| match value {
            Jsonb::Object(_) => value.get(step.as_ref()),
            Jsonb::Array(_) => value.get_index(step.as_ref().trim().parse().ok()?),
            Jsonb::Null | Jsonb::Bool(_) | Jsonb::Number(_) | Jsonb::String(_) => None,
        })
    }

    /// `@>`: whether this contains `other`.
    pub fn contains(&self, other: &Jsonb) -> bool {
        match (self, other) {
            (Jsonb::Object(_), Jsonb::Object(wanted)) => {
                wanted.iter().all(|(key, value)| self.get(key).is_some_and(|own| own.contains_nested(value)))
            }
            (Jsonb::Array(own), Jsonb::Array(wanted)) => {
                wanted.iter().all(|value| own.iter().any(|element| element.contains_nested(value)))
            }
            // At the top, an array contains a scalar that it has as an element.
            (Jsonb::Array(own), Jsonb::Null | Jsonb::Bool(_) | Jsonb::Number(_) | Jsonb::String(_)) => {
                own.iter().any(|element| element.contains_nested(other))
            }
            _ => self.is_scalar() && other.is_scalar() && self.sql_cmp(other).is_eq(),
        }
    }

    fn contains_nested(&self, other: &Jsonb) -> bool {
        match (self, other) {
            (Jsonb::Array(_), Jsonb::Array(_)) | (Jsonb::Object(_), Jsonb::Object(_)) => self.contains(other),
            _ => self.is_scalar() && other.is_scalar() && self.sql_cmp(other).is_eq(),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Jsonb::Array(elements) => elements.is_empty(),
            Jsonb::Object(pairs) => pairs.is_empty(),
            Jsonb::Null | Jsonb::Bool(_) | Jsonb::Number(_) | Jsonb::String(_) => false,
        }
    }

    /// Whether this is neither array nor object.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Jsonb::Array(_) | Jsonb::Object(_))
    }

    /// `?`: whether the string is a key, an array's element, or the value itself.
    pub fn exists(&self, key: &str) -> bool {
        match self {
            Jsonb::Object(_) => self.get(key).is_some(),
            Jsonb::Array(elements) => {
                elements.iter().any(|element| matches!(element, Jsonb::String(text) if **text == *key))
            }
            Jsonb::String(text) => **text == *key,
            Jsonb::Null | Jsonb::Bool(_) | Jsonb::Number(_) => false,
        }
    }

    /// `||`: objects merge, all else becomes arrays that are joined.
    pub fn concat(&self, other: &Jsonb) -> Jsonb {
        match (self, other) {
            (Jsonb::Object(a), Jsonb::Object(b)) => Jsonb::object(a.iter().chain(b.iter()).cloned().collect()),
            _ => {
                let mut elements = self.as_elements();
                elements.extend(other.as_elements());
                Jsonb::array(elements)
            }
        }
    }

    fn as_elements(&self) -> Vec<Jsonb> {
        match self {
            Jsonb::Array(elements) => elements.to_vec(),
            other => vec![other.clone()],
        }
    }

    /// `- text`: without a key, or without the strings equal to it.
    pub fn delete_key(&self, key: &str) -> Result<Jsonb, ValueError> {
        match self {
            Jsonb::Object(pairs) => {
                Ok(Jsonb::Object(pairs.iter().filter(|(other, _)| **other != *key).cloned().collect()))
            }
            Jsonb::Array(elements) => {
                let differs = |element: &&Jsonb| !matches!(element, Jsonb::String(text) if **text == *key);
                Ok(Jsonb::Array(elements.iter().filter(differs).cloned().collect()))
            }
            Jsonb::Null | Jsonb::Bool(_) | Jsonb::Number(_) | Jsonb::String(_) => {
                Err(invalid("cannot delete from scalar"))
            }
        }
    }

    /// `- integer`: without an element.
    pub fn delete_index(&self, index: i64) -> Result<Jsonb, ValueError> {
        match self {
            Jsonb::Array(elements) => {
                let place = if index < 0 { elements.len() as i64 + index } else { index };
                let mut kept = elements.to_vec();
                if (0..kept.len() as i64).contains(&place) {
                    kept.remove(place as usize);
                }
                Ok(Jsonb::array(kept))
            }
            Jsonb::Object(_) => Err(invalid("cannot delete from object using integer index")),
            Jsonb::Null | Jsonb::Bool(_) | Jsonb::Number(_) | Jsonb::String(_) => {
                Err(invalid("cannot delete from scalar"))
            }
        }
    }

    /// `#-`: without what is at the path.
    pub fn delete_path<S: AsRef<str>>(&self, path: &[S]) -> Result<Jsonb, ValueError> {
        if self.is_scalar() {
            return Err(invalid("cannot delete path in scalar"));
        }
        if self.is_empty() {
            return Ok(self.clone());
        }
        self.change(path, 0, PathChange::Delete)
    }

    /// `jsonb_set`
    pub fn set<S: AsRef<str>>(&self, path: &[S], value: &Jsonb, creates: bool) -> Result<Jsonb, ValueError> {
        if self.is_scalar() {
            return Err(invalid("cannot set path in scalar"));
        }
        if self.is_empty() && !creates {
            return Ok(self.clone());
        }
        self.change(path, 0, PathChange::Set { value, creates })?.check_depth()
    }

    /// `jsonb_insert`
    pub fn insert<S: AsRef<str>>(&self, path: &[S], value: &Jsonb, after: bool) -> Result<Jsonb, ValueError> {
        if self.is_scalar() {
            return Err(invalid("cannot set path in scalar"));
        }
        self.change(path, 0, PathChange::Insert { value, after })?.check_depth()
    }

    fn change<S: AsRef<str>>(&self, path: &[S], depth: usize, change: PathChange<'_>) -> Result<Jsonb, ValueError> {
        let Some(step) = path.get(depth).map(AsRef::as_ref) else { return Ok(self.clone()) };
        let is_last = depth + 1 == path.len();
        match self {
            Jsonb::Object(pairs) => {
                let mut changed = pairs.to_vec();
                match (pairs.binary_search_by(|(other, _)| key_order(other, step)), is_last) {
                    (Ok(place), false) => changed[place].1 = changed[place].1.change(path, depth + 1, change)?,
                    (Err(_), false) => {}
                    (Ok(place), true) => match change {
                        PathChange::Delete => drop(changed.remove(place)),
                        PathChange::Set { value, .. } => changed[place].1 = value.clone(),
                        PathChange::Insert { .. } => {
                            let hint = "Try using the function jsonb_set to replace key value.".to_owned();
                            return Err(ValueError { hint: Some(hint), ..invalid("cannot replace existing key") });
                        }
                    },
                    (Err(place), true) => match change {
                        PathChange::Set { value, creates: true } | PathChange::Insert { value, .. } => {
                            changed.insert(place, (Arc::from(step), value.clone()));
                        }
                        PathChange::Delete | PathChange::Set { creates: false, .. } => {}
                    },
                }
                Ok(Jsonb::Object(Arc::from(changed)))
            }
            Jsonb::Array(elements) => {
                let index: i64 = step.trim().parse().map_err(|_| {
                    let at = depth + 1;
                    ValueError::new("22P02", format!("path element at position {at} is not an integer: \"{step}\""))
                })?;
                change_element(elements, index, path, depth, change)
            }
            Jsonb::Null | Jsonb::Bool(_) | Jsonb::Number(_) | Jsonb::String(_) => Ok(self.clone()),
        }
    }

    /// `jsonb_typeof`
    pub fn type_name(&self) -> &'static str {
        match self {
            Jsonb::Null => "null",
            Jsonb::Bool(_) => "boolean",
            Jsonb::Number(_) => "number",
            Jsonb::String(_) => "string",
            Jsonb::Array(_) => "array",
            Jsonb::Object(_) => "object",
        }
    }

    /// `jsonb_array_length`
    pub fn array_length(&self) -> Result<i32, ValueError> {
        match self {
            Jsonb::Array(elements) => Ok(elements.len() as i32),
            Jsonb::Object(_) => Err(invalid("cannot get array length of a non-array")),
            _ => Err(invalid("cannot get array length of a scalar")),
        }
    }

    /// `jsonb_array_elements`
    pub fn array_elements(&self) -> Result<&[Jsonb], ValueError> {
        match self {
            Jsonb::Array(elements) => Ok(elements),
            Jsonb::Object(_) => Err(invalid("cannot extract elements from an object")),
            _ => Err(invalid("cannot extract elements from a scalar")),
        }
    }

    /// `jsonb_each`; `function` is the caller's name, for the message.
    pub fn each(&self, function: &str) -> Result<&[(Arc<str>, Jsonb)], ValueError> {
        match self {
            Jsonb::Object(pairs) => Ok(pairs),
            _ => Err(invalid(&format!("cannot call {function} on a non-object"))),
        }
    }

    /// `jsonb_object_keys`
    pub fn object_keys(&self) -> Result<Vec<Arc<str>>, ValueError> {
        match self {
            Jsonb::Object(pairs) => Ok(pairs.iter().map(|(key, _)| Arc::clone(key)).collect()),
            Jsonb::Array(_) => Err(invalid("cannot call jsonb_object_keys on an array")),
            _ => Err(invalid("cannot call jsonb_object_keys on a scalar")),
        }
    }

    /// `jsonb_strip_nulls`: without the object fields that are null, at every depth.
    pub fn strip_nulls(&self) -> Jsonb {
        match self {
            Jsonb::Array(elements) => Jsonb::Array(elements.iter().map(Jsonb::strip_nulls).collect()),
            Jsonb::Object(pairs) => {
                let kept = pairs.iter().filter(|(_, value)| !matches!(value, Jsonb::Null));
                Jsonb::Object(kept.map(|(key, value)| (Arc::clone(key), value.strip_nulls())).collect())
            }
            other => other.clone(),
        }
    }

    /// The boolean, for the cast; `target` is SQL's name of the type, for the message.
    pub fn to_bool(&self, target: &str) -> Result<bool, ValueError> {
        if let Jsonb::Bool(value) = self { Ok(*value) } else { Err(self.cannot_cast(target)) }
    }

    /// The number, for the casts to numeric types; `target` is SQL's name of the type, for the message.
    pub fn to_numeric(&self, target: &str) -> Result<&Numeric, ValueError> {
        if let Jsonb::Number(value) = self { Ok(value) } else { Err(self.cannot_cast(target)) }
    }

    fn cannot_cast(&self, target: &str) -> ValueError {
        let kind = if let Jsonb::Number(_) = self { "numeric" } else { self.type_name() };
        invalid(&format!("cannot cast jsonb {kind} to type {target}"))
    }
}

#[derive(Clone, Copy)]
enum PathChange<'a> {
    Delete,
    Set { value: &'a Jsonb, creates: bool },
    Insert { value: &'a Jsonb, after: bool },
}

fn change_element<S: AsRef<str>>(
    elements: &[Jsonb],
    index: i64,
    path: &[S],
    depth: usize,
    change: PathChange<'_>,
) -> Result<Jsonb, ValueError> {
    let length = elements.len() as i64;
    let place = if index < 0 { length + index } else { index };
    let mut changed = elements.to_vec();
    let is_inside = (0..length).contains(&place);
    if depth + 1 < path.len() {
        if is_inside {
            changed[place as usize] = changed[place as usize].change(path, depth + 1, change)?;
        }
        return Ok(Jsonb::array(changed));
    }
    // Beyond either end, new values go to that end.
    match (change, is_inside) {
        (PathChange::Delete, true) => drop(changed.remove(place as usize)),
        (PathChange::Set { value, .. }, true) => changed[place as usize] = value.clone(),
        (PathChange::Insert { value, after }, true) => {
            changed.insert(place as usize + usize::from(after), value.clone());
        }
        (PathChange::Set { value, creates: true } | PathChange::Insert { value, .. }, false) => {
            let at = if place < 0 { 0 } else { changed.len() };
            changed.insert(at, value.clone());
        }
        (PathChange::Delete | PathChange::Set { creates: false, .. }, false) => {}
    }
    Ok(Jsonb::array(changed))
}
