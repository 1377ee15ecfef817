//! Private keys for RSASSA-PSS alone (id-RSASSA-PSS, RFC 4055 §1.2). AWS-LC's interface doesn't read them, but
//! under their AlgorithmIdentifier is an ordinary RSAPrivateKey: only the wrapping is read here.

use aws_lc_rs::rsa;
use aws_lc_rs::signature::KeyPair;
use tessera::crypto::SigningError;
use tessera::wire::SignatureScheme;

use crate::key_info;
use crate::key_rejected::KeyRejected;

/// A private key that signs with RSASSA-PSS alone.
pub(crate) struct PssKey {
    pub(crate) pair: rsa::KeyPair,
    form: &'static Form,
}

/// The contents of a key's AlgorithmIdentifier, and the schemes of such a key.
struct Form {
    algorithm: &'static [u8],
    schemes: &'static [SignatureScheme],
}

/// RFC 8446 §4.2.3: hash, mask generation and salt follow from the scheme, and the parameters of a key, if it has
/// any, must agree.
const FORMS: [Form; 4] = [
    Form {
        algorithm: ID_RSASSA_PSS,
        schemes: &[
            SignatureScheme::RSA_PSS_PSS_SHA256,
            SignatureScheme::RSA_PSS_PSS_SHA384,
            SignatureScheme::RSA_PSS_PSS_SHA512,
        ],
    },
    Form { algorithm: &restricted(1, 32), schemes: &[SignatureScheme::RSA_PSS_PSS_SHA256] },
    Form { algorithm: &restricted(2, 48), schemes: &[SignatureScheme::RSA_PSS_PSS_SHA384] },
    Form { algorithm: &restricted(3, 64), schemes: &[SignatureScheme::RSA_PSS_PSS_SHA512] },
];

impl PssKey {
    /// Reads PKCS#8 (RFC 5958 §2); `None` for a key of another kind, or anything else.
    pub(crate) fn from_pkcs8(der: &[u8]) -> Result<Option<Self>, KeyRejected> {
        let Ok((algorithm, key)) = key_info::open(der) else { return Ok(None) };
        if !algorithm.starts_with(ID_RSASSA_PSS) {
            return Ok(None);
        }
        let form = FORMS.iter().find(|form| form.algorithm == algorithm);
        let form = form.ok_or(KeyRejected::Unsupported)?;
        let pair = rsa::KeyPair::from_der(key).map_err(|_| KeyRejected::Malformed)?;
        Ok(Some(Self { pair, form }))
    }

    pub(crate) fn schemes(&self) -> &'static [SignatureScheme] {
        self.form.schemes
    }

    /// Returns the SubjectPublicKeyInfo, with the parameters of the private key.
    pub(crate) fn public_key_info(&self) -> Result<Vec<u8>, SigningError> {
        key_info::public(self.form.algorithm, self.pair.public_key().as_ref())
            .map_err(|_| SigningError)
    }
}

/// id-RSASSA-PSS, 1.2.840.113549.1.1.10, without parameters.
const ID_RSASSA_PSS: &[u8] = &[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a];

/// id-RSASSA-PSS with RSASSA-PSS-params (RFC 4055 §3.1): the hash 2.16.840.1.101.3.4.2.`hash`, MGF1 with
/// the same, and this salt.
const fn restricted(hash: u8, salt_len: u8) -> [u8; 65] {
    [
        0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a, // id-RSASSA-PSS
        0x30, 0x34, // RSASSA-PSS-params
        0xa0, 0x0f, 0x30, 0x0d, // hashAlgorithm
        0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, hash, 0x05, 0x00, //
        0xa1, 0x1c, 0x30, 0x1a, // maskGenAlgorithm
        0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x08, 0x30, 0x0d, //
        0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, hash, 0x05, 0x00, //
        0xa2, 0x03, 0x02, 0x01, salt_len,
    ]
}
