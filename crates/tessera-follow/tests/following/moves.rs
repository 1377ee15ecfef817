//! Moves of a client from proxy to proxy.

use std::future::poll_fn;
use std::time::Duration;

use http::Request;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tessera::resume::PskKind;
use tessera_follow::Protocol;
use tower_service::Service;

use crate::common::{BOTH, ORIGIN, World, get, until, uri};

#[tokio::test]
async fn a_client_moves_with_its_ticket_and_its_request_is_early() {
    for protocol in BOTH {
        let (world, a, b) = World::with_two(protocol).await;
        let client = world.client();
        let first = get(&client, "/1").await.unwrap();
        assert_eq!((&*first.by, &*first.alternative, first.early), ("a.example", "", 0));
        world.sessions.come().await;

        let second = get(&client, "/2").await.unwrap();
        assert_eq!((&*second.by, &*second.alternative), ("b.example", "b.example"));
        assert!(second.early > 20, "{second:?}");
        let seen = b.seen().pop().unwrap();
        assert_eq!(seen.psk, Some(PskKind::ForwardSecret));
        // RFC 7838 §2: the application sees the origin, whatever the route; §5: the server sees both.
        assert_eq!((&*seen.host, seen.alt_used.as_deref()), (ORIGIN, Some("b.example")));
        assert_eq!(a.seen()[0].alt_used, None);
        assert_eq!((a.times("/2"), b.times("/2")), (0, 1));
    }
}

#[tokio::test]
async fn connections_to_the_earlier_proxy_end_and_its_requests_finish() {
    for protocol in BOTH {
        let (world, a, b) = World::with_two(protocol).await;
        let client = world.client();
        // A second connection, or stream, that is in progress during the move.
        let held = tokio::spawn({
            let client = client.clone();
            async move { get(&client, "/held").await }
        });
        until("the request is at A", || a.times("/held") == 1).await;
        get(&client, "/1").await.unwrap();
        for _ in 0..3 {
            assert_eq!(get(&client, "/2").await.unwrap().by, "b.example");
        }
        // hyper-util keeps a pool for as long as a request of it waits for its answer.
        assert_eq!((a.open() > 0, b.open()), (true, 1));
        a.release();
        assert_eq!(held.await.unwrap().unwrap().by, "a.example");
        until("no connection to A is left", || a.open() == 0).await;
        assert_eq!(b.times("/2"), 3);
    }
}

#[tokio::test]
async fn idle_connections_to_the_earlier_proxy_end_with_the_first_answer_of_the_next() {
    for protocol in BOTH {
        let (world, a, b) = World::with_two(protocol).await;
        let client = world.client();
        let (one, two) = tokio::join!(get(&client, "/1"), get(&client, "/1"));
        assert!(one.is_ok() && two.is_ok() && a.open() > 0);
        get(&client, "/2").await.unwrap();
        until("no connection to A is left", || a.open() == 0).await;
        assert_eq!((b.open(), b.times("/2")), (1, 1));
    }
}

#[tokio::test]
async fn a_chain_of_proxies_ends_where_an_announcement_leads_back() {
    for protocol in BOTH {
        let (world, a, b) = World::with_two(protocol).await;
        let c = world.proxy("c.example").await;
        b.announce(&world.alternative("c.example", 60));
        c.announce(&world.alternative("a.example", 60));
        let client = world.client();
        let mut hosts = Vec::new();
        for round in 0..5 {
            let answer = get(&client, &format!("/{round}")).await.unwrap();
            assert_eq!(answer.early > 0, round > 0, "{answer:?}");
            hosts.push(answer.by);
            world.sessions.come().await;
        }
        let expected = ["a.example", "b.example", "c.example", "a.example", "b.example"];
        assert_eq!(hosts, expected);
        // A by its own name, as an alternative.
        assert_eq!(a.seen()[1].alt_used.as_deref(), Some("a.example"));
        let executed = a.seen().len() + b.seen().len() + c.seen().len();
        assert_eq!(executed, 5);
    }
}

#[tokio::test]
async fn an_announcement_of_the_origin_itself_leads_back_without_alt_used() {
    let (world, a, b) = World::with_two(Protocol::Http2).await;
    b.announce("h2=\":443\"");
    let client = world.client();
    for expected in ["a.example", "b.example", "a.example"] {
        assert_eq!(get(&client, "/").await.unwrap().by, expected);
    }
    assert_eq!(a.seen()[1].alt_used, None);
}

/// A pooled connection is kept for as long as the route stays the same.
#[tokio::test]
async fn a_proxy_that_announces_itself_keeps_its_connections() {
    for protocol in BOTH {
        let (world, _a, b) = World::with_two(protocol).await;
        b.announce(&world.alternative("b.example", 60));
        let client = world.client();
        for _ in 0..6 {
            get(&client, "/").await.unwrap();
        }
        assert_eq!((b.times("/"), world.names.dialled("b.example")), (5, 1));
    }
}

/// hyper-util's settings, and the interface of tower.
#[tokio::test]
async fn a_client_is_a_service_with_the_settings_of_its_pools() {
    let (world, a, b) = World::with_two(Protocol::Http2).await;
    let mut pool = hyper_util::client::legacy::Client::builder(TokioExecutor::new());
    pool.pool_timer(TokioTimer::new()).pool_idle_timeout(Duration::from_millis(100));
    let mut client = world.client().with_pool(pool);
    for path in ["/1", "/2"] {
        let request = Request::get(uri(path)).body(Default::default()).unwrap();
        poll_fn(|cx| client.poll_ready(cx)).await.unwrap();
        assert_eq!(client.call(request).await.unwrap().status(), 200);
    }
    until("no connection is left", || a.open() + b.open() == 0).await;
    assert_eq!(b.times("/2"), 1);
}

#[tokio::test]
async fn each_origin_has_its_own_alternatives() {
    let (world, a, b) = World::with_two(Protocol::Http2).await;
    let client = world.client();
    get(&client, "/").await.unwrap();
    world.names.lead("other.example", a.address);
    // The certificate is for the first origin alone.
    let other = client.get("https://other.example/".parse().unwrap()).await.unwrap_err();
    assert!(other.is_connect());
    assert_eq!((world.names.dialled("other.example"), b.seen().len()), (1, 0));
}

#[tokio::test]
async fn plaintext_is_refused_and_follows_nothing() {
    let (world, a, _b) = World::with_two(Protocol::Http1).await;
    let client = world.client();
    get(&client, "/").await.unwrap();
    let error = client.get(format!("http://{ORIGIN}/").parse().unwrap()).await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
    assert_eq!(a.seen().len(), 1);
}
