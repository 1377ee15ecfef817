//! Networks as messages name them, and which of them may be named.

use std::fmt;

use crate::names::{NetworkDomain, PlmnId, PlmnSet};

/// A network, as precisely as it was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NetworkName {
    /// By its codes.
    Exactly(PlmnId),
    /// By a domain name, which always has three digits of network code: `70` and `070` can't be distinguished.
    Padded { mcc: [u8; 3], mnc: [u8; 3] },
}

/// Whose network may be named in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The sender's.
    Sender,
    /// The receiver's.
    Receiver,
    /// Either's, but no third.
    Either,
    /// Any network.
    Anyone,
}

/// The networks at both ends of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sides<'a> {
    pub(super) sender: &'a PlmnSet,
    pub(super) receiver: &'a PlmnSet,
}

impl Sides<'_> {
    /// Returns whether this network may be named as this side's.
    pub(super) fn allow(&self, side: Side, named: &NetworkName) -> bool {
        self.any(side, |set| named.is_in(set))
    }

    /// Returns whether a subscriber belongs to this side: the number begins with the codes of one of its networks.
    pub(super) fn allow_digits(&self, side: Side, digits: &str) -> bool {
        let begins = |len: usize| {
            let (mcc, mnc) = digits.get(..len)?.split_at_checked(3)?;
            PlmnId::new(mcc, mnc).ok()
        };
        let readings = [begins(5), begins(6)];
        self.any(side, |set| readings.iter().flatten().any(|id| set.contains(id)))
    }

    pub(super) fn any(&self, side: Side, has: impl Fn(&PlmnSet) -> bool) -> bool {
        match side {
            Side::Sender => has(self.sender),
            Side::Receiver => has(self.receiver),
            Side::Either => has(self.sender) || has(self.receiver),
            Side::Anyone => true,
        }
    }

    /// Returns the networks that may be named, for a security event.
    pub(super) fn of(&self, side: Side) -> PlmnSet {
        match side {
            Side::Sender => self.sender.clone(),
            Side::Receiver => self.receiver.clone(),
            Side::Either => self.sender.iter().chain(self.receiver.iter()).collect(),
            Side::Anyone => PlmnSet::default(),
        }
    }
}

impl NetworkName {
    /// Reads the text of a PLMN ID: `00101`, `001-01`, `001-01-7ed9d5b3ec6` of an SNPN, a serving network name
    /// (TS 24.501 §9.12.1), or a domain name containing `mnc001.mcc001`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
        if is_digits && matches!(text.len(), 5 | 6) {
            let (mcc, mnc) = text.split_at(3);
            return Self::of_codes(mcc, mnc);
        }
        if let Some(id) = Self::with_hyphens(text) {
            return Some(id);
        }
        let name = match text.split_at_checked(3) {
            Some((start, rest)) if start.eq_ignore_ascii_case("5G:") => serving(rest)?,
            _ => text,
        };
        // `208-93.mnc001.mcc001`: some readers take the codes in front.
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic());
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        (is_name && name.bytes().all(is_host)).then(|| Self::in_name(name)).flatten()
    }

    /// Reads `001-01`, or `001-01-7ed9d5b3ec6` of an SNPN (TS 29.500 §5.2.3.2.18).
    pub(super) fn with_hyphens(text: &str) -> Option<Self> {
        let (mcc, rest) = text.split_once('-')?;
        let (mnc, nid) = rest.split_once('-').unwrap_or((rest, "0"));
        let is_nid = matches!(nid.len(), 1..=11) && is_hex(nid);
        Self::of_codes(mcc, mnc).filter(|_| is_nid)
    }

    /// Reads the codes at the beginning of an identifier, or behind the eight digits of a group's service:
    /// `00101-abcdef`, `001-01-abcdef`, `0a1b2c3d-001-01-ab` (TS 29.571 §5.3.2).
    pub(super) fn of_identifier(text: &str) -> Option<Self> {
        let is_service = |(service, _): &(&str, &str)| service.len() == 8 && is_hex(service);
        let text = text.split_once('-').filter(is_service).map_or(text, |(_, rest)| rest);
        let (first, rest) = text.split_once('-')?;
        let (mcc, mnc, rest) = match first.split_at_checked(3)? {
            (mcc, "") => rest.split_once('-').map(|(mnc, rest)| (mcc, mnc, rest))?,
            (mcc, mnc) => (mcc, mnc, rest),
        };
        Self::of_codes(mcc, mnc).filter(|_| !rest.is_empty())
    }

    fn of_codes(mcc: &str, mnc: &str) -> Option<Self> {
        PlmnId::new(mcc, mnc).ok().map(Self::Exactly)
    }

    /// Reads a name containing `mnc001.mcc001` (TS 23.003 §28), whatever surrounds it. Returns `None` if there are
    /// several, since receivers may take any. A `.mcc` that doesn't follow a three-digit network code counts too.
    pub(super) fn in_name(text: &str) -> Option<Self> {
        let countries =
            text.as_bytes().windows(4).filter(|four| four.eq_ignore_ascii_case(b".mcc")).count();
        all_in(text).next().filter(|_| countries == 1)
    }

    /// Returns the network in whose home domain a host is.
    pub(super) fn of_domain(host: &str) -> Option<Self> {
        NetworkDomain::of_name(host)?;
        all_in(host).last()
    }

    pub(super) fn is_in(&self, set: &PlmnSet) -> bool {
        let padded = |id: &PlmnId| {
            let mut padded = [b'0'; 3];
            padded[3 - id.mnc().len()..].copy_from_slice(id.mnc().as_bytes());
            padded
        };
        match self {
            Self::Exactly(id) => set.contains(id),
            Self::Padded { mcc, mnc } => {
                set.iter().any(|id| id.mcc().as_bytes() == mcc && padded(&id) == *mnc)
            }
        }
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns `mnc001.mcc001` from a serving network name after its `5G:`: `mnc001.mcc001.3gppnetwork.org`, possibly with
/// a NID.
fn serving(text: &str) -> Option<&str> {
    let (codes, rest) = text.split_at_checked("mnc001.mcc001".len())?;
    let (domain, nid) = rest.split_at_checked(".3gppnetwork.org".len())?;
    let is_nid = |nid: &str| !nid.is_empty() && is_hex(nid);
    let is_whole = domain.eq_ignore_ascii_case(".3gppnetwork.org")
        && (nid.is_empty() || nid.strip_prefix(':').is_some_and(is_nid));
    is_whole.then_some(codes)
}

/// Returns each `mnc001.mcc001` in a text, and `mnc01.mcc001` (TS 29.571, `5GPrukId`).
pub(super) fn all_in(text: &str) -> impl Iterator<Item = NetworkName> + '_ {
    let bytes = text.as_bytes();
    let starts = memchr_both(bytes);
    starts.filter_map(move |start| {
        let rest = after(&bytes[start..], b"mnc")?;
        let padded = |mnc: &[u8; 2]| [b'0', mnc[0], mnc[1]];
        let three = rest.split_first_chunk().filter(|(mnc, _)| are_digits(mnc));
        let (mnc, rest) = three
            .map(|(mnc, rest)| (*mnc, rest))
            .or_else(|| rest.split_first_chunk().map(|(mnc, rest)| (padded(mnc), rest)))?;
        let mcc = *after(rest, b".mcc")?.first_chunk()?;
        (are_digits(&mnc) && are_digits(&mcc)).then_some(NetworkName::Padded { mcc, mnc })
    })
}

fn after<'b>(bytes: &'b [u8], start: &[u8]) -> Option<&'b [u8]> {
    let (begin, rest) = bytes.split_at_checked(start.len())?;
    begin.eq_ignore_ascii_case(start).then_some(rest)
}

fn are_digits(bytes: &[u8; 3]) -> bool {
    bytes.iter().all(u8::is_ascii_digit)
}

/// Returns the offsets of `m` and `M`.
fn memchr_both(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    bytes.iter().enumerate().filter(|(_, byte)| matches!(byte, b'm' | b'M')).map(|(at, _)| at)
}

impl fmt::Display for NetworkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |digits: &[u8]| String::from_utf8_lossy(digits).into_owned();
        match self {
            Self::Exactly(id) => id.fmt(f),
            Self::Padded { mcc, mnc } => write!(f, "mnc{}.mcc{}", text(mnc), text(mcc)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ids: &[&str]) -> PlmnSet {
        ids.iter().map(|id| id.parse().unwrap()).collect()
    }

    #[test]
    fn every_form_names_its_network() {
        let home = set(&["001-01"]);
        for text in [
            "00101",
            "001-01",
            "001-01-7ed9d5b3ec6",
            "5G:mnc001.mcc001.3gppnetwork.org",
            "5g:MNC001.MCC001.3gppnetwork.org:7ed9d5b3ec6",
            "smf1.5gc.mnc001.mcc001.3gppnetwork.org",
            "set1.smfset.5gc.mnc001.mcc001",
            "rid1.pid1.prose-cp.5gc.mnc01.mcc001.3gppnetwork.org",
        ] {
            let named = NetworkName::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert!(named.is_in(&home), "{text}");
            assert!(!named.is_in(&set(&["001-02", "999-01"])), "{text}");
        }
        for text in [
            "",
            "0010",
            "0010101",
            "001-1",
            "001-01-7ed9d5b3ec60",
            "001-01-network",
            "5G:NSWO",
            "mnc1.mcc001",
            "mnc0001.mcc001",
            "mnc001.mcc001.mnc002.mcc001",
            "5G:XXX093.XXX208.3gppnetwork.org.mnc001.mcc001",
            "5G:mnc001.mcc001.3gppnetwork.org:208-93-evil",
            "5G:mnc001.mcc001.3gppnetwork.org208",
            "5G:mnc001.mcc001.example.org.xxxx",
            "mnc001.mcc001/x",
            "００１０１",
        ] {
            assert_eq!(NetworkName::parse(text), None, "{text}");
        }
    }

    #[test]
    fn two_and_three_digits_are_distinguished_where_possible() {
        let long = set(&["001-001"]);
        assert!(!NetworkName::parse("001-01").unwrap().is_in(&long));
        assert!(!NetworkName::parse("00101").unwrap().is_in(&long));
        assert!(
            NetworkName::parse("mnc001.mcc001").unwrap().is_in(&long),
            "a name doesn't show it"
        );
    }

    /// TS 23.003 §28.2: the home domain is the end of a name; an operator may choose the labels before it.
    #[test]
    fn of_several_networks_in_a_host_the_last_is_its_domain() {
        let named =
            NetworkName::of_domain("smf.mnc070.mcc999.5gc.mnc001.mcc001.3gppnetwork.org").unwrap();
        assert!(named.is_in(&set(&["001-01"])) && !named.is_in(&set(&["999-70"])));
        assert_eq!(NetworkName::of_domain("mnc001.mcc001.example"), None);
    }

    #[test]
    fn subscribers_of_networks_with_three_digits_are_known() {
        let (short, long) = (set(&["310-26"]), set(&["310-260"]));
        let sides = Sides { sender: &long, receiver: &short };
        assert!(sides.allow_digits(Side::Sender, "310260123456789"));
        assert!(!sides.allow_digits(Side::Sender, "310261123456789"));
        assert!(sides.allow_digits(Side::Receiver, "310261123456789"));
    }

    #[test]
    fn sides_are_distinguished() {
        let (sender, receiver) = (set(&["001-01"]), set(&["999-70"]));
        let sides = Sides { sender: &sender, receiver: &receiver };
        let third = NetworkName::parse("208-93").unwrap();
        let own = NetworkName::parse("001-01").unwrap();
        assert!(sides.allow(Side::Sender, &own) && !sides.allow(Side::Receiver, &own));
        assert!(sides.allow(Side::Either, &own) && !sides.allow(Side::Either, &third));
        assert!(sides.allow(Side::Anyone, &third));
        assert!(sides.allow_digits(Side::Receiver, "999700000000001"));
        assert!(!sides.allow_digits(Side::Receiver, "001010000000001"));
        assert!(
            !sides.allow_digits(Side::Either, "99") && !sides.allow_digits(Side::Either, "9997é")
        );
    }

    #[test]
    fn a_name_has_both_codes() {
        for text in ["xyz093.mcc208", "mnc093.xyz208", "mnc093mmcc208"] {
            assert_eq!(all_in(text).count(), 0, "{text}");
        }
    }
}
