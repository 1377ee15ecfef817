//! Signing with the private key of a certificate.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, ECDSA_P521_SHA512_ASN1_SIGNING,
    EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, ML_DSA_44_SIGNING,
    ML_DSA_65_SIGNING, ML_DSA_87_SIGNING, PqdsaKeyPair, RSA_PSS_SHA256, RSA_PSS_SHA384,
    RSA_PSS_SHA512, RsaEncoding,
};
use tessera::crypto::{Signer, SigningError};
use tessera::wire::SignatureScheme;
use zeroize::Zeroizing;

use crate::key_rejected::KeyRejected;
use crate::pss_key::PssKey;

/// A private key: ECDSA on P-256, P-384 or P-521, Ed25519, RSA (rsaEncryption or id-RSASSA-PSS, which both
/// sign RSASSA-PSS), ML-DSA-44, ML-DSA-65 or ML-DSA-87.
pub struct SigningKey {
    pair: Pair,
    schemes: &'static [SignatureScheme],
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(rsa::KeyPair),
    RsaPss(PssKey),
    MlDsa(PqdsaKeyPair),
}

impl SigningKey {
    /// Reads an unencrypted PKCS#8 key (RFC 5958) as DER and detects its kind.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, KeyRejected> {
        if let Some(key) = PssKey::from_pkcs8(der)? {
            return Ok(Self { schemes: key.schemes(), pair: Pair::RsaPss(key) });
        }
        let mut reason = KeyRejected::Malformed;
        for kind in KINDS {
            match (kind.read)(der) {
                Ok(pair) => return Ok(Self { pair, schemes: kind.schemes }),
                // AWS-LC reports its reasons only as text. It compares kinds after parsing, so
                // this one means that the encoding is valid.
                Err(rejected) if rejected.description_() == "WrongAlgorithm" => {
                    reason = KeyRejected::Unsupported;
                }
                Err(_) => {}
            }
        }
        Err(reason)
    }

    /// Makes a key for signatures of this scheme, as PKCS#8: ECDSA on P-256, Ed25519, or ML-DSA, of which it is the seed
    /// (RFC 9881 §6).
    ///
    /// # Errors
    /// Returns an error for another scheme.
    pub fn generate_pkcs8(scheme: SignatureScheme) -> Result<Zeroizing<Vec<u8>>, SigningError> {
        let random = SystemRandom::new();
        let ml_dsa = |kind| PqdsaKeyPair::generate(kind).and_then(|pair| pair.to_pkcs8v1());
        let made = match scheme {
            SignatureScheme::ECDSA_SECP256R1_SHA256 => {
                EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random)
            }
            SignatureScheme::ED25519 => Ed25519KeyPair::generate_pkcs8(&random),
            SignatureScheme::MLDSA44 => ml_dsa(&ML_DSA_44_SIGNING),
            SignatureScheme::MLDSA65 => ml_dsa(&ML_DSA_65_SIGNING),
            SignatureScheme::MLDSA87 => ml_dsa(&ML_DSA_87_SIGNING),
            _ => return Err(SigningError),
        };
        made.map(|key| Zeroizing::new(key.as_ref().to_vec())).map_err(|_| SigningError)
    }

    /// Reads an unencrypted SEC 1 key (RFC 5915, `EC PRIVATE KEY` in PEM) as DER: ECDSA.
    pub fn from_sec1(der: &[u8]) -> Result<Self, KeyRejected> {
        for (curve, schemes) in CURVES {
            // It would read PKCS#8 too, which has its own function here.
            if let Ok(pair) = EcdsaKeyPair::from_private_key_der(curve, der) {
                return Ok(Self { pair: Pair::Ecdsa(pair), schemes });
            }
        }
        Err(KeyRejected::Malformed)
    }

    /// Reads an unencrypted PKCS#1 key (RFC 8017 §A.1.2, `RSA PRIVATE KEY` in PEM) as DER: RSA.
    pub fn from_pkcs1(der: &[u8]) -> Result<Self, KeyRejected> {
        let pair = rsa::KeyPair::from_der(der).map_err(|_| KeyRejected::Malformed)?;
        Ok(Self { pair: Pair::Rsa(pair), schemes: RSA_SCHEMES })
    }

    /// Returns the public half, in the format of the BIT STRING of a SubjectPublicKeyInfo (RFC 5280 §4.1.2.7),
    /// to check that a certificate belongs to this key.
    pub fn public_key(&self) -> &[u8] {
        match &self.pair {
            Pair::Ecdsa(pair) => pair.public_key().as_ref(),
            Pair::Ed25519(pair) => pair.public_key().as_ref(),
            Pair::Rsa(pair) => pair.public_key().as_ref(),
            Pair::RsaPss(key) => key.pair.public_key().as_ref(),
            Pair::MlDsa(pair) => pair.public_key().as_ref(),
        }
    }

    /// Returns the public half as a SubjectPublicKeyInfo, DER: a raw public key (RFC 7250).
    pub fn public_key_info(&self) -> Result<Vec<u8>, SigningError> {
        let der: Result<PublicKeyX509Der<'_>, _> = match &self.pair {
            Pair::Ecdsa(pair) => pair.public_key().as_der(),
            Pair::Ed25519(pair) => pair.public_key().as_der(),
            Pair::Rsa(pair) => pair.public_key().as_der(),
            Pair::RsaPss(key) => return key.public_key_info(),
            Pair::MlDsa(pair) => pair.public_key().as_der(),
        };
        der.map(|der| der.as_ref().to_vec()).map_err(|_| SigningError)
    }
}

/// The schemes of an RSA key.
const RSA_SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::RSA_PSS_RSAE_SHA256,
    SignatureScheme::RSA_PSS_RSAE_SHA384,
    SignatureScheme::RSA_PSS_RSAE_SHA512,
];

/// The curves of ECDSA, with the schemes of a key on each.
const CURVES: [(&EcdsaSigningAlgorithm, &[SignatureScheme]); 3] = [
    (&ECDSA_P256_SHA256_ASN1_SIGNING, &[SignatureScheme::ECDSA_SECP256R1_SHA256]),
    (&ECDSA_P384_SHA384_ASN1_SIGNING, &[SignatureScheme::ECDSA_SECP384R1_SHA384]),
    (&ECDSA_P521_SHA512_ASN1_SIGNING, &[SignatureScheme::ECDSA_SECP521R1_SHA512]),
];

/// One kind of key: its schemes, and how it is read.
struct Kind {
    schemes: &'static [SignatureScheme],
    read: fn(&[u8]) -> Result<Pair, aws_lc_rs::error::KeyRejected>,
}

const KINDS: [Kind; 8] = [
    Kind {
        schemes: &[SignatureScheme::ECDSA_SECP256R1_SHA256],
        read: |der| EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, der).map(Pair::Ecdsa),
    },
    Kind {
        schemes: &[SignatureScheme::ECDSA_SECP384R1_SHA384],
        read: |der| EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_ASN1_SIGNING, der).map(Pair::Ecdsa),
    },
    Kind {
        schemes: &[SignatureScheme::ECDSA_SECP521R1_SHA512],
        read: |der| EcdsaKeyPair::from_pkcs8(&ECDSA_P521_SHA512_ASN1_SIGNING, der).map(Pair::Ecdsa),
    },
    Kind {
        schemes: &[SignatureScheme::ED25519],
        read: |der| Ed25519KeyPair::from_pkcs8(der).map(Pair::Ed25519),
    },
    Kind { schemes: RSA_SCHEMES, read: |der| rsa::KeyPair::from_pkcs8(der).map(Pair::Rsa) },
    Kind {
        schemes: &[SignatureScheme::MLDSA44],
        read: |der| PqdsaKeyPair::from_pkcs8(&ML_DSA_44_SIGNING, der).map(Pair::MlDsa),
    },
    Kind {
        schemes: &[SignatureScheme::MLDSA65],
        read: |der| PqdsaKeyPair::from_pkcs8(&ML_DSA_65_SIGNING, der).map(Pair::MlDsa),
    },
    Kind {
        schemes: &[SignatureScheme::MLDSA87],
        read: |der| PqdsaKeyPair::from_pkcs8(&ML_DSA_87_SIGNING, der).map(Pair::MlDsa),
    },
];

impl Signer for SigningKey {
    fn schemes(&self) -> &[SignatureScheme] {
        self.schemes
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, SigningError> {
        if !self.schemes.contains(&scheme) {
            return Err(SigningError);
        }
        match &self.pair {
            Pair::Ecdsa(pair) => pair
                .sign(&SystemRandom::new(), message)
                .map(|signature| signature.as_ref().to_vec())
                .map_err(|_| SigningError),
            Pair::Ed25519(pair) => pair
                .try_sign(message)
                .map(|signature| signature.as_ref().to_vec())
                .map_err(|_| SigningError),
            Pair::Rsa(pair) => sign_rsa(pair, scheme, message),
            Pair::RsaPss(key) => sign_rsa(&key.pair, scheme, message),
            Pair::MlDsa(pair) => sign_ml_dsa(pair, message),
        }
    }
}

/// Signs with RSASSA-PSS with a salt as long as the hash output, as RFC 8446 §4.2.3 requires.
fn sign_rsa(
    pair: &rsa::KeyPair,
    scheme: SignatureScheme,
    message: &[u8],
) -> Result<Vec<u8>, SigningError> {
    let encoding: &'static dyn RsaEncoding = match scheme {
        SignatureScheme::RSA_PSS_RSAE_SHA256 | SignatureScheme::RSA_PSS_PSS_SHA256 => {
            &RSA_PSS_SHA256
        }
        SignatureScheme::RSA_PSS_RSAE_SHA384 | SignatureScheme::RSA_PSS_PSS_SHA384 => {
            &RSA_PSS_SHA384
        }
        SignatureScheme::RSA_PSS_RSAE_SHA512 | SignatureScheme::RSA_PSS_PSS_SHA512 => {
            &RSA_PSS_SHA512
        }
        _ => return Err(SigningError),
    };
    let mut signature = vec![0; pair.public_modulus_len()];
    pair.sign(encoding, &SystemRandom::new(), message, &mut signature).map_err(|_| SigningError)?;
    Ok(signature)
}

/// Signs with pure ML-DSA with the empty context string, as draft-ietf-tls-mldsa requires.
fn sign_ml_dsa(pair: &PqdsaKeyPair, message: &[u8]) -> Result<Vec<u8>, SigningError> {
    let mut signature = vec![0; pair.algorithm().signature_len()];
    pair.sign(message, &mut signature).map_err(|_| SigningError)?;
    Ok(signature)
}
