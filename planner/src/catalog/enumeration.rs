//! Enum types: their labels in order, and by which places stored values know them.
//!
//! A stored value holds its label's place, and places grow in the order of the labels. They stand apart, so that most labels
//! find room between two others without any value being written anew.

use repr::Id;

/// CREATE TYPE … AS ENUM.
#[derive(Clone, Debug, Default)]
pub struct Enumeration {
    /// The labels in order.
    pub labels: Vec<EnumLabel>,
}

/// One label.
#[derive(Clone, Debug)]
pub struct EnumLabel {
    /// The label.
    pub name: String,
    /// `pg_enum.oid`
    pub id: Id,
    /// What values hold, and are compared by.
    pub place: u32,
    /// `pg_enum.enumsortorder`
    pub sort_order: f32,
}

/// How far apart places stand at first: sixteen labels find room between any two.
const GAP: u32 = 1 << 16;

impl Enumeration {
    /// The label of that name.
    pub fn label(&self, name: &str) -> Option<&EnumLabel> {
        self.labels.iter().find(|label| label.name == name)
    }

    /// Labels that an old folder has by their names alone get what they stood for there.
    pub(super) fn number_labels(&mut self, id: Id) {
        if self.labels.iter().any(|label| label.id != 0) {
            return;
        }
        for (label, index) in self.labels.iter_mut().zip(0u32..) {
            (label.id, label.place) = (0xC000_0000 | (id << 12) | (index & 0xfff), index);
            label.sort_order = index as f32 + 1.0;
        }
    }

    /// Puts a label at an index of the list. Whether it found a place between its neighbours': if not, `place_anew` is to follow.
    pub(crate) fn insert(&mut self, index: usize, name: &str, id: Id) -> bool {
        let before = index.checked_sub(1).map(|before| self.labels[before].clone());
        let after = self.labels.get(index).cloned();
        let (low, high) = (before.as_ref().map(|label| label.place), after.as_ref().map(|label| label.place));
        let place = match (low, high) {
            (low, None) => low.unwrap_or(0).checked_add(GAP),
            (low, Some(high)) => {
                let floor = low.unwrap_or(0);
                Some(floor + high.saturating_sub(floor) / 2).filter(|place| *place > floor)
            }
        };
        let sort_order = match (before, after) {
            (Some(before), Some(after)) => f32::midpoint(before.sort_order, after.sort_order),
            (Some(before), None) => before.sort_order + 1.0,
            (None, Some(after)) => after.sort_order - 1.0,
            (None, None) => 1.0,
        };
        self.labels.insert(index, EnumLabel { name: name.to_owned(), id, place: place.unwrap_or(0), sort_order });
        let told_apart = self.labels.windows(2).all(|pair| pair[0].sort_order < pair[1].sort_order);
        if !told_apart {
            self.number_sort_orders();
        }
        place.is_some()
    }

    /// Gives every label another place, in the same order.
    pub(crate) fn place_anew(&mut self) {
        let count = u32::try_from(self.labels.len()).unwrap_or(u32::MAX);
        let gap = GAP.min(u32::MAX / count.saturating_add(2)).max(1);
        for (label, index) in self.labels.iter_mut().zip(1u32..) {
            label.place = index.saturating_mul(gap);
        }
    }

    fn number_sort_orders(&mut self) {
        for (label, index) in self.labels.iter_mut().zip(0u32..) {
            label.sort_order = index as f32 + 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Enumeration;

    fn of(names: &[&str]) -> Enumeration {
        let mut found = Enumeration::default();
        for (index, name) in names.iter().enumerate() {
            assert!(found.insert(index, name, 30_000));
        }
        found
    }

    fn in_order(found: &Enumeration) -> bool {
        found.labels.windows(2).all(|pair| pair[0].place < pair[1].place && pair[0].sort_order < pair[1].sort_order)
    }

    #[test]
    fn labels_find_room_and_others_stay_where_they_are() {
        let mut found = of(&["a", "b"]);
        let places = (found.labels[0].place, found.labels[1].place);
        assert!(found.insert(1, "m", 1) && found.insert(0, "z", 2));
        assert!(in_order(&found));
        assert_eq!(
            (found.label("a").map(|l| l.place), found.label("b").map(|l| l.place)),
            (Some(places.0), Some(places.1))
        );
    }

    #[test]
    fn what_finds_no_room_is_told_and_placed_anew() {
        let mut found = of(&["a", "b"]);
        let mut inserted = 0;
        while found.insert(1, &format!("m{inserted}"), 1) {
            inserted += 1;
            assert!(in_order(&found));
        }
        assert_eq!(inserted, 16);
        found.place_anew();
        assert!(in_order(&found));
    }
}
