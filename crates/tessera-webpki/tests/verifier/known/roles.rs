//! Purposes that differ only in their role.

use tessera::wire::AlertDescription;
use tessera_webpki::{KnownChains, WebPkiVerifier};

use super::{assert_judged_whole, assert_known, assert_refused, store, trusting};
use crate::pki::{Peer, client_params, root, server_params};

/// A verifier that leaves servers' names to a wrapper identifies servers like clients, by all of their names.
#[test]
fn a_chain_is_known_in_its_role_alone_where_servers_names_are_a_wrappers() {
    let (root, store) = (root("root"), store());
    let verifier = WebPkiVerifier::new(&[root.der()]).unwrap().leaving_server_names_to_a_wrapper();
    let verifier = KnownChains::new(verifier, &store);
    let client = Peer::new(&client_params(&["client.example"]), &root);
    let server = Peer::new(&server_params(), &root);
    for (good, bad) in
        [(client.as_client(), client.as_server()), (server.as_server(), server.as_client())]
    {
        assert_judged_whole(&verifier, &store, &good);
        assert_known(&verifier, &store, &good);
        let alert = AlertDescription::UNSUPPORTED_CERTIFICATE;
        assert_refused(&verifier, &store, &bad, alert);
        assert!(verifier.verify_without_names(&bad).is_err());
    }
}

/// Its record has no identity.
#[test]
fn a_client_that_was_judged_without_names_is_judged_whole_with_them() {
    let (root, store) = (root("root"), store());
    let verifier = trusting(&root, &store);
    let client = Peer::new(&client_params(&["client.example"]), &root).as_client();
    for hits in [0, 1] {
        verifier.verify_without_names(&client).unwrap();
        assert_eq!(store.counts().hits, hits);
    }
    assert_judged_whole(&verifier, &store, &client);
    assert_known(&verifier, &store, &client);
}
