//! Headers that name networks and functions (TS 29.500 §5.2.3).

use std::borrow::Cow;

use http::header::{
    ALT_SVC, AUTHORIZATION, CONTENT_LOCATION, LOCATION, SERVER, USER_AGENT, VIA, WARNING,
};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::fields::{TARGET, TARGET_API_ROOT, Text};
use super::identity::Identity;
use super::judge::places::{binding, next_place, nrf_uri, place, uris};
use super::judge::token;
use super::judge::{Judge, Scope};
use super::network::{NetworkName, Side};
use super::{Refusal, Rule, percent, query};

/// Returns whether the service-based interface uses this HTTP header (TS 29.500 §5.2.2.2). A peer's other headers are
/// removed: servers trust some headers that a reverse proxy sets, and a peer isn't their reverse proxy.
fn is_standard(name: &str) -> bool {
    // RFC 8470 §5.1: this SEPP's server adds `early-data`.
    name.starts_with("3gpp-sbi-")
        || matches!(
            name,
            "accept"
                | "accept-encoding"
                | "accept-patch"
                | "age"
                | "allow"
                | "authorization"
                | "cache-control"
                | "content-encoding"
                | "content-length"
                | "content-location"
                | "content-type"
                | "date"
                | "early-data"
                | "etag"
                | "expires"
                | "host"
                | "if-match"
                | "if-modified-since"
                | "if-none-match"
                | "if-unmodified-since"
                | "last-modified"
                | "location"
                | "priority"
                | "retry-after"
                | "server"
                | "te"
                | "traceparent"
                | "tracestate"
                | "user-agent"
                | "vary"
                | "via"
                | "warning"
                | "www-authenticate"
        )
}

/// Returns whether the header is only for people to read.
fn is_talk(name: &HeaderName) -> bool {
    [USER_AGENT, SERVER, VIA, WARNING].contains(name)
}

const fn scope(name: &'static str, side: Side) -> Scope {
    Scope { name, side: Some(side), text: Text::Plain, maps: 0 }
}

/// Removes headers that aren't forwarded, and refuses those that some servers take for a judged header.
fn tidy(judge: &mut Judge<'_>, headers: &mut HeaderMap) -> Result<(), Refusal> {
    // Nearly all messages stay as they are: one pass over the names costs less than a lookup of each header.
    let stays = |name: &HeaderName| {
        let name = name.as_str();
        let is_plain = name.bytes().all(|byte| byte != b'_');
        is_plain && if judge.is_incoming { is_standard(name) } else { name != ALT_SVC }
    };
    if headers.keys().all(stays) {
        return Ok(());
    }
    headers.remove(ALT_SVC);
    // CGI and its successors read `_` as `-`.
    let is_folded = |name: &&HeaderName| {
        name.as_str().as_bytes().contains(&b'_') && is_standard(&name.as_str().replace('_', "-"))
    };
    while let Some(name) = headers.keys().find(is_folded).cloned() {
        judge.against(Rule::Malformed, "header", name.as_str())?;
        headers.remove(name);
    }
    if judge.is_incoming {
        while let Some(name) = headers.keys().find(|name| !is_standard(name.as_str())).cloned() {
            headers.remove(name);
        }
    }
    Ok(())
}

/// Judges the headers of a request.
pub(super) fn judge_request(judge: &mut Judge<'_>, headers: &mut HeaderMap) -> Result<(), Refusal> {
    tidy(judge, headers)?;
    for (name, value) in &*headers {
        if *name == AUTHORIZATION {
            let text = text(judge, name, value)?;
            bearer(judge, text)?;
        } else if let Some(rest) = name.as_str().strip_prefix("3gpp-sbi-") {
            let text = text(judge, name, value)?;
            in_both_readings(judge, rest, text)?;
            // The target has its own rules.
            if *name != TARGET && !rest.starts_with("discovery-") {
                uris(judge, "header", Side::Sender, text)?;
            }
        } else if judge.is_incoming {
            of_http(judge, name, value, Side::Either)?;
        }
    }
    Ok(())
}

/// Judges the headers of a response.
pub(super) fn judge_response(
    judge: &mut Judge<'_>,
    headers: &mut HeaderMap,
) -> Result<(), Refusal> {
    tidy(judge, headers)?;
    for (name, value) in &*headers {
        if let Some(rest) = name.as_str().strip_prefix("3gpp-sbi-") {
            if judge.is_incoming
                || matches!(rest, "originating-network-id" | "producer-id" | "binding")
            {
                let text = text(judge, name, value)?;
                in_both_readings(judge, rest, text)?;
                uris(judge, "header", Side::Sender, text)?;
            }
        } else if judge.is_incoming {
            // Receivers take the origin of an error from `server` (TS 29.500 §6.10.8.2).
            let side = if *name == SERVER { Side::Sender } else { Side::Either };
            of_http(judge, name, value, side)?;
        }
    }
    if judge.is_incoming {
        places(judge, headers, "location", &LOCATION, next_place)?;
        places(judge, headers, "content-location", &CONTENT_LOCATION, next_place)?;
        places(judge, headers, TARGET, &TARGET_API_ROOT, place)?;
    }
    Ok(())
}

/// Judges where a peer redirects a local function, or where it created a resource for it: only in the peer's network.
/// Any other place could be an internal one that the peer itself may not reach.
fn places(
    judge: &mut Judge<'_>,
    headers: &HeaderMap,
    field: &'static str,
    name: &HeaderName,
    judged: impl Fn(&mut Judge<'_>, &'static str, Side, &str) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    for value in headers.get_all(name) {
        let text = value.to_str().unwrap_or("not ASCII");
        judged(judge, field, Side::Sender, text)?;
    }
    Ok(())
}

/// Judges a header of HTTP in a peer's message: networks in all of them, URIs in those that programs follow.
fn of_http(
    judge: &mut Judge<'_>,
    name: &HeaderName,
    value: &HeaderValue,
    side: Side,
) -> Result<(), Refusal> {
    if is_talk(name) {
        return judge.names(scope("header", side), &String::from_utf8_lossy(value.as_bytes()));
    }
    let text = text(judge, name, value)?;
    uris(judge, "header", Side::Sender, text)?;
    judge.names(scope("header", side), text)
}

/// Judges a header of 3GPP's verbatim and, if that differs, decoded: some readers decode values.
fn in_both_readings(judge: &mut Judge<'_>, name: &str, value: &str) -> Result<(), Refusal> {
    of_3gpp(judge, name, value)?;
    match percent::decode_lossy(value) {
        Cow::Owned(decoded) => of_3gpp(judge, name, &decoded),
        Cow::Borrowed(_) => Ok(()),
    }
}

fn of_3gpp(judge: &mut Judge<'_>, name: &str, value: &str) -> Result<(), Refusal> {
    if let Some(parameter) = name.strip_prefix("discovery-") {
        // Discovery parameters for a proxy that performs the query (TS 29.500 §6.10.3.2).
        let is_query = std::mem::replace(&mut judge.kind.is_query, true);
        // Verbatim and decoded.
        let judged = query::parameter(judge, parameter, Cow::Borrowed(value)).map(|_| ());
        judge.kind.is_query = is_query;
        return judged;
    }
    match name {
        "originating-network-id" => {
            network_id(judge, scope("3gpp-sbi-originating-network-id", Side::Sender), value)
        }
        "asserted-plmn-id" => {
            network_id(judge, scope("3gpp-sbi-asserted-plmn-id", Side::Sender), value)
        }
        "client-credentials" | "source-nf-client-credentials" => token::judge(judge, value.trim()),
        "access-token" => bearer(judge, value),
        "routing-binding" | "binding" | "consumer-info" | "request-info" => {
            binding(judge, Side::Sender, value)?;
            judge.names(scope("3gpp-sbi-binding", Side::Either), value)
        }
        "nf-peer-info" => peer_info(judge, value),
        "correlation-info" => {
            let scope = scope("3gpp-sbi-correlation-info", Side::Either);
            let value = percent::decode_lossy(value);
            let is_between =
                |letter: char| !letter.is_ascii_alphanumeric() && !"-._@".contains(letter);
            value.split(is_between).try_for_each(|text| match Identity::of(text) {
                Some(identity) => judge.identity(scope, text, identity),
                None => judge.names(scope, text),
            })
        }
        "nrf-uri" | "nrf-uri-callback" => {
            nrf_uri(judge, "3gpp-sbi-nrf-uri", value)?;
            judge.names(scope("3gpp-sbi-nrf-uri", Side::Either), value)
        }
        // Load and overload are those of the sender's functions (TS 29.500 §6.3, §6.4).
        "oci" => judge.names(scope("3gpp-sbi-oci", Side::Sender), value),
        "lci" => judge.names(scope("3gpp-sbi-lci", Side::Sender), value),
        "producer-id" => judge.names(scope("3gpp-sbi-producer-id", Side::Either), value),
        // The target has its own rules. Otherwise NF sets contain network names (TS 23.003 §28.12).
        "target-apiroot" => Ok(()),
        _ => judge.names(scope("3gpp-sbi header", Side::Either), value),
    }
}

/// Judges `001-01; srctype=SEPP; srcfqdn=sepp.5gc.mnc001.mcc001.3gppnetwork.org` (TS 29.500 §5.2.3.2.18), and lists of
/// it.
fn network_id(judge: &mut Judge<'_>, scope: Scope, value: &str) -> Result<(), Refusal> {
    for part in value.split(',') {
        let (id, parameters) = part.split_once(';').unwrap_or((part, ""));
        let id = id.trim();
        match NetworkName::with_hyphens(id) {
            Some(named) => judge.network(scope, &named)?,
            None => judge.against(Rule::Malformed, scope.name, id)?,
        }
        judge.names(scope, parameters)?;
    }
    Ok(())
}

/// Judges `srcinst=..; srcsepp=sepp.5gc...; dstsepp=..` (TS 29.500 §5.2.3.2.21).
fn peer_info(judge: &mut Judge<'_>, value: &str) -> Result<(), Refusal> {
    for part in value.split([';', ',', ' ', '\t']) {
        let side = match part.get(..3) {
            Some(start) if start.eq_ignore_ascii_case("src") => Side::Sender,
            Some(start) if start.eq_ignore_ascii_case("dst") => Side::Receiver,
            _ => Side::Either,
        };
        judge.names(scope("3gpp-sbi-nf-peer-info", side), part)?;
    }
    Ok(())
}

fn bearer(judge: &mut Judge<'_>, value: &str) -> Result<(), Refusal> {
    let (kind, token) = value.trim().split_once(' ').unwrap_or((value, ""));
    if kind.eq_ignore_ascii_case("bearer") {
        return token::judge(judge, token.trim());
    }
    judge.against(Rule::Malformed, "authorization", "not a bearer token")
}

/// Returns the text of a header; a value that isn't ASCII can't be judged.
fn text<'v>(
    judge: &mut Judge<'_>,
    name: &HeaderName,
    value: &'v HeaderValue,
) -> Result<&'v str, Refusal> {
    if let Ok(text) = value.to_str() {
        return Ok(text);
    }
    judge.against(Rule::Malformed, "header", name.as_str()).map(|()| "")
}
