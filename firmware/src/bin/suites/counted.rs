//! A provider that counts, at either end, what the parts of a handshake take.
//!
//! `tessera-observed` can't: it needs std, and sees of a verification neither whether it is of a certificate or of the
//! handshake, nor of an encapsulation whether it is to a share or to a static key.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};

use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};
use tessera::auth::PrivateKey;
use tessera::crypto::{
    Aead, AeadAlgorithm, AgreementError, Decapsulator, Ephemeral, HeaderKey, KeyAgreement, Nonce,
    OpenFailed, Provider, SharedSecret, Signer, SigningError, Suite, TAG_LEN,
};
use tessera::wire::{NamedGroup, SignatureScheme};
use tessera_firmware::board::{instructions, ticks};
use tessera_firmware::heap::{self, Side};

/// A part of a handshake. What remains is the protocol's: messages, transcript, key schedule.
#[derive(Clone, Copy)]
pub enum Part {
    KeyExchange,
    /// The signatures of certificates.
    Chain,
    /// The peer's signature, or what is encapsulated to its key; and the end's own, if it has a key.
    Proof,
    Aead,
}

pub const PARTS: [(Part, &str); 4] = [
    (Part::KeyExchange, "exchange"),
    (Part::Chain, "chain"),
    (Part::Proof, "proof"),
    (Part::Aead, "aead"),
];

static COUNTS: [[AtomicU32; PARTS.len()]; 2] =
    [const { [const { AtomicU32::new(0) }; PARTS.len()] }; 2];

/// Returns the instructions of an end's parts, in the order of [`PARTS`].
pub fn counts(side: Side) -> [u32; PARTS.len()] {
    COUNTS[side as usize].each_ref().map(|count| count.load(Ordering::Relaxed))
}

pub fn reset() {
    COUNTS.iter().flatten().for_each(|count| count.store(0, Ordering::Relaxed));
}

fn count<R>(part: Part, operation: impl FnOnce() -> R) -> R {
    let from = ticks();
    let result = operation();
    let taken = instructions(from, ticks()) as u32;
    COUNTS[heap::current() as usize][part as usize].fetch_add(taken, Ordering::Relaxed);
    result
}

/// Keeps a value for as long as the program runs.
pub fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Wraps what a provider has; it lasts as long as the program.
pub fn provider(of: &Provider) -> Provider {
    let agreements = |list: &[&'static dyn KeyAgreement], part| {
        let counted =
            list.iter().map(|it| leak(Agreement { it: *it, part }) as &'static dyn KeyAgreement);
        counted.collect::<Vec<_>>().leak() as &'static [_]
    };
    let suites = of.suites.iter().map(|suite| {
        let counted = Suite::new(suite.id, suite.hash, leak(Algorithm(suite.aead)))
            .with_confidentiality_limit(suite.confidentiality_limit)
            .with_integrity_limit(suite.integrity_limit)
            .with_key_heap(suite.key_heap);
        leak(counted)
    });
    Provider {
        suites: suites.collect::<Vec<_>>().leak(),
        groups: agreements(of.groups, Part::KeyExchange),
        kems: agreements(of.kems, Part::Proof),
        ..*of
    }
}

struct Agreement {
    it: &'static dyn KeyAgreement,
    part: Part,
}

impl KeyAgreement for Agreement {
    fn group(&self) -> NamedGroup {
        self.it.group()
    }

    fn share_len(&self) -> usize {
        self.it.share_len()
    }

    fn reply_len(&self) -> usize {
        self.it.reply_len()
    }

    fn suits_kem_authentication(&self) -> bool {
        self.it.suits_kem_authentication()
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        let key = count(self.part, || self.it.generate())?;
        Ok(Box::new(Key { key, part: self.part }))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        count(self.part, || self.it.encapsulate(share))
    }
}

struct Key {
    key: Box<dyn Ephemeral>,
    part: Part,
}

impl Ephemeral for Key {
    fn share(&self) -> &[u8] {
        self.key.share()
    }

    fn decapsulate(self: Box<Self>, reply: &[u8]) -> Result<SharedSecret, AgreementError> {
        count(self.part, || self.key.decapsulate(reply))
    }
}

/// An end's own key.
pub fn private_key(key: PrivateKey) -> PrivateKey {
    match key {
        PrivateKey::Signs(signer) => PrivateKey::Signs(Arc::new(OwnKey(signer))),
        PrivateKey::Decapsulates(key) => PrivateKey::Decapsulates(Arc::new(OwnKey(key))),
        other => other,
    }
}

struct OwnKey<K: ?Sized>(Arc<K>);

impl Signer for OwnKey<dyn Signer> {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, SigningError> {
        count(Part::Proof, || self.0.sign(scheme, message))
    }
}

impl Decapsulator for OwnKey<dyn Decapsulator> {
    fn scheme(&self) -> &SignatureScheme {
        self.0.scheme()
    }

    fn public_key(&self) -> Option<&[u8]> {
        self.0.public_key()
    }

    fn decapsulate(&self, encapsulation: &[u8]) -> Result<SharedSecret, AgreementError> {
        count(Part::Proof, || self.0.decapsulate(encapsulation))
    }
}

struct Algorithm(&'static dyn AeadAlgorithm);

impl AeadAlgorithm for Algorithm {
    fn key_len(&self) -> usize {
        self.0.key_len()
    }

    fn key(&self, key: &[u8]) -> Box<dyn Aead> {
        Box::new(Keyed(count(Part::Aead, || self.0.key(key))))
    }

    fn header_key(&self, key: &[u8]) -> Box<dyn HeaderKey> {
        self.0.header_key(key)
    }
}

struct Keyed(Box<dyn Aead>);

impl Aead for Keyed {
    fn seal(&self, nonce: &Nonce, aad: &[u8], in_out: &mut [u8]) -> [u8; TAG_LEN] {
        count(Part::Aead, || self.0.seal(nonce, aad, in_out))
    }

    fn open(&self, nonce: &Nonce, aad: &[u8], in_out: &mut [u8]) -> Result<usize, OpenFailed> {
        count(Part::Aead, || self.0.open(nonce, aad, in_out))
    }
}

/// An algorithm that verifies signatures.
pub struct Verification(&'static dyn SignatureVerificationAlgorithm);

/// What a verifier takes.
pub type Algorithms = &'static [(SignatureScheme, &'static dyn SignatureVerificationAlgorithm)];

impl Verification {
    pub fn new(algorithm: &'static dyn SignatureVerificationAlgorithm) -> Self {
        Self(algorithm)
    }
}

impl SignatureVerificationAlgorithm for Verification {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        // RFC 8446 §4.4.3: what CertificateVerify signs begins with 64 spaces; a certificate with a SEQUENCE.
        let part = if message.first() == Some(&b' ') { Part::Proof } else { Part::Chain };
        count(part, || self.0.verify_signature(public_key, message, signature))
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.0.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.0.signature_alg_id()
    }
}

impl fmt::Debug for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
