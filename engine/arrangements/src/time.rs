//! The times of arrangements: of a view's ticks, and of rounds within one.

use differential_dataflow::lattice::Lattice;
use timely::order::Product;
use timely::progress::Timestamp;

/// Times that rows are arranged at.
pub trait ArrangeTime: Timestamp + Lattice {
    /// Of two times one always comes first.
    const IN_TOTAL_ORDER: bool;
}

impl ArrangeTime for u64 {
    const IN_TOTAL_ORDER: bool = true;
}

/// Rounds of a recursion.
impl ArrangeTime for Product<u64, u64> {
    const IN_TOTAL_ORDER: bool = false;
}
