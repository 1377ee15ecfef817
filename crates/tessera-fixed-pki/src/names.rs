//! Names of peers (RFC 5280 §4.2.1.6, RFC 9525).

use crate::defect::Defect;
use crate::der::{Elements, Tag, TagNumber};

/// A name in subjectAltName.
#[derive(Clone, Copy)]
pub(crate) enum AlternativeName<'a> {
    Dns(&'a [u8]),
    Uri(&'a [u8]),
    /// One that identifies no peer here.
    Other,
}

/// Calls `on` for each name in the contents of the list.
pub(crate) fn each<'a>(
    names: &'a [u8],
    mut on: impl FnMut(AlternativeName<'a>) -> Result<(), Defect>,
) -> Result<(), Defect> {
    let mut list = Elements::new(names);
    while !list.is_empty() {
        let (tag, name) = list.any()?;
        let Tag::ContextSpecific { constructed, number: TagNumber(number) } = tag else {
            return Err(Defect::Malformed);
        };
        on(match (number, constructed) {
            (2, false) => AlternativeName::Dns(name),
            (6, false) => AlternativeName::Uri(name),
            // rfc822Name, iPAddress, registeredID; otherName, x400Address, directoryName, ediPartyName.
            (1 | 7 | 8, false) | (0 | 3..=5, true) => AlternativeName::Other,
            _ => return Err(Defect::Malformed),
        })?;
    }
    Ok(())
}

/// Checks that a certificate with these names is valid for this server. The common name doesn't count (RFC 9525 §2).
pub(crate) fn check_server(names: Option<&[u8]>, server: &str) -> Result<(), Defect> {
    let server = server.as_bytes();
    // An absolute name and a relative one are the same here.
    let relative = server.strip_suffix(b".").unwrap_or(server);
    if !is_dns_name(server) || server.starts_with(b"*") || is_number(last_label(relative)) {
        return Err(Defect::ServerName);
    }
    let mut is_named = false;
    each(names.unwrap_or_default(), |name| {
        if let AlternativeName::Dns(name) = name {
            is_named |= is_dns_name(name) && !name.ends_with(b".") && matches(name, relative);
        }
        Ok(())
    })?;
    if is_named { Ok(()) } else { Err(Defect::Name) }
}

/// Whether a certificate's DNS name covers this one. RFC 9525 §6.3: a wildcard is the whole leftmost label, and covers one.
fn matches(presented: &[u8], server: &[u8]) -> bool {
    match presented.strip_prefix(b"*") {
        None => presented.eq_ignore_ascii_case(server),
        Some(domain) => {
            let first_dot = server.iter().position(|byte| *byte == b'.').unwrap_or(server.len());
            server.get(first_dot..).is_some_and(|rest| rest.eq_ignore_ascii_case(domain))
        }
    }
}

/// Whether this is a DNS name (RFC 1034 §3.5, RFC 1123 §2.1), or one with a wildcard before at least two labels.
/// Underscores are letters, as in webpki. A dot may end it.
pub(crate) fn is_dns_name(name: &[u8]) -> bool {
    let relative = name.strip_suffix(b".").unwrap_or(name);
    let is_wildcard = relative.starts_with(b"*.");
    let labels = relative.get(if is_wildcard { 2 } else { 0 }..).unwrap_or_default();
    name.len() <= 253
        && labels.split(|byte| *byte == b'.').all(is_label)
        && !last_label(labels).iter().all(u8::is_ascii_digit)
        && (!is_wildcard || labels.contains(&b'.'))
}

fn is_label(label: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-' || *byte == b'_';
    (1..=63).contains(&label.len())
        && label.iter().all(is_letter)
        && !label.starts_with(b"-")
        && !label.ends_with(b"-")
}

fn last_label(name: &[u8]) -> &[u8] {
    name.rsplit(|byte| *byte == b'.').next().unwrap_or_default()
}

/// Whether a last label makes a name an IPv4 address for some parsers: a hexadecimal number.
fn is_number(label: &[u8]) -> bool {
    label
        .strip_prefix(b"0x")
        .or(label.strip_prefix(b"0X"))
        .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::{check_server, is_dns_name, matches};
    use crate::defect::Defect;

    #[test]
    fn dns_names_are_recognised() {
        for name in [
            "a",
            "a.example",
            "A-b_c.example.",
            "1.2.3.a",
            "*.a.example",
            "*.a.example.",
            "xn--a.b",
        ] {
            assert!(is_dns_name(name.as_bytes()), "{name}");
        }
        let long = ["a"; 127].join(".");
        assert!(is_dns_name(long.as_bytes()));
        let too_long = [&long, ".b"].concat();
        let long_label = "a".repeat(64);
        for name in [
            "",
            ".",
            "a..b",
            ".a",
            "-a.b",
            "a-.b",
            "a b",
            "192.0.2.1",
            "a.1",
            "*",
            "*.",
            "*.a",
            "*.a.",
            "a.*.b",
            "a*.b.c",
            "*a.b.c",
            "**.b.c",
            "ä.b",
            &too_long,
            &long_label,
        ] {
            assert!(!is_dns_name(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn a_wildcard_is_one_whole_label() {
        for (presented, server, expected) in [
            ("a.example", "A.Example", true),
            ("a.example", "b.a.example", false),
            ("*.a.example", "b.a.example", true),
            ("*.A.example", "B.a.Example", true),
            ("*.a.example", "a.example", false),
            ("*.a.example", "c.b.a.example", false),
            ("*.a.example", "b.ca.example", false),
        ] {
            let found = matches(presented.as_bytes(), server.as_bytes());
            assert_eq!(found, expected, "{presented} {server}");
        }
    }

    #[test]
    fn a_server_has_a_dns_name() {
        let check = |name| check_server(Some(b"\x82\x09a.example"), name);
        assert_eq!(check("a.example"), Ok(()));
        assert_eq!(check("A.example."), Ok(()));
        assert_eq!(check("b.example"), Err(Defect::Name));
        for name in ["", "192.0.2.1", "::1", "*.a.example", "a.0x1f", "a.0X.", "a..example"] {
            assert_eq!(check(name), Err(Defect::ServerName), "{name}");
        }
        assert_eq!(check_server(None, "a.example"), Err(Defect::Name));
    }
}
