//! The record of a return routability check (docs/dtls-mobility.md).

use std::path::PathBuf;
use std::time::Duration;

use tessera::crypto::{NONCE_LEN, Nonce, Suite};
use tessera::wire::{CipherSuite, ContentType};
use tessera::{AssociationOptions, ConnectionId, PathMessage, ReadEvent};
use tessera_harness::{DatagramPair, Mode, Scene, Trace, at, expand_prefixed_label, lossless, to};

#[test]
fn the_vectors_of_path_messages_are_reproduced() {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/dtls-mobility-vectors.txt");
    let vectors = Trace::read(&std::fs::read_to_string(path).expect("the file is there"));
    let get = |name: &str| vectors.get("return routability check", name);
    let cookie = get("cookie").try_into().expect("8 bytes");
    let mut scene = Scene::new(tessera_aws_lc::provider(), Mode::Full);
    scene.client.suites = vec![CipherSuite::TLS_AES_128_GCM_SHA256];
    scene.server.suites = scene.client.suites.clone();
    let id = ConnectionId::new(get("connection ID")).expect("short");
    let of_server = AssociationOptions { connection_id: Some(id), ..AssociationOptions::default() };
    let options = [AssociationOptions::default(), of_server];
    let link = lossless(Duration::from_millis(20));
    let mut pair =
        DatagramPair::start(&scene.client, &scene.server, to(None), options, (at(0), link))
            .expect("starts");
    pair.run();
    let suite = scene.suite();
    let secret = scene.secrets.get("CLIENT_TRAFFIC_SECRET_0").expect("of the connection");
    for (name, message) in [
        ("path_challenge", PathMessage::Challenge(cookie)),
        ("path_response", PathMessage::Response(cookie)),
        ("path_drop", PathMessage::Drop(cookie)),
    ] {
        let mut sent = Vec::new();
        pair.client.write_path_message(message, &mut sent).expect("both check paths");
        // The client has sent a few records before.
        let is_sent = |sequence: u16| {
            record(suite, &secret, get("connection ID"), sequence, get(name)) == sent
        };
        assert!((0..10).any(is_sent), "{name}");
        let read = pair.server.read(pair.now(), &mut sent).expect("reads").event;
        assert!(matches!(read, ReadEvent::Path(read) if read == message), "{name}");
    }
    let sequence = u16::from_be_bytes(get("sequence number").try_into().expect("2 bytes"));
    assert_eq!((get("suite"), get("epoch")), (&[0x13, 1][..], &[3][..]));
    let computed =
        record(suite, get("traffic secret"), get("connection ID"), sequence, get("path_response"));
    assert_eq!(computed, get("record"));
}

/// A record of epoch 3 with a connection ID and without a length (RFC 9147 §4).
fn record(suite: &Suite, secret: &[u8], id: &[u8], sequence: u16, message: &[u8]) -> Vec<u8> {
    let len = suite.aead.key_len();
    let (mut key, mut iv, mut number_key) = (vec![0; len], [0; NONCE_LEN], vec![0; len]);
    expand_prefixed_label(suite.hash, secret, "dtls13key", &[], &mut key);
    expand_prefixed_label(suite.hash, secret, "dtls13iv", &[], &mut iv);
    expand_prefixed_label(suite.hash, secret, "dtls13sn", &[], &mut number_key);
    let mut header = [&[0b0011_1011], id, &sequence.to_be_bytes()].concat();
    let mut sealed = [message, &[ContentType::RETURN_ROUTABILITY_CHECK.0]].concat();
    let nonce = Nonce::for_record(&iv, sequence.into());
    let tag = suite.aead.key(&key).seal(&nonce, &header, &mut sealed);
    sealed.extend(tag);
    let sample = sealed.first_chunk().expect("a sample");
    let mask = suite.aead.header_key(&number_key).mask(sample);
    let at = header.len() - 2;
    header[at] ^= mask[0];
    header[at + 1] ^= mask[1];
    [header, sealed].concat()
}
