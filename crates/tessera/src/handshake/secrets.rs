//! The secrets that both sides derive after ServerHello (RFC 8446 §7.1).

use super::context::SecretLog;
use crate::crypto::SharedSecret;
use crate::schedule::{EarlySecret, HandshakeSecret, KeyDerivation, Transcript};

/// Derives them from the PSK, or none, and the secret of the key exchange, or none in psk_ke. The transcript ends with
/// ServerHello.
pub(crate) fn handshake_secret(
    kdf: KeyDerivation,
    early: Option<EarlySecret>,
    shared: Option<&SharedSecret>,
    transcript: &Transcript,
    log: SecretLog<'_>,
) -> HandshakeSecret {
    let transcript = transcript.hash();
    let secret = match early {
        Some(early) => early.into_handshake(shared, &transcript),
        None => HandshakeSecret::without_psk(kdf, shared, &transcript),
    };
    log.secret("CLIENT_HANDSHAKE_TRAFFIC_SECRET", secret.client_traffic().expose());
    log.secret("SERVER_HANDSHAKE_TRAFFIC_SECRET", secret.server_traffic().expose());
    secret
}
