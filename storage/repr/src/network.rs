//! IP addresses and networks: the values of inet and cidr, which differ in what they accept and how they are written.
//!
//! ```text
//! inet  10.1.2.3/8      an address, and the network that it is in
//! cidr  10.0.0.0/8      a network: nothing to the right of its mask
//! ```
//! Ordered by family, then by network, then by length, then by address: as PostgreSQL does, and as their keys' bytes do.

use crate::ValueError;
use std::cmp::Ordering;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

const V4_BITS: u8 = 32;
const V6_BITS: u8 = 128;

/// An address within a network of so many leading bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    address: IpAddr,
    length: u8,
}

impl Network {
    /// None if the family has no such length.
    pub fn new(address: IpAddr, length: u8) -> Option<Network> {
        (length <= bits(address)).then_some(Network { address, length })
    }

    /// The address.
    pub fn address(&self) -> IpAddr {
        self.address
    }
    /// How many leading bits are the network's.
    pub fn length(&self) -> u8 {
        self.length
    }
    /// Whether it is of version 4.
    pub fn is_v4(&self) -> bool {
        self.address.is_ipv4()
    }
    /// As many bits as its family has.
    pub fn length_max(&self) -> u8 {
        bits(self.address)
    }

    /// Appends the bytes of the address, four or sixteen.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        match self.address {
            IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
            IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
        }
    }

    /// From an address of 4 or 16 bytes.
    pub fn of_bytes(bytes: &[u8], length: u8) -> Option<Network> {
        let address = match bytes.len() {
            4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
            _ => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
        };
        Network::new(address, length)
    }

    /// The address as a number; of version 4 in the low bits.
    fn number(&self) -> u128 {
        match self.address {
            IpAddr::V4(address) => u128::from(address.to_bits()),
            IpAddr::V6(address) => address.to_bits(),
        }
    }

    /// The same family, with the low bits of this number.
    fn with_number(&self, number: u128) -> Network {
        let address = match self.address {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from_bits(number as u32)),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(number)),
        };
        Network { address, length: self.length }
    }

    /// All bits of the family.
    fn all(&self) -> u128 {
        u128::MAX >> (V6_BITS - self.length_max())
    }
    fn host_mask(&self) -> u128 {
        self.all().checked_shr(u32::from(self.length)).unwrap_or(0)
    }

    /// The same address in a network of that length; the whole address for -1.
    pub fn with_length(&self, length: i32) -> Result<Network, ValueError> {
        let wanted = if length == -1 { Ok(self.length_max()) } else { u8::try_from(length) };
        let found = wanted.ok().and_then(|length| Network::new(self.address, length));
        found.ok_or_else(|| ValueError::new("22023", format!("invalid mask length: {length}")))
    }

    /// Its network: nothing to the right of the mask.
    #[must_use]
    pub fn network(&self) -> Network {
        self.with_number(self.number() & !self.host_mask())
    }
    /// The last address of its network.
    #[must_use]
    pub fn broadcast(&self) -> Network {
        self.with_number(self.number() | self.host_mask())
    }
    /// The mask of its network, an address.
    #[must_use]
    pub fn netmask(&self) -> Network {
        Network { length: self.length_max(), ..self.with_number(self.all() & !self.host_mask()) }
    }
    /// The bits that are not the network's, an address.
    #[must_use]
    pub fn hostmask(&self) -> Network {
        Network { length: self.length_max(), ..self.with_number(self.host_mask()) }
    }

    /// Whether another one is within its network, or is it.
    pub fn contains(&self, other: &Network) -> bool {
        let outer = Network { length: self.length, ..*other };
        self.is_v4() == other.is_v4() && self.length <= other.length && outer.network() == self.network()
    }

    /// The least network that has both.
    pub fn merged(&self, other: &Network) -> Result<Network, ValueError> {
        self.same_family(other, "cannot merge addresses from different families")?;
        let differing = self.number() ^ other.number();
        let equal = u8::try_from(differing.leading_zeros()).unwrap_or(V6_BITS) - (V6_BITS - self.length_max());
        let length = equal.min(self.length).min(other.length);
        Ok(Network { length, ..*self }.network())
    }

    /// Bit by bit; `not`, `and`, `or`.
    #[must_use]
    pub fn inverted(&self) -> Network {
        self.with_number(!self.number() & self.all())
    }
    /// See `inverted`.
    pub fn and(&self, other: &Network) -> Result<Network, ValueError> {
        self.same_family(other, "cannot AND inet values of different sizes")?;
        Ok(Network { length: self.length.max(other.length), ..self.with_number(self.number() & other.number()) })
    }
    /// See `inverted`.
    pub fn or(&self, other: &Network) -> Result<Network, ValueError> {
        self.same_family(other, "cannot OR inet values of different sizes")?;
        Ok(Network { length: self.length.max(other.length), ..self.with_number(self.number() | other.number()) })
    }

    /// So many addresses further.
    pub fn plus(&self, offset: i64) -> Result<Network, ValueError> {
        let by = u128::from(offset.unsigned_abs());
        let sum = if offset < 0 { self.number().checked_sub(by) } else { self.number().checked_add(by) };
        let sum = sum.filter(|sum| *sum <= self.all()).ok_or_else(out_of_range)?;
        Ok(self.with_number(sum))
    }

    /// How many addresses lie between.
    pub fn minus(&self, other: &Network) -> Result<i64, ValueError> {
        self.same_family(other, "cannot subtract inet values of different sizes")?;
        let (a, b) = (self.number(), other.number());
        let distance = i128::try_from(a.abs_diff(b)).map_err(|_| out_of_range())?;
        i64::try_from(if a < b { -distance } else { distance }).map_err(|_| out_of_range())
    }

    fn same_family(&self, other: &Network, message: &str) -> Result<(), ValueError> {
        if self.is_v4() == other.is_v4() { Ok(()) } else { Err(ValueError::new("22023", message)) }
    }

    /// The address alone.
    pub fn host(&self) -> String {
        match self.address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => match address.segments() {
                // An address of version 4 in it, which the library writes only behind ffff.
                [0, 0, 0, 0, 0, 0, high, low] if high != 0 => {
                    format!("::{}", Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
                }
                _ => address.to_string(),
            },
        }
    }

    /// The address and the length.
    pub fn full(&self) -> String {
        format!("{}/{}", self.host(), self.length)
    }

    /// As inet is written, or cidr: with its length where that says something.
    pub fn shown(&self, is_cidr: bool) -> String {
        if is_cidr || self.length != self.length_max() { self.full() } else { self.host() }
    }

    /// As cidr is abbreviated: without what is to the right of the mask.
    pub fn abbreviated(&self) -> String {
        let shown = match self.network().address {
            IpAddr::V4(address) => abbreviated_v4(&address.octets(), self.length),
            IpAddr::V6(address) => abbreviated_v6(&address.octets(), self.length),
        };
        format!("{shown}/{}", self.length)
    }

    /// Reads an inet or a cidr.
    pub fn parse(text: &str, is_cidr: bool) -> Result<Network, ValueError> {
        let kind = if is_cidr { "cidr" } else { "inet" };
        let malformed = || ValueError::new("22P02", format!("invalid input syntax for type {kind}: \"{text}\""));
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(parse_length(length).ok_or_else(malformed)?)),
            None => (text, None),
        };
        let read = if address.contains(':') { parse_v6(address, length) } else { parse_v4(address, length, is_cidr) };
        let read = read.ok_or_else(malformed)?;
        if is_cidr && read.network() != read {
            let detail = Some("Value has bits set to right of mask.".to_owned());
            return Err(ValueError { detail, ..ValueError::new("22P02", format!("invalid cidr value: \"{text}\"")) });
        }
        Ok(read)
    }

    /// By family, network, length, address: `append_order`'s bytes compare the same.
    pub(crate) fn sql_cmp(&self, other: &Network) -> Ordering {
        let order = |value: &Network| (!value.is_v4(), value.network().number(), value.length, value.number());
        order(self).cmp(&order(other))
    }

    /// Appends bytes that sort as the values do.
    pub(crate) fn append_order(&self, out: &mut Vec<u8>) {
        out.push(u8::from(!self.is_v4()));
        self.network().append_to(out);
        out.push(self.length);
        self.append_to(out);
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { V4_BITS } else { V6_BITS }
}

/// The octets that the mask reaches.
fn abbreviated_v4(octets: &[u8; 4], length: u8) -> String {
    let reached = usize::from(length.div_ceil(8)).max(1);
    octets[..reached].iter().map(u8::to_string).collect::<Vec<_>>().join(".")
}

/// The words that the mask reaches, two at least; the longest run of zeros among them is left out. The last two as octets where that
/// run is as long as before an address of version 4.
fn abbreviated_v6(octets: &[u8; 16], length: u8) -> String {
    if length == 0 {
        return "::".to_owned();
    }
    let count = usize::from(length.div_ceil(16)).max(2);
    let words: Vec<u16> =
        octets.chunks_exact(2).take(count).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    let zeros = longest_zeros(&words);
    let holds_v4 = zeros.len() != count
        && zeros.start == 0
        && match zeros.len() {
            6 => true,
            5 => octets[10] == 0xff && octets[11] == 0xff,
            7 => octets[14] != 0 && octets[15] != 1,
            _ => false,
        };
    let mut shown = String::new();
    for (place, word) in words.iter().enumerate() {
        if zeros.contains(&place) {
            let sides = usize::from(place == zeros.start) + usize::from(place == count - 1);
            shown.push_str(&":".repeat(sides));
        } else if holds_v4 && place > 5 {
            let [high, low] = word.to_be_bytes();
            shown.push_str(&format!("{}{high}", if place == 6 { ":" } else { "." }));
            if place != 7 || length > 120 {
                shown.push_str(&format!(".{low}"));
            }
        } else {
            shown.push_str(&format!("{}{word:x}", if shown.is_empty() { "" } else { ":" }));
        }
    }
    shown
}

/// Where the first of the longest runs of zeros is; empty if there is none.
fn longest_zeros(words: &[u16]) -> Range<usize> {
    let mut longest = 0..0;
    let mut start = 0;
    for (place, word) in words.iter().enumerate() {
        if *word != 0 {
            start = place + 1;
        } else if place + 1 - start > longest.len() {
            longest = start..place + 1;
        }
    }
    longest
}

fn out_of_range() -> ValueError {
    ValueError::new("22003", "result is out of range")
}

fn parse_length(text: &str) -> Option<u8> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

fn parse_v6(text: &str, length: Option<u8>) -> Option<Network> {
    Network::new(IpAddr::V6(text.parse().ok()?), length.unwrap_or(V6_BITS))
}

/// Octets may be left out where a length says how many there are, and in a cidr, whose length then follows from its class.
fn parse_v4(text: &str, length: Option<u8>, is_cidr: bool) -> Option<Network> {
    let parts: Vec<&str> = text.strip_suffix('.').unwrap_or(text).split('.').collect();
    let mut octets = [0_u8; 4];
    if parts.len() > octets.len() {
        return None;
    }
    for (octet, part) in octets.iter_mut().zip(&parts) {
        // Zeros may lead.
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        *octet = part.parse::<u32>().ok().filter(|_| digits).and_then(|number| u8::try_from(number).ok())?;
    }
    let given = u8::try_from(parts.len() * 8).ok()?;
    let length = match length {
        Some(length) if !is_cidr && length / 8 > given / 8 => return None,
        Some(length) => length,
        None if !is_cidr => (given == V4_BITS).then_some(V4_BITS)?,
        None => of_class(octets[0], given),
    };
    Network::new(IpAddr::from(octets), length)
}

fn of_class(first: u8, given: u8) -> u8 {
    let class = match first {
        240.. => V4_BITS,
        224.. => 8,
        192.. => 24,
        128.. => 16,
        _ => 8,
    };
    match class.max(given) {
        8 if first == 224 => 4,
        length => length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, is_cidr: bool) -> Result<String, String> {
        Network::parse(text, is_cidr).map(|network| network.shown(is_cidr)).map_err(|error| error.message)
    }

    #[test]
    fn texts_are_read_as_postgresql_reads_them() {
        for (text, is_cidr, wanted) in [
            ("192.168.1.5", false, "192.168.1.5"),
            ("192.168.1.5/24", false, "192.168.1.5/24"),
            ("10/8", false, "10.0.0.0/8"),
            ("010.001.2.3", false, "10.1.2.3"),
            ("10", true, "10.0.0.0/8"),
            ("10.1.2", true, "10.1.2.0/24"),
            ("192.168", true, "192.168.0.0/24"),
            ("224", true, "224.0.0.0/4"),
            ("10.0.0.0/32", true, "10.0.0.0/32"),
            ("::1", false, "::1"),
            ("2001:DB8::/32", true, "2001:db8::/32"),
            ("::ffff:1.2.3.4", false, "::ffff:1.2.3.4"),
            ("::1.2.3.4", false, "::1.2.3.4"),
            ("::", false, "::"),
        ] {
            assert_eq!(shown(text, is_cidr).as_deref(), Ok(wanted), "{text}");
        }
        for (text, is_cidr) in [
            ("", false),
            ("10", false),
            ("10/16", false),
            ("1.2.3.256", false),
            ("1.2.3.4/33", false),
            ("1.2.3.4.5", false),
        ] {
            let wanted = format!("invalid input syntax for type inet: \"{text}\"");
            assert_eq!(shown(text, is_cidr), Err(wanted), "{text}");
        }
        assert_eq!(shown("10.0.0.1/8", true), Err("invalid cidr value: \"10.0.0.1/8\"".to_owned()));
    }

    #[test]
    fn masks_have_all_lengths() {
        for text in ["10.1.2.3", "2001:db8::1"] {
            let address = Network::parse(text, false).unwrap();
            for length in 0..=address.length_max() {
                let network = address.with_length(i32::from(length)).unwrap();
                assert!(network.contains(&address) && network.network().contains(&network.broadcast()));
                assert_eq!(network.netmask().inverted(), network.hostmask(), "{text}/{length}");
                assert_eq!(network.merged(&address).unwrap(), network.network());
            }
            assert!(address.with_length(-2).is_err() && address.with_length(129).is_err());
        }
    }
}
