//! Attackers of associations that move, and of servers that restart.

use std::time::Duration;

use tessera::{AssociationOptions, ConnectionId, PathMessage};
use tessera_endpoint::{
    AssociationId, EndpointOptions, FrozenAssociation, ReturnRoutability, Route, SocketPolicy,
    ThawError,
};
use tessera_harness::{Mode, Numbers};

use crate::nat::NatKind;
use crate::nat_world::{options, stock};
use crate::own_socket_attacks::nat_connected;
use crate::resets::with_key;
use crate::restarts::connected;
use crate::world::{TRIP, World, address, path};

/// Returns all that the endpoint sends now.
fn sent(world: &mut World) -> Vec<Vec<u8>> {
    let (now, mut all, mut out) = (world.now(), Vec::new(), Vec::new());
    while world.endpoint.transmit(now, &mut out).is_some() {
        all.push(std::mem::take(&mut out));
    }
    all
}

/// Of one server's resets another one, or the same, makes nothing: the first of a loop is the last.
#[test]
fn a_reset_that_is_reflected_gets_no_answer() {
    let mut first = World::new(Mode::Full, with_key(1));
    let lens = [0, 7, 8, 9, 16, 20];
    let mut others: Vec<_> =
        [1, 2].into_iter().flat_map(|key| lens.map(|len| (key, len))).collect();
    let mut others: Vec<_> = others
        .drain(..)
        .map(|(key, connection_id_len)| {
            World::new(Mode::Full, EndpointOptions { connection_id_len, ..with_key(key) })
        })
        .collect();
    let mut numbers = Numbers(1);
    for _ in 0..500 {
        let len = 22 + (numbers.next() % 1400) as usize;
        let mut record: Vec<_> = (0..len).map(|_| numbers.next() as u8).collect();
        record[0] = 0x3b;
        first.deliver(address(2000), record);
        let [reset] = &sent(&mut first)[..] else { panic!("{len}") };
        for other in others.iter_mut().chain([&mut first]) {
            other.deliver(address(1), reset.clone());
            assert_eq!(sent(other), Vec::<Vec<u8>>::new());
        }
    }
}

/// An attacker who has all records of all clients, cuts and changes them, gets no reset that ends an association.
#[test]
fn no_reset_that_a_server_sends_ends_an_association_that_it_has() {
    let mut world = connected(with_key(1), 4);
    let mut records = Vec::new();
    for client in 0..4 {
        // Each of its connection IDs, those that are used up too.
        for round in 0..3 {
            let association = &mut world.clients[client].association;
            association.request_connection_ids(2).unwrap();
            world.pass(TRIP * 6);
            records.push(world.client_sends(client, b"a record of usual length, to be changed"));
            world.clients[client].association.use_next_connection_id();
            world.clients[client].address = address(3000 + client as u16 * 10 + round);
            records.push(world.client_sends(client, b"a record of usual length, to be changed"));
            world.pass(TRIP * 6);
        }
    }
    let mut resets = Vec::new();
    for record in &records {
        for bit in 8..record.len().min(12) * 8 {
            let mut forged = record.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            world.deliver(address(9000), forged);
            resets.extend(sent(&mut world));
        }
        for len in 9..record.len() {
            world.deliver(address(9000), record[..len].to_vec());
            resets.extend(sent(&mut world));
        }
        world.pass(Duration::from_secs(1));
    }
    assert!(resets.len() > 100, "{}", resets.len());
    for reset in &resets {
        for client in 0..4 {
            let to = world.clients[client].address;
            world.deliver_to_client(to, reset.clone());
        }
    }
    for client in 0..4 {
        assert_eq!(world.clients[client].error, None);
        world.is_connected(client);
    }
}

/// From then on another process seals with the next number.
#[test]
fn nothing_leaves_an_association_once_its_bytes_are_written() {
    let mut world = connected(with_key(1), 1);
    let (id, now) = (world.complete[0], world.now());
    let mut bytes = Vec::new();
    let froze = world.endpoint.with(id, |association| association.freeze(now, &mut bytes));
    assert_eq!((froze, bytes.is_empty()), (Some(true), false));
    let mut record = Vec::new();
    world.clients[0].association.write(b"question", &mut record).unwrap();
    let sealed = world.endpoint.with(id, |association| {
        let mut out = Vec::new();
        let _ = association.write(b"answer", &mut out);
        let _ = association.write_path_message(PathMessage::Challenge([0; 8]), &mut out);
        let _ = association.write_path_message(PathMessage::Response([0; 8]), &mut out);
        let _ = association.update_keys(true);
        let _ = association.request_connection_ids(1);
        let _ = association.read(now, &mut record);
        association.close();
        while association.transmit(now, &mut out) {}
        let mut later = now;
        later.monotonic += Duration::from_secs(60);
        let _ = association.handle_timeout(later);
        while association.transmit(later, &mut out) {}
        let mut again = Vec::new();
        (out, association.freeze(now, &mut again))
    });
    assert_eq!(sealed, Some((Vec::new(), false)));
}

/// Records of each life have numbers of their own: the client opens all, and counts none as repeated.
#[test]
fn no_number_of_a_record_comes_twice_over_restarts() {
    let mut world = connected(with_key(1), 1);
    let mut opened = 0;
    for life in 0..6 {
        for _ in 0..50 {
            let (id, mut out) = (world.complete[0], Vec::new());
            world.endpoint.write(id, b"x", &mut out).unwrap();
            world.deliver_to_client(address(1000), out);
            opened += 1;
        }
        if life == 2 {
            world.clients[0].association.update_keys(true).unwrap();
            world.pass(TRIP * 4);
            world.client_writes(0, b"under its next keys");
            world.pass(Duration::from_secs(30));
        }
        // What it had ready before isn't sent again after.
        let (_, refused) = world.restart_with_associations(with_key(1));
        assert_eq!(refused, []);
    }
    let client = &world.clients[0];
    assert_eq!(client.association.dropped().repeated, 0);
    assert_eq!(client.received.iter().filter(|it| **it == b'x').count(), opened);
}

/// Without connection IDs nothing but its address shows that an association is there already.
#[test]
fn an_association_without_a_connection_id_is_thawed_once() {
    for connection_id_len in [0, 8] {
        let kind = EndpointOptions { connection_id_len, ..EndpointOptions::default() };
        let mut world = World::new(Mode::Full, kind.clone());
        let client = world.connect_with(1000, None, stock());
        world.pass(TRIP * 20);
        world.is_connected(client);
        let bytes = world.freeze().pop().unwrap().into_bytes();
        let now = world.now();
        world.restart(kind);
        assert!(world.endpoint.thaw(FrozenAssociation::new(bytes.clone()), now).is_ok());
        let again = world.endpoint.thaw(FrozenAssociation::new(bytes), now);
        assert_eq!(again, Err(ThawError::ConnectionId), "{connection_id_len}");
        assert_eq!(world.endpoint.len(), 1);
        world.is_connected(client);
    }
}

/// Whatever its bytes, an association that is thawed can be used, and takes no more memory than others.
#[test]
fn fuzz_associations_of_damaged_bytes_panic_in_no_use() {
    let mut world = connected(with_key(1), 1);
    let [id] = world.complete[..] else { panic!() };
    // A check is under way.
    world.clients[0].address = address(4000);
    world.client_writes(0, b"from elsewhere");
    let mut records = Vec::new();
    for _ in 0..2 {
        let mut record = Vec::new();
        world.clients[0].association.write(b"question", &mut record).unwrap();
        records.push(record);
    }
    let now = world.now();
    let bytes = world.endpoint.freeze(id, now).unwrap().into_bytes();
    let mut numbers = Numbers(7);
    let mut thawed = 0;
    for at in (0..bytes.len() * 9).step_by(4) {
        let mut changed = bytes.to_vec();
        match at % 9 {
            8 => {
                let end = changed.len().min(at / 9 + 8);
                changed[at / 9..end].fill(if numbers.happens(50) { 0xff } else { 0 });
            }
            bit => changed[at / 9] ^= 1 << bit,
        }
        world.restart(with_key(1));
        let changed = FrozenAssociation::new(changed.into());
        let Ok(id) = world.endpoint.thaw(changed, now) else { continue };
        thawed += 1;
        use_in_every_way(&mut world, id, &records);
    }
    assert!(thawed > 100);
}

/// Reads, writes, waits and freezes, and removes what is left.
pub(crate) fn use_in_every_way(world: &mut World, id: AssociationId, records: &[Vec<u8>]) {
    let mut later = world.now();
    for record in records {
        let from = path(address(4001));
        let _ = world.endpoint.route(later, from, record);
        let _ = world.endpoint.read(id, later, from, &mut record.clone());
        let mut out = Vec::new();
        let _ = world.endpoint.write(id, b"answer", &mut out);
        for _ in 0..20 {
            assert!(out.len() <= 65_535, "{} bytes", out.len());
            out.clear();
            if world.endpoint.transmit(later, &mut out).is_none() {
                break;
            }
        }
        assert!(out.capacity() < 200_000, "{} bytes", out.capacity());
        later.monotonic += Duration::from_secs(300);
        let _ = world.endpoint.deadline();
        let _ = world.endpoint.handle_timeouts(later);
    }
    let _ = world.endpoint.look_at(id, later, |it| it.facts().clone());
    let _ = world.endpoint.freeze(id, later);
    world.endpoint.remove(id);
}

/// A client that an attacker owns, in a victim's name: each kind of answer, all at once.
#[test]
fn all_answers_together_are_three_times_what_came_from_an_unproved_address() {
    for (kind, rrc) in [
        (ReturnRoutability::Basic, true),
        (ReturnRoutability::Enhanced, true),
        (ReturnRoutability::Basic, false),
    ] {
        for id_len in [0, 8, 200] {
            let options = EndpointOptions { return_routability: kind, ..with_key(1) };
            let mut world = World::new(Mode::Full, options);
            world.echoes = true;
            let connection_id = ConnectionId::new(&vec![7; id_len]);
            let client = world.connect_with(
                1000,
                None,
                AssociationOptions { connection_id, ..Default::default() },
            );
            world.pass(TRIP * 20);
            world.is_connected(client);
            // The victim's address: it answers nothing.
            let victim = address(4000);
            world.loses = Box::new(|is_up, _| !is_up);
            world.clients[client].address = victim;
            world.bytes.clear();
            for round in 0..40_u8 {
                let association = &mut world.clients[client].association;
                match round % 5 {
                    0 => _ = association.request_connection_ids(2),
                    1 => _ = association.update_keys(true),
                    2 if rrc => {
                        let mut out = Vec::new();
                        let challenge = PathMessage::Challenge([round; 8]);
                        association.write_path_message(challenge, &mut out).unwrap();
                        world.deliver(victim, out);
                    }
                    _ => _ = world.client_writes(client, b"data that the server sends back"),
                }
                world.pass(TRIP * u32::from(round % 7));
                let [from, to] = world.bytes.get(&victim).copied().unwrap_or_default();
                assert!(to <= 3 * from, "{kind:?}, {id_len}: {to} for {from}");
                if round == 20 {
                    let (_, refused) = world.restart_with_associations(EndpointOptions {
                        return_routability: kind,
                        ..with_key(1)
                    });
                    assert!(refused.is_empty(), "{refused:?}");
                }
            }
        }
    }
}

/// What another process resets, and what it doesn't, this one no longer knows.
#[test]
fn an_endpoint_that_moves_out_resets_nothing_and_keeps_what_has_a_socket() {
    let mut world = connected(with_key(1), 1);
    let frozen = world.freeze();
    assert_eq!(frozen.len(), 1);
    assert_eq!(world.deliver(address(9000), vec![0x3b; 60]), Route::Dropped);
    assert_eq!(sent(&mut world), Vec::<Vec<u8>>::new());
    world.restart(EndpointOptions { max_associations: 0, ..with_key(1) });
    let now = world.now();
    let thawed = frozen.into_iter().map(|it| world.endpoint.thaw(it, now)).collect::<Vec<_>>();
    assert_eq!(thawed, [Err(ThawError::Full)]);

    let (mut world, _) = nat_connected(NatKind::FullCone, options(Some(SocketPolicy::Tcs)));
    world.pass(Duration::from_secs(10));
    let (id, now) = (world.newest(), world.now());
    assert!(world.endpoint.freeze(id, now).is_none());
    assert!(world.echoes(0));
}
