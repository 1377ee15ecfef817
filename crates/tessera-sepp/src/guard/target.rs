//! `3gpp-Sbi-Target-apiRoot` (TS 29.500 §5.2.3.2.4): a SEPP is no open relay.

use http::{HeaderMap, HeaderValue};

use super::hiding::Translation;
use super::judge::Judge;
use super::network::{Named, Side};
use super::uri::{Host, HttpUri, Look};
use super::{Refusal, Rule, path};
use crate::config::TargetPattern;
use crate::names::Fqdn;

/// What stands in front of the path (TS 29.501 §4.4.1): it names no service, or rules about APIs would look at the rest
/// of a path that begins elsewhere.
fn prefix(judge: &mut Judge<'_>, rest: &str) -> Result<(), Refusal> {
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.is_empty() {
        return Ok(());
    }
    let Some(prefix) = path::canonical(rest).filter(|path| !path.contains(['?', '#'])) else {
        return Err(Refusal::new(Rule::Malformed, TARGET, rest));
    };
    match prefix.split('/').find(|segment| names_service(segment)) {
        Some(service) => judge.against(Rule::Api, TARGET, service),
        None => Ok(()),
    }
}

/// `nudm-uecm`: the function behind an `n`, a hyphen and more (TS 29.501 §5.1.3.2).
fn names_service(segment: &str) -> bool {
    const FUNCTIONS: [&str; 32] = [
        "5g-eir", "aanf", "adrf", "af", "amf", "ausf", "bsf", "chf", "dccf", "easdf", "gmlc",
        "hss", "imsas", "lmf", "mbsf", "mbsmf", "mfaf", "nef", "nrf", "nssaaf", "nssf", "nwdaf",
        "pcf", "scp", "sepp", "smf", "smsf", "tsctsf", "ucmf", "udm", "udr", "upf",
    ];
    let lower = segment.to_ascii_lowercase();
    let of_function = |function: &&str| {
        let rest = lower.strip_prefix('n').and_then(|rest| rest.strip_prefix(*function));
        rest.is_some_and(|rest| rest.starts_with('-'))
    };
    lower == "oauth2" || FUNCTIONS.iter().any(of_function)
}

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
        prefix(judge, uri.rest)?;
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
