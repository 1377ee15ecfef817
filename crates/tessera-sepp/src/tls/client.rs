//! Connectors to the peers.

use std::sync::Arc;

use tessera::ClientConfig;
use tessera::handshake::Checked;
use tessera::resume::Continuation;
use tessera_kit::ProgramError;
use tessera_tokio::Connector;

use super::server::{Parts, TICKETS, groups};
use crate::identity::{KnownPeer, Listener, SeppVerifier};
use crate::names::Fqdn;
use crate::reconnection::{PeerSessions, Standing};

/// The two connectors to a peer.
#[derive(Clone)]
pub struct PeerConnectors {
    /// To its N32-c: a full handshake each time, and no early data.
    pub n32c: Connector,
    /// To its N32-f: resumes as the peer's `reconnection` allows.
    pub n32f: Connector,
}

/// Their configurations.
pub(super) struct PeerConfigs {
    n32c: Checked<ClientConfig>,
    n32f: Checked<ClientConfig>,
}

impl PeerConfigs {
    pub(super) fn connectors(self, standing: &Arc<Standing>, peer: &Fqdn) -> PeerConnectors {
        let sessions = PeerSessions::new(standing.clone(), peer.clone());
        PeerConnectors {
            n32c: Connector::new(self.n32c),
            n32f: Connector::new(self.n32f).with_sessions(Arc::new(sessions)),
        }
    }

    /// Applies them to connections that begin from now on, including those of clones.
    pub(super) fn replace(self, connectors: &PeerConnectors) {
        connectors.n32c.replace(self.n32c);
        connectors.n32f.replace(self.n32f);
    }
}

impl Parts<'_> {
    /// Builds the configurations for a peer.
    pub(super) fn to(&self, peer: &KnownPeer) -> Result<PeerConfigs, ProgramError> {
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
        Ok(PeerConfigs { n32c: n32c.checked()?, n32f: n32f.checked()? })
    }

    /// Builds a configuration with only full handshakes.
    fn client(&self, peer: &KnownPeer, listener: Listener) -> ClientConfig {
        let associations = self.standing.associations().clone();
        let name = peer.fqdn.clone();
        let verifier = SeppVerifier::of_server(self.known.clone(), listener, associations, name);
        let provider = tessera_aws_lc::provider();
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
