//! Prefixes of IP addresses.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses with a common prefix, such as 192.0.2.0/24, 2001:db8::/32 or a single address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressPrefix {
    first: IpAddr,
    bits: u8,
}

impl AddressPrefix {
    /// Returns the prefix of that many bits of an address; `None` if the address has fewer. An IPv4 address equals its
    /// mapped form, whose bits are those of the IPv4 address.
    #[must_use]
    pub fn new(address: IpAddr, bits: u8) -> Option<Self> {
        Some(Self { first: first_of(address.to_canonical(), bits)?, bits })
    }

    /// Returns the first address.
    #[must_use]
    pub fn first(&self) -> IpAddr {
        self.first
    }

    /// Returns the length of the prefix in bits.
    #[must_use]
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// Returns whether an address has the prefix.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.first.is_ipv4()
            && first_of(address, self.bits) == Some(self.first)
    }
}

/// A prefix that is one address.
impl From<IpAddr> for AddressPrefix {
    fn from(address: IpAddr) -> Self {
        let first = address.to_canonical();
        Self { first, bits: if first.is_ipv4() { 32 } else { 128 } }
    }
}

impl fmt::Display for AddressPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

fn first_of(address: IpAddr, bits: u8) -> Option<IpAddr> {
    Some(match address {
        IpAddr::V4(v4) => {
            let rest = 32_u32.checked_sub(bits.into())?;
            Ipv4Addr::from_bits(v4.to_bits() & u32::MAX.checked_shl(rest).unwrap_or(0)).into()
        }
        IpAddr::V6(v6) => {
            let rest = 128_u32.checked_sub(bits.into())?;
            Ipv6Addr::from_bits(v6.to_bits() & u128::MAX.checked_shl(rest).unwrap_or(0)).into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_the_addresses_that_begin_with_it() {
        let prefix = |text: &str, bits| AddressPrefix::new(text.parse().expect("an address"), bits);
        for (text, bits, within, beyond) in [
            ("192.0.2.77", 24, "192.0.2.255", "192.0.3.0"),
            ("192.0.2.77", 32, "::ffff:192.0.2.77", "192.0.2.78"),
            ("0.0.0.0", 0, "255.255.255.255", "::"),
            ("2001:db8::7", 64, "2001:db8::ffff", "2001:db8:0:1::"),
            ("2001:db8::7", 128, "2001:db8::7", "2001:db8::8"),
            ("::", 0, "2001:db8::", "192.0.2.1"),
        ] {
            let prefix = prefix(text, bits).expect("not too long");
            assert!(prefix.contains(within.parse().expect("an address")), "{prefix}: {within}");
            assert!(!prefix.contains(beyond.parse().expect("an address")), "{prefix}: {beyond}");
        }
        assert_eq!(prefix("192.0.2.77", 33), None);
        assert_eq!(prefix("::1", 129), None);
        let mapped = IpAddr::from(Ipv4Addr::LOCALHOST.to_ipv6_mapped());
        assert_eq!(AddressPrefix::from(mapped).bits(), 32);
    }
}
