//! Searching a text: where the first match begins, where it ends, and what each group captures of it.

use super::repetitions::{Repetitions, Takes};
use super::syntax::{Bounds, Place};
use super::tree::{Part, PartKind};
use super::{GroupSpan, Stopped, TextMatch};
use repr::poll;
use std::cell::{Cell, OnceCell};

thread_local! {
    static TEXTS: Cell<u64> = const { Cell::new(0) };
}

/// A text as characters with numbers.
pub(crate) struct Text<'a> {
    source: &'a str,
    number: u64,
    characters: OnceCell<Vec<char>>,
    /// Where each character begins in bytes; none if each is one byte.
    offsets: OnceCell<Option<Vec<usize>>>,
}

impl<'a> Text<'a> {
    pub(crate) fn new(source: &'a str) -> Text<'a> {
        let number = TEXTS.get() + 1;
        TEXTS.set(number);
        Text { source, number, characters: OnceCell::new(), offsets: OnceCell::new() }
    }

    pub(crate) fn source(&self) -> &'a str {
        self.source
    }

    /// Tells this text from every other one of this thread.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn characters(&self) -> &[char] {
        self.characters.get_or_init(|| self.source.chars().collect())
    }

    /// How many characters it has.
    pub(crate) fn length(&self) -> usize {
        self.characters().len()
    }

    fn offsets(&self) -> Option<&[usize]> {
        let made = self.offsets.get_or_init(|| {
            (!self.source.is_ascii())
                .then(|| self.source.char_indices().map(|(at, _)| at).chain([self.source.len()]).collect())
        });
        made.as_deref()
    }

    /// Where a character begins, in bytes.
    pub(crate) fn byte(&self, character: usize) -> usize {
        self.offsets().map_or(character, |offsets| offsets[character])
    }

    /// Which character begins at a byte.
    pub(super) fn character(&self, byte: usize) -> usize {
        self.offsets().map_or(byte, |offsets| offsets.partition_point(|offset| *offset < byte))
    }

    /// What stands between two characters.
    pub(crate) fn slice(&self, from: usize, to: usize) -> &'a str {
        &self.source[self.byte(from)..self.byte(to)]
    }

    pub(super) fn is_at(&self, place: Place, at: usize) -> bool {
        let characters = self.characters();
        let before = at.checked_sub(1).map(|before| characters[before]);
        let after = characters.get(at).copied();
        let word = |character: Option<char>| character.is_some_and(super::is_word);
        match place {
            Place::TextStart => before.is_none(),
            Place::TextEnd => after.is_none(),
            Place::LineStart => before.is_none_or(|before| before == '\n'),
            Place::LineEnd => after.is_none_or(|after| after == '\n'),
            Place::WordStart => !word(before) && word(after),
            Place::WordEnd => word(before) && !word(after),
            Place::WordEdge => word(before) != word(after),
            Place::NoWordEdge => word(before) == word(after),
        }
    }
}

/// Divides a match among an expression's parts.
struct Division<'a> {
    text: &'a Text<'a>,
    groups: Vec<GroupSpan>,
    insensitive: bool,
}

/// The match of an expression that begins at a place, if there is one.
pub(super) fn match_at(
    part: &Part,
    text: &Text<'_>,
    begin: usize,
    groups: usize,
    references: bool,
    insensitive: bool,
) -> Result<Option<TextMatch>, Stopped> {
    let automaton = part.automaton()?;
    let shorter = part.traits.prefers_shorter();
    let (mut from, mut stop) = (begin, text.length());
    loop {
        let end = if shorter {
            automaton.shortest(text, begin, from, stop)?
        } else {
            automaton.longest(text, begin, stop)?
        };
        let Some(end) = end else { return Ok(None) };
        let mut division = Division { text, groups: vec![None; groups], insensitive };
        // Without back references what the automaton has found is a match.
        if groups == 0 && !references || division.divide(part, begin, end)? {
            return Ok(Some(TextMatch { begin, end, groups: division.groups }));
        }
        if shorter {
            from = end + 1;
            if from > stop {
                return Ok(None);
            }
        } else {
            if end == begin {
                return Ok(None);
            }
            stop = end - 1;
        }
    }
}

impl Division<'_> {
    /// Whether a part that could match between two places does, and what its groups are then.
    fn divide(&mut self, part: &Part, begin: usize, end: usize) -> Result<bool, Stopped> {
        poll::step()?;
        let matched = match &part.kind {
            PartKind::Leaf => true,
            PartKind::Reference { group, bounds } => self.repeats(*group, *bounds, begin, end)?,
            PartKind::Pair(left, right) => self.pair(left, right, begin, end)?,
            PartKind::Alternatives(branches) => self.alternatives(branches, begin, end)?,
            PartKind::Iterated { body, bounds } => self.iterate(body, *bounds, begin, end)?,
            PartKind::Around(inner) => self.divide(inner, begin, end)?,
        };
        if let Some(group) = part.capture.filter(|_| matched) {
            self.groups[group - 1] = Some((begin, end));
        }
        Ok(matched)
    }

    /// Forgets what the groups of a part have captured.
    fn forget(&mut self, part: &Part) {
        if let Some(group) = part.capture {
            self.groups[group - 1] = None;
        }
        match &part.kind {
            PartKind::Leaf | PartKind::Reference { .. } => {}
            PartKind::Pair(left, right) => {
                self.forget(left);
                self.forget(right);
            }
            PartKind::Alternatives(branches) => branches.iter().for_each(|branch| self.forget(branch)),
            PartKind::Iterated { body, .. } => self.forget(body),
            PartKind::Around(inner) => self.forget(inner),
        }
    }

    /// Whether a text is what a group has matched, as often as allowed.
    fn repeats(&self, group: usize, bounds: Bounds, begin: usize, end: usize) -> Result<bool, Stopped> {
        let Some((from, to)) = self.groups[group - 1] else { return Ok(false) };
        let length = to - from;
        if length == 0 {
            return Ok(begin == end);
        }
        if begin == end {
            return Ok(bounds.min == 0);
        }
        if !(end - begin).is_multiple_of(length) || !bounds.allow((end - begin) / length) {
            return Ok(false);
        }
        let characters = self.text.characters();
        poll::steps((end - begin) / 16)?;
        let (pattern, subject) = (&characters[from..to], &characters[begin..end]);
        Ok(subject
            .iter()
            .zip(pattern.iter().cycle())
            .all(|(one, other)| one == other || self.insensitive && super::same_but_case(*one, *other)))
    }

    fn pair(&mut self, left: &Part, right: &Part, begin: usize, end: usize) -> Result<bool, Stopped> {
        let (first, second) = (left.automaton()?, right.automaton()?);
        let shorter = left.traits.prefers_shorter();
        let (mut from, mut stop) = (begin, end);
        loop {
            let middle = if shorter {
                first.shortest(self.text, begin, from, end)?
            } else {
                first.longest(self.text, begin, stop)?
            };
            let Some(middle) = middle else { return Ok(false) };
            if second.longest(self.text, middle, end)? == Some(end)
                && self.divide(left, begin, middle)?
                && self.divide(right, middle, end)?
            {
                return Ok(true);
            }
            if middle == if shorter { end } else { begin } {
                return Ok(false);
            }
            (from, stop) = (middle + 1, middle.saturating_sub(1));
            self.forget(left);
            self.forget(right);
        }
    }

    fn alternatives(&mut self, branches: &[Part], begin: usize, end: usize) -> Result<bool, Stopped> {
        for branch in branches {
            if branch.automaton()?.longest(self.text, begin, end)? == Some(end) && self.divide(branch, begin, end)? {
                return Ok(true);
            }
            self.forget(branch);
        }
        Ok(false)
    }

    /// Repetitions, each of which takes as much or as little as it can.
    fn iterate(&mut self, body: &Part, bounds: Bounds, begin: usize, end: usize) -> Result<bool, Stopped> {
        let takes = if body.traits.prefers_shorter() { Takes::Least } else { Takes::Most };
        let Some(mut repetitions) = Repetitions::new(takes, bounds, begin, end) else {
            return match takes {
                Takes::Most => self.iterate_nothing(body, begin),
                Takes::Least => Ok(true),
            };
        };
        let automaton = body.automaton()?;
        while repetitions.complete(automaton, self.text)? {
            match self.first_failing(body, &repetitions)? {
                None => return Ok(true),
                Some(failed) => repetitions.failed(failed),
            }
        }
        Ok(false)
    }

    /// No character is left and no repetition needed: there is one, if it can be empty, else none.
    fn iterate_nothing(&mut self, body: &Part, at: usize) -> Result<bool, Stopped> {
        if body.automaton()?.longest(self.text, at, at)?.is_none() || !self.divide(body, at, at)? {
            self.forget(body);
        }
        Ok(true)
    }

    /// The first repetition that does not match after all.
    fn first_failing(&mut self, body: &Part, repetitions: &Repetitions) -> Result<Option<usize>, Stopped> {
        for (at, begin, end) in repetitions.unverified() {
            self.forget(body);
            if !self.divide(body, begin, end)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}
