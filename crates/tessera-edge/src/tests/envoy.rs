//! What an Envoy learns about a request.

use prost::Message as _;

use crate::demo::{Stage, until};
use crate::envoy::messages::{
    AttributeContext, CheckRequest, CheckResponse, HeaderValueOption, HttpRequest, Peer, Request,
};
use crate::envoy::{check, identity};

const SETTINGS: &str = "[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";

async fn ask(stage: &Stage, at: &str, principal: &str, fields: &[(&str, &str)]) -> CheckResponse {
    ask_for(stage, at, principal, "/", fields).await
}

async fn ask_for(
    stage: &Stage,
    at: &str,
    principal: &str,
    path: &str,
    fields: &[(&str, &str)],
) -> CheckResponse {
    let headers = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let http = HttpRequest { headers: headers.collect(), path: path.to_owned() };
    let source = Some(Peer { principal: principal.to_owned(), ..Peer::default() });
    let request = Some(Request { http: Some(http) });
    let attributes = Some(AttributeContext { source, request });
    check(stage.proxies[at].running.edge(), CheckRequest { attributes }).await
}

fn texts(options: &[HeaderValueOption]) -> Vec<String> {
    let header = |option: &HeaderValueOption| option.header.clone().unwrap();
    options.iter().map(header).map(|it| format!("{}: {}", it.key, it.value)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn envoy_learns_the_client_its_proxy_and_its_owner() {
    let stage = Stage::start(&["a", "b"], SETTINGS).await.unwrap();
    let claims = [("tessera-client", "king"), ("tessera-owner", "king"), ("x-other", "1")];
    let ok = ask(&stage, "a", "drone.example", &claims).await.ok_response.unwrap();
    assert_eq!(texts(&ok.headers), ["tessera-client: dns%3Adrone.example"]);
    assert_eq!(ok.headers_to_remove, ["tessera-owner"]);
    let announced = |name: &str| format!("alt-svc: h2=\"{name}.example:443\"; ma=1; persist=1");
    assert_eq!(texts(&ok.response_headers_to_add), [announced("a")]);

    let ok = ask(&stage, "b", "drone.example", &[]).await.ok_response.unwrap();
    let headers = texts(&ok.headers);
    assert!(headers.contains(&"tessera-owner: a".to_owned()), "{headers:?}");
    assert!(headers[0].starts_with("tessera-client: 646e733a"), "in hexadecimal: {headers:?}");
    assert!(headers[1].starts_with("tessera-generation: "), "{headers:?}");

    let drone = tessera_bindings::ClientName::new("dns:drone.example").unwrap();
    stage.announce(&drone, "b").await.unwrap();
    let ok = ask(&stage, "a", "drone.example", &[]).await.ok_response.unwrap();
    assert_eq!(texts(&ok.response_headers_to_add), [announced("b")]);
    let ok = ask(&stage, "b", "drone.example", &[]).await.ok_response.unwrap();
    assert_eq!(texts(&ok.response_headers_to_add), [announced("b")]);
    let is_there = || stage.table.binding(&drone).is_some_and(|it| it.owner().0 == "b");
    until("b owns it", is_there).await.unwrap();
}

#[test]
fn a_peer_has_the_address_and_a_request_the_path_that_envoy_reports() {
    // As protoc encodes `address { socket_address { address: "192.0.2.7" port_value: 443 } } principal: "x"`.
    let encoded = b"\x0a\x10\x0a\x0e\x12\x09192.0.2.7\x18\xbb\x03\x22\x01x";
    let peer = Peer::decode(&encoded[..]).unwrap();
    assert_eq!((peer.ip(), peer.principal.as_str()), (Some([192, 0, 2, 7].into()), "x"));
    assert_eq!(Peer::default().ip(), None);
    // `method: "GET" path: "/x?y" host: "h"`.
    let encoded = b"\x12\x03GET\x22\x04/x?y\x2a\x01h";
    assert_eq!(HttpRequest::decode(&encoded[..]).unwrap().path, "/x?y");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_without_a_name_passes_without_its_claims() {
    let stage = Stage::start(&["a"], SETTINGS).await.unwrap();
    for principal in ["", "CN=drone.example"] {
        let answer = ask(&stage, "a", principal, &[("tessera-client", "king")]).await;
        let ok = answer.ok_response.unwrap();
        assert_eq!(
            (ok.headers.len(), ok.headers_to_remove),
            (0, vec!["tessera-client".to_owned()])
        );
    }
    assert_eq!(identity("spiffe://x/Y").unwrap(), b"uri:spiffe://x/Y");
    assert_eq!(identity("urn:uuid:1").unwrap(), b"uri:urn:uuid:1");
    assert_eq!(identity("Drone.example").unwrap(), b"dns:drone.example");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_whose_name_is_no_field_value_is_not_named_to_envoy() {
    let stage = Stage::start(&["a"], SETTINGS).await.unwrap();
    let owner = tessera_bindings::ProxyName("b\r\nset-cookie: x".to_owned());
    let entry = stage.proxies["a"].running.edge().entry.clone();
    let _lease = stage.bindings.join(&owner, entry, std::time::Duration::from_secs(20));
    let drone = tessera_bindings::ClientName::new("dns:drone.example").unwrap();
    stage.bindings.bind(&drone, &owner).await.unwrap();
    let table = &stage.proxies["a"].running.edge().table;
    let is_known = || table.binding(&drone).is_some() && table.proxy(&owner).is_some();
    until("the owner is live", is_known).await.unwrap();
    let answer = ask(&stage, "a", "drone.example", &[]).await;
    assert!(answer.ok_response.is_none());
    assert_eq!(answer.status.unwrap().code, 14);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_service_behind_an_envoy_sees_the_cookie_of_a_client() {
    let stage = Stage::start(&["a", "b"], "[clients]\nnamed-by = \"cookie\"\n").await.unwrap();
    let ok = ask(&stage, "a", "", &[]).await.ok_response.unwrap();
    let set = texts(&ok.response_headers_to_add).remove(0);
    let own = set.strip_prefix("set-cookie: ").unwrap().split(';').next().unwrap().to_owned();
    // Here, by the other proxy, and if it names no one.
    for (at, cookie) in [("a", own.clone()), ("b", own.clone()), ("a", format!("{own}; {own}"))] {
        let ok = ask(&stage, at, "", &[("cookie", &cookie)]).await.ok_response.unwrap();
        assert_eq!(ok.headers_to_remove, ["cookie"], "{at}");
        let others = format!("a=b; {cookie}; c=d");
        let ok = ask(&stage, at, "", &[("cookie", &others)]).await.ok_response.unwrap();
        assert!(texts(&ok.headers).contains(&"cookie: a=b; c=d".to_owned()), "{at}: {ok:?}");
        let others = format!("a=\u{e9}; {cookie}");
        let ok = ask(&stage, at, "", &[("cookie", &others)]).await.ok_response.unwrap();
        assert!(texts(&ok.headers).contains(&"cookie: a=\u{e9}".to_owned()), "{at}: {ok:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_client_of_an_envoy_reaches_the_paths_of_clients_state() {
    let settings =
        "state = \"/state\"\n[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let stage = Stage::start(&["a"], settings).await.unwrap();
    for path in [
        "/state/x",
        "/STATE/x",
        "/%73tate/x?y",
        "//state/x",
        "/a/../state/x",
        "/a/%2e%2e/state/x",
        // It may lead anywhere.
        "",
        "?/x",
    ] {
        let answer = ask_for(&stage, "a", "drone.example", path, &[]).await;
        assert!(answer.ok_response.is_none() && answer.status.unwrap().code == 7, "{path}");
    }
    let answer = ask_for(&stage, "a", "drone.example", "/x?/state/x", &[(":path", "")]).await;
    assert!(answer.ok_response.is_some());
}
