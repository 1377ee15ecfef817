//! The verifier of SEPPs, in both roles.

use std::sync::Arc;

use tessera::Role;
use tessera::auth::{
    PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer,
};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera_webpki::Algorithms;

use super::CertificateIdentity;
use super::association::AssociationLookup;
use super::peers::{KnownPeer, KnownPeers};
use super::remembered::{Direction, Identity, Listener};
use crate::names::Fqdn;

/// Accepts the SEPPs of the configuration, each by the trust anchor of the networks that its certificate names, and
/// returns their [`Identity`].
///
/// # Policy
/// A verifier for one server covers all its settings. A verifier for clients covers no peer's: each identity carries
/// the epoch of its peer, so a change to one peer only ends that peer's tickets. **Accepting clients with it also
/// requires a [`PeerJudge`](crate::reconnection::PeerJudge)**, as in `tls`.
pub struct SeppVerifier {
    known: Arc<KnownPeers>,
    listener: Listener,
    associations: Arc<dyn AssociationLookup>,
    /// The dialled peer, if this verifies a server.
    server: Option<Fqdn>,
    /// The clients sent no server name.
    is_unnamed: bool,
    schemes: Vec<SignatureScheme>,
    chain_schemes: Vec<SignatureScheme>,
}

impl SeppVerifier {
    /// Creates a verifier for the clients of a listener.
    pub fn of_clients(
        known: Arc<KnownPeers>,
        listener: Listener,
        associations: Arc<dyn AssociationLookup>,
    ) -> Self {
        Self::new(known, listener, associations, None)
    }

    /// Restricts it to clients that sent no server name: accepts only peers that may omit it
    /// ([`KnownPeer::without_server_name`]).
    #[must_use]
    pub fn without_server_name(mut self) -> Self {
        self.is_unnamed = true;
        self
    }

    /// Creates a verifier for the server that is dialled as this peer. Its certificate must contain the dialled name,
    /// which may differ from the peer's own: N32-c may have announced another for N32-f.
    pub fn of_server(
        known: Arc<KnownPeers>,
        listener: Listener,
        associations: Arc<dyn AssociationLookup>,
        peer: Fqdn,
    ) -> Self {
        Self::new(known, listener, associations, Some(peer))
    }

    fn new(
        known: Arc<KnownPeers>,
        listener: Listener,
        associations: Arc<dyn AssociationLookup>,
        server: Option<Fqdn>,
    ) -> Self {
        // All anchors have the same algorithms.
        let anchor = known.anchors().iter().next().map(|anchor| &anchor.verifier);
        let of_none = || Algorithms::AWS_LC.handshake.iter().map(|(scheme, _)| *scheme).collect();
        let schemes = anchor.map_or_else(of_none, |anchor| anchor.schemes().to_vec());
        let chain_schemes = anchor.map_or_else(Vec::new, |anchor| anchor.chain_schemes().to_vec());
        Self { known, listener, associations, server, is_unnamed: false, schemes, chain_schemes }
    }

    fn judge(&self, question: &VerifyPeer) -> Result<PeerAcceptance, PeerRejected> {
        let certificate = self.known.anchors().judge(question)?;
        let (peer, direction) = match (question.peer, &self.server) {
            (Role::Client, None) => (self.client(&certificate)?, Direction::Incoming),
            (Role::Server, Some(peer)) => {
                (self.server(peer, &certificate, question)?, Direction::Outgoing)
            }
            _ => {
                return Err(refused_with(
                    AlertDescription::INTERNAL_ERROR,
                    "a verifier for the other role",
                ));
            }
        };
        if peer.anchor != certificate.anchor {
            return Err(refused(format!(
                "{}: the certificate belongs to the trust anchor {:?}, not to {:?}",
                peer.fqdn, certificate.anchor, peer.anchor
            )));
        }
        if !peer.plmns.iter().any(|plmn| certificate.plmns.contains(&plmn)) {
            return Err(refused(format!(
                "{}: the certificate names none of its networks",
                peer.fqdn
            )));
        }
        if !peer.pins.is_empty() && !peer.pins.contains(&certificate.fingerprint) {
            return Err(refused(format!("{}: the certificate is not in `pins`", peer.fqdn)));
        }
        if self.is_unnamed && !peer.without_server_name {
            return Err(refused(format!("{}: it sent no server name", peer.fqdn)));
        }
        let association = self.associations.established(&peer.fqdn);
        if let (Listener::N32f, Some((_, n32c))) = (self.listener, &association)
            && !certificate.is_within(n32c)
        {
            return Err(refused(format!(
                "{}: the certificate names networks ({}) that the N32-c certificate does not ({})",
                peer.fqdn, certificate.plmns, n32c.plmns
            )));
        }
        let identity = Identity {
            peer: peer.fqdn.clone(),
            direction,
            listener: self.listener,
            association: association.map(|(id, _)| id),
            epoch: self.known.epoch_of(&peer.fqdn).unwrap_or_default(),
            certificate,
        };
        let encoded: Result<PeerIdentity, _> = identity.encode();
        let encoded = encoded.map_err(|error| {
            let reason = format!("{}: {error}", identity.peer);
            PeerRejected { alert: AlertDescription::UNSUPPORTED_CERTIFICATE, reason }
        });
        encoded.map(PeerAcceptance::from)
    }

    /// Returns the only configured peer that the certificate names.
    fn client(&self, certificate: &CertificateIdentity) -> Result<&KnownPeer, PeerRejected> {
        let mut named = certificate.fqdns.iter().filter_map(|name| self.known.get(name));
        match (named.next(), named.next()) {
            (Some(peer), None) => Ok(peer),
            (None, _) => Err(refused(format!(
                "the certificate names no configured peer: {:?}",
                certificate.fqdns
            ))),
            (Some(one), Some(other)) => Err(refused(format!(
                "the certificate names two peers, {} and {}: it must name one",
                one.fqdn, other.fqdn
            ))),
        }
    }

    /// Returns the dialled peer, if its certificate contains the dialled name.
    fn server(
        &self,
        peer: &Fqdn,
        certificate: &CertificateIdentity,
        question: &VerifyPeer,
    ) -> Result<&KnownPeer, PeerRejected> {
        let name = question.server_name.as_deref().and_then(|name| name.parse::<Fqdn>().ok());
        if !name.is_some_and(|name| certificate.fqdns.contains(&name)) {
            return Err(refused_with(
                AlertDescription::BAD_CERTIFICATE,
                format!("{peer}: the certificate is for other names: {:?}", certificate.fqdns),
            ));
        }
        self.known.get(peer).ok_or_else(|| refused(format!("{peer} is not a configured peer")))
    }
}

impl PeerVerifier for SeppVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.schemes
    }

    fn chain_schemes(&self) -> &[SignatureScheme] {
        &self.chain_schemes
    }

    fn policy(&self) -> VerifierPolicy {
        let policy =
            VerifierPolicy::new("tessera-sepp: SEPPs, 1").with(self.listener.as_str().as_bytes());
        let policy = policy.with(&[u8::from(self.is_unnamed)]);
        match &self.server {
            None => policy.with(b"clients, each judged by its epoch"),
            Some(peer) => {
                let epoch = self.known.epoch_of(peer).map(u64::to_be_bytes);
                policy.with(peer.as_str().as_bytes()).with_set(epoch)
            }
        }
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        Reply::Now(self.judge(question))
    }
}

fn refused(reason: String) -> PeerRejected {
    refused_with(AlertDescription::ACCESS_DENIED, reason)
}

fn refused_with(alert: AlertDescription, reason: impl Into<String>) -> PeerRejected {
    PeerRejected { alert, reason: reason.into() }
}
