//! Which network a member, parameter or claim may name. `members.txt` has everything else that members hold.

use http::HeaderName;

use super::context::Service;
use super::network::Side;

/// The header that carries the destination of a request (TS 29.500 §5.2.3.2.4).
pub(super) const TARGET: &str = "3gpp-sbi-target-apiroot";
/// Its name in a map of headers.
pub(super) const TARGET_API_ROOT: HeaderName = HeaderName::from_static(TARGET);

/// Whose network a member names; often different in requests and responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedParty {
    Sender,
    Receiver,
    /// The network that serves the subscriber: the sender's in requests to services of a home network, either's in
    /// other requests, any in responses.
    Serving,
    /// In an NRF's answer: the network of the discovered function, so the sender's. Any elsewhere.
    Found,
    /// The target of an NRF query: the receiver's. The sender's elsewhere.
    Sought,
    Either,
    Anyone,
    /// As the enclosing member; if that isn't known, as [`Serving`](Self::Serving).
    Inherited,
}

/// What the strings in a member's value are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    /// Anything: subscribers, URIs and network names are recognised by their form.
    Plain,
    /// Only PLMN IDs.
    Plmn,
    /// An identifier with the codes of the network that gave it: `00101-abcdef`, `001-01-abcdef`, and
    /// `0a1b2c3d-001-01-ab` of a group (TS 29.571 §5.3.2, §5.6.2).
    Coded,
    /// An identifier of that form in one API, and another text in others.
    MaybeCoded,
    /// The domain name of a network function, subject to topology hiding.
    Name,
    /// Any other domain name.
    Host,
    /// A SUPI or SUCI.
    Subscriber,
    /// The digits of an IMSI.
    Imsi,
    /// A callback URI.
    Callback,
    /// Any other URI that its reader follows.
    Uri,
    /// A URI that its reader follows, or a domain name of a network function.
    UriOrHost,
    /// A reference that its reader compares, and follows if it is a URI.
    Reference,
    /// Operations of a JSON Patch, or changes of a resource (TS 29.571 §5.2.4).
    Change,
    /// An access token.
    Token,
    /// A path that precedes an API's.
    Path,
    /// A segment of an API's path.
    Segment,
    /// A resource binding, as in a header (TS 29.500 §5.2.3.2.6).
    Binding,
}

impl Text {
    /// Returns whether the value consists only of strings, and of objects and lists of them.
    pub(super) fn is_string(self) -> bool {
        !matches!(self, Self::Plain | Self::MaybeCoded | Self::Change | Self::Reference)
    }
}

#[derive(Debug)]
pub(super) struct Field {
    /// For security events.
    pub(super) name: &'static str,
    /// In requests, and in responses.
    pub(super) whose: [NamedParty; 2],
    pub(super) text: Text,
}

/// Members that aren't listed inherit from the enclosing one. Outside of all listed members, a network may be either
/// end's in requests, and any in responses.
pub(super) static FIELDS: &[Field] = {
    use NamedParty::{Anyone, Either, Found, Inherited, Receiver, Sender, Serving, Sought};
    use Text::{Name, Plain, Plmn, Token, Uri};

    const fn field(
        name: &'static str,
        request: NamedParty,
        response: NamedParty,
        text: Text,
    ) -> Field {
        Field { name, whose: [request, response], text }
    }
    &[
        // TS 29.509, 29.503: the serving network.
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
        // TS 29.510: the requester and the target.
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
        // A profile's sets; a request may name those that it seeks.
        field("nfSetIdList", Either, Found, Plain),
        field("nfServiceSetIdList", Either, Found, Plain),
        // TS 29.518: an AMF. NRF queries ask for the AMF of a GUAMI.
        field("guami", Sought, Found, Plain),
        field("guamiList", Sought, Found, Plain),
        field("newGuami", Anyone, Anyone, Plain),
        field("oldGuami", Anyone, Anyone, Plain),
        // The subscriber's location, including cells of a shared radio network.
        field("tai", Either, Anyone, Plain),
        field("taiList", Either, Anyone, Plain),
        field("ncgi", Either, Anyone, Plain),
        field("ecgi", Either, Anyone, Plain),
        field("globalRanNodeId", Either, Anyone, Plain),
        field("lastVisitedTai", Anyone, Anyone, Plain),
        // The subscriber's home network.
        field("3GPPIMSIMCCMNC", Either, Anyone, Plmn),
        field("homePlmnId", Either, Anyone, Plmn),
        field("homePlmn", Either, Anyone, Plmn),
        field("hplmnId", Either, Anyone, Plmn),
        field("hplmn", Either, Anyone, Plmn),
        // Lists of networks in subscriptions, policies and profiles, which concern third networks.
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
        // Names of gateways, servers and peers of other protocols; no function contacts them over HTTP.
        field("pgwFqdn", Either, Anyone, Plain),
        field("pgwFqdnList", Either, Anyone, Plain),
        field("ecsFqdnList", Either, Anyone, Plain),
        field("fqdnList", Either, Anyone, Plain),
        // The serving network in other APIs.
        field("newServingPlmn", Anyone, Anyone, Plmn),
        field("selectedPlmnId", Either, Anyone, Plmn),
        field("servingCNPlmnId", Serving, Anyone, Plmn),
        field("servingNetworkId", Serving, Anyone, Plmn),
        field("smContextSmfPlmnId", Either, Anyone, Plmn),
        field("requestedPLMNIdentifier", Either, Anyone, Plmn),
        // The subscribing function at an NRF (TS 29.510 §6.1.6.2.16), and the charging function (TS 32.291).
        field("reqPlmnList", Sender, Either, Plmn),
        field("reqPerPlmnSnssais", Sender, Either, Plmn),
        field("reqSnpnList", Sender, Either, Plmn),
        field("requesterPlmnSpecificSnssaiList", Sender, Either, Plmn),
        field("perPlmnSnssaiList", Sender, Found, Plmn),
        field("nFPLMNID", Sender, Anyone, Plmn),
        field("reqNfFqdn", Sender, Either, Name),
        field("requesterNfInstanceFqdn", Sender, Either, Name),
        field("sNPNID", Either, Anyone, Plmn),
        // Third networks: in subscriptions, policies and ranges, and of devices near the subscriber's.
        field("adjacentPlmns", Anyone, Anyone, Plmn),
        field("announcingPlmnID", Anyone, Anyone, Plmn),
        field("announcingUeHplmnIdentifier", Anyone, Anyone, Plmn),
        field("announcingUeVplmnIdentifier", Anyone, Anyone, Plmn),
        field("chfSupportedPlmn", Anyone, Anyone, Plmn),
        field("disasterCondPlmnIds", Anyone, Anyone, Plmn),
        field("disasterPlmn", Anyone, Anyone, Plmn),
        field("discovereeUeHplmnIdentifier", Anyone, Anyone, Plmn),
        field("discovereeUeVplmnIdentifier", Anyone, Anyone, Plmn),
        field("discovererUeHplmnIdentifier", Anyone, Anyone, Plmn),
        field("discovererUeVplmnIdentifier", Anyone, Anyone, Plmn),
        field("mdtAllowedPlmnIdList", Anyone, Anyone, Plmn),
        field("monitoredPlmnIdentifier", Anyone, Anyone, Plmn),
        field("monitoringUeHplmnIdentifier", Anyone, Anyone, Plmn),
        field("monitoringUeVplmnIdentifier", Anyone, Anyone, Plmn),
        field("oauth2NotRequiredPlmnIdList", Anyone, Anyone, Plmn),
        field("oauth2RequiredPlmnIdList", Anyone, Anyone, Plmn),
        field("plmnRangeList", Anyone, Anyone, Plain),
        field("plmnSpecificSnssaiList", Anyone, Anyone, Plmn),
        field("plmns", Anyone, Anyone, Plmn),
        field("rangingSlPosPlmn", Anyone, Anyone, Plmn),
        field("remotePlmnId", Anyone, Anyone, Plmn),
        field("remotePlmnIdRoaming", Anyone, Anyone, Plmn),
        field("remotePlmnList", Anyone, Anyone, Plmn),
        field("remotePlmnRangeList", Anyone, Anyone, Plain),
        field("remoteSnpnId", Anyone, Anyone, Plmn),
        field("remoteSnpnList", Anyone, Anyone, Plmn),
        field("servingPlmns", Anyone, Anyone, Plmn),
        field("snpns", Anyone, Anyone, Plmn),
        field("supportServingPlmn", Anyone, Anyone, Plmn),
        field("suspendedInsidePlmnList", Anyone, Anyone, Plmn),
        field("suspendedOutsidePlmnList", Anyone, Anyone, Plmn),
        field("uePlmnRangeList", Anyone, Anyone, Plain),
    ]
};

/// The properties of a message on which the meaning of names depends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) is_request: bool,
    pub(super) service: Service,
    /// Whether it is a query to an NRF.
    pub(super) is_query: bool,
}

impl Kind {
    /// Returns who may be named in a place about which nothing is known.
    pub(super) fn anywhere(self) -> Side {
        if self.is_request { Side::Either } else { Side::Anyone }
    }

    /// Returns who may be named by a member with this table entry, given the enclosing one.
    pub(super) fn side(self, whose: Option<[NamedParty; 2]>, around: Option<Side>) -> Option<Side> {
        let serving = || match (self.is_request, self.service.is_asked_of_home()) {
            (true, true) => Side::Sender,
            (true, false) => Side::Either,
            (false, _) => Side::Anyone,
        };
        let Some(whose) = whose else { return around };
        Some(match whose[usize::from(!self.is_request)] {
            NamedParty::Sender => Side::Sender,
            NamedParty::Receiver => Side::Receiver,
            NamedParty::Either => Side::Either,
            NamedParty::Anyone => Side::Anyone,
            NamedParty::Serving => serving(),
            NamedParty::Inherited => around.unwrap_or_else(serving),
            // By a path that the peer chose, possibly to answer with another network's functions.
            NamedParty::Found if self.service.has_profiles() || !self.service.is_known() => {
                Side::Sender
            }
            NamedParty::Found => around.unwrap_or(Side::Anyone),
            NamedParty::Sought if self.is_query && self.service.has_profiles() => Side::Receiver,
            NamedParty::Sought => Side::Sender,
        })
    }

    /// Returns whose functions a URI may lead to.
    pub(super) fn uri(self, text: Text) -> Side {
        match (self.is_request, text) {
            (true, Text::Callback) => Side::Sender,
            // An answer has URIs of the responder. A subscriber that moves between networks brings those of both
            // (TS 29.518 §5.2.2.2).
            (false, Text::Uri | Text::UriOrHost | Text::Reference)
                if !self.service.may_be_about_anyone() =>
            {
                Side::Sender
            }
            _ => Side::Either,
        }
    }

    /// Returns who may be the subscriber's home network.
    pub(super) fn home(self) -> Side {
        match self.is_request {
            true if self.service.may_be_about_anyone() => Side::Anyone,
            true if self.service.is_about_own_subscribers() => Side::Receiver,
            // A home network reports about its subscribers to the functions that serve them (TS 29.503 §5.2.2.5,
            // §5.3.2.3): a report about others would detach them or change their subscription.
            true if self.service.is_callback() => Side::Sender,
            true => Side::Either,
            // The home network reports whose subscriber it authenticated (TS 33.501 §6.1.3.2).
            false if self.service.is_about_own_subscribers() => Side::Sender,
            // The peer chose the path, possibly to escape a stricter rule.
            false if !self.service.is_known() => Side::Either,
            false => Side::Anyone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::members::Key;
    use super::*;

    #[test]
    fn every_name_occurs_once() {
        for field in FIELDS {
            let Key::Known(found) = Key::of(field.name) else { panic!("{}", field.name) };
            assert_eq!(found.name, field.name, "it stands there twice");
        }
    }
}
