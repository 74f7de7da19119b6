//! Of addresses and networks: what contains what, masks, and arithmetic.

use super::arguments::{integer, truth};
use super::{FunctionDefinition, strict};
use crate::scalar::Answer;
use repr::{Datum, Network, ValueError};

fn network(arg: &Datum) -> Result<Network, ValueError> {
    match arg {
        Datum::Network(network) => Ok(*network),
        _ => Err(ValueError::new("XX000", "an address is expected")),
    }
}

/// What is made of the one argument.
fn of(args: &[Datum], make: impl FnOnce(&Network) -> Network) -> Answer {
    Ok(Datum::Network(make(&network(&args[0])?)))
}

/// Whether the first contains the second; not itself, if `strictly`.
fn contains(outer: &Datum, inner: &Datum, strictly: bool) -> Answer {
    let (outer, inner) = (network(outer)?, network(inner)?);
    truth(outer.contains(&inner) && !(strictly && outer.length() == inner.length()))
}

fn plus(address: &Datum, offset: &Datum) -> Answer {
    Ok(Datum::Network(network(address)?.plus(integer(offset)?)?))
}

fn minus(args: &[Datum]) -> Answer {
    let offset = integer(&args[1])?;
    let address = network(&args[0])?;
    let moved = match offset.checked_neg() {
        Some(back) => address.plus(back),
        None => address.plus(i64::MAX).and_then(|moved| moved.plus(1)),
    };
    Ok(Datum::Network(moved?))
}

/// `set_masklen`
fn with_length(args: &[Datum], cut: bool) -> Answer {
    let length = i32::try_from(integer(&args[1])?).unwrap_or(i32::MAX);
    let network = network(&args[0])?.with_length(length)?;
    Ok(Datum::Network(if cut { network.network() } else { network }))
}

pub(super) const OPERATORS: &[FunctionDefinition] = &[
    strict("<<(inet, inet) bool", |_, a, _| contains(&a[1], &a[0], true)),
    strict("<<=(inet, inet) bool", |_, a, _| contains(&a[1], &a[0], false)),
    strict(">>(inet, inet) bool", |_, a, _| contains(&a[0], &a[1], true)),
    strict(">>=(inet, inet) bool", |_, a, _| contains(&a[0], &a[1], false)),
    strict("&&(inet, inet) bool", |_, a, _| {
        let (one, other) = (network(&a[0])?, network(&a[1])?);
        truth(one.contains(&other) || other.contains(&one))
    }),
    strict("~(inet) inet", |_, a, _| of(a, Network::inverted)),
    strict("&(inet, inet) inet", |_, a, _| Ok(Datum::Network(network(&a[0])?.and(&network(&a[1])?)?))),
    strict("|(inet, inet) inet", |_, a, _| Ok(Datum::Network(network(&a[0])?.or(&network(&a[1])?)?))),
    strict("+(inet, int8) inet", |_, a, _| plus(&a[0], &a[1])),
    strict("+(int8, inet) inet", |_, a, _| plus(&a[1], &a[0])),
    strict("-(inet, int8) inet", |_, a, _| minus(a)),
    strict("-(inet, inet) int8", |_, a, _| Ok(Datum::Int8(network(&a[0])?.minus(&network(&a[1])?)?))),
];

pub(super) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("abbrev(inet) text", |_, a, _| Ok(Datum::text(network(&a[0])?.shown(false)))),
    strict("abbrev(cidr) text", |_, a, _| Ok(Datum::text(network(&a[0])?.abbreviated()))),
    strict("broadcast(inet) inet", |_, a, _| of(a, Network::broadcast)),
    strict("family(inet) int4", |_, a, _| Ok(Datum::Int4(if network(&a[0])?.is_v4() { 4 } else { 6 }))),
    strict("host(inet) text", |_, a, _| Ok(Datum::text(network(&a[0])?.host()))),
    strict("hostmask(inet) inet", |_, a, _| of(a, Network::hostmask)),
    strict("inet_merge(inet, inet) cidr", |_, a, _| Ok(Datum::Network(network(&a[0])?.merged(&network(&a[1])?)?))),
    strict("inet_same_family(inet, inet) bool", |_, a, _| truth(network(&a[0])?.is_v4() == network(&a[1])?.is_v4())),
    strict("masklen(inet) int4", |_, a, _| Ok(Datum::Int4(i32::from(network(&a[0])?.length())))),
    strict("netmask(inet) inet", |_, a, _| of(a, Network::netmask)),
    strict("network(inet) cidr", |_, a, _| of(a, Network::network)),
    strict("set_masklen(inet, int4) inet", |_, a, _| with_length(a, false)),
    strict("set_masklen(cidr, int4) cidr", |_, a, _| with_length(a, true)),
    strict("text(inet) text", |_, a, _| Ok(Datum::text(network(&a[0])?.full()))),
];
