//! `3gpp-Sbi-Target-apiRoot` (TS 29.500 §5.2.3.2.4): keeps the SEPP from being an open relay.

use http::{HeaderMap, HeaderValue};

use super::fields::{TARGET, TARGET_API_ROOT};
use super::hiding::Translation;
use super::judge::Judge;
use super::network::{NetworkName, Side};
use super::uri::{Host, HttpUri};
use super::{Refusal, Rule, path};
use crate::config::TargetPattern;
use crate::names::Fqdn;

/// What peers may reach.
#[derive(Default)]
pub(super) struct Targets {
    /// Names; `None` allows all of the local networks.
    pub(super) names: Option<Box<[TargetPattern]>>,
    /// Prefixes that may precede the path (TS 29.501 §4.4.1).
    pub(super) prefixes: Box<[String]>,
}

impl Refusal {
    /// Refuses the destination of a request: an address, a name of another network, or one that isn't open to peers.
    pub(crate) fn of_target(headers: &HeaderMap) -> Self {
        let value = headers.get(TARGET).map(|value| value.to_str().unwrap_or("not ASCII"));
        Self::new(Rule::Target, TARGET, value.unwrap_or_default())
    }
}

/// Judges the destination of a request: a name of the receiving network, and one of `targets` if the request comes from
/// a peer. Returns true if a hidden name was replaced by the real one. Without the header there is nothing to judge.
pub(super) fn judge(
    judge: &mut Judge<'_>,
    headers: &mut HeaderMap,
    targets: Option<&Targets>,
    translation: Option<&Translation<'_>>,
) -> Result<bool, Refusal> {
    let mut values = headers.get_all(TARGET_API_ROOT).iter();
    let Some(value) = values.next().cloned() else { return Ok(false) };
    let text = value.to_str().unwrap_or("not ASCII");
    let is_only_one = values.next().is_none();
    let uri = HttpUri::parse(text).filter(|_| is_only_one);
    let Some(uri) = uri else { return Err(Refusal::new(Rule::Malformed, TARGET, text)) };
    let prefix = uri.rest.strip_suffix('/').unwrap_or(uri.rest);
    if !prefix.is_empty() && !path::is_prefix(prefix) {
        return Err(Refusal::new(Rule::Malformed, TARGET, text));
    }
    // Any other prefix would make the API rules match the wrong part of the path.
    let is_known = |targets: &Targets| {
        prefix.is_empty() || targets.prefixes.iter().any(|known| known == prefix)
    };
    if !targets.is_none_or(is_known) {
        judge.against(Rule::Target, TARGET, path::first_segment(prefix))?;
    }
    let revealed = translation.map_or(Ok(None), |translation| translation.authority(&uri));
    match revealed {
        Ok(None) => {}
        // A name that this SEPP hid is always valid: no other party can create one.
        Ok(Some(authority)) => {
            let real = format!("{}{authority}{prefix}", uri.scheme);
            let Ok(real) = HeaderValue::from_str(&real) else {
                return Err(Refusal::new(Rule::Topology, TARGET, text));
            };
            headers.insert(TARGET_API_ROOT, real);
            return Ok(true);
        }
        Err(_) => return Err(Refusal::new(Rule::Topology, TARGET, text)),
    }
    let is_fine = match uri.host {
        Host::Address(_) => false,
        Host::Name(name) => match targets.and_then(|targets| targets.names.as_deref()) {
            Some(patterns) => name
                .parse::<Fqdn>()
                .is_ok_and(|name| patterns.iter().any(|pattern| pattern.allows(&name))),
            None => NetworkName::of_domain(name)
                .is_some_and(|named| judge.sides.allow(Side::Receiver, &named)),
        },
    };
    if is_fine {
        return Ok(false);
    }
    let refusal = Refusal::new(Rule::Target, TARGET, text);
    let allowed = judge.sides.of(Side::Receiver);
    judge.refuse(Refusal { allowed, ..refusal }).map(|()| false)
}
