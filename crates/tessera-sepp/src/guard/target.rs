//! `3gpp-Sbi-Target-apiRoot` (TS 29.500 §5.2.3.2.4): a SEPP is no open relay.

use http::{HeaderMap, HeaderValue};

use super::hiding::Translation;
use super::judge::Judge;
use super::network::{Named, Side};
use super::uri::{Host, HttpUri, Look};
use super::{Refusal, Rule, context, path};
use crate::config::TargetPattern;
use crate::names::Fqdn;

pub(super) const TARGET: &str = "3gpp-sbi-target-apiroot";

/// Judges where a request goes: to a name of the receiving network, and to one of these if they are given. A hidden
/// name becomes the real one: then it says so. Without the header there is nothing to judge.
pub(super) fn judge(
    judge: &mut Judge<'_>,
    headers: &mut HeaderMap,
    allowed: Option<&[TargetPattern]>,
    translation: Option<&Translation<'_>>,
) -> Result<bool, Refusal> {
    let mut values = headers.get_all(TARGET).iter();
    let Some(value) = values.next() else { return Ok(false) };
    let text = value.to_str().unwrap_or("not ASCII");
    let is_only_one = values.next().is_none();
    let uri = match HttpUri::look(text) {
        Look::Uri(uri) if is_only_one => uri,
        _ => return Err(Refusal::new(Rule::Malformed, TARGET, text)),
    };
    if judge.is_incoming {
        prefix(judge, text, uri.rest)?;
    }
    let revealed = translation.map_or(Ok(None), |translation| translation.authority(&uri));
    match revealed {
        Ok(None) => {}
        // What was hidden here is right, whatever it is: nobody else can make such a name.
        Ok(Some(authority)) => {
            let real = format!("{}{authority}{}", uri.scheme, uri.rest);
            let Ok(real) = HeaderValue::from_str(&real) else {
                return Err(Refusal::new(Rule::Topology, TARGET, text));
            };
            headers.insert(TARGET, real);
            return Ok(true);
        }
        Err(_) => return Err(Refusal::new(Rule::Topology, TARGET, text)),
    }
    let is_fine = match uri.host {
        Host::Address(_) => false,
        Host::Name(name) => match allowed {
            Some(patterns) => name
                .parse::<Fqdn>()
                .is_ok_and(|name| patterns.iter().any(|pattern| pattern.allows(&name))),
            None => Named::of_domain(name)
                .is_some_and(|named| judge.sides.allow(Side::Receiver, &named)),
        },
    };
    if is_fine {
        return Ok(false);
    }
    let refusal = Refusal::new(Rule::Target, TARGET, text);
    let allowed = judge.sides.of(Side::Receiver);
    judge.offence(Refusal { allowed, ..refusal }).map(|()| false)
}

/// Judges what a peer puts in front of the path of an API (TS 29.501 §4.4.1): the rules about paths see the API's alone,
/// and some servers would find another one here.
fn prefix(judge: &mut Judge<'_>, text: &str, prefix: &str) -> Result<(), Refusal> {
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    if prefix.is_empty() {
        return Ok(());
    }
    let path = path::canonical(prefix).filter(|path| !path.contains(['?', '#']));
    let Some(path) = path else {
        return Err(Refusal::new(Rule::Malformed, TARGET, text));
    };
    if path.split('/').any(context::is_api) {
        return judge.against(Rule::Api, TARGET, text);
    }
    Ok(())
}
