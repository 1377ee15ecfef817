//! Two ends with caches.

use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera::handshake::CertificateTransfer;
use tessera::wire::ExtensionType;
use tessera_cache::{ClientCache, Metrics, ServerCache};
use tessera_harness::{Hello, Mode, Pair, Scene, records};
use tessera_null_provider::NullSigner;

/// Two ends with a cache each.
pub(crate) struct Ends {
    pub(crate) scene: Scene,
    pub(crate) client: Arc<ClientCache>,
    pub(crate) server: Arc<ServerCache>,
}

impl Ends {
    pub(crate) fn new(mode: Mode) -> Self {
        let provider = tessera_aws_lc::provider();
        let client = Arc::new(ClientCache::new(&provider).expect("a cache"));
        let server = Arc::new(ServerCache::new(&provider).expect("a cache"));
        let mut scene = Scene::new(provider, mode);
        scene.server.credentials = vec![chain(&[b's'; 900], &[b'i'; 700])];
        if mode != Mode::Full {
            scene.client.credentials = vec![chain(&[b'c'; 800], &[b'j'; 600])];
        }
        scene.client.certificate_codecs = vec![client.clone()];
        scene.server.certificate_codecs = vec![server.clone()];
        Self { scene, client, server }
    }

    /// A connection that works.
    pub(crate) fn connect(&self) -> Pair {
        let mut pair = self.scene.start(None, tessera_harness::at(0));
        pair.run();
        works(&pair);
        pair
    }

    /// Connects, and says whether the server's and the client's chain came as hashes.
    pub(crate) fn hits(&self) -> (bool, bool) {
        let pair = self.connect();
        let came = |transfer: Option<CertificateTransfer>| {
            transfer.is_some_and(|it| it.encoded_with.is_some())
        };
        (came(pair.client.facts().peer_certificate), came(pair.server.facts().peer_certificate))
    }

    pub(crate) fn metrics(&self) -> (Metrics, Metrics) {
        (self.client.metrics(), self.server.metrics())
    }
}

/// A chain of something that is no certificate.
pub(crate) fn chain(leaf: &[u8], issuer: &[u8]) -> Credential {
    let key = PrivateKey::Signs(Arc::new(NullSigner));
    Credential::new(vec![leaf.to_vec(), issuer.to_vec()], key)
}

pub(crate) fn works(pair: &Pair) {
    let errors = (&pair.to_client.error, &pair.to_server.error);
    assert!(pair.to_client.complete && pair.to_server.complete, "{errors:?}");
}

/// What the first ClientHello has as an extension.
pub(crate) fn in_hello(pair: &Pair, typ: ExtensionType) -> Option<Vec<u8>> {
    let sent = match pair.client_output.as_slice() {
        [] => &pair.client_sent[..],
        waiting => waiting,
    };
    Hello::read(&records(sent)[0][5..]).extension(typ).cloned()
}
