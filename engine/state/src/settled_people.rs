//! People who wait for nothing that they have asked for: GDPR GET need not look through all their requests each time.
//!
//! ```text
//! GET ─▶ looks through the person's requests ─ none is open ─▶ noted, as of the state it read
//! a commit that leaves a request open ─▶ what was noted as of before it counts no more, whoever it is of
//! ```
//! The commit says so before anybody can read it. Most requests are answered as they are entered, and say nothing.
//! Knows neither requests nor commits.

use parking_lot::Mutex;
use repr::CommitTime;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Of more people it is looked up anew.
const PEOPLE_MAX: usize = 10_000;

/// See the module.
#[derive(Default)]
pub struct SettledPeople {
    /// The last commit that has left a request open.
    asked: AtomicU64,
    /// As the audit log names them, and as of when.
    people: Mutex<HashMap<String, CommitTime>>,
}

impl SettledPeople {
    /// Whether a person is known to wait for nothing, in any state that can be read by now.
    pub fn is_settled(&self, person: &str) -> bool {
        let asked = self.asked.load(Ordering::Acquire);
        self.people.lock().get(person).is_some_and(|time| time.0 >= asked)
    }

    /// In the state of that time a person waits for nothing.
    pub fn note(&self, person: &str, time: CommitTime) {
        let mut people = self.people.lock();
        if people.len() >= PEOPLE_MAX {
            people.clear();
        }
        people.insert(person.to_owned(), time);
    }

    /// A commit that leaves a request open is about to be published.
    pub fn asked(&self, time: CommitTime) {
        self.asked.fetch_max(time.0, Ordering::AcqRel);
    }
}
