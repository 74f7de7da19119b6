//! Hash maps and sets for keys that are short or hashed already: quicker than the standard library's, and seeded as they are.

pub use foldhash::fast::RandomState;
/// For what is made of a hash's single bits, as filters and sketches are: there they have to be even.
pub use foldhash::quality::RandomState as EvenState;

/// A map.
pub type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;

/// A set.
pub type HashSet<K> = std::collections::HashSet<K, RandomState>;
