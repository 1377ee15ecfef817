//! Observed configurations: every call of an engine to its provider, to its certificate's key, to its verifier and to
//! its stores passes an [`Observer`], which sees it begin and end.
//!
//! ```text
//!   engine ──► ObservedPart ──► AWS-LC, tessera-webpki, tessera-vault
//!                 │ begin, end
//!                 ▼
//!              Observer: a clock (`timed`), an allocator's books (`components`)
//! ```
//!
//! The engine's own work is the rest between two operations. Results are unchanged, and so is what a peer sees.

mod agreement;
mod algorithms;
mod auth;
mod operation;
mod provider;
mod stores;
mod suite;

use std::sync::Arc;

use tessera::auth::{Credential, PeerVerifier, PrivateKey};
use tessera::handshake::ClientAuthentication;
use tessera::{ClientConfig, ServerConfig};

pub(crate) use algorithms::algorithms;
pub(crate) use operation::Operation;

/// Is notified of every operation. Operations nest: one that begins inside another ends before it, in the same thread.
pub(crate) trait Observer: Send + Sync + 'static {
    /// Whether to observe hashes and record protection too, which are frequent.
    const SUITES: bool;

    /// What it keeps from the beginning of an operation to its end.
    type Begun;

    /// An operation begins.
    fn begin(&self, operation: Operation) -> Self::Begun;

    /// It has ended.
    fn end(&self, operation: Operation, begun: Self::Begun);
}

/// A part of a configuration, or a key made by one, whose work is observed.
struct ObservedPart<T, O: 'static> {
    inner: T,
    by: &'static O,
}

impl<T, O: Observer> ObservedPart<T, O> {
    fn during<R>(&self, operation: Operation, work: impl FnOnce(&T) -> R) -> R {
        during(self.by, operation, || work(&self.inner))
    }
}

/// Runs a closure as this operation.
pub(crate) fn during<O: Observer, R>(
    observer: &O,
    operation: Operation,
    work: impl FnOnce() -> R,
) -> R {
    let begun = observer.begin(operation);
    let result = work();
    observer.end(operation, begun);
    result
}

/// Returns the client's configuration, with everything in it observed.
///
/// A provider lives as long as the process: each call leaks about a kilobyte.
pub(crate) fn client<O: Observer>(mut config: ClientConfig, by: &'static O) -> ClientConfig {
    config.provider = provider::observed(&config.provider, by);
    config.verifier = verifier(config.verifier, by);
    config.credentials = credentials(config.credentials, by);
    config
}

/// Returns the server's configuration, with everything in it observed, stores included; see [`client`].
pub(crate) fn server<O: Observer>(mut config: ServerConfig, by: &'static O) -> ServerConfig {
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
        if let PrivateKey::Signs(inner) = credential.key {
            credential.key = PrivateKey::Signs(Arc::new(ObservedPart { inner, by }));
        }
        credential
    };
    credentials.into_iter().map(observed).collect()
}
