//! Ids for peers that know nothing of the extension, as stock TLS stacks do.

use std::sync::Arc;

use tessera::auth::{
    CertificateCodec, CertificateNotDecoded, Decoded, EncodedCertificate, HandshakeEnd, PeerOffer,
};
use tessera::wire::{CertificateCompressionAlgorithm as Id, ExtensionType};
use tessera_cache::{ClientCache, PublicIds, ServerCache};
use tessera_harness::Mode;

use crate::around::Around;
use crate::{Ends, in_hello};

/// The codec of a client with a cache and without the extension.
struct Stock(Box<dyn CertificateCodec>);

impl CertificateCodec for Stock {
    fn offers(&self) -> &[Id] {
        self.0.offers()
    }

    fn requested(&mut self, offer: PeerOffer<'_>) {
        self.0.requested(offer);
    }

    fn encode(&mut self, body: &[u8], offered: &[Id]) -> Option<EncodedCertificate> {
        self.0.encode(body, offered)
    }

    fn decode(
        &mut self,
        id: Id,
        encoded: &[u8],
        body: &mut [u8],
    ) -> Result<Decoded, CertificateNotDecoded> {
        self.0.decode(id, encoded, body)
    }

    fn is_what_was_sent(&self) -> bool {
        self.0.is_what_was_sent()
    }

    fn ended(&mut self, end: &HandshakeEnd<'_>) {
        self.0.ended(end);
    }
}

/// Ends that use public ids, or not; the client has no extension.
fn ends(client: PublicIds, server: PublicIds) -> Ends {
    let mut ends = Ends::new(Mode::Mutual);
    let provider = ends.scene.client.provider;
    let cache = ClientCache::new(&provider).expect("a cache").with_public_ids(client);
    ends.client = Arc::new(cache);
    let cache = ServerCache::new(&provider).expect("a cache").with_public_ids(server);
    let stock = |codec| Box::new(Stock(codec)) as _;
    ends.server = Arc::new(cache);
    ends.scene.client.certificate_codecs = vec![Arc::new(Around(ends.client.clone(), stock))];
    ends.scene.server.certificate_codecs = vec![ends.server.clone()];
    ends
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

#[test]
fn a_server_offers_a_stock_client_126_chains_at_most() {
    let public = PublicIds::ObserversRecogniseChains;
    let mut ends = ends(public, public);
    for at in 0..140u8 {
        ends.scene.client.credentials = vec![crate::chain(&[at; 800], &[b'j'; 600])];
        ends.connect();
    }
    // The one that was here first has left, the last is known.
    assert_eq!(ends.hits(), (true, true));
    ends.scene.client.credentials = vec![crate::chain(&[0; 800], &[b'j'; 600])];
    assert_eq!(ends.hits(), (true, false));
}
