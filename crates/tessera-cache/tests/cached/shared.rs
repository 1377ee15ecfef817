//! Concurrent connections of one client, in one process and in several that share what they know.

use std::sync::Arc;

use tessera::wire::{AlertDescription, ExtensionType};
use tessera_cache::ClientCache;
use tessera_harness::Mode;

use crate::refusals::edit_server;
use crate::refused::{REVOKED, connect, offers};
use crate::{Ends, NamingVerifier, hits_of, in_hello};

/// Starts all connections, and then completes them; returns for each whether the client's chain was sent as a
/// hash.
fn side_by_side<'a>(ends: impl IntoIterator<Item = &'a Ends>) -> Vec<bool> {
    let mut pairs: Vec<_> = ends.into_iter().map(Ends::start).collect();
    for pair in &mut pairs {
        pair.client_to_server();
    }
    for pair in &mut pairs {
        pair.run();
    }
    pairs.iter().for_each(|pair| assert!(pair.to_client.complete && pair.to_server.complete));
    pairs.iter().map(|pair| hits_of(pair).1).collect()
}

/// Starts a process of this client with what the file has for this many connections.
fn process(ends: &Ends, file: &ClientCache, connections: usize) -> Ends {
    let process = ends.another_client(&[b'c'; 800]);
    process.client.take_over(file, connections);
    process
}

/// Saves a process's cache at its end.
fn save(process: &Ends, file: &ClientCache) {
    file.take_over(&process.client, usize::MAX);
}

fn empty(ends: &Ends) -> ClientCache {
    ClientCache::new(&ends.scene.client.provider).expect("a cache")
}

#[test]
fn concurrent_connections_share_the_unsent_tickets() {
    let ends = Ends::new(Mode::Mutual);
    assert_eq!(side_by_side([&ends; 8]), [false; 8]);
    for _ in 0..3 {
        assert_eq!(side_by_side([&ends; 8]), [true; 8]);
    }
    // In sequence they are as good as ever, and the previous handshake's spare is in each hello.
    for _ in 0..5 {
        assert_eq!(ends.hits(), (true, true));
    }
}

#[test]
fn a_cache_that_hands_over_tickets_counts_the_bytes_that_are_left() {
    let ends = Ends::new(Mode::Mutual);
    let file = empty(&ends);
    assert_eq!(side_by_side([&ends; 4]), [false; 4]);
    file.take_over(&ends.client, usize::MAX);
    let process = process(&ends, &file, 1);
    let left = empty(&ends);
    left.import(&file.export()).expect("what it wrote");
    assert_eq!(file.metrics().bytes, left.metrics().bytes);
    assert!(process.client.metrics().bytes > 0);
}

#[test]
fn processes_side_by_side_share_the_tickets_of_a_file() {
    let ends = Ends::new(Mode::Mutual);
    let file = empty(&ends);
    for hits in [false, true, true] {
        let processes: Vec<_> = (0..8).map(|_| process(&ends, &file, 1)).collect();
        assert_eq!(side_by_side(&processes), [hits; 8]);
        processes.iter().for_each(|process| save(process, &file));
    }
    for _ in 0..5 {
        let process = process(&ends, &file, 1);
        assert_eq!(process.hits(), (true, true));
        save(&process, &file);
    }
}

#[test]
fn a_process_takes_what_all_its_connections_send() {
    let ends = Ends::new(Mode::Mutual);
    side_by_side([&ends; 8]);
    let file = empty(&ends);
    save(&ends, &file);
    let (three, five) = (process(&ends, &file, 3), process(&ends, &file, 5));
    let all = [[&three; 3].as_slice(), &[&five; 5]].concat();
    assert_eq!(side_by_side(all), [true; 8]);
}

/// If a cache were used after its export, it would send the file's tickets.
#[test]
fn no_ticket_is_in_two_places() {
    let ends = Ends::new(Mode::Mutual);
    (0..3).for_each(|_| drop(ends.connect()));
    let file = empty(&ends);
    save(&ends, &file);
    assert_eq!(ends.client.export(), ends.client.export_without_tickets());
    let process = process(&ends, &file, usize::MAX);
    assert_eq!(file.export(), file.export_without_tickets());
    assert_eq!(process.hits(), (true, true));
    assert_eq!(process.client.metrics().entries, 1);
    process.client.take_over(&process.client, 0);
    assert_eq!(process.hits(), (true, true), "of itself it has all");
}

/// A process that reaches no server returns its tickets, and another one sends them.
#[test]
fn tickets_that_were_not_sent_come_back_to_their_handshakes() {
    let ends = Ends::new(Mode::Mutual);
    (0..3).for_each(|_| drop(ends.connect()));
    let file = Arc::new(empty(&ends));
    save(&ends, &file);
    let before = file.export();
    for connections in [1, 2, usize::MAX] {
        save(&process(&ends, &file, connections), &file);
        assert!(file.export() == before, "{connections}");
    }
}

/// What a process without connections read at its start may be outdated.
#[test]
fn a_process_that_was_not_there_changes_nothing_but_tickets() {
    let ends = Ends::new(Mode::Mutual);
    ends.connect();
    let file = empty(&ends);
    save(&ends, &file);
    let (idle, failing) = (process(&ends, &file, 0), process(&ends, &file, 1));

    // The two ends may disagree about an id.
    drop(edit_server(&failing, |parts| parts[5] ^= 1));
    save(&failing, &file);
    let after = file.export();
    save(&idle, &file);
    assert!(file.export() == after);
    let next = process(&ends, &file, 1);
    let offered = in_hello(&next.start(), ExtensionType::CACHED_CERTIFICATES);
    assert_eq!(
        offered,
        Some(Vec::new()),
        "after a failure nothing is offered, whichever saves last"
    );
}

/// With the file's other tickets, later processes would get the reason in every second connection only.
#[test]
fn a_process_that_is_refused_leaves_no_ticket_in_the_file() {
    for mut ends in Ends::of_both(Mode::Mutual) {
        side_by_side([&ends; 8]);
        let file = empty(&ends);
        save(&ends, &file);
        assert!(file.export() != file.export_without_tickets());
        ends.judge_clients_by(NamingVerifier {
            refuses: Some(REVOKED),
            ..NamingVerifier::new("clients")
        });
        let connect = || {
            let process = process(&ends, &file, 1);
            let (pair, alert) = connect(&process);
            let shows_tickets = offers(&process, &pair).1;
            save(&process, &file);
            (shows_tickets, alert)
        };
        assert_eq!(connect(), (true, Some(AlertDescription::DECRYPT_ERROR)));
        assert!(file.export() == file.export_without_tickets(), "{:?}", ends.carrier);
        assert_eq!(connect(), (false, Some(REVOKED)));
        // It has tickets of the last handshake, which the server doesn't know.
        assert_eq!(connect(), (true, Some(REVOKED)));
    }
}

/// A server's verdict on the client's last flight arrives after the client's handshake is complete.
#[test]
fn a_verdict_learned_after_a_handover_is_handed_over_later() {
    for mut ends in Ends::of_both(Mode::Mutual) {
        side_by_side([&ends; 8]);
        let file = empty(&ends);
        save(&ends, &file);
        ends.judge_clients_by(NamingVerifier {
            refuses: Some(REVOKED),
            ..NamingVerifier::new("clients")
        });
        let refused = process(&ends, &file, 1);
        let mut pair = refused.start();
        pair.client_to_server();
        pair.server_to_client();
        assert!(pair.to_client.complete && pair.to_client.error.is_none());
        save(&refused, &file);
        pair.run();
        assert!(pair.to_client.error.is_some());
        save(&refused, &file);
        let next = process(&ends, &file, 1);
        let (pair, alert) = connect(&next);
        let heard = (offers(&next, &pair), alert);
        assert_eq!(heard, ((false, false), Some(REVOKED)), "{:?}", ends.carrier);
    }
}
