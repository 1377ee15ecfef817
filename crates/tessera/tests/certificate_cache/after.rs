//! What codecs send in tickets, and what they observe after the handshake.

use std::sync::Arc;

use tessera::Error;
use tessera::auth::PeerRejected;
use tessera::handshake::ClientAuthentication;
use tessera::wire::{AlertDescription, ExtensionType};
use tessera_harness::{Mode, Pair};

use crate::AnsweringVerifier;
use crate::script::{CodecCall, ForTickets, Play, Stage};

const CACHED: ExtensionType = ExtensionType::CACHED_CERTIFICATES;

/// A client whose codec stays, and a server whose tickets have this extension.
fn stage(mode: Mode, stays: ForTickets, ticket: Option<ExtensionType>) -> Stage {
    let client = Play { hello: Some(Vec::new()), stays: Some(stays), ..Play::default() };
    let ticket = ticket.map(|typ| (typ, b"ticket ".to_vec()));
    Stage::new(mode, client, Play { ticket, ..Play::default() })
}

/// The calls to the client's codec after the end.
fn after(stage: &Stage) -> Vec<CodecCall> {
    let heard = stage.client.heard();
    let end = heard.iter().rposition(|it| matches!(it, CodecCall::Ended { .. })).expect("an end");
    heard[end + 1..].to_vec()
}

/// In a full handshake and in a resumption.
#[test]
fn ticket_extensions_of_a_servers_codec_reach_the_clients() {
    for mode in [Mode::Mutual, Mode::Retry, Mode::PskDhe, Mode::FsDhe] {
        let mut stage = stage(mode, ForTickets(true), Some(CACHED));
        stage.scene.server.policy.tickets.new_session_count = 3;
        stage.scene.server.policy.tickets.resumption_count = 3;
        stage.scene.client.policy.tickets = stage.scene.server.policy.tickets;
        let pair = stage.connected();
        let tickets = (0..3).map(|number| CodecCall::Ticket([&b"ticket "[..], &[number]].concat()));
        let expected: Vec<_> = [CodecCall::Accepted].into_iter().chain(tickets).collect();
        assert_eq!(after(&stage), expected, "{mode:?}");
        assert_eq!(pair.to_client.sessions.len(), 3, "{mode:?}");
        let heard = stage.server.heard();
        let next = |number| CodecCall::NextTicket { number, count: 3, lifetime: 86_400 };
        assert!(heard.ends_with(&[next(0), next(1), next(2)]), "{mode:?} {heard:?}");
        drop(pair);
        assert_eq!(stage.client.heard(), [CodecCall::Gone], "{mode:?}");
    }
}

#[test]
fn a_codec_gets_no_ticket_extension_of_another_type() {
    for typ in [None, Some(ExtensionType(0xff77))] {
        let stage = stage(Mode::Full, ForTickets(true), typ);
        let pair = stage.connected();
        assert_eq!(pair.to_client.sessions.len(), 2);
        assert_eq!(after(&stage), [CodecCall::Accepted], "{typ:?}");
    }
}

#[test]
fn a_clients_codec_without_an_extension_gets_none_from_a_ticket() {
    let mut stage = stage(Mode::Full, ForTickets(true), Some(CACHED));
    stage.client =
        crate::script::Script::new(Play { stays: Some(ForTickets(true)), ..Play::default() });
    stage.scene.client.certificate_codecs = vec![stage.client.clone()];
    let _pair = stage.connected();
    assert_eq!(after(&stage), [CodecCall::Accepted]);
}

#[test]
fn a_servers_codec_is_asked_for_no_extension_where_no_ticket_is_sent() {
    let mut stage = stage(Mode::Full, ForTickets(true), Some(CACHED));
    stage.scene.server.tickets = None;
    let pair = stage.connected();
    assert!(matches!(stage.server.heard().last(), Some(CodecCall::Ended { .. })));
    assert_eq!(after(&stage), []);
    drop(pair);
    assert_eq!(stage.client.heard(), [CodecCall::Gone]);
}

/// A client ignores an unknown extension, whatever its contents.
#[test]
fn a_client_without_codecs_ignores_what_a_servers_codec_puts_into_tickets() {
    let mut stage = stage(Mode::Full, ForTickets(true), Some(CACHED));
    stage.scene.client.certificate_codecs.clear();
    let mut pair = stage.scene.pair();
    pair.run();
    assert_eq!(pair.to_client.sessions.len(), 2);
}

#[test]
fn a_ticket_extension_of_a_codec_that_is_taken_or_grease_is_refused() {
    let refused = |typ, len| {
        let ticket = Some((typ, vec![0; len]));
        let stage = Stage::new(Mode::Full, Play::default(), Play { ticket, ..Play::default() });
        let pair = stage.connect();
        matches!(pair.to_server.error, Some(Error::Configuration(_)))
    };
    for typ in [ExtensionType::EARLY_DATA, ExtensionType::SERVER_NAME, ExtensionType(0x3a3a)] {
        assert!(refused(typ, 1), "{typ:?}");
    }
    assert!(refused(CACHED, 4096) && !refused(CACHED, 4095));
}

/// Data or a ticket, whichever comes first.
#[test]
fn a_codec_that_wants_no_tickets_is_gone_once_the_server_has_accepted() {
    for tickets in [true, false] {
        let mut stage = stage(Mode::Mutual, ForTickets(false), Some(CACHED));
        if !tickets {
            stage.scene.server.tickets = None;
        }
        let mut pair = stage.connected();
        if !tickets {
            assert_eq!(after(&stage), []);
            pair.server_write(b"data");
            pair.run();
            assert_eq!(stage.client.heard(), [CodecCall::Accepted, CodecCall::Gone]);
        } else {
            assert_eq!(after(&stage), [CodecCall::Accepted, CodecCall::Gone]);
        }
        pair.server_write(b"data");
        pair.run();
        assert_eq!(stage.client.heard(), []);
    }
}

fn of_nobody(stage: &mut Stage) {
    let (alert, reason) = (AlertDescription::CERTIFICATE_REVOKED, String::new());
    let nobody = AnsweringVerifier(Some(PeerRejected { alert, reason }));
    stage.scene.server.client_authentication = ClientAuthentication::Required(Arc::new(nobody));
}

#[test]
fn a_clients_codec_learns_that_the_server_refused_its_last_flight() {
    for stays in [true, false] {
        let mut stage = stage(Mode::Mutual, ForTickets(stays), Some(CACHED));
        of_nobody(&mut stage);
        let pair = stage.connect();
        let refused = Some(Error::AlertReceived(AlertDescription::CERTIFICATE_REVOKED));
        assert_eq!(pair.to_client.error, refused);
        assert!(pair.to_client.complete);
        let heard = CodecCall::Refused(AlertDescription::CERTIFICATE_REVOKED);
        assert_eq!(after(&stage), [heard, CodecCall::Gone]);
    }
}

/// A server's alert before the client's last flight is about the ClientHello; one after data, about the data.
#[test]
fn a_codec_learns_only_of_refusals_of_the_last_flight() {
    // What happens before the alert.
    type Before = fn(&mut Pair);
    let cases: [(Before, &[CodecCall]); 2] = [
        (|_| (), &[CodecCall::Accepted]),
        (|pair| pair.server_write(b"data"), &[CodecCall::Accepted]),
    ];
    for (at, (before, expected)) in cases.into_iter().enumerate() {
        let mut stage = stage(Mode::Mutual, ForTickets(true), Some(CACHED));
        if at == 1 {
            stage.scene.server.tickets = None;
        }
        let mut pair = stage.connected();
        before(&mut pair);
        pair.run();
        let why = PeerRejected { alert: AlertDescription::ACCESS_DENIED, reason: String::new() };
        pair.server.stream().refuse(why, &mut pair.server_output);
        pair.run();
        let alert = Error::AlertReceived(AlertDescription::ACCESS_DENIED);
        assert_eq!(pair.to_client.error, Some(alert));
        let heard = after(&stage);
        assert!(
            heard.starts_with(expected)
                && !heard.iter().any(|it| matches!(it, CodecCall::Refused(_))),
            "{heard:?}"
        );
    }
    let mut stage = stage(Mode::Mutual, ForTickets(true), Some(CACHED));
    stage.scene.client.protocols = vec![b"one".to_vec()];
    stage.scene.server.protocols = vec![b"other".to_vec()];
    let alert = Error::AlertReceived(AlertDescription::NO_APPLICATION_PROTOCOL);
    assert_eq!(stage.connect().to_client.error, Some(alert));
    let heard = stage.client.heard();
    assert!(matches!(heard[..], [CodecCall::ToServer { .. }]), "{heard:?}");
}

/// The server sends the alert because it can't read what arrived: its codec distinguishes the two.
#[test]
fn a_clients_codec_learns_that_its_last_flight_was_changed_on_the_way() {
    let stage = stage(Mode::Mutual, ForTickets(true), Some(CACHED));
    let mut pair = stage.scene.pair();
    pair.client_to_server();
    pair.server_to_client();
    let mut flight = pair.intercept_client();
    *flight.last_mut().expect("a flight") ^= 1;
    pair.deliver_to_server(&flight);
    pair.run();
    let alert = AlertDescription::BAD_RECORD_MAC;
    assert_eq!(pair.to_client.error, Some(Error::AlertReceived(alert)));
    assert_eq!(after(&stage), [CodecCall::Refused(alert), CodecCall::Gone]);
}

/// An attacker on the path can cut it.
#[test]
fn a_connection_that_ends_without_an_alert_reports_nothing_to_a_codec() {
    let mut stage = stage(Mode::Mutual, ForTickets(true), Some(CACHED));
    of_nobody(&mut stage);
    let mut pair = stage.scene.pair();
    pair.client_to_server();
    pair.server_to_client();
    pair.client_to_server();
    pair.intercept_server();
    assert_eq!(pair.client.end_of_stream(), Err(Error::Truncated));
    assert_eq!(after(&stage), [CodecCall::Gone]);
    // close_notify is not a refusal.
    let stage = self::stage(Mode::Mutual, ForTickets(true), None);
    let mut scene = stage.scene.clone();
    scene.server.tickets = None;
    let mut pair = scene.pair();
    pair.run();
    pair.server.close(&mut pair.server_output);
    pair.run();
    assert!(pair.to_client.closed);
    assert_eq!(after(&stage), []);
}
