//! Both ends in memory, for each way.

use tessera_reports::roaming::{LinkName, Operation, Setup};
use tessera_reports::{Letter, Sides, Store, Variant};

use super::*;
use crate::variants;

fn name(variant: Variant) -> CellName {
    let name = "none".to_owned();
    let link = LinkName { name, rtt_ms: 0.0, loss: 0.0, loss_burst: 1.0, congestion: 0.0 };
    CellName { variant, through: Setup::Engine, link }
}

fn measured(variant: Variant, repetitions: usize) -> Cell {
    let (pki, timers) = (Pki::new().unwrap(), Timers::new());
    let name = name(variant);
    measure(vec![(&name, Ok(None))], &pki, &timers, repetitions, || ()).remove(0).unwrap()
}

/// Without early data the request waits for the server's flight; with it, it does not.
#[test]
fn in_memory_each_variant_takes_its_round_trips_and_moments_are_in_order() {
    for variant in variants::all().into_iter().filter(|it| it.store == Store::Memory) {
        let cell = measured(variant, 3);
        let key = cell.name.key();
        assert_eq!((cell.samples.len(), cell.failed), (3, 0), "{key}");
        let expected = match variant.option {
            Letter::A | Letter::B | Letter::C => (1.5, 2.0),
            _ => (0.5, 1.0),
        };
        let RoundTrips { first_byte, response } = cell.round_trips;
        assert_eq!((first_byte, response), (Some(expected.0), Some(expected.1)), "{key}");
        for sample in &cell.samples {
            let (send, receive) = (sample.send_us.unwrap(), sample.receive_us.unwrap());
            let whole = sample.response_us.unwrap();
            assert!(
                send < whole && receive < whole && send + receive >= whole,
                "{key}: {sample:?}"
            );
            assert!(sample.handshake_us.unwrap() <= whole, "{key}: {sample:?}");
            let early = sample.first_byte_us.unwrap() < sample.handshake_us.unwrap();
            assert_eq!(early, variant.mode.has_early_data(), "{key}");
        }
        let first_flight = cell.bytes.first_flight.unwrap();
        assert!(first_flight < cell.bytes.client.unwrap(), "{key}");
        assert_eq!(cell.issuing.is_some(), variant.option != Letter::A, "{key}");
        let done = |side: &[Operation], what: &str| {
            side.iter().find(|it| it.operation == what).map_or(0.0, |it| it.count)
        };
        let Sides { client, server } = &cell.operations;
        let is_full = variant.option == Letter::A;
        for side in [client, server] {
            assert_eq!(done(side, "signature"), f64::from(u8::from(is_full)), "{key}");
            assert!(done(side, "seal") >= 2.0 && done(side, "open") >= 2.0, "{key}");
        }
        assert_eq!(done(server, "vault take") > 0.0, variant.mode.has_one_time_key(), "{key}");
        assert_eq!(done(server, "ticket sealing"), 0.0, "{key}: no new ticket");
        if let Some(issuing) = cell.issuing {
            assert!(issuing.bytes > 100, "{key}: {issuing:?}");
        }
    }
}

/// A ticket's size on the wire differs by that of its key.
#[test]
fn a_ticket_with_a_hybrid_key_is_as_much_longer_as_its_key() {
    let bytes = |key: &str| {
        let variant = variants::all().into_iter().find(|it| it.key() == key).unwrap();
        measured(variant, 1).issuing.unwrap().bytes
    };
    let classical = bytes("e/0rtt-fs/none/x25519/psk_ke/memory/0x1302");
    let hybrid = bytes("e/0rtt-fs/none/x25519mlkem768/psk_ke/memory/0x1302");
    // The encapsulation key of ML-KEM-768 has 1,184 bytes; so much is in more records, of which each
    // ticket has its part.
    assert!((1184..1188).contains(&(hybrid - classical)), "{hybrid} - {classical}");
}

/// A cell that fails doesn't affect the others.
#[test]
fn cells_without_a_store_have_a_reason_and_the_others_are_measured() {
    let (pki, timers) = (Pki::new().unwrap(), Timers::new());
    let names = variants::all().into_iter().filter(|it| it.option == Letter::B).map(name);
    let names: Vec<_> = names.collect();
    let cells = vec![(&names[0], Err("no etcd".to_owned())), (&names[1], Ok(None))];
    let measured = measure(cells, &pki, &timers, 25, || ());
    assert_eq!(measured[0], Err("no etcd".to_owned()));
    let cell = measured[1].as_ref().unwrap();
    assert_eq!((&cell.name, cell.samples.len()), (&names[1], 25));
}
