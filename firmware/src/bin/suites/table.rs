//! The suites: key exchanges, chains, and how the ends authenticate.

use alloc::sync::Arc;

use ml_dsa::{MlDsa44, MlDsa65, MlDsa87};
use tessera::auth::PrivateKey;
use tessera::crypto::{Decapsulator, Signer};
use tessera::wire::{NamedGroup, SignatureScheme};
use tessera_firmware::ed25519_key::Ed25519Key;
use tessera_firmware::falcon_key::{FalconKey, SigningKey512, SigningKey1024};
use tessera_firmware::ml_dsa_key::MlDsaKey;
use tessera_firmware::rsa_key::RsaKey;
use tessera_rustcrypto::{KemKey, SigningKey};

/// A key exchange.
#[derive(Clone, Copy)]
pub struct Exchange {
    pub name: &'static str,
    pub group: NamedGroup,
}

const fn exchange(name: &'static str, group: NamedGroup) -> Exchange {
    Exchange { name, group }
}

const X25519: Exchange = exchange("X25519", NamedGroup::X25519);
const ML_KEM: [Exchange; 3] = [
    exchange("ML-KEM-512", NamedGroup::MLKEM512),
    exchange("ML-KEM-768", NamedGroup::MLKEM768),
    exchange("ML-KEM-1024", NamedGroup::MLKEM1024),
];
const ONE_TIME: [Exchange; 3] = [
    exchange("one-time ML-KEM-512", NamedGroup::EXPERIMENTAL_ONE_TIME_MLKEM512),
    exchange("one-time ML-KEM-768", NamedGroup::EXPERIMENTAL_ONE_TIME_MLKEM768),
    exchange("one-time ML-KEM-1024", NamedGroup::EXPERIMENTAL_ONE_TIME_MLKEM1024),
];
const HYBRID: Exchange = exchange("X25519MLKEM768", NamedGroup::X25519MLKEM768);
const ONE_TIME_HYBRID: Exchange =
    exchange("one-time X25519MLKEM768", NamedGroup::EXPERIMENTAL_ONE_TIME_X25519MLKEM768);

const EXCHANGES: [Exchange; 10] = [
    X25519,
    exchange("P-256", NamedGroup::SECP256R1),
    ML_KEM[0],
    ML_KEM[1],
    ML_KEM[2],
    ONE_TIME[0],
    ONE_TIME[1],
    ONE_TIME[2],
    HYBRID,
    ONE_TIME_HYBRID,
];

/// Those of handshakes in which both ends authenticate, or in which the client knows the chain.
const SOME_EXCHANGES: [Exchange; 6] =
    [X25519, ML_KEM[0], ML_KEM[1], ONE_TIME[0], ONE_TIME[1], HYBRID];

/// A key that a certificate has.
#[derive(Clone, Copy)]
pub struct Leaf {
    pub name: &'static str,
    pub scheme: SignatureScheme,
    pub certificate: &'static [u8],
    /// PKCS#8.
    pub key: &'static [u8],
}

/// An authority, the one below it, and certificates of servers below that.
pub struct Authority {
    pub name: &'static str,
    /// What its certificates are signed with.
    pub scheme: SignatureScheme,
    pub root: &'static [u8],
    pub between: &'static [u8],
    pub leaves: &'static [Leaf],
}

macro_rules! file {
    ($path:expr) => {
        include_bytes!(concat!("../../../pki/suites/", $path, ".der"))
    };
}

macro_rules! kem_leaf {
    ($folder:literal, $file:literal, $name:literal, $scheme:ident) => {
        Leaf {
            name: $name,
            scheme: SignatureScheme::$scheme,
            certificate: file!(concat!($folder, "/", $file)),
            key: file!(concat!($file, ".key")),
        }
    };
}

macro_rules! authority {
    ($folder:literal, $name:literal, $scheme:ident, signed with $chain_scheme:ident $(, also $leaf:expr)?) => {
        Authority {
            name: $name,
            scheme: SignatureScheme::$chain_scheme,
            root: file!(concat!($folder, "/root")),
            between: file!(concat!($folder, "/between")),
            leaves: &[
                Leaf {
                    name: $name,
                    scheme: SignatureScheme::$scheme,
                    certificate: file!(concat!($folder, "/server")),
                    key: file!(concat!($folder, "/server.key")),
                },
                kem_leaf!($folder, "ml-kem-512", "ML-KEM-512", KEM_MLKEM512),
                kem_leaf!($folder, "ml-kem-768", "ML-KEM-768", KEM_MLKEM768),
                kem_leaf!($folder, "ml-kem-1024", "ML-KEM-1024", KEM_MLKEM1024),
                $($leaf,)?
            ],
        }
    };
}

static AUTHORITIES: [Authority; 8] = [
    authority!("ed25519", "Ed25519", ED25519, signed with ED25519),
    authority!("p256", "P-256", ECDSA_SECP256R1_SHA256, signed with ECDSA_SECP256R1_SHA256),
    authority!("rsa-2048", "RSA-2048", RSA_PSS_RSAE_SHA256, signed with RSA_PKCS1_SHA256),
    authority!("ml-dsa-44", "ML-DSA-44", MLDSA44, signed with MLDSA44),
    authority!("ml-dsa-65", "ML-DSA-65", MLDSA65, signed with MLDSA65),
    authority!("ml-dsa-87", "ML-DSA-87", MLDSA87, signed with MLDSA87),
    authority!(
        "falcon-512", "Falcon-512", FALCON512_PRE_STANDARD, signed with FALCON512_PRE_STANDARD,
        also Leaf {
            name: "ML-DSA-44",
            scheme: SignatureScheme::MLDSA44,
            certificate: file!("falcon-512/ml-dsa-44"),
            key: file!("falcon-512/ml-dsa-44.key"),
        }
    ),
    authority!("falcon-1024", "Falcon-1024", FALCON1024_PRE_STANDARD, signed with FALCON1024_PRE_STANDARD),
];

impl Leaf {
    pub fn is_kem(&self) -> bool {
        self.scheme.kem().is_some()
    }

    /// Returns its private key; of ML-KEM the seed comes last (RFC 9935 §6).
    pub fn private_key(&self) -> Option<PrivateKey> {
        let seed = || self.key.last_chunk();
        let key: Arc<dyn Decapsulator> = match self.scheme {
            SignatureScheme::KEM_MLKEM512 => Arc::new(KemKey::<2>::from_seed(seed()?)),
            SignatureScheme::KEM_MLKEM768 => Arc::new(KemKey::<3>::from_seed(seed()?)),
            SignatureScheme::KEM_MLKEM1024 => Arc::new(KemKey::<4>::from_seed(seed()?)),
            _ => return self.signer().map(PrivateKey::Signs),
        };
        Some(PrivateKey::Decapsulates(key))
    }

    fn signer(&self) -> Option<Arc<dyn Signer>> {
        let key = self.key;
        Some(match self.scheme {
            SignatureScheme::ED25519 => Arc::new(Ed25519Key::from_pkcs8(key)?),
            SignatureScheme::ECDSA_SECP256R1_SHA256 => Arc::new(SigningKey::from_pkcs8(key).ok()?),
            SignatureScheme::RSA_PSS_RSAE_SHA256 => Arc::new(RsaKey::from_pkcs8(key)?),
            SignatureScheme::MLDSA44 => Arc::new(MlDsaKey::<MlDsa44>::from_pkcs8(key)?),
            SignatureScheme::MLDSA65 => Arc::new(MlDsaKey::<MlDsa65>::from_pkcs8(key)?),
            SignatureScheme::MLDSA87 => Arc::new(MlDsaKey::<MlDsa87>::from_pkcs8(key)?),
            SignatureScheme::FALCON512_PRE_STANDARD => {
                Arc::new(FalconKey::<SigningKey512>::from_pkcs8(key)?)
            }
            SignatureScheme::FALCON1024_PRE_STANDARD => {
                Arc::new(FalconKey::<SigningKey1024>::from_pkcs8(key)?)
            }
            _ => return None,
        })
    }
}

/// How the ends know each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The client verifies the server's chain.
    Server,
    /// Both verify one.
    Mutual,
    /// The same as [`Server`](Self::Server), in a client that knows the chain (RFC 7924).
    CachedChain,
    /// The client knows the server's static key of a KEM (docs/kem-auth.md §9).
    KnownKey,
    /// The server sends its key, which the client knows (RFC 7250).
    RawKey,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Mutual => "mutual",
            Self::CachedChain => "cached chain",
            Self::KnownKey => "known key",
            Self::RawKey => "raw key",
        }
    }
}

/// A suite to measure. Without an authority, the leaf's key is known.
#[derive(Clone, Copy)]
pub struct Suite {
    pub exchange: Exchange,
    pub authority: Option<&'static Authority>,
    pub leaf: Leaf,
    pub mode: Mode,
}

/// Returns all suites.
pub fn suites() -> impl Iterator<Item = Suite> {
    let chains = || {
        AUTHORITIES
            .iter()
            .flat_map(|authority| authority.leaves.iter().map(move |leaf| (authority, *leaf)))
    };
    let with = move |exchanges: &'static [Exchange], mode| {
        exchanges.iter().flat_map(move |exchange| {
            chains().map(move |(authority, leaf)| Suite {
                exchange: *exchange,
                authority: Some(authority),
                leaf,
                mode,
            })
        })
    };
    // A key of each signature algorithm, and of each parameter set of ML-KEM.
    let known = EXCHANGES.iter().flat_map(|exchange| {
        let keys = AUTHORITIES.iter().flat_map(|authority| authority.leaves.iter().take(1));
        let keys = keys.chain(AUTHORITIES[0].leaves.iter().skip(1));
        keys.flat_map(move |leaf| {
            let suite = |mode| Suite { exchange: *exchange, authority: None, leaf: *leaf, mode };
            let known = leaf.is_kem().then(|| suite(Mode::KnownKey));
            known.into_iter().chain([suite(Mode::RawKey)])
        })
    });
    with(&EXCHANGES, Mode::Server)
        .chain(with(&SOME_EXCHANGES, Mode::Mutual))
        .chain(with(&SOME_EXCHANGES, Mode::CachedChain))
        .chain(known)
}
