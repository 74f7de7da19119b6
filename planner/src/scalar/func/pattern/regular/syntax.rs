//! What a regular expression says, once it is read: `lexer` → `parser` → this → `tree` and `automaton`.

use super::set::CharSet;
use std::rc::Rc;

/// A part of an expression.
pub(super) enum Node {
    Empty,
    /// One character of a set.
    Set(Rc<CharSet>),
    /// A place, no character.
    Place(Place),
    /// What must, or must not, begin or end at a place.
    Look(Rc<Look>),
    /// What a group has matched, again.
    Reference {
        group: usize,
        body: Rc<Node>,
    },
    /// `(…)`, with its number, and `(?:…)`, with none.
    Group {
        capture: Option<usize>,
        body: Rc<Node>,
    },
    Alternatives(Vec<Rc<Node>>),
    /// One after the other.
    Branch(Rc<[Rc<Node>]>),
    Repeat {
        body: Rc<Node>,
        bounds: Bounds,
        prefers: Option<Prefers>,
    },
}

/// A look ahead of a place, or behind it.
pub(super) struct Look {
    pub(super) behind: bool,
    pub(super) negative: bool,
    pub(super) body: Rc<Node>,
}

/// Places in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    WordStart,
    WordEnd,
    WordEdge,
    NoWordEdge,
}

/// How often, at least and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) min: u32,
    /// None: without an end.
    pub(super) max: Option<u32>,
}

impl Bounds {
    pub(super) const ONCE: Bounds = Bounds { min: 1, max: Some(1) };

    pub(super) fn allow(self, count: usize) -> bool {
        count >= self.min as usize && self.max.is_none_or(|max| count <= max as usize)
    }
}

/// Whether the longest or the shortest match is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefers {
    Longer,
    Shorter,
}

impl Node {
    /// The same characters with no condition on where they stand: what a back reference repeats.
    pub(super) fn without_places(self: &Rc<Node>) -> Rc<Node> {
        match &**self {
            Node::Empty | Node::Set(_) => self.clone(),
            Node::Place(_) | Node::Look(_) => Rc::new(Node::Empty),
            Node::Reference { body, .. } | Node::Group { body, .. } => body.without_places(),
            Node::Alternatives(branches) => {
                Rc::new(Node::Alternatives(branches.iter().map(Node::without_places).collect()))
            }
            Node::Branch(parts) => Rc::new(Node::Branch(parts.iter().map(Node::without_places).collect())),
            Node::Repeat { body, bounds, prefers } => {
                Rc::new(Node::Repeat { body: body.without_places(), bounds: *bounds, prefers: *prefers })
            }
        }
    }
}
