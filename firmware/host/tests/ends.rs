//! Both ends of an image over memory, and what its features leave out.

use tessera::wire::FlightHandle;
use tessera::{ClientConnection, Error, Output, ServerConnection};
use tessera_firmware_host::connection::{Input, Progress, read};
use tessera_firmware_host::ends;

#[test]
fn both_ends_of_the_image_connect() -> Result<(), Error> {
    let (mut to_server, mut to_client) = (Output::new(), Output::new());
    let config = ends::client().checked()?;
    let mut client =
        ClientConnection::start(config, ends::destination(), ends::NOW, &mut to_server)?;
    let mut server = ServerConnection::start(ends::server()?.checked()?, ends::NOW);
    let (mut at_client, mut at_server) = (Input::new(), Input::new());
    let (mut client_is, mut server_is) = (Progress::default(), Progress::default());
    while !to_server.is_empty() || !to_client.is_empty() {
        at_server.take_from(&mut to_server);
        read(&mut server, &mut at_server, &mut to_client, &mut server_is)?;
        at_client.take_from(&mut to_client);
        read(&mut client, &mut at_client, &mut to_server, &mut client_is)?;
    }
    assert!(client_is.is_complete && server_is.is_complete);
    Ok(())
}

#[test]
fn receipts_are_not_asked_for() -> Result<(), Error> {
    let mut to = ends::destination();
    to.ask_receipts = vec![FlightHandle([0; 32])];
    let config = ends::client().checked()?;
    let error = ClientConnection::start(config, to, ends::NOW, &mut Output::new());
    assert!(matches!(error, Err(Error::Configuration(_))));
    Ok(())
}

/// What an image could only show in a certificate is an error when it is configured.
#[cfg(not(any(feature = "chains", feature = "kem-authentication")))]
#[test]
fn credentials_are_refused_where_certificates_are_left_out() {
    use std::sync::Arc;

    use tessera::auth::{Credential, PrivateKey};
    use tessera::crypto::{AgreementError, Decapsulator, SharedSecret};
    use tessera::wire::SignatureScheme;

    struct Key(Option<Vec<u8>>);
    impl Decapsulator for Key {
        fn scheme(&self) -> &SignatureScheme {
            &SignatureScheme::KEM_MLKEM768
        }
        fn public_key(&self) -> Option<&[u8]> {
            self.0.as_deref()
        }
        fn decapsulate(&self, _: &[u8]) -> Result<SharedSecret, AgreementError> {
            Err(AgreementError::Provider)
        }
    }
    let decapsulates = |key| PrivateKey::Decapsulates(Arc::new(Key(key)));
    let cases = [
        (PrivateKey::Elsewhere(vec![SignatureScheme::ED25519]), false),
        (PrivateKey::Elsewhere(vec![SignatureScheme::KEM_MLKEM768]), false),
        (decapsulates(None), false),
        (decapsulates(Some(vec![7; 1184])), cfg!(feature = "kem-pinned")),
    ];
    for (key, may_be_known) in cases {
        let mut config = ends::server().expect("the image's server is good");
        config.credentials.push(Credential::raw_public_key(vec![0x30], key));
        assert_eq!(config.checked().is_ok(), may_be_known);
    }
}
