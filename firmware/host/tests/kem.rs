//! The images with static keys of ML-KEM: what their clients refuse.
#![cfg(feature = "ml-kem")]

use tessera::handshake::Handshake;
use tessera::wire::AlertDescription;
use tessera::{ClientConfig, ClientConnection, Connection, Destination, Error, Output};
use tessera::{ServerConfig, ServerConnection};
use tessera_firmware_host::connection::{Input, Progress, read};
use tessera_firmware_host::ends;

/// Moves what one end has sent to the other, which reads it.
fn pass<H: Handshake>(
    from: &mut Output,
    to: (&mut Connection<H>, &mut Input, &mut Output, &mut Progress),
) -> Result<(), Error> {
    let (connection, input, output, progress) = to;
    while !from.is_empty() {
        input.take_from(from);
        read(connection, input, output, progress)?;
    }
    Ok(())
}

/// Connects; returns what each end reports, and the client.
fn connect(
    client: ClientConfig,
    to: Destination,
    server: ServerConfig,
) -> (Result<ClientConnection, Error>, Result<(), Error>) {
    let (mut to_server, mut to_client) = (Output::new(), Output::new());
    let client = client.checked().expect("the client is good");
    let mut client = match ClientConnection::start(client, to, ends::NOW, &mut to_server) {
        Ok(client) => client,
        Err(error) => return (Err(error), Ok(())),
    };
    let server = server.checked().expect("the server is good");
    let mut server = ServerConnection::start(server, ends::NOW);
    let (mut at_client, mut at_server) = (Input::new(), Input::new());
    let (mut client_is, mut server_is) = (Progress::default(), Progress::default());
    let (mut of_client, mut of_server) = (Ok(()), Ok(()));
    while !to_server.is_empty() || !to_client.is_empty() {
        let at = (&mut server, &mut at_server, &mut to_client, &mut server_is);
        of_server = of_server.and(pass(&mut to_server, at));
        let at = (&mut client, &mut at_client, &mut to_server, &mut client_is);
        of_client = of_client.and(pass(&mut to_client, at));
    }
    assert_eq!(of_client.is_ok(), client_is.is_complete);
    (of_client.map(|()| client), of_server)
}

fn server() -> ServerConfig {
    ends::server().expect("the key is good")
}

#[test]
fn the_server_is_known_by_what_the_image_knows_it_by() {
    let (client, server) = connect(ends::client(), ends::destination(), server());
    assert_eq!(server, Ok(()));
    let shows_certificate = client.expect("connects").facts().peer_certificate.is_some();
    assert_eq!(shows_certificate, cfg!(feature = "kem-x509"));
}

#[test]
fn without_randomness_nothing_is_sent() {
    use tessera::crypto::{Provider, RandomFailed};
    use tessera_rustcrypto::RandomSource;

    struct Broken;
    impl RandomSource for Broken {
        fn fill(_: &mut [u8]) -> Result<(), RandomFailed> {
            Err(RandomFailed)
        }
    }
    static BROKEN: Provider = tessera_rustcrypto::provider::<Broken>();
    let mut client = ends::client();
    client.provider = BROKEN;
    let (client, _) = connect(client, ends::destination(), server());
    assert_eq!(client.err(), Some(Error::Provider("no random bytes")));
    let mut server = server();
    server.provider = BROKEN;
    let (client, server) = connect(ends::client(), ends::destination(), server);
    assert_eq!(client.err(), Some(Error::AlertReceived(AlertDescription::INTERNAL_ERROR)));
    assert!(server.is_err());
}

/// A client that knows another key has nothing else to accept the server by.
#[cfg(feature = "kem-pinned")]
mod another_key {
    use std::sync::Arc;

    use tessera::auth::{Credential, PrivateKey};
    use tessera_firmware_host::settings::server_with;
    use tessera_rustcrypto::KemKey;

    use super::*;

    fn impostor() -> ServerConfig {
        let key = KemKey::<3>::from_seed(&[1; 64]);
        let good = server().credentials.remove(0);
        let mut info = good.chain[0].clone();
        let from = info.len() - key.public_key().len();
        info[from..].copy_from_slice(key.public_key());
        let key = PrivateKey::Decapsulates(Arc::new(key));
        server_with(vec![Credential::raw_public_key(info, key)])
    }

    #[test]
    fn a_server_with_another_key_is_refused() {
        let (client, server) = connect(ends::client(), ends::destination(), impostor());
        let (client, server) = (client.err(), server.err());
        if cfg!(feature = "kem-raw-key") {
            let alert = AlertDescription::CERTIFICATE_UNKNOWN;
            assert_eq!(client.and_then(|error| error.alert()), Some(alert));
            assert_eq!(server, Some(Error::AlertReceived(alert)));
        } else {
            // The client asks for no certificate: it has no code to read one.
            let alert = AlertDescription::MISSING_EXTENSION;
            assert_eq!(client, Some(Error::AlertReceived(alert)));
            assert_eq!(server.and_then(|error| error.alert()), Some(alert));
        }
    }

    /// The impostor knows the public key, and so the identity that the client sends.
    #[test]
    fn a_server_that_has_the_public_half_alone_is_refused() {
        struct Pretends(KemKey<3>, Vec<u8>);
        impl tessera::crypto::Decapsulator for Pretends {
            fn scheme(&self) -> &tessera::wire::SignatureScheme {
                self.0.scheme()
            }
            fn public_key(&self) -> Option<&[u8]> {
                Some(&self.1)
            }
            fn decapsulate(
                &self,
                encapsulation: &[u8],
            ) -> Result<tessera::crypto::SharedSecret, tessera::crypto::AgreementError>
            {
                self.0.decapsulate(encapsulation)
            }
        }
        let good = server().credentials.remove(0);
        let PrivateKey::Decapsulates(known) = &good.key else { panic!("it decapsulates") };
        let public = known.public_key().expect("it is known").to_vec();
        let pretends = Pretends(KemKey::from_seed(&[1; 64]), public);
        let key = PrivateKey::Decapsulates(Arc::new(pretends));
        let server = server_with(vec![Credential { key, ..good }]);
        let (client, server) = connect(ends::client(), ends::destination(), server);
        // The binder is under the secret that the server doesn't get (docs/kem-auth.md §9).
        let alert = AlertDescription::DECRYPT_ERROR;
        assert_eq!(client.err(), Some(Error::AlertReceived(alert)));
        assert_eq!(server.err().and_then(|error| error.alert()), Some(alert));
    }

    #[cfg(feature = "kem-raw-key")]
    #[test]
    fn a_server_that_sends_the_key_is_accepted_without_being_known() {
        let to = Destination { known_server_key: None, ..ends::destination() };
        let (client, server) = connect(ends::client(), to, server());
        assert_eq!(server, Ok(()));
        assert!(client.expect("connects").facts().peer_certificate.is_some());
    }
}
