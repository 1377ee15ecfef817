//! Requests on N32-c, from honest and hostile peers.

use std::sync::Arc;

use http::header::{ALLOW, CONTENT_TYPE};
use http::{Request, StatusCode};
use serde_json::{Value, json};

use super::*;
use crate::n32c::association::tests::network::Notes;
use crate::n32c::association::tests::{HOME, Site, THIRD, VISITED};
use crate::n32c::association::{PeerSettings, Settings, State};
use crate::n32c::messages::tests::schema::{self, Member};

const PATHS: [&str; 4] =
    [paths::EXCHANGE_CAPABILITY, paths::EXCHANGE_PARAMS, paths::N32F_TERMINATE, paths::N32F_ERROR];

/// Returns VISITED, which knows HOME and THIRD, and what it records.
fn visited() -> (Associations, Arc<Notes>) {
    let notes = Arc::new(Notes::default());
    let settings = Settings { local: VISITED.local(), peers: vec![HOME.peer(), THIRD.peer()] };
    (Associations::new(&settings, notes.clone()), notes)
}

/// The same, with an association with HOME.
fn associated() -> (Associations, Arc<Notes>) {
    let (visited, notes) = visited();
    let response = post(&visited, HOME, paths::EXCHANGE_CAPABILITY, &negotiation(HOME, &["TLS"]));
    assert_eq!(response.status(), 200);
    notes.take();
    (visited, notes)
}

fn negotiation(sender: Site, capabilities: &[&str]) -> Value {
    json!({"sender": sender.name, "supportedSecCapabilityList": capabilities})
}

fn post(to: &Associations, from: Site, path: &str, body: &Value) -> Response<Bytes> {
    send(to, from, Request::post(path), body.to_string())
}

fn send(
    to: &Associations,
    from: Site,
    request: http::request::Builder,
    body: impl Into<Bytes>,
) -> Response<Bytes> {
    let (parts, ()) = request.body(()).unwrap().into_parts();
    respond(to, &from.identity(), &parts, &body.into())
}

/// Returns the problem in an answer.
fn problem(response: &Response<Bytes>) -> Value {
    assert!(response.status().as_u16() >= 400, "{response:?}");
    assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
    let problem: Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(problem["status"], response.status().as_u16());
    problem
}

fn cause(response: &Response<Bytes>) -> (u16, String) {
    let problem = problem(response);
    (response.status().as_u16(), problem["cause"].as_str().unwrap_or_default().to_owned())
}

fn state(of: &Associations, peer: Site) -> State {
    of.peers().into_iter().find(|status| status.fqdn == peer.fqdn()).unwrap().state
}

#[test]
fn capabilities_are_exchanged() {
    let (visited, notes) = visited();
    let mut request = negotiation(HOME, &["TLS"]);
    request["plmnIdList"] = json!([{"mcc": "999", "mnc": "70"}]);
    // Some peers send their own network here once they know this SEPP's.
    request["targetPlmnId"] = json!({"mcc": "999", "mnc": "70"});
    request["supportedFeatures"] = json!("");
    let response = post(&visited, HOME, paths::EXCHANGE_CAPABILITY, &request);
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
    let answer: Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(answer["sender"], VISITED.name);
    assert_eq!(answer["selectedSecCapability"], "TLS");
    assert_eq!(answer.get("n32HandshakeId"), None);
    assert!(visited.established(&HOME.fqdn()).is_some());
    assert_eq!(state(&visited, THIRD), State::WillEstablish);
    assert_eq!(notes.take(), ["established", "agreed as responder"]);
}

#[test]
fn a_client_that_is_no_peer_learns_nothing() {
    let (visited, notes) = visited();
    for path in PATHS {
        for body in ["", "{", "{}", &negotiation(HOME, &["TLS"]).to_string()] {
            // Including one with a peer's name, under another anchor.
            let mut other = HOME.identity();
            other.anchor = THIRD.identity().anchor;
            for identity in [VISITED.identity(), other] {
                let (parts, ()) = Request::post(path).body(()).unwrap().into_parts();
                let body = Bytes::copy_from_slice(body.as_bytes());
                let response = respond(&visited, &identity, &parts, &body);
                assert_eq!(response.status(), 403);
                let problem = problem(&response);
                assert_eq!(problem.get("invalidParams"), None);
                assert_eq!(notes.take(), ["refused false: unknown-peer"]);
            }
        }
    }
    assert!(visited.peers().iter().all(|peer| peer.state == State::WillEstablish));
}

#[test]
fn a_third_operator_changes_no_ones_association() {
    let (visited, notes) = associated();
    let before = visited.established(&HOME.fqdn()).unwrap();
    let context = json!({"n32fContextId": "0123456789abcdef"});
    for (path, body, expected) in [
        (paths::EXCHANGE_CAPABILITY, negotiation(HOME, &["NONE"]), 403),
        (paths::EXCHANGE_CAPABILITY, negotiation(HOME, &["TLS"]), 403),
        (paths::EXCHANGE_CAPABILITY, negotiation(THIRD, &["NONE"]), 200),
        (paths::N32F_TERMINATE, context, 404),
        (
            paths::EXCHANGE_PARAMS,
            json!({"n32fContextId": "0123456789abcdef", "sender": HOME.name}),
            403,
        ),
    ] {
        let response = post(&visited, THIRD, path, &body);
        assert_eq!(response.status(), expected, "{path} {body}");
        let after = visited.established(&HOME.fqdn()).unwrap();
        assert!(Arc::ptr_eq(&before, &after));
    }
    assert!(notes.take().iter().any(|note| note == "refused true: sender"));
}

#[test]
fn networks_outside_of_certificate_and_configuration_are_refused() {
    let (visited, notes) = associated();
    let before = visited.established(&HOME.fqdn()).unwrap();
    for network in [("310", "410"), ("001", "01"), ("999", "070"), ("999", "700")] {
        let mut request = negotiation(HOME, &["TLS"]);
        request["plmnIdList"] =
            json!([{"mcc": "999", "mnc": "70"}, {"mcc": network.0, "mnc": network.1}]);
        let response = post(&visited, HOME, paths::EXCHANGE_CAPABILITY, &request);
        assert_eq!(cause(&response), (403, "PLMNID_NOT_ALLOWED".to_owned()));
        assert_eq!(problem(&response)["invalidParams"][0]["param"], "/plmnIdList");
        assert_eq!(notes.take(), ["refused true: plmn"]);
        assert!(Arc::ptr_eq(&before, &visited.established(&HOME.fqdn()).unwrap()));
    }
}

#[test]
fn a_certificate_of_two_peers_is_the_one_that_sends() {
    let settings = Settings {
        local: VISITED.local(),
        peers: vec![HOME.peer(), PeerSettings { anchor: HOME.identity().anchor, ..THIRD.peer() }],
    };
    let visited = Associations::new(&settings, Arc::new(()));
    let mut identity = HOME.identity();
    identity.fqdns.push(THIRD.fqdn());
    identity.plmns = identity.plmns.iter().chain(THIRD.plmns().iter()).collect();
    let (parts, ()) = Request::post(paths::EXCHANGE_CAPABILITY).body(()).unwrap().into_parts();
    let body = negotiation(THIRD, &["TLS"]).to_string().into();
    assert_eq!(respond(&visited, &identity, &parts, &body).status(), 200);
    assert!(visited.established(&HOME.fqdn()).is_none());
    let association = visited.established(&THIRD.fqdn()).unwrap();
    assert_eq!(association.plmns, THIRD.plmns());
}

#[test]
fn capabilities_that_are_not_served_are_refused_cleanly() {
    let (visited, _) = associated();
    for capabilities in [&["PRINS"][..], &["ALS"], &["PRINS", "FROM_A_LATER_RELEASE", ""]] {
        let request = negotiation(HOME, capabilities);
        let response = post(&visited, HOME, paths::EXCHANGE_CAPABILITY, &request);
        assert_eq!(cause(&response), (501, "REQUESTED_PARAM_MISMATCH".to_owned()));
        assert!(visited.established(&HOME.fqdn()).is_some());
    }
}

#[test]
fn none_ends_and_may_be_sent_twice() {
    let (visited, notes) = associated();
    for _ in 0..2 {
        let request = negotiation(HOME, &["NONE"]);
        let response = post(&visited, HOME, paths::EXCHANGE_CAPABILITY, &request);
        assert_eq!(response.status(), 200);
        let answer: Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(answer["selectedSecCapability"], "NONE");
        assert_eq!(state(&visited, HOME).as_str(), "terminated");
    }
    assert_eq!(notes.take(), ["terminated"]);
}

#[test]
fn there_are_no_parameters_for_tls_and_no_prins() {
    let body = json!({"n32fContextId": "0123456789ABCDEF", "jweCipherSuiteList": ["A128GCM"]});
    let (without, _) = visited();
    assert_eq!(post(&without, HOME, paths::EXCHANGE_PARAMS, &body).status(), 501);
    let (with, _) = associated();
    let response = post(&with, HOME, paths::EXCHANGE_PARAMS, &body);
    assert_eq!(cause(&response), (409, "REQUESTED_PARAM_MISMATCH".to_owned()));
    assert!(with.established(&HOME.fqdn()).is_some());
}

#[test]
fn a_context_that_is_not_there_is_not_found() {
    let (visited, _) = associated();
    let body = json!({"n32fContextId": "0123456789abcdef"});
    let response = post(&visited, HOME, paths::N32F_TERMINATE, &body);
    assert_eq!(cause(&response), (404, "CONTEXT_NOT_FOUND".to_owned()));
    assert!(visited.established(&HOME.fqdn()).is_some());
}

#[test]
fn an_error_is_taken_note_of() {
    let (visited, notes) = associated();
    let body = json!({"n32fMessageId": "7", "n32fErrorType": "OF_A_VENDOR"});
    let response = post(&visited, HOME, paths::N32F_ERROR, &body);
    assert_eq!((response.status(), response.body().len()), (StatusCode::NO_CONTENT, 0));
    assert_eq!(notes.take(), ["reported OF_A_VENDOR"]);
}

#[test]
fn a_request_that_is_no_operation_has_an_answer_and_an_event() {
    let (visited, notes) = visited();
    let body = negotiation(HOME, &["TLS"]).to_string();
    let status = |request| {
        let response = send(&visited, HOME, request, body.clone());
        problem(&response);
        assert_eq!(notes.take(), ["refused true: operation"]);
        response.status().as_u16()
    };
    for path in
        ["/", "/n32c-handshake", "/nnrf-disc/v1/nf-instances", "/n32f-forward/v1/n32f-process"]
    {
        assert_eq!(status(Request::post(path)), 404, "{path}");
    }
    assert_eq!(status(Request::post("/n32c-handshake/v1/x")), 404);
    assert_eq!(status(Request::post("/n32c-handshake/v1/exchange-capability/")), 404);
    assert_eq!(status(Request::post("/n32c-handshake/v2/exchange-capability")), 400);
    for path in PATHS {
        for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "X"] {
            let request = || Request::builder().method(method).uri(path);
            assert_eq!(status(request()), 405, "{method} {path}");
            assert_eq!(send(&visited, HOME, request(), "").headers()[ALLOW], "POST");
            assert_eq!(notes.take().len(), 1);
        }
        for kind in ["text/plain", "", "application/problem+json", "application/jsonx"] {
            assert_eq!(status(Request::post(path).header(CONTENT_TYPE, kind)), 415, "{kind}");
        }
    }
    let kind = "Application/JSON; charset=utf-8";
    let request = Request::post(paths::EXCHANGE_CAPABILITY).header(CONTENT_TYPE, kind);
    assert_eq!(send(&visited, HOME, request, body.clone()).status(), 200);
}

#[test]
fn ten_megabytes_are_too_long() {
    let (visited, notes) = visited();
    let long = Bytes::from(vec![b' '; 10 << 20]);
    for path in PATHS {
        let response = send(&visited, HOME, Request::post(path), long.clone());
        problem(&response);
        assert_eq!(response.status(), 413);
        assert_eq!(notes.take(), ["refused true: operation"]);
    }
}

/// Sends each message with each member missing, doubled and of the wrong type.
#[test]
fn each_wrong_member_is_named_and_changes_nothing() {
    let (visited, notes) = associated();
    let before = visited.established(&HOME.fqdn()).unwrap();
    let tables: [&[Member]; 4] =
        [schema::REQUEST, schema::PARAMS_REQUEST, schema::CONTEXT, schema::ERROR];
    for (path, table) in PATHS.into_iter().zip(tables) {
        for member in table {
            let pointer = format!("/{}", member.name);
            let check = |body: String, expected: &str| {
                let response = send(&visited, HOME, Request::post(path), body);
                let problem = problem(&response);
                assert_eq!(response.status(), 400, "{path} {pointer} {problem}");
                assert_eq!(problem["invalidParams"][0]["param"], pointer.as_str(), "{path}");
                assert_eq!(problem["cause"], expected);
                assert_eq!(notes.take(), ["refused true: malformed"]);
                assert!(Arc::ptr_eq(&before, &visited.established(&HOME.fqdn()).unwrap()));
            };
            let wrong =
                if member.required { "MANDATORY_IE_INCORRECT" } else { "OPTIONAL_IE_INCORRECT" };
            let whole = schema::example(table);
            let mut without = whole.clone();
            without.as_object_mut().unwrap().remove(member.name);
            if member.required {
                check(without.to_string(), "MANDATORY_IE_MISSING");
            }
            let double = format!("{{\"{}\":{},", member.name, member.kind.example());
            check(whole.to_string().replacen('{', &double, 1), wrong);
            let mut null = whole.clone();
            null[member.name] = Value::Null;
            check(null.to_string(), wrong);
        }
    }
}

#[test]
fn no_answer_names_the_inside() {
    let (visited, _) = associated();
    let secrets = [THIRD.name, "310-410", "anchor:"];
    let bodies = [
        negotiation(THIRD, &["TLS"]).to_string().replace(THIRD.name, "sepp.example.org"),
        negotiation(HOME, &["PRINS"]).to_string(),
        "{\"sender\":7}".to_owned(),
        "{".to_owned(),
    ];
    for path in PATHS {
        for body in &bodies {
            let response = send(&visited, HOME, Request::post(path), body.clone());
            let text = String::from_utf8(response.body().to_vec()).unwrap();
            assert!(!secrets.iter().any(|secret| text.contains(secret)), "{text}");
        }
    }
}
