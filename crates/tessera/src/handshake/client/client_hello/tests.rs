//! One offer written twice, as Encrypted Client Hello will.

use super::super::tests::offer;
use super::*;
use crate::testing::trace;
use crate::wire::{ClientHello, HandshakeMessage};

/// encrypted_client_hello (RFC 9849).
const ENCRYPTED_CLIENT_HELLO: ExtensionType = ExtensionType(0xfe0d);

/// Writes the offer into a buffer that is not empty.
fn written(offer: &Offer, form: &HelloForm<'_>) -> Vec<u8> {
    let mut out = b"before".to_vec();
    offer.write_form(form, &mut out, None);
    out
}

fn read(bytes: &[u8]) -> ClientHello<'_> {
    let message = HandshakeMessage::split_from(bytes).expect("a whole message");
    assert_eq!(message.bytes.len(), bytes.len());
    let reader = message.reader_for(HandshakeType::CLIENT_HELLO).expect("a ClientHello");
    ClientHello::read(reader, &crate::wire::Versions::TLS_1_3)
        .map_err(|error| alloc::format!("{error}"))
        .expect("is read")
}

fn types(hello: &ClientHello<'_>) -> Vec<ExtensionType> {
    hello.extensions.iter().map(|(typ, _)| typ).collect()
}

#[test]
fn a_cookie_comes_before_the_shares() {
    let mut offer = offer(&trace("resumed_0rtt"));
    offer.cookie = Some(b"crumbs".to_vec());
    let written = written(&offer, &offer.form());
    let types = types(&read(&written));
    let at = |typ| types.iter().position(|it| *it == typ);
    assert!(at(ExtensionType::COOKIE).is_some());
    assert!(at(ExtensionType::COOKIE) < at(ExtensionType::KEY_SHARE));
}

#[test]
fn an_offer_is_written_as_an_inner_and_an_outer_client_hello() {
    let offer = offer(&trace("resumed_0rtt"));
    assert!(offer.early_data.is_some() && offer.psks.len() == 1);
    let (inner_random, inner_mark) = ([0x11; 32], [1]);
    let inner = written(
        &offer,
        &HelloForm {
            random: &inner_random,
            server_name: Some("inner.example"),
            omitted: &[],
            added: &[(ENCRYPTED_CLIENT_HELLO, &inner_mark)],
        },
    );
    let outer = written(
        &offer,
        &HelloForm {
            server_name: Some("outer.example"),
            omitted: &[ExtensionType::PRE_SHARED_KEY, ExtensionType::RECORD_SIZE_LIMIT],
            added: &[(ENCRYPTED_CLIENT_HELLO, &[0; 40])],
            ..offer.form()
        },
    );
    let (inner_hello, outer_hello) = (read(&inner), read(&outer));

    assert_eq!(inner_hello.random, &inner_random);
    assert_eq!(outer_hello.random, &offer.random);
    assert_eq!(inner_hello.server_name, Some("inner.example"));
    assert_eq!(outer_hello.server_name, Some("outer.example"));
    assert_eq!(inner_hello.session_id, outer_hello.session_id);
    let share = |hello: &ClientHello<'_>| {
        let mut shares = hello.key_shares.expect("shares").iter();
        shares.next().map(|share| (share.group, share.key_exchange.to_vec()))
    };
    assert_eq!(share(&inner_hello), share(&outer_hello));
    assert!(inner_hello.psks.is_some() && outer_hello.psks.is_none());
    assert!(inner_hello.early_data && outer_hello.early_data);
    assert_eq!(inner_hello.small.record_size_limit, offer.small.record_size_limit);
    assert_eq!(outer_hello.small.record_size_limit, None);

    // All others are in both, in the same order.
    let mut expected = types(&inner_hello);
    expected.retain(|typ| {
        *typ != ExtensionType::PRE_SHARED_KEY && *typ != ExtensionType::RECORD_SIZE_LIMIT
    });
    assert_eq!(types(&outer_hello), expected);
    assert!(expected.contains(&ENCRYPTED_CLIENT_HELLO));

    // Each binder covers its own hello.
    let psk = &offer.psks[0];
    let covered = &inner[..inner.len() - inner_hello.psks.expect("PSKs").binders_len()];
    let binder = psk.early.binder(psk.kind.binder_label(), &psk.suite.hash.hash(covered));
    assert_eq!(inner_hello.psks.and_then(|psks| psks.binder(0)), Some(binder.as_ref()));
}

/// The engine sends the offer's single form, with and without a transcript before it.
#[test]
fn a_client_hello_is_the_one_form_of_its_offer() {
    let offer = offer(&trace("resumed_0rtt"));
    let mut sent = Vec::new();
    offer.write(&mut sent, None);
    assert_eq!(sent, written(&offer, &offer.form()));
    let hello = read(&sent);
    assert_eq!(hello.server_name, Some("server"));
    assert_eq!(hello.random, &offer.random);
    assert_eq!(types(&hello).last(), Some(&ExtensionType::PRE_SHARED_KEY));

    let hash = offer.psks[0].suite.hash;
    let mut before = Transcript::start(hash, b"before");
    let mut second = Vec::new();
    offer.write(&mut second, Some(&mut before));
    assert_eq!(before.hash().as_ref(), hash.hash(&[b"before", &second[..]].concat()).as_ref());
}
