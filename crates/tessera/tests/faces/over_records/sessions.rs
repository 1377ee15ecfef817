//! Sessions of another carrier in a ticket.

use tessera::resume::{Carrier, SessionState};
use tessera::wire::ExtensionType;
use tessera_harness::Scene;
use tessera_null_provider::provider;

use super::suites::sessions::{MODES, connect};

/// The client's copy claims a stream; the ticket is authoritative.
#[test]
fn a_server_resumes_no_session_of_another_carrier() {
    for mode in MODES {
        let scene = Scene::new(provider(), mode);
        for (carrier, resumes) in [(Carrier::STREAM, true), (Carrier(1), false)] {
            let mut session = scene.session().expect("a session");
            let ticket = SessionState::decode(&session.ticket).expect("is not sealed");
            session.ticket = SessionState { carrier, ..ticket }.encode().to_vec();
            let (psk, hello, pair) = connect(&scene, session);
            assert_eq!(psk.is_some(), resumes, "{mode:?}");
            assert!(hello.extension(ExtensionType::PRE_SHARED_KEY).is_some(), "{mode:?}");
            let early = hello.extension(ExtensionType::EARLY_DATA).is_some() && resumes;
            assert_eq!(!pair.to_server.early_data.is_empty(), early, "{mode:?}");
        }
    }
}
