//! The key schedule of KEM authentication (docs/kem-auth.md §5): what is encapsulated to the server's key is extracted
//! between the Handshake Secret and the Master Secret, and what is encapsulated to the client's into the Master Secret.

use alloc::boxed::Box;

use super::application::ApplicationSecrets;
use super::label::{KeyDerivation, Label};
use super::slab::{Block, Slab};
use super::traffic::TrafficSecret;
use super::{HandshakeSecret, MasterSecret, ResumptionSecret};
use crate::crypto::{Digest, HmacState, SharedSecret};
use crate::role::Role;

/// The Authenticated Handshake Secret, and the traffic secrets derived from it: only the server with the static key has them.
pub struct AuthenticatedHandshakeSecret {
    kdf: KeyDerivation,
    secret: Box<HmacState>,
    slab: Box<Slab>,
}

impl HandshakeSecret {
    /// Continues with what the client encapsulated to the server's key; the transcript is
    /// ClientHello..KEMEncapsulation.
    pub(crate) fn absorb(
        self,
        shared: &SharedSecret,
        transcript: &Digest,
    ) -> AuthenticatedHandshakeSecret {
        let Self { kdf, mut secret, mut slab } = self;
        kdf.extract_next(&mut secret, shared.expose());
        let hash = transcript.as_ref();
        let [client, server] =
            [Label::CLIENT_AUTHENTICATED_TRAFFIC, Label::SERVER_AUTHENTICATED_TRAFFIC];
        slab.derive(kdf, Block::ClientHandshake, &secret, client, hash);
        slab.derive(kdf, Block::ServerHandshakeOrExporter, &secret, server, hash);
        AuthenticatedHandshakeSecret { kdf, secret, slab }
    }
}

impl AuthenticatedHandshakeSecret {
    /// Returns the traffic secret of what `sender` sends.
    pub(crate) fn traffic(&self, sender: Role) -> TrafficSecret<'_> {
        let block = match sender {
            Role::Client => Block::ClientHandshake,
            Role::Server => Block::ServerHandshakeOrExporter,
        };
        TrafficSecret::new(self.kdf, self.slab.get(self.kdf, block))
    }

    /// Continues to the Master Secret with what the server encapsulated to the client's key, or with nothing if the client
    /// isn't authenticated.
    pub(crate) fn into_master(self, shared: Option<&SharedSecret>) -> UnfinishedMasterSecret {
        let Self { kdf, mut secret, mut slab } = self;
        kdf.extract_next(&mut secret, shared.map_or(kdf.zeros(), SharedSecret::expose));
        slab.wipe(Block::ClientHandshake);
        slab.wipe(Block::ServerHandshakeOrExporter);
        UnfinishedMasterSecret(MasterSecret { kdf, secret, slab })
    }
}

impl MasterSecret {
    /// Computes the verify_data of `sender`'s Finished.
    fn finished(&self, sender: Role, transcript: &Digest) -> Digest {
        let label = match sender {
            Role::Client => Label::CLIENT_FINISHED,
            Role::Server => Label::SERVER_FINISHED,
        };
        self.kdf.verify_data(&self.secret, label, transcript)
    }
}

/// The Master Secret before any Finished: the client's comes first.
pub struct UnfinishedMasterSecret(MasterSecret);

impl UnfinishedMasterSecret {
    /// Computes the verify_data of the client's Finished.
    pub(crate) fn client_finished(&self, transcript: &Digest) -> Digest {
        self.0.finished(Role::Client, transcript)
    }

    /// Continues; the transcript is ClientHello..client Finished.
    pub(crate) fn after_client(mut self, transcript: &Digest) -> HalfFinishedMasterSecret {
        let MasterSecret { kdf, secret, slab } = &mut self.0;
        let label = Label::CLIENT_APPLICATION_TRAFFIC;
        slab.derive(*kdf, Block::ClientApplication, secret, label, transcript.as_ref());
        HalfFinishedMasterSecret(self.0)
    }
}

/// The Master Secret between the Finished of client and server, and the client's application traffic secret.
pub struct HalfFinishedMasterSecret(MasterSecret);

impl HalfFinishedMasterSecret {
    /// Returns client_application_traffic_secret_0.
    pub(crate) fn client_application_traffic(&self) -> TrafficSecret<'_> {
        self.0.client_application_traffic()
    }

    /// Computes the verify_data of the server's Finished.
    pub(crate) fn server_finished(&self, transcript: &Digest) -> Digest {
        self.0.finished(Role::Server, transcript)
    }

    /// Ends the handshake; the transcript is ClientHello..server Finished.
    pub(crate) fn into_application(
        mut self,
        transcript: &Digest,
    ) -> (ApplicationSecrets, ResumptionSecret) {
        let MasterSecret { kdf, secret, slab } = &mut self.0;
        let hash = transcript.as_ref();
        let server = Label::SERVER_APPLICATION_TRAFFIC;
        slab.derive(*kdf, Block::ServerApplication, secret, server, hash);
        slab.derive(*kdf, Block::ServerHandshakeOrExporter, secret, Label::EXPORTER_MASTER, hash);
        self.0.into_application(transcript)
    }
}
