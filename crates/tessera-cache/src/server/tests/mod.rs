//! What a store keeps, within its limits.

mod authorities;
mod public;
mod tickets;

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

/// Makes a client with this certificate and share.
fn entry(leaf: Vec<u8>, issuers: &[u8], share: u32) -> ClientEntry {
    let chain = Chain::new(CertificateType::X509, leaf.into(), issuers.into()).expect("a chain");
    ClientEntry { form: Form::Whole(chain), under: under(1), identity: 0, share }
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
    let peer = ClientEntry { under: under(server), ..entry(leaf, issuers, share) };
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
fn forgetting_a_client_removes_its_tickets_and_no_one_elses() {
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
    store.learn(&entry(certificate(1, 999), &[9; 3000], 0), &[], false);
    let metrics = store.metrics();
    assert!(metrics.bytes <= 10_000, "{}", metrics.bytes);
    assert!(metrics.entries < entries);
    let entries = metrics.entries;
    // A client too large by itself is not stored, and evicts no other.
    learn(&mut store, 1, 1000, &[7; 10_000]);
    assert_eq!(store.metrics().entries, entries);
}

#[test]
fn a_leaf_is_kept_for_two_servers_at_most() {
    let mut store = store(10, 1 << 20);
    for server in 1..=4 {
        learn_at(&mut store, 1, 1, &[], server);
    }
    assert_eq!(store.metrics().entries, 2);
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
        let peer = entry(long(client), &[7; 2000], 0);
        store.learn(&peer, &[1, 2].map(|it| Ticket::new([it; 10])), false);
        assert!(store.metrics().bytes <= 4000, "{}", store.metrics().bytes);
    }
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
    let peer = entry(leaf, &[], share);
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
fn a_cache_written_in_pieces_has_all_remaining_entries_and_can_be_read() {
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
