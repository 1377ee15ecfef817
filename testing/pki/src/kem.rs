//! Certificates with keys of KEMs, which rcgen doesn't know.

use std::sync::Arc;

use der::asn1::{AnyRef, BitStringRef};
use der::pem::LineEnding;
use der::{Decode, Encode, Reader, SliceReader, Tag};
use rcgen::{CertificateParams, Issuer, KeyPair, SigningKey};
use tessera::auth::{Credential, PrivateKey};
use tessera::wire::SignatureScheme;
use tessera_aws_lc::KemKey;

/// A certificate with a key of a KEM.
pub struct KemLeaf {
    /// The certificate and those of its issuers, without the root, DER.
    pub chain: Vec<Vec<u8>>,
    /// Its key, PKCS #8 DER.
    pub key_der: Vec<u8>,
}

impl KemLeaf {
    /// Creates a certificate with these parameters and a key of this KEM.
    pub fn with(
        params: &CertificateParams,
        scheme: SignatureScheme,
        issuer: &Issuer<'_, KeyPair>,
    ) -> Self {
        let key_der = KemKey::generate_pkcs8(scheme).unwrap().to_vec();
        let key = KemKey::from_pkcs8(&key_der).unwrap();
        Self { chain: vec![certificate_of(key.public_key_info(), params, issuer)], key_der }
    }

    /// Returns its key.
    pub fn key(&self) -> KemKey {
        KemKey::from_pkcs8(&self.key_der).unwrap()
    }

    /// Returns the chain, PEM.
    pub fn chain_pem(&self) -> String {
        self.chain.iter().map(|der| pem("CERTIFICATE", der)).collect()
    }

    /// Returns the key, PEM.
    pub fn key_pem(&self) -> String {
        pem("PRIVATE KEY", &self.key_der)
    }

    /// As an end shows it, whatever is wrong with it.
    pub fn credential(&self) -> Credential {
        Credential::new(self.chain.clone(), PrivateKey::Decapsulates(Arc::new(self.key())))
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    der::pem::encode_string(label, LineEnding::LF, der).unwrap()
}

/// Returns a certificate, DER, for any key, a SubjectPublicKeyInfo: rcgen's for another key, with this one in its place, signed
/// again.
pub fn certificate_of(
    public_key_info: &[u8],
    params: &CertificateParams,
    issuer: &Issuer<'_, impl SigningKey>,
) -> Vec<u8> {
    certificate_signed_by(
        |signed| issuer.key().sign(signed).unwrap(),
        None,
        public_key_info,
        params,
        issuer,
    )
}

/// The same, signed so, and with this algorithm (an AlgorithmIdentifier, DER) if it isn't the issuer's.
pub fn certificate_signed_by(
    sign: impl FnOnce(&[u8]) -> Vec<u8>,
    algorithm: Option<&[u8]>,
    public_key_info: &[u8],
    params: &CertificateParams,
    issuer: &Issuer<'_, impl SigningKey>,
) -> Vec<u8> {
    let other = params.signed_by(&KeyPair::generate().unwrap(), issuer).unwrap();
    let mut certificate = elements(other.der());
    let mut fields = elements(&certificate[0]);
    // RFC 5280 §4.1: version, serial number, algorithm, issuer, validity, subject, key, extensions.
    if let Some(algorithm) = algorithm {
        fields[2] = algorithm.to_vec();
        certificate[1] = algorithm.to_vec();
    }
    fields[6] = public_key_info.to_vec();
    certificate[0] = sequence(&fields.concat());
    let signature = sign(&certificate[0]);
    certificate[2] = BitStringRef::from_bytes(&signature).unwrap().to_der().unwrap();
    sequence(&certificate.concat())
}

/// Returns the elements of a SEQUENCE, all DER.
fn elements(sequence: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = SliceReader::new(AnyRef::from_der(sequence).unwrap().value()).unwrap();
    let mut elements = Vec::new();
    while !reader.is_finished() {
        elements.push(AnyRef::decode(&mut reader).unwrap().to_der().unwrap());
    }
    elements
}

fn sequence(contents: &[u8]) -> Vec<u8> {
    AnyRef::new(Tag::Sequence, contents).unwrap().to_der().unwrap()
}
