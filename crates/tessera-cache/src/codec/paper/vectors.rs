//! The vectors of the specification's section 9.

use std::vec::Vec;

use tessera::auth::{CertificateContents, CodecRefusal, DecodedCertificate, HandshakeEnd};
use tessera::wire::{CertificateType, CipherSuite};
use tessera_harness::{at, expand_label};

use super::wire::{
    CachedInfo, CachedInfoAnswer, Hello, abbreviated, read_certificate, read_request,
    read_selected_ticket, write_selected_ticket,
};
use super::{NO_ID, derive, expand, request_hash};
use crate::bytes::{put16, put24};
use crate::chain::Chain;
use crate::chain_hash::ChainHash;
use crate::codec::offered::OfferedChain;
use crate::form::Form;
use crate::vectors::{array, sha256, vectors};
use crate::wire::Content;

const OF_TLS_1_3: [&str; 2] = ["paper", "paper, with staples"];

const ALL: [&str; 4] =
    ["paper", "paper, with staples", "paper, tls 1.2, sha256", "paper, tls 1.2, sha384"];

/// Strips type and length of an extension, or a message's header.
fn body(whole: &[u8]) -> &[u8] {
    &whole[4..]
}

#[test]
fn a_clients_offer_on_paper_matches_the_vectors() {
    let vectors = vectors();
    for section in ALL {
        let get = |name| vectors.get(section, name);
        let request = get("CertificateRequest");
        let info = CachedInfo {
            certificates: [ChainHash(array(get("H of the server")))].into(),
            requests: [request_hash(sha256(), body(request))].into(),
        };
        assert_eq!(info.requests[0], get("fingerprint of the request"));
        let offer = body(get("ClientHello, cached_info"));
        assert_eq!(info.write().as_deref(), Some(offer), "{section}");
        assert_eq!(CachedInfo::read(offer), Ok(info));
        let ticket = array(get("ticket"));
        let offer = body(get("ClientHello, bithac"));
        assert_eq!(Hello::write([ticket].into_iter()), offer, "{section}");
        assert_eq!(Hello::read(offer), Ok(Hello::Tickets([(0, ticket)].into())));
        let first = body(get("ClientHello, first contact"));
        assert_eq!(Hello::write([].into_iter()), first);
        assert_eq!(Hello::read(first), Ok(Hello::TakesPart));
    }
    assert_eq!(CachedInfo::default().write(), None);
}

#[test]
fn a_servers_answer_on_paper_matches_the_vectors() {
    let vectors = vectors();
    let both = CachedInfoAnswer { certificate: true, request: true };
    let info = CachedInfo { certificates: [ChainHash([0; 32])].into(), requests: [[0; 32]].into() };
    let tickets = Hello::Tickets([(0, [0; 8])].into());
    for section in OF_TLS_1_3 {
        let message = |cached_info: Option<Vec<u8>>, tickets: Vec<u8>| {
            let mut extensions = Vec::new();
            if let Some(cached_info) = cached_info {
                extensions.extend_from_slice(&[0, 25]);
                put16(&mut extensions, &cached_info);
            }
            extensions.extend_from_slice(&[0xff, 0x5d]);
            put16(&mut extensions, &tickets);
            let (mut body, mut message) = (Vec::new(), [8].to_vec());
            put16(&mut body, &extensions);
            put24(&mut message, &body);
            message
        };
        for (name, selected, hello, ticket) in [
            ("EncryptedExtensions, first contact", None, &Hello::TakesPart, None),
            ("EncryptedExtensions, nothing found", None, &tickets, None),
            ("EncryptedExtensions", Some(both), &tickets, Some(0)),
        ] {
            let cached_info = selected.and_then(CachedInfoAnswer::write);
            let answer = write_selected_ticket(hello, ticket);
            let read = read_selected_ticket(&answer, 1);
            assert_eq!(read, Ok(ticket.map(usize::from)));
            assert_eq!(
                message(cached_info, answer),
                vectors.get(section, name),
                "{section} {name}"
            );
        }
    }
    for section in &ALL[2..] {
        let cached_info = body(vectors.get(section, "ServerHello, cached_info"));
        assert_eq!(both.write().as_deref(), Some(cached_info));
        assert_eq!(CachedInfoAnswer::read(cached_info, &info), Ok(both));
        let answer = body(vectors.get(section, "ServerHello, bithac"));
        assert_eq!(write_selected_ticket(&tickets, Some(0)), answer);
    }
    assert_eq!(CachedInfoAnswer::default().write(), None);
}

#[test]
fn abbreviated_messages_are_those_of_the_vectors() {
    let vectors = vectors();
    for section in OF_TLS_1_3 {
        let get = |name| vectors.get(section, name);
        for (whole, short) in [
            ("server Certificate", "abbreviated server Certificate"),
            ("client Certificate", "abbreviated client Certificate"),
        ] {
            let (whole, short) = (body(get(whole)), body(get(short)));
            let chain = Chain::of_body(CertificateType::X509, whole).expect("a chain");
            let hash = chain.hash(sha256());
            let content = Content::write(&hash, whole).expect("a body");
            assert_eq!(abbreviated(&content), short, "{section}");
            // And the reverse.
            assert_eq!(read_certificate(short), Ok(&content[..]));
            let form = Form::Whole(chain);
            let asked = super::super::offered::asked_of(tessera::auth::Role::Server, None, at(0));
            let offered = OfferedChain::new(NO_ID, (), &form, None, asked).expect("a chain");
            let (decoded, len) = expand(&offered, hash, &content).expect("a body");
            let expected = DecodedCertificate::new(CertificateContents::Body(whole.to_vec()));
            assert_eq!((decoded, len), (expected, whole.len()));
            let shorter = offered.decode(hash, &content, len - 1).expect("well-formed");
            assert!(!shorter.is_what_was_sent);
        }
    }
    for section in ALL {
        let hash: [u8; 32] = array(vectors.get(section, "fingerprint of the request"));
        let short = body(vectors.get(section, "abbreviated CertificateRequest"));
        assert_eq!(abbreviated(&hash), short);
        assert_eq!(read_request(short), Ok(hash));
    }
}

#[test]
fn tickets_on_paper_are_those_of_the_vectors() {
    let vectors = vectors();
    for section in OF_TLS_1_3 {
        let get = |name| vectors.get(section, name);
        let suite = CipherSuite(u16::from_be_bytes(array(get("suite"))));
        let hash = tessera_aws_lc::provider().suite(suite).expect("a suite").hash;
        let chain =
            ChainHash::of_body(sha256(), CertificateType::X509, body(get("client Certificate")));
        let secret = get("resumption master secret");
        let label = |context: &[u8], out: &mut [u8]| {
            expand_label(hash, secret, "bithac ticket", context, out);
        };
        let end = HandshakeEnd::new(None, None, at(0), &label);
        let ticket = derive(&end, &chain.expect("a chain")).expect("a ticket");
        assert_eq!(ticket.bytes, get("ticket"), "{section}");
    }
}

#[test]
fn inputs_that_the_vectors_refuse_on_paper_are_refused() {
    let info = CachedInfo { certificates: [ChainHash([0; 32])].into(), requests: [[0; 32]].into() };
    let mut checked = 0;
    for (name, value) in vectors().section("refused") {
        let parts: Vec<&str> = name.split(": ").collect();
        let refused = match parts[1] {
            "ClientHello cached_info" => CachedInfo::read(value).map(drop),
            "EncryptedExtensions cached_info" => CachedInfoAnswer::read(value, &info).map(drop),
            "ClientHello bithac" => Hello::read(value).map(drop),
            "EncryptedExtensions bithac" => read_selected_ticket(value, 1).map(drop),
            "abbreviated Certificate" => read_certificate(value).map(drop),
            _ => continue,
        };
        assert_eq!(alert(refused), parts[0], "{name}");
        checked += 1;
    }
    assert_eq!(checked, 20);
}

fn alert(read: Result<(), CodecRefusal>) -> &'static str {
    match read {
        Err(CodecRefusal::Malformed(_)) => "decode_error",
        Err(CodecRefusal::Illegal(_)) => "illegal_parameter",
        _ => "accepted",
    }
}

/// Cases that the vectors don't cover.
#[test]
fn more_is_refused_on_paper() {
    let (decode_error, illegal, accepted) = ("decode_error", "illegal_parameter", "accepted");
    let ticket = |bytes: &[u8]| [&[1, 8][..], bytes].concat();
    let list = |entries: &[Vec<u8>]| {
        let mut out = Vec::new();
        put16(&mut out, &entries.concat());
        out
    };
    let (one, other) = (ticket(&[1; 8]), ticket(&[2; 8]));
    let unknown = [7, 3, 1, 1, 1].to_vec();
    let many: Vec<Vec<u8>> = (0..200).map(|number| ticket(&[number; 8])).collect();
    for (entries, expected) in [
        (&[one.clone(), other.clone()][..], accepted),
        (&[one.clone(), other.clone(), one.clone()], illegal),
        (&[unknown.clone(), unknown.clone(), one.clone()], accepted),
        (&[[1, 9].to_vec(), [1; 9].to_vec()], decode_error),
        (&[one.clone(), [1].to_vec()], decode_error),
        (&many, accepted),
        (&[&many[..], &[ticket(&[199; 8])]].concat(), illegal),
    ] {
        assert_eq!(alert(Hello::read(&list(entries)).map(drop)), expected, "{entries:?}");
    }
    // The index counts entries of unknown types too.
    let read = Hello::read(&list(&[unknown.clone(), one.clone()]));
    assert_eq!(read, Ok(Hello::Tickets([(1, [1; 8])].into())));
    for (answer, expected) in [
        (&[0, 0][..], accepted),
        (&[], accepted),
        (&[0, 3, 1, 0, 1], accepted),
        (&[0, 3, 1, 0, 2], illegal),
        (&[0, 3, 2, 0, 0], illegal),
        (&[0, 6, 1, 0, 0, 1, 0, 1], illegal),
        (&[0, 6, 1, 0, 0, 1], decode_error),
        (&[0], decode_error),
    ] {
        let read = read_selected_ticket(answer, 2).map(drop);
        assert_eq!(alert(read), expected, "{answer:?}");
    }
    let only = |certificates: usize, requests: usize| CachedInfo {
        certificates: (0..certificates).map(|_| ChainHash([0; 32])).collect(),
        requests: (0..requests).map(|_| [0; 32]).collect(),
    };
    for (answer, info, expected) in [
        (&[0, 2, 2, 1][..], only(1, 1), accepted),
        (&[0, 1, 1], only(1, 0), accepted),
        (&[0, 1, 2], only(1, 0), illegal),
        (&[0, 1, 1], only(0, 1), illegal),
        (&[0, 1, 3], only(1, 1), illegal),
        (&[0, 3, 1, 2, 2], only(1, 1), illegal),
        (&[], only(1, 1), decode_error),
    ] {
        assert_eq!(alert(CachedInfoAnswer::read(answer, &info).map(drop)), expected, "{answer:?}");
    }
    let hash = [0x5a; 32];
    for (body, expected) in [
        (abbreviated(&hash), accepted),
        (Vec::new(), decode_error),
        ([&[31][..], &hash[..31]].concat(), decode_error),
        ([&abbreviated(&hash)[..], &[0]].concat(), decode_error),
        // A full one.
        ([0, 0, 8, 0, 13, 0, 4, 0, 2, 4, 3].to_vec(), decode_error),
    ] {
        assert_eq!(alert(read_request(&body).map(drop)), expected, "{body:?}");
    }
    // Staples without any extension.
    let empty = abbreviated(&[&hash[..], &[0, 0, 0, 0]].concat());
    assert_eq!(alert(read_certificate(&empty).map(drop)), decode_error);
}
