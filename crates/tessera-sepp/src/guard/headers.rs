//! Headers that name networks and functions (TS 29.500 §5.2.3).

use http::header::{AUTHORIZATION, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::fields::Text;
use super::judge::token;
use super::judge::{Judge, Scope};
use super::network::{Named, Side};
use super::uri::{Host, HttpUri, Look};
use super::{Refusal, Rule, percent, query};

const fn scope(name: &'static str, side: Side) -> Scope {
    Scope { name, side: Some(side), text: Text::Plain }
}

/// Judges the headers of a request.
pub(super) fn judge_request(judge: &mut Judge<'_>, headers: &HeaderMap) -> Result<(), Refusal> {
    for (name, value) in headers {
        if *name == AUTHORIZATION {
            let text = text(judge, name, value)?;
            bearer(judge, text)?;
        } else if let Some(rest) = name.as_str().strip_prefix("3gpp-sbi-") {
            let text = text(judge, name, value)?;
            of_3gpp(judge, rest, text)?;
        }
    }
    Ok(())
}

/// Judges the headers of a response.
pub(super) fn judge_response(judge: &mut Judge<'_>, headers: &HeaderMap) -> Result<(), Refusal> {
    for (name, value) in headers {
        match name.as_str() {
            "3gpp-sbi-originating-network-id" => {
                let text = text(judge, name, value)?;
                network_id(judge, scope("3gpp-sbi-originating-network-id", Side::Sender), text)?;
            }
            "3gpp-sbi-producer-id" | "3gpp-sbi-binding" => {
                let text = text(judge, name, value)?;
                judge.names(scope("3gpp-sbi-producer-id", Side::Either), text)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Judges where a peer sends an own function on to: into its own network. Another place could be one of the inside,
/// which the peer itself may not reach.
pub(super) fn judge_redirection(judge: &mut Judge<'_>, headers: &HeaderMap) -> Result<(), Refusal> {
    for value in headers.get_all(LOCATION) {
        let text = value.to_str().unwrap_or("not ASCII");
        let is_fine = match HttpUri::look(text) {
            Look::Uri(HttpUri { host: Host::Name(name), .. }) => {
                Named::of_domain(name).is_some_and(|named| judge.sides.allow(Side::Sender, &named))
            }
            Look::Uri(_) | Look::Unclear => false,
            // A path of the function that was asked; `//host` is another (RFC 3986 §4.2).
            Look::NoUri => {
                text.starts_with('/') && !text.as_bytes().get(1).is_some_and(|b| b"/\\".contains(b))
            }
        };
        if !is_fine {
            let refusal = Refusal::new(Rule::CallbackUri, "location", text);
            judge.offence(Refusal { allowed: judge.sides.of(Side::Sender), ..refusal })?;
        }
    }
    Ok(())
}

fn of_3gpp(judge: &mut Judge<'_>, name: &str, value: &str) -> Result<(), Refusal> {
    if let Some(parameter) = name.strip_prefix("discovery-") {
        // The parameters of a discovery, for a proxy that makes it (TS 29.500 §6.10.3.2).
        let is_query = std::mem::replace(&mut judge.kind.is_query, true);
        let decoded = percent::decode(value);
        let judged = query::parameter(judge, parameter, decoded.as_deref().unwrap_or(value));
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
        "routing-binding" => judge.names(scope("3gpp-sbi-routing-binding", Side::Either), value),
        "binding" => judge.names(scope("3gpp-sbi-binding", Side::Either), value),
        "nf-peer-info" => peer_info(judge, value),
        _ => Ok(()),
    }
}

/// `001-01; srctype=SEPP; srcfqdn=sepp.5gc.mnc001.mcc001.3gppnetwork.org` (TS 29.500 §5.2.3.2.18), and lists of it.
fn network_id(judge: &mut Judge<'_>, scope: Scope, value: &str) -> Result<(), Refusal> {
    for part in value.split(',') {
        let (id, parameters) = part.split_once(';').unwrap_or((part, ""));
        match Named::parse(id.trim()) {
            Some(named) => judge.network(scope, &named)?,
            None => judge.against(Rule::Malformed, scope.name, id)?,
        }
        judge.names(scope, parameters)?;
    }
    Ok(())
}

/// `srcinst=..; srcsepp=sepp.5gc...; dstsepp=..` (TS 29.500 §5.2.3.2.21).
fn peer_info(judge: &mut Judge<'_>, value: &str) -> Result<(), Refusal> {
    for part in value.split([';', ',']) {
        let part = part.trim();
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
    judge.against(Rule::Malformed, "authorization", "is no bearer token")
}

/// The text of a header; what isn't ASCII can't be judged.
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
