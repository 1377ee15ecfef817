//! Clients without tickets.

use super::*;

/// A client that doesn't take part chooses what follows its certificate.
#[test]
fn a_client_without_tickets_has_one_chain_and_none_that_is_long() {
    let mut public = Public::default();
    let peer = |leaf: u8, issuers: Vec<u8>| entry(std::vec![leaf; 500], &issuers, 0);
    public.learn(ChainHash([0; 32]), peer(0, Vec::new()));
    for at in 1..=200 {
        public.learn(ChainHash([at; 32]), peer(1, std::vec![at; 1000]));
        public.learn(ChainHash([at; 32]), peer(at, std::vec![at; 17_000]));
    }
    let kept: Vec<u8> = public.iter().map(|it| it.hash.0[0]).collect();
    assert_eq!(kept, [200, 0]);
}

#[test]
fn the_first_of_too_many_clients_without_tickets_leaves() {
    let mut public = Public::default();
    for at in 0..200 {
        let peer = entry(std::vec![at; 500], &[], 0);
        public.learn(ChainHash([at; 32]), peer);
    }
    let kept: Vec<u8> = public.iter().map(|it| it.hash.0[0]).collect();
    assert_eq!(kept, (200 - CLIENTS as u8..200).rev().collect::<Vec<_>>());
}

#[test]
fn of_the_clients_without_tickets_only_the_one_that_is_forgotten_leaves() {
    let cache = ServerCache::new(&tessera_aws_lc::provider()).expect("a cache");
    let clients = [1, 2, 3].map(|client| {
        let leaf = certificate(1, client);
        let peer = entry(leaf, &[], 0);
        cache.learn_public(ChainHash([client as u8; 32]), peer.clone());
        peer
    });
    cache.forget(&clients[1]);
    let left: Vec<u8> = cache.public(under(1)).iter().map(|it| it.hash.0[0]).collect();
    assert_eq!(left, [3, 1]);
}
