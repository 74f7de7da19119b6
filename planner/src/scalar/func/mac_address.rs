//! Addresses of network interfaces: their bits, and the manufacturer's part of them.

use super::arguments::mac_address;
use super::{FunctionDefinition, strict};
use crate::scalar::Answer;
use repr::Datum;

/// How many bytes say who made it.
const MANUFACTURER: usize = 3;

/// Byte by byte, of one or two addresses.
fn changed(args: &[Datum], change: fn(usize, u8, u8) -> u8) -> Answer {
    let own = mac_address(&args[0])?;
    let other = args.get(1).map_or(Ok(own), mac_address)?;
    Ok(Datum::MacAddress(own.map(|place, byte| change(place, byte, other.bytes()[place]))))
}

pub(super) const OPERATORS: &[FunctionDefinition] = &[
    strict("~(macaddr) macaddr", |_, a, _| changed(a, |_, byte, _| !byte)),
    strict("&(macaddr, macaddr) macaddr", |_, a, _| changed(a, |_, one, other| one & other)),
    strict("|(macaddr, macaddr) macaddr", |_, a, _| changed(a, |_, one, other| one | other)),
    strict("~(macaddr8) macaddr8", |_, a, _| changed(a, |_, byte, _| !byte)),
    strict("&(macaddr8, macaddr8) macaddr8", |_, a, _| changed(a, |_, one, other| one & other)),
    strict("|(macaddr8, macaddr8) macaddr8", |_, a, _| changed(a, |_, one, other| one | other)),
];

pub(super) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("trunc(macaddr) macaddr", |_, a, _| {
        changed(a, |place, byte, _| if place < MANUFACTURER { byte } else { 0 })
    }),
    strict("trunc(macaddr8) macaddr8", |_, a, _| {
        changed(a, |place, byte, _| if place < MANUFACTURER { byte } else { 0 })
    }),
    strict("macaddr8_set7bit(macaddr8) macaddr8", |_, a, _| {
        changed(a, |place, byte, _| if place == 0 { byte | 2 } else { byte })
    }),
];
