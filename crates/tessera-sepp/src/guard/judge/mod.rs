//! Judging a single message.

pub(super) mod json;
mod links;
pub(super) mod places;
pub(super) mod token;
mod uris;

use self::json::patch::PlacedValue;
use super::fields::{Kind, Text};
use super::hiding::{PUBLIC, Translation, Way};
use super::identity::{Identity, OTHER_KINDS};
use super::members::{FoldedName, Key, Member};
use super::network::{NetworkName, Side, Sides};
use super::uri::{HttpUri, UriMatch};
use super::{Passage, Refusal, Rule, RuleSet, network, path, percent, uri};
use crate::config::{ApiRule, TargetPattern};
use crate::names::Fqdn;

/// What is known about a message, and what was found in it.
pub(super) struct Judge<'a> {
    pub(super) sides: Sides<'a>,
    pub(super) kind: Kind,
    /// Whether it comes from the peer.
    pub(super) is_incoming: bool,
    pub(super) json_depth: u32,
    pub(super) log_only: RuleSet,
    /// The rule that a network of the wrong side breaks at the current position.
    pub(super) rule: Rule,
    pub(super) translation: Option<Translation<'a>>,
    /// This SEPP's names. Names below them are telescopic: they stand for a function of any network.
    pub(super) own_names: &'a [Fqdn],
    /// What a peer may reach of the local network, unless that is all. If a peer could name anything else and a local
    /// function repeated it, the name would be hidden, and hidden names are always reachable.
    pub(super) targets: Option<&'a [TargetPattern]>,
    /// What the peer may ask of local functions, and the paths that may precede it.
    pub(super) apis: &'a [ApiRule],
    pub(super) prefixes: &'a [String],
    /// Whether names that no API of roaming has break a rule here.
    pub(super) knows_members: bool,
    /// The values placed by the patch under judgement.
    pub(super) placed: Vec<PlacedValue>,
    /// The total bytes placed by all patches of the message.
    pub(super) placed_len: usize,
    /// The number of their copies and moves.
    pub(super) copies: usize,
    /// The position in a list of changes.
    pub(super) changes: Changes,
    /// Whether it is a PATCH: open5gs sends changes as `application/json`, and accepts them under any type.
    pub(super) is_patch: bool,
    /// Whether the position is within a complex query; these must not nest.
    pub(super) is_in_complex_query: bool,
    pub(super) logged: Vec<Refusal>,
}

/// What is known about a position in a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope {
    /// Its name, for security events.
    pub(super) name: &'static str,
    /// Which side's networks may be named, as far as the enclosing names determine it.
    pub(super) side: Option<Side>,
    /// What strings are here.
    pub(super) text: Text,
    /// The number of levels below at which names are data.
    pub(super) maps: u8,
}

/// A position within changes; these must not nest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Changes {
    Outside,
    InList,
    InOne,
}

impl Scope {
    /// Returns what applies below a name that isn't known, or is data.
    pub(super) fn below_a_name(self) -> Self {
        Self { text: Text::Plain, maps: self.maps.saturating_sub(1), ..self }
    }
}

/// The number of log-only refusals kept for one message.
const MOST_LOGGED: usize = 16;

impl Judge<'_> {
    /// Refuses the message, unless the rule only logs.
    pub(super) fn refuse(&mut self, refusal: Refusal) -> Result<(), Refusal> {
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
        self.refuse(Refusal::new(rule, field, claimed))
    }

    pub(super) fn passage(self) -> Passage {
        Passage { logged: self.logged }
    }

    /// Returns whether the parameters under judgement must name the peer's network.
    pub(super) fn must_name_its_network(&self) -> bool {
        let Kind { is_request, service, is_query } = self.kind;
        // A form asks for a token.
        self.is_incoming && is_request && (!is_query || service.finds_profiles())
    }

    /// Returns who may be named here.
    pub(super) fn side(&self, scope: Scope) -> Side {
        scope.side.unwrap_or_else(|| self.kind.anywhere())
    }

    /// Judges a network that is named here.
    pub(super) fn network(&mut self, scope: Scope, named: &NetworkName) -> Result<(), Refusal> {
        let side = self.side(scope);
        if self.sides.allow(side, named) {
            return Ok(());
        }
        self.names_another(self.rule, scope, side, &named.to_string())
    }

    /// Returns whether a network of this country may be named here.
    fn has_country(&self, scope: Scope, mcc: &[u8]) -> bool {
        self.sides.any(self.side(scope), |set| set.iter().any(|id| id.mcc().as_bytes() == mcc))
    }

    fn names_another(
        &mut self,
        rule: Rule,
        scope: Scope,
        side: Side,
        claimed: &str,
    ) -> Result<(), Refusal> {
        let allowed = self.sides.of(side);
        self.refuse(Refusal { allowed, ..Refusal::new(rule, scope.name, claimed) })
    }

    /// Returns the scope below a known member. In a map the member's name is data, and can't change which networks its
    /// value may name.
    pub(super) fn below(&self, around: Scope, member: &Member) -> Scope {
        let side = self.kind.side(member.whose, around.side);
        let widens = matches!(side, Some(Side::Anyone | Side::Either));
        let is_data = around.maps > 0 && (around.side.is_some() || widens);
        let side = if is_data { around.side } else { side };
        // In a map the name is data: what a member of that name holds elsewhere has no bearing on the value here.
        let maps = around.maps.checked_sub(1).unwrap_or(member.maps);
        // The name of an application or a gateway (TS 29.517, `AddrFqdn`), which no network function connects to.
        let is_application = matches!(around.name, "appServerAddrs" | "upfAddr");
        let text = if is_application && member.name == "fqdn" { Text::Plain } else { member.text };
        Scope { name: member.name, side, text, maps }
    }

    /// Judges the name of a member, or a token of a pointer to one.
    pub(super) fn name_of_member(
        &mut self,
        around: Scope,
        name: &str,
        folded: &FoldedName,
    ) -> Result<Key, Refusal> {
        let key = Key::of_folded(name, folded);
        if matches!(key, Key::Unknown { .. }) {
            if let Some(identity) = Identity::of(name) {
                self.identity(around, name, identity)?;
            }
            // A name that is data, which a function may repeat.
            if self.is_incoming && !matches!(HttpUri::look(name), UriMatch::NoUri) {
                self.against(Rule::CallbackUri, around.name, name)?;
            }
            if self.knows_members && around.maps == 0 {
                self.against(Rule::UnknownMember, around.name, name)?;
            }
        }
        Ok(key)
    }

    /// Judges an arbitrary text. Returns its replacement, if there is one.
    pub(super) fn text(&mut self, scope: Scope, text: &str) -> Result<Option<String>, Refusal> {
        // What should hold something else may still be repeated where it is taken for a URI.
        let is_uri = match scope.text {
            Text::Plain | Text::MaybeCoded | Text::Binding | Text::Token => false,
            Text::Uri | Text::Callback | Text::UriOrHost | Text::Reference => false,
            _ => self.is_incoming && !matches!(HttpUri::look(text), UriMatch::NoUri),
        };
        if is_uri {
            return self.against(Rule::CallbackUri, scope.name, text).map(|()| None);
        }
        match scope.text {
            Text::Plmn => self.plmn(scope, text).map(|()| None),
            Text::Coded | Text::MaybeCoded => self.coded(scope, text),
            Text::Token => token::judge(self, text).map(|()| None),
            Text::Name | Text::Host => self.name(scope, text),
            Text::Path => self.path(scope, text).map(|()| None),
            Text::Segment => self.segment(scope, text).map(|()| None),
            Text::Binding => {
                places::binding(self, Side::Sender, text)?;
                places::uris(self, scope.name, Side::Sender, text)?;
                self.names(scope, text).map(|()| None)
            }
            Text::Subscriber => self.subscriber(scope, text).map(|()| None),
            Text::Imsi => self.subscriber(scope, &format!("imsi-{text}")).map(|()| None),
            Text::Uri | Text::Callback => match HttpUri::parse(text) {
                Some(uri) => self.uri(scope, text, uri),
                None => self.against(Rule::CallbackUri, scope.name, text).map(|()| None),
            },
            Text::UriOrHost => match HttpUri::parse(text) {
                Some(uri) => self.uri(scope, text, uri),
                None => self.name(scope, text),
            },
            Text::Reference => self.reference(scope, text),
            Text::Plain => self.plain(scope, text),
            Text::Change => {
                self.against(Rule::Malformed, scope.name, "not a change").map(|()| None)
            }
        }
    }

    fn plain(&mut self, scope: Scope, text: &str) -> Result<Option<String>, Refusal> {
        match text.as_bytes().first() {
            Some(b'h' | b'H' | ..=b' ') => match HttpUri::look(text) {
                UriMatch::NoUri => {
                    if let Some(identity) = Identity::of(text.trim_ascii()) {
                        return self.identity(scope, text, identity).map(|()| None);
                    }
                }
                // A local function could repeat it in a form that gets a hidden name. Text for people may begin like
                // one too.
                UriMatch::Unclear
                    if self.is_incoming
                        && (self.kind.is_request
                            || self.translation.is_some() && uri::may_have_host(text)) =>
                {
                    return self.against(Rule::CallbackUri, scope.name, text).map(|()| None);
                }
                UriMatch::Unclear => {
                    let is_own = |named| self.sides.allow(Side::Sender, &named);
                    let hides = self.translation.is_some_and(|it| it.way == Way::Hide);
                    if hides && network::all_in(text).any(is_own) {
                        return self.against(Rule::Topology, scope.name, text).map(|()| None);
                    }
                }
                UriMatch::Uri(uri) => return self.uri(scope, text, uri),
            },
            Some(b'i' | b'I' | b's' | b'S' | b'5' | b'n' | b'N' | b'g' | b'G') => {
                if let Some(identity) = Identity::of(text) {
                    return self.identity(scope, text, identity).map(|()| None);
                }
            }
            _ => {}
        }
        let Marks { has_network, has_dot_segment, has_percent } = Marks::of(text);
        let is_above = || {
            has_dot_segment
                || has_percent && Marks::of(&percent::decode_lossy(text)).has_dot_segment
        };
        if self.is_incoming && is_above() {
            return self.against(Rule::Malformed, scope.name, text).map(|()| None);
        }
        if has_network {
            self.names(scope, text)?;
        }
        Ok(None)
    }

    /// Judges a text that is a PLMN ID.
    fn plmn(&mut self, scope: Scope, text: &str) -> Result<(), Refusal> {
        if let Some(named) = NetworkName::parse(text) {
            return self.network(scope, &named);
        }
        // Without the network's own radio there is no serving network (TS 33.501 §6.1.1.4).
        if text == "5G:NSWO" || self.side(scope) == Side::Anyone {
            return Ok(());
        }
        self.against(Rule::Malformed, scope.name, text)
    }

    /// Judges an identifier by the codes in it.
    fn coded(&mut self, scope: Scope, text: &str) -> Result<Option<String>, Refusal> {
        if let Some(named) = NetworkName::of_identifier(text) {
            self.network(scope, &named)?;
        } else if scope.text == Text::Coded && self.side(scope) != Side::Anyone {
            self.against(Rule::Malformed, scope.name, text)?;
        }
        self.plain(scope, text)
    }

    /// Judges a text that is a SUPI or SUCI (TS 29.571 §5.3.2).
    fn subscriber(&mut self, scope: Scope, text: &str) -> Result<(), Refusal> {
        if let Some(identity) = Identity::of(text) {
            return self.identity(scope, text, identity);
        }
        let is_other = OTHER_KINDS.iter().any(|start| {
            text.get(..start.len()).is_some_and(|prefix| prefix.eq_ignore_ascii_case(start))
        });
        if is_other || !self.is_incoming {
            return self.names(scope, text);
        }
        self.against(Rule::UeIdentity, scope.name, &Identity::masked(text))
    }

    /// Judges names of networks anywhere in a text.
    pub(super) fn names(&mut self, scope: Scope, text: &str) -> Result<(), Refusal> {
        network::all_in(text).try_for_each(|named| {
            if self.is_incoming
                && self.sides.allow(Side::Receiver, &named)
                && self.has_telescopic(text)
            {
                self.names_another(Rule::Target, scope, self.side(scope), text)?;
            }
            self.network(scope, &named)
        })
    }

    /// Judges a domain name of a network function. A peer's must be in the home domain of its network
    /// (TS 23.003 §28.2): a local function would connect to whatever name is there.
    fn name(&mut self, scope: Scope, text: &str) -> Result<Option<String>, Refusal> {
        let mut hidden = None;
        if let Some(translation) = self.translation
            && matches!(scope.text, Text::Name | Text::UriOrHost)
            && !(translation.way == Way::Hide && scope.name == PUBLIC)
        {
            hidden = match translation.name(text) {
                Ok(hidden) => hidden,
                Err(_) => return self.against(Rule::Topology, scope.name, text).map(|()| None),
            };
        }
        if !self.is_incoming {
            return self.names(scope, text).map(|()| hidden);
        }
        let side = self.side(scope);
        if hidden.is_some() {
            // It belongs to a local function, like a clear name of the local network.
            let is_fine = matches!(side, Side::Either | Side::Receiver);
            return match is_fine {
                true => Ok(hidden),
                false => self.names_another(Rule::Target, scope, side, text).map(|()| None),
            };
        }
        let named = text.parse::<Fqdn>().ok().and_then(|_| NetworkName::of_domain(text));
        match named.filter(|_| !self.is_telescopic(text)) {
            Some(named) => {
                self.network(scope, &named)?;
                self.names(scope, text)?;
                self.reaches(scope, text, &named)?;
            }
            None => self.names_another(Rule::Target, scope, side, text)?,
        }
        Ok(None)
    }

    /// Judges a path that precedes an API's (TS 29.501 §4.4.1); the receiver builds a URI of a host and this path.
    fn path(&mut self, scope: Scope, text: &str) -> Result<(), Refusal> {
        if text.is_empty() || path::is_prefix(text) || !self.is_incoming {
            return Ok(());
        }
        self.against(Rule::Target, scope.name, text)
    }

    /// Judges a segment of the path that the receiver builds (TS 29.501 §4.4.1).
    fn segment(&mut self, scope: Scope, text: &str) -> Result<(), Refusal> {
        if !self.is_incoming || !text.contains('/') && path::is_prefix(&format!("/{text}")) {
            return Ok(());
        }
        self.against(Rule::Target, scope.name, text)
    }

    /// Returns whether address lists of functions are removed: a local function's because they are hidden, a peer's
    /// because they are internal to it, and the same addresses belong to other machines here.
    ///
    /// A provisioning server's are for the subscriber's device (TS 29.509, `PvsInfo`).
    pub(super) fn leaves_out_addresses(&self, around: Scope) -> bool {
        let hides = self.translation.is_some_and(|translation| translation.way == Way::Hide);
        (self.is_incoming || hides) && around.name != "pvsInfo"
    }

    /// Judges a subscriber.
    pub(super) fn identity(
        &mut self,
        scope: Scope,
        text: &str,
        identity: Identity<'_>,
    ) -> Result<(), Refusal> {
        if scope.side == Some(Side::Anyone) {
            return Ok(());
        }
        let home = self.kind.home();
        let (is_fine, side) = match identity {
            Identity::Imsi(digits) => (self.sides.allow_digits(home, digits), home),
            Identity::Home(named) => (self.sides.allow(home, &named), home),
            Identity::Served(named) if self.kind.is_request => {
                (self.sides.allow(Side::Either, &named), Side::Either)
            }
            Identity::Served(_) => (true, Side::Anyone),
            Identity::Unclear => (home == Side::Anyone, home),
        };
        if is_fine {
            return Ok(());
        }
        self.names_another(Rule::UeIdentity, scope, side, &Identity::masked(text))
    }
}

/// What the punctuation in a text may mean.
struct Marks {
    /// The name of a network: `5G:mnc001.mcc001.3gppnetwork.org`, `set1.udmset.5gc.mnc001.mcc001`.
    has_network: bool,
    /// Another resource, if a function appends the text to a path: `../x` (RFC 3986 §3.3).
    has_dot_segment: bool,
    /// The same, encoded.
    has_percent: bool,
}

impl Marks {
    /// Reads a text once.
    fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let is_end = |byte: Option<&u8>| matches!(byte, None | Some(b'/' | b'\\' | b'?' | b'#'));
        let mut marks = Self { has_network: false, has_dot_segment: false, has_percent: false };
        for (at, byte) in bytes.iter().enumerate() {
            let rest = || &bytes[at + 1..];
            match byte {
                b'.' => match rest() {
                    [b'.', after @ ..] => {
                        marks.has_dot_segment |=
                            is_end(after.first()) && is_end(bytes[..at].last());
                    }
                    [b'm' | b'M', second, third, ..] => {
                        marks.has_network |= [*second, *third].eq_ignore_ascii_case(b"cc");
                    }
                    _ => {}
                },
                b'%' => marks.has_percent = true,
                _ => {}
            }
        }
        marks
    }
}
