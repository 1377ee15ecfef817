//! First flights at an alternative: what may have been executed is not sent again.

use std::io;
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::channel::Channel;
use hyper::body::{Bytes, Incoming};
use tessera::resume::Verdict;
use tessera_follow::{FollowingClient, Protocol};
use tessera_tokio::hyper::first_flight_error;
use tokio::time::timeout;

use crate::common::trouble::{black_hole, reset_after_flight, swallows_answers};
use crate::common::{BOTH, Client, ORIGIN, SHORT, World, get, post, uri};

/// Fails with the flight's name and the verdict `unknown`; the next request goes to the origin.
async fn fails_without_an_answer(world: &World, client: &Client, path: &str) {
    get(client, "/1").await.unwrap();
    world.sessions.come().await;
    let error = get(client, path).await.unwrap_err();
    let flight = first_flight_error(&error).expect("the error of a first flight");
    assert_eq!(flight.verdict(), Some(Verdict::Unknown), "{error:?}");
    assert!(flight.flight().is_some() && !flight.may_be_sent_again());
    let next = get(client, "/next").await.unwrap();
    assert_eq!((&*next.by, &*next.alternative), ("a.example", ""));
}

#[tokio::test]
async fn a_flight_whose_answer_is_lost_is_an_error_and_executed_once() {
    for protocol in BOTH {
        let (world, a, b) = World::with_two(protocol).await;
        let path = swallows_answers(b.address, b.executed()).await;
        world.names.lead("b.example", path);
        fails_without_an_answer(&world, &world.client(), "/once").await;
        assert_eq!((a.times("/once"), b.times("/once")), (0, 1));
    }
}

#[tokio::test]
async fn a_flight_that_is_reset_on_its_way_is_an_error_and_not_sent_again() {
    for protocol in BOTH {
        let (world, a, b) = World::with_two(protocol).await;
        world.names.lead("b.example", reset_after_flight().await);
        fails_without_an_answer(&world, &world.client(), "/once").await;
        assert_eq!((a.times("/once"), b.times("/once")), (0, 0));
    }
}

/// It can't open the ticket, so that only the certificate shows that it isn't the origin: too late.
#[tokio::test]
async fn a_flight_to_a_server_that_is_not_the_origin_is_an_error() {
    let (world, a, _b) = World::with_two(Protocol::Http2).await;
    let config = world.strange_config(world.authority.issue("b.example").credential());
    let b = world.proxy_with("b.example", config).await;
    fails_without_an_answer(&world, &world.client(), "/once").await;
    assert_eq!((a.times("/once"), b.seen().len()), (0, 0));
}

/// The server refuses early data in another protocol, burns its key, and proves that: nothing was executed.
#[tokio::test]
async fn a_flight_that_is_burned_and_not_resent_goes_to_the_origin_unless_its_body_was_read() {
    for protocol in BOTH {
        let (world, a, _b) = World::with_two(protocol).await;
        let mut config = world.server_config();
        let other = BOTH.into_iter().find(|it| *it != protocol).unwrap();
        config.protocols = vec![other.alpn().to_vec()];
        let b = world.proxy_with("b.example", config).await;
        for (path, has_body) in [("/empty", false), ("/body", true)] {
            let client = world.client();
            get(&client, "/1").await.unwrap();
            world.sessions.come().await;
            let answer = match has_body {
                false => get(&client, path).await,
                true => post(&client, path, "body").await,
            };
            match answer {
                Ok(answer) => assert!(!has_body && answer.by == "a.example", "{answer:?}"),
                Err(error) => {
                    let flight = first_flight_error(&error).unwrap();
                    assert!(has_body && flight.may_be_sent_again(), "{error:?}");
                }
            }
            assert_eq!(a.times(path), usize::from(!has_body));
        }
        assert!(b.seen().is_empty());
        assert_eq!(world.names.dialled("b.example"), 2);
    }
}

/// The request in the flight waits; the client can't know more. Others don't wait with it.
#[tokio::test]
async fn a_flight_into_silence_holds_up_no_later_request() {
    for protocol in BOTH {
        let (world, a, _b) = World::with_two(protocol).await;
        let (_listener, address) = black_hole().await;
        world.names.lead("b.example", address);
        let client = world.client().with_patience(SHORT);
        get(&client, "/1").await.unwrap();
        world.sessions.come().await;
        let silent = tokio::spawn({
            let client = client.clone();
            async move { timeout(2 * SHORT, get(&client, "/silent")).await }
        });
        tokio::time::sleep(SHORT + Duration::from_millis(100)).await;
        assert_eq!(get(&client, "/2").await.unwrap().by, "a.example");
        assert!(silent.await.unwrap().is_err(), "it was neither answered nor sent again");
        assert_eq!((a.times("/silent"), world.names.dialled("b.example")), (0, 1));
    }
}

/// A proxy that has answered before, and whose host disappears: nothing ends the connection.
#[tokio::test]
async fn after_a_request_that_was_given_up_in_silence_others_go_to_the_origin() {
    for protocol in BOTH {
        let (world, _a, b) = World::with_two(protocol).await;
        let client = world.client().with_patience(SHORT);
        get(&client, "/1").await.unwrap();
        assert_eq!(get(&client, "/2").await.unwrap().by, "b.example");
        let given_up = timeout(SHORT + Duration::from_millis(50), get(&client, "/held")).await;
        assert!(given_up.is_err());
        assert_eq!(get(&client, "/3").await.unwrap().by, "a.example");
        assert_eq!(b.times("/held"), 1);
        assert_eq!(world.names.dialled(ORIGIN), 2);
    }
}

/// Callers that never wait for as long as the client would.
#[tokio::test]
async fn impatient_callers_are_not_sent_into_silence_for_ever() {
    for sessions in [true, false] {
        let (world, _a, _b) = World::with_two(Protocol::Http2).await;
        let (_listener, address) = black_hole().await;
        world.names.lead("b.example", address);
        let client = if sessions { world.client() } else { world.client_without_sessions() };
        let client = client.with_patience(SHORT);
        get(&client, "/1").await.unwrap();
        let mut failures = 0;
        while timeout(SHORT / 3, get(&client, "/2")).await.is_err() {
            failures += 1;
        }
        assert!((2..=10).contains(&failures), "{failures}");
    }
}

/// The other requests show that the proxy is alive.
#[tokio::test]
async fn a_slow_request_that_is_given_up_next_to_others_changes_nothing() {
    let (world, _a, b) = World::with_two(Protocol::Http2).await;
    b.announce(&world.alternative("b.example", 60));
    let client = world.client().with_patience(SHORT);
    get(&client, "/1").await.unwrap();
    get(&client, "/2").await.unwrap();
    let slow = timeout(SHORT + Duration::from_millis(50), get(&client, "/held"));
    let others = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        get(&client, "/3").await.unwrap()
    };
    let (slow, _) = tokio::join!(slow, others);
    assert!(slow.is_err());
    assert_eq!(get(&client, "/4").await.unwrap().by, "b.example");
}

/// So does an answer that comes late.
#[tokio::test]
async fn a_first_answer_that_comes_late_brings_the_next_requests_back() {
    for protocol in BOTH {
        let (world, _a, b) = World::with_two(protocol).await;
        let client = world.client().with_patience(SHORT);
        get(&client, "/1").await.unwrap();
        let late = get(&client, "/held");
        let others = async {
            tokio::time::sleep(SHORT + Duration::from_millis(100)).await;
            assert_eq!(get(&client, "/2").await.unwrap().by, "a.example");
            b.release();
        };
        let (late, ()) = tokio::join!(late, others);
        assert_eq!(late.unwrap().by, "b.example");
        assert_eq!(get(&client, "/3").await.unwrap().by, "b.example");
    }
}

/// One request fails, and the others show that the proxy is alive.
#[tokio::test]
async fn a_stream_that_is_reset_next_to_others_changes_nothing() {
    let (world, a, _b) = World::with_two(Protocol::Http2).await;
    let client = world.client();
    get(&client, "/1").await.unwrap();
    get(&client, "/2").await.unwrap();
    let (reset, other) = tokio::join!(get(&client, "/reset"), get(&client, "/3"));
    assert!(!reset.unwrap_err().is_connect() && other.is_ok());
    assert_eq!(get(&client, "/4").await.unwrap().by, "b.example");
    // Alone, it may be the proxy's end.
    assert!(get(&client, "/reset").await.is_err());
    assert_eq!(get(&client, "/5").await.unwrap().by, "a.example");
    assert_eq!(a.times("/reset"), 0);
}

#[tokio::test]
async fn a_body_that_fails_is_not_the_fault_of_the_proxy() {
    for protocol in BOTH {
        let (world, a, b) = World::with_two(protocol).await;
        let client = FollowingClient::over(world.names.clone(), world.connector());
        for (path, expected) in [("/1", "a.example"), ("/2", "b.example"), ("/failed", "")] {
            let (mut sender, body) = Channel::<Bytes, io::Error>::new(1);
            let request = Request::post(uri(path)).body(body).unwrap();
            let sending = async {
                sender.send_data("one".into()).await.unwrap();
                if expected.is_empty() {
                    sender.abort(io::Error::other("no more"));
                }
            };
            match tokio::join!(client.request(request), sending).0 {
                Ok(answer) => assert_eq!(body_of(answer).await, expected),
                Err(error) => assert!(expected.is_empty(), "{error:?}"),
            }
        }
        let next = client.request(Request::get(uri("/3")).body(Channel::new(1).1).unwrap());
        assert_eq!(body_of(next.await.unwrap()).await, "b.example");
        assert_eq!((a.times("/failed"), b.times("/failed")), (0, 0));
    }
}

async fn body_of(response: Response<Incoming>) -> Bytes {
    response.into_body().collect().await.unwrap().to_bytes()
}

/// After the first flight, an error on a connection that has taken the request is the caller's, too.
#[tokio::test]
async fn a_request_that_a_dying_proxy_took_is_not_sent_again() {
    for protocol in BOTH {
        let (world, a, mut b) = World::with_two(protocol).await;
        let client = world.client();
        get(&client, "/1").await.unwrap();
        get(&client, "/2").await.unwrap();
        let mut executed = b.executed();
        executed.mark_unchanged();
        let asking = get(&client, "/held");
        let killing = async {
            executed.changed().await.unwrap();
            b.kill().await;
        };
        let (answer, ()) = tokio::join!(asking, killing);
        let error = answer.unwrap_err();
        assert!(!error.is_connect(), "{error:?}");
        assert_eq!((a.times("/held"), b.times("/held")), (0, 1));
        assert_eq!(get(&client, "/3").await.unwrap().by, "a.example");
    }
}
