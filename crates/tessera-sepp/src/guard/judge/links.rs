//! The services to which a peer's links lead. An answer is judged by the service in the path that was asked; the peer
//! chose that path, by a link in what it sent before.

use super::{Judge, Scope};
use crate::guard::context::Service;
use crate::guard::fields::Text;
use crate::guard::network::Side;
use crate::guard::path;

/// Services, and the members that lead to them from any other one.
const TO_SERVICES: [(&[&str], &[&str]); 7] = [
    (
        // open5gs has the path of `nnrf-nfm` in `nrfId`, where TS 29.531 has that of `nnrf-disc`.
        &["nnrf-disc", "nnrf-nfm"],
        &[
            "hnrfUri",
            "nfInstanceUri",
            "nrfAmfSet",
            "nrfAmfSetNfMgtUri",
            "nrfDiscApiUri",
            "nrfDiscoveryUri",
            "nrfId",
            "nrfManagementUri",
            "nrfNfMgtUri",
            "nrfUri",
        ],
    ),
    (&["oauth2"], &["hnrfAccessTokenUri", "nrfAccessTokenUri", "nrfAmfSetAccessTokenUri"]),
    (
        &["nsmf-pdusession"],
        &[
            "additionalHsmfUri",
            "additionalSmfUri",
            "altAnchorSmfUri",
            "hSmfUri",
            "hsmfPduSessionUri",
            "newSmfPduSessionUri",
            "oldPduSessionRef",
            "oldSmContextRef",
            "pduSessionRef",
            "smContextRef",
            "smfUri",
        ],
    ),
    (&["namf-comm"], &["n1n2MsgDataUri"]),
    (&["npcf-am-policy-control"], &["pcfAmPolicyUri"]),
    (&["npcf-ue-policy-control"], &["pcfUePolicyUri"]),
    (
        &["nchf-convergedcharging"],
        &["primaryChfAddress", "remoteCHFResource", "secondaryChfAddress"],
    ),
];

/// Roots of APIs, to which a function appends a path.
const ROOTS: [&str; 5] =
    ["interPlmnApiRoot", "intraPlmnApiRoot", "scpApiRoot", "targetScp", "targetSepp"];

impl Judge<'_> {
    /// Returns to whose function a URI may lead.
    pub(super) fn leads_to_side(&self, scope: Scope) -> Side {
        match self.is_of_the_sender(scope) {
            true => Side::Sender,
            false => self.kind.uri(scope.text),
        }
    }

    /// Returns whether an answer repeats here what a local function sent itself: its callback URI.
    pub(super) fn may_come_back(&self, scope: Scope) -> bool {
        scope.text == Text::Callback && !self.kind.is_request && !self.is_of_the_sender(scope)
    }

    /// Returns whether a URI is of a function of the sender's: its root, or a callback URI in the profile that an NRF
    /// has of it.
    fn is_of_the_sender(&self, scope: Scope) -> bool {
        let service = self.kind.service;
        let is_found = !self.kind.is_request
            && (service.finds_profiles()
                || scope.name == "callbackUri" && (service.has_profiles() || !service.is_known()));
        ROOTS.contains(&scope.name) || scope.text == Text::Callback && is_found
    }

    /// Returns whether a URI in a member leads to the service for which a function follows it.
    pub(super) fn keeps_to_its_service(&self, name: &str, text: Text, path: &str) -> bool {
        if !self.is_incoming {
            return true;
        }
        let asked = self.kind.service;
        if ROOTS.contains(&name) {
            return leads_to(&[], path) && is_root(path);
        }
        if let Some((services, _)) = TO_SERVICES.iter().find(|(_, names)| names.contains(&name)) {
            return leads_to(services, path);
        }
        match text {
            _ if name == "href" => self.keeps_service(path),
            Text::Uri | Text::UriOrHost | Text::Reference if !self.kind.is_request => {
                asked.is_callback() || leads_to(&[asked.name()], path)
            }
            _ => true,
        }
    }

    /// Returns whether a function that goes on to a path in an answer asks for the same service.
    pub(super) fn keeps_service(&self, path: &str) -> bool {
        let is_free = self.kind.is_request || self.kind.service.is_callback();
        !self.is_incoming || is_free || Service::of(path) == self.kind.service
    }
}

/// Returns whether a path is of one of these services, or of no known one: then the answer is judged strictly.
pub(super) fn leads_to(services: &[&str], path: &str) -> bool {
    Service::all_in(path).all(|service| services.contains(&service.name()))
}

/// Returns whether a function can append a path: a query would take it up.
fn is_root(path: &str) -> bool {
    let path = path.strip_suffix('/').unwrap_or(path);
    path.is_empty() || path::is_prefix(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::members::Key;

    #[test]
    fn every_link_is_a_member_that_holds_a_uri() {
        let names = TO_SERVICES.iter().flat_map(|(_, names)| names.iter()).chain(&ROOTS);
        for name in names {
            let Key::Known(member) = Key::of(name) else { panic!("{name}") };
            assert_eq!(member.name, *name, "it has another spelling");
            let is_uri = matches!(member.text, Text::Uri | Text::UriOrHost | Text::Callback);
            assert!(is_uri, "{name} is {:?}", member.text);
        }
    }

    #[test]
    fn every_link_leads_to_a_service_of_roaming() {
        for service in TO_SERVICES.iter().flat_map(|(services, _)| services.iter()) {
            assert_eq!(Service::of(&format!("/{service}/v1")).name(), *service);
        }
    }
}
