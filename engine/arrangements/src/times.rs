//! The times of a batch's updates: once, as long as they are all the same, which merged ones are.

use crate::meter::{HeapBytes, trim_vec};
use crate::time::ArrangeTime;
use differential_dataflow::trace::implementations::containers::BatchContainer;

/// See the module.
pub struct Times<T> {
    /// The first one, and how many like it come before all others.
    first: Option<T>,
    same: usize,
    rest: Vec<T>,
}

impl<T: ArrangeTime> BatchContainer for Times<T> {
    type Owned = T;
    type ReadItem<'a> = &'a T;

    fn into_owned(item: &T) -> T {
        item.clone()
    }
    fn push_ref(&mut self, item: &T) {
        self.push_own(item);
    }
    fn push_own(&mut self, item: &T) {
        if self.rest.is_empty() && self.first.as_ref().is_none_or(|first| first == item) {
            if self.same == 0 {
                self.first = Some(item.clone());
            }
            self.same += 1;
        } else {
            self.rest.push(item.clone());
        }
    }
    fn clear(&mut self) {
        self.first = None;
        self.same = 0;
        self.rest.clear();
    }
    fn with_capacity(_size: usize) -> Self {
        Times { first: None, same: 0, rest: Vec::new() }
    }
    fn merge_capacity(_left: &Self, _right: &Self) -> Self {
        Self::with_capacity(0)
    }
    fn reborrow<'b, 'a: 'b>(item: &'a T) -> &'b T {
        item
    }
    fn index(&self, index: usize) -> &T {
        match &self.first {
            Some(first) if index < self.same => first,
            _ => &self.rest[index - self.same],
        }
    }
    fn len(&self) -> usize {
        self.same + self.rest.len()
    }
}

/// Of times: what elements hold themselves is not counted.
impl<T> HeapBytes for Times<T> {
    fn heap_bytes(&self) -> usize {
        self.rest.capacity() * size_of::<T>()
    }
    fn trim(&mut self) {
        trim_vec(&mut self.rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_was_pushed() {
        let mut times = Times::with_capacity(0);
        let pushed = [3u64, 3, 3, 4, 3, 5];
        pushed.iter().for_each(|time| times.push_own(time));
        assert_eq!((0..times.len()).map(|at| *times.index(at)).collect::<Vec<_>>(), pushed);
        times.clear();
        times.push_ref(&9);
        assert_eq!((times.len(), *times.index(0), times.get(1)), (1, 9, None));
    }
}
