//! Shared by the unit tests: one real suite, scripted everything else, and the traces of RFC 8448.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use aws_lc_rs::aead::quic::{AES_128, HeaderProtectionKey};
use aws_lc_rs::aead::{self, Aad, LessSafeKey, UnboundKey};
use aws_lc_rs::{digest, hkdf, hmac};
use tessera_harness::Trace;

use crate::auth::{
    PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer,
};
use crate::crypto::{
    Aead, AeadAlgorithm, AgreementError, Depth, Digest, Ephemeral, Hash, HeaderKey, KeyAgreement,
    MASK_LEN, Nonce, OpenFailed, Provider, Random, RandomFailed, RunningHash, SAMPLE_LEN,
    SharedSecret, Signer, SigningError, StackDepth, Suite, TAG_LEN,
};
use crate::error::Error;
use crate::handshake::context::{Context, StackReach};
use crate::handshake::{Below, Direction, Epoch, Facts, Limit};
use crate::question::Reply;
use crate::schedule::{KeyDerivation, STREAM, TrafficSecret};
use crate::time::Time;
use crate::wire::{CipherSuite, HandshakeMessage, NamedGroup, SignatureScheme};

/// The suite of all traces.
pub(crate) static AES_128_GCM_SHA256: Suite =
    Suite::new(CipherSuite::TLS_AES_128_GCM_SHA256, &Sha256, &Aes128Gcm);

struct Sha256;

impl Hash for Sha256 {
    fn len(&self) -> usize {
        32
    }

    fn start(&self) -> Box<dyn RunningHash> {
        Box::new(HashContext(digest::Context::new(&digest::SHA256)))
    }

    fn hash(&self, input: &[u8]) -> Digest {
        Digest::new(digest::digest(&digest::SHA256, input).as_ref())
    }

    fn hmac(&self, key: &[u8], message: &[u8]) -> Digest {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        Digest::new(hmac::sign(&key, message).as_ref())
    }

    fn extract_into(&self, salt: &[u8], input: &[u8], prk: &mut [u8]) {
        prk.copy_from_slice(self.hmac(salt, input).as_ref());
    }

    fn expand(&self, prk: &[u8], info: &[u8], out: &mut [u8]) {
        hkdf::Prk::new_less_safe(hkdf::HKDF_SHA256, prk)
            .expand(&[info], Len(out.len()))
            .and_then(|output| output.fill(out))
            .expect("short enough");
    }
}

struct Len(usize);

impl hkdf::KeyType for Len {
    fn len(&self) -> usize {
        self.0
    }
}

struct HashContext(digest::Context);

impl RunningHash for HashContext {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn current(&self) -> Digest {
        Digest::new(self.0.clone().finish().as_ref())
    }
}

struct Aes128Gcm;

impl AeadAlgorithm for Aes128Gcm {
    fn key_len(&self) -> usize {
        16
    }

    fn key(&self, key: &[u8]) -> Box<dyn Aead> {
        let key = UnboundKey::new(&aead::AES_128_GCM, key).expect("16 bytes");
        Box::new(Key(LessSafeKey::new(key)))
    }

    fn header_key(&self, key: &[u8]) -> Box<dyn HeaderKey> {
        Box::new(MaskKey(HeaderProtectionKey::new(&AES_128, key).expect("16 bytes")))
    }
}

struct MaskKey(HeaderProtectionKey);

impl HeaderKey for MaskKey {
    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
        self.0.new_mask(sample).expect("16 bytes")
    }
}

struct Key(LessSafeKey);

impl Aead for Key {
    fn seal(&self, nonce: &Nonce, aad: &[u8], in_out: &mut [u8]) -> [u8; TAG_LEN] {
        let nonce = aead::Nonce::assume_unique_for_key(nonce.0);
        let tag = self.0.seal_in_place_separate_tag(nonce, Aad::from(aad), in_out);
        tag.expect("seals").as_ref().try_into().expect("16 bytes")
    }

    fn open(&self, nonce: &Nonce, aad: &[u8], in_out: &mut [u8]) -> Result<usize, OpenFailed> {
        let nonce = aead::Nonce::assume_unique_for_key(nonce.0);
        let opened = self.0.open_in_place(nonce, Aad::from(aad), in_out);
        opened.map(|plaintext| plaintext.len()).map_err(|_| OpenFailed)
    }
}

/// Zeros for every random byte.
struct Zeros;

impl Random for Zeros {
    fn fill(&self, out: &mut [u8]) -> Result<(), RandomFailed> {
        out.fill(0);
        Ok(())
    }
}

/// X25519 whose client has the share and the secret of a trace.
struct ScriptedX25519 {
    share: Vec<u8>,
    shared: Vec<u8>,
}

impl KeyAgreement for ScriptedX25519 {
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
        Ok(Box::new(Self { share: self.share.clone(), shared: self.shared.clone() }))
    }

    fn encapsulate(&self, _: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        Err(AgreementError::Provider)
    }
}

impl Ephemeral for ScriptedX25519 {
    fn share(&self) -> &[u8] {
        &self.share
    }

    fn decapsulate(self: Box<Self>, _: &[u8]) -> Result<SharedSecret, AgreementError> {
        Ok(SharedSecret::new(self.shared))
    }
}

/// Returns a provider for the client of a trace.
pub(crate) fn provider(trace: &Trace) -> Provider {
    let x25519: &'static ScriptedX25519 = Box::leak(Box::new(ScriptedX25519 {
        share: trace.get("keys", "client_x25519_public").to_vec(),
        shared: trace.secret("shared").to_vec(),
    }));
    Provider {
        suites: Box::leak(Box::new([&AES_128_GCM_SHA256])),
        groups: Box::leak(Box::new([x25519 as &dyn KeyAgreement])),
        one_time_keys: &[],
        kems: &[],
        random: &Zeros,
        stack_depth: StackDepth::NOTHING_IS_WIPED,
    }
}

/// Returns the signature of a trace's CertificateVerify.
pub(crate) struct ScriptedSigner {
    scheme: [SignatureScheme; 1],
    signature: Vec<u8>,
}

impl ScriptedSigner {
    pub(crate) fn new(certificate_verify: &[u8]) -> Arc<Self> {
        let scheme = u16::from_be_bytes([certificate_verify[4], certificate_verify[5]]);
        let signature = certificate_verify[8..].to_vec();
        Arc::new(Self { scheme: [SignatureScheme(scheme)], signature })
    }
}

impl Signer for ScriptedSigner {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.scheme
    }

    fn sign(&self, _: SignatureScheme, _: &[u8]) -> Result<Vec<u8>, SigningError> {
        Ok(self.signature.clone())
    }
}

/// Accepts every signature of some schemes.
pub(crate) struct TrustingVerifier(pub(crate) Vec<SignatureScheme>);

impl PeerVerifier for TrustingVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.0
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("tests: every signature")
    }

    fn verify(&self, _: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        Reply::Now(Ok(PeerIdentity::default().into()))
    }
}

/// A carrier that records what the handshake does.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) sent: Vec<(Epoch, Vec<u8>)>,
    pub(crate) write_secrets: Vec<(Epoch, Vec<u8>)>,
    pub(crate) read_secrets: Vec<(Epoch, Vec<u8>)>,
    pub(crate) facts: Facts,
}

impl Recorder {
    /// Runs a step.
    pub(crate) fn step<T>(&mut self, step: impl FnOnce(&mut Context<'_>) -> T) -> T {
        let mut facts = core::mem::take(&mut self.facts);
        let mut scratch = Vec::new();
        let unix = Some(core::time::Duration::from_secs(1_500_000_000));
        let now = Time { monotonic: core::time::Duration::ZERO, unix };
        let mut events = VecDeque::new();
        let done = step(&mut Context {
            first_messages: 0,
            now,
            profile: &STREAM,
            below: self,
            read_epoch: &mut Epoch::Initial,
            facts: &mut facts,
            events: &mut events,
            scratch: &mut scratch,
            stack: StackReach { of: StackDepth::NOTHING_IS_WIPED, reached: Depth::of::<0>() },
        });
        self.facts = facts;
        done
    }
}

impl Below for Recorder {
    fn send(&mut self, epoch: Epoch, message: &[u8]) {
        self.sent.push((epoch, message.to_vec()));
    }

    fn flight_ended(&self) -> Result<(), Error> {
        Ok(())
    }

    fn install(
        &mut self,
        direction: Direction,
        epoch: Epoch,
        _: &'static Suite,
        secret: TrafficSecret<'_>,
    ) -> Result<(), Error> {
        let secrets = match direction {
            Direction::Read => &mut self.read_secrets,
            Direction::Write => &mut self.write_secrets,
        };
        secrets.push((epoch, secret.expose().to_vec()));
        Ok(())
    }

    fn update(&mut self, _: &[u8], _: &'static Suite, _: TrafficSecret<'_>) {}

    fn withdraw_early_data(&mut self) {}

    fn limit(&mut self, _: Limit) {}
}

/// The key derivation of all traces.
pub(crate) const KDF: KeyDerivation =
    KeyDerivation { hash: AES_128_GCM_SHA256.hash, profile: &STREAM };

/// Returns a message of a trace.
pub(crate) fn message<'t>(trace: &'t Trace, name: &str) -> HandshakeMessage<'t> {
    HandshakeMessage::split_from(trace.message(name)).expect("a whole message")
}

/// Returns a trace by its name.
pub(crate) fn trace(name: &str) -> Trace {
    Trace::read(match name {
        "simple_1rtt" => include_str!("../tests/rfc8448/simple_1rtt.txt"),
        "resumed_0rtt" => include_str!("../tests/rfc8448/resumed_0rtt.txt"),
        "hello_retry_request" => include_str!("../tests/rfc8448/hello_retry_request.txt"),
        "client_authentication" => include_str!("../tests/rfc8448/client_authentication.txt"),
        _ => include_str!("../tests/rfc8448/compatibility_mode.txt"),
    })
}

/// All traces.
pub(crate) const TRACES: [&str; 5] = [
    "simple_1rtt",
    "resumed_0rtt",
    "hello_retry_request",
    "client_authentication",
    "compatibility_mode",
];
