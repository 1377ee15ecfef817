//! Configurations of both ends for a way to connect.

use std::collections::VecDeque;
use std::sync::Arc;

use tessera::auth::{CertificateCodecFactory, ChainMemory, Credential, PeerIdentity, PeerVerifier};
use tessera::handshake::Checked;
use tessera::resume::{ClientSession, KnownServerKey};
use tessera::{ClientConfig, ServerConfig};
use tessera_cache::{ClientCache, ServerCache};
use tessera_compression::Zlib;
use tessera_webpki::{
    ChainStore, KnownChains, PinnedKey, PinnedKeyVerifier, StoreBounds, WebPkiVerifier,
    kem_public_key,
};

use super::rfc7924::Rfc7924Cache;
use super::verifications::Verifications;
use super::way::CertificateWay;
use crate::certificates::{Certificates, Parties, Party};
use crate::control::Preparation;
use crate::endpoint::{Result, Stores, client_config, server_config};

/// How many sessions one connection brings. The engine refuses more than 32 tickets in a row.
pub(super) const SESSIONS_AT_ONCE: u8 = 30;

/// Both ends of a way, ready to connect.
pub(super) struct Ends {
    pub(super) way: CertificateWay,
    pub(super) client: Checked<ClientConfig>,
    /// As above, requesting this many tickets.
    pub(super) collector: Checked<ClientConfig>,
    pub(super) server: Checked<ServerConfig>,
    /// The server as it was before it was renewed.
    before: Option<Checked<ServerConfig>>,
    /// The server's key, where the client knows it.
    pub(super) known_key: Option<KnownServerKey>,
    /// Tickets that wait for their connections.
    pub(super) sessions: VecDeque<ClientSession>,
    caches: Caches,
}

/// The caches of both ends.
struct Caches {
    client: Arc<ClientCache>,
    server: Arc<ServerCache>,
}

/// The part of one end in what both configurations share.
struct Side<'a> {
    way: CertificateWay,
    certificates: Certificates,
    own: &'a Party,
    peer: &'a Party,
    verifications: &'static Verifications,
}

impl Ends {
    pub(super) fn new(way: CertificateWay, parties: &Parties) -> Result<Self> {
        let Parties { certificates, client, server, .. } = parties;
        let [of_client, of_server] = Verifications::of_both();
        let certificates = *certificates;
        let client =
            Side { way, certificates, own: client, peer: server, verifications: of_client };
        let server =
            Side { way, certificates, own: server, peer: client.own, verifications: of_server };

        let judge = client.judge()?;
        let client_cache = Arc::new(judge.client_cache(way)?);
        let configure = |sessions| -> Result<Checked<ClientConfig>> {
            let mut config = client_config(&client.preparation(), sessions)?;
            config.verifier = judge.verifier.clone();
            config.credentials = vec![credential(way, client.own)];
            // Its moment is what is measured.
            config.data_to_implicitly_authenticated_servers = certificates.kem().is_some();
            config.certificate_codecs = match way {
                CertificateWay::Rfc7924 => {
                    vec![Arc::new(Rfc7924Cache(client_cache.clone()))]
                }
                _ => codecs(way, client_cache.clone()),
            };
            Ok(config.checked()?)
        };
        let before = if way.misses() {
            let own = parties.server_before()?;
            Some(Side { own, ..server }.serve()?.0)
        } else {
            None
        };
        let (served, server_cache) = server.serve()?;
        Ok(Self {
            way,
            client: configure(u8::from(way.resumes()))?,
            collector: configure(SESSIONS_AT_ONCE)?,
            server: served,
            before,
            known_key: known_key(way, server.own)?,
            sessions: VecDeque::new(),
            caches: Caches { client: client_cache, server: server_cache },
        })
    }

    /// Returns the configuration of another client, which shares this one's caches.
    pub(super) fn client_of(&self, party: &Party) -> Result<Checked<ClientConfig>> {
        let mut config = (*self.client).clone();
        config.credentials = vec![credential(self.way, party)];
        Ok(config.checked()?)
    }

    /// Returns the configuration of another server, which shares this one's caches.
    pub(super) fn server_of(&self, party: &Party) -> Result<Checked<ServerConfig>> {
        let mut config = (*self.server).clone();
        config.credentials = vec![credential(self.way, party)];
        Ok(config.checked()?)
    }

    /// Prepares the caches for a connection of this way; returns the server that the client must visit before, if any.
    pub(super) fn begin(&self) -> Option<&Checked<ServerConfig>> {
        if self.way.is_cold() {
            self.forget();
        }
        self.before.as_ref()
    }

    /// Both ends forget certificates.
    fn forget(&self) {
        self.forgetting()();
    }

    /// Returns a closure that clears the caches of both ends.
    pub(super) fn forgetting(&self) -> impl Fn() + Send + use<> {
        let Caches { client, server } = &self.caches;
        let (client, server) = (client.clone(), server.clone());
        move || {
            client.clear();
            server.clear();
        }
    }
}

/// Returns the key of a server, if its clients know it in this way.
fn known_key(way: CertificateWay, server: &Party) -> Result<Option<KnownServerKey>> {
    if way != CertificateWay::KnownKey {
        return Ok(None);
    }
    let public_key = kem_public_key(&server.public_key).ok_or("the key is none of a KEM")?;
    let identity =
        PeerIdentity { blob: server.name.clone().into_bytes(), ..PeerIdentity::default() };
    Ok(Some(KnownServerKey { public_key, identity }))
}

/// Returns what an end presents in this way.
fn credential(way: CertificateWay, own: &Party) -> Credential {
    let key = own.key.clone();
    match way {
        CertificateWay::RawKeys => Credential::raw_public_key(own.public_key.clone(), key),
        _ => Credential::new(own.chain.clone(), key),
    }
}

/// Returns the forms in which certificates travel in this way; with the cache of an end.
fn codecs(
    way: CertificateWay,
    cache: Arc<dyn CertificateCodecFactory>,
) -> Vec<Arc<dyn CertificateCodecFactory>> {
    match way {
        CertificateWay::Zlib => vec![Arc::new(Zlib::default())],
        _ if way.caches() => vec![cache],
        _ => Vec::new(),
    }
}

impl Side<'_> {
    fn preparation(&self) -> Preparation {
        let Self { way, certificates, own, .. } = *self;
        Preparation {
            suite: Some(self.way.suite()),
            tickets: u8::from(way.resumes()),
            ..Preparation::new(way.way(certificates), own.identity.clone())
        }
    }

    /// Returns the server's configuration, with its cache.
    fn serve(&self) -> Result<(Checked<ServerConfig>, Arc<ServerCache>)> {
        let Judge { verifier, memory } = self.judge()?;
        let carrier = self.way.carrier().unwrap_or_default();
        let mut cache = ServerCache::new(&tessera_aws_lc::provider())?.with_carrier(carrier);
        if let Some(memory) = memory {
            cache = cache.with_chain_memory(memory);
        }
        let cache = Arc::new(cache);
        let mut config = server_config(&self.preparation(), &Stores::new(false)?)?;
        config.client_authentication = self.way.client_authentication(verifier);
        config.credentials = vec![credential(self.way, self.own)];
        config.certificate_codecs = codecs(self.way, cache.clone());
        if !self.way.resumes() {
            config.tickets = None;
        }
        Ok((config.checked()?, cache))
    }

    /// Returns the verifier of the peer.
    fn judge(&self) -> Result<Judge> {
        let (algorithms, kem) = (self.verifications.algorithms, self.certificates.kem());
        if self.way == CertificateWay::RawKeys {
            let (public_key, name) = (self.peer.public_key.clone(), self.peer.name.clone());
            let keys = vec![PinnedKey { public_key, name }];
            let mut verifier = PinnedKeyVerifier::with_algorithms(keys, algorithms)?;
            if let Some(kem) = kem {
                verifier = verifier.accepting_kems_alone(&[kem])?;
            }
            return Ok(Judge { verifier: Arc::new(verifier), memory: None });
        }
        let mut verifier = WebPkiVerifier::with_algorithms(&[&self.own.identity.root], algorithms)?;
        if let Some(kem) = kem {
            verifier = verifier.accepting_kems_alone(&[kem])?;
        }
        if !self.way.knows() {
            return Ok(Judge { verifier: Arc::new(verifier), memory: None });
        }
        let store = ChainStore::new(&tessera_aws_lc::provider(), StoreBounds::default())?;
        let verifier = Arc::new(KnownChains::new(verifier, &store));
        Ok(Judge { verifier: verifier.clone(), memory: Some(verifier) })
    }
}

/// The verifier of a peer; also as a cache of known chains, if it has one.
struct Judge {
    verifier: Arc<dyn PeerVerifier>,
    memory: Option<Arc<dyn ChainMemory>>,
}

impl Judge {
    fn client_cache(&self, way: CertificateWay) -> Result<ClientCache> {
        let carrier = way.carrier().unwrap_or_default();
        let cache = ClientCache::new(&tessera_aws_lc::provider())?.with_carrier(carrier);
        Ok(match &self.memory {
            Some(memory) => cache.with_chain_memory(memory.clone()),
            None => cache,
        })
    }
}
