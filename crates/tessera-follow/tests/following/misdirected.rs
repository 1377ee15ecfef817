//! The status 421 (RFC 9110 §15.5.20, RFC 7838 §6).

use http::StatusCode;
use tessera_follow::Protocol;

use crate::common::{BOTH, World, get, post};

#[tokio::test]
async fn a_request_that_an_alternative_declines_goes_to_the_origin_once() {
    for protocol in BOTH {
        let (world, a, b) = World::with_two(protocol).await;
        let client = world.client();
        get(&client, "/1").await.unwrap();
        b.answer_with(StatusCode::MISDIRECTED_REQUEST);
        // Must be ignored.
        b.announce(&world.alternative("c.example", 60));
        let answer = get(&client, "/2").await.unwrap();
        assert_eq!((answer.status, &*answer.by), (StatusCode::OK, "a.example"));
        assert_eq!((a.times("/2"), world.names.dialled("b.example")), (1, 1));
        // A announces B again with each response.
        for path in ["/3", "/4"] {
            assert_eq!(get(&client, path).await.unwrap().by, "a.example");
        }
        let dialled = ["b.example", "c.example"].map(|host| world.names.dialled(host));
        assert_eq!(dialled, [1, 0]);
    }
}

/// The first connection has read the body.
#[tokio::test]
async fn a_request_with_a_body_returns_the_status_to_its_caller() {
    for protocol in BOTH {
        let (world, a, b) = World::with_two(protocol).await;
        let client = world.client();
        get(&client, "/1").await.unwrap();
        b.answer_with(StatusCode::MISDIRECTED_REQUEST);
        let answer = post(&client, "/2", "body").await.unwrap();
        assert_eq!((answer.status, &*answer.by), (StatusCode::MISDIRECTED_REQUEST, "b.example"));
        assert_eq!(post(&client, "/3", "body").await.unwrap().by, "a.example");
        assert_eq!((a.times("/2"), a.times("/3")), (0, 1));
    }
}

#[tokio::test]
async fn the_origin_may_answer_with_it_too() {
    let (world, a, b) = World::with_two(Protocol::Http2).await;
    a.answer_with(StatusCode::MISDIRECTED_REQUEST);
    let client = world.client();
    for path in ["/1", "/2"] {
        let answer = get(&client, path).await.unwrap();
        assert_eq!((answer.status, &*answer.by), (StatusCode::MISDIRECTED_REQUEST, "a.example"));
    }
    assert!(b.seen().is_empty());
}
