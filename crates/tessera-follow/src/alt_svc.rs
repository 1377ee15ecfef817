//! The field `Alt-Svc` (RFC 7838 §3).

use std::time::Duration;

use crate::alternative::Protocol;

/// What the field of one response announces.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AltSvc {
    /// No alternative is valid any more.
    Clear,
    /// These replace all earlier ones, in order of preference.
    Alternatives(Vec<Announcement>),
}

/// An alternative of a protocol that this crate speaks, as the server announces it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Announcement {
    pub(crate) protocol: Protocol,
    /// In lower case; empty for the origin's.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// How long it is fresh after the response was generated.
    pub(crate) max_age: Duration,
    /// It outlives a change of the network.
    pub(crate) persists: bool,
}

/// Reads the field, given all its lines. `None` if no member of it is valid, or if it is too long: what was
/// known stays.
///
/// A member that is malformed is left out, and so are those of other protocols, such as `h3`. The latter
/// still make the field valid: it then replaces what was known by nothing.
pub(crate) fn parse<'v>(lines: impl Iterator<Item = &'v [u8]>) -> Option<AltSvc> {
    let lines: Vec<_> = lines.collect();
    if lines.iter().map(|line| line.len()).sum::<usize>() > MAX_LENGTH {
        return None;
    }
    let (mut is_valid, mut known) = (false, Vec::new());
    for member in lines.into_iter().flat_map(|line| Members(Some(line))) {
        match parse_member(member) {
            // Also next to alternatives, which makes them invalid (RFC 7838 §3).
            Some(Member::Clear) => return Some(AltSvc::Clear),
            Some(Member::Alternative(announcement)) if known.len() < MAX_ALTERNATIVES => {
                known.push(announcement);
            }
            Some(_) => (),
            None => continue,
        }
        is_valid = true;
    }
    is_valid.then_some(AltSvc::Alternatives(known))
}

/// A member of the list.
enum Member {
    Clear,
    Alternative(Announcement),
    /// An alternative of another protocol.
    Unusable,
}

fn parse_member(text: &[u8]) -> Option<Member> {
    let mut text = Cursor(text);
    let protocol = text.token()?;
    if protocol == b"clear" && text.0.is_empty() {
        return Some(Member::Clear);
    }
    text.take(b'=')?;
    let authority = text.quoted_string()?;
    let (mut max_age, mut persists) = (DEFAULT_MAX_AGE, false);
    loop {
        text.skip_whitespace();
        if text.0.is_empty() {
            break;
        }
        text.take(b';')?;
        text.skip_whitespace();
        // RFC 9110 §5.6.6: parameters may be empty.
        if matches!(text.0.first(), None | Some(b';')) {
            continue;
        }
        let name = text.token()?;
        text.take(b'=')?;
        let value = text.token_or_quoted_string()?;
        if name.eq_ignore_ascii_case(b"ma") {
            max_age = delta_seconds(&value)?;
        } else if name.eq_ignore_ascii_case(b"persist") {
            persists = value == b"1";
        }
    }
    let (host, port) = host_and_port(&authority)?;
    // RFC 7838 §3: every name has one form, so comparing strings is enough.
    let protocol = match protocol {
        b"h2" => Protocol::Http2,
        b"http%2F1.1" => Protocol::Http1,
        _ => return Some(Member::Unusable),
    };
    let max_age = max_age.min(LONGEST_MAX_AGE);
    Some(Member::Alternative(Announcement { protocol, host, port, max_age, persists }))
}

/// Reads `[ uri-host ] ":" port`.
fn host_and_port(authority: &[u8]) -> Option<(String, u16)> {
    let authority = std::str::from_utf8(authority).ok()?;
    let (host, port) = authority.rsplit_once(':')?;
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|port| is_number && *port > 0)?;
    let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        // What DNS can resolve: internationalized names are A-labels (RFC 7838 §8).
        None => host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)),
    };
    (is_host && host.len() <= MAX_HOST).then(|| (host.to_ascii_lowercase(), port))
}

/// RFC 9111 §1.2.2: a number that is too large counts as the largest.
pub(crate) fn delta_seconds(text: &[u8]) -> Option<Duration> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let add = |sum: u32, digit: &u8| sum.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
    is_number.then(|| Duration::from_secs(text.iter().fold(0, add).into()))
}

/// The members of one line, which commas separate (RFC 9110 §5.6.1), without empty ones.
struct Members<'v>(Option<&'v [u8]>);

impl<'v> Iterator for Members<'v> {
    type Item = &'v [u8];

    fn next(&mut self) -> Option<&'v [u8]> {
        loop {
            let line = self.0.take()?;
            let (mut is_quoted, mut is_escaped) = (false, false);
            let comma = line.iter().position(|byte| {
                let is_plain = !is_escaped;
                is_escaped = is_plain && is_quoted && *byte == b'\\';
                is_quoted ^= is_plain && *byte == b'"';
                !is_quoted && *byte == b','
            });
            let end = comma.unwrap_or(line.len());
            self.0 = comma.and_then(|comma| line.get(comma + 1..));
            let member = line.get(..end).unwrap_or_default().trim_ascii();
            if !member.is_empty() {
                return Some(member);
            }
        }
    }
}

/// The rest of a member.
struct Cursor<'v>(&'v [u8]);

impl<'v> Cursor<'v> {
    fn take(&mut self, expected: u8) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        (*first == expected).then_some(())
    }

    fn skip_whitespace(&mut self) {
        while let [b' ' | b'\t', rest @ ..] = self.0 {
            self.0 = rest;
        }
    }

    fn token(&mut self) -> Option<&'v [u8]> {
        let len = self.0.iter().take_while(|byte| is_token(**byte)).count();
        let (token, rest) = self.0.split_at(len);
        self.0 = rest;
        (!token.is_empty()).then_some(token)
    }

    fn token_or_quoted_string(&mut self) -> Option<Vec<u8>> {
        match self.0.first() {
            Some(b'"') => self.quoted_string(),
            _ => self.token().map(<[u8]>::to_vec),
        }
    }

    /// RFC 9110 §5.6.4.
    fn quoted_string(&mut self) -> Option<Vec<u8>> {
        self.take(b'"')?;
        let mut text = Vec::new();
        loop {
            let (first, rest) = self.0.split_first()?;
            self.0 = rest;
            match first {
                b'"' => return Some(text),
                b'\\' => {
                    let (escaped, rest) = rest.split_first()?;
                    self.0 = rest;
                    text.push(*escaped);
                }
                byte => text.push(*byte),
            }
        }
    }
}

/// RFC 9110 §5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A field beyond these is a mistake, or an attack on the client's memory.
const MAX_LENGTH: usize = 4096;
const MAX_ALTERNATIVES: usize = 16;
/// DNS has no longer names.
const MAX_HOST: usize = 255;

/// RFC 7838 §3.1.
const DEFAULT_MAX_AGE: Duration = Duration::from_secs(24 * 3600);
/// No ticket lives longer (RFC 8446 §4.6.1), and a longer stay could only be one at the wrong place.
const LONGEST_MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 24 * 3600;

    fn field(lines: &[&str]) -> Option<AltSvc> {
        parse(lines.iter().map(|line| line.as_bytes()))
    }

    /// The alternatives of a field, each as `protocol host port max-age persists`.
    fn known(lines: &[&str]) -> Option<Vec<String>> {
        match field(lines)? {
            AltSvc::Clear => Some(vec!["clear".into()]),
            AltSvc::Alternatives(known) => Some(
                known
                    .into_iter()
                    .map(|it| {
                        let protocol = it.protocol.alpn().escape_ascii();
                        let age = it.max_age.as_secs();
                        format!("{protocol} {} {} {age} {}", it.host, it.port, it.persists)
                    })
                    .collect(),
            ),
        }
    }

    #[test]
    fn each_form_of_a_valid_field_is_read() {
        let b = format!("h2 b.example 443 {DAY} false");
        for (line, expected) in [
            ("h2=\"b.example:443\"", &[&b[..]][..]),
            ("h2=\"B.Example:443\"", &[&b]),
            ("  h2=\"b.example:443\"\t, ,,", &[&b]),
            ("h2=\"b\\.example:44\\3\"", &[&b]),
            ("h2=\"b.example:443\";", &[&b]),
            ("h2=\"b.example:443\"; ;ma=1;", &["h2 b.example 443 1 false"]),
            ("h2=\":8000\"; ma=60", &["h2  8000 60 false"]),
            ("h2=\"[2001:DB8::1]:1\";ma=\"6\\0\"", &["h2 [2001:db8::1] 1 60 false"]),
            ("http%2F1.1=\"b:1\"; persist=1; ma=0", &["http/1.1 b 1 0 true"]),
            ("h2=\"b:1\"; MA=5 ; v=\"46,43\"; persist=2", &["h2 b 1 5 false"]),
            ("h2=\"b:1\"; x=\"a;\\\",h2=\"; ma=7", &["h2 b 1 7 false"]),
            ("h2=\"b:1\";ma=1, h2=\"c:2\";ma=2", &["h2 b 1 1 false", "h2 c 2 2 false"]),
            ("h3=\":443\", h2=\"b:1\";ma=1, h3-29=\":443\"", &["h2 b 1 1 false"]),
            ("h3=\":443\"; ma=3600", &[]),
            // Not the one form of each name.
            ("%682=\"b:1\", http%2f1.1=\"b:1\", H2=\"b:1\"", &[]),
            ("h2=\"b:1\"; ma=99999999999999999999999", &["h2 b 1 604800 false"]),
            ("clear", &["clear"]),
            (" clear ,", &["clear"]),
            ("h2=\"b:1\", clear", &["clear"]),
        ] {
            assert_eq!(known(&[line]).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn malformed_members_are_left_out_and_a_field_of_nothing_else_is_ignored() {
        for member in [
            "",
            ",",
            "Clear",
            "clear; ma=1",
            "h2",
            "h2=",
            "=\"b:1\"",
            "h2=b:1",
            "h2=\"b:1",
            "h2=\"b:1\\",
            "h2 =\"b:1\"",
            "h2= \"b:1\"",
            "h2=\"b:1\" ma=1",
            "h2=\"b:1\"x",
            "h2=\"b:1\"; ma",
            "h2=\"b:1\"; ma=",
            "h2=\"b:1\"; ma=-1",
            "h2=\"b:1\"; ma=1.5",
            "h2=\"b:1\"; ma=\"\"",
            "h2=\"b\"",
            "h2=\"\"",
            "h2=\"b:\"",
            "h2=\"b:0\"",
            "h2=\"b:65536\"",
            "h2=\"b:+1\"",
            "h2=\"b: 1\"",
            "h2=\"a@b:1\"",
            "h2=\"b/c:1\"",
            "h2=\"b c:1\"",
            "h2=\"b%41:1\"",
            "h2=\"2001:db8::1:1\"",
            "h2=\"[::1:1\"",
            "h2=\"[b]:1\"",
            "h2=\"b\u{fc}cher:1\"",
        ] {
            assert_eq!(field(&[member]), None, "{member}");
            // An unterminated string ends with its line.
            let with = known(&["h2=\"c:2\"; ma=1", member]);
            assert_eq!(with.unwrap(), ["h2 c 2 1 false"], "{member}");
        }
        let long = format!("h2=\"{}:1\"", "b".repeat(256));
        assert_eq!(field(&[&long]), None);
    }

    #[test]
    fn several_lines_are_one_field() {
        let lines = ["h2=\"b:1\"; ma=1", "h2=\"c:2\"; ma=2, h2=\"d:3\"; ma=3"];
        assert_eq!(known(&lines).unwrap().len(), 3);
        assert_eq!(field(&["h2=\"b:1\"", "clear"]), Some(AltSvc::Clear));
        assert_eq!(field(&[]), None);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let many = vec!["h2=\"b:1\""; 100].join(",");
        assert_eq!(known(&[&many]).unwrap().len(), MAX_ALTERNATIVES);
        assert_eq!(field(&[&many, "clear"]), Some(AltSvc::Clear));
        let padding = "x".repeat(MAX_LENGTH);
        assert_eq!(field(&["h2=\"b:1\"", &padding]), None);
    }

    /// Bytes at random, and valid fields with a few bytes changed: nothing panics, and what is read is what
    /// can be dialled.
    #[test]
    fn no_field_makes_the_parser_panic() {
        let mut random = fastrand::Rng::with_seed(29);
        let valid = b"h2=\"b.example:443\"; ma=60; persist=1, http%2F1.1=\"[::1]:80\", clear";
        let alphabet = b"h2=\"b:4\\;,ma persist%[]\t\xff\0";
        for round in 0..20_000 {
            let mut line = match round % 2 {
                0 => valid.to_vec(),
                _ => (0..random.usize(..60)).map(|_| alphabet[random.usize(..26)]).collect(),
            };
            for _ in 0..random.usize(..4) {
                let at = random.usize(..=line.len());
                match random.u8(..3) {
                    0 => line.insert(at, alphabet[random.usize(..alphabet.len())]),
                    1 => line.truncate(at),
                    _ => line.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.u8(..)),
                }
            }
            let Some(AltSvc::Alternatives(known)) = parse([&line[..]].into_iter()) else {
                continue;
            };
            assert!(known.len() <= MAX_ALTERNATIVES);
            for it in known {
                let host = if it.host.is_empty() { "a".into() } else { it.host };
                assert!(http::uri::Authority::try_from(format!("{host}:{}", it.port)).is_ok());
                assert!(it.max_age <= LONGEST_MAX_AGE);
            }
        }
    }
}
