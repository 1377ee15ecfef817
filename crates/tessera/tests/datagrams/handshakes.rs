//! Handshakes without loss.

use std::time::Duration;

use tessera::Role;
use tessera::resume::ExternalPsk;
use tessera::wire::{CipherSuite, NamedGroup};
use tessera::{AssociationOptions, Destination, EarlyDataStatus};
use tessera_harness::{
    EARLY_DATA, Mode, Pair, Scene, at, credential, kem_credential, lossless, to,
};

use crate::world::{DELAY, begin, is_connected, scene, session, start, start_with};

#[test]
fn every_way_to_connect_works() {
    for mode in Mode::ALL {
        for max_datagram in [1200, 300, 96] {
            let scene = scene(mode);
            let options = AssociationOptions { max_datagram, ..AssociationOptions::default() };
            let mut pair = start(&scene, options, lossless(DELAY));
            pair.run();
            let what = format!("{mode:?}, {max_datagram} bytes");
            // In the shortest a hybrid ServerHello takes two bursts, and longer than the client's timer.
            if max_datagram > 96 {
                let resent = [pair.client.resent(), pair.server.resent()];
                assert_eq!(resent, [0; 2], "{what}: sent again");
            }
            is_connected(&mut pair, &what);
            let longest = pair.sent.iter().flatten().map(Vec::len).max();
            assert!(longest.is_some_and(|len| len <= max_datagram), "{what}: {longest:?}");
            assert_eq!(pair.client.facts().psk.is_some(), mode.resumes(), "{what}");
            assert_eq!(pair.client.facts().psk, pair.server.facts().psk, "{what}");
            if pair.client.facts().early_data != EarlyDataStatus::NotOffered {
                assert_eq!(pair.to_server.early_data, EARLY_DATA, "{what}");
                assert_eq!(pair.to_client.early_data_accepted, Some(true), "{what}");
            }
            assert!(!pair.to_client.sessions.is_empty(), "{what}");
        }
    }
}

/// Certificates longer than a record and than a datagram, in all flights and in both roles.
#[test]
fn messages_longer_than_a_record_travel_both_ways() {
    for limit in [64, 512, 2_048] {
        for mode in Mode::ALL {
            let mut scene = scene(mode);
            let mut long = if mode.is_kem() { kem_credential() } else { credential() };
            long.chain.extend(vec![vec![0x30; 2_000]; 3]);
            scene.server.credentials = vec![long.clone()];
            if mode.is_mutual() {
                scene.client.credentials = vec![long];
            }
            scene.client.record_size_limit = Some(limit);
            scene.server.record_size_limit = Some(limit);
            let mut pair = start(&scene, AssociationOptions::default(), lossless(DELAY));
            pair.run();
            is_connected(&mut pair, &format!("{mode:?}, {limit} bytes"));
        }
    }
}

/// RFC 9147 §5.7: a flight each way, and the ACK.
#[test]
fn a_handshake_takes_as_many_round_trips_as_flights_and_its_hello_one_datagram() {
    for mode in Mode::ALL {
        let mut pair = start(&scene(mode), AssociationOptions::default(), lossless(DELAY));
        while !(pair.to_client.complete && pair.to_server.complete) {
            pair.pass(DELAY / 4);
        }
        // The server is complete half a round trip after the client, but before it with a KEM.
        // A stranger's hybrid share is asked for.
        let (trips, datagrams) = match mode {
            Mode::Kem => (6, 5),
            Mode::KemMutual => (8, 8),
            _ if mode.resumes() => (3, 4),
            _ => (5, 4),
        };
        assert_eq!(pair.elapsed, DELAY * trips, "{mode:?}");
        assert!(pair.sent[Role::Client as usize].iter().all(|datagram| datagram.len() <= 1200));
        let before_answer = pair.sent[Role::Client as usize].len();
        assert!(before_answer <= datagrams, "{mode:?}: {before_answer} datagrams");
        assert_eq!(pair.client.dropped(), Default::default(), "{mode:?}");
        assert_eq!(pair.server.dropped(), Default::default(), "{mode:?}");
    }
}

#[test]
fn early_data_shares_the_datagram_of_its_hello() {
    for mode in [Mode::Replayable, Mode::FsDhe, Mode::FsKe, Mode::FsPsk] {
        // Hybrid shares and keys need two.
        let mut scene = scene(mode);
        scene.client.groups = vec![NamedGroup::X25519];
        scene.server.groups = vec![NamedGroup::X25519];
        if let Some(guard) = &mut scene.server.policy.early_data.forward_secret
            && mode != Mode::FsPsk
        {
            guard.kinds = vec![NamedGroup::X25519];
        }
        let mut pair = start(&scene, AssociationOptions::default(), lossless(DELAY));
        pair.transmit();
        assert_eq!(pair.sent[Role::Client as usize].len(), 1, "{mode:?}");
        pair.pass(DELAY);
        assert_eq!(pair.to_server.early_data, EARLY_DATA, "{mode:?}");
    }
}

#[test]
fn a_session_resumes_over_its_own_carrier_alone() {
    let scene = scene(Mode::PskDhe);
    let of_datagrams = session(&scene);
    assert!(of_datagrams.is_some());
    let of_stream = scene.session();
    let mut over_stream =
        Pair::start(&scene.client, &scene.server, to(of_datagrams), at(0)).expect("starts");
    over_stream.run();
    assert!(over_stream.to_client.complete && over_stream.client.facts().psk.is_none());
    let options = AssociationOptions::default();
    let mut over_datagrams = start_with(&scene, of_stream, options, lossless(DELAY));
    over_datagrams.run();
    assert!(over_datagrams.to_client.complete && over_datagrams.client.facts().psk.is_none());
}

/// dimpl #182: a client without use for tickets failed when they came.
#[test]
fn tickets_for_which_a_client_has_no_use_are_acknowledged() {
    let mut scene = scene(Mode::Full);
    let suite = CipherSuite::TLS_AES_128_GCM_SHA256;
    let psk = ExternalPsk::new(b"device".to_vec(), vec![7; 32].into(), suite);
    scene.server.external_psks = vec![psk.clone()];
    // It offers a PSK, and so its modes, to which the server answers with tickets.
    scene.client.policy.resumption = false;
    let options = [AssociationOptions::default(), AssociationOptions::default()];
    let sent_by_server = |scene: &Scene| {
        let destination = Destination { external_psks: vec![psk.clone()], ..to(None) };
        let mut pair = begin(scene, destination, options.clone(), lossless(DELAY));
        pair.run();
        assert!(pair.server.is_acknowledged() && pair.to_client.sessions.is_empty());
        is_connected(&mut pair, "without use for tickets");
        pair.sent[Role::Server as usize].concat().len()
    };
    let with_tickets = sent_by_server(&scene);
    scene.server.tickets = None;
    assert!(sent_by_server(&scene) + 100 < with_tickets, "it sent tickets");
}

#[test]
fn a_closed_association_reports_its_end_and_nothing_after_it() {
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    pair.run();
    pair.client.close();
    pair.pass(DELAY * 2);
    assert!(pair.to_server.closed && pair.to_server.error.is_none());
    assert!(pair.write(Role::Client, b"late").is_err());
    // The other direction stays open.
    pair.write(Role::Server, b"still here").expect("writes");
    pair.pass(DELAY * 2);
    assert_eq!(pair.to_client.data, b"still here");
    pair.server.close();
    pair.pass(DELAY * 2);
    assert!(pair.to_client.closed);
    let mut out = [0; 32];
    assert!(pair.client.export_keying_material(b"EXPORTER-test", b"", &mut out).is_err());
}

/// What it owes then, such as tickets, is sent neither in plaintext nor at all.
#[test]
fn a_server_that_closes_before_the_client_s_finished_sends_nothing_unprotected() {
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    while !pair.server.can_write() {
        pair.pass(DELAY / 2);
    }
    let sent = pair.sent[Role::Server as usize].len();
    pair.server.close();
    pair.pass(Duration::from_secs(60));
    assert!(pair.to_server.complete && pair.to_client.closed);
    let after = &pair.sent[Role::Server as usize][sent..];
    assert!(!after.is_empty() && after.iter().all(|datagram| datagram[0] & 0xe0 == 0x20));
    assert!(pair.to_client.sessions.is_empty());
}

#[test]
fn data_of_any_length_that_fits_passes_and_none_that_does_not() {
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    pair.run();
    let most = pair.client.max_data();
    for len in [1, 2, most - 1, most] {
        let data = vec![len as u8; len];
        pair.to_server.data.clear();
        pair.write(Role::Client, &data).expect("fits");
        pair.pass(DELAY);
        assert_eq!(pair.to_server.data, data, "{len}");
    }
    assert!(pair.write(Role::Client, &vec![0; most + 1]).is_err());
    let longest = pair.sent[Role::Client as usize].iter().map(Vec::len).max();
    assert!(longest.is_some_and(|len| len <= 1200), "{longest:?}");
}
