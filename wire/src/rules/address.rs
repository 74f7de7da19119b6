//! The addresses that a rule is for.

use std::net::IpAddr;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Addresses {
    /// Any.
    All,
    /// The server's own.
    Server,
    /// Those whose first bits are these.
    Network {
        /// Any of them.
        address: IpAddr,
        /// Which bits count.
        mask: IpAddr,
    },
}

impl Addresses {
    /// By an address and the number of bits that count.
    pub(super) fn network(address: IpAddr, bits: u32) -> Option<Addresses> {
        let mask = match address {
            IpAddr::V4(_) if bits <= 32 => IpAddr::V4(u32::MAX.checked_shl(32 - bits).unwrap_or(0).into()),
            IpAddr::V6(_) if bits <= 128 => IpAddr::V6(u128::MAX.checked_shl(128 - bits).unwrap_or(0).into()),
            IpAddr::V4(_) | IpAddr::V6(_) => return None,
        };
        Some(Addresses::Network { address, mask })
    }

    /// Whether a client's address is one of them, which has come to the server's address `to`.
    pub(super) fn contain(&self, from: IpAddr, to: IpAddr) -> bool {
        let (from, to) = (from.to_canonical(), to.to_canonical());
        match self {
            Addresses::All => true,
            // Who connects from the server's machine comes from the address that it connects to.
            Addresses::Server => from == to || from.is_loopback(),
            Addresses::Network { address: IpAddr::V4(address), mask: IpAddr::V4(mask) } => match from {
                IpAddr::V4(from) => (from.to_bits() ^ address.to_bits()) & mask.to_bits() == 0,
                IpAddr::V6(_) => false,
            },
            Addresses::Network { address: IpAddr::V6(address), mask: IpAddr::V6(mask) } => match from {
                IpAddr::V6(from) => (from.to_bits() ^ address.to_bits()) & mask.to_bits() == 0,
                IpAddr::V4(_) => false,
            },
            // Refused when the line is read.
            Addresses::Network { .. } => false,
        }
    }

    /// Address and netmask, as PostgreSQL shows them.
    pub(super) fn shown(&self) -> (Option<String>, Option<String>) {
        match self {
            Addresses::All => (Some("all".into()), None),
            Addresses::Server => (Some("samehost".into()), None),
            Addresses::Network { address, mask } => (Some(address.to_string()), Some(mask.to_string())),
        }
    }
}
