//! Rows whose fields stand in several arrays, by their values: whether one of them equals a row, as often as that is asked.
//!
//! ```text
//!   (a, b) IN ((1, 'x'), (2, NULL), (3, 'y'))        arrays {1, 2, 3} and {x, NULL, y}
//!
//!   rows without NULLs   ─ hashed by both fields ─▶ equal: true
//!   rows with a NULL     ─ hashed by the others  ─▶ equal: unknown
//! ```
//!
//! A row that is asked for may have NULLs too: then nothing is true, and rows are hashed by what is left of their fields. Each
//! such choice of fields is made when it is asked for first.

use super::Array;
use super::members::{ELEMENTS_MIN, EMPTY, SEARCHES_MIN, first_slot};
use crate::hash::{HashMap, RandomState};
use crate::{Datum, ValueError, key, poll};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// More fields are compared one by one.
pub const ROW_FIELDS_MAX: usize = 64;
/// Choices of fields that are kept; others are gone through.
const CHOICES_MAX: usize = 16;

/// Which fields are NULL, or left out: one bit for each.
type Fields = u64;

/// See the module. Stands beside the elements of the first array, and knows the others.
pub(super) struct RowSets {
    /// Where the elements of all arrays are: there may be others another time.
    arrays: Vec<usize>,
    /// The rows by their NULLs; those without come first, if there are any.
    by_nulls: Vec<(Fields, Vec<u32>)>,
    hasher: RandomState,
    /// For rows without NULLs.
    whole: OnceLock<Vec<RowSet>>,
    /// For rows with these NULLs.
    partial: Mutex<HashMap<Fields, Arc<Vec<RowSet>>>>,
}

/// Some rows by the hash of some fields: each in the first free slot from there.
struct RowSet {
    left_out: Fields,
    slots: Vec<u32>,
}

/// Whether a row equals one of those whose fields stand in `arrays`, of one length, by `=` of rows: none if that is unknown.
///
/// # Errors
/// Why the statement ends.
pub fn find_row(arrays: &[&Array], row: &[Datum]) -> Result<Option<bool>, ValueError> {
    let Some(first) = arrays.first() else { return Ok(Some(false)) };
    let sets = match first.members.rows.get() {
        Some(sets) => sets,
        None if is_worth_it(arrays, &first.members.searches) => {
            let made = RowSets::of(arrays)?;
            first.members.rows.get_or_init(|| Box::new(made))
        }
        None => return gone_through(arrays, row),
    };
    if arrays.len() != sets.arrays.len() || addresses(arrays).zip(&sets.arrays).any(|(own, known)| own != *known) {
        return gone_through(arrays, row);
    }
    sets.find(arrays, row)
}

fn is_worth_it(arrays: &[&Array], searches: &AtomicU32) -> bool {
    let rows = arrays[0].elements.len();
    let small = rows < ELEMENTS_MIN || u32::try_from(rows).is_err() || arrays.len() > ROW_FIELDS_MAX;
    !small && searches.fetch_add(1, Ordering::Relaxed) >= SEARCHES_MIN
}

fn addresses(arrays: &[&Array]) -> impl Iterator<Item = usize> {
    arrays.iter().map(|array| array.elements.as_ptr() as usize)
}

/// A row's field.
fn field<'a>(arrays: &[&'a Array], place: usize, row: usize) -> &'a Datum {
    arrays[place].elements.get(row).unwrap_or(&Datum::Null)
}

fn gone_through(arrays: &[&Array], row: &[Datum]) -> Result<Option<bool>, ValueError> {
    let mut unknown = false;
    for other in 0..arrays[0].elements.len() {
        poll::step()?;
        let mut equal = Some(true);
        for (place, value) in row.iter().enumerate() {
            let field = field(arrays, place, other);
            if value.is_null() || field.is_null() {
                equal = None;
            } else if !value.sql_eq(field) {
                equal = Some(false);
                break;
            }
        }
        match equal {
            Some(true) => return Ok(Some(true)),
            Some(false) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(false) })
}

impl RowSets {
    fn of(arrays: &[&Array]) -> Result<RowSets, ValueError> {
        let rows = arrays[0].elements.len();
        poll::room_for::<u32>(rows)?;
        let mut by_nulls: Vec<(Fields, Vec<u32>)> = Vec::new();
        let mut places: HashMap<Fields, usize> = HashMap::default();
        for (number, row) in (0_u32..).zip(0..rows) {
            poll::steps(arrays.len())?;
            let nulls = nulls((0..arrays.len()).map(|place| field(arrays, place, row)));
            let place = *places.entry(nulls).or_insert_with(|| {
                by_nulls.push((nulls, Vec::new()));
                by_nulls.len() - 1
            });
            by_nulls[place].1.push(number);
        }
        by_nulls.sort_by_key(|(nulls, _)| *nulls);
        Ok(RowSets {
            arrays: addresses(arrays).collect(),
            by_nulls,
            hasher: RandomState::default(),
            whole: OnceLock::new(),
            partial: Mutex::default(),
        })
    }

    fn find(&self, arrays: &[&Array], row: &[Datum]) -> Result<Option<bool>, ValueError> {
        let nulls = nulls(row.iter());
        if nulls != 0 {
            let Some(sets) = self.partial(arrays, nulls)? else { return gone_through(arrays, row) };
            let unknown = sets.iter().any(|set| set.holds(arrays, row, &self.hasher));
            return Ok(if unknown { None } else { Some(false) });
        }
        let whole = match self.whole.get() {
            Some(whole) => whole,
            None => {
                let made = self.sets(arrays, 0)?;
                self.whole.get_or_init(|| made)
            }
        };
        let found = whole.iter().find(|set| set.holds(arrays, row, &self.hasher));
        Ok(found.map_or(Some(false), |set| (set.left_out == 0).then_some(true)))
    }

    fn partial(&self, arrays: &[&Array], nulls: Fields) -> Result<Option<Arc<Vec<RowSet>>>, ValueError> {
        // Held while they are made: others need the same.
        let mut partial = self.partial.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = partial.get(&nulls) {
            return Ok(Some(known.clone()));
        }
        if partial.len() >= CHOICES_MAX {
            return Ok(None);
        }
        let made = Arc::new(self.sets(arrays, nulls)?);
        partial.insert(nulls, made.clone());
        Ok(Some(made))
    }

    /// All rows, by the fields that are NULL neither in them nor in what is asked for.
    fn sets(&self, arrays: &[&Array], nulls: Fields) -> Result<Vec<RowSet>, ValueError> {
        let set = |(own, rows): &(Fields, Vec<u32>)| RowSet::of(arrays, rows, own | nulls, &self.hasher);
        self.by_nulls.iter().map(set).collect()
    }
}

fn nulls<'a>(row: impl Iterator<Item = &'a Datum>) -> Fields {
    row.enumerate().fold(0, |nulls, (place, value)| nulls | Fields::from(value.is_null()) << place)
}

impl RowSet {
    fn of(arrays: &[&Array], rows: &[u32], left_out: Fields, hasher: &RandomState) -> Result<RowSet, ValueError> {
        let size = (rows.len() * 2).next_power_of_two();
        poll::room_for::<u32>(size)?;
        let mut set = RowSet { left_out, slots: vec![EMPTY; size] };
        for &row in rows {
            poll::steps(arrays.len())?;
            let fields = |place: usize| field(arrays, place, row as usize);
            let slot = set.slot(arrays, fields, hasher);
            // Each once.
            if set.slots[slot] == EMPTY {
                set.slots[slot] = row;
            }
        }
        Ok(set)
    }

    fn holds(&self, arrays: &[&Array], row: &[Datum], hasher: &RandomState) -> bool {
        self.slots[self.slot(arrays, |place| &row[place], hasher)] != EMPTY
    }

    /// Where a row of these fields stands, or would.
    fn slot<'a>(&self, arrays: &[&Array], fields: impl Fn(usize) -> &'a Datum, hasher: &RandomState) -> usize {
        let compared = || (0..arrays.len()).filter(|place| self.left_out >> place & 1 == 0);
        let mut code = Vec::with_capacity(48);
        compared().for_each(|place| key::encode(&mut code, fields(place)));
        let mut slot = first_slot(hasher, &code, self.slots.len());
        loop {
            let other = self.slots[slot];
            if other == EMPTY || compared().all(|place| field(arrays, place, other as usize).sql_eq(fields(place))) {
                return slot;
            }
            slot = (slot + 1) % self.slots.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{find_row, gone_through};
    use crate::{Array, Datum};

    #[test]
    fn rows_are_found_by_value_however_often_it_is_asked() {
        let number = |value: usize| if value == 7 { Datum::Null } else { Datum::Int4(value as i32) };
        let text = |value: usize| if value == 5 { Datum::Null } else { Datum::Text(format!("k{value}").into()) };
        let rows: Vec<(Datum, Datum)> = (0..200).map(|row| (number(row % 11), text(row % 6))).collect();
        let every = |rows: &[(Datum, Datum)]| {
            let firsts = Array::vector(rows.iter().map(|(first, _)| first.clone()).collect());
            (firsts, Array::vector(rows.iter().map(|(_, second)| second.clone()).collect()))
        };
        let plain: Vec<_> = rows.iter().filter(|(one, two)| !one.is_null() && !two.is_null()).cloned().collect();
        for rows in [&rows[..], &plain[..], &rows[..30], &rows[..5], &[]] {
            let (firsts, seconds) = every(rows);
            let arrays = [&firsts, &seconds];
            for _ in 0..3 {
                for (first, second) in (0..13).flat_map(|first| (0..8).map(move |second| (first, second))) {
                    let row = [number(first), text(second)];
                    let found = find_row(&arrays, &row).unwrap();
                    assert_eq!(found, gone_through(&arrays, &row).unwrap(), "{row:?} among {}", rows.len());
                }
            }
            let others = [&firsts, &firsts];
            let row = [number(3), number(3)];
            assert_eq!(find_row(&others, &row).unwrap(), gone_through(&others, &row).unwrap());
        }
    }
}
