//! Headers that reveal the internal topology.

use http::header::{ACCEPT_ENCODING, CONTENT_LOCATION, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::super::fields::TARGET;
use super::super::percent;
use super::super::uri::{HttpUri, UriMatch};
use super::{Translation, UnknownPseudonym};

/// Returns whether it is a header of proxies on the path, or of the functions behind them (TS 29.500 §5.2.3.2.21).
fn reveals_topology(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "via"
            | "warning"
            | "server"
            | "forwarded"
            | "x-forwarded-for"
            | "x-forwarded-host"
            | "x-real-ip"
            | "x-powered-by"
            | "alt-svc"
            | "3gpp-sbi-nf-peer-info"
    )
}

/// Removes them from a request; `user-agent` keeps the type of the function (TS 29.500 §5.2.2.2).
pub(in super::super) fn hide_request(translation: &Translation<'_>, headers: &mut HeaderMap) {
    remove_where(headers, |name| reveals_topology(name) || *name == ACCEPT_ENCODING);
    hide_roots(translation, headers);
    hide_agent(headers);
}

/// Leaves the type of the function in the first `user-agent`, and no other.
fn hide_agent(headers: &mut HeaderMap) {
    let mut agents = headers.get_all(USER_AGENT).iter();
    let (Some(agent), is_alone) = (agents.next(), agents.next().is_none()) else { return };
    let kind = agent.as_bytes().iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    if is_alone && kind > 0 && kind == agent.len() {
        return;
    }
    match HeaderValue::from_bytes(&agent.as_bytes()[..kind]) {
        Ok(kind) if !kind.is_empty() => headers.insert(USER_AGENT, kind),
        _ => headers.remove(USER_AGENT),
    };
}

/// Removes them from a response.
pub(in super::super) fn hide_response(headers: &mut HeaderMap) {
    // Also the server that a proxy chose for the request.
    remove_where(headers, |name| reveals_topology(name) || *name == TARGET);
}

/// Removes headers. Most messages have none of them: one pass over the names costs less than a lookup of each.
fn remove_where(headers: &mut HeaderMap, is_removed: impl Fn(&HeaderName) -> bool) {
    while let Some(name) = headers.keys().find(|name| is_removed(name)).cloned() {
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
    if !headers.contains_key(&CONSUMER_INFO) {
        return;
    }
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
    match headers.get_all(name).iter().count() {
        0 => return Ok(()),
        1 => {}
        _ => return Err(UnknownPseudonym),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_user_agent_but_the_first_ones_type_leaves_the_network() {
        for (agents, left) in [
            (&["AMF"][..], Some("AMF")),
            (&["AMF-7c1a amf1.internal"], Some("AMF")),
            (&["AMF", "AMF-7c1a amf1.internal"], Some("AMF")),
            (&["AMF-1 a.internal", "SMF amf2.internal"], Some("AMF")),
            (&["/1.0", "SMF"], None),
        ] {
            let mut headers = HeaderMap::new();
            for agent in agents {
                headers.append(USER_AGENT, HeaderValue::from_static(agent));
            }
            hide_agent(&mut headers);
            let all: Vec<_> = headers.get_all(USER_AGENT).iter().collect();
            assert_eq!(all, left.into_iter().collect::<Vec<_>>(), "{agents:?}");
        }
    }
}
