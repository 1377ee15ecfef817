//! Static keys of KEMs.

use std::sync::Arc;

use tessera::auth::{
    AskedKey, Credential, PeerAcceptance, PeerIdentity, PeerPublicKey, PeerRejected, PeerVerifier,
    PrivateKey, VerifierPolicy, VerifyPeer,
};
use tessera::crypto::{AgreementError, Decapsulator, SharedSecret};
use tessera::handshake::Reply;
use tessera::resume::KnownServerKey;
use tessera::wire::{NamedGroup, SignatureScheme};
use tessera_heap_tests::off_heap;

use crate::provider::PROVIDER;

pub const KEMS: [SignatureScheme; 2] =
    [SignatureScheme::KEM_X25519, SignatureScheme::KEM_X25519MLKEM768];

/// The static key of a KEM, which the provider's random numbers always generate again. What it takes is its own, but for
/// the secret.
pub struct StaticKey(pub SignatureScheme);

impl StaticKey {
    fn group(&self) -> NamedGroup {
        self.0.kem().unwrap()
    }

    pub fn public(&self) -> Vec<u8> {
        PROVIDER.group(self.group()).unwrap().generate().unwrap().share().to_vec()
    }

    pub fn known(&self) -> Box<KnownServerKey> {
        let public_key = PeerPublicKey::new(self.0, self.public());
        Box::new(KnownServerKey { public_key, identity: PeerIdentity::default() })
    }
}

impl Decapsulator for StaticKey {
    fn scheme(&self) -> &SignatureScheme {
        &self.0
    }

    fn public_key(&self) -> Option<&[u8]> {
        // The configuration asks once.
        Some(self.public().leak())
    }

    fn decapsulate(&self, encapsulation: &[u8]) -> Result<SharedSecret, AgreementError> {
        let secret = off_heap(|| {
            let key = PROVIDER.group(self.group()).ok_or(AgreementError::Provider)?.generate()?;
            key.decapsulate(encapsulation)
        })?;
        let copy = SharedSecret::new(secret.expose().to_vec());
        off_heap(|| drop(secret));
        Ok(copy)
    }
}

/// Takes any chain for one to the [`StaticKey`].
pub struct AnyChain(pub [SignatureScheme; 1]);

impl PeerVerifier for AnyChain {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.0
    }

    fn chain_schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::ED25519]
    }

    fn kem_scheme(&self, _: &AskedKey<'_>) -> Option<SignatureScheme> {
        Some(self.0[0])
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("any chain of a KEM")
    }

    fn verify(&self, _: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let public = off_heap(|| StaticKey(self.0[0]).public());
        let key = PeerPublicKey::new(self.0[0], public.clone());
        off_heap(|| drop(public));
        Reply::Now(Ok(PeerAcceptance::with_public_key(PeerIdentity::default(), key)))
    }
}

pub fn credential(kem: SignatureScheme, chain: Vec<Vec<u8>>) -> Credential {
    Credential::new(chain, PrivateKey::Decapsulates(Arc::new(StaticKey(kem))))
}
