//! Questions answered later, in both roles; wrong answers; and what happens to input and time while
//! a question is open.

use tessera::auth::PeerIdentity;
use tessera::crypto::SigningError;
use tessera::handshake::{Checked, ClientQuestion, ServerQuestion};
use tessera::resume::{FlightHandle, PskKind, Receipt, ResumptionVerdict, Vault, Verdict};
use tessera::wire::AlertDescription;
use tessera::{Destination, Error, ServerConfig};
use tessera_harness::{EARLY_DATA, Mode, Pair, Scene, at, to};

use super::FACE;
use super::owner::{Owner, asking, rejected};

#[test]
fn handshakes_of_every_mode_complete_when_every_answer_comes_later() {
    for mode in Mode::ALL {
        let (asked, error, pair, _) = Owner::default().connect(mode);
        assert_eq!(error, None, "{mode:?}");
        assert!(pair.to_client.complete && pair.to_server.complete, "{mode:?}");
        let expected: &[&str] = match mode {
            Mode::Full | Mode::Retry => &["choose", "server signs", "verify server"],
            Mode::Mutual => {
                &["choose", "server signs", "verify server", "client signs", "verify client"]
            }
            Mode::Kem => &["choose", "server decapsulates", "verify server"],
            Mode::KemMutual => &[
                "choose",
                "server decapsulates",
                "verify server",
                "client decapsulates",
                "verify client",
            ],
            Mode::PskDhe | Mode::PskOnly | Mode::Replayable => &["choose", "open", "judge"],
            Mode::FsDhe | Mode::FsKe | Mode::FsPsk => &["choose", "open", "judge", "take"],
        };
        assert_eq!(asked, expected.iter().copied().collect(), "{mode:?}");
        let early = matches!(mode, Mode::Replayable | Mode::FsDhe | Mode::FsKe | Mode::FsPsk);
        assert_eq!(pair.to_server.early_data, if early { EARLY_DATA } else { b"" });
    }
}

#[test]
fn receipts_may_be_answered_later() {
    let (scene, chosen) = asking(Mode::FsDhe);
    let flights = [1, 2, 3].map(|number| FlightHandle([number; 32]));
    let mut first = scene.start(None, at(0));
    assert_eq!(Owner::default().run(&mut first, &scene, &chosen).1, None);
    let session = first.to_client.sessions.pop();
    let destination = Destination { ask_receipts: flights.to_vec(), ..to(session) };
    let mut pair = scene.start_to(destination, at(0));
    let (asked, error) = Owner::default().run(&mut pair, &scene, &chosen);
    assert_eq!(error, None);
    assert!(asked.contains("receipt"));
    let expected = flights.map(|flight| (flight, Receipt::TakenNotDone));
    assert_eq!(pair.client.facts().receipts, expected);
}

#[test]
fn refused_tickets_cost_a_round_trip_and_not_the_connection() {
    let owners = [
        Owner { no_ticket: true, ..Owner::default() },
        Owner { judges: Some(ResumptionVerdict::Refuse), ..Owner::default() },
    ];
    for owner in owners {
        for mode in
            [Mode::PskDhe, Mode::PskOnly, Mode::Replayable, Mode::FsDhe, Mode::FsKe, Mode::FsPsk]
        {
            let (_, error, pair, scene) = owner.connect(mode);
            assert_eq!(error, None);
            assert!(pair.to_client.complete && pair.to_server.complete, "{mode:?}");
            assert_eq!(pair.client.facts().psk, None);
            assert_eq!(pair.to_server.early_data, b"");
            // Two keys of the first connection, one of them burned when its ticket was opened, and two of this one.
            let (verdict, keys) = match (mode, owner.no_ticket) {
                (Mode::PskDhe | Mode::PskOnly, _) => (None, 0),
                (Mode::Replayable, _) => (Some(Verdict::Unknown), 0),
                (_, true) => (Some(Verdict::Unknown), 4),
                (_, false) => (Some(Verdict::Burned), 3),
            };
            assert_eq!((pair.to_client.verdict, scene.vault.len()), (verdict, keys), "{mode:?}");
        }
    }
    let owner = Owner { vault_is_away: true, ..Owner::default() };
    let (_, error, pair, _) = owner.connect(Mode::FsDhe);
    assert_eq!(error, None);
    assert_eq!(pair.client.facts().psk, Some(PskKind::Resumption));
    assert_eq!(pair.to_client.verdict, Some(Verdict::Unknown));
    let judges = Some(ResumptionVerdict::AcceptWithoutEarlyData);
    let (_, error, pair, _) = Owner { judges, ..Owner::default() }.connect(Mode::FsKe);
    assert_eq!(error, None);
    assert_eq!(pair.to_client.verdict, Some(Verdict::Burned));
}

#[test]
fn a_refused_peer_or_name_ends_the_handshake_with_its_alert() {
    let unknown_ca = Error::PeerRejected(rejected());
    let cases = [
        (Owner { no_config: true, ..Owner::default() }, AlertDescription::UNRECOGNIZED_NAME),
        (Owner { rejects_client: true, ..Owner::default() }, AlertDescription::UNKNOWN_CA),
        (Owner { rejects_server: true, ..Owner::default() }, AlertDescription::UNKNOWN_CA),
        (
            Owner { server_does_not_sign: true, ..Owner::default() },
            AlertDescription::INTERNAL_ERROR,
        ),
        (
            Owner { client_does_not_sign: true, ..Owner::default() },
            AlertDescription::INTERNAL_ERROR,
        ),
    ];
    let modes = [Mode::Mutual, Mode::KemMutual];
    for ((owner, alert), mode) in cases.into_iter().flat_map(|case| modes.map(|mode| (case, mode)))
    {
        let (asked, error, pair, _) = owner.connect(mode);
        let error = error.expect("an error");
        assert_eq!(error.alert(), Some(alert), "{asked:?}");
        assert_eq!(error == unknown_ca, owner.rejects_client || owner.rejects_server);
        // The other end gets the alert, unless it awaits one under keys that only a server that decapsulates has.
        let told = Some(Error::AlertReceived(alert));
        let is_told = pair.to_client.error == told || pair.to_server.error == told;
        assert!(is_told || mode.is_kem() && owner.server_does_not_sign, "{asked:?}");
        assert!(!pair.to_server.complete);
    }
}

/// A server that waits for its configuration, with more input after the question.
pub(crate) fn waiting() -> (Pair, Scene, Checked<ServerConfig>) {
    let (scene, chosen) = asking(Mode::FsDhe);
    let mut pair = scene.start(None, at(0));
    Owner::default().run(&mut pair, &scene, &chosen);
    let mut pair = scene.start(pair.to_client.sessions.pop(), at(0));
    pair.client_to_server();
    assert_eq!(pair.server_questions.len(), 1);
    (pair, scene, chosen)
}

#[test]
fn an_answer_to_another_connections_question_is_refused_and_harmless() {
    // A token of another connection's question.
    let (signing, chosen) = asking(Mode::Full);
    let mut other = signing.start(None, at(0));
    other.run();
    let Some(question) = other.server_questions.pop() else { panic!("a question") };
    let owner = Owner::default();
    assert_eq!(owner.answer_server(&mut other, question, &signing, &chosen).1, Ok(()));
    other.deliver_to_server(&[]);
    let Some(ServerQuestion::Sign(asked)) = other.server_questions.pop() else {
        panic!("the server signs")
    };

    let (mut pair, scene, chosen) = waiting();
    let now = pair.now;
    let refused = pair.server.answer(asked.token, Err(SigningError), now, &mut pair.server_output);
    assert_eq!(refused, Err(Error::WrongAnswer));
    assert!(pair.server_output.is_empty());
    let (_, error) = owner.run(&mut pair, &scene, &chosen);
    assert_eq!(error, None);
    assert!(pair.to_client.complete && pair.to_server.complete);
}

#[test]
fn an_answer_to_no_question_is_refused_and_harmless() {
    let (mut pair, _, chosen) = waiting();
    let Some(ServerQuestion::ChooseConfig(asked)) = pair.server_questions.pop() else {
        panic!("the configuration")
    };
    let mut unasked = Scene::over(FACE, tessera_null_provider::provider(), Mode::Full).pair();
    let (now, out) = (unasked.now, &mut unasked.server_output);
    let refused = unasked.server.answer(asked.token, Ok(chosen), now, out);
    assert_eq!(refused, Err(Error::WrongAnswer));
    unasked.run();
    assert!(unasked.to_server.complete);
}

#[test]
fn a_peer_identity_that_fits_no_ticket_is_refused() {
    let (scene, chosen) = asking(Mode::Full);
    let mut pair = scene.start(None, at(0));
    let owner = Owner::default();
    while pair.client_questions.is_empty() {
        pair.run();
        if let Some(question) = pair.server_questions.pop() {
            assert_eq!(owner.answer_server(&mut pair, question, &scene, &chosen).1, Ok(()));
            pair.deliver_to_server(&[]);
        }
    }
    let Some(ClientQuestion::VerifyPeer(asked)) = pair.client_questions.pop() else {
        panic!("the server's certificate")
    };
    let identity = PeerIdentity { blob: vec![0; PeerIdentity::MAX_LEN + 1], expires_at: None };
    let (now, out) = (pair.now, &mut pair.client_output);
    let error = pair.client.answer(asked.token, Ok(identity.into()), now, out);
    assert!(matches!(error, Err(Error::Configuration(_))));
}
