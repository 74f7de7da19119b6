//! Order-preserving, canonical key bytes (helper writes).
