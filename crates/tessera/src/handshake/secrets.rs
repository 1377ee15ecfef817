//! The secrets of the two epochs that both sides derive alike (RFC 8446 §7.1).

use super::context::Logged;
use crate::crypto::SharedSecret;
use crate::schedule::{
    EarlySecret, ExporterSecret, HandshakeSecret, MasterSecret, TrafficSecret, Transcript,
};

/// What is known after ServerHello.
pub(crate) struct HandshakeSecrets {
    pub(crate) client: TrafficSecret,
    pub(crate) server: TrafficSecret,
    secret: HandshakeSecret,
}

impl HandshakeSecrets {
    /// Goes on with the secret of the key exchange, or with none in psk_ke. The transcript ends with
    /// ServerHello.
    pub(crate) fn new(
        early: EarlySecret,
        shared: Option<&SharedSecret>,
        transcript: &Transcript,
        log: Logged<'_>,
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

/// What is known after the server's Finished.
pub(crate) struct ApplicationSecrets {
    pub(crate) client: TrafficSecret,
    pub(crate) server: TrafficSecret,
    pub(crate) exporter: ExporterSecret,
    pub(crate) master: MasterSecret,
}

impl ApplicationSecrets {
    /// The handshake's secrets end here, but for the client's, which its Finished still needs. The
    /// transcript ends with the server's Finished.
    pub(crate) fn new(
        handshake: HandshakeSecrets,
        transcript: &Transcript,
        log: Logged<'_>,
    ) -> (Self, TrafficSecret) {
        let master = handshake.secret.into_master();
        let hash = transcript.hash();
        let client = master.client_traffic(&hash);
        let server = master.server_traffic(&hash);
        let exporter = master.exporter(&hash);
        log.secret("CLIENT_TRAFFIC_SECRET_0", client.expose());
        log.secret("SERVER_TRAFFIC_SECRET_0", server.expose());
        log.secret("EXPORTER_SECRET", exporter.expose());
        (Self { client, server, exporter, master }, handshake.client)
    }
}
