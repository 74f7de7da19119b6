//! TABLESAMPLE: whether a row is taken.
//!
//! By chance, or, with a seed, by the seed and what tells the row from others: the same rows again, as long as they are there.

use super::arguments::float;
use super::{FunctionDefinition, lenient};
use crate::scalar::EvalContext;
use repr::{Datum, Row, ValueError};

/// How many values a row's lot may have.
const LOTS: f64 = 4_294_967_296.0;

/// (percentage [, seed, values …])
fn taken(ctx: &EvalContext, args: &[Datum]) -> Result<Datum, ValueError> {
    if matches!(args[0], Datum::Null) {
        return Err(ValueError::new("2202H", "TABLESAMPLE parameter cannot be null"));
    }
    let percentage = float(&args[0])?;
    if !(0.0..=100.0).contains(&percentage) {
        return Err(ValueError::new("2202H", "sample percentage must be between 0 and 100"));
    }
    let lot = match args.get(1) {
        None => {
            let mut bytes = [0; 4];
            ctx.environment.random_bytes(&mut bytes);
            u32::from_le_bytes(bytes)
        }
        Some(Datum::Null) => return Err(ValueError::new("2202G", "TABLESAMPLE REPEATABLE parameter cannot be null")),
        Some(seed) => drawn(float(seed)?, &args[2..]),
    };
    Ok(Datum::Bool(f64::from(lot) < (LOTS * percentage / 100.0).round_ties_even()))
}

/// A row's lot: FNV-1a over the seed and the row, and MurmurHash3's finalizer, so that neighbours are far apart.
fn drawn(seed: f64, row: &[Datum]) -> u32 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    // Of the two zeros one, as they are equal.
    let seed = if seed == 0.0 { 0.0_f64 } else { seed };
    for byte in seed.to_bits().to_le_bytes().iter().chain(Row::pack(row).bytes()) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    u32::try_from(hash >> 32).unwrap_or(0)
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    lenient("TABLESAMPLE BERNOULLI(float4) bool", |ctx, a, _| taken(ctx, a)).volatile(),
    lenient("TABLESAMPLE BERNOULLI(float4, float8, variadic any) bool", |ctx, a, _| taken(ctx, a)).volatile(),
    lenient("TABLESAMPLE SYSTEM(float4) bool", |ctx, a, _| taken(ctx, a)).volatile(),
    lenient("TABLESAMPLE SYSTEM(float4, float8, variadic any) bool", |ctx, a, _| taken(ctx, a)).volatile(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lots_are_even_and_differ_by_seed() {
        let taken = |seed: f64| -> Vec<i32> {
            let half = u32::MAX / 2;
            (0..10_000).filter(|number| drawn(seed, &[Datum::Int4(*number)]) < half).collect()
        };
        let (one, two) = (taken(1.0), taken(2.0));
        assert_ne!(one, two);
        for rows in [&one, &two] {
            assert!((4_700..5_300).contains(&rows.len()), "{}", rows.len());
        }
        assert_eq!(taken(0.0), taken(-0.0));
    }
}
