//! Hash maps and sets for keys that are short or hashed already: quicker than the standard library's, and seeded as they are.

pub use foldhash::fast::RandomState;

/// A map.
pub type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;

/// A set.
pub type HashSet<K> = std::collections::HashSet<K, RandomState>;
