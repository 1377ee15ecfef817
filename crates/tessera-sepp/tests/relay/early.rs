//! Requests in a first flight: only the allowed ones.

use bytes::Bytes;
use http::Method;
use tessera_proxy::http::body::Body;

use crate::world::{AM_DATA, HOME, Words, World, empty, request};

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
