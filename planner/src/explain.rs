//! EXPLAIN: readable text for every rung.
