//! What clients make of `Alt-Svc`, and when they forget it.

use std::time::Duration;

use tessera_follow::Protocol;
use tokio::time::sleep;

use crate::common::{BOTH, World, get};

#[tokio::test]
async fn clear_sends_new_requests_back_to_the_origin() {
    for protocol in BOTH {
        let (world, a, b) = World::with_two(protocol).await;
        let client = world.client();
        get(&client, "/1").await.unwrap();
        b.announce("clear");
        a.announce("clear");
        for (path, expected) in [("/2", "b.example"), ("/3", "a.example"), ("/4", "a.example")] {
            assert_eq!(get(&client, path).await.unwrap().by, expected);
        }
    }
}

#[tokio::test]
async fn a_stale_alternative_is_left() {
    let (world, a, _b) = World::with_two(Protocol::Http2).await;
    let client = world.client();
    a.announce(&world.alternative("b.example", 1));
    get(&client, "/1").await.unwrap();
    assert_eq!(get(&client, "/2").await.unwrap().by, "b.example");
    sleep(Duration::from_millis(1050)).await;
    assert_eq!(get(&client, "/3").await.unwrap().by, "a.example");
}

/// RFC 7838 §3.1.
#[tokio::test]
async fn the_age_of_a_response_counts() {
    let (world, a, _b) = World::with_two(Protocol::Http2).await;
    let client = world.client();
    a.set_header("age", "60");
    for path in ["/1", "/2"] {
        assert_eq!(get(&client, path).await.unwrap().by, "a.example");
    }
    a.set_header("age", "59");
    get(&client, "/3").await.unwrap();
    assert_eq!(get(&client, "/4").await.unwrap().by, "b.example");
}

#[tokio::test]
async fn fields_that_are_malformed_or_of_other_protocols_are_not_followed() {
    let (world, a, _b) = World::with_two(Protocol::Http1).await;
    let client = world.client();
    for field in ["h3=\"b.example:443\"", "h2=b.example:443", "nonsense", "h2c=\"b.example:80\""] {
        a.announce(field);
        for path in ["/1", "/2"] {
            assert_eq!(get(&client, path).await.unwrap().by, "a.example", "{field}");
        }
    }
}

/// The configuration's protocols; without any, the client speaks HTTP/1.1.
#[tokio::test]
async fn a_client_without_http_2_follows_alternatives_of_http_1_alone() {
    for protocols in [vec![b"http/1.1".to_vec()], Vec::new()] {
        let (world, a, _b) = World::with_two(Protocol::Http1).await;
        let connector = world.connector();
        let mut config = (*connector.config()).clone();
        config.protocols = protocols;
        connector.replace(config.checked().unwrap());
        let client = tessera_follow::FollowingClient::over(world.names.clone(), connector);
        a.announce("h2=\"b.example:443\"");
        for path in ["/1", "/2"] {
            assert_eq!(get(&client, path).await.unwrap().by, "a.example");
        }
        assert_eq!(world.names.dialled("b.example"), 0);
        a.announce("h2=\"c.example:443\", http%2F1.1=\"b.example:443\"");
        get(&client, "/3").await.unwrap();
        assert_eq!(get(&client, "/4").await.unwrap().by, "b.example");
    }
}

#[tokio::test]
async fn a_change_of_the_network_ends_connections_and_keeps_what_persists() {
    for (parameter, expected) in [("", "a.example"), ("; persist=1", "b.example")] {
        let (world, a, _b) = World::with_two(Protocol::Http2).await;
        let client = world.client();
        a.announce(&(world.alternative("b.example", 60) + parameter));
        get(&client, "/1").await.unwrap();
        world.sessions.come().await;
        get(&client, "/2").await.unwrap();
        world.sessions.come().await;
        client.network_changed();
        let answer = get(&client, "/3").await.unwrap();
        // On a new connection, which was as fast as it can be.
        assert!(answer.by == expected && answer.early > 0, "{answer:?}");
        let dialled = ["server.example", "b.example"].map(|host| world.names.dialled(host));
        assert_eq!(dialled.iter().sum::<usize>(), 3);
    }
}
