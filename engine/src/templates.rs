//! Statements of one shape, kept for all sessions: who sends a text with other literals needs neither parser nor planner.
//!
//! What the extended protocol calls a prepared statement, for the simple one. Bounded: what is not asked for while as many others
//! come as one generation holds is forgotten. Holds no literal. Whether a plan may be used still, the session decides.

use crate::session::plan::Prepared;
use parking_lot::Mutex;
use repr::hash::HashMap;
use std::sync::Arc;

/// Shapes in one generation; there are two.
const GENERATION_MAX: usize = 256;

/// What is known of a shape.
#[derive(Clone)]
pub enum KnownShape {
    /// It came once.
    Seen,
    /// With parameters it is another statement.
    Refused,
    /// The statement with parameters.
    Ready(Arc<Prepared>),
}

/// See the module.
#[derive(Default)]
pub struct Templates {
    kept: Mutex<KeptTemplate>,
}

#[derive(Default)]
struct KeptTemplate {
    young: HashMap<Box<str>, KnownShape>,
    old: HashMap<Box<str>, KnownShape>,
}

impl Templates {
    /// What is known of a shape. The first time that it is asked for, it is seen.
    pub fn find(&self, shape: &str) -> Option<KnownShape> {
        let mut kept = self.kept.lock();
        if let Some(known) = kept.young.get(shape) {
            return Some(known.clone());
        }
        let known = kept.old.remove(shape);
        kept.put(shape, known.clone().unwrap_or(KnownShape::Seen));
        known
    }

    /// Keeps what was found out.
    pub fn keep(&self, shape: &str, known: KnownShape) {
        self.kept.lock().put(shape, known);
    }
}

impl KeptTemplate {
    fn put(&mut self, shape: &str, known: KnownShape) {
        if self.young.len() >= GENERATION_MAX && !self.young.contains_key(shape) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(shape.into(), known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_stays_and_the_rest_goes() {
        let templates = Templates::default();
        assert!(templates.find("a").is_none());
        templates.keep("a", KnownShape::Refused);
        for number in 0..4 * GENERATION_MAX {
            assert!(templates.find(&number.to_string()).is_none());
            assert!(matches!(templates.find("a"), Some(KnownShape::Refused)), "asked for between the others");
        }
        assert!(matches!(templates.find(&(4 * GENERATION_MAX - 1).to_string()), Some(KnownShape::Seen)));
        assert!(templates.find("0").is_none());
        let kept = templates.kept.lock();
        assert!(kept.young.len() <= GENERATION_MAX && kept.old.len() <= GENERATION_MAX);
    }
}
