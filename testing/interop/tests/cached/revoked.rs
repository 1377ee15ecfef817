//! Revocation of certificates that both ends have cached, and whose acceptance their verifiers remember.

use std::sync::Arc;

use tessera::Error;
use tessera::auth::PeerVerifier;
use tessera::handshake::ClientAuthentication;
use tessera::wire::AlertDescription;
use tessera_interop::{Client, Form, Listener, forms, to};
use tessera_webpki::{ChainStore, KnownChains, StoreBounds, UnknownStatus, WebPkiVerifier};

use crate::World;

/// The caches of both ends.
struct CachedWorld {
    world: World,
    at_client: ChainStore,
    at_server: ChainStore,
    /// A list that revokes nothing.
    empty: Vec<u8>,
}

impl CachedWorld {
    /// After a handshake in which both chains were cached.
    #[track_caller]
    fn new() -> Self {
        let store = || {
            let provider = tessera_aws_lc::provider();
            ChainStore::new(&provider, StoreBounds::default()).expect("it has SHA-256")
        };
        let world = World::new();
        let empty = world.pki.revocation_list(&[]);
        let this = Self { world, at_client: store(), at_server: store(), empty };
        assert_eq!(this.connect(&this.empty, &this.empty), Ok((Form::Whole, Form::Whole)));
        assert_eq!(this.connect(&this.empty, &this.empty), Ok((Form::Hash, Form::Hash)));
        assert_eq!((this.at_client.counts().hits, this.at_server.counts().hits), (1, 1));
        this
    }

    /// Returns a verifier with a revocation list, which remembers chains that it accepted.
    fn verifier(&self, store: &ChainStore, list: &[u8]) -> Arc<dyn PeerVerifier> {
        let verifier = WebPkiVerifier::new(&[self.world.pki.root()]).expect("a root");
        let verifier = verifier.with_crls(&[list], UnknownStatus::Accept).expect("a list");
        Arc::new(KnownChains::new(verifier, store))
    }

    /// Makes a connection with the list of either end; returns how the server saw both certificates travel, or the
    /// alert of one end and the form of the client's certificate.
    #[track_caller]
    fn connect(
        &self,
        at_client: &[u8],
        at_server: &[u8],
    ) -> Result<(Form, Form), (AlertDescription, Form)> {
        let (mut client, mut server) = (self.world.client(), self.world.server());
        client.verifier = self.verifier(&self.at_client, at_client);
        let verifier = self.verifier(&self.at_server, at_server);
        server.client_authentication = ClientAuthentication::Required(verifier);
        // No compression: uncached chains must be sent whole.
        client.certificate_codecs.truncate(1);
        server.certificate_codecs.truncate(1);
        let listener = Listener::new();
        let mut client = Client::start(&client, to(None), listener.address());
        let mut server = listener.serve(&server);
        loop {
            client.step();
            server.step();
            let errors = [&client.told.error, &server.told.error];
            if let Some(alert) = errors.into_iter().find_map(|error| match error {
                Some(Error::AlertReceived(alert)) => Some(*alert),
                _ => None,
            }) {
                return Err((alert, forms(client.facts()).0));
            }
            if client.told.complete && server.told.complete {
                return Ok(forms(server.facts()));
            }
        }
    }
}

#[test]
fn a_client_that_is_revoked_is_refused_although_its_chain_is_cached() {
    let ends = CachedWorld::new();
    let list = ends.world.pki.revocation_list(&ends.world.client.serials[..1]);
    for _ in 0..3 {
        // It is sent whole, so that the alert can name the reason.
        let refused = Err((AlertDescription::CERTIFICATE_REVOKED, Form::Whole));
        assert_eq!(ends.connect(&ends.empty, &list), refused);
    }
}

#[test]
fn a_server_whose_issuer_is_revoked_is_refused_although_its_chain_is_cached() {
    let ends = CachedWorld::new();
    let list = ends.world.pki.revocation_list(&ends.world.server.serials[1..]);
    for _ in 0..3 {
        let refused = Err((AlertDescription::CERTIFICATE_REVOKED, Form::Absent));
        assert_eq!(ends.connect(&list, &ends.empty), refused);
    }
}

/// A list that revokes another certificate is another policy: each chain is sent and verified whole once. A client has
/// no tickets under it either.
#[test]
fn chains_are_cached_again_after_others_were_revoked() {
    let ends = CachedWorld::new();
    let list = ends.world.pki.revocation_list(&[1_000_000]);
    assert_eq!(ends.connect(&ends.empty, &list), Ok((Form::Hash, Form::Whole)));
    assert_eq!(ends.connect(&list, &list), Ok((Form::Whole, Form::Whole)));
    assert_eq!(ends.connect(&list, &list), Ok((Form::Hash, Form::Hash)));
}

/// A newer list without further entries is the same policy: the chain is sent as a hash, and verified again.
#[test]
fn a_newer_list_has_cached_chains_checked_again() {
    let ends = CachedWorld::new();
    let newer = ends.world.pki.revocation_list(&[]);
    assert_ne!(newer, ends.empty);
    for hits in [1, 2] {
        assert_eq!(ends.connect(&newer, &newer), Ok((Form::Hash, Form::Hash)));
        assert_eq!((ends.at_client.counts().hits, ends.at_server.counts().hits), (hits, hits));
    }
}
