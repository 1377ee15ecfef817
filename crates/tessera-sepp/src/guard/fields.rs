//! Which members, parameters and claims name a network, and whose it may be.
//!
//! Names are compared without case, `-` and `_`: `requesterPlmnList` of JSON is `requester-plmn-list` of a query, and
//! some network functions read JSON without case.

use std::sync::LazyLock;

use super::context::Service;
use super::network::Side;

/// Whose network a member names: in a request and in a response it is another's often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    Sender,
    Receiver,
    /// The network that serves the subscriber: the sender's in requests to a home network's services, else one of
    /// both, and anyone's in responses.
    Serving,
    /// In an NRF's answer: the network of the function that is found, so the sender's. Else anyone's.
    Found,
    /// What an NRF is asked for: the receiver's. Else the sender's.
    Sought,
    Either,
    Anyone,
    /// As what it stands in; if that isn't known, as [`Serving`](Self::Serving).
    Inherited,
}

/// What strings in a member's value are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    /// Anything: subscribers, URIs and names of networks are recognised by their look.
    Plain,
    /// PLMN IDs and nothing else.
    Plmn,
    /// A domain name.
    Name,
    /// A URI to call back.
    Callback,
    /// A URI at either end.
    Uri,
    /// An access token.
    Token,
}

#[derive(Debug)]
pub(super) struct Field {
    /// For security events.
    pub(super) name: &'static str,
    /// In requests, and in responses.
    whose: [Whose; 2],
    pub(super) text: Text,
}

/// The table. Members that aren't in it have what is around them; outside of all of them a network may be one of both
/// ends' in requests, and anyone's in responses.
static FIELDS: &[Field] = {
    use Text::{Callback, Name, Plain, Plmn, Token, Uri};
    use Whose::{Anyone, Either, Found, Inherited, Receiver, Sender, Serving, Sought};

    const fn field(name: &'static str, request: Whose, response: Whose, text: Text) -> Field {
        Field { name, whose: [request, response], text }
    }
    &[
        // TS 29.509, 29.503: who serves the subscriber.
        field("servingNetworkName", Serving, Either, Plmn),
        field("servingNetwork", Serving, Anyone, Plmn),
        field("servingPlmn", Serving, Anyone, Plmn),
        field("servingPlmnId", Serving, Anyone, Plmn),
        field("visitedPlmn", Serving, Anyone, Plmn),
        field("visitedPlmnId", Serving, Anyone, Plmn),
        field("vplmnId", Serving, Anyone, Plmn),
        field("vplmn", Serving, Anyone, Plmn),
        field("plmnId", Inherited, Inherited, Plmn),
        field("plmn", Inherited, Inherited, Plmn),
        field("plmnIdNid", Inherited, Inherited, Plmn),
        // TS 29.510: who asks, and whom.
        field("requesterPlmn", Sender, Either, Plmn),
        field("requesterPlmnId", Sender, Either, Plmn),
        field("requesterPlmnList", Sender, Either, Plmn),
        field("requesterSnpnList", Sender, Either, Plmn),
        field("targetPlmn", Receiver, Either, Plmn),
        field("targetPlmnId", Receiver, Either, Plmn),
        field("targetPlmnList", Receiver, Either, Plmn),
        field("targetSnpn", Receiver, Either, Plmn),
        field("targetSnpnList", Receiver, Either, Plmn),
        field("consumerPlmnId", Sender, Receiver, Plmn),
        field("consumerSnpnId", Sender, Receiver, Plmn),
        field("producerPlmnId", Receiver, Sender, Plmn),
        field("producerSnpnId", Receiver, Sender, Plmn),
        field("plmnList", Sender, Found, Plmn),
        field("snpnList", Sender, Found, Plmn),
        field("accessToken", Sender, Sender, Token),
        // TS 29.518: an AMF. An NRF is asked for that of a GUAMI.
        field("guami", Sought, Found, Plain),
        field("guamiList", Sought, Found, Plain),
        field("newGuami", Anyone, Anyone, Plain),
        field("oldGuami", Anyone, Anyone, Plain),
        // Where a subscriber is, with cells of a shared radio network.
        field("tai", Either, Anyone, Plain),
        field("taiList", Either, Anyone, Plain),
        field("ncgi", Either, Anyone, Plain),
        field("ecgi", Either, Anyone, Plain),
        field("globalRanNodeId", Either, Anyone, Plain),
        field("lastVisitedTai", Anyone, Anyone, Plain),
        // Whose subscriber it is.
        field("homePlmnId", Either, Anyone, Plmn),
        field("homePlmn", Either, Anyone, Plmn),
        field("hplmnId", Either, Anyone, Plmn),
        field("hplmn", Either, Anyone, Plmn),
        // Lists of networks in subscriptions, policies and profiles, which are about third ones.
        field("allowedPlmns", Anyone, Anyone, Plain),
        field("allowedSnpns", Anyone, Anyone, Plain),
        field("equivalentPlmnList", Anyone, Anyone, Plain),
        field("equivalentPlmns", Anyone, Anyone, Plain),
        field("sorInfo", Anyone, Anyone, Plain),
        field("steeringContainer", Anyone, Anyone, Plain),
        field("forbiddenPlmns", Anyone, Anyone, Plain),
        // Names of network functions.
        field("fqdn", Sender, Found, Name),
        field("interPlmnFqdn", Sender, Found, Name),
        field("requesterFqdn", Sender, Either, Name),
        field("targetNfFqdn", Receiver, Either, Name),
        field("hnrfUri", Receiver, Either, Uri),
        // URIs of the other end, in requests about sessions there (TS 29.502).
        field("hsmfPduSessionUri", Either, Anyone, Uri),
        field("ismfPduSessionUri", Either, Anyone, Uri),
        field("smContextRef", Either, Anyone, Uri),
        field("resourceUri", Either, Anyone, Uri),
        field("monitoredResourceUri", Either, Anyone, Uri),
        field("monitoredResourceUris", Either, Anyone, Uri),
        field("pcfUri", Either, Anyone, Uri),
        field("nfStatusNotificationUri", Sender, Anyone, Callback),
        field("callbackReference", Sender, Anyone, Callback),
        field("deregCallbackUri", Sender, Anyone, Callback),
        field("iss", Anyone, Anyone, Plain),
        field("aud", Anyone, Anyone, Plain),
    ]
};

/// Of names of JSON: what a name means.
#[derive(Debug, Clone, Copy)]
pub(super) enum Key {
    Mcc,
    Mnc,
    /// `encBlockIndex`
    Block,
    Known(&'static Field),
    /// A URI to call back, by its end: `amfStatusUri`.
    Callback,
    /// Addresses of a network function.
    Addresses,
    Other,
}

/// The longest name that is known.
const LONGEST: usize = 24;

static BY_LENGTH: LazyLock<[Vec<(String, &'static Field)>; LONGEST + 1]> = LazyLock::new(|| {
    let mut index = [const { Vec::new() }; LONGEST + 1];
    for field in FIELDS {
        let name = field.name.to_ascii_lowercase();
        if let Some(of_length) = index.get_mut(name.len()) {
            of_length.push((name, field));
        }
    }
    index
});

impl Key {
    pub(super) fn of(name: &str) -> Self {
        let mut buffer = [0; LONGEST];
        let mut len = 0;
        for letter in name.chars().filter(|letter| !matches!(letter, '-' | '_')) {
            let Some(place) = buffer.get_mut(len) else { return Self::by_end(name.as_bytes()) };
            *place = match letter {
                // Whoever compares by Unicode's simple case folding, as Go's encoding/json does, has them as letters.
                '\u{17f}' => b's',
                '\u{212a}' => b'k',
                letter => u8::try_from(letter).map_or(0, |letter| letter.to_ascii_lowercase()),
            };
            len += 1;
        }
        let plain = &buffer[..len];
        match plain {
            b"mcc" => return Self::Mcc,
            b"mnc" => return Self::Mnc,
            b"encblockindex" => return Self::Block,
            b"ipv4addresses" | b"ipv6addresses" | b"ipendpoints" => return Self::Addresses,
            _ => {}
        }
        let of_length = BY_LENGTH.get(len).map_or(&[][..], Vec::as_slice);
        let found = of_length.iter().find(|(name, _)| name.as_bytes() == plain);
        found.map_or_else(|| Self::by_end(plain), |(_, field)| Self::Known(field))
    }

    fn by_end(name: &[u8]) -> Self {
        // Most names end in another letter.
        if !matches!(name.last(), Some(b'i' | b'I' | b'l' | b'L' | b'k' | b'K' | b's' | b'S')) {
            return Self::Other;
        }
        let ends = |end: &[u8]| {
            name.len().checked_sub(end.len()).is_some_and(|at| name[at..].eq_ignore_ascii_case(end))
        };
        let is_callback = ends(b"uri") || ends(b"url") || ends(b"callback") || ends(b"notifuris");
        if is_callback { Self::Callback } else { Self::Other }
    }
}

/// What a message is, as far as names depend on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) is_request: bool,
    pub(super) service: Service,
    /// Whether it is a query, where an NRF is asked for something.
    pub(super) is_query: bool,
}

impl Kind {
    /// Who may be named where nothing is known of the place.
    pub(super) fn anywhere(self) -> Side {
        if self.is_request { Side::Either } else { Side::Anyone }
    }

    /// Who may be named by this member, below what it stands in.
    pub(super) fn side(self, field: &Field, around: Option<Side>) -> Side {
        let serving = || match (self.is_request, self.service.is_asked_of_home()) {
            (true, true) => Side::Sender,
            (true, false) => Side::Either,
            (false, _) => Side::Anyone,
        };
        match field.whose[usize::from(!self.is_request)] {
            Whose::Sender => Side::Sender,
            Whose::Receiver => Side::Receiver,
            Whose::Either => Side::Either,
            Whose::Anyone => Side::Anyone,
            Whose::Serving => serving(),
            Whose::Inherited => around.unwrap_or_else(serving),
            Whose::Found if self.service.has_profiles() => Side::Sender,
            Whose::Found => around.unwrap_or(Side::Anyone),
            Whose::Sought if self.is_query && self.service.has_profiles() => Side::Receiver,
            Whose::Sought => Side::Sender,
        }
    }

    /// Who may be the home of a subscriber.
    pub(super) fn home(self) -> Side {
        match self.is_request {
            true if self.service.may_be_about_anyone() => Side::Anyone,
            true if self.service.is_about_own_subscribers() => Side::Receiver,
            true => Side::Either,
            false => Side::Anyone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_without_case_and_hyphens() {
        for name in ["requesterPlmnList", "requester-plmn-list", "REQUESTER_PLMN_LIST"] {
            let Key::Known(field) = Key::of(name) else { panic!("{name}") };
            assert_eq!(field.name, "requesterPlmnList");
        }
        assert!(matches!(Key::of("MCC"), Key::Mcc) && matches!(Key::of("mn-c"), Key::Mnc));
        for name in ["\u{17f}ervingNetworkName", "callbac\u{212a}Reference", "encBloc\u{212a}Index"]
        {
            assert!(!matches!(Key::of(name), Key::Other), "{name}");
        }
        assert!(matches!(Key::of("m\u{e9}c"), Key::Other));
        assert!(matches!(Key::of("n2NotifyUri"), Key::Callback));
        assert!(matches!(Key::of(&format!("{}Uri", "x".repeat(100))), Key::Callback));
        assert!(matches!(Key::of("requesterPlmnLists"), Key::Other));
    }

    #[test]
    fn every_name_of_the_table_is_found_and_stands_there_once() {
        for field in FIELDS {
            let Key::Known(found) = Key::of(field.name) else { panic!("{}", field.name) };
            assert!(std::ptr::eq(found, field), "{} stands there twice", field.name);
        }
    }
}
