//! Bounds on what a client can make a server remember.

use tessera_harness::{Mode, Pair};

use crate::{Ends, chain, hits_of};

/// A thousand concurrent connections of one client: the server remembers eight of its tickets.
#[test]
fn a_thousand_connections_of_one_client_leave_one_entry() {
    let ends = Ends::new(Mode::Mutual);
    ends.connect();
    let bytes = ends.server.metrics().bytes;
    let mut pairs: Vec<Pair> = (0..1000).map(|_| ends.start()).collect();
    for pair in &mut pairs {
        pair.run();
    }
    assert!(pairs.iter().all(|pair| pair.to_server.complete));
    let server = ends.server.metrics();
    assert_eq!(server.entries, 1);
    assert!(server.bytes < bytes + 200, "{} bytes", server.bytes);
    // The client keeps the tickets of four handshakes.
    assert_eq!(ends.client.metrics().entries, 1);
    assert_eq!(ends.hits(), (true, true));
}

#[test]
fn several_connections_at_once_are_all_cached() {
    let ends = Ends::new(Mode::Mutual);
    // Two connections at a time, until both ends have enough tickets.
    for _ in 0..4 {
        let mut pairs = [ends.start(), ends.start()];
        for pair in &mut pairs {
            pair.run();
        }
    }
    let mut pairs = [ends.start(), ends.start()];
    for pair in &mut pairs {
        pair.run();
        assert_eq!(hits_of(pair), (true, true));
    }
}

/// What follows the leaf is the client's choice: it must not multiply what is kept.
#[test]
fn a_client_that_sends_ever_other_issuers_has_one_entry() {
    let mut ends = Ends::new(Mode::Mutual);
    for at in 0..20 {
        ends.scene.client.credentials = vec![chain(&[b'c'; 800], &[at; 600])];
        ends.connect();
    }
    assert_eq!(ends.server.metrics().entries, 1);
    assert_eq!(ends.hits(), (true, true));
}
