//! The signature algorithms of a verifier.

use pki_types::SignatureVerificationAlgorithm;
use tessera::wire::SignatureScheme;

use crate::certificate::Certificate;
use crate::defect::Defect;
use crate::der::{Elements, Tag, only};

/// Each scheme with its algorithm, in order of preference; for handshakes and for certificates alike.
pub type Algorithms = &'static [(SignatureScheme, &'static dyn SignatureVerificationAlgorithm)];

/// What verifies certificates: a verifier's algorithms, and those that sign no handshakes.
#[derive(Clone, Copy)]
pub(crate) struct CertificateAlgorithms {
    pub(crate) alike: Algorithms,
    pub(crate) others: &'static [&'static dyn SignatureVerificationAlgorithm],
}

/// Checks the signature of a certificate under its issuer's key (a SubjectPublicKeyInfo).
pub(crate) fn check_certificate(
    algorithms: CertificateAlgorithms,
    issuer_key: &[u8],
    certificate: &Certificate<'_>,
) -> Result<(), Defect> {
    let mut defect = Defect::Algorithm;
    let CertificateAlgorithms { alike, others } = algorithms;
    for algorithm in alike.iter().map(|(_, algorithm)| algorithm).chain(others) {
        if algorithm.signature_alg_id().as_ref() == certificate.algorithm {
            let signed = (certificate.signed, certificate.signature);
            match check(*algorithm, issuer_key, signed, Defect::KeyAlgorithm, Defect::Signature) {
                Err(Defect::KeyAlgorithm) => defect = Defect::KeyAlgorithm,
                result => return result,
            }
        }
    }
    Err(defect)
}

/// Returns the contents of the AlgorithmIdentifier of a SubjectPublicKeyInfo, and the key.
pub(crate) fn key_parts(public_key: &[u8]) -> Result<(&[u8], &[u8]), Defect> {
    let mut fields = Elements::new(only(public_key, Tag::Sequence)?);
    let parts = (fields.expect(Tag::Sequence)?, fields.bytes()?);
    fields.end()?;
    Ok(parts)
}

/// Checks a message and its signature. RFC 5280 §4.1.2.7: the key's algorithm identifier has its parameters, the curve.
pub(crate) fn check(
    algorithm: &dyn SignatureVerificationAlgorithm,
    public_key: &[u8],
    (message, signature): (&[u8], &[u8]),
    of_key: Defect,
    of_signature: Defect,
) -> Result<(), Defect> {
    let (kind, key) = key_parts(public_key)?;
    if algorithm.public_key_alg_id().as_ref() != kind {
        return Err(of_key);
    }
    algorithm.verify_signature(key, message, signature).map_err(|_| of_signature)
}
