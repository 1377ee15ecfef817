//! A store under any load that clients with valid certificates can cause, compared with a simple list.

use std::collections::{BTreeMap, BTreeSet};
use std::vec::Vec;

use tessera::auth::VerifierDigest;
use tessera::wire::CertificateType;

use super::ServerLimits;
use super::store::{AcceptanceConditions, ClientEntry, ExportProgress, Store};
use crate::bytes::Bytes;
use crate::chain::Chain;
use crate::chain_hash::ChainHash;
use crate::form::Form;
use crate::ids::{Ticket, TicketBytes};
use crate::metrics::Metrics;
use crate::written::CacheKind;

const LIMITS: ServerLimits = ServerLimits { clients: 40, bytes: 9000 };

/// SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn ticket(&mut self) -> Ticket {
        let [a, b] = [self.next(), self.next()].map(u64::to_be_bytes);
        let mut derived = [0; Ticket::DERIVED];
        derived[..8].copy_from_slice(&a);
        derived[8..].copy_from_slice(&b[..2]);
        Ticket::new(derived)
    }

    fn under(&mut self) -> AcceptanceConditions {
        let policy = [None, Some(VerifierDigest([1; 32])), Some(VerifierDigest([2; 32]))];
        let policy = policy[self.below(20).saturating_sub(17) as usize];
        AcceptanceConditions { server: [self.below(3) as u8; 16], policy }
    }

    /// Returns a client, and the number of its leaf.
    fn peer(&mut self, store: &mut Store) -> (u64, ClientEntry) {
        let client = self.below(60);
        let len = [0, 100, 1000, 3000, 40_000][self.below(64).saturating_sub(59) as usize];
        let issuers = std::vec![self.below(3) as u8; len];
        let own = std::vec![client as u8; 20 + client as usize];
        let share = store.shares.of(&(client * 5).to_be_bytes());
        let form = match client % 5 {
            0 => Form::Known(ChainHash([client as u8; 32])),
            _ => {
                let chain = Chain::new(CertificateType::X509, own.into(), issuers.into());
                Form::Whole(chain.expect("a chain"))
            }
        };
        let identity = client as u32;
        (client, ClientEntry { form, under: self.under(), identity, share })
    }
}

fn assert_bounded(store: &Store) {
    let metrics = store.metrics();
    assert!(metrics.bytes as usize <= LIMITS.bytes, "{} bytes", metrics.bytes);
    assert!(metrics.entries as usize <= LIMITS.clients, "{} clients", metrics.entries);
}

/// What was learned: the owner of a ticket, and its server.
type Tickets = BTreeMap<TicketBytes, (u64, AcceptanceConditions, Ticket)>;

fn attack(seed: u64, rounds: usize) {
    let mut store = Store::new(tessera_aws_lc::provider().random, LIMITS).expect("a store");
    let mut numbers = Numbers(seed);
    let mut tickets = Tickets::new();
    let mut recent: Vec<TicketBytes> = Vec::new();
    let mut found_in_all = 0;
    for _ in 0..rounds {
        match numbers.below(10) {
            0..4 => {
                let (client, peer) = numbers.peer(&mut store);
                let new = [numbers.ticket(), numbers.ticket()];
                store.learn(&peer, &new, numbers.below(2) == 0);
                for ticket in new {
                    tickets.insert(ticket.bytes, (client, peer.under, ticket));
                    recent.push(ticket.bytes);
                }
            }
            4..9 => {
                let any = |numbers: &mut Numbers| match recent.len() {
                    0 => [9; 8],
                    len => recent[len - 1 - numbers.below(len.min(200) as u64) as usize],
                };
                let shown = [any(&mut numbers), any(&mut numbers)];
                let of = tickets.get(&shown[0]).map(|it| it.1);
                let under = if numbers.below(4) == 0 { None } else { of };
                let under = under.unwrap_or_else(|| numbers.under());
                let found = store.take(&shown, under, 0, |_| true);
                if let Ok(found) = found {
                    found_in_all += 1;
                    // Ids have 14 bits: another ticket may have the same by chance.
                    let is_it = |it: &&(u64, AcceptanceConditions, Ticket)| {
                        it.2.id == found.id && it.0 == u64::from(found.peer.identity)
                    };
                    let it = |bytes| tickets.get(bytes).filter(is_it);
                    let (client, learned_under, _) =
                        shown.iter().find_map(it).expect("a ticket that is live");
                    assert!(*learned_under == under);
                    if numbers.below(20) == 0 {
                        store.forget(&found.peer);
                        let again = store.take(&shown, under, 0, |_| true).ok();
                        assert!(
                            again.is_none_or(|again| again.peer.identity != found.peer.identity)
                        );
                    } else if numbers.below(2) == 0 {
                        let new = [numbers.ticket(), numbers.ticket()];
                        let (client, under) = (*client, found.peer.under);
                        store.learn(&found.peer, &new, true);
                        for ticket in new {
                            tickets.insert(ticket.bytes, (client, under, ticket));
                            recent.push(ticket.bytes);
                        }
                    }
                }
                // Under another name or policy they stay.
                for ticket in shown {
                    if tickets.get(&ticket).is_some_and(|it| it.1 == under) {
                        tickets.remove(&ticket);
                    }
                }
            }
            _ if numbers.below(200) == 0 => {
                let gone = numbers.below(3) as u8;
                store.retain(|policy| policy != Some([gone; 32]));
            }
            _ => (),
        }
        assert_bounded(&store);
    }
    assert!(found_in_all > rounds / 20, "{found_in_all}");
    assert_few_of_each(&mut store, &tickets);
    store.retain(|_| false);
    let metrics = store.metrics();
    assert_eq!((metrics.bytes, metrics.entries), (0, 0));
    let left = (0..60).map(|at| store.shares.get_mut(at).map_or(0, |it| it.entries + it.bytes));
    assert_eq!(left.sum::<usize>(), 0);
}

/// Checks that each client has at most eight live tickets.
fn assert_few_of_each(store: &mut Store, tickets: &Tickets) {
    let mut of_clients: BTreeMap<u64, BTreeSet<TicketBytes>> = BTreeMap::new();
    for (bytes, (client, under, _)) in tickets {
        if store.take(&[*bytes, [0; 8]], *under, 0, |_| true).is_ok() {
            of_clients.entry(*client).or_default().insert(*bytes);
        }
    }
    assert!(of_clients.values().all(|it| it.len() <= 8));
}

#[test]
fn a_store_stays_within_its_bounds_whatever_clients_do() {
    (0..4).for_each(|seed| attack(seed, 5000));
}

/// Clients of one authority send long lists in turn.
#[test]
fn the_written_form_is_hardly_longer_than_the_kept_entries() {
    let limits = ServerLimits { clients: 1000, bytes: 1 << 20 };
    let mut store = Store::new(tessera_aws_lc::provider().random, limits).expect("a store");
    let mut numbers = Numbers(1);
    let share = store.shares.of(b"authority");
    for client in 0..400_u32 {
        let (leaf, issuers) =
            (numbers.next().to_be_bytes(), std::vec![(client % 2) as u8; 100_000]);
        let chain = Chain::new(CertificateType::X509, leaf.into(), issuers.into());
        let form = Form::Whole(chain.expect("a chain"));
        let under = AcceptanceConditions { server: [1; 16], policy: None };
        let peer = ClientEntry { form, under, identity: 0, share };
        store.learn(&peer, &[numbers.ticket()], false);
    }
    let metrics = store.metrics();
    assert_eq!(metrics.entries, 400);
    let written = written(&store);
    assert!(written.len() as u64 <= metrics.bytes, "{} of {}", written.len(), metrics.bytes);
    let read =
        Store::read(limits, CacheKind::Clients.version(), Bytes(&written)).expect("what it wrote");
    assert_eq!(read.metrics(), Metrics { learned: 0, ..metrics });
    assert!(self::written(&read) == written);
}

/// Returns everything that a store writes.
fn written(store: &Store) -> Vec<u8> {
    let mut written = Vec::new();
    let mut writing = store.begin_to_write(&mut written, false);
    while store.write_more(&mut writing, &mut written) == ExportProgress::InPart {}
    written
}

/// A ticket with the id that means none would stay in the index, unreachable.
#[test]
fn a_ticket_with_the_id_of_none_is_not_read() {
    let mut store = Store::new(tessera_aws_lc::provider().random, LIMITS).expect("a store");
    let mut numbers = Numbers(2);
    let (_, peer) = numbers.peer(&mut store);
    let chain = Chain::new(CertificateType::X509, [7; 20].into(), [].into());
    let form = Form::Whole(chain.expect("a chain"));
    store.learn(&ClientEntry { form, ..peer }, &[numbers.ticket()], false);
    let mut written = written(&store);
    assert!(Store::read(LIMITS, CacheKind::Clients.version(), Bytes(&written)).is_some());
    let end = written.len() - 2;
    written[end..].fill(0);
    assert!(Store::read(LIMITS, CacheKind::Clients.version(), Bytes(&written)).is_none());
}

#[test]
#[ignore = "takes minutes"]
fn a_store_stays_within_its_bounds_for_millions_of_steps() {
    (100..200).for_each(|seed| attack(seed, 100_000));
}
