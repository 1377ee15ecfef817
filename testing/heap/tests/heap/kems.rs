//! Ends that authenticate with KEMs, or know their server's key.

use std::sync::Arc;

use tessera::handshake::ClientAuthentication;
use tessera::wire::{NamedGroup, SignatureScheme};
use tessera::{Destination, Role};

use crate::need::{Configs, GROUPS, connect, limits, to, with_certificates};
use crate::provider::WITH_KEMS;
use crate::static_keys::{AnyChain, KEMS, StaticKey, credential};

/// The ends of a device whose chains have keys of this KEM.
fn with_kem(group: NamedGroup, kem: SignatureScheme) -> Configs {
    let (mut client, mut server) = with_certificates(group);
    (client.provider, server.provider) = (WITH_KEMS, WITH_KEMS);
    client.verifier = Arc::new(AnyChain([kem]));
    server.client_authentication = ClientAuthentication::Required(client.verifier.clone());
    let chain = vec![vec![0x30; 1_200]; 3];
    client.credentials = vec![credential(kem, chain.clone())];
    server.credentials = vec![credential(kem, chain)];
    (client, server)
}

/// Connects in both ends' turn, and prints what they took.
fn takes_at_most_what_is_stated(name: &str, ends: &Configs, to: &dyn Fn() -> Destination) {
    for role in [Role::Client, Role::Server] {
        let needed = |destination: &Destination| match role {
            Role::Client => ends.0.heap_needed(destination),
            Role::Server => ends.1.heap_needed(),
        };
        let peak = connect(ends, to, role, needed);
        println!("{name}, {role:?}: {peak} of {} bytes", needed(&to()));
    }
}

#[test]
fn authentication_with_kems_takes_at_most_what_is_stated() {
    for group in GROUPS {
        for kem in KEMS {
            let to = || to(false);
            let mutual = with_kem(group, kem);
            takes_at_most_what_is_stated(&format!("mutual, {kem:?}, {group:?}"), &mutual, &to);
            let mut without = with_kem(group, kem);
            without.0.credentials.clear();
            without.1.client_authentication =
                ClientAuthentication::Optional(without.0.verifier.clone());
            takes_at_most_what_is_stated(&format!("asked, {kem:?}, {group:?}"), &without, &to);
            without.1.client_authentication = ClientAuthentication::None;
            takes_at_most_what_is_stated(&format!("server, {kem:?}, {group:?}"), &without, &to);
            // Little else is needed: a raw public key, and no tickets.
            let mut raw = without;
            raw.1.credentials = vec![credential(kem, vec![vec![0x30; 32]])];
            let are_classical = group == NamedGroup::X25519 && kem == SignatureScheme::KEM_X25519;
            let longest = if are_classical { 256 } else { 1_536 };
            raw.0.limits = limits(longest, longest, 0);
            raw.1.limits = raw.0.limits;
            raw.0.policy.resumption = false;
            raw.1.tickets = None;
            takes_at_most_what_is_stated(&format!("raw, {kem:?}, {group:?}"), &raw, &to);
        }
    }
}

#[test]
fn a_known_key_takes_at_most_what_is_stated() {
    for group in GROUPS {
        for kem in KEMS {
            let known = || {
                let known_server_key = Some(StaticKey(kem).known());
                Destination { known_server_key, ..to(false) }
            };
            let (mut client, mut server) = with_kem(group, kem);
            client.credentials.clear();
            server.client_authentication = ClientAuthentication::None;
            (client.limits.client_hello, server.limits.client_hello) = (4_096, 4_096);
            // A known key is of SHA-256.
            server.suites = client.suites.clone();
            for retries in [false, true] {
                if retries {
                    client.groups = vec![NamedGroup::SECP256R1, group];
                }
                let name = format!("known, {kem:?}, {group:?}, retry {retries}");
                takes_at_most_what_is_stated(&name, &(client.clone(), server.clone()), &known);
            }
            client.groups = vec![group];
            client.limits = limits(1_536, 1_536, 0);
            client.policy.resumption = false;
            server.tickets = None;
            let name = format!("known, {kem:?}, {group:?}, no tickets");
            takes_at_most_what_is_stated(&name, &(client, server), &known);
        }
    }
}
