//! The secrets that both sides derive after ServerHello (RFC 8446 §7.1).

use super::context::SecretLog;
use crate::crypto::SharedSecret;
use crate::schedule::{EarlySecret, HandshakeSecret, TrafficSecret, Transcript};

/// What is known after ServerHello.
pub struct HandshakeSecrets {
    pub(crate) client: TrafficSecret,
    pub(crate) server: TrafficSecret,
    pub(super) secret: HandshakeSecret,
}

impl HandshakeSecrets {
    /// Derives from the secret of the key exchange, or from none in psk_ke. The transcript ends with
    /// ServerHello.
    pub(crate) fn new(
        early: EarlySecret,
        shared: Option<&SharedSecret>,
        transcript: &Transcript,
        log: SecretLog<'_>,
    ) -> Self {
        let secret = early.into_handshake(shared);
        let hash = transcript.hash();
        let client = secret.client_traffic(&hash);
        let server = secret.server_traffic(&hash);
        log.secret("CLIENT_HANDSHAKE_TRAFFIC_SECRET", client.expose());
        log.secret("SERVER_HANDSHAKE_TRAFFIC_SECRET", server.expose());
        Self { client, server, secret }
    }
}
