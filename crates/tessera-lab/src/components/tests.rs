//! The accounts add up, and contain what they must.

use std::{io, thread};

use serde_json::json;
use tessera::wire::NamedGroup;
use tessera_observed::{Operation, during};
use tessera_reports::{Letter, Mode, Store, Suite, Variant};

use super::books::{Account, Books, Components};
use super::{HeldMemory, Kind, Memory, Side, measure};
use crate::engine_names;
use crate::heap;
use crate::variants;

/// Arenas are jemalloc's.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// 1,000 bytes occupy a block of 1,024.
fn kilobyte() -> Vec<u8> {
    Vec::with_capacity(1_000)
}

#[test]
fn an_allocation_counts_for_its_maker_wherever_it_is_freed() {
    let kept = || -> io::Result<()> {
        heap::without_cache()?;
        let books = Books::open()?;
        books.begin(true)?;
        let share = books.within(Account::Rest, || {
            let share = during(&books, Operation::KeyGeneration, kilobyte);
            let signature = during(&books, Operation::Signature, kilobyte);
            // Random bytes belong to the operation that requests them.
            let random = during(&books, Operation::Random, kilobyte);
            drop((signature, random));
            share
        });
        let balance = books.balance()?;
        let (key_exchange, signature, rest) = (1_024, 1_024, 1_024);
        let all = Components { key_exchange, signature, rest, ..Components::default() };
        assert_eq!(balance.allocated, all);
        // It is sampled after operations: the last has both keys.
        assert_eq!(balance.peak, Components { rest: 0, ..all });
        assert_eq!(balance.held, Components { key_exchange, ..Components::default() });
        assert_eq!((balance.held_by_thread, balance.stores), (1_024, 0));

        books.within(Account::Buffers, || drop(share));
        let outside = kilobyte();
        let balance = books.balance()?;
        assert_eq!((balance.allocated, balance.held), (all, Components::default()));
        assert_eq!(balance.held_by_thread, 0);
        drop(outside);
        Ok(())
    };
    thread::scope(|scope| scope.spawn(|| kept().unwrap()).join().unwrap());
}

fn variant(mode: Mode, choose: impl Fn(&Variant) -> bool) -> Variant {
    let mut all = variants::all().into_iter();
    let found = all.find(|it| it.mode == mode && it.suite == Suite::default() && choose(it));
    found.expect("there is such a variant")
}

/// Measures one connection of each kind at each end, which also checks the sums.
fn measured(variant: Variant) -> [Memory; 4] {
    let memory = measure(variant).expect("the memory of a variant");
    for Memory { components, total, peak, held, .. } in &memory {
        assert_eq!(components.total(), *total);
        assert_eq!(peak.components.total(), peak.total);
        assert_eq!(held.components.total(), held.total);
        assert!(held.total <= peak.total && peak.total <= *total, "{variant:?}: {memory:?}");
        assert!(held.components.rest > 0 && components.buffers > 0, "{variant:?}: {memory:?}");
    }
    let order = [Kind::New, Kind::Resumed]
        .map(|kind| [Side::Client, Side::Server].map(|side| (kind, side)));
    assert_eq!(
        memory.iter().map(|it| (it.connection, it.side)).collect::<Vec<_>>(),
        order.concat()
    );
    memory.try_into().expect("two connections at two ends")
}

/// The names that other programs rely on.
#[test]
fn the_memory_report_has_the_form_that_readers_expect() {
    let components = Components { key_exchange: 2, rest: 1, ..Components::default() };
    let held = HeldMemory { components, total: 3 };
    let memory = Memory {
        variant: variant(Mode::PskOnly, |_| true),
        connection: Kind::Resumed,
        side: Side::Server,
        components,
        total: 3,
        peak: held,
        held,
        vault_bytes: 4,
    };
    let components = json!({
        "certificates": 0, "key_exchange": 2, "signature": 0, "tickets_and_replay_state": 0,
        "buffers": 0, "rest": 1
    });
    let held = json!({ "components": components, "total": 3 });
    let expected = json!({
        "option": "b", "mode": "psk-only", "kx": null, "ticket_key": null, "continuation": null,
        "store": "memory", "suite": "0x1302", "connection": "resumed", "side": "server",
        "components": components, "total": 3, "peak": held, "held": held, "vault_bytes": 4
    });
    assert_eq!(serde_json::to_value(&memory).unwrap(), expected);
    for kind in [Kind::New, Kind::Resumed] {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
    }
    for side in [Side::Client, Side::Server] {
        assert_eq!(serde_json::to_value(side).unwrap(), side.name());
    }
}

#[test]
fn full_handshakes_have_every_component_and_leave_nothing_in_stores() {
    for memory in measured(variant(Mode::Full, |_| true)) {
        let Components { certificates, key_exchange, signature, tickets_and_replay_state, .. } =
            memory.components;
        for component in [certificates, key_exchange, signature, tickets_and_replay_state] {
            assert!(component > 0, "{memory:?}");
        }
        assert_eq!(memory.vault_bytes, 0, "{memory:?}");
    }
}

#[test]
fn resumptions_have_no_certificates_and_psks_alone_no_key_exchange() {
    let [new_client, _, client, server] = measured(variant(Mode::PskOnly, |_| true));
    assert!(new_client.components.certificates > 0 && new_client.components.key_exchange > 0);
    for memory in [client, server] {
        let Components { certificates, key_exchange, signature, tickets_and_replay_state, .. } =
            memory.components;
        assert_eq!((certificates, key_exchange, signature), (0, 0, 0), "{memory:?}");
        assert!(tickets_and_replay_state > 0, "{memory:?}");
    }
}

#[test]
fn a_one_time_key_is_in_the_vault_between_two_connections() {
    let hybrid = |it: &Variant| {
        it.kx.is_none()
            && it.ticket_key.map(engine_names::group_of_key) == Some(NamedGroup::X25519MLKEM768)
    };
    let [new_client, new_server, client, server] = measured(variant(Mode::ZeroRttFs, hybrid));
    assert_eq!((new_client.vault_bytes, client.vault_bytes), (0, 0));
    // The private half of X25519MLKEM768 has 2,432 bytes.
    assert!((2_432..4_000).contains(&new_server.vault_bytes), "{new_server:?}");
    assert!(server.vault_bytes >= new_server.vault_bytes, "{server:?}");
    // Either connection keeps as much as without a key, except for the length of a name.
    let stays = [&new_server, &server].map(|it| (it.held.components.key_exchange, it.held.total));
    assert!(stays.map(|it| it.0) == [0, 0], "a key stays with the connection: {server:?}");
    assert!(stays[1].1 < stays[0].1 + 1_000, "a key stays with the connection: {stays:?}");
    assert!(server.components.key_exchange > 0 && client.components.key_exchange > 0);
}

#[test]
fn memory_is_not_measured_with_keys_in_etcd() {
    let etcd = variant(Mode::ZeroRttFs, |it| it.store == Store::Etcd);
    let error = measure(etcd).unwrap_err().to_string();
    assert!(error.contains("only stores in memory") && error.contains(Letter::E.letter()));
}
