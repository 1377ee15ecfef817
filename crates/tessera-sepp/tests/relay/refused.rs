//! T1, T2: what isn't forwarded, and the answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response};
use tessera_proxy::address::DialAddress;
use tessera_proxy::http::body::{Body, CompleteBody};
use tessera_proxy::http::client::{Call, Pool, PoolOptions, Tls};
use tessera_proxy::http::deadline::Deadline;
use tessera_sepp::identity::{CertificateIdentity, Direction, Identity, Listener};
use tessera_sepp::names::{Fqdn, PlmnSet};
use tessera_sepp::reconnection::{Mode, PeerConnection};

use crate::world::{AM_DATA, HOME, UDM, VISITED, Words, World, empty, request, text};

fn to(target: &str) -> Request<Body> {
    let mut request = empty(request(Method::GET, AM_DATA));
    request.headers_mut().insert("3gpp-sbi-target-apiroot", HeaderValue::try_from(target).unwrap());
    request
}

/// The peer's SEPP sends these over N32-f itself, regardless of its own routing.
async fn over_n32f(world: &World, request: Request<Body>) -> Response<Body> {
    let tls = world.visited.relay.to(&HOME.parse().unwrap()).unwrap();
    call(&pool(tls.n32f, world.home.n32f_address), request).await
}

fn pool(connector: tessera_tokio::Connector, to: SocketAddr) -> Pool {
    let connect = Arc::new(Tls::new(connector).named(HOME));
    Pool::new(connect, DialAddress::Tcp(to), PoolOptions::default())
}

async fn call(pool: &Pool, request: Request<Body>) -> Response<Body> {
    let call = Call::until(Deadline::after(Duration::from_secs(20)));
    pool.call(request, call).await.unwrap().response
}

#[tokio::test]
async fn without_an_association_nothing_is_forwarded() {
    let world = World::new(Words { silent: true, ..Words::default() }).await;
    let response = over_n32f(&world, to(UDM)).await;
    assert_eq!(response.status(), 403);
    let text = text(response).await;
    assert_eq!(text, r#"{"title":"Forbidden","status":403,"cause":"CONTEXT_NOT_FOUND"}"#);
    assert_eq!(world.udm.count(), 0);
    let refused = world.home.seen.refused.lock().unwrap().clone();
    assert_eq!(refused, [(VISITED.parse().unwrap(), "association")]);
}

/// A function that allows 300 ms gets its answer then, not after the 10 s of `response-time`.
#[tokio::test]
async fn an_association_that_does_not_come_is_504() {
    let world = World::new(Words { silent: true, ..Words::default() }).await;
    let mut request = to(UDM);
    request.headers_mut().insert("3gpp-sbi-max-rsp-time", HeaderValue::from_static("300"));
    let begun = Instant::now();
    let response = world.ask(request).await;
    assert!((Duration::from_millis(300)..Duration::from_secs(5)).contains(&begun.elapsed()));
    assert_eq!(response.status(), 504);
    assert!(text(response).await.contains("TARGET_PLMN_NOT_REACHABLE"));
}

#[tokio::test]
async fn a_sepp_is_no_open_relay() {
    let home_sbi = "allowed-targets = [\"*.5gc.mnc070.mcc999.3gppnetwork.org\"]";
    let world = World::new(Words { home_sbi, ..Words::default() }).await;
    let inside = format!("http://{}", world.udm.address);
    for (target, status) in [
        (inside.as_str(), 400),
        ("http://[::1]:8000", 400),
        ("http://127.1", 400),
        ("ftp://udm.5gc.mnc070.mcc999.3gppnetwork.org", 400),
        ("http://a@udm.5gc.mnc070.mcc999.3gppnetwork.org", 400),
        ("http://udm.5gc.mnc002.mcc002.3gppnetwork.org", 403),
        ("http://udm.5gc.mnc001.mcc001.3gppnetwork.org", 403),
        ("http://localhost:8000", 403),
        ("http://example.org", 403),
        ("http://sepp1.5gc.mnc070.mcc999.3gppnetwork.org:7777", 403),
    ] {
        let response = over_n32f(&world, to(target)).await;
        assert_eq!(response.status(), status, "{target}");
        assert!(!text(response).await.contains("detail"), "{target}");
        let (rule, claimed) = world.home.seen.last_refusal().unwrap();
        assert_eq!((rule, &*claimed), ("target", target));
    }
    let mut none = to(UDM);
    none.headers_mut().remove("3gpp-sbi-target-apiroot");
    assert_eq!(over_n32f(&world, none).await.status(), 400);
    let mut twice = to(UDM);
    twice.headers_mut().append("3gpp-sbi-target-apiroot", HeaderValue::from_static(UDM));
    assert_eq!(over_n32f(&world, twice).await.status(), 400);
    assert_eq!(world.udm.count(), 0);
    assert_eq!(over_n32f(&world, to(UDM)).await.status(), 200);
}

/// A body with the coding `identity` is judged like one without the header; headers that servers trust from a reverse
/// proxy, and anything after the body, are removed.
#[tokio::test]
async fn parts_that_functions_could_read_differently_are_judged_or_removed() {
    let world = World::new(Words::default()).await;
    let path = "/nausf-auth/v1/ue-authentications/echo";
    let posted = |network: &str| {
        let text = format!(r#"{{"servingNetworkName":"5G:{network}.3gppnetwork.org"}}"#);
        let claim = HeaderValue::from_static("208-93");
        let trailers = ["3gpp-sbi-originating-network-id", "x-after"]
            .map(|name| (http::HeaderName::from_static(name), claim.clone()));
        let trailers = Some(http::HeaderMap::from_iter(trailers));
        request(Method::POST, path)
            .header("content-type", "application/json")
            .header("content-encoding", "identity")
            .header("x-http-method-override", "DELETE")
            .header("x-original-url", "/nudr-dr/v1")
            .header("x-forwarded-for", "10.0.0.1")
            .header("forwarded", "for=10.0.0.1")
            .body(Body::from(CompleteBody { data: text.into(), trailers }))
            .unwrap()
    };
    assert_eq!(over_n32f(&world, posted("mnc093.mcc208")).await.status(), 403);
    assert_eq!(world.udm.count(), 0);
    let response = over_n32f(&world, posted("mnc001.mcc001")).await;
    assert_eq!(response.status(), 200);
    let echoed = response.into_body().collect_up_to(1000).await.unwrap().trailers;
    assert!(echoed.is_none_or(|trailers| trailers.is_empty()));
    let (_, _, headers) = world.udm.last();
    let came = headers.keys().any(|name| name == "forwarded" || name.as_str().starts_with("x-"));
    assert!(!came, "{headers:?}");
}

/// Neither after an inspected body, nor after one that streams through.
#[tokio::test]
async fn a_peers_trailers_never_reach_a_function() {
    let both =
        "[guard]\nlog-only = [\"content-type\", \"body-length\"]\ninspected-body = \"1 KiB\"";
    let world = World::new(Words { both, ..Words::default() }).await;
    for kind in ["application/json", "application/octet-stream"] {
        let trailers = ["3gpp-sbi-originating-network-id", "location", "x-after"]
            .map(|name| (http::HeaderName::from_static(name), HeaderValue::from_static("208-93")));
        let trailers = Some(http::HeaderMap::from_iter(trailers));
        let request = request(Method::PUT, "/nudm-sdm/v2/imsi-999700000000001/trailers")
            .header("content-type", kind)
            .body(Body::from(CompleteBody { data: "{\"priority\":1}".into(), trailers }))
            .unwrap();
        assert_eq!(over_n32f(&world, request).await.status(), 204, "{kind}");
    }
}

#[tokio::test]
async fn own_functions_learn_why_a_request_goes_nowhere() {
    let world = World::new(Words::default()).await;
    for (target, status, cause) in [
        ("http://udm.5gc.mnc002.mcc002.3gppnetwork.org", 404, "TARGET_PLMN_NOT_REACHABLE"),
        ("http://nrf.5gc.mnc001.mcc001.3gppnetwork.org", 404, "TARGET_PLMN_NOT_REACHABLE"),
        ("http://example.org", 404, "TARGET_PLMN_NOT_REACHABLE"),
        ("http://127.0.0.1:8000", 400, "MANDATORY_IE_INCORRECT"),
    ] {
        let response = world.ask(to(target)).await;
        assert_eq!(response.status(), status, "{target}");
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        assert_eq!(response.headers()["server"], format!("SEPP-{VISITED}"));
        let text = text(response).await;
        assert!(text.contains(cause) && text.contains("detail"), "{text}");
    }
    let mut none = to(UDM);
    none.headers_mut().remove("3gpp-sbi-target-apiroot");
    let response = world.ask(none).await;
    assert_eq!(response.status(), 400);
    assert!(text(response).await.contains("MANDATORY_IE_MISSING"));
}

#[tokio::test]
async fn prins_is_answered_cleanly() {
    let world = World::new(Words::default()).await;
    let path = "/n32f-forward/v1/n32f-process";
    for method in [Method::POST, Method::OPTIONS] {
        let response = over_n32f(&world, empty(request(method, path))).await;
        assert_eq!(response.status(), 501);
    }
}

#[tokio::test]
async fn a_loop_ends_when_its_hops_are_used_up() {
    let world = World::new(Words::default()).await;
    let with = |hops: &'static str| {
        let mut request = to(UDM);
        request.headers_mut().insert("3gpp-sbi-max-forward-hops", HeaderValue::from_static(hops));
        request
    };
    // Two SEPPs are two hops.
    assert_eq!(world.ask(with("2; nodetype=sepp")).await.status(), 200);
    assert_eq!(world.udm.last().2["3gpp-sbi-max-forward-hops"], "0; nodetype=sepp");
    for hops in ["1; nodetype=sepp", "0; nodetype=sepp"] {
        let response = world.ask(with(hops)).await;
        assert_eq!(response.status(), 502, "{hops}");
        assert!(text(response).await.contains("MAX_SCP_HOPS_REACHED"), "{hops}");
    }
    assert_eq!(world.ask(with("many")).await.status(), 400);
    assert_eq!(world.udm.count(), 1);
}

#[tokio::test]
async fn each_kind_of_connection_carries_its_own() {
    let world = World::new(Words::default()).await;
    let path = "/n32c-handshake/v1/exchange-capability";
    let response = over_n32f(&world, empty(request(Method::POST, path))).await;
    assert_eq!(response.status(), 421);
    let connect = empty(request(Method::OPTIONS, "/n32c-handshake"));
    assert!(over_n32f(&world, connect).await.status().is_client_error());
}

#[tokio::test]
async fn a_refusal_before_judgement_uses_the_rate_too() {
    let visited_peer = "[peer.visited.guard]\nrate = { requests = 5 }";
    let world = World::new(Words { visited_peer, ..Words::default() }).await;
    let mut limited = 0;
    for _ in 0..50 {
        let mut nowhere = to(UDM);
        nowhere.headers_mut().remove("3gpp-sbi-target-apiroot");
        limited += usize::from(over_n32f(&world, nowhere).await.status() == 429);
    }
    assert!(limited > 0);
}

#[tokio::test]
async fn n32c_uses_the_rate_too() {
    let visited_peer = "[peer.visited.guard]\nrate = { requests = 1 }";
    let world = World::new(Words { visited_peer, ..Words::default() }).await;
    let tls = world.visited.relay.to(&HOME.parse().unwrap()).unwrap();
    let pool = pool(tls.n32c, world.home.n32c_address);
    let mut statuses = Vec::new();
    for _ in 0..20 {
        let request = request(Method::POST, "/n32c-handshake/v1/n32f-error");
        let error = Bytes::from_static(b"{\"n32fMessageId\":\"1\",\"n32fErrorType\":\"X\"}");
        let response = call(&pool, request.body(Body::full(error)).unwrap()).await;
        statuses.push(response.status().as_u16());
    }
    assert!(statuses.contains(&429), "{statuses:?}");
    assert!(world.home.seen.refused.lock().unwrap().iter().all(|it| it.1 == "rate"));
    assert!(statuses.iter().all(|status| [204, 429].contains(status)), "{statuses:?}");
}

#[tokio::test]
async fn a_rate_refuses_before_a_body_is_waited_for() {
    let visited_peer = "[peer.visited.guard]\nrate = { requests = 1 }";
    let world = World::new(Words { visited_peer, ..Words::default() }).await;
    let connector = world.visited.relay.to(&HOME.parse().unwrap()).unwrap().n32f;
    let socket = tokio::net::TcpStream::connect(world.home.n32f_address).await.unwrap();
    let to = tessera::Destination { server_name: HOME.to_owned(), ..Default::default() };
    let stream = connector.connect(to, socket).await.unwrap();
    let (mut client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let mut asked = Vec::new();
    for _ in 0..20 {
        let request = request(Method::POST, "/nausf-auth/v1/ue-authentications/echo")
            .header("content-type", "application/json")
            .body(())
            .unwrap();
        client = client.ready().await.unwrap();
        // The end of the body never comes.
        asked.push(client.send_request(request, false).unwrap());
    }
    let mut limited = 0;
    for (answer, _body) in asked {
        let answer = tokio::time::timeout(Duration::from_secs(1), answer).await;
        limited += usize::from(answer.is_ok_and(|it| it.unwrap().status() == 429));
    }
    assert!(limited >= 15, "{limited} of 20");
}

/// TS 33.501 §13.1.2: what N32-c and N32-f both prove.
#[tokio::test]
async fn a_certificate_on_n32f_represents_no_more_than_that_on_n32c() {
    let world = World::new(Words::default()).await;
    assert_eq!(world.ask(empty(request(Method::GET, AM_DATA))).await.status(), 200);
    let peer: Fqdn = VISITED.parse().unwrap();
    let association = world.home.relay.associations().established(&peer).unwrap();
    let ask = async |certificate: CertificateIdentity| {
        let identity = Identity {
            peer: peer.clone(),
            certificate,
            direction: Direction::Incoming,
            listener: Listener::N32f,
            association: Some(association.id),
            epoch: 0,
        };
        let connected = PeerConnection { identity: Arc::new(identity), mode: Mode::Full };
        let mut request = to(UDM);
        let network = HeaderValue::from_static("001-01");
        request.headers_mut().insert("3gpp-sbi-originating-network-id", network);
        world.home.relay.n32(&connected, request).await.status()
    };
    let same = association.certificate.clone();
    assert_eq!(ask(same.clone()).await, 200);
    assert_eq!(ask(CertificateIdentity { anchor: "another".into(), ..same.clone() }).await, 403);
    let more = ["001-01", "001-02", "001-03"].map(|id| id.parse().unwrap()).into_iter().collect();
    assert_eq!(ask(CertificateIdentity { plmns: more, ..same.clone() }).await, 403);
    assert_eq!(ask(CertificateIdentity { plmns: PlmnSet::default(), ..same }).await, 403);
}
