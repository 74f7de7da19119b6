//! The elements of an array by their values: whether one of them equals a value, as often as that is asked.
//!
//! Made when it is asked for the third time, of arrays that are worth it: constants and parameters meet every row, an array of
//! a row is asked once. By PostgreSQL's `=`; what is kept beside the elements is a number for each of them.

use super::rows::RowSets;
use crate::hash::RandomState;
use crate::{Datum, ValueError, key, poll};
use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Shorter ones are gone through.
pub(super) const ELEMENTS_MIN: usize = 9;
/// As often an array is gone through first.
pub(super) const SEARCHES_MIN: u32 = 2;
/// A slot without an element.
pub(super) const EMPTY: u32 = u32::MAX;

/// See the module. It says nothing that the elements do not: a copy begins anew, and all are equal.
#[derive(Default)]
pub struct Members {
    pub(super) searches: AtomicU32,
    set: OnceLock<Set>,
    /// For the first of several arrays that are a row's fields.
    pub(super) rows: OnceLock<Box<RowSets>>,
}

/// Whether an element equals a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// One does.
    pub found: bool,
    /// One is NULL; not looked for where one does.
    pub has_null: bool,
}

struct Set {
    has_null: bool,
    values: Values,
}

enum Values {
    /// Integers, sorted.
    Numbers(Vec<i64>),
    /// Elements by the hash of their codes: each in the first free slot from there.
    Hashed { slots: Vec<u32>, hasher: RandomState },
}

impl Members {
    /// Whether one of the elements, that are always the same, equals a value that is not NULL.
    ///
    /// # Errors
    /// Why the statement ends.
    pub(super) fn find(&self, elements: &[Datum], value: &Datum) -> Result<Membership, ValueError> {
        let set = match self.set.get() {
            Some(set) => set,
            None => {
                let is_worth_it = elements.len() >= ELEMENTS_MIN && u32::try_from(elements.len()).is_ok();
                if !is_worth_it || self.searches.fetch_add(1, Ordering::Relaxed) < SEARCHES_MIN {
                    return gone_through(elements, value);
                }
                let made = Set::of(elements)?;
                self.set.get_or_init(|| made)
            }
        };
        let found = match &set.values {
            Values::Numbers(numbers) => match value.as_i64() {
                Some(number) => numbers.binary_search(&number).is_ok(),
                None => return gone_through(elements, value),
            },
            Values::Hashed { slots, hasher } => {
                let mut code = Vec::with_capacity(24);
                key::encode(&mut code, value);
                let mut place = first_slot(hasher, &code, slots.len());
                loop {
                    let slot = slots[place];
                    if slot == EMPTY {
                        break false;
                    }
                    if elements[slot as usize].sql_eq(value) {
                        break true;
                    }
                    place = (place + 1) % slots.len();
                }
            }
        };
        Ok(Membership { found, has_null: set.has_null })
    }
}

fn gone_through(elements: &[Datum], value: &Datum) -> Result<Membership, ValueError> {
    let mut has_null = false;
    for element in elements {
        poll::step()?;
        if element.is_null() {
            has_null = true;
        } else if element.sql_eq(value) {
            return Ok(Membership { found: true, has_null });
        }
    }
    Ok(Membership { found: false, has_null })
}

pub(super) fn first_slot(hasher: &RandomState, code: &[u8], slots: usize) -> usize {
    hasher.hash_one(code) as usize % slots
}

impl Set {
    fn of(elements: &[Datum]) -> Result<Set, ValueError> {
        let has_null = elements.iter().any(Datum::is_null);
        let present = elements.iter().filter(|element| !element.is_null());
        if present.clone().all(|element| element.as_i64().is_some()) {
            poll::room_for::<i64>(elements.len())?;
            let mut numbers: Vec<i64> = present.filter_map(Datum::as_i64).collect();
            poll::sort_by(&mut numbers, i64::cmp)?;
            return Ok(Set { has_null, values: Values::Numbers(numbers) });
        }
        let size = (elements.len() * 2).next_power_of_two();
        poll::room_for::<u32>(size)?;
        let (mut slots, hasher) = (vec![EMPTY; size], RandomState::default());
        let mut code = Vec::with_capacity(24);
        for (number, element) in (0_u32..).zip(elements) {
            poll::step()?;
            if element.is_null() {
                continue;
            }
            code.clear();
            key::encode(&mut code, element);
            let mut place = first_slot(&hasher, &code, size);
            // Each value once.
            while slots[place] != EMPTY && !elements[slots[place] as usize].sql_eq(element) {
                place = (place + 1) % size;
            }
            if slots[place] == EMPTY {
                slots[place] = number;
            }
        }
        Ok(Set { has_null, values: Values::Hashed { slots, hasher } })
    }
}

impl Clone for Members {
    fn clone(&self) -> Self {
        Members::default()
    }
}

impl PartialEq for Members {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::fmt::Debug for Members {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("_")
    }
}

#[cfg(test)]
mod tests {
    use crate::{Array, Datum};

    /// As often as it takes, and once more.
    fn asked(array: &Array, value: &Datum) -> Vec<(bool, bool)> {
        (0..4).map(|_| array.find(value).map(|found| (found.found, found.has_null)).unwrap()).collect()
    }

    #[test]
    fn elements_are_found_by_value_however_often_it_is_asked() {
        let text = |text: String| Datum::Text(text.into());
        let numeric = |text: &str| Datum::Numeric(text.parse().unwrap());
        let lists: [(Vec<Datum>, Datum, Datum); 6] = [
            ((0..100).map(Datum::Int4).collect(), Datum::Int8(42), Datum::Int8(100)),
            ((0..100).map(|number| Datum::Int8(-number)).collect(), Datum::Int2(-99), Datum::Int2(1)),
            ((0..100).map(|number| text(format!("k{number}"))).collect(), text("k7".into()), text("k100".into())),
            ((0..100).map(|number| numeric(&format!("{number}.50"))).collect(), numeric("7.5"), numeric("7.51")),
            ((0..100).map(|number| Datum::Float4(number as f32)).collect(), Datum::Float8(5.0), Datum::Float8(5.1)),
            (vec![Datum::Bpchar("a  ".into()); 20], Datum::Bpchar("a".into()), Datum::Bpchar(" a".into())),
        ];
        for (elements, inside, outside) in lists {
            let array = Array::vector(elements.clone());
            assert_eq!(asked(&array, &inside), [(true, false); 4], "{inside:?}");
            assert_eq!(asked(&array, &outside), [(false, false); 4], "{outside:?}");
            let with_null = Array::vector([vec![Datum::Null], elements].concat());
            assert!(asked(&with_null, &inside).iter().all(|(found, _)| *found), "{inside:?}");
            assert_eq!(asked(&with_null, &outside), [(false, true); 4], "{outside:?}");
        }
        assert_eq!(asked(&Array::vector(vec![Datum::Null; 20]), &Datum::Int4(1)), [(false, true); 4]);
        assert_eq!(asked(&Array::vector(Vec::new()), &Datum::Int4(1)), [(false, false); 4]);
    }
}
