//! How the changes of one time are told by who asks for more than their differences: in an order, or by key.
//!
//! ```text
//! ENVELOPE UPSERT      time  upsert | delete | key_violation           key  what the key has now
//! ENVELOPE DEBEZIUM    time  insert | upsert | delete | key_violation  key  what it had  what it has
//! ```
//! Knows the changes of that time alone: a key that got a second row at a later time is told as one that has another.

use arrangements::ordered_row::{encode_order, group_key};
use planner::{KeyedColumns, ToldForm};
use repr::{CommitTime, Datum, Row};
use std::collections::BTreeMap;

/// Rows that changed at one time, with their differences.
pub type Changes = Vec<(Vec<Datum>, isize)>;

/// A key's rows, by their bytes.
type RowsOfKey = BTreeMap<Vec<u8>, (Vec<Datum>, isize)>;

/// What is told of the changes of one time.
pub fn told(form: &ToldForm, time: CommitTime, changes: Changes) -> Vec<Vec<Datum>> {
    match form {
        ToldForm::Diffs => differences(time, changes),
        ToldForm::Ordered(order) => {
            let mut rows = differences(time, changes);
            rows.sort_by_cached_key(|row| {
                let mut code = Vec::new();
                encode_order(&mut code, order, row);
                code
            });
            rows
        }
        ToldForm::Upsert(keyed) => by_key(keyed, changes)
            .into_iter()
            .filter_map(|(key, rows)| {
                let (state, _, after) = became(&rows)?;
                let state = if state == "insert" { "upsert" } else { state };
                Some(row(time, state, key, [side(after, keyed)]))
            })
            .collect(),
        ToldForm::Debezium(keyed) => by_key(keyed, changes)
            .into_iter()
            .filter_map(|(key, rows)| {
                let (state, before, after) = became(&rows)?;
                Some(row(time, state, key, [side(before, keyed), side(after, keyed)]))
            })
            .collect(),
    }
}

/// The time of a row that is told.
pub fn time_of(time: CommitTime) -> Datum {
    Datum::Int8(i64::try_from(time.0).unwrap_or(i64::MAX))
}

fn differences(time: CommitTime, changes: Changes) -> Vec<Vec<Datum>> {
    let told = |(row, diff): (Vec<Datum>, isize)| {
        let diff = Datum::Int8(i64::try_from(diff).unwrap_or(i64::MAX));
        [time_of(time), diff].into_iter().chain(row).collect()
    };
    changes.into_iter().map(told).collect()
}

/// The changes that are left when what came and went has cancelled out, by key.
fn by_key(keyed: &KeyedColumns, changes: Changes) -> Vec<(Vec<Datum>, RowsOfKey)> {
    let mut keys: BTreeMap<Vec<u8>, (Vec<Datum>, RowsOfKey)> = BTreeMap::new();
    for (row, diff) in changes {
        let key = || keyed.key.iter().map(|column| row[*column].clone()).collect();
        let (_, rows) = keys.entry(group_key(&keyed.key, &row)).or_insert_with(|| (key(), RowsOfKey::new()));
        let (_, sum) = rows.entry(Row::pack(&row).bytes().to_vec()).or_insert_with(|| (row, 0));
        *sum += diff;
    }
    keys.into_values().collect()
}

/// What became of a key, the row that it had and the one that it has; none if nothing did.
fn became(rows: &RowsOfKey) -> Option<(&'static str, Option<&[Datum]>, Option<&[Datum]>)> {
    let mut changed = rows.values().filter(|(_, diff)| *diff != 0);
    let first = changed.next()?;
    Some(match (first, changed.next(), changed.next()) {
        ((after, 1), None, None) => ("insert", None, Some(after)),
        ((before, -1), None, None) => ("delete", Some(before), None),
        ((before, -1), Some((after, 1)), None) | ((after, 1), Some((before, -1)), None) => {
            ("upsert", Some(before), Some(after))
        }
        _ => ("key_violation", None, None),
    })
}

/// The columns beside the key; NULL where there is no row.
fn side(row: Option<&[Datum]>, keyed: &KeyedColumns) -> Vec<Datum> {
    let value = |column: &usize| row.map_or(Datum::Null, |row| row[*column].clone());
    keyed.others.iter().map(value).collect()
}

fn row<const SIDES: usize>(time: CommitTime, state: &str, key: Vec<Datum>, sides: [Vec<Datum>; SIDES]) -> Vec<Datum> {
    [time_of(time), Datum::Text(state.into())].into_iter().chain(key).chain(sides.into_iter().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyed() -> KeyedColumns {
        KeyedColumns { key: vec![0], others: vec![1] }
    }

    fn changes(of: &[(i32, &str, isize)]) -> Changes {
        of.iter().map(|(key, value, diff)| (vec![Datum::Int4(*key), Datum::Text((*value).into())], *diff)).collect()
    }

    fn states(form: &ToldForm, of: &[(i32, &str, isize)]) -> Vec<String> {
        let text = |datum: &Datum| match datum {
            Datum::Text(text) => text.to_string(),
            Datum::Int4(number) => number.to_string(),
            Datum::Null => "-".into(),
            other => format!("{other:?}"),
        };
        told(form, CommitTime(7), changes(of))
            .iter()
            .map(|row| row[1..].iter().map(text).collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn a_key_is_told_once_a_time() {
        let upsert = ToldForm::Upsert(keyed());
        let of = [(2, "b", 1), (1, "a", -1), (1, "c", 1), (3, "d", -1), (4, "e", 1), (4, "e", -1)];
        assert_eq!(states(&upsert, &of), ["upsert 1 c", "upsert 2 b", "delete 3 -"]);
        let debezium = ToldForm::Debezium(keyed());
        assert_eq!(states(&debezium, &of), ["upsert 1 a c", "insert 2 - b", "delete 3 d -"]);
    }

    #[test]
    fn several_rows_of_a_key_are_its_violation() {
        for of in [&[(1, "a", 1), (1, "b", 1)][..], &[(1, "a", 2)], &[(1, "a", -1), (1, "b", -1)]] {
            assert_eq!(states(&ToldForm::Upsert(keyed()), of), ["key_violation 1 -"]);
            assert_eq!(states(&ToldForm::Debezium(keyed()), of), ["key_violation 1 - -"]);
        }
    }
}
