//! Peers with keys of KEMs in place of keys that sign (docs/kem-auth.md).

mod chains;
mod connections;
mod keys;
#[cfg(feature = "std")]
mod known;
mod lists;
mod pinned;

use rcgen::{CertificateParams, Issuer, KeyPair};
use tessera::auth::{
    AskedKey, PeerAcceptance, PeerPublicKey, PeerRejected, PeerVerifier, Proof, VerifyPeer,
};
use tessera::crypto::Decapsulator;
use tessera::wire::{CertificateType, SignatureScheme};
use tessera::{Reply, Role};
use tessera_aws_lc::KemKey;
use tessera_pki::{KemLeaf, certificate_of};
use tessera_webpki::WebPkiVerifier;

use crate::pki::{Ca, NOW, with};

const ALL: [SignatureScheme; 4] = [
    SignatureScheme::KEM_MLKEM512,
    SignatureScheme::KEM_MLKEM768,
    SignatureScheme::KEM_MLKEM1024,
    SignatureScheme::KEM_X25519,
];

fn trusting(root: &Ca) -> WebPkiVerifier {
    crate::pki::trusting(root).accepting_kems(&ALL).unwrap()
}

/// A peer with such a key.
struct KemPeer {
    key: KemKey,
    chain: Vec<Vec<u8>>,
}

impl KemPeer {
    fn new(
        params: &CertificateParams,
        scheme: SignatureScheme,
        issuer: &Issuer<'_, KeyPair>,
    ) -> Self {
        let leaf = KemLeaf::with(params, scheme, issuer);
        Self { key: leaf.key(), chain: leaf.chain }
    }

    /// With this SubjectPublicKeyInfo in its certificate.
    fn showing(mut self, info: &[u8], params: &CertificateParams, issuer: &Ca) -> Self {
        self.chain[0] = certificate_of(info, params, issuer);
        self
    }

    fn scheme(&self) -> SignatureScheme {
        *self.key.scheme()
    }

    fn public_key(&self) -> PeerPublicKey {
        PeerPublicKey::new(self.scheme(), self.key.public_key().to_vec())
    }

    fn as_client(&self) -> VerifyPeer {
        let proof = Proof::Kem { scheme: self.scheme() };
        with(VerifyPeer::new(Role::Client, self.chain.clone(), proof), |it| it.unix = Some(NOW))
    }

    fn as_server(&self) -> VerifyPeer {
        with(self.as_client(), |it| {
            it.peer = Role::Server;
            it.server_name = Some("server.example".into());
        })
    }

    /// Changes the question to one about the raw key.
    fn raw(&self, question: VerifyPeer) -> VerifyPeer {
        with(question, |it| {
            it.certificate_type = CertificateType::RAW_PUBLIC_KEY;
            it.chain = vec![self.key.public_key_info().to_vec()];
        })
    }
}

/// What the engine asks before a question.
fn asked(question: &VerifyPeer) -> AskedKey<'_> {
    AskedKey {
        peer: question.peer,
        server_name: question.server_name.as_deref(),
        certificate_type: question.certificate_type,
        chain: &question.chain,
        known: question.known.as_ref(),
        unix: question.unix,
    }
}

fn judge(
    verifier: &dyn PeerVerifier,
    question: &VerifyPeer,
) -> Result<PeerAcceptance, PeerRejected> {
    match verifier.verify(question) {
        Reply::Now(verdict) => verdict,
        Reply::Later => panic!("webpki answers at once"),
    }
}

/// Asserts that the question is accepted, and the KEM named in advance.
#[track_caller]
fn assert_accepted(verifier: &dyn PeerVerifier, peer: &KemPeer, question: &VerifyPeer) {
    assert_eq!(verifier.kem_scheme(&asked(question)), Some(peer.scheme()));
    assert_eq!(judge(verifier, question).unwrap().public_key, Some(peer.public_key()));
    assert!(!verifier.is_proof_right(question), "nothing is proved");
}
