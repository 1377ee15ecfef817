//! A verifier that knows its server's key (RFC 7250).

use tessera::auth::{
    AskedKey, PeerAcceptance, PeerIdentity, PeerPublicKey, PeerRejected, PeerVerifier, Proof,
    VerifierPolicy, VerifyPeer,
};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, CertificateType, SignatureScheme};

use crate::counted::Algorithms;
use crate::table::Leaf;

pub struct RawKey {
    /// A SubjectPublicKeyInfo.
    info: &'static [u8],
    schemes: [SignatureScheme; 1],
    algorithms: Algorithms,
}

impl RawKey {
    pub fn new(info: &'static [u8], scheme: SignatureScheme, algorithms: Algorithms) -> Self {
        Self { info, schemes: [scheme], algorithms }
    }

    fn accepts(&self, question: &VerifyPeer) -> Option<PeerAcceptance> {
        let is_known = matches!(&question.chain[..], [info] if info == self.info);
        is_known.then_some(())?;
        let identity = PeerIdentity { blob: b"server".to_vec(), expires_at: None };
        match &question.proof {
            Proof::Signature { scheme, signed, signature } => {
                let (_, algorithm) = self.algorithms.iter().find(|(it, _)| it == scheme)?;
                algorithm.verify_signature(key(self.info), signed, signature).ok()?;
                Some(PeerAcceptance::new(identity))
            }
            Proof::Kem { .. } => {
                let key = PeerPublicKey::new(self.schemes[0], key(self.info).to_vec());
                Some(PeerAcceptance::with_public_key(identity, key))
            }
            _ => None,
        }
    }
}

impl PeerVerifier for RawKey {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.schemes
    }

    fn certificate_types(&self) -> &[CertificateType] {
        &[CertificateType::RAW_PUBLIC_KEY]
    }

    fn kem_scheme(&self, _: &AskedKey<'_>) -> Option<SignatureScheme> {
        self.schemes.into_iter().find(|scheme| scheme.kem().is_some())
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("suites: a raw key").with(self.info)
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let reason = "not the known key";
        let rejected =
            PeerRejected { alert: AlertDescription::BAD_CERTIFICATE, reason: reason.into() };
        Reply::Now(self.accepts(question).ok_or(rejected))
    }
}

/// Returns the key of a leaf, the contents of its BIT STRING.
pub fn key_of(leaf: &Leaf) -> &'static [u8] {
    key(key_info(leaf.certificate))
}

/// Returns the SubjectPublicKeyInfo of a certificate (RFC 5280 §4.1).
pub fn key_info(certificate: &'static [u8]) -> &'static [u8] {
    let signed = contents(certificate);
    let mut fields = contents(signed);
    // version, serialNumber, signature, issuer, validity, subject
    for _ in 0..6 {
        fields = &fields[len(fields)..];
    }
    &fields[..len(fields)]
}

/// Returns what the BIT STRING of a SubjectPublicKeyInfo holds.
fn key(info: &'static [u8]) -> &'static [u8] {
    let fields = contents(info);
    // No unused bits.
    &contents(&fields[len(fields)..])[1..]
}

/// Returns the contents of the first element (X.690 §8.1.3).
fn contents(der: &'static [u8]) -> &'static [u8] {
    let (header, content) = lengths(der);
    &der[header..header + content]
}

fn len(der: &[u8]) -> usize {
    let (header, content) = lengths(der);
    header + content
}

fn lengths(der: &[u8]) -> (usize, usize) {
    match der[1] {
        short @ 0..0x80 => (2, usize::from(short)),
        long => {
            let count = usize::from(long & 0x7f);
            (2 + count, der[2..2 + count].iter().fold(0, |len, byte| len << 8 | usize::from(*byte)))
        }
    }
}
