//! Configurations of both ends for a way to connect.

use std::collections::VecDeque;
use std::sync::Arc;

use tessera::auth::{CertificateCodecFactory, Credential, PeerVerifier, PrivateKey};
use tessera::handshake::{Checked, ClientAuthentication};
use tessera::resume::ClientSession;
use tessera::{ClientConfig, ServerConfig};
use tessera_aws_lc::SigningKey;
use tessera_cache::{ClientCache, ServerCache};
use tessera_compression::Zlib;
use tessera_webpki::{
    ChainStore, KnownChains, PinnedKey, PinnedKeyVerifier, StoreBounds, WebPkiVerifier,
};

use super::certificates::{Certificates, Parties, Party};
use super::verifications::Verifications;
use super::way::CertificateWay;
use crate::control::Preparation;
use crate::endpoint::{Result, Stores, client_config, server_config};
use crate::variants::Suite;

/// The suite of both ends: the one that the paper's TLS 1.2 has, as far as TLS 1.3 has it.
pub(super) const SUITE: Suite = Suite::Aes256GcmSha384;

/// How many sessions one connection brings. The engine refuses more than 32 tickets in a row.
pub(super) const SESSIONS_AT_ONCE: u8 = 30;

/// Both ends of a way, ready to connect.
pub(super) struct Ends {
    pub(super) way: CertificateWay,
    pub(super) client: Checked<ClientConfig>,
    /// The same, and asks for so many tickets.
    pub(super) collector: Checked<ClientConfig>,
    pub(super) server: Checked<ServerConfig>,
    /// The server as it was before it was renewed.
    before: Option<Checked<ServerConfig>>,
    /// Tickets that wait for their connections.
    pub(super) sessions: VecDeque<ClientSession>,
    caches: Option<Caches>,
}

/// What both ends remember of certificates.
struct Caches {
    client: Arc<ClientCache>,
    server: Arc<ServerCache>,
}

/// One end's part of what configurations have in common.
struct Side<'a> {
    way: CertificateWay,
    own: &'a Party,
    peer: &'a Party,
    verifications: &'static Verifications,
}

impl Ends {
    pub(super) fn new(way: CertificateWay, parties: &Parties) -> Result<Self> {
        let Parties { certificates, client, server, .. } = parties;
        let [of_client, of_server] = Verifications::of_both();
        let client = Side { way, own: client, peer: server, verifications: of_client };
        let server = Side { way, own: server, peer: client.own, verifications: of_server };
        let caches = if way.caches() { Some(Caches::new()?) } else { None };
        let codecs = || caches.as_ref().map(Caches::codecs);

        let verifier = client.verifier()?;
        let configure = |sessions| -> Result<Checked<ClientConfig>> {
            let preparation = client.preparation(*certificates);
            let mut config = client_config(&preparation, sessions)?;
            config.verifier = verifier.clone();
            config.credentials = vec![credential(way, client.own)?];
            config.certificate_codecs =
                codecs().map_or_else(|| client.codecs(), |[it, _]| vec![it]);
            Ok(config.checked()?)
        };
        let serve = |side: &Side<'_>, codec| -> Result<Checked<ServerConfig>> {
            let mut config = server_config(&side.preparation(*certificates), &Stores::new(false)?)?;
            config.client_authentication = ClientAuthentication::Required(side.verifier()?);
            config.credentials = vec![credential(way, side.own)?];
            config.certificate_codecs = codec;
            if !way.resumes() {
                config.tickets = None;
            }
            Ok(config.checked()?)
        };
        let before = if way == CertificateWay::CachedMiss {
            let codec: Arc<dyn CertificateCodecFactory> = Caches::new()?.server;
            let own = parties.server_before()?;
            Some(serve(&Side { own, ..server }, vec![codec])?)
        } else {
            None
        };
        Ok(Self {
            way,
            client: configure(u8::from(way.resumes()))?,
            collector: configure(SESSIONS_AT_ONCE)?,
            server: serve(&server, codecs().map_or_else(|| server.codecs(), |[_, it]| vec![it]))?,
            before,
            sessions: VecDeque::new(),
            caches,
        })
    }

    /// The client's configuration for another client, which shares what it remembers.
    pub(super) fn client_of(&self, party: &Party) -> Result<Checked<ClientConfig>> {
        let mut config = (*self.client).clone();
        config.credentials = vec![credential(self.way, party)?];
        Ok(config.checked()?)
    }

    /// The server's configuration for another server, which shares what it remembers.
    pub(super) fn server_of(&self, party: &Party) -> Result<Checked<ServerConfig>> {
        let mut config = (*self.server).clone();
        config.credentials = vec![credential(self.way, party)?];
        Ok(config.checked()?)
    }

    /// The server that the client has been to before each connection of this way; with none it comes as it is.
    /// What both ends remember is as the way has it then.
    pub(super) fn begin(&self) -> Option<&Checked<ServerConfig>> {
        if self.way.is_cold() {
            self.forget();
        }
        self.before.as_ref()
    }

    /// Both ends forget certificates.
    pub(super) fn forget(&self) {
        if let Some(Caches { client, server }) = &self.caches {
            client.clear();
            server.clear();
        }
    }
}

impl Caches {
    fn new() -> Result<Self> {
        let provider = tessera_aws_lc::provider();
        let client = Arc::new(ClientCache::new(&provider)?);
        Ok(Self { client, server: Arc::new(ServerCache::new(&provider)?) })
    }

    /// The client's, and the server's.
    fn codecs(&self) -> [Arc<dyn CertificateCodecFactory>; 2] {
        [self.client.clone(), self.server.clone()]
    }
}

/// What an end shows in this way.
fn credential(way: CertificateWay, own: &Party) -> Result<Credential> {
    let key = SigningKey::from_pkcs8(&own.identity.private_key)?;
    let key = PrivateKey::Signs(Arc::new(key));
    Ok(match way {
        CertificateWay::RawKeys => Credential::raw_public_key(own.public_key.clone(), key),
        _ => Credential::new(own.chain.clone(), key),
    })
}

impl Side<'_> {
    fn preparation(&self, certificates: Certificates) -> Preparation {
        Preparation {
            suite: Some(SUITE),
            tickets: u8::from(self.way.resumes()),
            ..Preparation::new(self.way.way(certificates), self.own.identity.clone())
        }
    }

    /// Judges the peer.
    fn verifier(&self) -> Result<Arc<dyn PeerVerifier>> {
        let algorithms = self.verifications.algorithms;
        if self.way == CertificateWay::RawKeys {
            let (public_key, name) = (self.peer.public_key.clone(), self.peer.name.clone());
            let keys = vec![PinnedKey { public_key, name }];
            return Ok(Arc::new(PinnedKeyVerifier::with_algorithms(keys, algorithms)?));
        }
        let verifier = WebPkiVerifier::with_algorithms(&[&self.own.identity.root], algorithms)?;
        if !self.way.knows() {
            return Ok(Arc::new(verifier));
        }
        let store = ChainStore::new(&tessera_aws_lc::provider(), StoreBounds::default())?;
        Ok(Arc::new(KnownChains::new(verifier, &store)))
    }

    /// The codecs that remember nothing.
    fn codecs(&self) -> Vec<Arc<dyn CertificateCodecFactory>> {
        match self.way {
            CertificateWay::Zlib => vec![Arc::new(Zlib::default())],
            _ => Vec::new(),
        }
    }
}
