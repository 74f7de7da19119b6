//! `setseed` and what `random` gives after it: PostgreSQL 15's generator, xoroshiro128**, so that a seed gives the same numbers.

/// A generator that a seed has begun.
#[derive(Clone, Debug)]
pub struct SeededRandom {
    state: [u64; 2],
}

/// As many bits as a fraction has.
const FRACTION_BITS: u32 = 52;

impl SeededRandom {
    /// From a seed between -1 and 1.
    pub fn new(seed: f64) -> SeededRandom {
        let mut mixed = ((((1_u64 << FRACTION_BITS) - 1) as f64 * seed) as i64).cast_unsigned();
        let state = [split_mix(&mut mixed), split_mix(&mut mixed)];
        // A state of zeros would give nothing else: these are PostgreSQL's then.
        SeededRandom { state: if state == [0, 0] { [0x5851_F42D_4C95_7F2D, 0x1405_7B7E_F767_814F] } else { state } }
    }

    /// The next one, from 0 to below 1.
    pub fn next_fraction(&mut self) -> f64 {
        let [first, second] = self.state;
        let both = second ^ first;
        let value = first.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        self.state = [first.rotate_left(24) ^ both ^ (both << 16), both.rotate_left(37)];
        (value >> (u64::BITS - FRACTION_BITS)) as f64 / (1_u64 << FRACTION_BITS) as f64
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}
