//! PostgreSQL's sort, for where it shows which of equal ones comes first: Bentley and McIlroy, "Engineering a Sort Function".
//!
//! Of a query's operands with one lexeme the first counts, be it a prefix or not.

use repr::{ValueError, poll};
use std::cmp::Ordering;

/// Sorts; which of equal items comes first is PostgreSQL's.
///
/// # Errors
/// Why the statement ends; the items are then in no order.
pub(super) fn sort<T>(mut items: &mut [T], compare: &dyn Fn(&T, &T) -> Ordering) -> Result<(), ValueError> {
    loop {
        poll::steps(1 + items.len() / 16)?;
        if items.is_sorted_by(|a, b| compare(a, b).is_le()) {
            return Ok(());
        }
        let count = items.len();
        if count < 7 {
            insert(items, compare);
            return Ok(());
        }
        let pivot = pivot(items, compare);
        items.swap(0, pivot);
        let (less, greater) = partition(items, compare);
        let (front, back) = items.split_at_mut(count - greater);
        let front = &mut front[..less];
        // The shorter part by recursion, the longer one by going on.
        let (short, long) = if less <= greater { (front, back) } else { (back, front) };
        if short.len() > 1 {
            sort(short, compare)?;
        }
        if long.len() <= 1 {
            return Ok(());
        }
        items = long;
    }
}

fn insert<T>(items: &mut [T], compare: &dyn Fn(&T, &T) -> Ordering) {
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && compare(&items[at - 1], &items[at]).is_gt() {
            items.swap(at, at - 1);
            at -= 1;
        }
    }
}

/// The middle one, of three, or of nine by threes.
fn pivot<T>(items: &[T], compare: &dyn Fn(&T, &T) -> Ordering) -> usize {
    let median = |a: usize, b: usize, c: usize| {
        let order = |one: usize, other: usize| compare(&items[one], &items[other]);
        if order(a, b).is_lt() {
            if order(b, c).is_lt() {
                b
            } else if order(a, c).is_lt() {
                c
            } else {
                a
            }
        } else if order(b, c).is_gt() {
            b
        } else if order(a, c).is_lt() {
            a
        } else {
            c
        }
    };
    let (count, mut middle) = (items.len(), items.len() / 2);
    if count == 7 {
        return middle;
    }
    let (mut first, mut last) = (0, count - 1);
    if count > 40 {
        let step = count / 8;
        first = median(first, first + step, first + 2 * step);
        middle = median(middle - step, middle, middle + step);
        last = median(last - 2 * step, last - step, last);
    }
    median(first, middle, last)
}

/// Around the first item: those that are less come first, those that are greater last. How many of each there are.
fn partition<T>(items: &mut [T], compare: &dyn Fn(&T, &T) -> Ordering) -> (usize, usize) {
    // Equal ones are gathered at both ends meanwhile: before `equal_front`, and behind `equal_back`.
    let (mut equal_front, mut low) = (1, 1);
    let (mut high, mut equal_back) = (items.len() - 1, items.len() - 1);
    loop {
        while low <= high {
            match compare(&items[low], &items[0]) {
                Ordering::Greater => break,
                Ordering::Equal => {
                    items.swap(equal_front, low);
                    equal_front += 1;
                }
                Ordering::Less => {}
            }
            low += 1;
        }
        while low <= high {
            match compare(&items[high], &items[0]) {
                Ordering::Less => break,
                Ordering::Equal => {
                    items.swap(high, equal_back);
                    equal_back -= 1;
                }
                Ordering::Greater => {}
            }
            high -= 1;
        }
        if low > high {
            break;
        }
        items.swap(low, high);
        low += 1;
        high -= 1;
    }
    let (less, greater) = (low - equal_front, equal_back - high);
    exchange(items, 0, low, equal_front.min(less));
    exchange(items, low, items.len(), greater.min(items.len() - equal_back - 1));
    (less, greater)
}

/// So many items from `start` on with as many before `end`.
fn exchange<T>(items: &mut [T], start: usize, end: usize, count: usize) {
    for index in 0..count {
        items.swap(start + index, end - count + index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_sorted() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 40
        };
        for count in 0..200 {
            let mut items: Vec<u64> = (0..count).map(|_| random() % (1 + count / 3)).collect();
            let mut sorted = items.clone();
            sorted.sort_unstable();
            sort(&mut items, &Ord::cmp).expect("nobody ends it");
            assert_eq!(items, sorted);
        }
    }
}
