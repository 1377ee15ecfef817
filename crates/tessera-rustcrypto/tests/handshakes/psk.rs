//! With an external PSK: the smallest image.

use std::sync::Arc;

use tessera::resume::{ExternalPsk, PskKind};
use tessera::wire::{CipherSuite, NamedGroup};
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_harness::{Pair, at};
use tessera_pki::Authority;
use tessera_webpki::WebPkiVerifier;

use crate::{complete, provider};

#[test]
fn both_roles_agree_with_aws_lc_under_an_external_psk() {
    for ours_is_client in [true, false] {
        let (ours, theirs) = (provider(), tessera_aws_lc::provider());
        let (client, server) = if ours_is_client { (ours, theirs) } else { (theirs, ours) };
        let psk = ExternalPsk::new(
            b"device".to_vec(),
            vec![7; 32].into(),
            CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
        );
        let unused = WebPkiVerifier::new(&[Authority::new("root").der()]).unwrap();
        let mut client = ClientConfig::new(client, Arc::new(unused));
        client.suites = vec![CipherSuite::TLS_CHACHA20_POLY1305_SHA256];
        client.groups = vec![NamedGroup::X25519];
        let mut server = ServerConfig::new(server, Vec::new());
        server.external_psks = vec![psk.clone()];
        let destination = Destination {
            server_name: "server.example".into(),
            external_psks: vec![psk],
            ..Default::default()
        };
        let mut pair = Pair::start(&client, &server, destination, at(0)).unwrap();
        complete(&mut pair);
        assert_eq!(pair.client.facts().psk, Some(PskKind::External));
        assert_eq!(pair.client.facts().group, Some(NamedGroup::X25519));
    }
}
