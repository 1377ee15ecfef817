//! What a connection takes is at most what its configuration states, with any peer; `check_heap` finds out whether it is free.

use std::num::NonZeroU16;
use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera::handshake::ClientAuthentication;
use tessera::resume::ExternalPsk;
use tessera::wire::{CipherSuite, NamedGroup};
use tessera::{ClientConfig, Destination, Error, Limits, Padding, Role, ServerConfig};
use tessera_harness::{UnsealedTickets, message, plain};
use tessera_heap_tests::{Heap, heap, on_heap, set_heap};
use tessera_null_provider::{NullSigner, NullVerifier};

use crate::ends::Ends;
use crate::provider::{PROVIDER, WITH_KEMS};
use crate::static_keys::{KEMS, StaticKey};

/// What both ends are made of.
pub type Configs = (ClientConfig, ServerConfig);

pub const GROUPS: [NamedGroup; 2] = [NamedGroup::X25519, NamedGroup::X25519MLKEM768];

fn psk() -> ExternalPsk {
    let suite = CipherSuite::TLS_CHACHA20_POLY1305_SHA256;
    ExternalPsk::new(b"device".to_vec(), vec![7; 32].into(), suite)
}

pub fn limits(longest: usize, certificate: usize, tickets: u8) -> Limits {
    Limits {
        handshake_message: longest,
        certificate_message: certificate,
        client_hello: longest.max(600),
        tickets,
    }
}

/// The ends of a device: a PSK, one suite, one group, small limits.
fn with_psk(group: NamedGroup) -> Configs {
    let longest = if group == NamedGroup::X25519 { 256 } else { 1_536 };
    let mut client = ClientConfig::new(PROVIDER, Arc::new(NullVerifier));
    client.groups = vec![group];
    client.suites = vec![CipherSuite::TLS_CHACHA20_POLY1305_SHA256];
    client.limits = limits(longest, longest, 0);
    client.policy.resumption = false;
    let mut server = ServerConfig::new(PROVIDER, Vec::new());
    (server.groups, server.suites) = (client.groups.clone(), client.suites.clone());
    server.limits = client.limits;
    server.external_psks = vec![psk()];
    (client, server)
}

fn credential(len: usize) -> Credential {
    Credential::new(vec![vec![0x30; len]; 3], PrivateKey::Signs(Arc::new(NullSigner)))
}

/// The ends of a device with chains on both sides, in all suites, and with tickets.
pub fn with_certificates(group: NamedGroup) -> Configs {
    let (mut client, mut server) = with_psk(group);
    client.limits = limits(2_048, 4_096, 2);
    server.limits = client.limits;
    client.suites = PROVIDER.suites.iter().map(|suite| suite.id).collect();
    server.suites = vec![CipherSuite::TLS_AES_256_GCM_SHA384];
    client.policy.resumption = true;
    client.credentials = vec![credential(1_200)];
    server.credentials = vec![credential(1_200)];
    server.client_authentication = ClientAuthentication::Required(Arc::new(NullVerifier));
    server.tickets = Some(Arc::new(UnsealedTickets));
    (client, server)
}

pub fn to(psks: bool) -> Destination {
    Destination {
        server_name: "server.example".into(),
        external_psks: if psks { vec![psk()] } else { Vec::new() },
        ..Destination::default()
    }
}

/// Clients that know their server's key, with a PSK's limits, and with those of certificates.
fn with_known_keys(group: NamedGroup) -> [Configs; 2] {
    [with_psk(group), with_certificates(group)].map(|(mut client, mut server)| {
        client.provider = WITH_KEMS;
        // A known key is of SHA-256.
        client.suites = vec![CipherSuite::TLS_CHACHA20_POLY1305_SHA256];
        server.suites = client.suites.clone();
        client.credentials.clear();
        (client, server)
    })
}

fn to_known() -> Destination {
    Destination { known_server_key: Some(StaticKey(KEMS[1]).known()), ..to(false) }
}

/// Connects in pieces of several sizes, and resumes if there is a session; returns the peak. The heap has `limit` bytes.
pub fn connect(
    (client, server): &Configs,
    to: &dyn Fn() -> Destination,
    counted: Role,
    limit: impl Fn(&Destination) -> usize,
) -> usize {
    let ends = Ends {
        client: client.clone().checked().unwrap(),
        server: server.clone().checked().unwrap(),
    };
    let mut peak = 0;
    let mut session = None;
    for piece in [1, 7, 100, 100_000, 100_000] {
        let destination = Destination { session: session.map(Box::new), ..to() };
        let limit = limit(&destination);
        let mut pair = ends.start_with(destination, counted, limit as isize).unwrap();
        let heap = pair.run(piece);
        assert_eq!((&pair.client.error, &pair.server.error), (&None, &None));
        assert!(pair.client.is_complete && pair.server.is_complete);
        assert_eq!(heap.refused, 0);
        assert!(heap.peak as usize <= limit, "{} of {limit}, {counted:?}", heap.peak);
        peak = peak.max(heap.peak as usize);
        session = pair.client.sessions.pop();
    }
    peak
}

#[test]
fn with_a_psk_at_most_what_is_stated_is_taken_and_by_clients_nearly_half() {
    for group in GROUPS {
        let ends = with_psk(group);
        let [of_client, of_server] = [ends.0.heap_needed(&to(true)), ends.1.heap_needed()];
        for (role, needed) in [(Role::Client, of_client), (Role::Server, of_server)] {
            let peak = connect(&ends, &|| to(true), role, |_| needed);
            println!("PSK, {group:?}, {role:?}: {peak} of {needed} bytes");
            assert!(4 * needed <= 9 * peak || role == Role::Server, "{peak} of {needed}");
        }
    }
}

#[test]
fn certificates_and_sessions_take_at_most_what_is_stated() {
    for group in GROUPS {
        let mutual = with_certificates(group);
        // A HelloRetryRequest.
        let mut retried = with_certificates(group);
        retried.0.groups = vec![NamedGroup::SECP256R1, group];
        let mut server_alone = with_certificates(group);
        server_alone.0.credentials.clear();
        server_alone.1.client_authentication = ClientAuthentication::None;
        // As many certificates as fit.
        let mut many = with_certificates(group);
        let key = PrivateKey::Signs(Arc::new(NullSigner));
        many.1.credentials = vec![Credential::new(vec![vec![0x30; 58]; 64], key)];
        let cases =
            [("mutual", mutual), ("retry", retried), ("server", server_alone), ("many", many)];
        for (name, ends) in cases {
            for role in [Role::Client, Role::Server] {
                let needed = |destination: &Destination| match role {
                    Role::Client => ends.0.heap_needed(destination),
                    Role::Server => ends.1.heap_needed(),
                };
                let peak = connect(&ends, &|| to(false), role, needed);
                println!("{name}, {group:?}, {role:?}: {peak} of {} bytes", needed(&to(false)));
            }
        }
    }
}

/// Handshake messages are padded, too.
#[test]
fn padded_records_are_part_of_the_need() {
    for multiple in [1_000, 16_384] {
        for (mut ends, psks) in
            [(with_psk(NamedGroup::X25519), true), (with_certificates(NamedGroup::X25519), false)]
        {
            let padding = Padding::MultipleOf(NonZeroU16::new(multiple).unwrap());
            (ends.0.padding, ends.1.padding) = (padding, padding);
            for role in [Role::Client, Role::Server] {
                let needed = |destination: &Destination| match role {
                    Role::Client => ends.0.heap_needed(destination),
                    Role::Server => ends.1.heap_needed(),
                };
                let peak = connect(&ends, &|| to(psks), role, needed);
                println!("{multiple}, {role:?}: {peak} of {} bytes", needed(&to(psks)));
            }
        }
    }
}

/// At every size below the need it fails, and it keeps nothing.
#[test]
fn check_heap_succeeds_from_the_need_on() {
    let (client, server) = with_psk(NamedGroup::X25519);
    let (of_client, of_server) = (client.heap_needed(&to(true)), server.heap_needed());
    let destination = to(true);
    for size in 0..of_client.max(of_server) {
        set_heap(Heap::with_limit(size as isize));
        let checked = on_heap(|| client.check_heap(&destination));
        assert_eq!(checked.is_ok(), size >= of_client, "{size}");
        if size < of_client {
            assert_eq!(checked, Err(Error::OutOfMemory(of_client)));
        }
        let checked = on_heap(|| server.check_heap());
        assert_eq!(checked.is_ok(), size >= of_server, "{size}");
        assert_eq!(heap().held, 0);
    }
}

/// Nothing authenticates the first flights: a cookie is as long as its sender likes.
#[test]
fn no_peer_makes_a_client_take_more_than_it_needs() {
    for group in GROUPS {
        let [known, known_by_devices] = with_known_keys(group);
        let cases: [(Configs, &dyn Fn() -> Destination); 4] = [
            (with_psk(group), &|| to(true)),
            (with_certificates(group), &|| to(false)),
            (known, &to_known),
            (known_by_devices, &to_known),
        ];
        for (ends, to) in cases {
            let longest = ends.0.limits.handshake_message;
            let needed = ends.0.heap_needed(&to());
            let checked = Ends {
                client: ends.0.clone().checked().unwrap(),
                server: ends.1.clone().checked().unwrap(),
            };
            let retry = |cookie: usize, suite: CipherSuite, session_id: &[u8]| {
                let random = [
                    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e,
                    0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e,
                    0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
                ];
                let len = |len: usize| (len as u16).to_be_bytes();
                let cookie = [&[0, 44][..], &len(cookie + 2), &len(cookie), &vec![9; cookie]];
                let extensions = [&[0, 43, 0, 2, 3, 4][..], &cookie.concat()].concat();
                let body = [
                    &[3, 3][..],
                    &random,
                    &[32],
                    session_id,
                    &suite.0.to_be_bytes(),
                    &[0],
                    &len(extensions.len()),
                    &extensions,
                ];
                message(tessera::wire::HandshakeType::SERVER_HELLO, &body.concat())
            };
            for over in [0, 1] {
                for piece in [1, 100, 20_000] {
                    let start = checked.start_with(to(), Role::Client, needed as isize);
                    let mut pair = start.unwrap();
                    let hello = pair.client.sent();
                    let session_id = hello[5 + 4 + 2 + 32 + 1..][..32].to_vec();
                    let suite = ends.1.suites[0];
                    let overhead = retry(0, suite, &session_id).len();
                    let hrr = retry(longest - overhead + over, suite, &session_id);
                    for part in hrr.chunks(piece.min(16_384)) {
                        let part = plain(tessera::wire::ContentType::HANDSHAKE, part);
                        pair.client.input.extend_from_slice(&part);
                        pair.client.read();
                    }
                    assert_eq!(pair.client.error.is_some(), over == 1, "{:?}", pair.client.error);
                    assert_eq!(heap().refused, 0, "{group:?}, pieces of {piece}: {:?}", heap());
                    assert!(!pair.client.sent().is_empty());
                }
            }
        }
    }
}

/// What a peer sizes is allocated fallibly: with any heap that lets a connection start, what is too long for it ends in an
/// error.
#[test]
fn a_message_without_memory_for_it_is_an_error() {
    let (mut client, mut server) = with_certificates(NamedGroup::X25519);
    client.limits = Limits::default();
    server.limits = Limits::default();
    client.credentials.clear();
    server.client_authentication = ClientAuthentication::None;
    server.credentials = vec![credential(30_000)];
    let ends = Ends { client: client.checked().unwrap(), server: server.checked().unwrap() };
    // Enough for all but the chain: its message, and its copy.
    for limit in [20_000, 60_000, 100_000, 150_000, 190_000] {
        let mut pair = ends.start_with(to(false), Role::Client, limit).unwrap();
        pair.run(100_000);
        assert!(
            matches!(pair.client.error, Some(Error::OutOfMemory(_))),
            "{:?}",
            pair.client.error
        );
    }
    let mut pair = ends.start_with(to(false), Role::Client, 400_000).unwrap();
    pair.run(100_000);
    assert_eq!(pair.client.error, None);
}
