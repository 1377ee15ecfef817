//! Both ends' configurations, observed.

use std::sync::Arc;

use tessera::auth::{Credential, PeerVerifier, PrivateKey};
use tessera::handshake::ClientAuthentication;
use tessera::{ClientConfig, ServerConfig};

use crate::observer::{ObservedPart, Observer};
use crate::provider;

/// Returns the client's configuration, with its provider, its verifier and its local keys observed.
///
/// A provider lives as long as the process: each call leaks about a kilobyte.
pub fn client<O: Observer>(mut config: ClientConfig, by: &'static O) -> ClientConfig {
    config.provider = provider::observed(&config.provider, by);
    config.verifier = verifier(config.verifier, by);
    config.credentials = credentials(config.credentials, by);
    config
}

/// Returns the server's configuration, with the same parts observed as the [`client`]'s, and its stores.
pub fn server<O: Observer>(mut config: ServerConfig, by: &'static O) -> ServerConfig {
    config.provider = provider::observed(&config.provider, by);
    config.credentials = credentials(config.credentials, by);
    config.client_authentication = match config.client_authentication {
        ClientAuthentication::Required(it) => ClientAuthentication::Required(verifier(it, by)),
        ClientAuthentication::Optional(it) => ClientAuthentication::Optional(verifier(it, by)),
        other => other,
    };
    config.tickets = config.tickets.map(|inner| Arc::new(ObservedPart { inner, by }) as _);
    let early_data = &mut config.policy.early_data;
    if let Some(guard) = &mut early_data.forward_secret {
        guard.vault = Arc::new(ObservedPart { inner: guard.vault.clone(), by });
    }
    if let Some(guard) = &mut early_data.replayable_without_forward_secrecy {
        guard.register = Arc::new(ObservedPart { inner: guard.register.clone(), by });
    }
    config
}

fn verifier<O: Observer>(inner: Arc<dyn PeerVerifier>, by: &'static O) -> Arc<dyn PeerVerifier> {
    Arc::new(ObservedPart { inner, by })
}

fn credentials<O: Observer>(credentials: Vec<Credential>, by: &'static O) -> Vec<Credential> {
    let observed = |mut credential: Credential| {
        credential.key = match credential.key {
            PrivateKey::Signs(inner) => PrivateKey::Signs(Arc::new(ObservedPart { inner, by })),
            PrivateKey::Decapsulates(inner) => {
                PrivateKey::Decapsulates(Arc::new(ObservedPart { inner, by }))
            }
            elsewhere => elsewhere,
        };
        credential
    };
    credentials.into_iter().map(observed).collect()
}
