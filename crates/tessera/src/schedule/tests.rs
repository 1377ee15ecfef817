//! Every secret, key, Finished and binder of RFC 8448.

use alloc::boxed::Box;
use alloc::vec::Vec;
use std::collections::HashMap;
use std::string::String;

use tessera_harness::Trace;

use super::{
    ApplicationSecrets, EarlySecret, Label, Profile, ResumptionSecret, STREAM, TrafficSecret,
    Transcript,
};
use crate::crypto::{Aead, Digest, HmacState, NONCE_LEN, Nonce, SharedSecret};
use crate::role::Role;
use crate::testing::{AES_128_GCM_SHA256, KDF, TRACES, trace};
use crate::wire::ContentType;

/// The transcript after each message, without tickets.
fn transcripts(trace: &Trace) -> HashMap<String, Digest> {
    let mut transcript = Transcript::start(KDF.hash, &[]);
    let mut hashes = HashMap::new();
    let mut first = Vec::new();
    for (name, message) in
        trace.section("messages").filter(|(name, _)| *name != "new_session_ticket")
    {
        if name == "hello_retry_request" {
            transcript = Transcript::after_retry(KDF.hash, &KDF.hash.hash(&first));
        }
        if name == "client_hello" {
            first = message.to_vec();
        }
        transcript.add(message);
        hashes.insert(name.into(), transcript.hash());
    }
    hashes
}

#[track_caller]
fn same(trace: &Trace, section: &str, name: &str, computed: &[u8]) {
    if let Some(expected) = trace.find(section, name) {
        assert_eq!(computed, expected, "[{section}] {name}");
    }
}

fn check_keys(trace: &Trace, name: &str, secret: TrafficSecret<'_>) {
    let mut key = [0; 16];
    let mut iv = [0; NONCE_LEN];
    KDF.with_keyed(secret.expose(), |secret| {
        KDF.expand_label(secret, Label::KEY, &[], &mut key);
        KDF.expand_label(secret, Label::IV, &[], &mut iv);
    });
    same(trace, "traffic_keys", &alloc::format!("{name}_key"), &key);
    same(trace, "traffic_keys", &alloc::format!("{name}_iv"), &iv);
    assert_eq!(secret.record_keys(&AES_128_GCM_SHA256).1, iv);
}

/// Opens every record of one direction with the keys in order.
fn check_records(
    trace: &Trace,
    sender: &str,
    mut epochs: impl Iterator<Item = (Box<dyn Aead>, [u8; NONCE_LEN])>,
) -> usize {
    let mut content_of_messages = Vec::new();
    for (_, message) in trace.section("messages") {
        content_of_messages.extend_from_slice(message);
    }
    let mut keys = epochs.next();
    let mut number = 0;
    let mut opened = 0;
    for (name, record) in trace.section("records") {
        if !name[3..].starts_with(sender) || record[0] != ContentType::APPLICATION_DATA.0 {
            continue;
        }
        let plaintext = loop {
            let (aead, iv) = keys.as_ref().expect("one of the keys opens the record");
            let mut body = record[5..].to_vec();
            if let Ok(len) = aead.open(&Nonce::for_record(iv, number), &record[..5], &mut body) {
                body.truncate(len);
                break body;
            }
            keys = epochs.next();
            number = 0;
        };
        number += 1;
        opened += 1;
        let (typ, content) = plaintext.split_last().expect("a content type");
        if ContentType(*typ) == ContentType::HANDSHAKE {
            let mut among = content_of_messages.windows(content.len());
            assert!(among.any(|window| window == content), "{name}");
        } else {
            same(trace, "plaintexts", &name[3..], content);
        }
    }
    opened
}

#[test]
fn the_key_schedule_derives_every_secret_of_the_rfc_8448_traces() {
    for name in TRACES {
        let trace = trace(name);
        let hashes = transcripts(&trace);
        for (message, hash) in
            trace.section("transcript_hashes").filter(|(name, _)| *name != "binder")
        {
            assert_eq!(hashes[message].as_ref(), hash, "{name}, {message}");
        }

        let psk = trace.find("secrets", "psk");
        let early = EarlySecret::new(KDF, psk.unwrap_or(KDF.zeros()));
        same(&trace, "secrets", "early", early.secret.as_ref().expect("it has one").kept());
        let early_traffic;
        let mut client_secrets = Vec::new();
        if let Some(binder) = trace.find("finished", "binder") {
            let hello = trace.message("client_hello");
            let covered = &hello[..hello.len() - 2 - 1 - binder.len()];
            let hash = KDF.hash.hash(covered);
            same(&trace, "transcript_hashes", "binder", hash.as_ref());
            assert_eq!(early.binder(Label::RESUMPTION_BINDER, &hash).as_ref(), binder);
            assert_ne!(early.binder(Label::EXTERNAL_BINDER, &hash).as_ref(), binder);
            early_traffic = early.client_early_traffic(&hashes["client_hello"]);
            let secret = early_traffic.traffic();
            same(&trace, "secrets", "c_e_traffic", secret.expose());
            check_keys(&trace, "client_early", secret);
            client_secrets.push(secret);
        }

        let shared = SharedSecret::new(trace.secret("shared").to_vec());
        let handshake = early.into_handshake(Some(&shared), &hashes["server_hello"]);
        same(&trace, "secrets", "handshake", handshake.secret.kept());
        if psk.is_none() {
            let hash = &hashes["server_hello"];
            let same_again = EarlySecret::without_psk(KDF).into_handshake(Some(&shared), hash);
            same(&trace, "secrets", "handshake", same_again.secret.kept());
        }
        let (client, server) =
            (handshake.client_handshake_traffic(), handshake.server_handshake_traffic());
        same(&trace, "secrets", "c_hs_traffic", client.expose());
        same(&trace, "secrets", "s_hs_traffic", server.expose());
        check_keys(&trace, "client_handshake", client);
        check_keys(&trace, "server_handshake", server);

        // Each Finished covers everything before it.
        let before = |finished: &str| {
            let messages: Vec<&str> = trace.section("messages").map(|(name, _)| name).collect();
            let at = messages.iter().position(|name| *name == finished).expect("a Finished");
            hashes[messages[at - 1]]
        };
        let verify_data = server.finished(&before("server_finished"));
        assert_eq!(verify_data.as_ref(), trace.get("finished", "server_verify_data"));
        let verify_data = client.finished(&before("client_finished"));
        assert_eq!(verify_data.as_ref(), trace.get("finished", "client_verify_data"));

        // The Handshake Secret's are wiped with it, but for the client's.
        let of_server = [server.record_keys(&AES_128_GCM_SHA256)];
        let master = handshake.into_master(&hashes["server_finished"]);
        same(&trace, "secrets", "master", master.secret.kept());
        let client = master.client_handshake_traffic();
        same(&trace, "secrets", "c_hs_traffic", client.expose());
        let (client_0, server_0) =
            (master.client_application_traffic(), master.server_application_traffic());
        same(&trace, "secrets", "c_ap_traffic", client_0.expose());
        same(&trace, "secrets", "s_ap_traffic", server_0.expose());
        check_keys(&trace, "client_application", client_0);
        check_keys(&trace, "server_application", server_0);
        same(&trace, "secrets", "exp_master", master.exporter().expose());
        let of_client = client_secrets.into_iter().chain([client, client_0]);
        let of_client = of_client.map(|secret| secret.record_keys(&AES_128_GCM_SHA256));
        assert!(check_records(&trace, "client", of_client) >= 2, "{name}");
        let of_server = of_server.into_iter().chain([server_0.record_keys(&AES_128_GCM_SHA256)]);
        assert!(check_records(&trace, "server", of_server) >= 2, "{name}");

        let (application, resumption) = master.into_application(&hashes["client_finished"]);
        for (sender, secret) in [(Role::Client, "c_ap_traffic"), (Role::Server, "s_ap_traffic")] {
            let traffic = application.traffic(sender).expect("has not ended");
            same(&trace, "secrets", secret, traffic.expose());
        }
        same(&trace, "secrets", "res_master", resumption.secret.kept());
        if let Some(nonce) = trace.find("ticket", "nonce") {
            same(&trace, "secrets", "resumption_psk", resumption.psk(nonce).expose());
        }
    }
}

/// The secrets of a connection whose messages don't matter.
fn application_secrets() -> ApplicationSecrets {
    let hash = KDF.hash.hash(b"messages");
    let handshake = EarlySecret::without_psk(KDF).into_handshake(None, &hash);
    handshake.into_master(&hash).into_application(&hash).0
}

/// RFC 8446 §7.2.
#[test]
fn an_update_replaces_the_secret_of_one_direction() {
    let mut secrets = application_secrets();
    let [client, server] = [Role::Client, Role::Server]
        .map(|sender| secrets.traffic(sender).expect("has not ended").expose().to_vec());
    let mut expected = [0; 32];
    KDF.with_keyed(&client, |client| {
        KDF.expand_label(client, Label::TRAFFIC_UPDATE, &[], &mut expected);
    });
    let next = secrets.update(Role::Client).expect("has not ended");
    assert_eq!(next.expose(), expected);
    assert_eq!(secrets.traffic(Role::Client).expect("has not ended").expose(), expected);
    assert_eq!(secrets.traffic(Role::Server).expect("has not ended").expose(), server);
}

#[test]
fn a_secret_ends_with_its_direction_and_the_exporters_with_both() {
    for order in [[Role::Client, Role::Server], [Role::Server, Role::Client]] {
        let [first, second] = order;
        let mut secrets = application_secrets();
        secrets.end(first);
        assert!(secrets.traffic(first).is_none() && secrets.update(first).is_none());
        assert!(secrets.traffic(second).is_some() && secrets.exporter().is_some());
        secrets.end(second);
        assert!(secrets.traffic(second).is_none() && secrets.exporter().is_none());
    }
}

/// From the resumption_master_secret of RFC 8448 §3, computed with the HMAC of Python's library, which
/// also yields the resumption PSK of the trace.
#[test]
fn certificate_tickets_are_expanded_from_the_resumption_secret() {
    let trace = trace("simple_1rtt");
    let mut secret = HmacState::boxed();
    KDF.hash.key_hmac(trace.secret("res_master"), &mut secret);
    let resumption = ResumptionSecret { kdf: KDF, secret };
    let chain: Vec<u8> = (0..32).collect();
    for (number, expected) in
        [(0, 0x6524_0bc0_0ed8_8fd1_337d_u128), (1, 0x0984_0499_3ef0_27ba_2dbc)]
    {
        let mut ticket = [0; 10];
        resumption.certificate_ticket(&[&[number, 1], &chain[..]].concat(), &mut ticket);
        assert_eq!(ticket, expected.to_be_bytes()[6..]);
    }
    // The longest context and ticket.
    let mut ticket = [0; 255];
    resumption.certificate_ticket(&[7; 255], &mut ticket);
    assert_eq!(ticket[247..], 0xb8d1_95d7_fa4f_41ff_u64.to_be_bytes());
}

#[test]
fn what_is_known_of_tls_is_not_used_with_other_labels() {
    assert!(STREAM.has_labels_of_tls());
    assert!(!Profile { label_prefix: b"dtls13", ..STREAM }.has_labels_of_tls());
}
