//! Handshakes with dimpl.

use dimpl::Config;
use tessera::face::Arrival;
use tessera::handshake::{ClientAuthentication, ClientHandshake, ServerHandshake};
use tessera::wire::{NamedGroup, SignatureScheme};
use tessera::{
    AssociationOptions, ClientAssociation, ClientConfig, ServerAssociation, ServerConfig,
};
use tessera_interop::{KeyKind, Pki, client, server, to};

use crate::peer::{Meeting, Peer};

const GROUPS: [NamedGroup; 2] = [NamedGroup::X25519, NamedGroup::SECP256R1];

fn start() -> tessera::Time {
    let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok();
    tessera::Time { monotonic: std::time::Duration::ZERO, unix }
}

fn our_client(
    loses: fn(usize) -> bool,
    config: Config,
    max_datagram: usize,
) -> Meeting<ClientHandshake> {
    our_client_with(|_, _| (), loses, config, max_datagram)
}

fn our_client_with(
    change: impl FnOnce(&mut ClientConfig, &Pki),
    loses: fn(usize) -> bool,
    config: Config,
    max_datagram: usize,
) -> Meeting<ClientHandshake> {
    let pki = Pki::new();
    let (theirs, ours) = (pki.server(KeyKind::P256), pki.client(KeyKind::P256));
    let mut client = client(&pki);
    client.groups = GROUPS.to_vec();
    client.credentials = vec![ours.credential()];
    change(&mut client, &pki);
    let client = client.checked().unwrap();
    let options = AssociationOptions { max_datagram, ..AssociationOptions::default() };
    let ours = ClientAssociation::start(client, to(None), options, start()).unwrap();
    let mut meeting = Meeting::new(ours, Peer::new(config, &theirs, false));
    meeting.loses = loses;
    meeting.run();
    meeting
}

fn our_server(loses: fn(usize) -> bool, max_datagram: usize) -> Meeting<ServerHandshake> {
    our_server_with(|_, _| (), loses, max_datagram)
}

fn our_server_with(
    change: impl FnOnce(&mut ServerConfig, &Pki),
    loses: fn(usize) -> bool,
    max_datagram: usize,
) -> Meeting<ServerHandshake> {
    let pki = Pki::new();
    let (ours, theirs) = (pki.server(KeyKind::P256), pki.client(KeyKind::P256));
    let mut server = server(&ours);
    server.groups = GROUPS.to_vec();
    server.client_authentication = ClientAuthentication::Required(pki.verifier());
    change(&mut server, &pki);
    let server = server.checked().unwrap();
    let options = AssociationOptions { max_datagram, ..AssociationOptions::default() };
    let ours = ServerAssociation::start(server, Arrival::default(), options, start()).unwrap();
    let mut meeting = Meeting::new(ours, Peer::new(Config::default(), &theirs, true));
    meeting.loses = loses;
    meeting.run();
    meeting
}

#[test]
fn our_client_meets_its_server_with_a_cookie_and_a_certificate() {
    let mut meeting = our_client(|_| false, Config::default(), 1200);
    meeting.is_connected("mutual");
    assert!(meeting.ours.facts().hello_retry && meeting.ours.facts().own_certificate.is_some());
}

#[test]
fn our_server_meets_its_client_and_its_certificate() {
    let mut meeting = our_server(|_| false, 1200);
    meeting.is_connected("mutual");
    assert!(meeting.ours.facts().peer_certificate.is_some());
}

/// It ignores KEMs, and the ends sign (docs/kem-auth.md §3).
#[test]
fn our_ends_with_keys_of_kems_meet_it() {
    const KEM: SignatureScheme = SignatureScheme::KEM_MLKEM768;
    let offer = |config: &mut ClientConfig, pki: &Pki| {
        config.verifier = pki.verifier_with_kems(&[KEM]);
        config.credentials.insert(0, pki.client_with_kem(KEM).credential());
    };
    let mut meeting = our_client_with(offer, |_| false, Config::default(), 300);
    meeting.is_connected("our client");
    let signed = Some(SignatureScheme::ECDSA_SECP256R1_SHA256);
    assert_eq!(meeting.ours.facts().signature_scheme, signed);
    let have = |config: &mut ServerConfig, pki: &Pki| {
        config.credentials.insert(0, pki.server_with_kem(KEM).credential());
        let verifier = pki.verifier_with_kems(&[KEM]);
        config.client_authentication = ClientAuthentication::Required(verifier);
    };
    let mut meeting = our_server_with(have, |_| false, 300);
    meeting.is_connected("our server");
    assert_eq!(meeting.ours.facts().signature_scheme, signed);
}

#[test]
fn fragments_and_losses_are_survived() {
    for lost in 0..8 {
        // A function pointer has no captures.
        let loses: fn(usize) -> bool = match lost {
            0 => |n| n == 0,
            1 => |n| n == 1,
            2 => |n| n == 2,
            3 => |n| n == 3,
            4 => |n| n == 4,
            5 => |n| n == 5,
            6 => |n| n == 6,
            _ => |n| n == 7,
        };
        our_client(loses, Config::default(), 300).is_connected(&format!("client, {lost} lost"));
        our_server(loses, 300).is_connected(&format!("server, {lost} lost"));
    }
}

#[test]
fn keys_are_updated_by_either_end() {
    // A new key after some records of its.
    let config = Config::builder().aead_encryption_limit(40).build().unwrap();
    let mut meeting = our_client(|_| false, config, 1200);
    for round in 0..100 {
        if round % 10 == 0 {
            meeting.ours.update_keys(round % 20 == 0).unwrap();
            while meeting.exchange() {}
        }
        meeting.is_connected(&format!("round {round}"));
    }
}

#[test]
fn an_end_that_closes_is_noticed_by_the_other() {
    let mut meeting = our_client(|_| false, Config::default(), 1200);
    meeting.theirs.close();
    while meeting.exchange() {}
    assert!(meeting.is_closed);
    let mut meeting = our_client(|_| false, Config::default(), 1200);
    meeting.ours.close();
    while meeting.exchange() {}
    assert!(meeting.theirs.is_closed);
}
