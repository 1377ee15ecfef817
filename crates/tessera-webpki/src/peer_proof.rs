//! The proof that a peer holds its private key.

use tessera::auth::{PeerPublicKey, PeerRejected, Proof, VerifyPeer};
use tessera::wire::AlertDescription;
use webpki::EndEntityCert;

use crate::alerts::reject;
use crate::algorithms::{Algorithms, Signature};
use crate::kems::{AcceptedKems, Kem};
use crate::key_usage::KeyUse;

/// A proof of an accepted kind.
pub(crate) enum PeerProof<'a> {
    Signature(Signature<'a>),
    /// The peer will decapsulate: what can be judged is its key.
    Kem(&'static Kem),
}

impl<'a> PeerProof<'a> {
    /// Returns the proof of a question. Rejects what was not offered.
    pub(crate) fn of(
        question: &'a VerifyPeer,
        algorithms: &Algorithms,
        kems: &AcceptedKems,
    ) -> Result<Self, PeerRejected> {
        match &question.proof {
            Proof::Kem { scheme } => kems.find(*scheme).map(Self::Kem).ok_or_else(|| {
                let reason = "the certificate is for a KEM that was not offered";
                reject(AlertDescription::UNSUPPORTED_CERTIFICATE, reason)
            }),
            _ => Signature::of(question, algorithms).map(Self::Signature),
        }
    }

    /// Returns what the key of the certificate must be for.
    pub(crate) fn key_use(&self) -> KeyUse {
        match self {
            Self::Signature(_) => KeyUse::Signing,
            Self::Kem(kem) => kem.key_use,
        }
    }

    /// Judges the proof with the key of a certificate; returns the key if the engine needs it.
    pub(crate) fn judge_by_certificate(
        &self,
        end_entity: &EndEntityCert<'_>,
    ) -> Result<Option<PeerPublicKey>, PeerRejected> {
        match self {
            Self::Signature(signature) => {
                signature.verify_by_certificate(end_entity).map(|()| None)
            }
            Self::Kem(kem) => kem.public_key(&end_entity.subject_public_key_info()).map(Some),
        }
    }

    /// The same with the key in a SubjectPublicKeyInfo (DER).
    pub(crate) fn judge_by_key(&self, info: &[u8]) -> Result<Option<PeerPublicKey>, PeerRejected> {
        match self {
            Self::Signature(signature) => signature.verify_by_key(info).map(|()| None),
            Self::Kem(kem) => kem.public_key(info).map(Some),
        }
    }
}
