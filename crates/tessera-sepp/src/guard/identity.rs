//! Subscribers and the networks that they belong to (TS 29.571 §5.3.2, TS 23.003 §2.2).

use super::network::NetworkName;
use crate::names::PlmnId;

/// What a text reveals about a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Identity<'a> {
    /// `imsi-001010000000001`: the digits begin with the codes of the home network.
    Imsi(&'a str),
    /// The home network, named by its codes or realm.
    Home(NetworkName),
    /// A GUTI: the network that served last.
    Served(NetworkName),
    /// It starts like a subscriber identity but isn't a valid one.
    Unclear,
}

/// The prefixes of subscriber identities whose network codes aren't in a fixed place.
pub(super) const OTHER_KINDS: [&str; 3] = ["nai-", "gci-", "gli-"];

impl<'a> Identity<'a> {
    /// Reads a text; returns `None` if it isn't about a subscriber.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        // Fast path: most texts have no hyphen at any of these offsets.
        let hyphen = |at: usize| text.as_bytes().get(at) == Some(&b'-');
        if !(hyphen(3) || hyphen(4) || hyphen(7)) {
            return None;
        }
        let after = |start: &str| {
            let (prefix, rest) = text.split_at_checked(start.len())?;
            prefix.eq_ignore_ascii_case(start).then_some(rest)
        };
        if let Some(digits) = after("imsi-") {
            let is_one = (6..=15).contains(&digits.len())
                && digits.bytes().all(|byte| byte.is_ascii_digit());
            return Some(if is_one { Self::Imsi(digits) } else { Self::Unclear });
        }
        if let Some(rest) = after("suci-") {
            return Some(suci(rest).unwrap_or(Self::Unclear));
        }
        if let Some(digits) = after("5g-guti-") {
            return Some(guti(digits).unwrap_or(Self::Unclear));
        }
        let name = OTHER_KINDS.iter().find_map(|start| after(start))?;
        // Receivers take what follows the hyphen, whatever precedes it.
        if (6..=15).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(Self::Imsi(name));
        }
        let (user, realm) = name.rsplit_once('@')?;
        // A decorated NAI has the home realm in front of a `!` (TS 23.003 §28.7.6).
        let realms = if user.contains('!') { name } else { realm };
        let country =
            realms.as_bytes().windows(4).position(|it| it.eq_ignore_ascii_case(b".mcc"))?;
        // With two networks, or a code that goes on, receivers may take either.
        let goes_on =
            realms.as_bytes().get(country + ".mcc001".len()).is_some_and(u8::is_ascii_digit);
        let named = NetworkName::in_name(realms).filter(|_| !goes_on);
        Some(named.map_or(Self::Unclear, Self::Home))
    }
}

impl Identity<'_> {
    /// Returns the text without what distinguishes one subscriber from another.
    pub(super) fn masked(text: &str) -> String {
        let kept = match Identity::of(text) {
            Some(Identity::Imsi(_)) => "imsi-".len() + 6,
            // suci-0-310-410
            Some(Identity::Home(_))
                if text.get(..5).is_some_and(|s| s.eq_ignore_ascii_case("suci-")) =>
            {
                14
            }
            Some(Identity::Served(_)) => "5g-guti-".len() + 6,
            Some(Identity::Home(_)) => {
                return text.rsplit_once('@').map_or_else(String::new, |(_, realm)| {
                    format!("{}..@{realm}", text.get(..4).unwrap_or_default())
                });
            }
            Some(Identity::Unclear) | None => 5,
        };
        format!("{}..", text.get(..kept).unwrap_or_default())
    }
}

/// Reads `0-001-01-0000-0-0-0000000001`, or `1-realm-...` of a network specific identity.
fn suci(rest: &str) -> Option<Identity<'static>> {
    let mut parts = rest.split('-');
    match parts.next()? {
        "0" => {
            let id = PlmnId::new(parts.next()?, parts.next()?).ok()?;
            Some(Identity::Home(NetworkName::Exactly(id)))
        }
        // A realm may contain hyphens, and what follows it may be anything (TS 23.003 §2.2B).
        kind if matches!(kind.as_bytes(), [b'1'..=b'7']) => {
            const END: &str = ".3gppnetwork.org-";
            let realm = rest.get(2..rest.to_ascii_lowercase().find(END)?)?;
            let is_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
            let named = NetworkName::in_name(realm).filter(|_| realm.bytes().all(is_host));
            named.filter(|_| NetworkName::in_name(rest).is_some()).map(Identity::Home)
        }
        _ => None,
    }
}

/// Reads the codes, an AMF identifier of 6 digits and a 5G-TMSI of 8.
fn guti(digits: &str) -> Option<Identity<'static>> {
    let codes = digits.get(..digits.len().checked_sub(14)?)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (mcc, mnc) = codes.split_at_checked(3)?;
    PlmnId::new(mcc, mnc)
        .ok()
        .filter(|_| is_hex)
        .map(|id| Identity::Served(NetworkName::Exactly(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscribers_are_recognised() {
        let home = |id: &str| Some(Identity::Home(NetworkName::Exactly(id.parse().unwrap())));
        assert_eq!(Identity::of("imsi-001010000000001"), Some(Identity::Imsi("001010000000001")));
        assert_eq!(Identity::of("IMSI-001010000000001"), Some(Identity::Imsi("001010000000001")));
        assert_eq!(Identity::of("suci-0-001-01-0000-0-0-0000000001"), home("001-01"));
        assert_eq!(Identity::of("suci-0-310-410-0-1-1-ab"), home("310-410"));
        let served = Some(Identity::Served(NetworkName::Exactly("001-01".parse().unwrap())));
        assert_eq!(Identity::of("5g-guti-0010102004000000001"), served);
        let concealed = Identity::of("suci-1-5gc.mnc001.mcc001.3gppnetwork.org-0000-0-0-x");
        assert!(matches!(concealed, Some(Identity::Home(NetworkName::Padded { .. }))));
        for text in [
            "suci-12-5gc.mnc001.mcc001.3gppnetwork.org-0000-0-0-x",
            "imsi-",
            "imsi-00101x",
            "imsi-0010100000000012",
            "suci-0-1-01",
            "suci-",
            "suci-1-5gc.mnc001.mcc001.3gppnetwork.org-0-0-0-x.mnc093.mcc208",
            "5g-guti-0010102004000000000z",
            "5g-guti-1",
            "5g-guti-é",
        ] {
            assert_eq!(Identity::of(text), Some(Identity::Unclear), "{text}");
        }
        for text in ["", "imsi", "msisdn-491", "nai-user", "service"] {
            assert_eq!(Identity::of(text), None, "{text}");
        }
        let realm = Identity::of("nai-user@5gc.mnc001.mcc001.3gppnetwork.org");
        assert!(matches!(realm, Some(Identity::Home(NetworkName::Padded { .. }))));
    }

    #[test]
    fn only_the_network_is_shown() {
        for (text, masked) in [
            ("imsi-001010000000001", "imsi-001010.."),
            ("suci-0-310-410-0-1-1-ab", "suci-0-310-410.."),
            ("5g-guti-0010102004000000001", "5g-guti-001010.."),
            (
                "nai-user@5gc.mnc001.mcc001.3gppnetwork.org",
                "nai-..@5gc.mnc001.mcc001.3gppnetwork.org",
            ),
            ("imsi-secret", "imsi-.."),
        ] {
            assert_eq!(Identity::masked(text), masked);
        }
    }
}
