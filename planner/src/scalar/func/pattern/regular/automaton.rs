//! A non-deterministic automaton, run over all its states at once: where matches that begin at a place end.
//!
//! Linear in the text. Where a group stands and what it captured is not known here; a back reference matches whatever its group could.

use super::search::Text;
use super::set::CharSet;
use super::syntax::{Bounds, Look, Node, Place};
use super::{Invalid, Stopped};
use repr::poll;
use std::cell::RefCell;
use std::rc::Rc;

/// States of one automaton.
const STATES_MAX: usize = 100_000;

type StateId = u32;

enum AutomatonState {
    Accept,
    Set(Rc<CharSet>, StateId),
    Fork(StateId, StateId),
    Place(Place, StateId),
    Look { look: usize, next: StateId },
}

/// What recognises the matches of a part.
pub(super) struct Automaton {
    states: Vec<AutomatonState>,
    start: StateId,
    looks: Vec<Looking>,
    memory: RefCell<Memory>,
}

/// A look of an automaton. One behind follows the text from its start, and remembers how far it came.
struct Looking {
    behind: bool,
    negative: bool,
    automaton: Automaton,
    followed: RefCell<Option<Followed>>,
}

/// How far a look behind has followed which text.
struct Followed {
    text: u64,
    at: usize,
    states: States,
}

/// The sets of states of a run, kept from one run to the next.
#[derive(Default)]
struct Memory {
    now: States,
    then: States,
    stack: Vec<StateId>,
}

/// A set of states: which are in it, and where they stand in the list.
#[derive(Default)]
struct States {
    list: Vec<StateId>,
    place: Vec<u32>,
}

impl States {
    fn clear(&mut self, size: usize) {
        self.list.clear();
        self.place.resize(size, 0);
    }

    fn insert(&mut self, state: StateId) -> bool {
        let at = self.place[state as usize] as usize;
        if self.list.get(at) == Some(&state) {
            return false;
        }
        self.place[state as usize] = self.list.len() as u32;
        self.list.push(state);
        true
    }
}

/// Which end of a match is wanted.
#[derive(Clone, Copy)]
enum WantedEnd {
    Longest,
    /// The first one that is no earlier.
    From(usize),
}

impl Automaton {
    pub(super) fn new(node: &Node) -> Result<Automaton, Invalid> {
        let mut builder = Builder { states: vec![AutomatonState::Accept], looks: Vec::new() };
        let start = builder.node(node, 0)?;
        Ok(Automaton { states: builder.states, start, looks: builder.looks, memory: RefCell::default() })
    }

    /// The end of the longest match from a place that ends at `stop` at the latest.
    pub(super) fn longest(&self, text: &Text<'_>, begin: usize, stop: usize) -> Result<Option<usize>, Stopped> {
        self.run(text, begin, stop, WantedEnd::Longest)
    }

    /// The end of the shortest match from a place that ends between `from` and `stop`.
    pub(super) fn shortest(
        &self,
        text: &Text<'_>,
        begin: usize,
        from: usize,
        stop: usize,
    ) -> Result<Option<usize>, Stopped> {
        self.run(text, begin, stop, WantedEnd::From(from))
    }

    fn run(&self, text: &Text<'_>, begin: usize, stop: usize, wanted: WantedEnd) -> Result<Option<usize>, Stopped> {
        let mut memory = self.memory.take();
        let Memory { now, then, stack } = &mut memory;
        now.clear(self.states.len());
        self.close_over(text, begin, self.start, now, stack)?;
        let (mut at, mut found) = (begin, None);
        loop {
            let accepts = now.list.contains(&0);
            match wanted {
                WantedEnd::Longest if accepts => found = Some(at),
                WantedEnd::From(from) if accepts && at >= from => {
                    found = Some(at);
                    break;
                }
                WantedEnd::Longest | WantedEnd::From(_) => {}
            }
            if at >= stop || now.list.is_empty() {
                break;
            }
            self.step(text, at, now, then, stack)?;
            std::mem::swap(now, then);
            at += 1;
        }
        self.memory.replace(memory);
        Ok(found)
    }

    /// The states after the character at a place.
    fn step(
        &self,
        text: &Text<'_>,
        at: usize,
        now: &States,
        then: &mut States,
        stack: &mut Vec<StateId>,
    ) -> Result<(), Stopped> {
        poll::steps(1 + now.list.len() / 8)?;
        then.clear(self.states.len());
        let character = text.characters()[at];
        for state in &now.list {
            if let AutomatonState::Set(set, next) = &self.states[*state as usize]
                && set.contains(character)
            {
                self.close_over(text, at + 1, *next, then, stack)?;
            }
        }
        Ok(())
    }

    /// A state, and all that is reached from it without a character.
    fn close_over(
        &self,
        text: &Text<'_>,
        at: usize,
        state: StateId,
        states: &mut States,
        stack: &mut Vec<StateId>,
    ) -> Result<(), Stopped> {
        stack.clear();
        stack.push(state);
        while let Some(state) = stack.pop() {
            if !states.insert(state) {
                continue;
            }
            match &self.states[state as usize] {
                AutomatonState::Accept | AutomatonState::Set(..) => {}
                AutomatonState::Fork(one, other) => stack.extend([*other, *one]),
                AutomatonState::Place(place, next) => {
                    if text.is_at(*place, at) {
                        stack.push(*next);
                    }
                }
                AutomatonState::Look { look, next } => {
                    if self.looks[*look].holds(text, at)? {
                        stack.push(*next);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Looking {
    fn holds(&self, text: &Text<'_>, at: usize) -> Result<bool, Stopped> {
        let found = if self.behind {
            self.ends(text, at)?
        } else {
            self.automaton.shortest(text, at, at, text.characters().len())?.is_some()
        };
        Ok(found != self.negative)
    }

    /// Whether a match ends at a place, wherever it began.
    fn ends(&self, text: &Text<'_>, at: usize) -> Result<bool, Stopped> {
        let automaton = &self.automaton;
        let mut stack = Vec::new();
        let mut followed = match self.followed.take() {
            Some(followed) if followed.text == text.number() && followed.at <= at => followed,
            Some(_) | None => {
                let mut states = States::default();
                states.clear(automaton.states.len());
                automaton.close_over(text, 0, automaton.start, &mut states, &mut stack)?;
                Followed { text: text.number(), at: 0, states }
            }
        };
        while followed.at < at {
            let mut then = States::default();
            automaton.step(text, followed.at, &followed.states, &mut then, &mut stack)?;
            followed.at += 1;
            automaton.close_over(text, followed.at, automaton.start, &mut then, &mut stack)?;
            followed.states = then;
        }
        let found = followed.states.list.contains(&0);
        self.followed.replace(Some(followed));
        Ok(found)
    }
}

/// Builds states from the end to the start: each knows what follows it.
struct Builder {
    states: Vec<AutomatonState>,
    looks: Vec<Looking>,
}

impl Builder {
    fn push(&mut self, state: AutomatonState) -> Result<StateId, Invalid> {
        if self.states.len() >= STATES_MAX {
            return Err(Invalid::Complex);
        }
        self.states.push(state);
        Ok((self.states.len() - 1) as StateId)
    }

    fn node(&mut self, node: &Node, next: StateId) -> Result<StateId, Invalid> {
        match node {
            Node::Empty => Ok(next),
            Node::Set(set) => self.push(AutomatonState::Set(set.clone(), next)),
            Node::Place(place) => self.push(AutomatonState::Place(*place, next)),
            Node::Look(look) => {
                let Look { behind, negative, body } = &**look;
                let automaton = Automaton::new(body)?;
                self.looks.push(Looking {
                    behind: *behind,
                    negative: *negative,
                    automaton,
                    followed: RefCell::default(),
                });
                self.push(AutomatonState::Look { look: self.looks.len() - 1, next })
            }
            Node::Reference { body, .. } | Node::Group { body, .. } => self.node(body, next),
            Node::Alternatives(branches) => {
                let mut starts =
                    branches.iter().rev().map(|branch| self.node(branch, next)).collect::<Vec<_>>().into_iter();
                let mut start = starts.next().unwrap_or(Ok(next))?;
                for other in starts {
                    start = self.push(AutomatonState::Fork(other?, start))?;
                }
                Ok(start)
            }
            Node::Branch(parts) => parts.iter().rev().try_fold(next, |next, part| self.node(part, next)),
            Node::Repeat { body, bounds, .. } => self.repeat(body, *bounds, next),
        }
    }

    fn repeat(&mut self, body: &Node, bounds: Bounds, next: StateId) -> Result<StateId, Invalid> {
        let mut start = next;
        match bounds.max {
            None => {
                let fork = self.push(AutomatonState::Fork(next, next))?;
                let again = self.node(body, fork)?;
                self.states[fork as usize] = AutomatonState::Fork(again, next);
                start = fork;
            }
            Some(max) => {
                for _ in bounds.min..max {
                    let once = self.node(body, start)?;
                    start = self.push(AutomatonState::Fork(once, next))?;
                }
            }
        }
        for _ in 0..bounds.min {
            start = self.node(body, start)?;
        }
        Ok(start)
    }
}
