//! What rows of a table say, each thing once: the values that are told apart, whoever counts.
//!
//! Of too many, those that come late are told together. What is kept of a count says the same to the next, so then nothing is kept.

use super::segment::SegmentCounts;
use parking_lot::Mutex;
use planner::catalog::Property;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// Values that are told apart of a property in a table.
const VALUES_MAX: usize = 1_000;
/// What stands for the others.
const OTHERS: &str = "…";

/// What a count is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum CountedBy {
    Value(Property, Option<Box<str>>),
    Purpose(Option<Box<str>>),
}

/// What is said of rows for a purpose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SaidWord {
    pub(super) purpose: Option<Box<str>>,
    pub(super) property: Property,
    pub(super) word: Box<str>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Words(Mutex<Known>);

#[derive(Default)]
struct Known {
    places: BTreeSet<Arc<CountedBy>>,
    said: BTreeSet<Arc<SaidWord>>,
    /// How many are told apart: of a property's values, or of purposes.
    values: BTreeMap<Option<Property>, usize>,
    /// And how many of what is said for a purpose.
    words: BTreeMap<(Option<Box<str>>, Property), usize>,
    /// Addresses of what was looked at.
    seen: HashSet<usize>,
    too_many: bool,
}

impl Words {
    /// Where that is counted: among the others, where there are too many.
    pub(super) fn place(&self, place: CountedBy) -> Arc<CountedBy> {
        self.0.lock().place(Arc::new(place))
    }

    /// The same of what is said for a purpose.
    pub(super) fn said(&self, said: SaidWord) -> Arc<SaidWord> {
        self.0.lock().said(Arc::new(said))
    }

    /// Takes what was counted before as known. Whether all of it can be told apart, still.
    pub(super) fn knows(&self, counts: &SegmentCounts) -> bool {
        let mut known = self.0.lock();
        for (place, _) in &counts.counts {
            if known.seen.insert(Arc::as_ptr(place).addr()) {
                known.place(place.clone());
            }
        }
        for said in &counts.said {
            if known.seen.insert(Arc::as_ptr(said).addr()) {
                known.said(said.clone());
            }
        }
        !known.too_many
    }

    /// Begins anew.
    pub(super) fn forget(&self) {
        *self.0.lock() = Known::default();
    }

    /// Whether some were told together.
    pub(super) fn are_too_many(&self) -> bool {
        self.0.lock().too_many
    }
}

impl Known {
    fn place(&mut self, place: Arc<CountedBy>) -> Arc<CountedBy> {
        if let Some(known) = self.places.get(&place) {
            return known.clone();
        }
        let (kind, others) = match &*place {
            CountedBy::Value(property, _) => (Some(*property), CountedBy::Value(*property, Some(OTHERS.into()))),
            CountedBy::Purpose(_) => (None, CountedBy::Purpose(Some(OTHERS.into()))),
        };
        let values = self.values.entry(kind).or_default();
        let place = if *values < VALUES_MAX {
            *values += 1;
            place
        } else {
            self.too_many = true;
            self.places.get(&others).cloned().unwrap_or_else(|| Arc::new(others))
        };
        self.places.insert(place.clone());
        place
    }

    fn said(&mut self, said: Arc<SaidWord>) -> Arc<SaidWord> {
        if let Some(known) = self.said.get(&said) {
            return known.clone();
        }
        let words = self.words.entry((said.purpose.clone(), said.property)).or_default();
        let said = if *words < VALUES_MAX {
            *words += 1;
            said
        } else {
            self.too_many = true;
            let others = SaidWord { word: OTHERS.into(), ..(*said).clone() };
            self.said.get(&others).cloned().unwrap_or_else(|| Arc::new(others))
        };
        self.said.insert(said.clone());
        said
    }
}
