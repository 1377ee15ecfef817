//! The ends of a suite.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use pki_types::{SignatureVerificationAlgorithm, alg_id};
use tessera::auth::{Credential, PeerIdentity, PeerVerifier};
use tessera::crypto::Provider;
use tessera::handshake::{Checked, ClientAuthentication};
use tessera::resume::KnownServerKey;
use tessera::wire::{CipherSuite, SignatureScheme};
use tessera::{ClientConfig, Destination, Error, Limits, ServerConfig};
use tessera_cache::{ClientCache, ServerCache};
use tessera_firmware::ends::{RECORD, SERVER_NAME};
use tessera_firmware::heap::{self, Side};
use tessera_firmware::random::NotRandom;
use tessera_fixed_pki::{
    Anchor, ChainStore, FixedPkiVerifier, KnownChains, PinnedKey, PinnedKeyVerifier, StoreBounds,
    kem_public_key,
};
use tessera_rustcrypto::{CHAIN_ALGORITHMS, HANDSHAKE_ALGORITHMS, experimental_one_time_provider};

use crate::counted::{self, Algorithms, Verification};
use crate::key_info::key_info;
use crate::table::{Authority, Leaf, Mode, Suite};

/// Both ends' configurations.
pub struct Ends {
    pub client: Checked<ClientConfig>,
    pub server: Checked<ServerConfig>,
    /// What the client knows of the server.
    known: Option<KnownServerKey>,
    /// Whether they have connected before.
    pub has_connected: Cell<bool>,
}

impl Ends {
    pub fn destination(&self) -> Destination {
        let known_server_key = self.known.clone().map(Box::new);
        Destination { server_name: SERVER_NAME.into(), known_server_key, ..Destination::default() }
    }
}

/// ML-DSA-87 has the longest signatures and certificates.
const LIMITS: Limits = Limits {
    handshake_message: 8 * 1024,
    certificate_message: 24 * 1024,
    client_hello: 4096,
    tickets: 0,
};

/// The provider and the algorithms, which count what they do. They last as long as the program.
pub struct Cryptography {
    provider: Provider,
    /// By the schemes that a client accepts.
    algorithms: RefCell<Vec<([SignatureScheme; 2], Algorithms)>>,
    /// RSASSA-PKCS1-v1_5, in certificates alone.
    in_certificates: &'static [&'static dyn SignatureVerificationAlgorithm],
}

impl Cryptography {
    pub fn new() -> Self {
        let found =
            CHAIN_ALGORITHMS.iter().filter(|it| it.signature_alg_id() == alg_id::RSA_PKCS1_SHA256);
        let counted = found.map(|it| counted::leak(Verification::new(*it)) as &'static _);
        Self {
            provider: counted::provider(&experimental_one_time_provider::<NotRandom>()),
            algorithms: RefCell::default(),
            in_certificates: counted.collect::<Vec<_>>().leak(),
        }
    }

    /// Returns the algorithms of these schemes.
    fn algorithms(&self, schemes: [SignatureScheme; 2]) -> Algorithms {
        let mut known = self.algorithms.borrow_mut();
        if let Some((_, algorithms)) = known.iter().find(|(of, _)| *of == schemes) {
            return algorithms;
        }
        let wanted = HANDSHAKE_ALGORITHMS.iter().filter(|(scheme, _)| schemes.contains(scheme));
        let counted = wanted
            .map(|(scheme, it)| (*scheme, counted::leak(Verification::new(*it)) as &'static _));
        let algorithms: Algorithms = counted.collect::<Vec<_>>().leak();
        known.push((schemes, algorithms));
        algorithms
    }

    /// Returns a verifier of chains below an authority's root, with keys like this leaf's.
    fn verifier(&self, authority: &Authority, leaf: &Leaf) -> Result<FixedPkiVerifier, Error> {
        let anchor = Anchor::certificate(authority.root)
            .map_err(|_| Error::Configuration("a root is not good"))?;
        // RSASSA-PKCS1-v1_5 signs certificates, RSASSA-PSS handshakes.
        let of_chain = match authority.scheme {
            SignatureScheme::RSA_PKCS1_SHA256 => SignatureScheme::RSA_PSS_RSAE_SHA256,
            scheme => scheme,
        };
        let of_leaf = if leaf.is_kem() { of_chain } else { leaf.scheme };
        let verifier = FixedPkiVerifier::new(vec![anchor], self.algorithms([of_chain, of_leaf]));
        let mut verifier =
            verifier.map_err(|_| Error::Configuration("the provider lacks an algorithm"))?;
        if authority.scheme == SignatureScheme::RSA_PKCS1_SHA256 {
            verifier =
                verifier.accepting_in_certificates(self.in_certificates, &[authority.scheme]);
        }
        if leaf.is_kem() {
            verifier = verifier
                .accepting_kems(&[leaf.scheme])
                .map_err(|_| Error::Configuration("no KEM"))?;
        }
        Ok(verifier)
    }

    /// Returns the ends of a suite.
    pub fn ends(&self, suite: &Suite) -> Result<Ends, Error> {
        let Suite { exchange, authority, leaf, mode } = suite;
        let no_key = Error::Configuration("a private key can't be read");
        let credential = || -> Result<Credential, Error> {
            let key = counted::private_key(leaf.private_key().ok_or(no_key.clone())?);
            Ok(match authority {
                Some(authority) => Credential::new(
                    vec![leaf.certificate.to_vec(), authority.between.to_vec()],
                    key,
                ),
                None => Credential::raw_public_key(key_info(leaf.certificate).to_vec(), key),
            })
        };
        let verifier = || -> Result<FixedPkiVerifier, Error> {
            self.verifier(authority.ok_or(Error::Configuration("no authority"))?, leaf)
        };

        heap::switch_to(Side::Server);
        let mut server = ServerConfig::new(self.provider, vec![credential()?]);
        server.groups = vec![exchange.group];
        server.record_size_limit = Some(RECORD);
        server.limits = LIMITS;
        match mode {
            Mode::Mutual => {
                let clients = Arc::new(verifier()?.accepting_clients());
                server.client_authentication = ClientAuthentication::Required(clients);
            }
            Mode::CachedChain => server.certificate_codecs.insert(
                0,
                Arc::new(
                    ServerCache::new(&self.provider)
                        .map_err(|_| Error::Configuration("no SHA-256"))?,
                ),
            ),
            _ => (),
        }
        let server = server.checked()?;

        heap::switch_to(Side::Client);
        let mut codec = None;
        let verifier: Arc<dyn PeerVerifier> = match mode {
            Mode::Server | Mode::Mutual => Arc::new(verifier()?),
            Mode::CachedChain => {
                let store =
                    ChainStore::new(&self.provider, StoreBounds { entries: 1, bytes: 4096 });
                let store = store.map_err(|_| Error::Configuration("no SHA-256"))?;
                let verifier = Arc::new(KnownChains::new(verifier()?, &store));
                let cache = ClientCache::new(&self.provider)
                    .map_err(|_| Error::Configuration("no SHA-256"))?;
                codec = Some(cache.with_chain_memory(verifier.clone()));
                verifier
            }
            Mode::KnownKey | Mode::RawKey => {
                let algorithms =
                    if leaf.is_kem() { &[] } else { self.algorithms([leaf.scheme; 2]) };
                let key = PinnedKey { public_key: key_info(leaf.certificate), name: SERVER_NAME };
                let verifier = PinnedKeyVerifier::new(vec![key], algorithms);
                Arc::new(verifier.map_err(|_| Error::Configuration("a key can't be pinned"))?)
            }
        };
        let public_key = kem_public_key(key_info(leaf.certificate));
        let known = public_key.filter(|_| *mode == Mode::KnownKey).map(|public_key| {
            let identity = PeerIdentity { blob: SERVER_NAME.into(), expires_at: None };
            KnownServerKey { public_key, identity }
        });
        let mut client = ClientConfig::new(self.provider, verifier);
        client.suites = vec![CipherSuite::TLS_CHACHA20_POLY1305_SHA256];
        client.groups = vec![exchange.group];
        client.record_size_limit = Some(RECORD);
        client.policy.resumption = false;
        client.limits = LIMITS;
        // With KEMs: before the server's Finished.
        client.data_to_implicitly_authenticated_servers = true;
        if *mode == Mode::Mutual {
            client.credentials = vec![credential()?];
        }
        if let Some(codec) = codec {
            client.certificate_codecs.insert(0, Arc::new(codec));
        }
        Ok(Ends { client: client.checked()?, server, known, has_connected: Cell::new(false) })
    }
}
