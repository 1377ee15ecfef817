//! Requests in a first flight: only the allowed ones.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Method};
use tessera_proxy::http::body::Body;
use tessera_sepp::identity::{Direction, Identity, Listener};
use tessera_sepp::names::Fqdn;
use tessera_sepp::reconnection::{Mode, PeerConnection};
use tessera_tokio::http::mark;

use crate::world::{AM_DATA, HOME, VISITED, Words, World, empty, request};

const OF_HOME: &str =
    "[peer.home.reconnection]\nearly-data = \"fs\"\nearly-methods = [\"GET\", \"PUT\"]";
const OF_VISITED: &str =
    "[peer.visited.reconnection]\nearly-data = \"fs\"\nearly-methods = [\"GET\", \"PUT\"]";

#[tokio::test]
async fn get_is_early_over_a_connection_that_comes_back_and_post_never() {
    let words = Words { home_peer: OF_HOME, visited_peer: OF_VISITED, ..Words::default() };
    let world = World::new(words).await;
    for (method, may_be_early) in [
        (Method::GET, false), // the association's first connection: certificates
        (Method::GET, true),
        (Method::POST, false),
        (Method::DELETE, false), // not configured
        (Method::GET, true),
    ] {
        let end = if method == Method::GET { "am-data" } else { "created" };
        let path = format!("/nudm-sdm/v2/imsi-999700000000001/{end}");
        let asked = request(method.clone(), &path);
        let response = match method {
            Method::POST => {
                let json = Body::full(Bytes::from_static(b"{}"));
                let asked = asked.header("content-type", "application/json").body(json).unwrap();
                world.ask(asked).await
            }
            _ => world.ask(empty(asked)).await,
        };
        assert!(response.status().is_success(), "{method}: {}", response.status());
        // Tickets come with the next bytes.
        assert!(world.ask(empty(request(Method::GET, AM_DATA))).await.status().is_success());
        let early = |sepp: &crate::world::Sepp| {
            let seen = sepp.seen.early.lock().unwrap();
            seen[seen.len() - 2]
        };
        assert_eq!(early(&world.visited), may_be_early, "{method}, as its sender sees it");
        // The handshake may complete before the receiver looks at the early data.
        assert!(may_be_early || !early(&world.home), "{method}, as its receiver sees it");
        world.visited.relay.close(&HOME.parse().unwrap());
    }
}

/// The peer may choose other methods than this SEPP.
#[tokio::test]
async fn a_method_that_may_not_be_early_is_425_until_the_handshake_is_complete() {
    let world = World::new(Words { visited_peer: OF_VISITED, ..Words::default() }).await;
    let peer: Fqdn = VISITED.parse().unwrap();
    let association = world.home.relay.associations().established(&peer).unwrap();
    let identity = Identity {
        peer,
        certificate: association.certificate.clone(),
        direction: Direction::Incoming,
        listener: Listener::N32f,
        association: Some(association.id),
        epoch: 0,
    };
    let connected = PeerConnection { identity: Arc::new(identity), mode: Mode::Full };
    let (socket, _client) = tokio::io::duplex(1024);
    let mut begun = world.home.relay.n32f_acceptor().unwrap().start(socket).unwrap();
    let watch = begun.handshake_watch();
    let ask = async |method: Method, is_early: bool| {
        let mut asked = empty(request(method, "/nudm-sdm/v2/imsi-999700000000001/created"));
        let network = HeaderValue::from_static("001-01");
        asked.headers_mut().insert("3gpp-sbi-originating-network-id", network);
        if is_early {
            mark(&mut asked, &watch);
        }
        world.home.relay.n32(&connected, asked).await.status().as_u16()
    };
    assert_eq!(ask(Method::GET, true).await, 201);
    assert_eq!(ask(Method::PUT, true).await, 201);
    assert_eq!(ask(Method::DELETE, true).await, 425);
    assert_eq!(ask(Method::DELETE, false).await, 201);
}
