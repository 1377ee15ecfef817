//! Connectors to the peers.

use std::sync::Arc;

use tessera::ClientConfig;
use tessera::resume::Continuation;
use tessera_kit::ProgramError;
use tessera_proxy::keys_ahead;
use tessera_tokio::Connector;

use super::server::{Parts, TICKETS, groups};
use crate::identity::{KnownPeer, Listener, SeppVerifier};
use crate::reconnection::PeerSessions;

/// The two connectors to a peer, under one configuration.
#[derive(Clone)]
pub struct PeerConnectors {
    /// To its N32-c: a full handshake each time, and no early data.
    pub n32c: Connector,
    /// To its N32-f: resumes as the peer's `reconnection` allows.
    pub n32f: Connector,
}

impl Parts<'_> {
    /// Builds the connectors to a peer, which resumes these sessions.
    pub(super) fn to(
        &self,
        peer: &KnownPeer,
        sessions: Arc<PeerSessions>,
    ) -> Result<PeerConnectors, ProgramError> {
        let n32c = self.client(peer, Listener::N32c);
        let mut n32f = self.client(peer, Listener::N32f);
        let modes = &peer.modes;
        n32f.policy.resumption = modes.resume;
        n32f.policy.psk_only_without_forward_secrecy = modes.resume && modes.risky_psk_ke;
        n32f.policy.tickets = TICKETS;
        // Replayable early data is accepted, and never sent.
        if modes.resume && modes.forward_secret_early_data {
            n32f.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
        }
        Ok(PeerConnectors {
            n32c: Connector::new(n32c.checked()?),
            n32f: Connector::new(n32f.checked()?).with_sessions(sessions),
        })
    }

    /// Builds a configuration with only full handshakes.
    fn client(&self, peer: &KnownPeer, listener: Listener) -> ClientConfig {
        let (known, associations) = (self.standing.known(), self.standing.associations());
        let name = peer.fqdn.clone();
        let verifier = SeppVerifier::of_server(known.clone(), listener, associations.clone(), name);
        let provider = keys_ahead::provider(&[]);
        let groups = groups(&provider);
        let mut config = ClientConfig::new(provider, Arc::new(verifier));
        config.groups = groups;
        config.protocols = vec![b"h2".to_vec()];
        config.credentials = vec![self.own.credential.clone()];
        config.certificate_codecs = tessera_compression::codecs();
        config.handshake_timeout = self.limits.handshake;
        config.policy.resumption = false;
        config
    }
}
