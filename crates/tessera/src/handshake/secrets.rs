//! The secrets that both sides derive after ServerHello (RFC 8446 §7.1).

use super::context::SecretLog;
use crate::crypto::SharedSecret;
use crate::schedule::{EarlySecret, HandshakeSecret, Transcript};

/// Derives the Handshake Secret from the secret of the key exchange, or from none in psk_ke. The transcript ends with
/// ServerHello.
pub(crate) fn handshake_secret(
    early: EarlySecret,
    shared: Option<&SharedSecret>,
    transcript: &Transcript,
    log: SecretLog<'_>,
) -> HandshakeSecret {
    let secret = early.into_handshake(shared, &transcript.hash());
    log.secret("CLIENT_HANDSHAKE_TRAFFIC_SECRET", secret.client_handshake_traffic().expose());
    log.secret("SERVER_HANDSHAKE_TRAFFIC_SECRET", secret.server_handshake_traffic().expose());
    secret
}
