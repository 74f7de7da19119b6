//! Accumulators: what rows add up to, as whole numbers that come and go as differences.
//!
//! ```text
//! a row         ──▶ slot → number                of each call: a count, a sum, a limb of a long sum …
//! accumulators      (call, slot) → number        the numbers of all rows added; in order, none of them zero
//! ```
//! They form a group: the order of rows is nothing to them, and a row that is taken back leaves nothing behind. Numbers are added
//! modulo 2^128; a row adds less than 2^65 to a slot, so what 2^62 rows add up to is exact.

/// What a group's rows add up to in all its calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Accumulators {
    numbers: Vec<(u64, i128)>,
}

/// The slot of the rows that count, in every call.
pub(crate) const COUNT: u32 = 0;

fn place(call: u32, slot: u32) -> u64 {
    u64::from(call) << 32 | u64::from(slot)
}

impl Accumulators {
    /// None, with room for so many numbers.
    pub fn with_room(numbers: usize) -> Self {
        Accumulators { numbers: Vec::with_capacity(numbers) }
    }

    /// Where a row adds its numbers to a call's, so many times.
    pub fn contribution(&mut self, call: usize, times: i64) -> Contribution<'_> {
        let call = place(u32::try_from(call).expect("a node has few calls"), 0);
        let next = self.numbers.partition_point(|(found, _)| *found < call);
        Contribution { numbers: &mut self.numbers, call, times: i128::from(times), next }
    }

    /// A call's numbers.
    pub fn total(&self, call: usize) -> Total<'_> {
        let call = place(u32::try_from(call).expect("a node has few calls"), 0);
        let first = self.numbers.partition_point(|(found, _)| *found < call);
        let of_call = &self.numbers[first..];
        Total(&of_call[..of_call.partition_point(|(found, _)| *found >> 32 == call >> 32)])
    }

    /// Adds others, so many times.
    pub fn add(&mut self, others: &Accumulators, times: i128) {
        if self.is_zero() && times == 1 {
            self.numbers.clone_from(&others.numbers);
            return;
        }
        let mut left = self.numbers.iter_mut().peekable();
        let mut missing = false;
        for (place, number) in &others.numbers {
            while left.next_if(|(found, _)| found < place).is_some() {}
            match left.next_if(|(found, _)| found == place) {
                Some((_, total)) => *total = total.wrapping_add(number.wrapping_mul(times)),
                None => missing = true,
            }
        }
        if missing {
            let have = std::mem::take(&mut self.numbers);
            let known = |place: &u64| have.binary_search_by_key(place, |(found, _)| *found).is_ok();
            let new = others.numbers.iter().filter(|(place, _)| !known(place));
            let mut new = new.map(|(place, number)| (*place, number.wrapping_mul(times))).peekable();
            let mut merged = Vec::with_capacity(have.len() + others.numbers.len());
            for number in &have {
                while let Some(before) = new.next_if(|(place, _)| *place < number.0) {
                    merged.push(before);
                }
                merged.push(*number);
            }
            merged.extend(new);
            self.numbers = merged;
        }
        self.numbers.retain(|(_, number)| *number != 0);
    }

    /// Whether nothing has been added, or all of it taken back.
    pub fn is_zero(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The memory that they take beside themselves.
    pub fn heap_bytes(&self) -> usize {
        size_of_val(self.numbers.as_slice())
    }

    /// The numbers in order: call, slot, number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, i128)> + '_ {
        self.numbers.iter().map(|(place, number)| ((place >> 32) as u32, *place as u32, *number))
    }
}

/// Numbers as `iter` gives them, behind those that are there.
impl Extend<(u32, u32, i128)> for Accumulators {
    fn extend<I: IntoIterator<Item = (u32, u32, i128)>>(&mut self, numbers: I) {
        self.numbers.extend(numbers.into_iter().map(|(call, slot, number)| (place(call, slot), number)));
    }
}

/// Where a row adds its numbers to those of a call.
pub struct Contribution<'a> {
    numbers: &'a mut Vec<(u64, i128)>,
    call: u64,
    times: i128,
    /// Where the next slot stands most likely: slots come in order, and were there before.
    next: usize,
}

impl Contribution<'_> {
    /// Counts the row.
    pub fn count(&mut self) {
        self.add(COUNT, 1);
    }

    /// Adds to a slot a number below 2^65.
    pub fn add(&mut self, slot: u32, number: i128) {
        let number = number.wrapping_mul(self.times);
        if number == 0 {
            return;
        }
        let place = self.call | u64::from(slot);
        let found = match self.numbers.get(self.next) {
            Some((found, _)) if *found == place => Ok(self.next),
            Some(_) | None => self.numbers.binary_search_by_key(&place, |(found, _)| *found),
        };
        match found {
            Ok(at) => {
                let total = &mut self.numbers[at].1;
                *total = total.wrapping_add(number);
                if *total == 0 {
                    self.numbers.remove(at);
                    self.next = at;
                } else {
                    self.next = at + 1;
                }
            }
            Err(at) => {
                self.numbers.insert(at, (place, number));
                self.next = at + 1;
            }
        }
    }
}

/// What stands in a call's accumulators.
#[derive(Clone, Copy)]
pub struct Total<'a>(&'a [(u64, i128)]);

impl<'a> Total<'a> {
    /// The rows that counted.
    pub fn count(&self) -> i64 {
        self.at(COUNT) as i64
    }

    /// A slot's number.
    pub fn at(&self, slot: u32) -> i128 {
        let found = self.0.binary_search_by_key(&slot, |(place, _)| *place as u32);
        found.map_or(0, |at| self.0[at].1)
    }

    /// The slots from `first` up to `end`, counted from `first`, with their numbers.
    pub(crate) fn between(&self, first: u32, end: u32) -> impl Iterator<Item = (u32, i128)> + 'a {
        let from = self.0.partition_point(|(place, _)| (*place as u32) < first);
        let numbers = self.0[from..].iter().map(|(place, number)| (*place as u32, *number));
        numbers.take_while(move |(slot, _)| *slot < end).map(move |(slot, number)| (slot - first, number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_back_leaves_nothing() {
        let rows: [&[(usize, u32, i128)]; 4] =
            [&[(0, 0, 1), (0, 7, 5), (2, 1, -9)], &[(1, 0, 1)], &[(0, 7, -5), (3, 0, 4)], &[]];
        let mut all = Accumulators::default();
        let mut one_by_one = Accumulators::default();
        for (number, row) in rows.iter().enumerate() {
            let mut one = Accumulators::default();
            for (call, slot, value) in *row {
                one.contribution(*call, 1).add(*slot, *value);
                one_by_one.contribution(*call, 1).add(*slot, *value);
            }
            all.add(&one, 1);
            assert_eq!(all, one_by_one, "after row {number}");
        }
        let mut copied = Accumulators::with_room(2);
        copied.extend(all.iter());
        assert_eq!(copied, all);
        assert_eq!((all.total(0).count(), all.total(0).at(7), all.total(2).at(1)), (1, 0, -9));
        assert_eq!(all.total(3).between(0, 9).collect::<Vec<_>>(), [(0, 4)]);
        for row in rows.iter().rev() {
            for (call, slot, value) in *row {
                all.contribution(*call, -1).add(*slot, *value);
            }
        }
        assert!(all.is_zero());
        all.add(&one_by_one, -3);
        all.add(&one_by_one, 3);
        assert!(all.is_zero());
    }
}
