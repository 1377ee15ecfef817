//! Alternatives that can't be used: requests return to the origin at once.

use std::thread;
use std::time::{Duration, Instant};

use http::Request;
use http_body_util::BodyExt;
use http_body_util::channel::Channel;
use hyper::body::Bytes;
use tessera::ServerConfig;
use tessera_follow::{FollowingClient, Protocol};
use tokio::runtime::Builder;

use crate::common::trouble::{black_hole, closed_port};
use crate::common::{BOTH, Client, LONG, ORIGIN, Proxy, SHORT, World, get, post, uri};

/// Sends requests while B is dead: the origin answers all of them, and B is tried once.
async fn returns_to_the_origin(world: &World, a: &Proxy, client: &Client) -> Duration {
    get(client, "/1").await.unwrap();
    let began = Instant::now();
    let answer = post(client, "/2", "body").await.unwrap();
    let took = began.elapsed();
    assert_eq!((&*answer.by, &*answer.alternative), ("a.example", ""));
    // A announces B again with each response.
    for path in ["/3", "/4"] {
        assert_eq!(get(client, path).await.unwrap().by, "a.example");
    }
    assert_eq!(a.seen().len(), 4);
    assert_eq!(a.seen()[1].body, "body");
    // RFC 7838 §5: it names the alternative in use.
    assert!(a.seen().iter().all(|seen| seen.alt_used.is_none()));
    assert_eq!((a.times("/2"), world.names.dialled("b.example")), (1, 1));
    // The connection from before is still there.
    assert_eq!(world.names.dialled(ORIGIN), 1);
    took
}

#[tokio::test]
async fn a_closed_port_sends_the_request_to_the_origin() {
    for protocol in BOTH {
        let (world, a, b) = World::with_two(protocol).await;
        drop(b);
        world.names.lead("b.example", closed_port().await);
        let client = world.client();
        let took = returns_to_the_origin(&world, &a, &client).await;
        assert!(took < LONG, "{took:?}");
    }
}

#[tokio::test]
async fn a_name_that_leads_nowhere_sends_the_request_to_the_origin() {
    let (world, a, _b) = World::with_two(Protocol::Http2).await;
    a.announce(&world.alternative("nowhere.example", 60));
    let client = world.client();
    for path in ["/1", "/2"] {
        assert_eq!(get(&client, path).await.unwrap().by, "a.example");
    }
}

/// Without a ticket nothing of the request is sent before the handshake is complete.
#[tokio::test]
async fn silence_sends_the_request_to_the_origin_when_patience_ends() {
    for protocol in BOTH {
        let (world, a, _b) = World::with_two(protocol).await;
        let (_listener, address) = black_hole().await;
        world.names.lead("b.example", address);
        let client = world.client_without_sessions().with_patience(SHORT);
        let took = returns_to_the_origin(&world, &a, &client).await;
        // A handshake of Tessera ends by itself after 10 seconds.
        assert!(took >= SHORT && took < Duration::from_secs(5), "{took:?}");
    }
}

/// What B is configured as, and the client must refuse.
async fn refuses(protocol: Protocol, config: impl Fn(&World) -> ServerConfig) {
    let (world, a, _b) = World::with_two(protocol).await;
    let b = world.proxy_with("b.example", config(&world)).await;
    let took = returns_to_the_origin(&world, &a, &world.client_without_sessions()).await;
    assert!(b.seen().is_empty() && took < LONG, "{took:?}");
}

/// RFC 7838 §2.1.
#[tokio::test]
async fn a_certificate_of_another_name_is_refused() {
    for protocol in BOTH {
        refuses(protocol, |world| {
            world.strange_config(world.authority.issue("b.example").credential())
        })
        .await;
    }
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_refused() {
    let other = tessera_pki::Authority::new("another authority");
    refuses(Protocol::Http2, |world| world.strange_config(other.issue(ORIGIN).credential())).await;
}

/// RFC 7838 §2.4.
#[tokio::test]
async fn another_protocol_than_the_announced_one_is_refused() {
    for protocol in BOTH {
        refuses(protocol, |world| {
            let mut config = world.server_config();
            let other = BOTH.into_iter().find(|it| *it != world.protocol).unwrap();
            config.protocols = vec![other.alpn().to_vec()];
            config
        })
        .await;
    }
}

#[tokio::test]
async fn a_proxy_that_dies_later_is_left_and_used_again_when_it_is_back() {
    for protocol in BOTH {
        let (world, a, mut b) = World::with_two(protocol).await;
        let client = world.client();
        get(&client, "/1").await.unwrap();
        for path in ["/2", "/3"] {
            assert_eq!(get(&client, path).await.unwrap().by, "b.example");
        }
        b.kill().await;
        assert_eq!(get(&client, "/4").await.unwrap().by, "a.example");
        assert_eq!(a.times("/4"), 1);
        let _b = world.proxy("b.example").await;
        // The pause after the first failure.
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(get(&client, "/5").await.unwrap().by, "b.example");
    }
}

/// A connection that ends while the client does nothing may take a request before it notices.
#[tokio::test]
async fn a_request_for_a_connection_that_has_ended_is_executed_once_at_most() {
    for protocol in BOTH {
        let (world, a, b) = World::with_two(protocol).await;
        drop(b);
        // B, on threads of its own.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let start = || runtime.block_on(world.proxy("b.example"));
        let b = thread::scope(|threads| threads.spawn(start).join()).unwrap();
        let client = world.client();
        get(&client, "/1").await.unwrap();
        assert_eq!(get(&client, "/2").await.unwrap().by, "b.example");
        thread::spawn(move || drop(runtime)).join().unwrap();
        let answer = post(&client, "/3", "body").await;
        assert_eq!((a.times("/3"), b.times("/3")), (usize::from(answer.is_ok()), 0));
        assert_eq!(get(&client, "/4").await.unwrap().by, "a.example");
    }
}

/// A body that can't be cloned is still there for the origin.
#[tokio::test]
async fn a_streamed_body_goes_to_the_origin_whole() {
    for protocol in BOTH {
        let (world, a, b) = World::with_two(protocol).await;
        drop(b);
        world.names.lead("b.example", closed_port().await);
        let client = FollowingClient::over(world.names.clone(), world.connector());
        for (number, by) in [(1, "a.example"), (2, "a.example")] {
            let (mut sender, body) = Channel::<Bytes>::new(1);
            let request = Request::post(uri(&format!("/{number}"))).body(body).unwrap();
            let sending = async {
                for part in ["one, ", "two, ", "three"] {
                    sender.send_data(part.into()).await.unwrap();
                }
                drop(sender);
            };
            let (response, ()) = tokio::join!(client.request(request), sending);
            let body = response.unwrap().into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, by);
        }
        assert_eq!(a.seen()[1].body, "one, two, three");
    }
}

#[tokio::test]
async fn if_the_origin_is_dead_too_the_caller_gets_its_error() {
    let (world, mut a, b) = World::with_two(Protocol::Http2).await;
    let client = world.client();
    get(&client, "/1").await.unwrap();
    drop(b);
    a.kill().await;
    world.names.lead("b.example", closed_port().await);
    let error = get(&client, "/2").await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
}
