//! Random frozen associations, resets and messages of return routability checks, from seeds.

use std::collections::HashSet;
use std::time::Duration;

use tessera::{AssociationOptions, ConnectionId, Error, PathMessage};
use tessera_endpoint::{
    EndpointOptions, FrozenAssociation, Path, ReturnRoutability, Route, SocketPolicy,
};
use tessera_harness::{Mode, Numbers, change, each_seed, garbage};

use crate::attacks::use_in_every_way;
use crate::fuzz;
use crate::nat::NatKind;
use crate::nat_world::{NatWorld, SHARED, following, internal, options, stock};
use crate::resets::with_key;
use crate::world::{TRIP, World, address};

fn path_message(numbers: &mut Numbers) -> PathMessage {
    let cookie = numbers.next().to_be_bytes();
    match numbers.below(3) {
        0 => PathMessage::Challenge(cookie),
        1 => PathMessage::Response(cookie),
        _ => PathMessage::Drop(cookie),
    }
}

/// Of an association in any state, under null keys: what is changed may open.
#[test]
fn fuzz_a_frozen_association_of_changed_bytes_is_refused_or_can_be_used() {
    let thawed = std::cell::Cell::new([0; 2]);
    each_seed(60, |numbers| {
        let kind = EndpointOptions {
            return_routability: match numbers.happens(50) {
                true => ReturnRoutability::Basic,
                false => ReturnRoutability::Enhanced,
            },
            ..with_key(1)
        };
        let mode = *numbers.pick(&[Mode::Full, Mode::Mutual, Mode::PskDhe]);
        let mut world = World::new(mode, kind.clone());
        let session = if mode.resumes() { world.session() } else { None };
        let with_id = numbers.happens(80);
        let options = if with_id { AssociationOptions::default() } else { stock() };
        let client = world.connect_with(1000, session, options);
        world.pass(Duration::from_secs(*numbers.pick(&[1, 30, 600])));
        world.is_connected(client);
        if with_id && numbers.happens(50) {
            world.clients[client].association.request_connection_ids(2).unwrap();
            world.pass(TRIP * 4);
            world.clients[client].address = address(4000);
            world.client_writes(client, b"from elsewhere");
        }
        let records: Vec<_> = (0..3).map(|_| world.client_sends(client, b"question")).collect();
        let (id, now) = (*world.complete.last().unwrap(), world.now());
        let Some(frozen) = world.endpoint.freeze(id, now) else { return };
        let bytes = frozen.into_bytes();
        for _ in 0..20 {
            let mut changed = bytes.to_vec();
            change(numbers, &mut changed);
            let is_changed = changed != bytes.to_vec();
            world.restart(kind.clone());
            let found = world.endpoint.thaw(FrozenAssociation::new(changed.into()), now);
            let [some, all] = thawed.get();
            thawed.set([some + usize::from(found.is_ok()), all + 1]);
            assert!(is_changed || found.is_ok());
            if let Ok(id) = found {
                use_in_every_way(&mut world, id, &records);
            }
        }
    });
    let [some, all] = thawed.get();
    assert!((1..all).contains(&some), "{some} of {all}");
}

/// Nothing but the reset of its own association ends one, and that does.
#[test]
fn fuzz_no_datagram_is_taken_for_a_reset_but_the_reset() {
    each_seed(30, |numbers| {
        let mut world = fuzz::world(with_key(1));
        for port in [1000, 1001] {
            world.connect(port, None);
        }
        world.pass(TRIP * 20);
        (0..2).for_each(|client| world.is_connected(client));
        let live = world.connect(1002, None);
        world.restart(with_key(1));
        world.pass(Duration::from_secs(10));
        world.is_connected(live);
        // Under a connection ID that it uses up.
        let mut former = Vec::new();
        world.clients[live].association.write(b"former", &mut former).unwrap();
        for _ in 0..3 {
            world.clients[live].association.request_connection_ids(2).unwrap();
            world.pass(TRIP * 4);
            assert!(world.clients[live].association.use_next_connection_id());
            world.is_connected(live);
        }
        let resets = [0, 1].map(|client: usize| {
            let mut record = Vec::new();
            let data = vec![7; numbers.below(40)];
            world.clients[client].association.write(&data, &mut record).unwrap();
            let from = world.clients[client].address;
            assert_eq!(world.deliver(from, record.clone()), Route::Handled);
            let (now, mut reset) = (world.now(), Vec::new());
            assert_eq!(world.endpoint.transmit(now, &mut reset).map(|it| it.remote), Some(from));
            assert!(reset.len() < record.len(), "{} for {}", reset.len(), record.len());
            reset
        });
        let [first, second] = resets.clone();
        let seen = [first, second, former.clone(), former];
        for _ in 0..100 {
            let mut datagram = garbage(numbers, &seen);
            if resets.contains(&datagram) {
                datagram.rotate_left(1);
            }
            for client in 0..3 {
                let to = world.clients[client].address;
                world.deliver_to_client(to, datagram.clone());
            }
            // What the server answers to it ends none either: it may name any association.
            let route = world.deliver(address(9), datagram.clone());
            let (now, mut answer) = (world.now(), Vec::new());
            while world.endpoint.transmit(now, &mut answer).is_some() {
                assert!(route == Route::Handled && answer.len() <= 3 * datagram.len());
                let to = world.clients[live].address;
                world.deliver_to_client(to, std::mem::take(&mut answer));
            }
        }
        for (client, other) in [(0, 1), (1, 0)] {
            let (to, now) = (world.clients[client].address, world.elapsed);
            world.deliver_to_client(to, resets[other].clone());
            assert_eq!(world.clients[client].error, None, "{now:?}");
            world.deliver_to_client(to, resets[client].clone());
            assert_eq!(world.clients[client].error, Some(Error::AssociationLost));
        }
        world.is_connected(live);
    });
}

/// A client that an attacker owns, who names victims as its address. Under null keys: what is changed may open.
#[test]
fn fuzz_path_messages_send_a_victim_three_times_what_came_in_its_name() {
    each_seed(60, |numbers| {
        let kind = EndpointOptions {
            return_routability: match numbers.happens(50) {
                true => ReturnRoutability::Basic,
                false => ReturnRoutability::Enhanced,
            },
            waits_for_path_response: numbers.happens(30),
            ..with_key(1)
        };
        let mut world = World::new(Mode::Full, kind);
        let connection_id = ConnectionId::new(&numbers.bytes(100));
        let options = AssociationOptions { connection_id, ..AssociationOptions::default() };
        world.connect_with(1000, None, options);
        world.pass(TRIP * 20);
        world.is_connected(0);
        let id = world.endpoint.ids()[0];
        for _ in 0..100 {
            let association = &mut world.clients[0].association;
            let mut datagram = Vec::new();
            let written = match numbers.below(3) {
                0 => association.write(&numbers.bytes(100), &mut datagram),
                _ => association.write_path_message(path_message(numbers), &mut datagram),
            };
            if written.is_err() {
                break;
            }
            if numbers.happens(5) {
                change(numbers, &mut datagram);
            }
            let from = *numbers.pick(&[1000, 4000, 4000, 4001]);
            world.deliver(address(from), datagram);
            if numbers.happens(30) {
                world.pass(TRIP * numbers.below(30) as u32);
            }
            // As much as it may.
            let (data, mut out) = (numbers.bytes(400), Vec::new());
            for _ in 0..20 {
                let Ok(to) = world.endpoint.write(id, &data, &mut out) else { break };
                let len = std::mem::take(&mut out).len();
                world.bytes.entry(to.remote).or_default()[1] += len;
            }
            for victim in [4000, 4001].map(address) {
                let [from, to] = world.bytes.get(&victim).copied().unwrap_or_default();
                assert!(to <= 3 * from, "{victim}: {to} for {from}");
            }
        }
        for error in &world.failed {
            assert!(!matches!(error, Error::Internal(_) | Error::Misuse(_)), "{error}");
        }
    });
}

/// A server that answers what was not asked, from and to where it pleases.
#[test]
fn fuzz_path_messages_lead_a_client_to_its_sockets_and_allowed_addresses_alone() {
    each_seed(60, |numbers| {
        let policy = *numbers.pick(&[None, Some(SocketPolicy::Tcs), Some(SocketPolicy::Ipc)]);
        let mut world = NatWorld::new(NatKind::FullCone, options(policy));
        world.connect(following(), true);
        world.pass(TRIP * 30);
        assert!(world.echoes(0));
        // It answers nothing at this socket.
        let dead = internal(0, 3);
        world.dead = vec![dead];
        let is_changed = numbers.happens(50);
        let mut given = HashSet::from([0]);
        for _ in 0..60 {
            let (now, socket) = (world.now(), numbers.below(4) as u16);
            let local = Some(internal(0, socket));
            let endpoint = &mut world.clients[0].endpoint;
            match numbers.below(12) {
                0 => endpoint.add_spare(local),
                1 => endpoint.replace_local(local, now),
                2 => endpoint.suspect_path(now),
                3 => endpoint.note_new_address(now),
                _ => (),
            }
            if endpoint.uses_local(local) {
                given.insert(socket);
            }
            let (id, message) = (world.endpoint.ids()[0], path_message(numbers));
            let mut datagram = Vec::new();
            let written =
                world.endpoint.with(id, |it| it.write_path_message(message, &mut datagram));
            assert_eq!(written, Some(Ok(())));
            if is_changed {
                change(numbers, &mut datagram);
            }
            let (ip, other) = (SHARED.ip(), "203.0.113.7".parse().unwrap());
            let from = [(ip, 5684), (ip, 9), (other, 5684)].map(std::net::SocketAddr::from);
            let remote = *numbers.pick(&from);
            let path = Path { remote, local: Some(internal(0, numbers.below(4) as u16)) };
            match world.clients[0].endpoint.read(now, path, &mut datagram) {
                Ok(_) => (),
                Err(error) if is_changed => {
                    assert!(!matches!(error, Error::Internal(_) | Error::Misuse(_)), "{error}");
                    return;
                }
                Err(error) => panic!("{error}"),
            }
            world.pass(TRIP * numbers.below(4) as u32 / 2);
            let Path { remote, local } = world.clients[0].endpoint.path();
            assert!(given.iter().any(|it| local == Some(internal(0, *it))), "{local:?}");
            assert!(local != Some(dead), "it is not answered there");
            assert_eq!(remote.ip(), SHARED.ip());
        }
        if !is_changed {
            world.pass(Duration::from_secs(5));
            assert!(world.echoes(0), "{policy:?}");
        }
    });
}
