//! The networks from which headers are accepted.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::Deserialize;
use tessera::AddressPrefix;

/// The networks whose connections begin with a header, which is then required. From anywhere else a connection's bytes
/// are passed on, so that a header there is garbage to the next reader.
///
/// ```
/// use tessera_proxy::proxy_protocol::TrustedNetworks;
///
/// let networks = ["10.0.0.0/8".parse()?, "2001:db8::7".parse()?, "unix".parse()?];
/// let trusted = TrustedNetworks::new(networks);
/// assert!(trusted.requires_header(Some("10.1.2.3".parse()?)));
/// assert!(!trusted.requires_header(Some("192.0.2.1".parse()?)));
/// assert!(trusted.requires_header(None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct TrustedNetworks {
    networks: Vec<Network>,
}

impl TrustedNetworks {
    /// Trusts these networks. Default: none.
    pub fn new(networks: impl IntoIterator<Item = Network>) -> Self {
        Self { networks: networks.into_iter().collect() }
    }

    /// Whether a connection of this peer begins with a header; `None` is a Unix socket.
    pub fn requires_header(&self, peer: Option<IpAddr>) -> bool {
        self.networks.iter().any(|network| network.contains(peer))
    }

    /// Whether no connection begins with a header.
    pub fn is_empty(&self) -> bool {
        self.networks.is_empty()
    }
}

impl fmt::Display for TrustedNetworks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, network) in self.networks.iter().enumerate() {
            let before = if index == 0 { "" } else { ", " };
            write!(f, "{before}{network}")?;
        }
        Ok(())
    }
}

/// A network: `10.0.0.0/8`, `2001:db8::/32`, a single address, or `unix` for all clients of Unix sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Network {
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Unix,
    Ip(AddressPrefix),
}

impl Network {
    /// Whether this peer is in it; `None` is a Unix socket. An IPv4 address equals its mapped form.
    pub fn contains(&self, peer: Option<IpAddr>) -> bool {
        match (self.place, peer) {
            (Place::Unix, None) => true,
            (Place::Ip(prefix), Some(address)) => prefix.contains(address),
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        if text == "unix" {
            return Ok(Self { place: Place::Unix });
        }
        let unknown = || NetworkError::Unknown(text.into());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| unknown())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => most,
            Some(bits) => bits.parse().map_err(|_| unknown())?,
        };
        if address != address.to_canonical() {
            return Err(unknown());
        }
        let prefix = AddressPrefix::new(address, bits).ok_or_else(unknown)?;
        let first = prefix.first();
        if first != address {
            return Err(NetworkError::NotTheFirst { text: text.into(), first, bits });
        }
        Ok(Self { place: Place::Ip(prefix) })
    }
}

impl TryFrom<String> for Network {
    type Error = NetworkError;

    fn try_from(text: String) -> Result<Self, NetworkError> {
        text.parse()
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Unix => f.write_str("unix"),
            Place::Ip(prefix) => prefix.fmt(f),
        }
    }
}

/// An invalid network.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkError {
    /// It can't be parsed.
    Unknown(String),
    /// The address has bits beyond the prefix, which may be a mistake.
    #[non_exhaustive]
    NotTheFirst {
        /// The text.
        text: String,
        /// The first address of the network.
        first: IpAddr,
        /// The length of the prefix in bits.
        bits: u8,
    },
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(text) => write!(
                f,
                "{text:?} is not a network: write one such as 10.0.0.0/8 or 2001:db8::/32, one address, or unix for \
                 every client of a Unix socket"
            ),
            Self::NotTheFirst { text, first, bits } => {
                write!(
                    f,
                    "{text:?} is an address in the network {first}/{bits}: write the network, or the address alone"
                )
            }
        }
    }
}

impl std::error::Error for NetworkError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_shown_as_they_are_configured() {
        let networks = ["10.0.0.0/8", "unix"].map(|text| text.parse().unwrap());
        let trusted = TrustedNetworks::new(networks);
        assert_eq!(trusted.to_string(), "10.0.0.0/8, unix");
        assert!(!trusted.is_empty());
    }
}
