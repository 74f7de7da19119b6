//! How a match is divided among the parts of an expression: which part prefers what, and in which order they choose.
//!
//! PostgreSQL's rules (its manual, 9.7.3.5; Henry Spencer's library): a part with a quantifier prefers the longest or the shortest
//! match; a branch prefers what its first such part prefers; alternatives prefer the longest. The whole match is found first, by the
//! preference of the whole; then each part takes what it prefers of that, earlier parts before later ones. Parts in which nothing is
//! captured and whose preferences agree need no division: they are one leaf.

use super::Invalid;
use super::automaton::Automaton;
use super::syntax::{Bounds, Node, Prefers};
use std::cell::OnceCell;
use std::rc::Rc;

/// Parts of an expression that have to be divided; each is a level of the tree.
const DIVISIONS_MAX: usize = 1000;

/// What a part of an expression prefers and contains.
#[derive(Clone, Copy, Default)]
pub(super) struct Traits {
    longer: bool,
    shorter: bool,
    /// Preferences below differ.
    mixed: bool,
    captures: bool,
    references: bool,
}

impl Traits {
    const LONGER: Traits = Traits { longer: true, shorter: false, mixed: false, captures: false, references: false };

    fn preferring(prefers: Option<Prefers>) -> Traits {
        Traits {
            longer: prefers == Some(Prefers::Longer),
            shorter: prefers == Some(Prefers::Shorter),
            ..Traits::default()
        }
    }

    pub(super) fn prefers_shorter(self) -> bool {
        self.shorter
    }

    fn or(self, other: Traits) -> Traits {
        Traits {
            longer: self.longer | other.longer,
            shorter: self.shorter | other.shorter,
            mixed: self.mixed | other.mixed,
            captures: self.captures | other.captures,
            references: self.references | other.references,
        }
    }

    /// As seen from above: preferences do not count there, only that they differ.
    fn up(self) -> Traits {
        Traits { mixed: self.mixed || (self.longer && self.shorter), longer: false, shorter: false, ..self }
    }

    fn has_preference(self) -> bool {
        self.longer || self.shorter
    }

    fn preference(self) -> Traits {
        Traits { longer: self.longer, shorter: self.shorter, ..Traits::default() }
    }

    /// Of two parts in a row: the first one's preference, if it has one.
    fn then(self, other: Traits) -> Traits {
        let first = if self.has_preference() { self } else { other };
        self.or(other).up().or(first.preference())
    }

    fn needs_division(self) -> bool {
        self.mixed | self.captures | self.references
    }
}

/// A part of an expression, as a match is divided.
pub(super) struct Part {
    pub(super) kind: PartKind,
    pub(super) traits: Traits,
    /// The group that captures what this part matches.
    pub(super) capture: Option<usize>,
    pattern: Rc<Node>,
    automaton: OnceCell<Automaton>,
}

/// How a part is divided.
pub(super) enum PartKind {
    /// Not at all.
    Leaf,
    /// What a group has matched, again.
    Reference {
        group: usize,
        bounds: Bounds,
    },
    Pair(Box<Part>, Box<Part>),
    Alternatives(Vec<Part>),
    Iterated {
        body: Box<Part>,
        bounds: Bounds,
    },
    /// A group around a group.
    Around(Box<Part>),
}

impl Part {
    /// The tree of an expression.
    pub(super) fn new(node: &Rc<Node>) -> Result<Part, Invalid> {
        Planter { divisions: 0 }.alternatives(node)
    }

    fn made(kind: PartKind, traits: Traits, pattern: Rc<Node>) -> Part {
        Part { kind, traits, capture: None, pattern, automaton: OnceCell::new() }
    }

    fn leaf(traits: Traits, pattern: Rc<Node>) -> Part {
        Part::made(PartKind::Leaf, traits, pattern)
    }

    /// What recognises this part's matches, made when it is first asked for.
    pub(super) fn automaton(&self) -> Result<&Automaton, Invalid> {
        if let Some(automaton) = self.automaton.get() {
            return Ok(automaton);
        }
        let made = Automaton::new(&self.pattern)?;
        Ok(self.automaton.get_or_init(|| made))
    }
}

struct Planter {
    divisions: usize,
}

impl Planter {
    fn alternatives(&mut self, node: &Rc<Node>) -> Result<Part, Invalid> {
        let Node::Alternatives(branches) = &**node else { return self.branch(node) };
        let branches: Vec<Part> = branches.iter().map(|branch| self.branch(branch)).collect::<Result<_, _>>()?;
        let traits = branches.iter().fold(Traits::LONGER, |all, branch| all.or(Traits::LONGER.or(branch.traits).up()));
        Ok(if traits.needs_division() {
            Part::made(PartKind::Alternatives(branches), traits, node.clone())
        } else {
            Part::leaf(traits, node.clone())
        })
    }

    fn branch(&mut self, node: &Rc<Node>) -> Result<Part, Invalid> {
        match &**node {
            Node::Branch(parts) => self.sequence(parts, 0, node),
            _ => self.sequence(&[node.clone()].into(), 0, node),
        }
    }

    /// The parts from one on: a leaf of those that need no division, then the first one that does, then the rest.
    fn sequence(&mut self, parts: &Rc<[Rc<Node>]>, from: usize, whole: &Rc<Node>) -> Result<Part, Invalid> {
        self.divisions += 1;
        if self.divisions > DIVISIONS_MAX {
            return Err(Invalid::Complex);
        }
        let mut traits = Traits::default();
        for (at, part) in parts.iter().enumerate().skip(from) {
            let (body, bounds, prefers) = match &**part {
                Node::Empty | Node::Place(_) | Node::Look(_) => continue,
                Node::Repeat { body, bounds, prefers } => (body, *bounds, *prefers),
                Node::Set(_)
                | Node::Reference { .. }
                | Node::Group { .. }
                | Node::Alternatives(_)
                | Node::Branch(_) => (part, Bounds::ONCE, None),
            };
            let preferred = Traits::preferring(prefers);
            let (atom, captured) = self.atom(body)?;
            let all = traits.or(preferred).or(atom.traits);
            let reference = matches!(atom.kind, PartKind::Reference { .. });
            if !captured && !reference && !all.up().needs_division() {
                traits = all;
                continue;
            }
            let before = Part::leaf(traits, slice(parts, from, at));
            let own = preferred.then(atom.traits);
            let repeated = self.repeated(atom, body, part, bounds, prefers)?;
            let after = if at + 1 < parts.len() {
                self.sequence(parts, at + 1, &slice(parts, at + 1, parts.len()))?
            } else {
                Part::leaf(Traits::default(), Rc::new(Node::Empty))
            };
            let traits_of_rest = own.or(own.then(after.traits));
            let rest = Part::made(
                PartKind::Pair(Box::new(repeated), Box::new(after)),
                traits_of_rest,
                slice(parts, at, parts.len()),
            );
            let traits = traits.or(traits.then(traits_of_rest));
            return Ok(Part::made(PartKind::Pair(Box::new(before), Box::new(rest)), traits, whole.clone()));
        }
        Ok(Part::leaf(traits, whole.clone()))
    }

    /// An atom, and whether it is a group that captures.
    fn atom(&mut self, node: &Rc<Node>) -> Result<(Part, bool), Invalid> {
        Ok(match &**node {
            Node::Group { capture: None, body } => (self.alternatives(body)?, false),
            Node::Group { capture: Some(group), body } => {
                let inner = self.alternatives(body)?;
                let traits = Traits { captures: true, ..inner.traits };
                let part = if inner.capture.is_none() {
                    Part { traits, ..inner }
                } else {
                    Part::made(PartKind::Around(Box::new(inner)), traits, node.clone())
                };
                (Part { capture: Some(*group), ..part }, true)
            }
            Node::Reference { group, .. } => {
                let traits = Traits { references: true, ..Traits::default() };
                (Part::made(PartKind::Reference { group: *group, bounds: Bounds::ONCE }, traits, node.clone()), false)
            }
            _ => (Part::leaf(Traits::default(), node.clone()), false),
        })
    }

    /// An atom as often as its quantifier says.
    fn repeated(
        &mut self,
        atom: Part,
        body: &Rc<Node>,
        whole: &Rc<Node>,
        bounds: Bounds,
        prefers: Option<Prefers>,
    ) -> Result<Part, Invalid> {
        let preferred = Traits::preferring(prefers);
        let traits = preferred.then(atom.traits);
        if let PartKind::Reference { group, .. } = atom.kind {
            return Ok(Part::made(PartKind::Reference { group, bounds }, atom.traits.or(traits), whole.clone()));
        }
        let agrees = prefers.is_none()
            || !(atom.traits.has_preference() || atom.traits.mixed)
            || (!atom.traits.mixed
                && atom.traits.longer == preferred.longer
                && atom.traits.shorter == preferred.shorter);
        if bounds == Bounds::ONCE && agrees {
            return Ok(atom);
        }
        if !atom.traits.captures && !atom.traits.references {
            return Ok(Part::leaf(traits, whole.clone()));
        }
        if bounds.min > 0 && !atom.traits.references {
            // Only the last repetition's captures are wanted: what comes before it is a leaf.
            let fewer = Bounds { min: bounds.min - 1, max: bounds.max.map(|max| max - 1) };
            let before = Node::Repeat { body: body.clone(), bounds: fewer, prefers };
            let before = Part::leaf(traits.preference(), Rc::new(before));
            return Ok(Part::made(PartKind::Pair(Box::new(before), Box::new(atom)), traits, whole.clone()));
        }
        Ok(Part::made(PartKind::Iterated { body: Box::new(atom), bounds }, traits, whole.clone()))
    }
}

/// Some of a branch's parts, as a branch.
fn slice(parts: &Rc<[Rc<Node>]>, from: usize, to: usize) -> Rc<Node> {
    Rc::new(Node::Branch(parts[from..to].into()))
}
