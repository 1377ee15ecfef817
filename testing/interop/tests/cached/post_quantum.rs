//! Chains of ML-DSA, which have 15 kB at either end, over TCP.

use std::fs;

use tessera::wire::NamedGroup;
use tessera_interop::{Caches, Client, Form, Listener, Pki, forms, to};
use tessera_test_peers::openssl;

use crate::World;

/// Both ends with three certificates of ML-DSA-65, of which the authority's own is one.
fn world() -> World {
    let pki = Pki::post_quantum();
    let (mut server, mut client) = (pki.post_quantum_server(), pki.post_quantum_client());
    for identity in [&mut server, &mut client] {
        identity.chain.push(pki.root());
    }
    World { pki, server, client, caches: Caches::new() }
}

#[test]
fn chains_of_ml_dsa_travel_once_over_tcp_also_after_a_hello_retry_request() {
    let world = world();
    let listener = Listener::new();
    for (known, retries) in [(false, false), (true, false), (true, true), (true, false)] {
        let (mut client_config, mut server_config) = (world.client(), world.server());
        // No compression: uncached chains must be sent whole.
        client_config.certificate_codecs.truncate(1);
        server_config.certificate_codecs.truncate(1);
        if retries {
            server_config.groups = vec![NamedGroup::SECP384R1];
        }
        let mut client = Client::start(&client_config, to(None), listener.address());
        let mut server = listener.serve(&server_config);
        while !(client.told.complete && server.told.complete) {
            client.step();
            server.step();
            assert_eq!((&client.told.error, &server.told.error), (&None, &None));
        }
        for facts in [client.facts(), server.facts()] {
            assert_eq!(facts.hello_retry, retries);
            let form = if known { Form::Hash } else { Form::Whole };
            assert_eq!(forms(facts), (form, form));
            for sent in [facts.own_certificate, facts.peer_certificate] {
                let length = sent.unwrap().len;
                assert!(if known { length == 44 } else { length > 15_000 }, "{length} B");
            }
        }
    }
}

#[test]
#[ignore = "needs OpenSSL 3.5 or later: make newer-peers"]
fn s_server_with_a_chain_of_ml_dsa_ignores_the_clients_cache_extension() {
    let world = world();
    let above = [&world.server.intermediate_file, &world.pki.ca_file];
    let above = above.map(|file| fs::read_to_string(file).unwrap()).concat();
    let chain = ["-cert_chain", &world.pki.directory.write("above.pem", above)];
    let strict = ["-Verify", "2", "-verify_return_error", "-CAfile", &world.pki.ca_file];
    let (mut server, address) =
        openssl::s_server(&[&world.server.arguments()[..], &chain, &strict].concat());
    for times in 0..3 {
        let mut end = world.connect(address);
        server.tell("from OpenSSL\n");
        end.hear("from OpenSSL").close();
        let came = end.facts().peer_certificate.unwrap();
        assert!(came.len > 15_000 && came.encoded_with.is_none(), "{came:?}");
        assert_eq!(world.caches.client.metrics().missed_another_chain, times);
    }
}
