//! The sender of a message, and the services that messages belong to.

use http::request;

use super::percent;
use crate::names::{Fqdn, PlmnSet, SERVICES};

/// The peer as its certificate, its association and the configuration identify it, never by its own claims.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The peer's configured name.
    pub peer: &'a Fqdn,
    /// The networks that it represents: those of its association.
    pub plmns: &'a PlmnSet,
}

/// A request extension: `3gpp-Sbi-Target-apiRoot` was a hidden name and is now the real one. It may be an address and
/// needs no further check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevealedTarget;

/// The properties of a request by which its response is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestSummary {
    pub(super) service: Service,
}

impl RequestSummary {
    /// Reads them from a request, before or after it was judged.
    pub fn of(parts: &request::Parts) -> Self {
        Self { service: Service::of(parts.uri.path()) }
    }

    /// Returns the service for logs and metrics: a known name, or `other`.
    pub fn service(&self) -> &'static str {
        self.service.name()
    }
}

/// The services of roaming (TS 23.501 §4.2.4), by the first segment of the path that names one: a prefix may precede it
/// (TS 29.501 §4.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Service {
    Known(u8),
    /// Not a service of roaming.
    Other,
}

impl Service {
    pub(super) fn of(path: &str) -> Self {
        Self::all_in(path).next().unwrap_or(Self::Other)
    }

    /// Returns the service that the first segment names. `apis` is checked against it: a service named further along
    /// the path doesn't choose the rules.
    pub(super) fn at_start(path: &str) -> Self {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let first = path.trim_start_matches('/').split('/').next();
        first.and_then(Self::of_segment).unwrap_or(Self::Other)
    }

    /// Returns the known services that segments of the path name.
    pub(super) fn all_in(path: &str) -> impl Iterator<Item = Self> + '_ {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        path.split('/').skip(1).filter_map(Self::of_segment)
    }

    fn of_segment(segment: &str) -> Option<Self> {
        // The name of every service but `oauth2` begins with `n`, which may be encoded.
        if !matches!(segment.as_bytes().first(), Some(b'n' | b'o' | b'%')) {
            return None;
        }
        // Decoded as the server does: `nudm%2Dsdm` is `nudm-sdm`.
        let segment = percent::decode(segment)?;
        let index = SERVICES.iter().position(|name| *name == segment)?;
        Some(Self::Known(index as u8))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Known(index) => SERVICES.get(usize::from(index)).copied().unwrap_or("other"),
            Self::Other => "other",
        }
    }

    /// Returns whether the table of members covers it.
    pub(super) fn is_known(self) -> bool {
        matches!(self, Self::Known(_))
    }

    /// Returns a number below [`COUNT`](Self::COUNT).
    pub(super) fn index(self) -> usize {
        match self {
            Self::Known(index) => usize::from(index),
            Self::Other => SERVICES.len(),
        }
    }

    pub(super) const COUNT: usize = SERVICES.len() + 1;

    /// Returns whether the requester serves the subscriber, and the responder is the home network.
    pub(super) fn is_asked_of_home(self) -> bool {
        let name = self.name();
        // The receiver of a callback was the requester before.
        !self.is_callback()
            && ["nudm-", "nausf-", "npcf-", "nchf-", "nnssf-", "nsmf-"]
                .iter()
                .any(|start| name.starts_with(start))
    }

    /// Returns whether it concerns only subscribers of the responder.
    pub(super) fn is_about_own_subscribers(self) -> bool {
        !self.is_callback()
            && ["nudm-", "nausf-"].iter().any(|start| self.name().starts_with(start))
    }

    pub(super) fn is_callback(self) -> bool {
        self.name().ends_with("-callback")
    }

    /// Returns whether networks hand over a third network's subscribers to each other (TS 29.518 §5.2.2.2).
    pub(super) fn may_be_about_anyone(self) -> bool {
        self.name() == "namf-comm"
    }

    /// Returns whether it answers with profiles of the peer's network functions.
    pub(super) fn finds_profiles(self) -> bool {
        self.name() == "nnrf-disc"
    }

    /// Returns whether it answers with profiles of network functions.
    pub(super) fn has_profiles(self) -> bool {
        self.name().starts_with("nnrf-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_service_is_found() {
        for (index, name) in SERVICES.iter().enumerate() {
            assert_eq!(Service::of(&format!("/x/{name}/v1")), Service::Known(index as u8));
        }
    }

    #[test]
    fn metrics_and_logs_name_the_services_of_roaming_alone() {
        let service = |path: &str| Service::of(path).name();
        assert_eq!(service("/nudm-sdm/v2/x"), "nudm-sdm");
        assert_eq!(service("/nudm%2Dsdm/v2/x"), "nudm-sdm");
        assert_eq!(service("/anything/v1"), "other");
        let request = http::Request::get("/nausf-auth/v1/x").body(()).expect("a request");
        assert_eq!(RequestSummary::of(&request.into_parts().0).service(), "nausf-auth");
    }
}
