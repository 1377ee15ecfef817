//! Headers that reveal the internal topology.

use http::header::{
    ACCEPT_ENCODING, CONTENT_LOCATION, FORWARDED, LOCATION, SERVER, USER_AGENT, VIA, WARNING,
};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::super::fields::TARGET;
use super::super::percent;
use super::super::uri::{HttpUri, UriMatch};
use super::{Translation, UnknownPseudonym};

/// Headers of proxies on the path, and of the functions behind them (TS 29.500 §5.2.3.2.21).
const TELLING: [HeaderName; 10] = [
    VIA,
    WARNING,
    SERVER,
    FORWARDED,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("x-powered-by"),
    HeaderName::from_static("alt-svc"),
    HeaderName::from_static("3gpp-sbi-nf-peer-info"),
];

/// Removes them from a request; `user-agent` keeps the type of the function (TS 29.500 §5.2.2.2).
pub(in super::super) fn hide_request(translation: &Translation<'_>, headers: &mut HeaderMap) {
    take_out(headers);
    hide_roots(translation, headers);
    headers.remove(ACCEPT_ENCODING);
    let Some(agent) = headers.get_mut(USER_AGENT) else { return };
    let kind = agent.as_bytes().iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    match HeaderValue::from_bytes(&agent.as_bytes()[..kind]) {
        Ok(kind) if !kind.is_empty() => *agent = kind,
        _ => {
            headers.remove(USER_AGENT);
        }
    }
}

/// Removes them from a response.
pub(in super::super) fn hide_response(headers: &mut HeaderMap) {
    take_out(headers);
    // The server that a proxy chose for the request.
    headers.remove(TARGET);
}

fn take_out(headers: &mut HeaderMap) {
    for name in &TELLING {
        headers.remove(name);
    }
}

/// Hides the roots of callback URIs in `3gpp-Sbi-Consumer-Info`; removes a value that can't be read
/// (TS 29.500 §5.2.3.2.20).
fn hide_roots(translation: &Translation<'_>, headers: &mut HeaderMap) {
    const CONSUMER_INFO: HeaderName = HeaderName::from_static("3gpp-sbi-consumer-info");
    let hidden = |value: &HeaderValue| {
        let text = percent::decode(value.to_str().ok()?)?;
        HeaderValue::from_str(&hide_uris(translation, &text)?).ok()
    };
    let values: Vec<_> = headers.get_all(&CONSUMER_INFO).iter().filter_map(hidden).collect();
    headers.remove(&CONSUMER_INFO);
    for value in values {
        headers.append(CONSUMER_INFO, value);
    }
}

fn hide_uris(translation: &Translation<'_>, text: &str) -> Option<String> {
    const BETWEEN: [char; 7] = ['"', ';', ',', ' ', '=', '(', ')'];
    let mut hidden = String::with_capacity(2 * text.len());
    for part in text.split_inclusive(BETWEEN) {
        let (token, between) = part.split_at(part.strip_suffix(BETWEEN).unwrap_or(part).len());
        match HttpUri::look(token) {
            UriMatch::Uri(uri) => match translation.authority(&uri).ok()? {
                Some(authority) => hidden.extend([uri.scheme, &authority, uri.rest]),
                None => hidden.push_str(token),
            },
            UriMatch::NoUri => hidden.push_str(token),
            UriMatch::Unclear => return None,
        }
        hidden.push_str(between);
    }
    Some(hidden)
}

/// Hides or reveals the hosts in `location` and `content-location`.
pub(in super::super) fn translate_places(
    translation: &Translation<'_>,
    headers: &mut HeaderMap,
) -> Result<(), UnknownPseudonym> {
    let locations =
        [&LOCATION, &CONTENT_LOCATION].map(|name| translate(translation, headers, name));
    locations.into_iter().collect()
}

fn translate(
    translation: &Translation<'_>,
    headers: &mut HeaderMap,
    name: &HeaderName,
) -> Result<(), UnknownPseudonym> {
    if headers.get_all(name).iter().nth(1).is_some() {
        return Err(UnknownPseudonym);
    }
    let Some(location) = headers.get_mut(name) else { return Ok(()) };
    let Ok(text) = location.to_str() else { return Err(UnknownPseudonym) };
    let uri = match HttpUri::look(text) {
        UriMatch::Uri(uri) => uri,
        // A host without a scheme (RFC 3986 §4.2).
        UriMatch::NoUri if text.starts_with("//") => return Err(UnknownPseudonym),
        UriMatch::NoUri => return Ok(()),
        UriMatch::Unclear => return Err(UnknownPseudonym),
    };
    if let Some(authority) = translation.authority(&uri)? {
        let text = format!("{}{authority}{}", uri.scheme, uri.rest);
        *location = HeaderValue::from_str(&text).map_err(|_| UnknownPseudonym)?;
    }
    Ok(())
}
