//! Evictions from a full store.

use std::sync::Arc;
use std::vec::Vec;

use tessera::auth::{CertificateContents, PeerCertificate, VerifierDigest};
use tessera::wire::{CertificateCompressionAlgorithm as Id, CertificateType};

use super::extras::LIVE;
use super::index::END;
use super::public::{CLIENTS, Public};
use super::store::{AcceptanceConditions, ClientEntry, ExportProgress, MOST, Store};
use super::{ServerCache, ServerLimits};
use crate::bytes::Bytes;
use crate::chain::Chain;
use crate::chain_hash::ChainHash;
use crate::form::Form;
use crate::ids::Ticket;
use crate::miss_reason::MissReason;
use crate::written::CacheKind;

pub(super) const NOW: u64 = 1_800_000_000;

pub(super) fn store(clients: usize, bytes: usize) -> Store {
    let limits = ServerLimits { clients, bytes };
    Store::new(tessera_aws_lc::provider().random, limits).expect("random numbers")
}

pub(super) fn under(server: u8) -> AcceptanceConditions {
    AcceptanceConditions { server: [server; 16], policy: None }
}

/// Makes a certificate of this authority, with only the parts that are read.
pub(super) fn certificate(authority: u8, client: u32) -> Vec<u8> {
    let issuer = [0x30, 1, authority];
    let fields = [&[2, 1, 1, 0x30, 0][..], &issuer].concat();
    let body = [&[0x30, fields.len() as u8][..], &fields, &client.to_be_bytes()].concat();
    [&[0x30, body.len() as u8][..], &body].concat()
}

/// Learns a client and returns its tickets.
pub(super) fn learn(store: &mut Store, authority: u8, client: u32, issuers: &[u8]) -> [Ticket; 2] {
    learn_at(store, authority, client, issuers, 1)
}

fn learn_at(
    store: &mut Store,
    authority: u8,
    client: u32,
    issuers: &[u8],
    server: u8,
) -> [Ticket; 2] {
    let leaf = certificate(authority, client);
    let share = store.share_of(&leaf);
    let chain = Chain::new(CertificateType::X509, leaf, Arc::from(issuers)).expect("a chain");
    let form = Form::Whole(Arc::new(chain));
    let peer = ClientEntry { form, under: under(server), identity: 0, share };
    let mut random = [[0; Ticket::DERIVED]; 2];
    let provider = tessera_aws_lc::provider();
    random.iter_mut().for_each(|it| provider.random.fill(it).expect("random numbers"));
    let tickets = random.map(Ticket::new);
    store.learn(&peer, &tickets, false);
    tickets
}

fn is_known(store: &mut Store, ticket: Ticket, server: u8) -> bool {
    let found = store.take(&[ticket.bytes, [0; 8]], under(server), NOW, |_| true);
    let found = found.ok();
    assert!(found.as_ref().is_none_or(|found| found.id == ticket.id));
    found.is_some()
}

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

/// An attacker with a copy could present it at a listener of the same name with another policy.
#[test]
fn a_ticket_that_is_shown_under_another_policy_costs_its_client_nothing() {
    let mut store = store(100, 1 << 20);
    let [ticket, spare] = learn(&mut store, 1, 1, &[]);
    let other = AcceptanceConditions { policy: Some(VerifierDigest([1; 32])), ..under(1) };
    let found = store.take(&[ticket.bytes, spare.bytes], other, NOW, |_| true);
    assert_eq!(found.err(), Some(MissReason::Policy));
    let metrics = store.metrics();
    assert_eq!((metrics.missed_policy, metrics.missed_unknown_ticket, metrics.entries), (1, 0, 1));
    assert!(is_known(&mut store, ticket, 1) && is_known(&mut store, spare, 1));
}

#[test]
fn a_client_that_is_forgotten_leaves_with_its_tickets_and_nobody_else() {
    let mut store = store(100, 1 << 20);
    let [ticket, spare] = learn(&mut store, 1, 1, b"issuers");
    let [at_another_server, _] = learn_at(&mut store, 1, 1, b"issuers", 2);
    let [of_another, _] = learn(&mut store, 1, 2, b"issuers");
    let found = store.take(&[ticket.bytes], under(1), NOW, |_| true);
    let found = found.expect("a client");
    store.forget(&found.peer);
    assert!(!is_known(&mut store, spare, 1));
    assert!(is_known(&mut store, at_another_server, 2) && is_known(&mut store, of_another, 1));
    // Forgotten, once.
    store.forget(&found.peer);
    assert_eq!(store.metrics().entries, 2);
}

#[test]
fn the_client_that_was_not_used_for_longest_leaves() {
    let mut store = store(3, 1 << 20);
    let [a, b, c] = [0, 1, 2].map(|client| learn(&mut store, 1, client, &[]));
    assert!(is_known(&mut store, a[0], 1));
    let d = learn(&mut store, 1, 3, &[]);
    assert!(!is_known(&mut store, b[0], 1));
    for ticket in [a[1], c[0], d[0]] {
        assert!(is_known(&mut store, ticket, 1));
    }
}

/// The limit in bytes includes everything besides the leaf.
#[test]
fn a_store_has_no_more_bytes_than_it_may() {
    let mut store = store(1000, 10_000);
    for client in 0..100 {
        learn(&mut store, 1, client, &[client as u8; 1000]);
        assert!(store.metrics().bytes <= 10_000);
    }
    let entries = store.metrics().entries;
    assert!((5..10).contains(&entries), "{entries}");
    // Without tickets, too.
    let chain = Chain::new(CertificateType::X509, certificate(1, 999), Arc::from([9; 3000]));
    let form = Form::Whole(Arc::new(chain.expect("a chain")));
    store.learn(&ClientEntry { form, under: under(1), identity: 0, share: 0 }, &[], false);
    let metrics = store.metrics();
    assert!(metrics.bytes <= 10_000, "{}", metrics.bytes);
    assert!(metrics.entries < entries);
    let entries = metrics.entries;
    // A client too large by itself is not stored, and evicts no other.
    learn(&mut store, 1, 1000, &[7; 10_000]);
    assert_eq!(store.metrics().entries, entries);
}

#[test]
fn a_leaf_has_eight_tickets_at_most_wherever_it_was_shown() {
    // With other issuers each time, only the last tickets of each server are left.
    for (issuers, live) in [([0; 10], 8), ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 4)] {
        let mut store = store(10, 1 << 20);
        let mut tickets = Vec::new();
        for issuer in issuers {
            for server in [1, 2] {
                let learned = learn_at(&mut store, 1, 1, &[issuer], server);
                tickets.extend(learned.map(|it| (it, server)));
            }
        }
        assert_eq!(store.metrics().entries, 2);
        tickets.retain(|(ticket, server)| is_known(&mut store, *ticket, *server));
        assert_eq!(tickets.len(), live, "{issuers:?}");
    }
}

#[test]
fn a_leaf_with_eight_tickets_loses_those_of_its_other_server_first() {
    let mut store = store(10, 1 << 20);
    let known = |store: &mut Store, server| {
        let learned: Vec<_> = (0..4).flat_map(|_| learn_at(store, 1, 1, &[], server)).collect();
        move |store: &mut Store| {
            learned.iter().filter(|ticket| is_known(store, **ticket, server)).count()
        }
    };
    let (earlier, later) = (known(&mut store, 1), known(&mut store, 2));
    assert_eq!((earlier(&mut store), later(&mut store)), (0, 8));
}

#[test]
fn a_leaf_is_kept_for_two_servers_at_most() {
    let mut store = store(10, 1 << 20);
    for server in 1..=4 {
        learn_at(&mut store, 1, 1, &[], server);
    }
    assert_eq!(store.metrics().entries, 2);
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

#[test]
fn only_a_client_that_showed_one_of_two_tickets_loses_the_other() {
    let learned = |rounds: usize, presented: bool| {
        let mut store = store(10, 1 << 20);
        let tickets: Vec<_> = (0..rounds).flat_map(|_| learn(&mut store, 1, 1, &[])).collect();
        let found = store.take(&[tickets[0].bytes], under(1), NOW, |_| true).ok();
        let found = found.expect("a client").peer;
        store.learn(&found, &[[1; 10], [2; 10]].map(Ticket::new), presented);
        tickets.into_iter().filter(|ticket| is_known(&mut store, *ticket, 1)).count()
    };
    assert_eq!((learned(1, true), learned(1, false)), (0, 1));
    // With more than two, as concurrent connections leave them, none is known to be of no use.
    assert_eq!((learned(2, true), learned(2, false)), (3, 3));
}

#[test]
fn the_oldest_of_a_clients_tickets_leaves_first() {
    let mut store = store(10, 1 << 20);
    let tickets: Vec<_> = (0..6).flat_map(|_| learn(&mut store, 1, 1, &[])).collect();
    let known: Vec<_> = tickets.iter().map(|ticket| is_known(&mut store, *ticket, 1)).collect();
    assert_eq!(known.iter().filter(|known| **known).count(), 8);
    assert!(known[4..].iter().all(|known| *known), "{known:?}");
}

#[test]
fn nothing_is_left_of_clients_that_left() {
    let mut store = store(50, 1 << 20);
    for round in 0..20u32 {
        for client in 0..100 {
            learn(&mut store, (client % 3) as u8, round * 7 + client, &[round as u8]);
        }
    }
    store.retain(|_| false);
    let metrics = store.metrics();
    assert_eq!((metrics.entries, metrics.bytes, store.tickets.len()), (0, 0, 0));
    let ticket = learn(&mut store, 1, 1, &[])[0];
    assert!(is_known(&mut store, ticket, 1));
}

/// Clients with concurrent connections take more, without any new client.
#[test]
fn tickets_beyond_two_are_within_the_bytes_too() {
    let mut store = store(1000, 3000);
    for round in 0..4 {
        for client in 0..30 {
            learn(&mut store, 1, client, &[]);
            assert!(store.metrics().bytes <= 3000, "{round}: {}", store.metrics().bytes);
        }
    }
}

#[test]
fn a_group_that_ends_to_make_room_is_counted_again() {
    let mut store = store(1000, 4000);
    let long = |client: u32| {
        let mut leaf = certificate(1, client);
        leaf.resize(1800, 0);
        leaf.extend_from_slice(&client.to_be_bytes());
        leaf
    };
    learn(&mut store, 1, 1, &[7; 2000]);
    for client in 2..9 {
        let form = Chain::new(CertificateType::X509, long(client), Arc::from([7; 2000]));
        let form = Form::Whole(Arc::new(form.expect("a chain")));
        let peer = ClientEntry { form, under: under(1), identity: 0, share: 0 };
        store.learn(&peer, &[1, 2].map(|it| Ticket::new([it; 10])), false);
        assert!(store.metrics().bytes <= 4000, "{}", store.metrics().bytes);
    }
}

/// The numbers that order tickets wrap around.
#[test]
fn the_oldest_ticket_leaves_first_after_any_number_of_them() {
    let mut store = store(10, 1 << 20);
    for _ in 0..4 {
        learn(&mut store, 1, 1, &[]);
    }
    let extra = store.extras.of(0);
    let ahead = u32::MAX - 2 - extra.next;
    extra.next += ahead;
    extra.came.iter_mut().for_each(|came| *came += ahead);
    let tickets: Vec<_> = (0..6).flat_map(|_| learn(&mut store, 1, 1, &[])).collect();
    let known: Vec<_> = tickets.iter().map(|ticket| is_known(&mut store, *ticket, 1)).collect();
    assert_eq!(known, [[false; 4].as_slice(), &[true; 8]].concat());
}

/// As many authorities as there are shares were here once, and left.
#[test]
fn authorities_that_left_keep_no_part() {
    let mut store = store(2, 1 << 20);
    for client in 0..600u32 {
        let name = client.to_be_bytes();
        let share = store.shares.of(&name[2..]);
        let chain = Chain::new(CertificateType::X509, name.to_vec(), Arc::from([]));
        let form = Form::Whole(Arc::new(chain.expect("a chain")));
        let peer = ClientEntry { form, under: under(1), identity: 0, share };
        store.learn(&peer, &[[1; 10], [2; 10]].map(Ticket::new), false);
    }
    let parts = [b"one", b"two"].map(|name| {
        let share = store.shares.of(name);
        let leaf = Chain::new(CertificateType::X509, name.to_vec(), Arc::from([]));
        let form = Form::Whole(Arc::new(leaf.expect("a chain")));
        let peer = ClientEntry { form, under: under(1), identity: 0, share };
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
        let chain = Chain::new(CertificateType::X509, certificate(1, client), Arc::from([]));
        let form = Form::Whole(Arc::new(chain.expect("a chain")));
        let peer = ClientEntry { form, under: under(1), identity: 0, share: 99 };
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

/// A client that doesn't take part chooses what follows its certificate.
#[test]
fn a_client_without_tickets_has_one_chain_and_none_that_is_long() {
    let mut public = Public::default();
    let peer = |leaf: u8, issuers: Vec<u8>| {
        let chain = Chain::new(CertificateType::X509, std::vec![leaf; 500], issuers.into());
        let form = Form::Whole(Arc::new(chain.expect("a chain")));
        ClientEntry { form, under: under(1), identity: 0, share: 0 }
    };
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
        let chain = Chain::new(CertificateType::X509, std::vec![at; 500], Arc::from([]));
        let form = Form::Whole(Arc::new(chain.expect("a chain")));
        let peer = ClientEntry { form, under: under(1), identity: 0, share: 0 };
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
        let chain = Chain::new(CertificateType::X509, leaf, Arc::from([])).expect("a chain");
        let form = Form::Whole(Arc::new(chain));
        let peer = ClientEntry { form, under: under(1), identity: 0, share: 0 };
        cache.learn_public(ChainHash([client as u8; 32]), peer.clone());
        peer
    });
    cache.forget(&clients[1]);
    let left: Vec<u8> = cache.public(under(1)).iter().map(|it| it.hash.0[0]).collect();
    assert_eq!(left, [3, 1]);
}

#[test]
fn a_fleet_ticket_is_taken_for_a_month() {
    assert_eq!(ServerCache::FLEET_TICKET_AGE.as_secs(), 2_592_000);
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

/// Its number would not fit into the index.
#[test]
fn a_store_has_no_more_clients_than_it_can_number() {
    assert!(MOST * LIVE <= END as usize && (MOST + 1) * LIVE > END as usize);
    let limits = ServerLimits { clients: usize::MAX, bytes: 1 << 20 };
    let mut store = store(1, 1);
    store.limit(limits);
    assert_eq!((store.limits.clients, store.limits.bytes), (MOST, 1 << 20));
}

#[test]
fn an_expired_certificate_is_not_offered() {
    let mut store = store(10, 1 << 20);
    let leaf = {
        let time = |year: &str| [&[23, 13][..], year.as_bytes(), b"0101000000Z"].concat();
        let validity = [time("20"), time("21")].concat();
        let fields =
            [&[2, 1, 1, 0x30, 0, 0x30, 0, 0x30, validity.len() as u8][..], &validity].concat();
        let body = [&[0x30, fields.len() as u8][..], &fields].concat();
        [&[0x30, body.len() as u8][..], &body].concat()
    };
    let share = store.share_of(&leaf);
    let chain = Chain::new(CertificateType::X509, leaf, Arc::from([])).expect("a chain");
    let form = Form::Whole(Arc::new(chain));
    let peer = ClientEntry { form, under: under(1), identity: 0, share };
    let ticket = Ticket { bytes: [7; 8], id: Id(0xc001) };
    store.learn(&peer, &[ticket, Ticket { bytes: [8; 8], ..ticket }], false);
    let in_2020 = store.take(&[[7; 8], [0; 8]], under(1), 1_600_000_000, |_| true);
    assert!(in_2020.is_ok());
    assert!(!is_known(&mut store, Ticket { bytes: [8; 8], ..ticket }, 1));
    let metrics = store.metrics();
    assert_eq!((metrics.missed_expired, metrics.entries), (1, 0));
}

/// Clients come and leave meanwhile, so that numbers of clients and lists are reused.
#[test]
fn what_is_written_in_pieces_has_all_that_stayed_and_can_be_read() {
    let limits = ServerLimits { clients: 10_000, bytes: 10 << 20 };
    let mut store = store(limits.clients, limits.bytes);
    let issuers = |client: u32| [[1; 40], [2; 40], [3; 40]][client as usize % 3];
    let learned: Vec<_> =
        (0..3000).map(|client| learn(&mut store, 1, client, &issuers(client))).collect();
    let mut out = Vec::new();
    let mut writing = store.begin_to_write(&mut out, false);
    assert_eq!(store.write_more(&mut writing, &mut out), ExportProgress::InPart);
    // All clients with one list leave, before and after what is written.
    for ticket in learned.iter().step_by(3).map(|[ticket, _]| ticket.bytes) {
        let found = store.take(&[ticket], under(1), NOW, |_| true).ok();
        store.forget(&found.expect("a client").peer);
    }
    for client in 3000..4000 {
        learn(&mut store, 2, client, &[4; 40]);
    }
    while store.write_more(&mut writing, &mut out) == ExportProgress::InPart {}
    let mut read =
        Store::read(limits, CacheKind::Clients.version(), Bytes(&out)).expect("what was written");
    let stayed = learned.iter().enumerate().filter(|(client, _)| client % 3 != 0);
    for (client, [ticket, _]) in stayed {
        let found = read.take(&[ticket.bytes], under(1), NOW, |_| true).ok();
        let Some(Form::Whole(chain)) = found.map(|found| found.peer.form) else {
            panic!("{client} is gone")
        };
        assert_eq!(*chain.issuers, issuers(client as u32), "{client}");
    }
    let mut writing = store.begin_to_write(&mut out, false);
    store.replace(read);
    assert_eq!(store.write_more(&mut writing, &mut out), ExportProgress::ReplacedInBetween);
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
        let chain = Chain::new(CertificateType::X509, named(name), Arc::from([]));
        let form = Form::Whole(Arc::new(chain.expect("a chain")));
        let peer = ClientEntry { form, under: under(1), identity: 0, share };
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
