//! Pairs that a client may offer although ours doesn't.

use tessera::handshake::EarlyDataStatus;
use tessera::resume::{PskKind, Vault, Verdict};
use tessera::wire::{ContentType, ExtensionType};
use tessera_harness::{Hello, Mode, Pair, Scene, at, plain, records};

type Edit = fn(&mut Hello, &mut Vec<u8>);

/// An identity that isn't forward-secret, or comes without the list of kinds, is unknown:
/// no error, nothing is taken, and the sealed ticket resumes.
#[test]
fn a_first_identity_that_is_not_forward_secret_takes_nothing_and_the_ticket_resumes() {
    let edits: [(&str, Edit); 5] = [
        ("no list of kinds", |hello, _| hello.remove(ExtensionType::FORWARD_SECRET_EARLY_DATA)),
        ("another form", |_, identity| identity[4] = 3),
        ("too short", |_, identity| identity.truncate(identity.len() - 1)),
        ("too long", |_, identity| identity.push(0)),
        ("the prefix alone", |_, identity| identity.truncate(5)),
    ];
    for (name, edit) in edits {
        let (pair, taken) = with_hello(edit);
        assert_eq!(pair.to_server.error, None, "{name}");
        let facts = pair.server.facts();
        assert_eq!(facts.psk, Some(PskKind::Resumption), "{name}");
        assert_eq!(facts.early_data, EarlyDataStatus::Rejected(Verdict::Unknown), "{name}");
        assert_eq!(taken, 0, "{name}");
    }
    // Unchanged it counts: the key is taken, and a first binder of zeros is fatal.
    let (pair, taken) = with_hello(|_, _| ());
    assert!(pair.to_server.error.is_some());
    assert_eq!(taken, 1);
}

/// The server's end after an edited ClientHello with a fitting binder of the sealed ticket, and how
/// many keys it took.
fn with_hello(edit: Edit) -> (Pair, usize) {
    let scene = Scene::new(tessera_aws_lc::provider(), Mode::FsDhe);
    let session = scene.session().expect("a session");
    let (keys, psk) = (scene.vault.len(), session.state.psk.expose().to_vec());
    let mut pair = scene.start(Some(session), at(0));
    let sent = records(&pair.intercept_client());
    let mut hello = Hello::read(&sent[0][5..]);
    let mut identities = hello.identities();
    edit(&mut hello, &mut identities[0].0);
    hello.set_identities(&identities, scene.suite().hash.len());
    hello.bind(1, scene.suite(), &psk, "res binder");
    pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
    (pair, keys - scene.vault.len())
}
