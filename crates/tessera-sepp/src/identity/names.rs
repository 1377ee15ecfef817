//! Compact encoding of names: those of networks share a long suffix.

use crate::names::{Fqdn, NetworkDomain};

/// Appends a name: its kind, its length and its text. A name below the domain of a network is stored as the labels
/// before the domain, and both codes as one number.
pub(super) fn encode(name: &Fqdn, out: &mut Vec<u8>) {
    match split(name.as_str()) {
        Some((host, codes)) => {
            out.extend_from_slice(&[IN_A_NETWORK, host.len() as u8]);
            out.extend_from_slice(host.as_bytes());
            out.extend_from_slice(&codes.to_be_bytes()[1..]);
        }
        None => {
            out.extend_from_slice(&[WHOLE, name.as_str().len() as u8]);
            out.extend_from_slice(name.as_str().as_bytes());
        }
    }
}

/// Reads a name from the start of the bytes, and advances them.
pub(super) fn decode(from: &mut &[u8]) -> Option<Fqdn> {
    let (&[kind, len], rest) = from.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(len.into())?;
    let text = std::str::from_utf8(text).ok()?;
    let (name, rest) = match kind {
        WHOLE => (text.parse().ok()?, rest),
        IN_A_NETWORK => {
            let (&[high, middle, low], rest) = rest.split_first_chunk()?;
            let codes = u32::from_be_bytes([0, high, middle, low]);
            let (mnc, mcc) = (codes / 1000, codes % 1000);
            let name = format!("{text}.5gc.mnc{mnc:03}.mcc{mcc:03}.3gppnetwork.org");
            (name.parse().ok()?, rest)
        }
        _ => return None,
    };
    *from = rest;
    Some(name)
}

/// Returns the labels before the domain of a network, and its codes: six digits.
fn split(name: &str) -> Option<(&str, u32)> {
    let domain = NetworkDomain::of_name(name)?.to_string();
    let host = name.strip_suffix(&domain)?.strip_suffix('.')?;
    let [_, mnc, mcc, ..] = domain.split('.').collect::<Vec<_>>()[..] else { return None };
    let code = |label: &str, prefix| label.strip_prefix(prefix)?.parse::<u32>().ok();
    Some((host, code(mnc, "mnc")? * 1000 + code(mcc, "mcc")?))
}

const WHOLE: u8 = 0;
const IN_A_NETWORK: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_networks_are_short_and_all_come_back() {
        let long = format!("{0}.{0}.{0}.example.org", "a".repeat(60));
        for (name, len) in [
            ("sepp1.5gc.mnc070.mcc999.3gppnetwork.org", 10),
            ("a.b.5gc.mnc999.mcc001.3gppnetwork.org", 8),
            ("5gc.mnc070.mcc999.3gppnetwork.org", 35),
            ("sepp.example", 14),
            (&long, long.len() + 2),
        ] {
            let name: Fqdn = name.parse().unwrap();
            let mut encoded = Vec::new();
            encode(&name, &mut encoded);
            assert_eq!(encoded.len(), len, "{name}");
            let left = &mut encoded.as_slice();
            assert_eq!(decode(left), Some(name));
            assert!(left.is_empty());
        }
        for wrong in [&[][..], &[0], &[0, 4, b'a'], &[2, 0], &[1, 1, b'a', 0, 0], &[0, 1, b'.']] {
            assert_eq!(decode(&mut &*wrong), None, "{wrong:?}");
        }
    }
}
