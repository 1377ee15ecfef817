//! Ends that know each other by a chain of certificates.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use tessera::auth::{Credential, PrivateKey};
use tessera::crypto::Signer;
use tessera::{ClientConfig, Error, ServerConfig};
use tessera_fixed_pki::{Anchor, FixedPkiVerifier};
use tessera_rustcrypto::{HANDSHAKE_ALGORITHMS, SigningKey};

#[cfg(feature = "cached")]
use crate::random::PROVIDER;
use crate::settings::{client_with, server_with};

/// A server's chain, all of its keys of one kind, but for a server's of ML-KEM.
pub struct Chain {
    pub keys: Keys,
    root: &'static [u8],
    /// The server's first.
    certificates: &'static [&'static [u8]],
    /// The server's, as PKCS#8.
    key: &'static [u8],
}

#[derive(Clone, Copy)]
pub enum Keys {
    P256,
    #[cfg(feature = "ml-dsa")]
    MlDsa44,
    #[cfg(feature = "cached-rsa")]
    Rsa2048,
    /// The server's alone: the authorities have others.
    #[cfg(feature = "kem-x509")]
    MlKem768,
}

/// The chain of the image.
#[cfg(not(any(feature = "ml-dsa", feature = "cached-rsa", feature = "kem-x509")))]
pub const CHAIN: Chain = p256(TWO);
#[cfg(feature = "kem-x509")]
pub const CHAIN: Chain = ML_KEM_768;
#[cfg(feature = "ml-dsa")]
pub const CHAIN: Chain = ML_DSA_44;
#[cfg(feature = "cached-rsa")]
pub const CHAIN: Chain = rsa(RSA_TWO);

const fn p256(certificates: &'static [&'static [u8]]) -> Chain {
    Chain {
        keys: Keys::P256,
        root: include_bytes!("../pki/root.der"),
        certificates,
        key: include_bytes!("../pki/server.key.der"),
    }
}

const TWO: &[&[u8]] = &[include_bytes!("../pki/server.der"), include_bytes!("../pki/between.der")];

#[cfg(feature = "ml-dsa")]
const ML_DSA_44: Chain = Chain {
    keys: Keys::MlDsa44,
    root: include_bytes!("../pki/ml-dsa/root.der"),
    certificates: &[
        include_bytes!("../pki/ml-dsa/server.der"),
        include_bytes!("../pki/ml-dsa/between.der"),
    ],
    key: include_bytes!("../pki/ml-dsa/server.key.der"),
};

/// Below authorities with P-256 or ML-DSA-44.
#[cfg(feature = "kem-x509")]
macro_rules! below {
    ($folder:literal) => {
        Chain {
            keys: Keys::MlKem768,
            root: include_bytes!(concat!("../pki/suites/", $folder, "/root.der")),
            certificates: &[
                include_bytes!(concat!("../pki/suites/", $folder, "/ml-kem-768.der")),
                include_bytes!(concat!("../pki/suites/", $folder, "/between.der")),
            ],
            key: include_bytes!("../pki/suites/ml-kem-768.key.der"),
        }
    };
}

#[cfg(all(feature = "kem-x509", not(feature = "kem-x509-ml-dsa")))]
const ML_KEM_768: Chain = below!("p256");
#[cfg(feature = "kem-x509-ml-dsa")]
const ML_KEM_768: Chain = below!("ml-dsa-44");

#[cfg(feature = "cached-rsa")]
const fn rsa(certificates: &'static [&'static [u8]]) -> Chain {
    Chain {
        keys: Keys::Rsa2048,
        root: include_bytes!("../pki/rsa/root.der"),
        certificates,
        key: include_bytes!("../pki/rsa/server.key.der"),
    }
}

#[cfg(feature = "cached-rsa")]
const RSA_TWO: &[&[u8]] =
    &[include_bytes!("../pki/rsa/server.der"), include_bytes!("../pki/rsa/between.der")];

/// One to four certificates.
#[cfg(feature = "cached-rsa")]
pub static CHAINS: &[Chain] = &[
    rsa(&[include_bytes!("../pki/rsa/server-1.der")]),
    rsa(RSA_TWO),
    rsa(&[
        include_bytes!("../pki/rsa/server-3.der"),
        include_bytes!("../pki/rsa/lower.der"),
        include_bytes!("../pki/rsa/between.der"),
    ]),
    rsa(&[
        include_bytes!("../pki/rsa/server-4.der"),
        include_bytes!("../pki/rsa/lowest.der"),
        include_bytes!("../pki/rsa/lower.der"),
        include_bytes!("../pki/rsa/between.der"),
    ]),
];

/// One to four certificates.
#[cfg(all(feature = "cached", not(feature = "cached-rsa")))]
pub static CHAINS: &[Chain] = &[
    p256(&[include_bytes!("../pki/server-1.der")]),
    p256(TWO),
    p256(&[
        include_bytes!("../pki/server-3.der"),
        include_bytes!("../pki/lower.der"),
        include_bytes!("../pki/between.der"),
    ]),
    p256(&[
        include_bytes!("../pki/server-4.der"),
        include_bytes!("../pki/lowest.der"),
        include_bytes!("../pki/lower.der"),
        include_bytes!("../pki/between.der"),
    ]),
];

/// One of each kind of keys.
pub static SIGNATURES: &[Chain] = &[
    p256(TWO),
    #[cfg(feature = "ml-dsa")]
    ML_DSA_44,
    #[cfg(feature = "cached-rsa")]
    rsa(RSA_TWO),
];

impl Chain {
    /// Returns the number of certificates.
    pub fn count(&self) -> usize {
        self.certificates.len()
    }

    /// Returns a client that knows the root alone.
    pub fn client(&self) -> ClientConfig {
        client_below(self.root)
    }

    pub fn server(&self) -> Result<ServerConfig, Error> {
        let key = self.private_key();
        let key = key.ok_or(Error::Configuration("the server's key can't be read"))?;
        let chain: Vec<_> = self.certificates.iter().map(|der| der.to_vec()).collect();
        let config = server_with(vec![Credential::new(chain, key)]);
        #[cfg(feature = "cached")]
        let mut config = config;
        #[cfg(feature = "cached")]
        config.certificate_codecs.insert(
            0,
            Arc::new(
                tessera_cache::ServerCache::new(&PROVIDER)
                    .map_err(|_| Error::Configuration("the provider has no SHA-256"))?,
            ),
        );
        Ok(config)
    }

    fn private_key(&self) -> Option<PrivateKey> {
        #[cfg(feature = "kem-x509")]
        if let Keys::MlKem768 = self.keys {
            // The seed comes last (RFC 9935 §6).
            let key = tessera_rustcrypto::KemKey::<3>::from_seed(self.key.last_chunk()?);
            return Some(PrivateKey::Decapsulates(Arc::new(key)));
        }
        self.signer().map(PrivateKey::Signs)
    }

    /// Returns the server's key for `SignatureVerificationAlgorithm::verify_signature`.
    pub fn public_key(&self) -> &'static [u8] {
        let (from, len) = self.keys.public_key();
        let end = self.certificates[0];
        let at = end.windows(from.len()).position(|part| part == from);
        let at = at.expect("the key's algorithm is in the certificate") + from.len();
        &end[at..at + len]
    }

    pub fn signer(&self) -> Option<Arc<dyn Signer>> {
        Some(match self.keys {
            Keys::P256 => Arc::new(SigningKey::from_pkcs8(self.key).ok()?),
            #[cfg(feature = "ml-dsa")]
            Keys::MlDsa44 => {
                Arc::new(crate::ml_dsa_key::MlDsaKey::<ml_dsa::MlDsa44>::from_pkcs8(self.key)?)
            }
            #[cfg(feature = "cached-rsa")]
            Keys::Rsa2048 => Arc::new(crate::rsa_key::RsaKey::from_pkcs8(self.key)?),
            #[cfg(feature = "kem-x509")]
            Keys::MlKem768 => return None,
        })
    }
}

impl Keys {
    /// Returns what precedes the key in a SubjectPublicKeyInfo, and the key's length.
    fn public_key(self) -> (&'static [u8], usize) {
        match self {
            // The curve (RFC 5480 §2.1.1.1), and a BIT STRING of an uncompressed point.
            Self::P256 => (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7, 3, 66, 0], 65),
            // The end of id-ml-dsa-44 (RFC 9881 §2).
            #[cfg(feature = "ml-dsa")]
            Self::MlDsa44 => (&[0x65, 3, 4, 3, 17, 3, 0x82, 5, 0x21, 0], 1312),
            // The end of rsaEncryption and its NULL (RFC 3279 §2.3.1); RSAPublicKey with the exponent 65537.
            #[cfg(feature = "cached-rsa")]
            Self::Rsa2048 => (&[0x0d, 1, 1, 1, 5, 0, 3, 0x82, 1, 0x0f, 0], 270),
            // The end of id-alg-ml-kem-768 (RFC 9935 §3).
            #[cfg(feature = "kem-x509")]
            Self::MlKem768 => (&[0x65, 3, 4, 4, 2, 3, 0x82, 4, 0xa1, 0], 1184),
        }
    }

    /// Returns the names of its operations.
    pub fn operations(self) -> [&'static str; 2] {
        match self {
            Self::P256 => ["ECDSA P-256 sign", "ECDSA P-256 verify"],
            #[cfg(feature = "ml-dsa")]
            Self::MlDsa44 => ["ML-DSA-44 sign", "ML-DSA-44 verify"],
            #[cfg(feature = "cached-rsa")]
            Self::Rsa2048 => ["RSA-2048 PSS sign", "RSA-2048 PSS verify"],
            #[cfg(feature = "kem-x509")]
            Self::MlKem768 => ["ML-KEM-768 encapsulate", "ML-KEM-768 decapsulate"],
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            #[cfg(feature = "ml-dsa")]
            Self::MlDsa44 => "ML-DSA-44",
            #[cfg(feature = "cached-rsa")]
            Self::Rsa2048 => "RSA-2048",
            #[cfg(feature = "kem-x509")]
            Self::MlKem768 => "ML-KEM-768",
        }
    }
}

/// Returns a client that knows this root alone: the rest of a chain is not linked.
pub fn client_below(root: &'static [u8]) -> ClientConfig {
    let root = Anchor::certificate(root).expect("the root is good");
    let verifier = FixedPkiVerifier::new(vec![root], HANDSHAKE_ALGORITHMS);
    let verifier = verifier.expect("anchor and algorithms are there");
    #[cfg(feature = "cached-rsa")]
    let verifier = verifier.accepting_in_certificates(
        tessera_rustcrypto::CHAIN_ALGORITHMS,
        tessera_rustcrypto::CHAIN_SCHEMES,
    );
    #[cfg(feature = "kem-x509")]
    let verifier = verifier
        .accepting_kems(&[tessera::wire::SignatureScheme::KEM_MLKEM768])
        .expect("its keys have a form in certificates");
    remembering(verifier)
}

#[cfg(not(feature = "cached"))]
fn remembering(verifier: FixedPkiVerifier) -> ClientConfig {
    client_with(Arc::new(verifier))
}

/// Keeps of a chain its hash, its dates, and the server's key.
#[cfg(feature = "cached")]
fn remembering(verifier: FixedPkiVerifier) -> ClientConfig {
    use tessera_cache::ClientCache;
    use tessera_fixed_pki::{ChainStore, KnownChains, StoreBounds};

    let store = ChainStore::new(&PROVIDER, StoreBounds { entries: 8, bytes: 2048 });
    let verifier = KnownChains::new(verifier, &store.expect("the provider has SHA-256"));
    let verifier = Arc::new(verifier);
    let cache = ClientCache::new(&PROVIDER).expect("the provider has SHA-256");
    let mut config = client_with(verifier.clone());
    config.certificate_codecs.insert(0, Arc::new(cache.with_chain_memory(verifier)));
    config
}

/// Returns the client of the image.
pub fn client() -> ClientConfig {
    client_below(CHAIN.root)
}
