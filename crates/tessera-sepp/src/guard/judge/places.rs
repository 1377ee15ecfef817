//! Places that a function is directed to.

use std::borrow::Cow;

use super::links::leads_to;
use super::{Judge, Scope};
use crate::guard::fields::Text;
use crate::guard::network::{NetworkName, Side};
use crate::guard::percent;
use crate::guard::uri::{Host, HttpUri, UriMatch};
use crate::guard::{Refusal, Rule};

/// Judges a URI or path that a function goes to.
pub(in crate::guard) fn place(
    judge: &mut Judge<'_>,
    field: &'static str,
    side: Side,
    text: &str,
) -> Result<(), Refusal> {
    let uri = HttpUri::parse(text);
    judge.segments(anywhere(field), uri.as_ref().map_or(text, |uri| uri.rest))?;
    let is_fine = match uri {
        Some(uri) => is_of(judge, side, &uri),
        // A path at the responding function; `//host` is another host (RFC 3986 §4.2).
        None => HttpUri::parse(&format!("http://host{text}")).is_some_and(|uri| {
            uri.rest == text && text.starts_with('/') && !text.starts_with("//")
        }),
    };
    if is_fine { Ok(()) } else { elsewhere(judge, field, side, text) }
}

/// Judges a place that a function goes to next, for the same service.
pub(in crate::guard) fn next_place(
    judge: &mut Judge<'_>,
    field: &'static str,
    side: Side,
    text: &str,
) -> Result<(), Refusal> {
    let path = HttpUri::parse(text).map_or(text, |uri| uri.rest);
    if !judge.keeps_service(path) {
        elsewhere(judge, field, side, text)?;
    }
    place(judge, field, side, text)
}

/// Judges the parameters of a binding that are URIs by their names: `callback-uri-prefix` (TS 29.500 §5.2.3.2.5).
pub(in crate::guard) fn binding(
    judge: &mut Judge<'_>,
    side: Side,
    value: &str,
) -> Result<(), Refusal> {
    const FIELD: &str = "3gpp-sbi-binding";
    if !judge.is_incoming {
        return Ok(());
    }
    for part in value.split([';', ',']) {
        let Some((name, value)) = part.split_once('=') else { continue };
        let name = name.trim().to_ascii_lowercase();
        let value = value.trim().trim_matches('"');
        let value = percent::decode_lossy(value);
        if name.contains("uri") || name.contains("root") {
            place(judge, FIELD, side, &value)?;
        }
        if name == "guami" {
            guami(judge, FIELD, &value)?;
        }
    }
    Ok(())
}

/// Judges a GUAMI as text: an AMF's network and identifier (TS 29.500 §5.2.3.2.6).
fn guami(judge: &mut Judge<'_>, field: &'static str, value: &str) -> Result<(), Refusal> {
    if let Some(named) = NetworkName::of_identifier(value) {
        return judge.network(Scope { side: Some(Side::Either), ..anywhere(field) }, &named);
    }
    let is_fine = !value.starts_with(|first: char| first.is_ascii_digit())
        || judge.sides.allow_digits(Side::Either, value);
    if is_fine { Ok(()) } else { judge.against(judge.rule, field, value) }
}

/// Returns the scope of a field in which any name may stand.
fn anywhere(name: &'static str) -> Scope {
    Scope { name, side: None, text: Text::Plain, maps: 0 }
}

/// Judges `nnrf-disc: https://nrf.5gc.mnc001.mcc001.3gppnetwork.org/nnrf-disc/v1; oauth2: ..` (TS 29.500 §5.2.3.2.12):
/// each service of an NRF has a URI.
pub(in crate::guard) fn nrf_uri(
    judge: &mut Judge<'_>,
    field: &'static str,
    value: &str,
) -> Result<(), Refusal> {
    for (service, uri) in value.split(';').filter_map(|part| part.split_once(':')) {
        let service = service.trim().to_ascii_lowercase();
        if judge.is_incoming && service.starts_with("nnrf-") {
            let uri = uri.trim().trim_matches('"');
            // TS 29.510 §6.3.1
            let services: &[&str] = match &*service {
                "nnrf-oauth2" => &["oauth2"],
                _ => &["nnrf-disc", "nnrf-nfm"],
            };
            let is_fine = HttpUri::parse(uri).is_some_and(|uri| {
                is_of(judge, Side::Sender, &uri) && leads_to(services, uri.rest)
            });
            if !is_fine {
                elsewhere(judge, field, Side::Sender, uri)?;
            }
        }
    }
    Ok(())
}

/// Judges URIs anywhere in a text of a peer's message, verbatim and decoded once.
pub(in crate::guard) fn uris(
    judge: &mut Judge<'_>,
    field: &'static str,
    side: Side,
    value: &str,
) -> Result<(), Refusal> {
    if !judge.is_incoming || !may_have_uri(value) {
        return Ok(());
    }
    let decoded = match percent::decode_lossy(value) {
        Cow::Owned(decoded) => decoded,
        Cow::Borrowed(_) => String::new(),
    };
    for text in [value, &decoded] {
        // The host follows the `@`, and the user information before it may contain commas (RFC 3986 §3.2.1).
        let authorities =
            text.split("://").skip(1).filter_map(|rest| rest.split(['/', '?', '#']).next());
        if let Some(authority) = authorities.into_iter().find(|authority| authority.contains('@')) {
            elsewhere(judge, field, side, authority)?;
        }
        let is_between = |letter: char| {
            matches!(letter, ' ' | '\t' | ',' | ';' | '"' | '\'' | '<' | '>' | '(' | ')' | '=')
        };
        for token in text.split(is_between) {
            let is_fine = match HttpUri::look(token) {
                _ if has_scheme_within(token) => false,
                // No API has URIs of other schemes here.
                UriMatch::NoUri => !token.contains("://") && !token.starts_with("//"),
                UriMatch::Unclear => false,
                UriMatch::Uri(uri) => {
                    judge.segments(anywhere(field), uri.rest)?;
                    is_of(judge, side, &uri)
                }
            };
            if !is_fine {
                elsewhere(judge, field, side, token)?;
            }
        }
    }
    Ok(())
}

/// Returns whether text precedes `http:`: some readers look for it.
fn has_scheme_within(token: &str) -> bool {
    token.match_indices(':').any(|(colon, _)| {
        ["http", "https"].iter().any(|scheme| {
            let start = colon.checked_sub(scheme.len()).filter(|start| *start > 0);
            start
                .and_then(|start| token.get(start..colon))
                .is_some_and(|before| before.eq_ignore_ascii_case(scheme))
        })
    })
}

/// Returns whether a text may contain the end of a URI's scheme or the start of a host, verbatim or encoded. Most
/// headers with a colon contain a time.
fn may_have_uri(value: &str) -> bool {
    let bytes = value.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| match byte {
        b':' => {
            bytes[..at].last().is_some_and(u8::is_ascii_alphabetic)
                || bytes[at..].starts_with(b"://")
        }
        b'/' => bytes[at..].starts_with(b"//"),
        b'%' => true,
        _ => false,
    })
}

/// Returns whether a URI leads into a network of this side.
pub(super) fn is_of(judge: &Judge<'_>, side: Side, uri: &HttpUri<'_>) -> bool {
    let Host::Name(name) = uri.host else { return false };
    NetworkName::of_domain(name).is_some_and(|named| judge.sides.allow(side, &named))
}

/// Refuses a place outside of this side.
pub(super) fn elsewhere(
    judge: &mut Judge<'_>,
    field: &'static str,
    side: Side,
    text: &str,
) -> Result<(), Refusal> {
    let refusal = Refusal::new(Rule::CallbackUri, field, text);
    judge.refuse(Refusal { allowed: judge.sides.of(side), ..refusal })
}
