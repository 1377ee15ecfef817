//! Names that stand for hosts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use zeroize::Zeroizing;

use super::super::uri::Host;
use crate::names::{Fqdn, NetworkDomain};

/// Creates names that only this SEPP can read, by AES-256-GCM-SIV (RFC 8452). At a given peer the same host always gets
/// the same name, which is all that a name reveals, so the nonce can be fixed.
pub(in super::super) struct Pseudonyms {
    key: LessSafeKey,
    /// `.hidden.5gc.mnc070.mcc999.3gppnetwork.org`
    suffix: String,
}

/// The name was not created by this SEPP for this peer, or the host is too long to hide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct UnknownPseudonym;

const NONCE: [u8; 12] = [0; 12];

/// Two digits for each octet, and a label has 63 characters at most (RFC 1035 §2.3.4).
const LABEL: usize = 62;

const LONGEST_NAME: usize = 253;

const IPV4: u8 = 4;
const IPV6: u8 = 6;
const NAME: u8 = 1;

impl Pseudonyms {
    /// Creates names in this domain, with a key derived from this secret.
    pub(in super::super) fn new(
        secret: &[u8],
        domain: &NetworkDomain,
    ) -> Result<Self, UnknownPseudonym> {
        let derived = Salt::new(HKDF_SHA256, b"tessera sepp").extract(secret);
        let mut key = Zeroizing::new([0; 32]);
        let expanded =
            derived.expand(&[b"topology hiding"], KeyLength).map_err(|_| UnknownPseudonym)?;
        expanded.fill(&mut key[..]).map_err(|_| UnknownPseudonym)?;
        let key = UnboundKey::new(&AES_256_GCM_SIV, &key[..]).map_err(|_| UnknownPseudonym)?;
        Ok(Self { key: LessSafeKey::new(key), suffix: format!(".hidden.{domain}") })
    }

    /// Returns whether a name looks like a hidden one.
    pub(in super::super) fn is_one(&self, name: &str) -> bool {
        self.digits(name).is_some()
    }

    fn digits<'n>(&self, name: &'n str) -> Option<&'n str> {
        let name = name.strip_suffix('.').unwrap_or(name);
        let (digits, suffix) = name.split_at_checked(name.len().checked_sub(self.suffix.len())?)?;
        suffix.eq_ignore_ascii_case(&self.suffix).then_some(digits)
    }

    /// Returns the name for this host and port.
    pub(in super::super) fn hide(
        &self,
        peer: &Fqdn,
        host: Host<'_>,
        port: Option<u16>,
    ) -> Result<String, UnknownPseudonym> {
        let mut plain = Vec::with_capacity(64);
        plain.push(match host {
            Host::Address(IpAddr::V4(_)) => IPV4,
            Host::Address(IpAddr::V6(_)) => IPV6,
            Host::Name(_) => NAME,
        });
        plain.push(u8::from(port.is_some()));
        plain.extend(port.unwrap_or_default().to_be_bytes());
        match host {
            Host::Address(IpAddr::V4(address)) => plain.extend(address.octets()),
            Host::Address(IpAddr::V6(address)) => plain.extend(address.octets()),
            Host::Name(name) => plain.extend(name.to_ascii_lowercase().bytes()),
        }
        let nonce = Nonce::assume_unique_for_key(NONCE);
        let aad = Aad::from(peer.as_str());
        self.key.seal_in_place_append_tag(nonce, aad, &mut plain).map_err(|_| UnknownPseudonym)?;
        let digits = tessera_kit::hex::encode(&plain);
        let mut name =
            String::with_capacity(digits.len() + digits.len() / LABEL + self.suffix.len());
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && index % LABEL == 0 {
                name.push('.');
            }
            name.push(digit);
        }
        name.push_str(&self.suffix);
        (name.len() <= LONGEST_NAME).then_some(name).ok_or(UnknownPseudonym)
    }

    /// Returns host and port of a hidden name; the port of the URI counts if none is hidden.
    pub(in super::super) fn reveal(
        &self,
        peer: &Fqdn,
        name: &str,
        port: Option<u16>,
    ) -> Result<String, UnknownPseudonym> {
        let digits = self.digits(name).ok_or(UnknownPseudonym)?.replace('.', "");
        let mut sealed = tessera_kit::hex::decode(&digits).ok_or(UnknownPseudonym)?;
        let nonce = Nonce::assume_unique_for_key(NONCE);
        let aad = Aad::from(peer.as_str());
        let plain =
            self.key.open_in_place(nonce, aad, &mut sealed).map_err(|_| UnknownPseudonym)?;
        let [kind, has_port, high, low, host @ ..] = &*plain else { return Err(UnknownPseudonym) };
        let hidden = (*has_port == 1).then_some(u16::from_be_bytes([*high, *low]));
        let host = match *kind {
            IPV4 => {
                Ipv4Addr::from(<[u8; 4]>::try_from(host).map_err(|_| UnknownPseudonym)?).to_string()
            }
            IPV6 => {
                format!(
                    "[{}]",
                    Ipv6Addr::from(<[u8; 16]>::try_from(host).map_err(|_| UnknownPseudonym)?)
                )
            }
            NAME => String::from_utf8(host.to_vec()).map_err(|_| UnknownPseudonym)?,
            _ => return Err(UnknownPseudonym),
        };
        Ok(match hidden.or(port) {
            Some(port) => format!("{host}:{port}"),
            None => host,
        })
    }
}

struct KeyLength;

impl KeyType for KeyLength {
    fn len(&self) -> usize {
        32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pseudonyms(secret: &[u8]) -> Pseudonyms {
        let domain = NetworkDomain::from("999-70".parse::<crate::names::PlmnId>().unwrap());
        Pseudonyms::new(secret, &domain).unwrap()
    }

    #[test]
    fn a_name_is_read_by_another_instance_and_for_its_peer_alone() {
        let [one, other] = [(); 2].map(|()| pseudonyms(b"one secret of both"));
        let [peer, third] =
            ["sepp.peer.example", "sepp.third.example"].map(|name| name.parse::<Fqdn>().unwrap());
        let long = format!("{}.example", "a".repeat(50));
        for (host, port, expected) in [
            (Host::Address("10.0.0.1".parse().unwrap()), Some(7777), "10.0.0.1:7777".to_owned()),
            (Host::Address("2001:db8::1".parse().unwrap()), None, "[2001:db8::1]".to_owned()),
            (Host::Name("SMF1.internal"), Some(80), "smf1.internal:80".to_owned()),
            (Host::Name(&long), None, long.clone()),
        ] {
            let name = one.hide(&peer, host, port).unwrap();
            assert_eq!(name, one.hide(&peer, host, port).unwrap());
            assert!(name.parse::<Fqdn>().is_ok() && one.is_one(&name), "{name}");
            assert_eq!(other.reveal(&peer, &name.to_ascii_uppercase(), None).unwrap(), expected);
            assert_ne!(name, one.hide(&third, host, port).unwrap());
            assert_eq!(one.reveal(&third, &name, None), Err(UnknownPseudonym));
            assert_eq!(
                pseudonyms(b"another secret").reveal(&peer, &name, None),
                Err(UnknownPseudonym)
            );
            let changed = name.replacen(|c: char| c != '0', "0", 1);
            assert_eq!(one.reveal(&peer, &changed, None), Err(UnknownPseudonym));
        }
        let too_long = format!("{}.example", "a.".repeat(100));
        assert_eq!(one.hide(&peer, Host::Name(&too_long), None), Err(UnknownPseudonym));
        for name in [
            "",
            ".hidden.5gc.mnc070.mcc999.3gppnetwork.org",
            "00.hidden.5gc.mnc070.mcc999.3gppnetwork.org",
            "x.example",
        ] {
            assert_eq!(one.reveal(&peer, name, None), Err(UnknownPseudonym), "{name}");
        }
    }

    #[test]
    fn the_port_of_the_uri_counts_if_none_is_hidden() {
        let names = pseudonyms(b"secret");
        let peer = "sepp.peer.example".parse().unwrap();
        let name = names.hide(&peer, Host::Name("a.example"), None).unwrap();
        assert_eq!(names.reveal(&peer, &name, Some(8080)).unwrap(), "a.example:8080");
    }
}
