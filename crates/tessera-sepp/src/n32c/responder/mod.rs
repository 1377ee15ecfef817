//! The answering side.

use std::fmt;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use serde::Serialize;

use super::association::{Associations, Event, Refusal, Role, Rule};
use super::initiator::paths;
use super::messages::{
    Cause, MalformedMessage, Message, N32fContextInfo, N32fErrorInfo, ProblemDetails,
    SecNegotiateReqData, SecParamExchReqData, SecurityCapability, decode,
};
use crate::identity::CertificateIdentity;
use crate::names::Fqdn;

/// The longest body of a message, in octets: a thousand networks and a PRINS policy fit.
pub const MAX_BODY: usize = 256 * 1024;

/// Answers an N32-c request of the peer with the verified `identity`. The body is complete; for one longer than
/// [`MAX_BODY`], any part above that length will do.
///
/// Every request gets an answer. It reveals nothing internal.
pub fn respond(
    associations: &Associations,
    identity: &CertificateIdentity,
    parts: &Parts,
    body: &Bytes,
) -> Response<Bytes> {
    let request = Request { associations, identity, body };
    request.route(parts).unwrap_or_else(ProblemDetails::into_response)
}

struct Request<'a> {
    associations: &'a Associations,
    identity: &'a CertificateIdentity,
    body: &'a Bytes,
}

type Answer = Result<Response<Bytes>, ProblemDetails>;

impl Request<'_> {
    fn route(&self, parts: &Parts) -> Answer {
        let path = parts.uri.path();
        let operation = match path {
            paths::EXCHANGE_CAPABILITY => Self::exchange_capability,
            paths::EXCHANGE_PARAMS => Self::exchange_params,
            paths::N32F_TERMINATE => Self::terminate,
            paths::N32F_ERROR => Self::take_error,
            _ => return Err(self.no_operation(not_found(path), "no such path exists", path)),
        };
        // Checked first: a client that is no configured peer learns nothing about errors in its message.
        let peers = self.peers();
        if peers.is_empty() {
            let refusal =
                Refusal::new(Rule::UnknownPeer, "no name in the certificate is a peer's `fqdn`");
            return Err(self.refuse(None, &refusal));
        }
        if parts.method != Method::POST {
            let problem = ProblemDetails::new(StatusCode::METHOD_NOT_ALLOWED)
                .with_cause(Cause::UnsupportedHttpMethod);
            let problem = self.no_operation(problem, "the method must be POST", &parts.method);
            let mut response = problem.into_response();
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            return Ok(response);
        }
        if !is_json(&parts.headers) {
            let detail = "application/json is expected";
            let problem = ProblemDetails::new(StatusCode::UNSUPPORTED_MEDIA_TYPE)
                .with_invalid_param("header content-type", detail);
            let declared = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
            return Err(self.no_operation(problem, detail, declared.unwrap_or("not ASCII")));
        }
        if self.body.len() > MAX_BODY {
            let problem = ProblemDetails::new(StatusCode::PAYLOAD_TOO_LARGE);
            let claimed = format_args!("more than {MAX_BODY} octets");
            return Err(self.no_operation(problem, "the body is too long", claimed));
        }
        operation(self, &peers)
    }

    /// Returns the configured peers whose names the certificate has, under their anchors; several if a SEPP represents
    /// several.
    fn peers(&self) -> Vec<Fqdn> {
        let is_peer = |fqdn: &&Fqdn| {
            let peer = self.associations.peer(fqdn);
            peer.is_some_and(|peer| peer.is_under(&self.identity.anchor))
        };
        self.identity.fqdns.iter().filter(is_peer).cloned().collect()
    }

    fn exchange_capability(&self, peers: &[Fqdn]) -> Answer {
        let request: SecNegotiateReqData = self.read(peers)?;
        // Only its own peer may change an association; another valid certificate isn't enough.
        let peer = peers.iter().find(|peer| **peer == request.sender);
        let Some(peer) = peer.and_then(|peer| self.associations.peer(peer)) else {
            let refusal =
                Refusal::new(Rule::Sender, "`sender` must be a peer that its certificate names")
                    .at("/sender")
                    .claiming(&request.sender);
            return Err(self.refuse(peers.first(), &refusal));
        };
        let answer = peer.ask(self.identity, &request);
        let answer = answer.map_err(|refusal| self.refuse(Some(&peer.fqdn), &refusal))?;
        if answer.selected_sec_capability == SecurityCapability::Tls {
            peer.tell(&Event::Agreed { peer: &peer.fqdn, role: Role::Responder });
        }
        Ok(json(&answer))
    }

    fn exchange_params(&self, peers: &[Fqdn]) -> Answer {
        let request: SecParamExchReqData = self.read(peers)?;
        let sender = request.sender.as_ref();
        if let Some(sender) = sender.filter(|sender| !peers.contains(sender)) {
            let refusal =
                Refusal::new(Rule::Sender, "`sender` must be a peer that its certificate names")
                    .at("/sender")
                    .claiming(sender);
            return Err(self.refuse(peers.first(), &refusal));
        }
        let mut of = peers.iter().filter(|peer| sender.is_none_or(|sender| sender == *peer));
        let refusal = if of.any(|peer| self.associations.established(peer).is_some()) {
            Refusal::new(Rule::Params, "TLS was chosen, which has no parameters to exchange")
        } else {
            Refusal::new(Rule::Prins, "this SEPP doesn't offer PRINS")
        };
        Err(self.refuse(peers.first(), &refusal))
    }

    fn terminate(&self, peers: &[Fqdn]) -> Answer {
        let request: N32fContextInfo = self.read(peers)?;
        // Contexts come from exchange-params, which TLS doesn't use; NONE ends it.
        let refusal = Refusal::new(Rule::Context, "no such context exists")
            .at("/n32fContextId")
            .claiming(request.n32f_context_id);
        Err(self.refuse(peers.first(), &refusal))
    }

    fn take_error(&self, peers: &[Fqdn]) -> Answer {
        let error: N32fErrorInfo = self.read(peers)?;
        if let Some(peer) = peers.first() {
            self.associations.observer().on(&Event::Reported { peer, error: &error });
        }
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::NO_CONTENT;
        Ok(response)
    }

    fn read<T: Message>(&self, peers: &[Fqdn]) -> Result<T, ProblemDetails> {
        decode(self.body).map_err(|malformed: MalformedMessage| {
            let refusal =
                Refusal::new(Rule::Malformed, "the message is malformed").claiming(&malformed);
            self.refuse(peers.first(), &refusal);
            malformed.into_problem()
        })
    }

    /// Reports a request that isn't an operation; the `problem` is more exact than the rule's.
    fn no_operation(
        &self,
        problem: ProblemDetails,
        detail: &'static str,
        claimed: impl fmt::Display,
    ) -> ProblemDetails {
        let refusal = Refusal::new(Rule::Operation, detail).claiming(claimed);
        self.refuse(self.peers().first(), &refusal);
        problem
    }

    fn refuse(&self, peer: Option<&Fqdn>, refusal: &Refusal) -> ProblemDetails {
        let identity = self.identity;
        self.associations.observer().on(&Event::Refused { peer, identity, refusal });
        refusal.to_problem()
    }
}

fn not_found(path: &str) -> ProblemDetails {
    // TS 29.500 table 5.2.7.2-1
    let is_other_version =
        path.strip_prefix(paths::API).is_some_and(|rest| !rest.starts_with("v1/"));
    if is_other_version {
        return ProblemDetails::new(StatusCode::BAD_REQUEST).with_cause(Cause::InvalidApi);
    }
    ProblemDetails::new(StatusCode::NOT_FOUND).with_cause(Cause::ResourceUriStructureNotFound)
}

/// Returns whether the body is declared as JSON, or isn't declared.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(media_type) = headers.get(CONTENT_TYPE) else { return true };
    let essence = media_type.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

fn json(message: &impl Serialize) -> Response<Bytes> {
    let mut response = Response::new(serde_json::to_vec(message).unwrap_or_default().into());
    let content_type = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

#[cfg(test)]
mod tests;
