//! Shares of a cache: the clients of one authority evict only each other.

use super::*;

#[test]
fn an_authoritys_clients_evict_only_each_other() {
    let mut store = store(100, 1 << 20);
    let honest: Vec<_> = (0..50).map(|client| learn(&mut store, 1, client, &[])).collect();
    // An attacker with ten thousand certificates of another authority.
    let other: Vec<_> = (0..10_000).map(|client| learn(&mut store, 2, client, &[])).collect();
    assert!(honest.iter().all(|[ticket, _]| is_known(&mut store, *ticket, 1)));
    let known = other.iter().filter(|[ticket, _]| is_known(&mut store, *ticket, 1)).count();
    assert_eq!(known, 50);
    assert_eq!(store.metrics().evicted, 9950);
}

#[test]
fn an_authority_gets_back_what_others_used_of_its_part() {
    let mut store = store(100, 1 << 20);
    let filled: Vec<_> = (0..100).map(|client| learn(&mut store, 2, client, &[])).collect();
    let late: Vec<_> = (0..50).map(|client| learn(&mut store, 1, client, &[])).collect();
    assert!(late.iter().all(|[ticket, _]| is_known(&mut store, *ticket, 1)));
    let known = filled.iter().filter(|[ticket, _]| is_known(&mut store, *ticket, 1)).count();
    assert_eq!(known, 50);
}

/// It came with a new authority's first client, which must not be the one to leave.
#[test]
fn a_long_list_of_issuers_makes_room_in_the_largest_share() {
    let mut store = store(1000, 10_000);
    for client in 0..100 {
        learn(&mut store, 1, client, &[]);
    }
    let [ticket, _] = learn(&mut store, 2, 1, &[7; 6000]);
    assert!(is_known(&mut store, ticket, 1));
}

/// As many authorities as there are shares were here once, and left.
#[test]
fn authorities_that_left_keep_no_part() {
    let mut store = store(2, 1 << 20);
    for client in 0..600u32 {
        let name = client.to_be_bytes();
        let share = store.shares.of(&name[2..]);
        let peer = entry(name.to_vec(), &[], share);
        store.learn(&peer, &[[1; 10], [2; 10]].map(Ticket::new), false);
    }
    let parts = [b"one", b"two"].map(|name| {
        let share = store.shares.of(name);
        let peer = entry(name.to_vec(), &[], share);
        store.learn(&peer, &[[1; 10], [2; 10]].map(Ticket::new), false);
        share
    });
    assert_ne!(parts[0], parts[1]);
}

/// A connection that began before an import may end after it: its client can be evicted like others.
#[test]
fn a_client_whose_part_is_gone_leaves_as_others_do() {
    let mut store = store(2, 1 << 20);
    let mut last = [Ticket::new([0; 10]); 2];
    for client in 1..6 {
        let peer = entry(certificate(1, client), &[], 99);
        last = [client as u8, client as u8 + 100].map(|it| Ticket::new([it; 10]));
        store.learn(&peer, &last, false);
    }
    assert_eq!((store.metrics().entries, store.metrics().evicted), (2, 3));
    assert!(is_known(&mut store, last[0], 1));
    // What takes its place counts on.
    let mut imported = self::store(2, 1 << 20);
    imported.metrics.evicted = 4;
    drop(store.replace(imported));
    assert_eq!((store.metrics().entries, store.metrics().evicted), (0, 7));
}

/// What is kept of it may be a hash, so the share follows from what it presented.
#[test]
fn a_certificate_selects_the_share_of_its_authority() {
    let cache = ServerCache::new(&tessera_aws_lc::provider()).expect("a cache");
    let share_of = |authority, client| {
        let leaf = certificate(authority, client);
        let entry = [&[0, 0, leaf.len() as u8][..], &leaf, &[0, 0]].concat();
        let body = [&[0, 0, 0, entry.len() as u8][..], &entry].concat();
        let contents = CertificateContents::Body(body);
        cache.share_of(&PeerCertificate::new(CertificateType::X509, contents))
    };
    assert_eq!(share_of(1, 1), share_of(1, 2));
    assert_ne!(share_of(1, 1), share_of(2, 1));
}

/// A connection identifies its client's share by a number, which may belong to another authority at its end.
#[test]
fn a_client_that_left_meanwhile_comes_back_to_its_own_authoritys_part() {
    let cache = ServerCache::new(&tessera_aws_lc::provider()).expect("a cache");
    let named = |name: u16| {
        let issuer = [&[0x30, 2][..], &name.to_be_bytes()].concat();
        let fields = [&[2, 1, 1, 0x30, 0][..], &issuer].concat();
        let body = [&[0x30, fields.len() as u8][..], &fields].concat();
        [&[0x30, body.len() as u8][..], &body].concat()
    };
    let come = |name: u16| {
        let share = cache.peers.store.lock().share_of(&named(name));
        let peer = entry(named(name), &[], share);
        cache.learn(&peer, &[], false);
        peer
    };
    let entries = |name: u16| {
        let mut store = cache.peers.store.lock();
        let share = store.share_of(&named(name)) as usize;
        store.shares.iter().nth(share).map(|it| it.entries)
    };
    // As many authorities as there are shares.
    let found = (0..256).map(come).last().expect("a client");
    // It leaves before its handshake is complete, and another authority takes its place.
    cache.forget(&found);
    come(300);
    assert_eq!(entries(300), Some(1));
    cache.forget(&(0..1).map(come).last().expect("another"));
    cache.learn(&found, &[], false);
    assert_eq!((entries(300), entries(255)), (Some(1), Some(1)));
}
