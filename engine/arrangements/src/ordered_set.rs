//! Byte strings in order that anyone may go on reading while they change: a B-tree whose changed paths are copied.
//!
//! ```text
//! inner   [least of the first ‖ rows] → node … [least of the last ‖ rows] → node
//! leaf    entry ‖ entry ‖ …, where each ends, and how many rows it stands for, unless each is one
//! ```
//! A clone is a pointer, and stays as it was. A change copies the nodes on its way (a few kilobytes) only if a clone
//! holds them. Never holds an entry twice: a rank is a row's, of which an entry may be several. An entry of less than no
//! rows is held, and is no row.

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
    root: Arc<TreeNode>,
    entries: usize,
    bytes: usize,
}

#[derive(Clone)]
enum TreeNode {
    Leaf(TreeLeaf),
    Inner(Vec<Child>),
}

#[derive(Clone, Default)]
struct TreeLeaf {
    ends: Vec<u32>,
    bytes: Vec<u8>,
    /// What each entry counts; empty while each counts one.
    counts: Vec<i64>,
}

#[derive(Clone)]
struct Child {
    /// No entry in it is less; every entry of the child before is.
    least: Arc<[u8]>,
    rows: usize,
    node: Arc<TreeNode>,
}

impl Default for TreeNode {
    fn default() -> Self {
        TreeNode::Leaf(TreeLeaf::default())
    }
}

impl Entries {
    /// How many rows there are: as many as entries, unless some were changed by more than one.
    pub fn len(&self) -> usize {
        self.root.rows()
    }

    /// How many entries there are.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes on the heap: what the entries take, and what nodes that are a quarter empty take besides.
    pub fn bytes(&self) -> usize {
        (self.bytes + self.entries * size_of::<u32>()) * 4 / 3
    }

    /// Adds an entry. False if it is there already.
    pub fn insert(&mut self, entry: &[u8]) -> bool {
        self.change(entry, |rows| if rows == 0 { 1 } else { rows }) == 0
    }

    /// Takes an entry away. False if it is not there.
    pub fn remove(&mut self, entry: &[u8]) -> bool {
        self.change(entry, |_| 0) != 0
    }

    /// Adds so many rows to an entry, or takes them away.
    pub fn add(&mut self, entry: &[u8], rows: i64) {
        self.change(entry, |before| before + rows);
    }

    /// What an entry counted, before it was given another count.
    fn change(&mut self, entry: &[u8], to: impl Fn(i64) -> i64) -> i64 {
        let Changed { before, after, split } = change(&mut self.root, entry, &to);
        if let Some(right) = split {
            let left = std::mem::take(&mut self.root);
            let least = Arc::default();
            self.root = Arc::new(TreeNode::Inner(vec![Child { least, rows: left.rows(), node: left }, right]));
        }
        if let TreeNode::Inner(children) = &*self.root
            && let [only] = children.as_slice()
        {
            self.root = only.node.clone();
        }
        if before == 0 && after != 0 {
            self.entries += 1;
            self.bytes += entry.len();
        } else if before != 0 && after == 0 {
            self.entries -= 1;
            self.bytes -= entry.len();
        }
        before
    }

    /// The entry of a row.
    pub fn at(&self, rank: usize) -> Option<&[u8]> {
        let (mut node, mut rest) = (&self.root, rank);
        loop {
            match &**node {
                TreeNode::Leaf(leaf) => return leaf.place_of(rest).map(|at| leaf.entry(at)),
                TreeNode::Inner(children) => {
                    let mut found = None;
                    for child in children {
                        if rest < child.rows {
                            found = Some(&child.node);
                            break;
                        }
                        rest -= child.rows;
                    }
                    node = found?;
                }
            }
        }
    }

    /// Shows entries from a byte string on, with what they count, as long as that is wanted.
    pub fn each_from(&self, from: &[u8], mut show: impl FnMut(&[u8], i64) -> bool) {
        each_from(&self.root, from, &mut show);
    }

    /// How many rows stand before a byte string.
    pub fn rank(&self, bytes: &[u8]) -> usize {
        let (mut node, mut before) = (&self.root, 0);
        loop {
            match &**node {
                TreeNode::Leaf(leaf) => return before + leaf.rows_before(leaf.position(bytes)),
                TreeNode::Inner(children) => {
                    let at = child_of(children, bytes);
                    before += children[..at].iter().map(|child| child.rows).sum::<usize>();
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

    /// The entries of the rows of these ranks, from the least to the greatest, or backwards.
    pub fn iter(&self, ranks: Range<usize>, reverse: bool) -> EntryIterator {
        EntryIterator { root: self.root.clone(), ranks, reverse, leaf: None }
    }
}

impl TreeNode {
    /// Its first entry, if it has any.
    fn least(&self) -> Option<&[u8]> {
        match self {
            TreeNode::Leaf(leaf) => (!leaf.ends.is_empty()).then(|| leaf.entry(0)),
            TreeNode::Inner(children) => children.iter().find_map(|child| child.node.least()),
        }
    }

    fn rows(&self) -> usize {
        match self {
            TreeNode::Leaf(leaf) => leaf.rows_before(leaf.ends.len()),
            TreeNode::Inner(children) => children.iter().map(|child| child.rows).sum(),
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

    /// What the entry at a position counts.
    fn count(&self, at: usize) -> i64 {
        self.counts.get(at).copied().unwrap_or(1)
    }

    /// The rows of the first entries.
    fn rows_before(&self, at: usize) -> usize {
        if self.counts.is_empty() { at } else { self.counts[..at].iter().copied().map(rows).sum() }
    }

    /// The position of the entry of a row.
    fn place_of(&self, mut rank: usize) -> Option<usize> {
        if self.counts.is_empty() {
            return (rank < self.ends.len()).then_some(rank);
        }
        for (at, count) in self.counts.iter().enumerate() {
            let rows = rows(*count);
            if rank < rows {
                return Some(at);
            }
            rank -= rows;
        }
        None
    }

    /// Gives the entry its count, where it stands or would.
    fn set(&mut self, entry: &[u8], to: &impl Fn(i64) -> i64) -> (i64, i64) {
        let at = self.position(entry);
        let is_there = at < self.ends.len() && self.entry(at) == entry;
        let before = if is_there { self.count(at) } else { 0 };
        let after = to(before);
        if before == after {
            return (before, after);
        }
        let has_counts = !(0..=1).contains(&after) || !self.counts.is_empty();
        if has_counts && self.counts.is_empty() {
            self.counts = vec![1; self.ends.len()];
        }
        match (is_there, after != 0) {
            (false, _) => {
                self.replace(at..at, Some(entry));
                if has_counts {
                    self.counts.insert(at, after);
                }
            }
            (true, true) => {
                if has_counts {
                    self.counts[at] = after;
                }
            }
            (true, false) => {
                self.replace(at..at + 1, None);
                if has_counts {
                    self.counts.remove(at);
                }
            }
        }
        (before, after)
    }

    /// Puts `entry` in place of those at these positions.
    fn replace(&mut self, at: Range<usize>, entry: Option<&[u8]>) {
        let (start, end) = (self.start(at.start), self.start(at.end));
        let entry_bytes = entry.map_or(0, <[u8]>::len);
        self.bytes.splice(start..end, entry.into_iter().flatten().copied());
        // What has moved down stands behind the end, too, where it was.
        let behind = self.bytes.spare_capacity_mut().iter_mut();
        behind.take(end - start).for_each(|byte| _ = byte.write(0));
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
        let counts = if self.counts.is_empty() { Vec::new() } else { self.counts.split_off(at) };
        let right = TreeLeaf { ends, bytes: self.bytes.split_off(start), counts };
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
        right
    }

    fn append(&mut self, right: &TreeLeaf) {
        if !(self.counts.is_empty() && right.counts.is_empty()) {
            self.counts = (0..self.ends.len()).map(|at| self.count(at)).collect();
            self.counts.extend((0..right.ends.len()).map(|at| right.count(at)));
        }
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(&right.bytes);
        self.ends.extend(right.ends.iter().map(|end| start + end));
    }
}

/// As many rows as an entry stands for.
fn rows(count: i64) -> usize {
    usize::try_from(count).unwrap_or(0)
}

/// The child in which a byte string belongs.
fn child_of(children: &[Child], bytes: &[u8]) -> usize {
    children.partition_point(|child| *child.least <= *bytes).saturating_sub(1)
}

/// What became of an entry.
struct Changed {
    before: i64,
    after: i64,
    /// What has to stand beside the node now.
    split: Option<Child>,
}

fn change(node: &mut Arc<TreeNode>, entry: &[u8], to: &impl Fn(i64) -> i64) -> Changed {
    match Arc::make_mut(node) {
        TreeNode::Leaf(leaf) => {
            let (before, after) = leaf.set(entry, to);
            let split = leaf.is_over_full().then(|| {
                let right = leaf.split_off(leaf.ends.len() / 2);
                Child {
                    least: right.entry(0).into(),
                    rows: right.rows_before(right.ends.len()),
                    node: Arc::new(TreeNode::Leaf(right)),
                }
            });
            Changed { before, after, split }
        }
        TreeNode::Inner(children) => {
            let at = child_of(children, entry);
            let Changed { before, after, split } = change(&mut children[at].node, entry, to);
            children[at].rows = children[at].rows + rows(after) - rows(before);
            if let Some(right) = split {
                children[at].rows -= right.rows;
                children.insert(at + 1, right);
            } else if before != 0 && after == 0 {
                match children[at].node.least() {
                    None if children.len() > 1 => remove(children, at),
                    // An entry that is gone is not to stand here either.
                    Some(least) if *children[at].least == *entry => {
                        children[at].least = least.into();
                        tidy(children, at);
                    }
                    Some(_) | None => tidy(children, at),
                }
            }
            let split = (children.len() > CHILDREN_MAX).then(|| {
                let moved = children.split_off(CHILDREN_MAX / 2);
                let (least, right) = (moved[0].least.clone(), TreeNode::Inner(moved));
                Child { least, rows: right.rows(), node: Arc::new(right) }
            });
            Changed { before, after, split }
        }
    }
}

/// Whether more is wanted.
fn each_from(node: &TreeNode, from: &[u8], show: &mut impl FnMut(&[u8], i64) -> bool) -> bool {
    match node {
        TreeNode::Leaf(leaf) => (leaf.position(from)..leaf.ends.len()).all(|at| show(leaf.entry(at), leaf.count(at))),
        TreeNode::Inner(children) => {
            let first = child_of(children, from);
            // All of the later ones is behind.
            let from = |at: usize| if at == first { from } else { &[] };
            (first..children.len()).all(|at| each_from(&children[at].node, from(at), show))
        }
    }
}

/// Takes away a child without entries. What is less than all belongs to the first one, still.
fn remove(children: &mut Vec<Child>, at: usize) {
    let gone = children.remove(at);
    if gone.least.is_empty() {
        children[0].least = gone.least;
    }
}

/// A child that has become small is joined with the one after or before it.
fn tidy(children: &mut Vec<Child>, at: usize) {
    if children.len() == 1 {
        return;
    }
    let left = if at + 1 < children.len() { at } else { at - 1 };
    let fits = match (&*children[left].node, &*children[left + 1].node) {
        (TreeNode::Leaf(left), TreeNode::Leaf(right)) => {
            let small = left.ends.len() + right.ends.len() <= LEAF_ENTRIES_MAX / 2
                && left.bytes.len() + right.bytes.len() <= LEAF_BYTES_MAX / 2;
            small || left.ends.is_empty() || right.ends.is_empty()
        }
        (TreeNode::Inner(left), TreeNode::Inner(right)) => left.len() + right.len() <= CHILDREN_MAX / 2,
        (TreeNode::Leaf(_), TreeNode::Inner(_)) | (TreeNode::Inner(_), TreeNode::Leaf(_)) => false,
    };
    if !fits {
        return;
    }
    let right = children.remove(left + 1);
    children[left].rows += right.rows;
    match (Arc::make_mut(&mut children[left].node), &*right.node) {
        (TreeNode::Leaf(left), TreeNode::Leaf(right)) => left.append(right),
        (TreeNode::Inner(left), TreeNode::Inner(right)) => left.extend(right.iter().cloned()),
        (TreeNode::Leaf(_), TreeNode::Inner(_)) | (TreeNode::Inner(_), TreeNode::Leaf(_)) => {}
    }
}

/// See `Entries::iter`.
pub struct EntryIterator {
    root: Arc<TreeNode>,
    ranks: Range<usize>,
    reverse: bool,
    /// The leaf that was read last, and the rank of its first entry.
    leaf: Option<(Arc<TreeNode>, usize)>,
}

impl Iterator for EntryIterator {
    type Item = Box<[u8]>;

    fn next(&mut self) -> Option<Box<[u8]>> {
        let rank = if self.reverse { self.ranks.next_back() } else { self.ranks.next() }?;
        loop {
            if let Some((node, first)) = &self.leaf
                && let TreeNode::Leaf(leaf) = &**node
                && rank >= *first
                && let Some(at) = leaf.place_of(rank - first)
            {
                return Some(leaf.entry(at).into());
            }
            self.leaf = Some(self.leaf_of(rank));
        }
    }
}

impl EntryIterator {
    /// The leaf with the entry of this rank, which is there, and the rank of its first entry.
    fn leaf_of(&self, rank: usize) -> (Arc<TreeNode>, usize) {
        let (mut node, mut first) = (&self.root, 0);
        while let TreeNode::Inner(children) = &**node {
            for child in children {
                node = &child.node;
                if rank < first + child.rows {
                    break;
                }
                first += child.rows;
            }
        }
        (node.clone(), first)
    }
}

#[cfg(test)]
mod tests {
    use super::{Entries, TreeNode};
    use std::collections::{BTreeMap, BTreeSet};
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

    fn separators(node: &TreeNode, found: &mut Vec<Vec<u8>>) {
        if let TreeNode::Inner(children) = node {
            found.extend(children.iter().map(|child| child.least.to_vec()));
            children.iter().for_each(|child| separators(&child.node, found));
        }
    }

    #[test]
    fn what_is_gone_separates_nothing() {
        let mut dice = Dice(7);
        let (mut entries, mut expected) = (Entries::default(), BTreeSet::new());
        for number in 0..60_000_u32 {
            let entry = number.wrapping_mul(2_654_435_761).to_be_bytes();
            assert!(entries.insert(&entry) && expected.insert(entry.to_vec()));
        }
        while !expected.is_empty() {
            for _ in 0..2_000 {
                let from = (dice.below(1 << 32) as u32).to_be_bytes().to_vec();
                let Some(entry) = expected.range(from..).next().or_else(|| expected.first()).cloned() else { break };
                assert!(entries.remove(&entry) && expected.remove(&entry));
                if dice.below(5) == 0 {
                    let entry = (dice.below(1 << 32) as u32).to_be_bytes();
                    assert_eq!(entries.insert(&entry), expected.insert(entry.to_vec()));
                }
            }
            let mut least = Vec::new();
            separators(&entries.root, &mut least);
            let strays = least.iter().filter(|least| !least.is_empty() && !expected.contains(*least)).count();
            assert_eq!(strays, 0, "of {}", least.len());
            assert!(entries.iter(0..entries.len(), false).map(Vec::from).eq(expected.iter().cloned()));
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

    #[test]
    fn entries_of_several_rows_and_of_less_than_none() {
        let mut dice = Dice(2);
        let (mut entries, mut expected) = (Entries::default(), BTreeMap::<Vec<u8>, i64>::new());
        for round in 0..40 {
            for _ in 0..400 {
                let entry = dice.entry(3_000);
                let rows = if (15..25).contains(&round) { -1 } else { dice.below(6) as i64 - 2 };
                entries.add(&entry, rows);
                let count = expected.entry(entry).or_default();
                *count += rows;
                expected.retain(|_, count| *count != 0);
            }
            let rows: Vec<&Vec<u8>> =
                expected.iter().flat_map(|(entry, count)| (0..*count).map(move |_| entry)).collect();
            assert_eq!((entries.entries(), entries.len()), (expected.len(), rows.len()));
            for _ in 0..20 {
                let from = dice.entry(3_000);
                let rank = entries.rank(&from);
                assert_eq!(rank, rows.partition_point(|entry| **entry < from));
                assert_eq!(entries.at(rank), rows.get(rank).map(|entry| entry.as_slice()));
                let (mut shown, mut wanted) = (Vec::new(), 5);
                entries.each_from(&from, |entry, count| {
                    shown.push((entry.to_vec(), count));
                    wanted -= 1;
                    wanted > 0
                });
                let range = expected.range(from..).take(5).map(|(entry, count)| (entry.clone(), *count));
                assert!(shown.into_iter().eq(range));
            }
        }
        assert_eq!(entries.at(entries.len()), None);
    }
}
