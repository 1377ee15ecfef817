//! One message under judgement.

pub(super) mod json;
pub(super) mod token;

use super::fields::{Kind, Text};
use super::hiding::{Edits, Translation};
use super::identity::Identity;
use super::network::{Named, Side, Sides};
use super::source::Source;
use super::uri::{Host, HttpUri, Look};
use super::{Refusal, Rule, RuleSet, Verdict, network};

/// What is known of a message, and what was found.
pub(super) struct Judge<'a> {
    pub(super) sides: Sides<'a>,
    pub(super) kind: Kind,
    /// Whether it comes from the peer.
    pub(super) is_incoming: bool,
    pub(super) json_depth: u32,
    pub(super) log_only: RuleSet,
    /// What a network of the wrong side offends against, where the judge looks now.
    pub(super) rule: Rule,
    pub(super) translation: Option<Translation<'a>>,
    pub(super) edits: Edits,
    pub(super) logged: Vec<Refusal>,
}

/// What is known of a place in a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope {
    /// Its name, for security events.
    pub(super) name: &'static str,
    /// Whose network may be named, as far as the names around it tell.
    pub(super) side: Option<Side>,
    /// What strings are.
    pub(super) text: Text,
}

/// As many messages of rules that only log are kept of one message.
const MOST_LOGGED: usize = 16;

impl Judge<'_> {
    /// Refuses, unless the rule only logs.
    pub(super) fn offence(&mut self, refusal: Refusal) -> Result<(), Refusal> {
        if !self.log_only.contains(refusal.rule) {
            return Err(refusal);
        }
        if self.logged.len() < MOST_LOGGED {
            self.logged.push(refusal);
        }
        Ok(())
    }

    pub(super) fn against(
        &mut self,
        rule: Rule,
        field: &'static str,
        claimed: &str,
    ) -> Result<(), Refusal> {
        self.offence(Refusal::new(rule, field, claimed))
    }

    pub(super) fn verdict(self) -> Verdict {
        Verdict { logged: self.logged }
    }

    /// Who may be named here.
    pub(super) fn side(&self, scope: Scope) -> Side {
        scope.side.unwrap_or_else(|| self.kind.anywhere())
    }

    /// A network is named.
    pub(super) fn network(&mut self, scope: Scope, named: &Named) -> Result<(), Refusal> {
        let side = self.side(scope);
        if self.sides.allow(side, named) {
            return Ok(());
        }
        self.names_another(self.rule, scope, side, &named.to_string())
    }

    fn names_another(
        &mut self,
        rule: Rule,
        scope: Scope,
        side: Side,
        claimed: &str,
    ) -> Result<(), Refusal> {
        let allowed = self.sides.of(side);
        self.offence(Refusal { allowed, ..Refusal::new(rule, scope.name, claimed) })
    }

    /// A text, whatever it is.
    pub(super) fn text(&mut self, scope: Scope, text: &str, source: Source) -> Result<(), Refusal> {
        match scope.text {
            Text::Plmn => return self.plmn(scope, text),
            Text::Token => return token::judge(self, text),
            Text::Name => return self.name(scope, text, source),
            Text::Plain | Text::Callback | Text::Uri => {}
        }
        match text.as_bytes().first() {
            Some(b'h' | b'H' | ..=b' ') => match HttpUri::look(text) {
                Look::NoUri => {}
                Look::Unclear if self.is_followed(scope) => {
                    return self.against(Rule::CallbackUri, scope.name, text);
                }
                Look::Unclear => {}
                Look::Uri(uri) => return self.uri(scope, text, uri, source),
            },
            // A host without a scheme (RFC 3986 §4.2).
            Some(b'/' | b'\\')
                if scope.text != Text::Plain && text[1..].starts_with(['/', '\\']) =>
            {
                return self.against(Rule::CallbackUri, scope.name, text);
            }
            Some(b'i' | b'I' | b's' | b'S' | b'5' | b'n' | b'N') => {
                if let Some(identity) = Identity::of(text) {
                    return self.identity(scope, text, identity);
                }
            }
            _ => {}
        }
        if has_network_name(text) {
            return self.names(scope, text);
        }
        Ok(())
    }

    /// A text that is a PLMN ID.
    fn plmn(&mut self, scope: Scope, text: &str) -> Result<(), Refusal> {
        if let Some(named) = Named::parse(text) {
            return self.network(scope, &named);
        }
        // Without the network's own radio there is no serving network (TS 33.501 §6.1.1.4).
        if text == "5G:NSWO" || self.side(scope) == Side::Anyone {
            return Ok(());
        }
        self.against(Rule::Malformed, scope.name, text)
    }

    /// Names of networks somewhere in a text.
    pub(super) fn names(&mut self, scope: Scope, text: &str) -> Result<(), Refusal> {
        network::all_in(text).try_for_each(|named| self.network(scope, &named))
    }

    /// A domain name.
    fn name(&mut self, scope: Scope, text: &str, source: Source) -> Result<(), Refusal> {
        if let Some(translation) = self.translation {
            match translation.name(text) {
                Ok(Some(name)) => self.edits.replace(text, name, source),
                // An own function that repeats the name would have it hidden: then the peer could reach whatever it is.
                Ok(None) if self.is_incoming && self.kind.is_request && is_of_no_network(text) => {
                    return self.against(Rule::Topology, scope.name, text);
                }
                Ok(None) => {}
                Err(_) => return self.against(Rule::Topology, scope.name, text),
            }
        }
        self.names(scope, text)
    }

    /// A URI: to call back it is of the sender; any that an own function may follow leads to one of both ends, not to
    /// an address of the inside or to a third.
    fn uri(
        &mut self,
        scope: Scope,
        text: &str,
        uri: HttpUri<'_>,
        source: Source,
    ) -> Result<(), Refusal> {
        if let Some(translation) = self.translation {
            match translation.authority(&uri) {
                // A peer that has an own function called back by another own one.
                Ok(Some(_))
                    if self.is_incoming && self.kind.is_request && scope.text == Text::Callback =>
                {
                    return self.names_another(Rule::CallbackUri, scope, Side::Sender, text);
                }
                Ok(Some(authority)) => {
                    let start = uri.scheme.len();
                    self.edits.replace(
                        &text[start..text.len() - uri.rest.len()],
                        authority,
                        source,
                    );
                    return Ok(());
                }
                Ok(None) => {}
                Err(_) => return self.against(Rule::Topology, scope.name, text),
            }
        }
        let named = match uri.host {
            Host::Name(name) => Named::of_domain(name),
            Host::Address(_) => None,
        };
        let side = match scope.text {
            Text::Callback => Side::Sender,
            _ => Side::Either,
        };
        let is_fine = match named {
            Some(named) if self.kind.is_request => self.sides.allow(side, &named),
            Some(named) => self.sides.allow(Side::Either, &named),
            // An address or another name: an own function may have it, and peers answer with theirs. A peer that asks
            // for calls to one could reach into this network.
            None => !(self.is_incoming && self.kind.is_request),
        };
        if is_fine {
            return Ok(());
        }
        self.names_another(Rule::CallbackUri, scope, side, text)
    }

    /// Whether an own function may follow a URI here: what is only a sentence to read has one too.
    fn is_followed(&self, scope: Scope) -> bool {
        scope.text != Text::Plain || self.is_incoming && self.kind.is_request
    }

    /// A subscriber.
    pub(super) fn identity(
        &mut self,
        scope: Scope,
        text: &str,
        identity: Identity<'_>,
    ) -> Result<(), Refusal> {
        if scope.side == Some(Side::Anyone) || !self.kind.is_request {
            return Ok(());
        }
        let home = self.kind.home();
        let (is_fine, side) = match identity {
            Identity::Imsi(digits) => (self.sides.allow_digits(home, digits), home),
            Identity::Home(named) => (self.sides.allow(home, &named), home),
            Identity::Served(named) => (self.sides.allow(Side::Either, &named), Side::Either),
            Identity::Unclear => (false, home),
        };
        if is_fine {
            return Ok(());
        }
        self.names_another(Rule::UeIdentity, scope, side, &Identity::masked(text))
    }
}

fn is_of_no_network(name: &str) -> bool {
    !name.is_empty() && network::all_in(name).next().is_none()
}

/// Whether a text has the name of a network at its end or in it: `5G:mnc001.mcc001.3gppnetwork.org`.
fn has_network_name(text: &str) -> bool {
    const END: &[u8] = b"3gppnetwork.org";
    let bytes = text.as_bytes();
    let is_serving = bytes.get(..3).is_some_and(|start| start.eq_ignore_ascii_case(b"5g:"));
    let at_end = bytes.strip_suffix(b".").unwrap_or(bytes);
    is_serving
        || at_end.len() > END.len() && at_end[at_end.len() - END.len()..].eq_ignore_ascii_case(END)
}
