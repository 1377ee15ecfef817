//! Envoy: its secret discovery service (SDS), over gRPC on a Unix socket.
//!
//! Each Envoy that is connected gets the keys at once, and again after each change: the issuing key, the next one, the
//! earlier ones. Envoy seals with the first, and opens tickets under all. It confirms what it took, or refuses it with a
//! text, which is the acknowledgement; an Envoy that has left no longer counts, and one that comes later gets the present
//! keys. (Envoy's "xDS REST and gRPC protocol", state of the world: a request with the nonce of a response is an ACK, or
//! with `error_detail` a NACK.)
//!
//! Envoy's `DownstreamTlsContext` names the secret in `session_ticket_keys_sds_secret_config`, with an
//! `api_config_source` of `api_type: GRPC` and `transport_api_version: V3`, and a cluster for the socket (`pipe`) that has
//! `http2_protocol_options`.
//!
//! Each response is written to the socket from the one place where it is, and wiped then.

mod messages;
mod secret;
mod service;
mod subscriptions;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tessera_kit::ProgramError;
use tessera_proxy::listen::{SocketFile, listen_private};
use tessera_ring::{InstallRefused, Installation, Installer, RingKeys};
use tessera_vault::TicketKeyForm;
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, timeout_at};

use self::secret::Snapshot;
use self::service::Service;
use self::subscriptions::{Subscriptions, Verdict};
use super::CHECK_EVERY;
use crate::keys::{Fillers, ServerKeySet, ServerKeys};

/// The Envoys of a host that get their ticket keys at one socket.
pub struct Envoy {
    parts: EnvoyParts,
    /// What the Envoys should have; the service ends with it.
    current: watch::Sender<Snapshot>,
    subscriptions: Arc<Subscriptions>,
    /// Held during an installation.
    fillers: Mutex<Fillers>,
    _file: SocketFile,
}

/// What [`Envoy`] works with.
pub struct EnvoyParts {
    /// The socket. Its directory must not be writable for others; the socket belongs to the owner of the directory, who
    /// alone may connect.
    pub socket: PathBuf,
    /// The name of the secret.
    pub secret: String,
    /// The keys of its domain, of 80 bytes.
    pub keys: ServerKeys,
}

/// How long to wait for the Envoys to confirm keys, which takes them milliseconds: one that hangs must not hold up the ends
/// of keys at the others.
const DEADLINE: Duration = Duration::from_secs(1);

impl Envoy {
    /// Listens on the socket. Envoys that connect get keys after the first [`install`](Installer::install).
    ///
    /// # Errors
    /// If the socket can't be created, another process listens on it, others may write to its directory, or the keys
    /// aren't of 80 bytes.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn listen(parts: EnvoyParts) -> Result<Self, ProgramError> {
        if parts.keys.form() != TicketKeyForm::Aes256 {
            let what = "Envoy's ticket keys have 80 bytes";
            return Err(ProgramError::settings(what));
        }
        let (listener, file) = listen_private(&parts.socket)?;
        let (current, snapshots) = watch::channel(Snapshot::default());
        let subscriptions = Arc::new(Subscriptions::default());
        let random = ServerKeySet {
            issuing: parts.keys.random().map_err(|error| ProgramError::Failed(error.0))?,
            next: None,
            earlier: Vec::new(),
        };
        let service = Service {
            secret: parts.secret.clone(),
            stand_in: Arc::new(secret::encode(&parts.secret, &random)),
            snapshots,
            subscriptions: subscriptions.clone(),
        };
        tokio::spawn(service.serve(listener));
        Ok(Self { parts, current, subscriptions, fillers: Mutex::default(), _file: file })
    }

    async fn follow(&self, ring: &RingKeys) -> Result<(), InstallRefused> {
        let mut fillers = self.fillers.lock().await;
        let keys = self.parts.keys.derive(ring, &mut fillers)?;
        let version = self.publish(secret::encode(&self.parts.secret, &keys));
        let deadline = Instant::now() + DEADLINE;
        loop {
            let socket = self.parts.socket.display();
            let waiting = match self.subscriptions.verdict(version) {
                Verdict::Accepted => return Ok(()),
                Verdict::Nobody => {
                    return Err(InstallRefused(format!(
                        "no Envoy asks for the secret `{}` at {socket}: nothing confirms the ticket keys; they wait for \
                         an Envoy to connect",
                        self.parts.secret
                    )));
                }
                Verdict::Refused { node, reason } => {
                    return Err(InstallRefused(format!(
                        "Envoy `{node}` refused the ticket keys, and goes on with the earlier ones: {reason}"
                    )));
                }
                Verdict::Waiting(nodes) => nodes,
            };
            if timeout_at(deadline, self.subscriptions.changed()).await.is_err() {
                return Err(InstallRefused(format!(
                    "Envoy `{}` didn't confirm the ticket keys within {} s; check that it runs, and its log",
                    waiting.join("`, `"),
                    DEADLINE.as_secs()
                )));
            }
        }
    }

    /// Sends a secret to all Envoys, unless they have it. Returns its version.
    fn publish(&self, secret: secret::EncodedSecret) -> u64 {
        let current = self.current.borrow().clone();
        let is_current = current.secret.as_deref() == Some(&secret);
        // A refused secret is offered again: its reason may be gone.
        if is_current && !self.subscriptions.has_refusal(current.version) {
            return current.version;
        }
        let version = current.version + 1;
        self.current.send_replace(Snapshot { version, secret: Some(Arc::new(secret)) });
        version
    }
}

impl Installer for Envoy {
    fn install<'a>(&'a self, keys: &'a RingKeys) -> Installation<'a> {
        Box::pin(self.follow(keys))
    }

    fn check_every(&self) -> Option<Duration> {
        Some(CHECK_EVERY)
    }
}
