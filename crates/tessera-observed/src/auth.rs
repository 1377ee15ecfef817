//! Signing and the verification of peers, observed.

use std::sync::Arc;

use tessera::auth::{
    AskedKey, PeerAcceptance, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer,
};
use tessera::crypto::{AgreementError, Decapsulator, SharedSecret, Signer, SigningError};
use tessera::handshake::Reply;
use tessera::wire::{CertificateType, EntryExtensions, SignatureScheme};

use crate::observer::{ObservedPart, Observer};
use crate::operation::Operation;

impl<O: Observer> Signer for ObservedPart<Arc<dyn Signer>, O> {
    fn schemes(&self) -> &[SignatureScheme] {
        self.inner.schemes()
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, SigningError> {
        self.during(Operation::Signature, |inner| inner.sign(scheme, message))
    }
}

impl<O: Observer> Decapsulator for ObservedPart<Arc<dyn Decapsulator>, O> {
    fn scheme(&self) -> &SignatureScheme {
        self.inner.scheme()
    }

    fn public_key(&self) -> Option<&[u8]> {
        self.inner.public_key()
    }

    fn decapsulate(&self, encapsulation: &[u8]) -> Result<SharedSecret, AgreementError> {
        self.during(Operation::Decapsulation, |inner| inner.decapsulate(encapsulation))
    }
}

/// It accepts the same peers: its policy is the inner one's, so that sessions are valid under both.
impl<O: Observer> PeerVerifier for ObservedPart<Arc<dyn PeerVerifier>, O> {
    fn schemes(&self) -> &[SignatureScheme] {
        self.inner.schemes()
    }

    fn chain_schemes(&self) -> &[SignatureScheme] {
        self.inner.chain_schemes()
    }

    fn authorities(&self) -> &[Vec<u8>] {
        self.inner.authorities()
    }

    fn certificate_types(&self) -> &[CertificateType] {
        self.inner.certificate_types()
    }

    fn entry_extensions(&self) -> EntryExtensions {
        self.inner.entry_extensions()
    }

    fn kem_scheme(&self, asked: &AskedKey<'_>) -> Option<SignatureScheme> {
        self.inner.kem_scheme(asked)
    }

    fn policy(&self) -> VerifierPolicy {
        self.inner.policy()
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        self.during(Operation::Verification, |inner| inner.verify(question))
    }

    fn is_proof_right(&self, question: &VerifyPeer) -> bool {
        self.inner.is_proof_right(question)
    }
}
