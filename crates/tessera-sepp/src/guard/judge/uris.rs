//! URIs, references and names that a function may follow.

use std::borrow::Cow;
use std::net::IpAddr;

use super::{Judge, Scope};
use crate::config::{ApiRule, TargetPattern};
use crate::guard::fields::Text;
use crate::guard::identity::Identity;
use crate::guard::network::{NetworkName, Side, all_in};
use crate::guard::uri::{self, Host, HttpUri};
use crate::guard::{Refusal, Rule, Way, path, percent};
use crate::names::{Fqdn, is_within};

impl Judge<'_> {
    /// Judges a URI: a callback URI belongs to the sender; any URI that a function may follow leads to either end, not
    /// to an internal address or a third network.
    pub(super) fn uri(
        &mut self,
        scope: Scope,
        text: &str,
        uri: HttpUri<'_>,
    ) -> Result<Option<String>, Refusal> {
        self.segments(scope, uri.rest)?;
        let side = self.leads_to_side(scope);
        if !self.keeps_to_its_service(scope.name, scope.text, uri.rest) {
            return self.names_another(Rule::CallbackUri, scope, side, text).map(|()| None);
        }
        if let Some(translation) = self.translation {
            match translation.authority(&uri) {
                // It belongs to a local function, like a clear name of the local network: a peer may not make another
                // one call it back.
                Ok(Some(_))
                    if self.is_incoming && side == Side::Sender && !self.may_come_back(scope) =>
                {
                    self.names_another(Rule::CallbackUri, scope, side, text)?;
                    return Ok(None);
                }
                Ok(Some(_)) if self.is_followed(scope, uri.rest) && !self.may_ask(uri.rest) => {
                    return self.names_another(Rule::CallbackUri, scope, side, text).map(|()| None);
                }
                // A function that quotes the text to the peer would show what the name stands for.
                Ok(Some(_))
                    if self.is_incoming && matches!(scope.text, Text::Plain | Text::MaybeCoded) =>
                {
                    return Ok(None);
                }
                Ok(Some(authority)) => {
                    return Ok(Some(format!("{}{authority}{}", uri.scheme, uri.rest)));
                }
                Ok(None)
                    if self.is_incoming && self.may_come_back(scope) && translation.hides(&uri) =>
                {
                    return self.names_another(Rule::CallbackUri, scope, side, text).map(|()| None);
                }
                Ok(None) => {}
                Err(_) => return self.against(Rule::Topology, scope.name, text).map(|()| None),
            }
        }
        let named = match uri.host {
            Host::Name(name) if self.is_incoming && self.is_telescopic(name) => {
                return self.names_another(Rule::CallbackUri, scope, side, text).map(|()| None);
            }
            Host::Name(name) => {
                let named = NetworkName::of_domain(name);
                if let Some(named) = named {
                    self.reaches(scope, name, &named)?;
                    let is_senders = self.sides.allow(Side::Sender, &named);
                    if !is_senders && self.is_followed(scope, uri.rest) && !self.may_ask(uri.rest) {
                        return self
                            .names_another(Rule::CallbackUri, scope, side, text)
                            .map(|()| None);
                    }
                }
                named
            }
            Host::Address(_) => None,
        };
        let is_fine = match named {
            Some(named) => self.sides.allow(side, &named),
            // An address or another name may belong to a local function. A peer that asks for calls to it, or answers
            // with it, could reach into this network. But answers repeat what a function sent itself, and text may
            // contain a URI.
            None if self.kind.is_request => !self.is_incoming,
            // No address comes back if local addresses are hidden: a local function that repeats one would make a
            // hidden name of it, which the peer may ask.
            None => {
                !self.is_incoming
                    || self.translation.is_none()
                        && (scope.text == Text::Plain || self.may_come_back(scope))
            }
        };
        if !is_fine {
            self.names_another(Rule::CallbackUri, scope, side, text)?;
        }
        Ok(None)
    }

    /// Returns whether a local function may ask for a service by a peer's URI. The peer chose the path of a callback URI
    /// that comes back, too; where no service is named it may be the function's own (TS 29.501 §4.4.3).
    fn is_followed(&self, scope: Scope, path: &str) -> bool {
        let is_followed = match scope.text {
            Text::Uri | Text::UriOrHost | Text::Reference => true,
            Text::Plain if self.kind.is_request => !asks_for_no_service(path),
            _ => {
                self.translation.is_some()
                    && self.may_come_back(scope)
                    && !asks_for_no_service(path)
            }
        };
        self.is_incoming && is_followed
    }

    /// Returns whether the peer itself might ask for the service of a path: a local function is not to ask for it in
    /// its place.
    fn may_ask(&self, path: &str) -> bool {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let path = path.strip_suffix('/').unwrap_or(path);
        if path.is_empty() {
            // An API root, to which the function adds the path.
            return true;
        }
        let Some(path) = path::canonical(path) else { return false };
        let behind = self.prefixes.iter().filter_map(|prefix| path.strip_prefix(prefix.as_str()));
        let behind = behind.filter(|rest| rest.is_empty() || rest.starts_with('/'));
        std::iter::once(&*path).chain(behind).any(|path| {
            // A service's root: `/nnrf-disc/v1`.
            let is_root = path.split('/').count() <= 3;
            let allows = |api: &ApiRule| {
                api.service == path::first_segment(path)
                    && (is_root || api.path.as_ref().is_none_or(|template| template.allows(path)))
            };
            path.is_empty() || self.apis.iter().any(allows)
        })
    }

    /// Returns whether a relative reference in a request leads to no service that the peer may not ask.
    fn may_be_relative(&self, reference: &str) -> bool {
        let path = reference.split(['?', '#']).next().unwrap_or_default();
        let path = path.trim_end_matches('/');
        // A single segment is an identifier.
        if !self.is_incoming || !path.contains('/') {
            return true;
        }
        let path = match path.starts_with('/') {
            true => Cow::Borrowed(path),
            false => Cow::Owned(format!("/{path}")),
        };
        asks_for_no_service(&path) || self.may_ask(&path)
    }

    /// Returns whether a name is a telescopic one of this SEPP, which only local functions use.
    pub(super) fn is_telescopic(&self, name: &str) -> bool {
        let is_below = |own: &Fqdn| {
            let name = name.strip_suffix('.').unwrap_or(name);
            name.len() > own.as_str().len() && is_within(name, own.as_str())
        };
        self.own_names.iter().any(is_below)
    }

    /// Returns whether a text contains a telescopic name of this SEPP.
    pub(super) fn has_telescopic(&self, text: &str) -> bool {
        let is_between = |letter: char| !letter.is_ascii_alphanumeric() && !"-_.".contains(letter);
        text.split(is_between).any(|name| self.is_telescopic(name))
    }

    /// Judges a name in a peer's message: it must be the peer's own, or one that it may reach.
    pub(super) fn reaches(
        &mut self,
        scope: Scope,
        name: &str,
        named: &NetworkName,
    ) -> Result<(), Refusal> {
        let Some(targets) = self.targets else { return Ok(()) };
        let allows = |pattern: &TargetPattern| name.parse().is_ok_and(|name| pattern.allows(&name));
        if self.sides.allow(Side::Sender, named) || targets.iter().any(allows) {
            return Ok(());
        }
        self.against(Rule::Target, scope.name, name)
    }

    /// Judges a reference: a URI, or something that no function follows.
    pub(super) fn reference(
        &mut self,
        scope: Scope,
        text: &str,
    ) -> Result<Option<String>, Refusal> {
        const SCHEMES: [&str; 5] = ["about:", "sip:", "sips:", "tel:", "urn:"];
        let service = self.kind.service;
        if scope.name == "subscriptionId" && (service.has_profiles() || !service.is_known()) {
            self.subscription(scope, text)?;
        }
        if let Some(uri) = HttpUri::parse(text) {
            return self.uri(scope, text, uri);
        }
        // Readers take what follows `//` for a host, whatever the scheme.
        let is_other = SCHEMES.iter().any(|scheme| {
            text.split_at_checked(scheme.len()).is_some_and(|(start, rest)| {
                start.eq_ignore_ascii_case(scheme) && !rest.starts_with("//")
            })
        });
        let host = host_of(text);
        let is_named = NetworkName::of_domain(host).is_some();
        // Some readers decode it, and some accept a host without a scheme.
        let decoded = percent::decode_lossy(text);
        let has_host = all_in(host_of(&decoded)).next().is_some();
        self.segments(scope, if has_host { &text[host.len()..] } else { text })?;
        if is_other || is_relative(text) && is_relative(&decoded) {
            let side = self.leads_to_side(scope);
            if let Some(translation) = self.translation
                && translation.way == Way::Hide
                && is_named
            {
                return match translation.name(host) {
                    Ok(hidden) => Ok(hidden.map(|name| format!("{name}{}", &text[host.len()..]))),
                    Err(_) => self.against(Rule::Topology, scope.name, text).map(|()| None),
                };
            }
            let host = host_of(&decoded);
            let is_clear = NetworkName::of_domain(host).is_some() || all_in(host).next().is_none();
            if self.is_incoming && !is_clear {
                return self.against(Rule::CallbackUri, scope.name, text).map(|()| None);
            }
            if !is_named && self.kind.is_request && !self.may_be_relative(&decoded) {
                return self.names_another(Rule::CallbackUri, scope, side, text).map(|()| None);
            }
            if let Some(named) = NetworkName::of_domain(host).filter(|_| self.is_incoming) {
                let path = decoded.find('/').map_or("", |slash| &decoded[slash..]);
                let is_senders = self.sides.allow(Side::Sender, &named);
                if !self.sides.allow(side, &named) || !is_senders && !self.may_ask(path) {
                    return self.names_another(Rule::CallbackUri, scope, side, text).map(|()| None);
                }
                self.reaches(scope, host, &named)?;
            }
            return self.names(scope, text).map(|()| None);
        }
        self.against(Rule::CallbackUri, scope.name, text).map(|()| None)
    }

    /// Judges subscribers, networks and subscriptions in a path.
    pub(in crate::guard) fn segments(&mut self, scope: Scope, path: &str) -> Result<(), Refusal> {
        let scope = Scope { side: scope.side.filter(|side| *side == Side::Anyone), ..scope };
        let is_of_nrf = || path.contains("nnrf-nfm/");
        let mut before = Cow::Borrowed("");
        for segment in path::pieces(path) {
            let segment = percent::decode_lossy(segment);
            match Identity::of(segment.trim()) {
                Some(identity) => self.identity(scope, &segment, identity)?,
                None => self.names(scope, &segment)?,
            }
            if before == "subscriptions" && is_of_nrf() {
                self.subscription(scope, &segment)?;
            }
            before = segment;
        }
        Ok(())
    }

    /// Judges the identifier of a subscription at an NRF: it may begin with the codes of the network that holds it, to
    /// which other NRFs pass on what is asked of it (TS 29.510 §5.2.2.5.6, §6.1.3.5.2).
    fn subscription(&mut self, scope: Scope, text: &str) -> Result<(), Refusal> {
        match NetworkName::of_identifier(text) {
            Some(named) => self.network(Scope { side: Some(Side::Either), ..scope }, &named),
            None => Ok(()),
        }
    }
}

/// Returns whether a path is that of a callback, which its receiver chose (TS 29.501 §4.4.3), and of no service
/// (`nudm-sdm`: TS 29.501 §4.4.1).
fn asks_for_no_service(path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let is_service = |segment: &str| segment.starts_with(['n', 'N']) && segment.contains('-');
    path::canonical(path).is_some_and(|path| !is_service(path::first_segment(&path)))
}

/// Returns whether a reference has neither scheme nor host.
fn is_relative(text: &str) -> bool {
    let is_path =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!$&()*+,;=@/?#:".contains(&byte);
    // Readers that expect a host take the first segment for one. A number alone is an identifier.
    let first = text.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host_of(text);
    let is_identifier = host == text && !host.contains('.');
    let is_host = first.contains('@')
        || host.parse::<IpAddr>().is_ok()
        || uri::is_number(host) && !is_identifier
        || is_within(host.trim_end_matches('.'), "localhost")
        || is_within(host.trim_end_matches('.'), "localhost.localdomain");
    // A scheme begins with a letter (RFC 3986 §3.1); `00101-x3Lf57A:nid=1:2` is a subscription.
    let has_scheme = first.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.starts_with(|first: char| first.is_ascii_digit()) || scheme.contains('.')
    }) || text.contains("://");
    !text.starts_with("//") && !has_scheme && !is_host && text.bytes().all(is_path)
}

/// Returns the start of the text, where some readers expect a host.
fn host_of(text: &str) -> &str {
    text.split(['/', '?', '#', ':']).next().unwrap_or_default()
}
