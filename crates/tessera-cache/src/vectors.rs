//! The vectors of docs/cached-handshakes.md, computed from the specification alone.

use core::time::Duration;
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use tessera::Time;
use tessera::auth::{
    CertificateCodecFactory, CertificateContents, HandshakeEnd, PeerCertificate, PeerInfo,
    ServerInfo,
};
use tessera::crypto::Hash;
use tessera::wire::{CertificateCompressionAlgorithm as Id, CertificateType, CipherSuite};
use tessera_harness::{Trace, expand_label};

use crate::chain::Chain;
use crate::chain_hash::ChainHash;
use crate::client::{ClientCache, HandshakeOutcome, Key, ServerChain};
use crate::form::Form;
use crate::ids::{Ticket, public_id, salted_id};
use crate::wire::{Content, FleetTicket, Hello, Malformed};

pub(crate) fn vectors() -> Trace {
    Trace::read(include_str!("../../../docs/cached-handshakes-vectors.txt"))
}

pub(crate) fn sha256() -> &'static dyn Hash {
    tessera_aws_lc::provider().sha256().expect("SHA-256")
}

/// Returns the body of a whole message.
fn body(message: &[u8]) -> &[u8] {
    &message[4..]
}

pub(crate) fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("as many bytes")
}

/// Makes the body of a Certificate of TLS 1.3 with these certificates.
fn certificate(chain: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    let chain: Vec<Vec<u8>> = chain.iter().map(|it| it.to_vec()).collect();
    let mut list = Vec::new();
    for certificate in &chain {
        crate::bytes::put24(&mut list, certificate);
        list.extend_from_slice(&[0, 0]);
    }
    out.push(0);
    crate::bytes::put24(&mut out, &list);
    out
}

#[test]
fn chain_hashes_are_those_of_the_vectors() {
    let vectors = vectors();
    let get = |section, name| vectors.get(section, name);
    let two = [get("chain of two", "end entity"), get("chain of two", "intermediate")];
    let raw = get("raw public key", "SubjectPublicKeyInfo");
    for (section, chain, typ) in [
        ("rfc 7924", &[get("rfc 7924", "certificate")][..], CertificateType::X509),
        ("chain of two", &two, CertificateType::X509),
        ("raw public key", &[raw], CertificateType::RAW_PUBLIC_KEY),
    ] {
        let hash = ChainHash::of_body(sha256(), typ, &certificate(chain));
        assert_eq!(hash, Some(ChainHash(array(get(section, "H")))), "{section}");
        assert_eq!(sha256().hash(get(section, "TLS 1.2 message")).as_ref(), get(section, "H"));
    }
}

#[test]
fn an_input_without_a_chain_hash_is_no_chain() {
    let of = |typ, chain: &[&[u8]]| ChainHash::of_body(sha256(), typ, &certificate(chain));
    assert_eq!(of(CertificateType::X509, &[]), None);
    assert_eq!(of(CertificateType::RAW_PUBLIC_KEY, &[&[0x31; 91]]), None);
    assert_eq!(of(CertificateType::RAW_PUBLIC_KEY, &[&[0x30; 91], &[0x30; 91]]), None);
    assert_eq!(of(CertificateType(1), &[&[0x30; 91]]), None);
}

#[test]
fn ids_and_contents_of_a_servers_chain_are_those_of_the_vectors() {
    let vectors = vectors();
    for section in ["server chain", "server chain with staples", "server with a raw public key"] {
        let get = |name| vectors.get(section, name);
        let certificate_type = CertificateType(get("certificate type")[0]);
        let body = body(get("Certificate"));
        let chain = Chain::of_body(certificate_type, body).expect("a chain");
        let hash = chain.hash(sha256());
        assert_eq!(hash.0, get("H"), "{section}");
        let id = salted_id(sha256(), &array(get("random")), &hash);
        assert_eq!(id.0.to_be_bytes(), get("id"), "{section}");
        assert_eq!(public_id(&hash).0.to_be_bytes(), get("public id"), "{section}");
        let content = Content::write(&hash, body).expect("a body");
        assert_eq!(content, get("content"), "{section}");
        for (id, name) in
            [(id, "CompressedCertificate"), (public_id(&hash), "CompressedCertificate, public id")]
        {
            let message = get(name);
            assert_eq!(message[4..6], id.0.to_be_bytes(), "{section}");
            assert_eq!(message[12..], content, "{section}");
        }
        // And the reverse.
        let read = Content::read(&content).expect("a content");
        assert_eq!(read.chain, hash);
        assert_eq!(chain.body_with(read.extensions).as_deref(), Some(body), "{section}");
    }
}

#[test]
fn two_chains_of_the_vectors_have_one_id() {
    let vectors = vectors();
    let get = |name| vectors.get("one id for two chains", name);
    let id = |name| salted_id(sha256(), &array(get("random")), &ChainHash(array(get(name))));
    assert_eq!(id("H 0").0.to_be_bytes(), get("id of H 0 and H 1"));
    assert_eq!(id("H 0"), id("H 1"));
    assert_eq!(get("compress_certificate")[5..], id("H 2").0.to_be_bytes());
}

#[test]
fn of_two_chains_with_one_id_neither_is_offered() {
    let vectors = vectors();
    let get = |name| vectors.get("one id for two chains", name);
    let cache = Arc::new(ClientCache::new(&tessera_aws_lc::provider()).expect("a cache"));
    let now = Time { monotonic: Duration::ZERO, unix: Some(Duration::from_secs(1_800_000_000)) };
    let random = array(get("random"));
    let mut to = ServerInfo::new("server.example", now);
    to.random = &random;
    let learn = |name: &'static str| {
        let chain =
            Chain::new(CertificateType::X509, name.as_bytes().into(), [].into()).expect("a chain");
        let (hash, form) = (ChainHash(array(get(name))), Form::Whole(chain));
        let shown = Some(ServerChain { hash, form, expires_at: None });
        let learned = HandshakeOutcome { shown, answers: true, tickets: None, request: None };
        cache.learn(Key::of(&to), learned);
    };
    learn("H 0");
    learn("H 1");
    let codec = cache.clone().codec(PeerInfo::Server(&to)).expect("no refusal").expect("a codec");
    assert!(codec.offers().is_empty());
    let whole = CertificateContents::Body(certificate(&[b"another"]));
    let peer = PeerCertificate::new(CertificateType::X509, whole);
    let outcome = codec.ended(&HandshakeEnd::new(Some(&peer), None, now, &|_, out| out.fill(7)));
    assert_eq!(outcome.peer_missed, Some("same-id"));
    cache.clear();
    ["H 0", "H 1", "H 2"].into_iter().for_each(learn);
    let codec = cache.clone().codec(PeerInfo::Server(&to)).expect("no refusal").expect("a codec");
    let offered: Vec<_> = codec.offers().iter().flat_map(|id| id.0.to_be_bytes()).collect();
    assert_eq!(offered, get("compress_certificate")[5..]);
    assert_eq!(cache.metrics().missed_same_id, 4);
}

#[test]
fn tickets_are_those_of_the_vectors() {
    let vectors = vectors();
    for section in ["client chain, sha256", "client chain, sha384"] {
        let get = |name: &str| vectors.get(section, name);
        let suite = CipherSuite(u16::from_be_bytes(array(get("suite"))));
        let hash = tessera_aws_lc::provider().suite(suite).expect("a suite").hash;
        let chain = Chain::of_body(CertificateType::X509, body(get("Certificate")));
        let chain = chain.expect("a chain").hash(sha256());
        assert_eq!(chain.0, get("H"));
        for number in 0..2u8 {
            let named = |name: &str| get(&std::format!("{name} {number}"));
            let context = Ticket::context(number, &chain);
            assert_eq!(context, named("context"));
            let mut derived = [0; Ticket::DERIVED];
            let secret = get("resumption master secret");
            expand_label(hash, secret, "bithac ticket", &context, &mut derived);
            let ticket = Ticket::new(derived);
            assert_eq!(ticket.bytes, named("ticket"));
            assert_eq!(ticket.id.0.to_be_bytes(), named("id"));
            let message = named("CompressedCertificate");
            assert_eq!(message.len(), 44);
            assert_eq!(message[12..], chain.0);
        }
    }
}

#[test]
fn the_extension_cached_certificates_is_that_of_the_vectors() {
    let vectors = vectors();
    let get = |name| vectors.get("extensions", name);
    let written = |hello: Hello<'_>| hello.write().expect("memory");
    assert_eq!(get("ClientHello, no ticket")[4..], written(Hello::TakesPart));
    let tickets = [array(get("newest ticket")), array(get("spare of another handshake"))];
    let body = &get("ClientHello, two tickets")[4..];
    assert_eq!(body, written(Hello::Tickets(tickets, None)));
    assert_eq!(Hello::read(body), Ok(Hello::Tickets(tickets, None)));
    assert_eq!(Hello::read(&[]), Ok(Hello::TakesPart));
}

#[test]
fn the_extension_of_a_fleet_ticket_is_that_of_the_vectors() {
    let vectors = vectors();
    let get = |name| vectors.get("fleet ticket", name);
    let (id, sealed) = (Id(u16::from_be_bytes(array(get("id")))), get("sealed"));
    let ticket = FleetTicket { id, sealed: sealed.into() };
    let given = &get("NewSessionTicket")[4..];
    assert_eq!(ticket.write(), given);
    assert_eq!(FleetTicket::read(given), Some(ticket));
    let tickets = [array(get("newest ticket")), array(get("spare of another handshake"))];
    let body = &get("ClientHello")[4..];
    assert_eq!(Hello::Tickets(tickets, Some(sealed)).write().as_deref(), Some(body));
    assert_eq!(Hello::read(body), Ok(Hello::Tickets(tickets, Some(sealed))));
    // Invalid ones are ignored: of another length, or with an id that stands for something else.
    for len in 0..given.len() {
        assert_eq!(FleetTicket::read(&given[..len]), None, "{len}");
    }
    assert_eq!(FleetTicket::read(&[given, &[0]].concat()), None);
    assert_eq!(FleetTicket::read(&[&[0xbf, 0xff], &given[2..]].concat()), None);
}

#[test]
fn inputs_that_the_vectors_refuse_are_refused() {
    let vectors = vectors();
    let mut checked = 0;
    for (name, value) in vectors.section("refused") {
        let parts: Vec<String> = name.split(": ").map(String::from).collect();
        let refused = match &*parts[1] {
            "ClientHello cached_certificates" => match Hello::read(value) {
                Err(Malformed::Length) => "decode_error",
                Err(Malformed::EqualTickets) => "illegal_parameter",
                Ok(_) => "accepted",
            },
            "content" if Content::read(value).is_none() => "bad_certificate",
            "content" => "accepted",
            // The engine reads it, or it belongs to the other carrier.
            _ => continue,
        };
        assert_eq!(refused, parts[0], "{name}");
        checked += 1;
    }
    assert_eq!(checked, 17);
}
