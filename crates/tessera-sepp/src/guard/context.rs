//! Whose message it is.

use http::request;

use super::{path, percent};
use crate::names::{Fqdn, PlmnSet};

/// The other end, as its certificate, its association and the configuration have it: never as it says itself.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The peer's configured name.
    pub peer: &'a Fqdn,
    /// The networks that it stands for: those of its association.
    pub plmns: &'a PlmnSet,
}

/// An extension of requests whose `3gpp-Sbi-Target-apiRoot` was a hidden name and is now the real one: it may be an
/// address, and needs no other look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevealedTarget;

/// What a response is judged by of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    pub(super) service: Service,
}

impl Asked {
    /// Of a request, before or after it was judged.
    pub fn of(parts: &request::Parts) -> Self {
        Self { service: Service::of(parts.uri.path()) }
    }

    /// The service, for logs and metrics: one of a few names, else `other`.
    pub fn service(&self) -> &'static str {
        self.service.name()
    }
}

/// The services that roaming has (TS 23.501 §4.2.4), by the first segment of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Service {
    Known(u8),
    /// What is no service of roaming.
    Other,
}

/// Their names. All others are `other` in metrics.
pub(crate) const SERVICES: [&str; 28] = [
    "nnrf-disc",
    "nnrf-nfm",
    "oauth2",
    "nausf-auth",
    "nausf-sorprotection",
    "nausf-upuprotection",
    "nudm-uecm",
    "nudm-sdm",
    "nudm-ueau",
    "nudm-ee",
    "nudm-pp",
    "nudm-mt",
    "namf-comm",
    "namf-evts",
    "namf-loc",
    "namf-mt",
    "nsmf-pdusession",
    "nsmf-event-exposure",
    "nnssf-nsselection",
    "npcf-ue-policy-control",
    "npcf-am-policy-control",
    "nchf-convergedcharging",
    "nsmsf-sms",
    "nnef-smservice",
    // Where functions have themselves called back (TS 29.501 §4.4.3 leaves it to them).
    "namf-callback",
    "nsmf-callback",
    "nudm-callback",
    "npcf-callback",
];

impl Service {
    pub(super) fn of(path: &str) -> Self {
        // As the server reads it: `nudm%2Dsdm` is `nudm-sdm`.
        let first = percent::decode(path::first_segment(path)).unwrap_or_default();
        let index = SERVICES.iter().position(|name| *name == first);
        index.map_or(Self::Other, |index| Self::Known(index as u8))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Known(index) => SERVICES.get(usize::from(index)).copied().unwrap_or("other"),
            Self::Other => "other",
        }
    }

    /// Whether the table of members has its names.
    pub(super) fn is_known(self) -> bool {
        matches!(self, Self::Known(_))
    }

    /// A number below [`COUNT`](Self::COUNT).
    pub(super) fn index(self) -> usize {
        match self {
            Self::Known(index) => usize::from(index),
            Self::Other => SERVICES.len(),
        }
    }

    pub(super) const COUNT: usize = SERVICES.len() + 1;

    /// Whether the one that asks serves the subscriber, and the one that is asked is the home.
    pub(super) fn is_asked_of_home(self) -> bool {
        let name = self.name();
        // Who is called back has asked before.
        !name.ends_with("-callback")
            && ["nudm-", "nausf-", "npcf-", "nchf-", "nnssf-", "nsmf-"]
                .iter()
                .any(|start| name.starts_with(start))
    }

    /// Whether it is about subscribers of the one that is asked alone.
    pub(super) fn is_about_own_subscribers(self) -> bool {
        ["nudm-", "nausf-"].iter().any(|start| self.name().starts_with(start))
    }

    /// Whether networks hand over subscribers of a third one to each other (TS 29.518 §5.2.2.2).
    pub(super) fn may_be_about_anyone(self) -> bool {
        self.name() == "namf-comm"
    }

    /// Whether it answers with the profiles of network functions that the peer has.
    pub(super) fn finds_profiles(self) -> bool {
        self.name() == "nnrf-disc"
    }

    /// Whether it answers with the profiles of network functions.
    pub(super) fn has_profiles(self) -> bool {
        self.name().starts_with("nnrf-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_and_logs_name_the_services_of_roaming_alone() {
        let service = |path: &str| Service::of(path).name();
        assert_eq!(service("/nudm-sdm/v2/x"), "nudm-sdm");
        assert_eq!(service("/nudm%2Dsdm/v2/x"), "nudm-sdm");
        assert_eq!(service("/anything/v1"), "other");
        let request = http::Request::get("/nausf-auth/v1/x").body(()).expect("a request");
        assert_eq!(Asked::of(&request.into_parts().0).service(), "nausf-auth");
    }
}
