//! Data of earlier versions in files and stores, read by this version.
//!
//! `old/` has the data, one folder per version, with how it was made. The tests open all of it.
#![allow(clippy::unwrap_used, reason = "it is for tests alone")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tessera::auth::Credential;
use tessera::resume::TicketKeys;
use tessera_aws_lc::provider;
use tessera_cache::{ClientCache, ServerCache};
use tessera_harness::{Mode, Scene, at};
use tessera_vault::{EpochKey, WrappingKeys, WrappingPurpose};

/// When the files were made, since the Unix epoch: the harness's beginning of time.
pub const NOW: Duration = Duration::from_secs(1_800_000_000);

/// Returns the folder of a version's files.
pub fn of_version(version: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("old").join(version)
}

/// Returns the keys that wrap what leaves a process; they are not part of the files.
pub fn wrapping_keys(purpose: WrappingPurpose) -> WrappingKeys {
    let keys = WrappingKeys::new(&provider(), purpose);
    keys.add(EpochKey::forever([1; 16], [7; 32].into()), NOW).unwrap();
    keys
}

/// Returns a client with a certificate and a server that asks for it, with forward-secret early data, AWS-LC's
/// primitives and signatures of the null provider.
pub fn scene(keys: Arc<dyn TicketKeys>) -> Scene {
    let mut scene = Scene::new(provider(), Mode::FsDhe);
    let mutual = Scene::new(provider(), Mode::Mutual);
    scene.server.client_authentication = mutual.server.client_authentication;
    scene.client.credentials = vec![Credential::clone(&mutual.client.credentials[0])];
    scene.server.tickets = Some(keys);
    scene
}

/// Two ends that cache each other's certificates.
pub struct Caches {
    /// The client's.
    pub client: Arc<ClientCache>,
    /// The server's.
    pub server: Arc<ServerCache>,
}

impl Caches {
    /// Creates empty caches.
    pub fn empty() -> Self {
        let client = Arc::new(ClientCache::new(&provider()).unwrap());
        let server = Arc::new(ServerCache::new(&provider()).unwrap());
        Self { client, server }
    }

    /// Connects them; returns whether the client's certificate and the server's travelled as hashes.
    pub fn connect(&self) -> (bool, bool) {
        let mut scene = Scene::new(provider(), Mode::Mutual);
        scene.client.certificate_codecs = vec![self.client.clone()];
        scene.server.certificate_codecs = vec![self.server.clone()];
        let mut pair = scene.start(None, at(0));
        pair.run();
        assert!(pair.to_client.complete && pair.to_server.complete);
        let facts = pair.server.facts();
        let [client, server] = [facts.peer_certificate, facts.own_certificate].map(Option::unwrap);
        (client.encoded_with.is_some(), server.encoded_with.is_some())
    }
}
