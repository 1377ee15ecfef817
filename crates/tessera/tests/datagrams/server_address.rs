//! The announcement of the socket that a server has for one association.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;

use tessera::wire::{AlertDescription, ExtensionType, OpaqueExtension};
use tessera::{AddressPrefix, AssociationOptions, Error, Role, ServerAddress};
use tessera_harness::{DatagramPair, Link, Mode, Scene, lossless, to};

use crate::world::{DELAY, begin, is_connected, scene, session, with_id};

const PORT: NonZeroU16 = NonZeroU16::new(49_153).unwrap();

fn following(prefixes: &[AddressPrefix]) -> AssociationOptions {
    AssociationOptions { follows_to: Some(prefixes.to_vec()), ..with_id(b"") }
}

fn announcing(ip: Option<IpAddr>) -> AssociationOptions {
    AssociationOptions { server_address: Some(ServerAddress { ip, port: PORT }), ..with_id(b"") }
}

/// Returns a pair whose server answers with these bytes.
fn by_hand(contents: &[u8]) -> DatagramPair {
    let typ = ExtensionType::SERVER_ADDRESS;
    let mut scene = scene(Mode::Full);
    scene.server.extensions = vec![OpaqueExtension { typ, contents: contents.to_vec() }];
    begin(&scene, to(None), [following(&[]), with_id(b"")], lossless(DELAY))
}

#[test]
fn a_client_that_follows_learns_the_address_with_the_end_of_the_handshake() {
    for mode in Mode::ALL {
        let scene = scene(mode);
        let destination = to(mode.resumes().then(|| session(&scene)).flatten());
        let options = [following(&[]), announcing(None)];
        let mut pair = begin(&scene, destination, options, lossless(DELAY));
        while !pair.to_client.complete {
            assert_eq!(pair.client.server_address(), None, "{mode:?}: unauthenticated");
            let next = pair.elapsed + DELAY;
            pair.run_for(next);
        }
        let announced = ServerAddress { ip: None, port: PORT };
        assert_eq!(pair.client.server_address(), Some(announced), "{mode:?}");
        pair.run();
        is_connected(&mut pair, "after the announcement");
        assert!(pair.client.can_check_paths() && pair.server.can_check_paths());
        assert_eq!(pair.server.server_address(), None);
        let server = "192.0.2.1:5684".parse().unwrap();
        assert_eq!(announced.seen_from(server), "192.0.2.1:49153".parse().unwrap());
    }
}

#[test]
fn nothing_is_announced_to_a_client_that_does_not_follow() {
    let pair = [with_id(b""), announcing(None)];
    let mut pair = begin(&scene(Mode::Full), to(None), pair, lossless(DELAY));
    pair.run();
    is_connected(&mut pair, "without an offer");
    assert_eq!(pair.client.server_address(), None);
    assert!(pair.client.facts().peer_extensions.is_empty());
}

#[test]
fn a_client_goes_to_no_address_but_those_that_it_allows() {
    let allowed: IpAddr = Ipv4Addr::new(192, 0, 2, 7).into();
    let network = AddressPrefix::new(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0).into(), 64);
    for (ip, is_allowed) in [
        ("192.0.2.7", true),
        ("192.0.2.8", false),
        ("2001:db8::1:2:3:4", true),
        ("2001:db8:0:1::", false),
        ("127.0.0.1", false),
    ] {
        let ip = ip.parse().unwrap();
        let options = [following(&[allowed.into(), network.unwrap()]), announcing(Some(ip))];
        let mut pair = begin(&scene(Mode::Full), to(None), options, lossless(DELAY));
        pair.run();
        let alert = pair.to_client.error.as_ref().and_then(Error::alert);
        let announced = pair.client.server_address().and_then(|it| it.ip);
        if is_allowed {
            assert_eq!((alert, announced), (None, Some(ip)));
        } else {
            assert_eq!((alert, announced), (Some(AlertDescription::ILLEGAL_PARAMETER), None));
        }
    }
}

#[test]
fn an_announcement_of_a_wrong_form_ends_the_handshake() {
    for (contents, alert) in [
        (&[][..], AlertDescription::DECODE_ERROR),
        (&[0, 1], AlertDescription::DECODE_ERROR),
        (&[0, 0, 1, 0], AlertDescription::DECODE_ERROR),
        (&[3, 1, 2, 3, 0, 1], AlertDescription::DECODE_ERROR),
        (&[0, 0, 0], AlertDescription::ILLEGAL_PARAMETER),
    ] {
        let mut pair = by_hand(contents);
        pair.run();
        let error = pair.to_client.error.as_ref().and_then(Error::alert);
        assert_eq!(error, Some(alert), "{contents:?}");
    }
}

#[test]
fn an_offer_with_content_is_refused() {
    let none = AssociationOptions { connection_id: None, ..AssociationOptions::default() };
    let extension = |typ, contents: &[u8]| OpaqueExtension { typ, contents: contents.to_vec() };
    let mut destination = to(None);
    destination.extensions = vec![
        extension(ExtensionType::CONNECTION_ID, &[0]),
        extension(ExtensionType::SERVER_ADDRESS, &[0, 1, 2]),
    ];
    let options = [none, announcing(None)];
    let mut pair = begin(&scene(Mode::Full), destination, options, lossless(DELAY));
    pair.run();
    let error = pair.to_server.error.as_ref().and_then(Error::alert);
    assert_eq!(error, Some(AlertDescription::DECODE_ERROR));
}

/// The announcement is under keys, and in the transcript that Finished covers.
#[test]
fn an_announcement_that_is_changed_on_the_way_is_none() {
    let of = |link: Link| {
        let scene = Scene::new(tessera_aws_lc::provider(), Mode::Full);
        begin(&scene, to(None), [following(&[]), announcing(None)], link)
    };
    let mut pair = of(lossless(DELAY));
    pair.run();
    let protected = pair.sent[1].iter().filter(|it| it[0] & 0xe0 == 0x20).count();
    assert!(protected > 0);
    let mut pair = of(Box::new(|sender, _, datagram| {
        if sender == Role::Server {
            let len = datagram.len();
            datagram[len - 20] ^= 1;
        }
        vec![DELAY]
    }));
    pair.run();
    assert!(!pair.to_client.complete);
    assert_eq!(pair.client.server_address(), None);
}
