//! What of a session other servers get, and what it is when it comes back.

use std::time::Duration;

use tessera::auth::{PeerIdentity, VerifierDigest};
use tessera::crypto::Secret;
use tessera::resume::{Ancestry, Carrier, Companion, FlightHandle, SessionState, TicketKeys};
use tessera::wire::CipherSuite;
use tessera_envoy_tickets::{Pool, SessionContext};

use super::pool::{NAME, NOW, key, opened, opened_for, pool, sealed, session, tickets, tickets_of};

#[test]
fn a_session_comes_back_as_it_was_but_with_classical_ancestry() {
    let tickets = tickets();
    let suites = [
        (CipherSuite::TLS_AES_128_GCM_SHA256, 32),
        (CipherSuite::TLS_CHACHA20_POLY1305_SHA256, 32),
        (CipherSuite::TLS_AES_256_GCM_SHA384, 48),
    ];
    for (suite, len) in suites {
        for protocol in [None, Some(b"h2".to_vec())] {
            let psk = Secret::from_slice(&vec![5; len]).unwrap();
            let before = SessionState { suite, psk, protocol, ..session() };
            let after = opened(&tickets, &sealed(&tickets, &before).unwrap()).unwrap();
            let expected = SessionState { ancestry: Ancestry::Classical, ..before };
            assert_eq!(*after.encode(), *expected.encode());
        }
    }
}

#[test]
fn times_are_whole_seconds_and_the_shortest_life_counts() {
    let tickets = tickets();
    let lives = |change: fn(&mut SessionState)| {
        let mut session = session();
        change(&mut session);
        let after = opened(&tickets, &sealed(&tickets, &session)?)?;
        Some((after.issued_at, after.lifetime, after.authenticated_at))
    };
    let (issued, authenticated) = (1_800_000_000_000, 1_799_999_000);
    assert_eq!(lives(|it| it.issued_at += 999), Some((issued, 3600, authenticated)));
    assert_eq!(lives(|it| it.lifetime = u32::MAX), Some((issued, 24 * 3600, authenticated)));
    // BoringSSL lets a chain live for a week.
    assert_eq!(
        lives(|it| it.authenticated_at -= 7 * 24 * 3600 - 1001),
        Some((issued, 1, 1_800_000_000 - 7 * 24 * 3600 + 1))
    );
    assert_eq!(lives(|it| it.authenticated_at -= 7 * 24 * 3600 - 999), None);
    // A clock that was ahead.
    assert_eq!(lives(|it| it.authenticated_at += 2000), Some((issued, 3600, 1_800_000_000)));
    assert_eq!(lives(|it| it.issued_at = 0), Some((0, 3600, 0)));
}

#[test]
fn a_session_of_other_names_or_another_pool_is_unknown() {
    let tickets = tickets();
    let ticket = sealed(&tickets, &session()).unwrap();
    for (name, covered) in [
        (NAME, true),
        ("WWW.Example", true),
        ("a.edge.example", true),
        ("A.EDGE.example", true),
        ("edge.example", false),
        (".edge.example", false),
        ("a.b.edge.example", false),
        ("www.example.org", false),
        ("*.edge.example", true),
        ("", false),
    ] {
        let session = opened_for(&tickets, &ticket, name);
        assert_eq!(session.is_some(), covered, "{name}");
        // The connection's own spelling, which the engine compares.
        assert!(session.is_none_or(|session| session.server_name.as_deref() == Some(name)));
    }
    let elsewhere = Pool { context: SessionContext([8; 32]), ..pool() };
    assert!(opened(&tickets_of(elsewhere, vec![key(1)]), &ticket).is_none());
    let empty = Pool { names: Vec::new(), ..pool() };
    assert!(opened(&tickets_of(empty, vec![key(1)]), &ticket).is_none());
}

#[test]
fn the_pools_scope_and_epoch_are_those_of_its_sessions() {
    let ticket = sealed(&tickets(), &session()).unwrap();
    let elsewhere = Pool { scope: vec![9], policy_epoch: 9, ..pool() };
    let session = opened(&tickets_of(elsewhere, vec![key(1)]), &ticket).unwrap();
    assert_eq!((session.scope, session.policy_epoch), (vec![9], 9));
}

type Restriction = fn(&mut SessionState);

#[test]
fn a_session_that_other_servers_cannot_uphold_keeps_our_form() {
    let tickets = tickets();
    let companion = Companion {
        id: [1; 32],
        handle: FlightHandle([2; 32]),
        max_early_data_size: 0,
        incarnation: None,
    };
    let restrict: [(&str, Restriction); 13] = [
        ("client certificate", |it| {
            it.peer = Some(PeerIdentity { blob: vec![1], expires_at: None });
            it.accepted_by = Some(VerifierDigest([1; 32]));
        }),
        ("client certificate without a verifier", |it| {
            it.peer = Some(PeerIdentity { blob: vec![1], expires_at: None });
        }),
        ("verifier", |it| it.accepted_by = Some(VerifierDigest([1; 32]))),
        ("external PSK", |it| it.external_psk = Some(vec![1])),
        ("PSK alone", |it| it.ancestry = Ancestry::PskOnly),
        ("replayable early data", |it| it.max_early_data_size = 1),
        ("scope", |it| it.scope.push(0)),
        ("epoch", |it| it.policy_epoch += 1),
        ("carrier", |it| it.carrier = Carrier(1)),
        ("name", |it| it.server_name = Some("www.elsewhere".into())),
        ("no name", |it| it.server_name = None),
        ("suite", |it| it.suite = CipherSuite(0x1304)),
        ("length of the PSK", |it| it.suite = CipherSuite::TLS_AES_256_GCM_SHA384),
    ];
    for (what, restrict) in restrict {
        let mut session = session();
        restrict(&mut session);
        assert!(sealed(&tickets, &session).is_none(), "{what}");
    }
    let with_companion = SessionState { companion: Some(companion), ..session() };
    assert!(sealed(&tickets, &with_companion).is_none());
    assert!(sealed(&tickets, &session()).is_some());
    // They open as before.
    let own = with_companion.encode();
    assert_eq!(*opened(&tickets, &own).unwrap().encode(), *own);
}

#[test]
fn other_purposes_are_those_of_the_own_keys() {
    let tickets = tickets();
    let provider = tessera_aws_lc::provider();
    let own = std::sync::Arc::new(tessera_vault::RotatingRing::new(&provider));
    let tickets_over_ring = tessera_envoy_tickets::EnvoyTickets::new(pool(), own.clone());
    let sealed = tickets_over_ring.seal_for(b"purpose", b"contents", NOW).unwrap();
    assert_eq!(own.open_for(b"purpose", &sealed, NOW).as_deref(), Some(&b"contents"[..]));
    let opened = tickets_over_ring.open_for(b"purpose", &sealed, NOW + Duration::from_secs(1));
    assert_eq!(opened.as_deref(), Some(&b"contents"[..]));
    assert!(tickets.seal_for(b"purpose", b"contents", NOW).is_none(), "own keys that can't");
}
