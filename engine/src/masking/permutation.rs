//! A permutation that a key chooses: of all values of one shape among themselves.
//!
//! ```text
//! left, right ─▶ left + F(key, round, shape, right), right ─▶ … in turn, eight times
//! ```
//! Each symbol is added to within its own radix, so what comes out has the shape of what went in, and no two come out alike. As in
//! NIST's FF1 (SP 800-38G), with radices that may differ. The same value is the same wherever it stands: keys stay joinable.

use hmac::{Hmac, Mac};
use sha2::Sha256;

const ROUNDS: u8 = 8;

/// See the module.
pub(super) struct Permutation {
    keyed: Hmac<Sha256>,
}

impl Permutation {
    pub fn new(key: &[u8]) -> Permutation {
        Permutation { keyed: Hmac::new_from_slice(key).expect("a key of any length will do") }
    }

    /// Symbols below their radices, as others.
    pub fn permute(&self, shape: &str, symbols: &[u32], radices: &[u32]) -> Vec<u32> {
        let mut out = symbols.to_vec();
        if let ([symbol], [radix]) = (&mut *out, radices) {
            // All alone it is moved, and never stays what it is.
            if *radix > 1 {
                let mut step = [0];
                self.stream(0, shape, &[], &mut step);
                *symbol = (*symbol + 1 + step[0] % (radix - 1)) % radix;
            }
            return out;
        }
        let half = out.len() / 2;
        let mut steps = vec![0; out.len() - half];
        for round in 0..ROUNDS {
            let (left, right) = out.split_at_mut(half);
            let (left_radices, right_radices) = radices.split_at(half);
            let (moved, radices, by) =
                if round % 2 == 0 { (left, left_radices, &*right) } else { (right, right_radices, &*left) };
            self.stream(round, shape, by, &mut steps[..moved.len()]);
            for ((symbol, radix), step) in moved.iter_mut().zip(radices).zip(&steps) {
                *symbol = ((u64::from(*symbol) + u64::from(*step)) % u64::from(*radix)) as u32;
            }
        }
        out
    }

    /// A number that nobody knows who has not the key.
    pub fn secret(&self, name: &str) -> u32 {
        let mut secret = [0];
        self.stream(u8::MAX, name, &[], &mut secret);
        secret[0]
    }

    fn stream(&self, round: u8, shape: &str, by: &[u32], out: &mut [u32]) {
        let mut seed = self.keyed.clone();
        seed.update(&[round]);
        seed.update(&(shape.len() as u64).to_le_bytes());
        seed.update(shape.as_bytes());
        by.iter().for_each(|symbol| seed.update(&symbol.to_le_bytes()));
        let seed = seed.finalize().into_bytes();
        let mut words = seed.to_vec();
        for (block, chunk) in out.chunks_mut(8).enumerate() {
            if block > 0 {
                let mut more = self.keyed.clone();
                more.update(&seed);
                more.update(&(block as u64).to_le_bytes());
                words = more.finalize().into_bytes().to_vec();
            }
            for (word, bytes) in chunk.iter_mut().zip(words.chunks_exact(4)) {
                *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_come_out_alike() {
        let permutation = Permutation::new(b"a key");
        for radices in [vec![7], vec![3, 5], vec![2, 3, 4], vec![10, 10, 10]] {
            let all: u32 = radices.iter().product();
            let mut found = BTreeSet::new();
            for mut number in 0..all {
                let mut symbols = Vec::new();
                for radix in &radices {
                    symbols.push(number % radix);
                    number /= radix;
                }
                let out = permutation.permute("shape", &symbols, &radices);
                assert!(out.iter().zip(&radices).all(|(symbol, radix)| symbol < radix));
                assert!(radices.len() > 1 || out != symbols);
                found.insert(out);
            }
            assert_eq!(found.len() as u32, all);
        }
        let other = Permutation::new(b"another key");
        let symbols = [1; 40];
        assert_ne!(permutation.permute("s", &symbols, &[10; 40]), other.permute("s", &symbols, &[10; 40]));
        assert_ne!(permutation.permute("s", &symbols, &[10; 40]), permutation.permute("t", &symbols, &[10; 40]));
    }
}
