//! Where the repetitions of a part may end: one way after another, the last one where all of them must.

use super::Stopped;
use super::automaton::Automaton;
use super::search::Text;
use super::syntax::Bounds;

/// What each repetition tries first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// As much as it can. Empty ones are taken only as far as the minimum needs them.
    Most,
    /// As little as it can.
    Least,
}

/// The ways, of which one is at hand.
pub(super) struct Repetitions {
    takes: Takes,
    min: usize,
    max: usize,
    end: usize,
    /// Where all begin, and where each repetition ends.
    ends: Vec<usize>,
    /// The repetition that is looked for; 0 once there is no other way.
    at: usize,
    /// How far it may go (`Most`), or must (`Least`).
    limit: usize,
    /// How many repetitions are known to match, groups and all.
    verified: usize,
}

impl Repetitions {
    /// None if no repetition is needed.
    pub(super) fn new(takes: Takes, bounds: Bounds, begin: usize, end: usize) -> Option<Self> {
        let (min, max) = counts(bounds, begin, end)?;
        let limit = match takes {
            Takes::Most => end,
            Takes::Least => begin,
        };
        Some(Repetitions { takes, min, max, end, ends: vec![begin], at: 1, limit, verified: 0 })
    }

    /// Goes to the next way; false if there is none.
    pub(super) fn complete(&mut self, automaton: &Automaton, text: &Text<'_>) -> Result<bool, Stopped> {
        while self.at > 0 {
            self.ends.truncate(self.at);
            match self.next_end(automaton, text)? {
                None => self.at -= 1,
                Some(found) => {
                    let before = self.ends[self.at - 1];
                    self.ends.push(found);
                    self.verified = self.verified.min(self.at - 1);
                    if found == self.end {
                        if self.at >= self.min {
                            return Ok(true);
                        }
                    } else if self.at >= self.max {
                        self.at -= 1;
                    } else if self.takes == Takes::Least || found != before || self.needs_empty(found) {
                        self.at += 1;
                        self.limit = match self.takes {
                            Takes::Most => self.end,
                            Takes::Least => found,
                        };
                        continue;
                    }
                }
            }
            self.step_back();
        }
        Ok(false)
    }

    /// The repetitions of the way at hand that are not known to match: their numbers, where they begin and end.
    pub(super) fn unverified(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        (self.verified + 1..=self.at).map(|at| (at, self.ends[at - 1], self.ends[at]))
    }

    /// A repetition does not match after all, those before it do.
    pub(super) fn failed(&mut self, at: usize) {
        self.verified = at - 1;
        self.at = at;
        self.step_back();
    }

    fn next_end(&mut self, automaton: &Automaton, text: &Text<'_>) -> Result<Option<usize>, Stopped> {
        let before = self.ends[self.at - 1];
        match self.takes {
            Takes::Most => automaton.longest(text, before, self.limit),
            Takes::Least => {
                let may_be_empty = self.at < self.min && self.min - self.at >= self.end - self.limit;
                if self.limit == before && self.limit != self.end && !may_be_empty {
                    self.limit += 1;
                }
                if self.at >= self.max {
                    self.limit = self.end;
                }
                automaton.shortest(text, before, self.limit, self.end)
            }
        }
    }

    /// Back to the last repetition that could end elsewhere.
    fn step_back(&mut self) {
        while self.at > 0 {
            let (before, found) = (self.ends[self.at - 1], self.ends[self.at]);
            match self.takes {
                Takes::Most if found > before => {
                    self.limit = found - 1;
                    if self.limit > before || self.needs_empty(before) {
                        return;
                    }
                }
                Takes::Least if found < self.end => {
                    self.limit = found + 1;
                    return;
                }
                Takes::Most | Takes::Least => {}
            }
            self.at -= 1;
        }
    }

    /// Whether the minimum is reached only with empty repetitions from there on.
    fn needs_empty(&self, from: usize) -> bool {
        self.at < self.min && self.min - self.at >= self.end - from
    }
}

/// How many repetitions at least and at most; none if none are needed.
fn counts(bounds: Bounds, begin: usize, end: usize) -> Option<(usize, usize)> {
    let mut min = bounds.min as usize;
    if min == 0 {
        if begin == end {
            return None;
        }
        min = 1;
    }
    let longest = end - begin;
    let max = bounds.max.map_or(longest, |max| longest.min(max as usize));
    Some((min, max.max(min)))
}
