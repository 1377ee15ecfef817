//! The key schedule (RFC 8446 §7.1) as typestates: early, handshake, master; with KEM authentication, authenticated handshake
//! between them.
//!
//! Each secret yields its derived secrets and is then consumed by the next step, so that no
//! step is repeated or out of order, and no secret outlives its use.

mod application;
mod authenticated;
mod exporter;
mod label;
mod profile;
mod slab;
#[cfg(test)]
mod tests;
mod traffic;
mod transcript;

pub(crate) use application::{ApplicationSecrets, IdleSecrets};
pub use authenticated::{
    AuthenticatedHandshakeSecret, HalfFinishedMasterSecret, UnfinishedMasterSecret,
};
pub(crate) use exporter::ExporterSecret;
pub(crate) use label::{KeyDerivation, Label, MAX_LABEL};
pub use profile::{DATAGRAM, Profile, STREAM};
pub(crate) use traffic::KeptTrafficSecret;
pub use traffic::TrafficSecret;
pub(crate) use transcript::Transcript;

use alloc::boxed::Box;

use slab::{Block, Slab};

use crate::crypto::{Digest, HmacState, Secret, SharedSecret};

/// The Early Secret, with or without a PSK.
pub(crate) struct EarlySecret {
    kdf: KeyDerivation,
    /// `None` without a PSK where what follows is known.
    secret: Option<Box<HmacState>>,
}

impl EarlySecret {
    /// Extracts the PSK.
    pub(crate) fn new(kdf: KeyDerivation, psk: &[u8]) -> Self {
        let mut secret = HmacState::boxed();
        kdf.extract(&[], psk, &mut secret);
        Self { kdf, secret: Some(secret) }
    }

    /// Creates the early secret of a handshake without PSK.
    pub(crate) fn without_psk(kdf: KeyDerivation) -> Self {
        match kdf.derived_without_psk() {
            Some(_) => Self { kdf, secret: None },
            None => Self::new(kdf, kdf.zeros()),
        }
    }

    /// Computes the PSK binder over a transcript that ends before the binders (§4.2.11.2). The label depends on
    /// the kind of PSK.
    pub(crate) fn binder(&self, label: Label, transcript: &Digest) -> Digest {
        self.mac(label, transcript)
    }

    /// Computes the proof of a lone forward-secret identity that its sender has the PSK, over the hash of
    /// what precedes the proof.
    pub(crate) fn lone_identity_proof(&self, covered: &Digest) -> Digest {
        self.mac(Label::FORWARD_SECRET_PROOF, covered)
    }

    fn mac(&self, label: Label, covered: &Digest) -> Digest {
        let kdf = &self.kdf;
        self.with_secret(|secret| kdf.with_derived(secret, label, |key| kdf.finished(key, covered)))
    }

    /// Derives client_early_traffic_secret over the ClientHello.
    pub(crate) fn client_early_traffic(&self, transcript: &Digest) -> EarlyTrafficSecret {
        let kdf = self.kdf;
        let secret = self.with_secret(|secret| {
            kdf.expand_label_to_secret(secret, Label::CLIENT_EARLY_TRAFFIC, transcript.as_ref())
        });
        EarlyTrafficSecret { kdf, secret }
    }

    fn with_secret<R>(&self, each: impl FnOnce(&HmacState) -> R) -> R {
        match &self.secret {
            Some(secret) => each(secret),
            None => self.kdf.with_extracted(&[], self.kdf.zeros(), each),
        }
    }

    /// Continues with the secret of a key exchange, or with none in psk_ke. The transcript is
    /// ClientHello..ServerHello.
    pub(crate) fn into_handshake(
        self,
        shared: Option<&SharedSecret>,
        transcript: &Digest,
    ) -> HandshakeSecret {
        let kdf = self.kdf;
        let input = shared.map_or(kdf.zeros(), SharedSecret::expose);
        let secret = match (self.secret, kdf.derived_without_psk()) {
            (Some(mut secret), _) => {
                kdf.extract_next(&mut secret, input);
                secret
            }
            (None, Some(salt)) => {
                let mut secret = HmacState::boxed();
                kdf.extract(salt, input, &mut secret);
                secret
            }
            (None, None) => {
                return Self::new(kdf, kdf.zeros()).into_handshake(shared, transcript);
            }
        };
        let (mut slab, hash) = (Slab::new(), transcript.as_ref());
        let [client, server] = [Label::CLIENT_HANDSHAKE_TRAFFIC, Label::SERVER_HANDSHAKE_TRAFFIC];
        slab.derive(kdf, Block::ClientHandshake, &secret, client, hash);
        slab.derive(kdf, Block::ServerHandshakeOrExporter, &secret, server, hash);
        HandshakeSecret { kdf, secret, slab }
    }
}

/// client_early_traffic_secret.
pub(crate) struct EarlyTrafficSecret {
    kdf: KeyDerivation,
    secret: Secret,
}

impl EarlyTrafficSecret {
    /// Borrows the secret.
    pub(crate) fn traffic(&self) -> TrafficSecret<'_> {
        TrafficSecret::new(self.kdf, self.secret.expose())
    }
}

/// The Handshake Secret, and the traffic secrets derived from it.
pub struct HandshakeSecret {
    kdf: KeyDerivation,
    secret: Box<HmacState>,
    slab: Box<Slab>,
}

impl HandshakeSecret {
    /// Returns client_handshake_traffic_secret.
    pub(crate) fn client_handshake_traffic(&self) -> TrafficSecret<'_> {
        TrafficSecret::new(self.kdf, self.slab.get(self.kdf, Block::ClientHandshake))
    }

    /// Returns server_handshake_traffic_secret.
    pub(crate) fn server_handshake_traffic(&self) -> TrafficSecret<'_> {
        TrafficSecret::new(self.kdf, self.slab.get(self.kdf, Block::ServerHandshakeOrExporter))
    }

    /// Continues to the Master Secret; the transcript is ClientHello..server Finished.
    pub(crate) fn into_master(self, transcript: &Digest) -> MasterSecret {
        let Self { kdf, mut secret, mut slab } = self;
        kdf.extract_next(&mut secret, kdf.zeros());
        let hash = transcript.as_ref();
        slab.derive(
            kdf,
            Block::ClientApplication,
            &secret,
            Label::CLIENT_APPLICATION_TRAFFIC,
            hash,
        );
        slab.derive(
            kdf,
            Block::ServerApplication,
            &secret,
            Label::SERVER_APPLICATION_TRAFFIC,
            hash,
        );
        slab.derive(kdf, Block::ServerHandshakeOrExporter, &secret, Label::EXPORTER_MASTER, hash);
        MasterSecret { kdf, secret, slab }
    }
}

/// The Master Secret, the secrets derived from it, and the client's handshake traffic secret.
pub struct MasterSecret {
    kdf: KeyDerivation,
    secret: Box<HmacState>,
    slab: Box<Slab>,
}

impl MasterSecret {
    /// Returns client_handshake_traffic_secret, which protects the client's last flight and computes its Finished.
    pub(crate) fn client_handshake_traffic(&self) -> TrafficSecret<'_> {
        TrafficSecret::new(self.kdf, self.slab.get(self.kdf, Block::ClientHandshake))
    }

    /// Returns client_application_traffic_secret_0.
    pub(crate) fn client_application_traffic(&self) -> TrafficSecret<'_> {
        TrafficSecret::new(self.kdf, self.slab.get(self.kdf, Block::ClientApplication))
    }

    /// Returns server_application_traffic_secret_0.
    pub(crate) fn server_application_traffic(&self) -> TrafficSecret<'_> {
        TrafficSecret::new(self.kdf, self.slab.get(self.kdf, Block::ServerApplication))
    }

    /// Returns exporter_master_secret.
    pub(crate) fn exporter(&self) -> ExporterSecret<'_> {
        ExporterSecret::new(self.kdf, self.slab.get(self.kdf, Block::ServerHandshakeOrExporter))
    }

    /// Ends the handshake; the transcript is ClientHello..the last Finished, which is the client's (with KEM
    /// authentication the server's).
    pub(crate) fn into_application(
        self,
        transcript: &Digest,
    ) -> (ApplicationSecrets, ResumptionSecret) {
        let Self { kdf, mut secret, slab } = self;
        kdf.derive_next(&mut secret, Label::RESUMPTION_MASTER, transcript);
        (ApplicationSecrets::new(kdf, slab), ResumptionSecret { kdf, secret })
    }
}

/// resumption_master_secret (§4.6.1).
pub(crate) struct ResumptionSecret {
    kdf: KeyDerivation,
    secret: Box<HmacState>,
}

impl ResumptionSecret {
    /// Derives the PSK of the ticket with this nonce.
    pub(crate) fn psk(&self, ticket_nonce: &[u8]) -> Secret {
        self.kdf.expand_label_to_secret(&self.secret, Label::RESUMPTION, ticket_nonce)
    }

    /// Derives a certificate codec's ticket for a context of at most 255 bytes, of at most 255 bytes
    /// (docs/cached-handshakes.md).
    pub(crate) fn certificate_ticket(&self, context: &[u8], out: &mut [u8]) {
        self.kdf.expand_label(&self.secret, Label::CERTIFICATE_TICKET, context, out);
    }
}
