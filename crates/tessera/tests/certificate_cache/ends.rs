//! What codecs observe at the end of a handshake, and how Certificates are counted.

use std::collections::HashSet;

use tessera::auth::CertificateContents;
use tessera::handshake::{CertificateTransfer, Facts};
use tessera_harness::Mode;

use crate::script::{CodecCall, HASHED, Play, Stage};

/// What a codec recorded at the end: the peer's certificate and the ticket.
fn end(heard: &[CodecCall]) -> (Option<CertificateContents>, [u8; 10]) {
    match heard {
        [.., CodecCall::Ended { peer, ticket, .. }] => (peer.clone(), *ticket),
        _ => panic!("a codec hears the end last: {heard:?}"),
    }
}

fn stage(mode: Mode) -> Stage {
    Stage::new(mode, Play::default(), Play::default())
}

/// Different connections have different tickets.
#[test]
fn both_ends_derive_the_same_certificate_tickets() {
    let mut seen = HashSet::new();
    for mode in Mode::ALL {
        let stage = stage(mode);
        for _ in 0..2 {
            stage.connected();
            let [client, server] = [&stage.client, &stage.server].map(|it| end(&it.heard()).1);
            assert_eq!(client, server, "{mode:?}");
            assert!(seen.insert(client), "{mode:?}");
        }
    }
}

#[test]
fn a_codec_learns_of_the_end_of_a_handshake_without_a_peer_certificate() {
    for mode in Mode::ALL {
        let stage = stage(mode);
        stage.connected();
        let [client, server] = [&stage.client, &stage.server].map(|it| end(&it.heard()).0);
        let is_there = |peer: Option<CertificateContents>| matches!(peer, Some(CertificateContents::Body(body)) if body.len() > 300);
        assert_eq!(is_there(client), !mode.resumes(), "{mode:?}");
        assert_eq!(is_there(server), mode.is_mutual(), "{mode:?}");
    }
}

/// In a resumption, the session's peer.
#[test]
fn a_codec_learns_the_peers_identity_at_the_end() {
    for mode in Mode::ALL {
        let stage = stage(mode);
        let pair = stage.connected();
        for (script, facts) in
            [(&stage.client, pair.client.facts()), (&stage.server, pair.server.facts())]
        {
            let heard = script.heard();
            let Some(CodecCall::Ended { identity, .. }) = heard.last() else { panic!("{heard:?}") };
            assert_eq!(*identity, facts.peer, "{mode:?}");
        }
        assert!(pair.client.facts().peer.is_some(), "{mode:?}");
    }
}

/// Although it was asked, and answered with an empty chain.
#[test]
fn a_codec_learns_of_no_certificate_of_a_client_that_has_none() {
    let mut stage = stage(Mode::Mutual);
    stage.scene.client.credentials.clear();
    stage.scene.server.client_authentication = tessera::handshake::ClientAuthentication::Optional(
        std::sync::Arc::new(tessera_null_provider::NullVerifier),
    );
    let pair = stage.connected();
    assert_eq!(end(&stage.server.heard()).0, None);
    assert_eq!(pair.server.facts().peer_certificate, None);
    assert_eq!(pair.client.facts().own_certificate, None);
}

#[test]
fn a_servers_codec_with_a_psk_learns_only_of_the_end() {
    for mode in Mode::ALL.into_iter().filter(|mode| mode.resumes()) {
        let stage = stage(mode);
        stage.connected();
        let heard = stage.server.heard();
        let [CodecCall::FromClient { with_psk: true, .. }, CodecCall::Ended { .. }] = &heard[..]
        else {
            panic!("{mode:?}: {heard:?}")
        };
        let heard = stage.client.heard();
        let [CodecCall::ToServer { .. }, CodecCall::Answered(None), CodecCall::Ended { .. }] =
            &heard[..]
        else {
            panic!("{mode:?}: {heard:?}")
        };
    }
}

/// So it knows which chain it sends.
#[test]
fn a_codec_sees_its_own_sides_certificate_where_the_peer_offers_nothing() {
    let stage = stage(Mode::Mutual);
    stage.connected();
    let certificate = stage.scene.server.credentials[0].chain[0].clone();
    for script in [&stage.client, &stage.server] {
        let encoded = |heard| match heard {
            CodecCall::Encode { body, offered } => Some((body, offered)),
            _ => None,
        };
        let seen: Vec<_> = script.heard().into_iter().filter_map(encoded).collect();
        let [(body, offered)] = &seen[..] else { panic!("once: {seen:?}") };
        assert!(offered.is_empty() && body.ends_with(&[&certificate[..], &[0, 0]].concat()));
    }
}

fn transfers(facts: &Facts) -> [Option<CertificateTransfer>; 2] {
    [facts.own_certificate, facts.peer_certificate]
}

/// With codecs and without.
#[test]
fn facts_state_how_each_certificate_travelled() {
    for mode in Mode::ALL {
        let mut stage = stage(mode);
        for _ in 0..2 {
            let pair = stage.connected();
            let [own, peer] = transfers(pair.client.facts());
            assert_eq!(transfers(pair.server.facts()), [peer, own], "{mode:?}");
            // Header, context, lengths of the list and of the certificate, extensions.
            let whole = |it: CertificateTransfer| {
                it.encoded_with.is_none() && it.len == if mode.is_kem() { 1197 } else { 313 }
            };
            assert_eq!(peer.is_some_and(whole), !mode.resumes(), "{mode:?} {peer:?}");
            assert_eq!(own.is_some_and(whole), mode.is_mutual(), "{mode:?} {own:?}");
            stage.scene.client.certificate_codecs.clear();
            stage.scene.server.certificate_codecs.clear();
        }
    }
    let knows = || Play { knows: Some(Vec::new()), ..Play::default() };
    let pair = Stage::new(Mode::Full, knows(), knows()).connected();
    let [own, peer] = transfers(pair.client.facts());
    assert!(own.is_none());
    let encoded = peer.map(|it| (it.encoded_with, it.len));
    assert_eq!(encoded, Some((Some(HASHED), 44)));
}

/// Each end for the Certificates that were sent, and only once the handshake is complete.
#[test]
fn facts_state_why_a_codec_did_not_encode_a_certificate() {
    let says = |missed| Play { missed, ..Play::default() };
    for mode in Mode::ALL {
        let (client, server) = ([Some("a"), Some("b")], [Some("c"), None]);
        let stage = Stage::new(mode, says(client), says(server));
        let pair = stage.connected();
        let told = |facts: &Facts| transfers(facts).map(|it| it.and_then(|it| it.missed));
        let if_sent = |words: [Option<&'static str>; 2], sent: [bool; 2]| {
            [words[0].filter(|_| sent[0]), words[1].filter(|_| sent[1])]
        };
        let (of_client, of_server) = (mode.is_mutual(), !mode.resumes());
        assert_eq!(told(pair.client.facts()), if_sent(client, [of_client, of_server]), "{mode:?}");
        assert_eq!(told(pair.server.facts()), if_sent(server, [of_server, of_client]), "{mode:?}");
    }
}

#[test]
fn facts_do_not_state_why_a_certificate_was_not_encoded_before_the_handshake_is_complete() {
    let says = Play { missed: [Some("own"), Some("peer")], ..Play::default() };
    let stage = Stage::new(Mode::Mutual, says.clone(), says);
    let mut pair = stage.scene.start(None, tessera_harness::at(0));
    pair.client_to_server();
    pair.server_to_client();
    let own = |facts: &Facts| transfers(facts)[0].map(|it| it.missed);
    assert_eq!(own(pair.client.facts()), Some(Some("own")));
    assert_eq!(own(pair.server.facts()), Some(None));
    pair.run();
    assert_eq!(own(pair.server.facts()), Some(Some("own")));
}
