//! Keys that are the same each time, and KEMs that answer them the same.

use std::sync::atomic::{AtomicU8, Ordering};

use tessera::crypto::{
    AgreementError, Decapsulator, Ephemeral, KeyAgreement, OneTimeKey, Random, RandomFailed,
    SharedSecret,
};
use tessera::wire::{NamedGroup, SignatureScheme};

/// A static key: X25519's scalar, or ML-KEM's seed.
#[derive(Clone)]
pub(super) enum StaticKey {
    X25519([u8; 32]),
    MlKem768([u8; 64]),
}

/// What is before the key in a SubjectPublicKeyInfo (RFC 8410, RFC 9935).
const X25519_INFO: &[u8] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x6e\x03\x21\x00";
const ML_KEM_768_INFO: &[u8] =
    b"\x30\x82\x04\xb2\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x04\x02\x03\x82\x04\xa1\x00";

/// Reads a SubjectPublicKeyInfo.
pub(super) fn read(info: &[u8]) -> Option<(SignatureScheme, &[u8])> {
    let of = |scheme, start| info.strip_prefix(start).map(|key| (scheme, key));
    of(SignatureScheme::KEM_X25519, X25519_INFO)
        .or_else(|| of(SignatureScheme::KEM_MLKEM768, ML_KEM_768_INFO))
}

/// The lengths of an encapsulation key and a ciphertext of ML-KEM-768.
const ENCAPSULATION_KEY: usize = 1184;
const CIPHERTEXT: usize = 1088;

impl StaticKey {
    pub(super) fn scheme(&self) -> SignatureScheme {
        match self {
            Self::X25519(_) => SignatureScheme::KEM_X25519,
            Self::MlKem768(_) => SignatureScheme::KEM_MLKEM768,
        }
    }

    pub(super) fn private(&self) -> &[u8] {
        match self {
            Self::X25519(scalar) => scalar,
            Self::MlKem768(seed) => seed,
        }
    }

    pub(super) fn public_key(&self) -> Vec<u8> {
        let key = match self {
            Self::X25519(scalar) => x25519(scalar),
            Self::MlKem768(seed) => hybrid(seed),
        };
        let mut public = key.public().expect("a key");
        if let Self::MlKem768(_) = self {
            public.truncate(ENCAPSULATION_KEY);
        }
        public
    }

    pub(super) fn public_key_info(&self) -> Vec<u8> {
        let start = match self {
            Self::X25519(_) => X25519_INFO,
            Self::MlKem768(_) => ML_KEM_768_INFO,
        };
        [start, &self.public_key()].concat()
    }

    pub(super) fn decapsulate(&self, encapsulation: &[u8]) -> Result<SharedSecret, AgreementError> {
        match self {
            Self::X25519(scalar) => x25519(scalar).open(encapsulation),
            Self::MlKem768(seed) => {
                let both = hybrid(seed).open(&[encapsulation, &OTHER_HALF].concat())?;
                Ok(SharedSecret::new(both.expose()[..32].to_vec()))
            }
        }
    }
}

/// A static key, in a credential.
pub(super) struct WithPublicKey {
    key: StaticKey,
    scheme: SignatureScheme,
    public: Vec<u8>,
}

impl WithPublicKey {
    pub(super) fn new(key: &StaticKey) -> Self {
        Self { key: key.clone(), scheme: key.scheme(), public: key.public_key() }
    }
}

impl Decapsulator for WithPublicKey {
    fn scheme(&self) -> &SignatureScheme {
        &self.scheme
    }

    fn public_key(&self) -> Option<&[u8]> {
        Some(&self.public)
    }

    fn decapsulate(&self, encapsulation: &[u8]) -> Result<SharedSecret, AgreementError> {
        self.key.decapsulate(encapsulation)
    }
}

fn x25519(scalar: &[u8; 32]) -> Box<dyn OneTimeKey> {
    one_time(NamedGroup::X25519, scalar)
}

/// AWS-LC's one-time keys have ML-KEM in X25519MLKEM768 alone: its first half.
fn hybrid(seed: &[u8; 64]) -> Box<dyn OneTimeKey> {
    one_time(NamedGroup::X25519MLKEM768, &[&seed[..], &OTHER_HALF].concat())
}

/// A private key, and a point, of X25519 for what isn't used.
const OTHER_HALF: [u8; 32] = [9; 32];

fn one_time(kind: NamedGroup, seed: &[u8]) -> Box<dyn OneTimeKey> {
    let keys = tessera_aws_lc::provider().one_time(kind).expect("AWS-LC has it");
    keys.from_seed(seed).expect("a seed")
}

/// X25519 with one ephemeral key.
pub(super) struct FixedX25519 {
    scalar: [u8; 32],
    share: Vec<u8>,
}

impl FixedX25519 {
    pub(super) fn leak(scalar: [u8; 32]) -> &'static dyn KeyAgreement {
        Box::leak(Box::new(Self::new(scalar)))
    }

    fn new(scalar: [u8; 32]) -> Self {
        Self { scalar, share: x25519(&scalar).public().expect("a key") }
    }
}

impl KeyAgreement for FixedX25519 {
    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }

    fn share_len(&self) -> usize {
        32
    }

    fn reply_len(&self) -> usize {
        32
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        Ok(Box::new(Self::new(self.scalar)))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        Ok((self.share.clone(), x25519(&self.scalar).open(share)?))
    }
}

impl Ephemeral for FixedX25519 {
    fn share(&self) -> &[u8] {
        &self.share
    }

    fn decapsulate(self: Box<Self>, reply: &[u8]) -> Result<SharedSecret, AgreementError> {
        x25519(&self.scalar).open(reply)
    }
}

/// ML-KEM-768 with the encapsulation that is recorded, if one is: AWS-LC's are random.
pub(super) struct RecordedMlKem {
    kem: &'static dyn KeyAgreement,
    /// The peer's key, and what is encapsulated to it.
    recorded: Option<(StaticKey, Vec<u8>)>,
}

impl RecordedMlKem {
    pub(super) fn leak(peer: &StaticKey, recorded: Option<&[u8]>) -> &'static dyn KeyAgreement {
        let kem = tessera_aws_lc::provider().kem(SignatureScheme::KEM_MLKEM768);
        let recorded = recorded.map(|encapsulation| (peer.clone(), encapsulation.to_vec()));
        Box::leak(Box::new(Self { kem: kem.expect("AWS-LC has it"), recorded }))
    }
}

impl KeyAgreement for RecordedMlKem {
    fn group(&self) -> NamedGroup {
        NamedGroup::MLKEM768
    }

    fn share_len(&self) -> usize {
        ENCAPSULATION_KEY
    }

    fn reply_len(&self) -> usize {
        CIPHERTEXT
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        self.kem.generate()
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        let Some((key, encapsulation)) = &self.recorded else {
            return self.kem.encapsulate(share);
        };
        assert_eq!(key.public_key(), share, "recorded for another key");
        Ok((encapsulation.clone(), key.decapsulate(encapsulation)?))
    }
}

/// Draws the same bytes each time.
pub(super) struct Repeated(AtomicU8);

impl Repeated {
    pub(super) fn new(first: u8) -> Self {
        Self(AtomicU8::new(first))
    }
}

impl Random for Repeated {
    fn fill(&self, out: &mut [u8]) -> Result<(), RandomFailed> {
        out.fill_with(|| self.0.fetch_add(1, Ordering::Relaxed));
        Ok(())
    }
}
