//! Fully qualified domain names.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A fully qualified domain name in lower case, without a trailing dot. As in TS 29.571 §5.2.2: 4 to 253 characters, at
/// least two labels. Clones are cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fqdn(Arc<str>);

impl Fqdn {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether it is this domain, or a name below it.
    pub fn is_within(&self, domain: &str) -> bool {
        is_within(&self.0, domain)
    }
}

/// Returns whether a name is this domain or below it, ignoring case.
pub(crate) fn is_within(name: &str, domain: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let Some(at) = name.len().checked_sub(domain.len()) else { return false };
    name.get(at..).is_some_and(|end| end.eq_ignore_ascii_case(domain))
        && (at == 0 || name.as_bytes()[at - 1] == b'.')
}

impl FromStr for Fqdn {
    type Err = NotAnFqdn;

    fn from_str(text: &str) -> Result<Self, NotAnFqdn> {
        let name = text.strip_suffix('.').unwrap_or(text);
        // RFC 1035 §2.3.1, and digits at the front (RFC 1123 §2.1).
        let is_label = |label: &str| {
            let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            (1..=63).contains(&label.len())
                && label.bytes().all(inner)
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        // An address isn't a name: no top-level domain is a number.
        let is_address = name
            .rsplit('.')
            .next()
            .is_some_and(|top| top.bytes().all(|byte| byte.is_ascii_digit()));
        let is_one = (4..=253).contains(&name.len()) && name.contains('.') && !is_address;
        if !is_one || !name.split('.').all(is_label) {
            return Err(NotAnFqdn);
        }
        Ok(Self(name.to_ascii_lowercase().into()))
    }
}

impl AsRef<str> for Fqdn {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Fqdn {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fqdn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Fqdn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Fqdn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Fqdn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The text is not a fully qualified domain name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAnFqdn;

impl fmt::Display for NotAnFqdn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fully qualified domain name has 4 to 253 letters, digits, hyphens and dots, and is not an \
                     address")
    }
}

impl std::error::Error for NotAnFqdn {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_case_and_without_the_last_dot() {
        let name: Fqdn = "SEPP1.5gc.mnc070.mcc999.3gppnetwork.ORG.".parse().unwrap();
        assert_eq!(name.as_str(), "sepp1.5gc.mnc070.mcc999.3gppnetwork.org");
        assert!(name.is_within("mnc070.mcc999.3gppnetwork.org") && name.is_within("Org"));
        assert!(!name.is_within("nc070.mcc999.3gppnetwork.org") && !name.is_within("x"));
    }

    #[test]
    fn malformed_names_are_refused() {
        let long = format!("{}.org", "a".repeat(64));
        for text in [
            "",
            "a.b",
            "localhost",
            "127.0.0.1",
            "a..bc",
            "-a.org",
            "a-.org",
            "a_b.org",
            "é.org",
            &long,
        ] {
            assert_eq!(text.parse::<Fqdn>(), Err(NotAnFqdn), "{text}");
        }
    }
}
