//! Topology hiding (TS 33.501 §5.9.3.2): replaces addresses and names of local functions for a peer, and restores them.
//!
//! A host is replaced by a name that contains host and port, encrypted and authenticated for that peer. So the SEPP
//! stores nothing, every instance and a restarted one can decode it, and a peer can neither forge one nor use another
//! peer's.

mod addresses;
mod headers;
mod pseudonym;

use super::uri::{Host, HttpUri};
use crate::names::{Fqdn, NetworkDomain, is_within};

pub(super) use self::addresses::{Addresses, PUBLIC};
pub(super) use self::headers::{hide_request, hide_response, translate_places};
pub(super) use self::pseudonym::{Pseudonyms, UnknownPseudonym};

/// Translates the names in a message, for one peer.
#[derive(Clone, Copy)]
pub(super) struct Translation<'a> {
    pub(super) way: Way,
    pub(super) pseudonyms: &'a Pseudonyms,
    pub(super) peer: &'a Fqdn,
    /// The domains of the local networks.
    pub(super) own: &'a [NetworkDomain],
    /// Names that peers know anyway: this SEPP's, and the telescopic domain.
    pub(super) public: &'a [Fqdn],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Local names become hidden ones.
    Hide,
    /// Hidden ones become local names.
    Reveal,
}

impl Translation<'_> {
    /// Returns the replacement for host and port; `None` if they stay.
    pub(super) fn authority(&self, uri: &HttpUri<'_>) -> Result<Option<String>, UnknownPseudonym> {
        match (self.way, uri.host) {
            (Way::Reveal, Host::Name(name)) => self.revealed(name, uri.port),
            (Way::Reveal, Host::Address(_)) => Ok(None),
            (Way::Hide, Host::Name(name)) if self.is_open(name) => Ok(None),
            (Way::Hide, host) => self.pseudonyms.hide(self.peer, host, uri.port).map(Some),
        }
    }

    /// Returns the replacement for a bare domain name.
    pub(super) fn name(&self, name: &str) -> Result<Option<String>, UnknownPseudonym> {
        match self.way {
            Way::Reveal => self.revealed(name, None),
            Way::Hide if name.is_empty() || self.is_open(name) => Ok(None),
            Way::Hide => self.pseudonyms.hide(self.peer, Host::Name(name), None).map(Some),
        }
    }

    fn revealed(&self, name: &str, port: Option<u16>) -> Result<Option<String>, UnknownPseudonym> {
        if !self.pseudonyms.is_one(name) {
            return Ok(None);
        }
        self.pseudonyms.reveal(self.peer, name, port).map(Some)
    }

    /// Returns whether peers get a hidden name for this host, and so never its clear one.
    pub(super) fn hides(&self, uri: &HttpUri<'_>) -> bool {
        matches!(uri.host, Host::Name(name) if !self.is_open(name))
    }

    /// Returns whether a name reveals nothing: it is another network's, public, hidden already, or the well-known one
    /// of an NRF or NSSF (TS 23.003 §28.3.2.3).
    fn is_open(&self, name: &str) -> bool {
        let Some(domain) = NetworkDomain::of_name(name) else { return false };
        if !self.own.contains(&domain) {
            return true;
        }
        let is_public = |public: &Fqdn| is_within(name, public.as_str());
        let first = name.split('.').next().unwrap_or_default();
        let labels = name.trim_end_matches('.').split('.').count();
        let is_well_known = labels == 6
            && ["nrf", "nssf", "sepp"].iter().any(|known| first.eq_ignore_ascii_case(known));
        is_well_known || self.public.iter().any(is_public) || self.pseudonyms.is_one(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::PlmnId;

    #[test]
    fn names_below_a_public_one_are_open_and_those_that_only_end_like_it_are_hidden() {
        let own = NetworkDomain::from("999-70".parse::<PlmnId>().unwrap());
        let peer: Fqdn = "sepp.peer.example".parse().unwrap();
        let public = [format!("border1.{own}").parse::<Fqdn>().unwrap()];
        let pseudonyms = Pseudonyms::new(b"a secret of both", &own).unwrap();
        let hide = Translation {
            way: Way::Hide,
            pseudonyms: &pseudonyms,
            peer: &peer,
            own: &[own],
            public: &public,
        };
        for open in [format!("border1.{own}"), format!("x.BORDER1.{own}."), format!("nrf.{own}")] {
            assert_eq!(hide.name(&open), Ok(None), "{open}");
        }
        for inner in ["inner-border1", "smf1", "nrf.dc3"].map(|name| format!("{name}.{own}")) {
            let hidden = hide.name(&inner).unwrap().unwrap();
            assert!(pseudonyms.is_one(&hidden), "{inner}");
        }
    }
}
