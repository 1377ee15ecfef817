//! What a client may change after a HelloRetryRequest (RFC 8446 §4.1.2), and what not.

use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_harness::{Pair, UnsealedTickets, at};
use tessera_null_provider::{NullSigner, NullVerifier, provider};

/// psk_key_exchange_modes with psk_ke alone.
const PSK_KE_ALONE: &[u8] = &[0, 45, 0, 2, 1, 0];

/// A client that wants the PSK alone, and a server that does not: the modes stay as they were, so
/// the handshake is a full one. Servers compare the hellos, and end the connection over a change.
#[test]
fn psk_modes_stay() {
    let mut client = ClientConfig::new(provider(), Arc::new(NullVerifier));
    let key = PrivateKey::Here(Arc::new(NullSigner));
    let credential = Credential::new(vec![vec![0x30; 300]], key);
    let mut server = ServerConfig::new(provider(), vec![credential]);
    server.tickets = Some(Arc::new(UnsealedTickets));
    let server = Arc::new(server);
    let to = |session| Destination {
        server_name: "server.example".into(),
        session,
        ..Destination::default()
    };
    let mut first =
        Pair::start(&Arc::new(client.clone()), &server, to(None), at(0)).expect("starts");
    let session = first.run().to_client.sessions.pop();
    assert!(session.is_some());

    client.policy.psk_only_without_forward_secrecy = true;
    let mut second = Pair::start(&Arc::new(client), &server, to(session), at(0)).expect("starts");
    second.run();
    assert_eq!((&second.to_client.error, &second.to_server.error), (&None, &None));
    let facts = second.client.facts();
    assert!(facts.hello_retry && facts.handshake_complete);
    assert_eq!(facts.psk, None);
    let times =
        second.client_sent.windows(PSK_KE_ALONE.len()).filter(|bytes| *bytes == PSK_KE_ALONE);
    assert_eq!(times.count(), 2);
}
