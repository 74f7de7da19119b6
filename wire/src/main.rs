//! dogwood.
fn main() {}
