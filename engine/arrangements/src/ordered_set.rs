//! Byte strings in order that anyone may go on reading while they change: a B-tree whose changed paths are copied.
//!
//! ```text
//! inner   [least of the first ‖ count] → node … [least of the last ‖ count] → node
//! leaf    entry ‖ entry ‖ …, and where each ends
//! ```
//! A clone is a pointer, and stays as it was. A change copies the nodes on its way (a few kilobytes) only if a clone
//! holds them. Never holds an entry twice.

use std::ops::{Bound, Range};
use std::sync::Arc;

/// A leaf has no more entries than this …
const LEAF_ENTRIES_MAX: usize = 128;
/// … and, unless it has one entry only, no more bytes.
const LEAF_BYTES_MAX: usize = 8 << 10;
/// Children of an inner node.
const CHILDREN_MAX: usize = 64;

/// See the module.
#[derive(Clone, Default)]
pub struct Entries {
    root: Arc<Node>,
    bytes: usize,
}

#[derive(Clone)]
enum Node {
    Leaf(TreeLeaf),
    Inner(Vec<Child>),
}

#[derive(Clone, Default)]
struct TreeLeaf {
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

#[derive(Clone)]
struct Child {
    /// No entry in it is less; every entry of the child before is.
    least: Arc<[u8]>,
    count: usize,
    node: Arc<Node>,
}

impl Default for Node {
    fn default() -> Self {
        Node::Leaf(TreeLeaf::default())
    }
}

impl Entries {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.root.count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes on the heap: what the entries take, and what nodes that are a quarter empty take besides.
    pub fn bytes(&self) -> usize {
        (self.bytes + self.len() * size_of::<u32>()) * 4 / 3
    }

    /// Adds an entry. False if it is there already.
    pub fn insert(&mut self, entry: &[u8]) -> bool {
        let (added, split) = insert(&mut self.root, entry);
        if let Some(right) = split {
            let left = std::mem::take(&mut self.root);
            let least = Arc::default();
            self.root = Arc::new(Node::Inner(vec![Child { least, count: left.count(), node: left }, right]));
        }
        self.bytes += if added { entry.len() } else { 0 };
        added
    }

    /// Takes an entry away. False if it is not there.
    pub fn remove(&mut self, entry: &[u8]) -> bool {
        let removed = remove(&mut self.root, entry);
        if let Node::Inner(children) = &*self.root
            && let [only] = children.as_slice()
        {
            self.root = only.node.clone();
        }
        self.bytes -= if removed { entry.len() } else { 0 };
        removed
    }

    /// How many entries stand before a byte string.
    pub fn rank(&self, bytes: &[u8]) -> usize {
        let (mut node, mut before) = (&self.root, 0);
        loop {
            match &**node {
                Node::Leaf(leaf) => return before + leaf.position(bytes),
                Node::Inner(children) => {
                    let at = child_of(children, bytes);
                    before += children[..at].iter().map(|child| child.count).sum::<usize>();
                    node = &children[at].node;
                }
            }
        }
    }

    /// The ranks of the first entry within these bounds and of the first after it.
    pub fn ranks(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Range<usize> {
        let past = |bytes: &[u8]| self.rank(&[bytes, &[0]].concat());
        let start = match lower {
            Bound::Unbounded => 0,
            Bound::Included(bytes) => self.rank(bytes),
            Bound::Excluded(bytes) => past(bytes),
        };
        let end = match upper {
            Bound::Unbounded => self.len(),
            Bound::Included(bytes) => past(bytes),
            Bound::Excluded(bytes) => self.rank(bytes),
        };
        start..end.max(start)
    }

    /// The entries of these ranks, from the least to the greatest, or backwards.
    pub fn iter(&self, ranks: Range<usize>, reverse: bool) -> EntryIterator {
        EntryIterator { root: self.root.clone(), ranks, reverse, leaf: None }
    }
}

impl Node {
    fn count(&self) -> usize {
        match self {
            Node::Leaf(leaf) => leaf.ends.len(),
            Node::Inner(children) => children.iter().map(|child| child.count).sum(),
        }
    }
}

impl TreeLeaf {
    fn start(&self, at: usize) -> usize {
        if at == 0 { 0 } else { self.ends[at - 1] as usize }
    }

    fn entry(&self, at: usize) -> &[u8] {
        &self.bytes[self.start(at)..self.ends[at] as usize]
    }

    /// How many of its entries stand before a byte string.
    fn position(&self, bytes: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.entry(middle) < bytes { low = middle + 1 } else { high = middle }
        }
        low
    }

    fn has(&self, at: usize, entry: &[u8]) -> bool {
        at < self.ends.len() && self.entry(at) == entry
    }

    /// Puts `entry` in place of those at these positions.
    fn replace(&mut self, at: Range<usize>, entry: Option<&[u8]>) {
        let (start, end) = (self.start(at.start), self.start(at.end));
        let entry_bytes = entry.map_or(0, <[u8]>::len);
        self.bytes.splice(start..end, entry.into_iter().flatten().copied());
        let length =
            |bytes: usize| u32::try_from(bytes).expect("an index entry is bounded far below 4 GiB by the protocol");
        for later in &mut self.ends[at.end..] {
            *later = length(*later as usize - (end - start) + entry_bytes);
        }
        self.ends.splice(at, entry.map(|_| length(start + entry_bytes)));
    }

    fn is_over_full(&self) -> bool {
        self.ends.len() > LEAF_ENTRIES_MAX || (self.bytes.len() > LEAF_BYTES_MAX && self.ends.len() > 1)
    }

    /// Keeps the first entries; the others.
    fn split_off(&mut self, at: usize) -> TreeLeaf {
        let start = self.start(at);
        let ends = self.ends.split_off(at).into_iter().map(|end| end - start as u32).collect();
        let right = TreeLeaf { ends, bytes: self.bytes.split_off(start) };
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
        right
    }

    fn append(&mut self, right: &TreeLeaf) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(&right.bytes);
        self.ends.extend(right.ends.iter().map(|end| start + end));
    }
}

/// The child in which a byte string belongs.
fn child_of(children: &[Child], bytes: &[u8]) -> usize {
    children.partition_point(|child| *child.least <= *bytes).saturating_sub(1)
}

/// Whether it was added, and what has to stand beside the node now.
fn insert(node: &mut Arc<Node>, entry: &[u8]) -> (bool, Option<Child>) {
    match Arc::make_mut(node) {
        Node::Leaf(leaf) => {
            let at = leaf.position(entry);
            if leaf.has(at, entry) {
                return (false, None);
            }
            leaf.replace(at..at, Some(entry));
            let split = leaf.is_over_full().then(|| {
                let right = leaf.split_off(leaf.ends.len() / 2);
                Child { least: right.entry(0).into(), count: right.ends.len(), node: Arc::new(Node::Leaf(right)) }
            });
            (true, split)
        }
        Node::Inner(children) => {
            let at = child_of(children, entry);
            let (added, split) = insert(&mut children[at].node, entry);
            children[at].count += usize::from(added);
            if let Some(right) = split {
                children[at].count -= right.count;
                children.insert(at + 1, right);
            }
            let split = (children.len() > CHILDREN_MAX).then(|| {
                let moved = children.split_off(CHILDREN_MAX / 2);
                let (least, right) = (moved[0].least.clone(), Node::Inner(moved));
                Child { least, count: right.count(), node: Arc::new(right) }
            });
            (added, split)
        }
    }
}

/// Whether it was there.
fn remove(node: &mut Arc<Node>, entry: &[u8]) -> bool {
    match Arc::make_mut(node) {
        Node::Leaf(leaf) => {
            let at = leaf.position(entry);
            let found = leaf.has(at, entry);
            if found {
                leaf.replace(at..at + 1, None);
            }
            found
        }
        Node::Inner(children) => {
            let at = child_of(children, entry);
            let removed = remove(&mut children[at].node, entry);
            if removed {
                children[at].count -= 1;
                tidy(children, at);
            }
            removed
        }
    }
}

/// A child that has become small is joined with the one after or before it.
fn tidy(children: &mut Vec<Child>, at: usize) {
    if children.len() == 1 {
        return;
    }
    let left = if at + 1 < children.len() { at } else { at - 1 };
    let fits = match (&*children[left].node, &*children[left + 1].node) {
        (Node::Leaf(left), Node::Leaf(right)) => {
            let small = left.ends.len() + right.ends.len() <= LEAF_ENTRIES_MAX / 2
                && left.bytes.len() + right.bytes.len() <= LEAF_BYTES_MAX / 2;
            small || left.ends.is_empty() || right.ends.is_empty()
        }
        (Node::Inner(left), Node::Inner(right)) => left.len() + right.len() <= CHILDREN_MAX / 2,
        (Node::Leaf(_), Node::Inner(_)) | (Node::Inner(_), Node::Leaf(_)) => false,
    };
    if !fits {
        return;
    }
    let right = children.remove(left + 1);
    children[left].count += right.count;
    match (Arc::make_mut(&mut children[left].node), &*right.node) {
        (Node::Leaf(left), Node::Leaf(right)) => left.append(right),
        (Node::Inner(left), Node::Inner(right)) => left.extend(right.iter().cloned()),
        (Node::Leaf(_), Node::Inner(_)) | (Node::Inner(_), Node::Leaf(_)) => {}
    }
}

/// See `Entries::iter`.
pub struct EntryIterator {
    root: Arc<Node>,
    ranks: Range<usize>,
    reverse: bool,
    /// The leaf that was read last, and the rank of its first entry.
    leaf: Option<(Arc<Node>, usize)>,
}

impl Iterator for EntryIterator {
    type Item = Box<[u8]>;

    fn next(&mut self) -> Option<Box<[u8]>> {
        let rank = if self.reverse { self.ranks.next_back() } else { self.ranks.next() }?;
        loop {
            if let Some((node, first)) = &self.leaf
                && let Node::Leaf(leaf) = &**node
                && rank >= *first
                && rank - first < leaf.ends.len()
            {
                return Some(leaf.entry(rank - first).into());
            }
            self.leaf = Some(self.leaf_of(rank));
        }
    }
}

impl EntryIterator {
    /// The leaf with the entry of this rank, which is there, and the rank of its first entry.
    fn leaf_of(&self, rank: usize) -> (Arc<Node>, usize) {
        let (mut node, mut first) = (&self.root, 0);
        while let Node::Inner(children) = &**node {
            for child in children {
                node = &child.node;
                if rank < first + child.count {
                    break;
                }
                first += child.count;
            }
        }
        (node.clone(), first)
    }
}

#[cfg(test)]
mod tests {
    use super::Entries;
    use std::collections::BTreeSet;
    use std::ops::Bound;

    struct Dice(u64);

    impl Dice {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % bound
        }

        fn entry(&mut self, range: u64) -> Vec<u8> {
            let length = if self.below(50) == 0 { 3_000 } else { self.below(3) as usize };
            let mut entry = self.below(range).to_be_bytes()[5..].to_vec();
            entry.resize(entry.len() + length, 7);
            entry
        }
    }

    fn agree(entries: &Entries, expected: &BTreeSet<Vec<u8>>, dice: &mut Dice) {
        assert_eq!(entries.len(), expected.len());
        let all: Vec<Vec<u8>> = entries.iter(0..entries.len(), false).map(Vec::from).collect();
        assert!(all.iter().eq(expected.iter()));
        for _ in 0..5 {
            let (low, high) = (dice.entry(30_000), dice.entry(30_000));
            for (lower, upper) in [
                (Bound::Included(low.as_slice()), Bound::Excluded(high.as_slice())),
                (Bound::Excluded(low.as_slice()), Bound::Included(high.as_slice())),
                (Bound::Unbounded, Bound::Excluded(high.as_slice())),
                (Bound::Included(low.as_slice()), Bound::Unbounded),
            ] {
                let within =
                    |entry: &&Vec<u8>| std::ops::RangeBounds::<[u8]>::contains(&(lower, upper), entry.as_slice());
                let ranks = entries.ranks(lower, upper);
                let found: Vec<Vec<u8>> = entries.iter(ranks.clone(), false).map(Vec::from).collect();
                assert!(found.iter().eq(expected.iter().filter(within)));
                let back: Vec<Vec<u8>> = entries.iter(ranks, true).map(Vec::from).collect();
                assert!(back.iter().rev().eq(found.iter()));
            }
        }
    }

    #[test]
    fn random_changes_and_what_was_held_meanwhile() {
        let mut dice = Dice(1);
        let (mut entries, mut expected) = (Entries::default(), BTreeSet::new());
        let mut held = Vec::new();
        for round in 0..60 {
            // Grows, shrinks to nearly nothing, and grows again.
            let removes = if (20..40).contains(&round) { 9 } else { 2 };
            for _ in 0..600 {
                let entry = match expected.iter().next() {
                    Some(_) if dice.below(10) < removes => {
                        let from = dice.entry(30_000);
                        let found = expected.range(from.clone()..).next().or_else(|| expected.first()).cloned();
                        let entry = found.unwrap_or(from);
                        assert_eq!(entries.remove(&entry), expected.remove(&entry));
                        continue;
                    }
                    _ => dice.entry(30_000),
                };
                assert_eq!(entries.insert(&entry), expected.insert(entry.clone()));
            }
            assert!(!entries.remove(b"never there"));
            agree(&entries, &expected, &mut dice);
            held.push((entries.clone(), expected.clone()));
        }
        for (entries, expected) in &held {
            agree(entries, expected, &mut dice);
        }
        let bytes: usize = expected.iter().map(Vec::len).sum();
        assert!(entries.bytes() >= bytes);
        for entry in &expected {
            assert!(entries.remove(entry));
        }
        assert!(entries.is_empty());
        assert_eq!(entries.bytes(), 0);
    }
}
