//! The home network domain of a 5G core (TS 23.003 §28.2).

use std::fmt;

use super::PlmnId;

/// `5gc.mnc070.mcc999.3gppnetwork.org`: the domain of a network's functions. It always has three digits of network
/// code, so it doesn't distinguish `70` and `070`; to compare with a known network, use [`is_of`](Self::is_of).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct NetworkDomain {
    mcc: [u8; 3],
    mnc: [u8; 3],
}

impl NetworkDomain {
    /// Returns the domain of a name, whatever precedes it. Case doesn't matter.
    pub fn of_name(name: &str) -> Option<Self> {
        const LEN: usize = "5gc.mnc001.mcc001.3gppnetwork.org".len();
        let name = name.strip_suffix('.').unwrap_or(name);
        let (hosts, domain) = name.split_at_checked(name.len().checked_sub(LEN)?)?;
        let (realm, codes) = domain.split_at_checked("5gc.".len())?;
        let (mnc, rest) = codes.split_at_checked("mnc001".len())?;
        let (mcc, root) = rest.split_at_checked(".mcc001".len())?;
        let is_domain = realm.eq_ignore_ascii_case("5gc.")
            && root.eq_ignore_ascii_case(".3gppnetwork.org")
            && (hosts.is_empty() || hosts.ends_with('.'));
        is_domain.then_some(Self { mcc: code(mcc, ".mcc")?, mnc: code(mnc, "mnc")? })
    }

    /// Returns whether it is this network's.
    pub fn is_of(&self, plmn: &PlmnId) -> bool {
        *self == Self::from(*plmn)
    }
}

/// Reads three digits after a prefix.
fn code(label: &str, prefix: &str) -> Option<[u8; 3]> {
    let (start, digits) = label.split_at_checked(prefix.len())?;
    let digits: [u8; 3] = digits.as_bytes().try_into().ok()?;
    let fits = start.eq_ignore_ascii_case(prefix) && digits.iter().all(u8::is_ascii_digit);
    fits.then_some(digits)
}

impl From<PlmnId> for NetworkDomain {
    fn from(id: PlmnId) -> Self {
        let digits = |code: &str| {
            let mut padded = [b'0'; 3];
            padded[3 - code.len()..].copy_from_slice(code.as_bytes());
            padded
        };
        Self { mcc: digits(id.mcc()), mnc: digits(id.mnc()) }
    }
}

impl fmt::Display for NetworkDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |code: &[u8; 3]| String::from_utf8_lossy(code).into_owned();
        write!(f, "5gc.mnc{}.mcc{}.3gppnetwork.org", text(&self.mnc), text(&self.mcc))
    }
}

impl fmt::Debug for NetworkDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_found_below_any_name_and_belongs_to_its_network() {
        let domain = NetworkDomain::of_name("NRF.5GC.mnc070.mcc999.3gppnetwork.org.").unwrap();
        assert_eq!(domain.to_string(), "5gc.mnc070.mcc999.3gppnetwork.org");
        for id in ["999-70", "999-070"] {
            assert!(domain.is_of(&id.parse().unwrap()), "{id}");
        }
        assert!(!domain.is_of(&"999-700".parse().unwrap()));
    }

    #[test]
    fn other_names_have_none() {
        for name in [
            "",
            "org",
            "5gc.mnc70.mcc999.3gppnetwork.org",
            "x5gc.mnc070.mcc999.3gppnetwork.org",
            "epc.mnc070.mcc999.3gppnetwork.org",
            "5gc.mnc070.mcc999.3gppnetwork.org.example",
            "5gc.mcc999.mnc070.3gppnetwork.org",
            "5gc.mnc0x0.mcc999.3gppnetwork.org",
        ] {
            assert_eq!(NetworkDomain::of_name(name), None, "{name}");
        }
    }
}
