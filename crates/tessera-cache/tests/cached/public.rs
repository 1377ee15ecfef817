//! Ids for peers that don't know the extension, like stock TLS stacks.

use std::sync::Arc;

use tessera::auth::{CertificateCodec, Credential, PrivateKey};
use tessera::wire::{AlertDescription, ExtensionType, HandshakeType, OpaqueExtension};
use tessera_cache::{ClientCache, PublicIds, ServerCache};
use tessera_harness::{ChangedCodecs, CodecChange, Mode};

use crate::attacks::Forger;
use crate::{Ends, alert, in_hello};

/// A client with a cache and without the extension.
struct Stock;

impl CodecChange for Stock {
    fn extensions<'a>(
        &self,
        _: &'a dyn CertificateCodec,
        _: HandshakeType,
    ) -> &'a [OpaqueExtension] {
        &[]
    }
}

/// Makes ends that use public ids, or not; the client has no extension.
pub(crate) fn ends(client: PublicIds, server: PublicIds) -> Ends {
    let mut ends = Ends::new(Mode::Mutual);
    use_public_ids(&mut ends, client, server);
    ends
}

/// Gives both ends new caches with these settings.
pub(crate) fn use_public_ids(ends: &mut Ends, client: PublicIds, server: PublicIds) {
    let provider = ends.scene.client.provider;
    let cache = ClientCache::new(&provider).expect("a cache").with_public_ids(client);
    ends.client = Arc::new(cache);
    let cache = ServerCache::new(&provider).expect("a cache").with_public_ids(server);
    ends.server = Arc::new(cache);
    let stock = ChangedCodecs { factory: ends.client.clone(), change: || Stock };
    ends.scene.client.certificate_codecs = vec![Arc::new(stock)];
    ends.scene.server.certificate_codecs = vec![ends.server.clone()];
}

#[test]
fn stock_peers_are_served_where_both_ends_opted_in() {
    let public = PublicIds::ObserversRecogniseChains;
    let both = ends(public, public);
    assert_eq!(both.hits(), (false, false));
    let pair = both.connect();
    assert_eq!(in_hello(&pair, ExtensionType::CACHED_CERTIFICATES), None);
    assert_eq!(both.hits(), (true, true));
    let server = both.server.metrics();
    assert_eq!((server.received_cached, server.sent_cached), (2, 2));
}

#[test]
fn stock_peers_get_whole_chains_where_an_end_did_not_opt_in() {
    let public = PublicIds::ObserversRecogniseChains;
    for ends in [ends(public, PublicIds::Never), ends(PublicIds::Never, public)] {
        assert_eq!(ends.hits(), (false, false));
        assert_eq!(ends.hits(), (false, false));
    }
}

/// The chain is public, and with it the right answer to its id.
#[test]
fn copying_a_stock_clients_chain_costs_that_client_nothing() {
    let public = PublicIds::ObserversRecogniseChains;
    let mut ends = ends(public, public);
    ends.connect();
    let own = ends.scene.client.credentials.clone();
    let forger = PrivateKey::Signs(Arc::new(Forger));
    ends.scene.client.credentials =
        vec![Credential::new([vec![b'c'; 800], vec![b'j'; 600]].into(), forger)];
    let mut pair = ends.start();
    pair.run();
    assert_eq!(alert(&pair.to_server.error), Some(AlertDescription::DECRYPT_ERROR));
    ends.scene.client.credentials = own;
    assert!(ends.hits().1);
}

#[test]
fn a_server_offers_a_stock_client_126_chains_at_most() {
    let public = PublicIds::ObserversRecogniseChains;
    let mut ends = ends(public, public);
    for at in 0..140u8 {
        ends.scene.client.credentials = vec![crate::chain(&[at; 800], &[b'j'; 600])];
        ends.connect();
    }
    // The first one was evicted, the last is known.
    assert_eq!(ends.hits(), (true, true));
    ends.scene.client.credentials = vec![crate::chain(&[0; 800], &[b'j'; 600])];
    assert_eq!(ends.hits(), (true, false));
}
