//! Servers that restart, and hand their associations to the next process.

use std::net::SocketAddrV6;
use std::time::{Duration, Instant};

use tessera::auth::PeerRejected;
use tessera::wire::AlertDescription;
use tessera::{AssociationOptions, Error};
use tessera_endpoint::{
    Endpoint, EndpointOptions, FrozenAssociation, ReturnRoutability, Route, ThawError,
};
use tessera_harness::{Mode, Scene};

use crate::nat_world::stock;
use crate::resets::with_key;
use crate::world::{TRIP, World, address, path};

/// Returns a world with this many clients whose handshakes are complete.
pub(crate) fn connected(options: EndpointOptions, clients: u16) -> World {
    let mut world = World::new(Mode::Full, options);
    for port in 1000..1000 + clients {
        world.connect(port, None);
    }
    world.pass(TRIP * 20);
    (0..clients).for_each(|client| world.is_connected(client.into()));
    world
}

#[track_caller]
fn restart(world: &mut World) -> Endpoint {
    let (former, refused) = world.restart_with_associations(with_key(1));
    assert_eq!((refused, former.len()), (vec![], 0));
    former
}

#[test]
fn clients_go_on_through_restarts_with_counters_keys_and_connection_ids() {
    // A moment after the handshake, and when the associations are idle.
    for quiet in [Duration::ZERO, Duration::from_secs(600)] {
        let mut world = connected(with_key(1), 3);
        world.pass(quiet);
        assert_eq!(world.endpoint.idle_len() > 0, !quiet.is_zero());
        for _ in 0..3 {
            let bytes: Vec<_> = world.complete.iter().map(|id| world.endpoint.bytes(*id)).collect();
            restart(&mut world);
            let now: Vec<_> = world.complete.iter().map(|id| world.endpoint.bytes(*id)).collect();
            assert_eq!(bytes, now);
            assert_eq!(world.endpoint.idle_len() > 0, !quiet.is_zero());
            for client in 0..3 {
                world.is_connected(client);
                // Both change their keys.
                world.clients[client].association.update_keys(true).unwrap();
                world.pass(TRIP * 4);
                world.is_connected(client);
                world.pass(TRIP * 4);
                world.is_connected(client);
            }
            // Late records under the former keys may come for ten seconds; nothing else is under way.
            world.pass(quiet.max(TRIP * 4));
        }
        let error = world.clients.iter().find_map(|client| client.error.clone());
        assert_eq!(error, None);
        // One moves, with a connection ID that it asks for now.
        world.clients[0].association.request_connection_ids(2).unwrap();
        world.pass(TRIP * 20);
        restart(&mut world);
        assert!(world.clients[0].association.use_next_connection_id());
        world.clients[0].address = address(4000);
        world.is_connected(0);
        world.pass(TRIP * 4);
        assert_eq!(world.endpoint.counts().paths_proved, 1);
        restart(&mut world);
        world.is_connected(0);
        // The token is the one that the client has.
        world.restart(with_key(1));
        world.client_sends(0, b"question");
        world.pass(TRIP * 2);
        assert_eq!(world.clients[0].error, Some(Error::AssociationLost));
    }
}

#[test]
fn a_record_from_before_the_restart_is_not_read_twice() {
    let mut world = connected(with_key(1), 1);
    let mut records = Vec::new();
    for number in 0..300_u16 {
        let mut record = Vec::new();
        let data = number.to_be_bytes();
        world.clients[0].association.write(&data, &mut record).unwrap();
        // Every third is late.
        if number % 3 != 0 {
            world.deliver(address(1000), record.clone());
        }
        records.push(record);
    }
    restart(&mut world);
    for record in &records {
        world.deliver(address(1000), record.clone());
    }
    let read = &world.data[&world.complete[0]];
    let numbers = read.chunks(2).map(|it| u16::from_be_bytes([it[0], it[1]]));
    // Those within the window of 256.
    assert_eq!(numbers.collect::<Vec<_>>(), (45..300).step_by(3).collect::<Vec<_>>());
}

#[test]
fn an_association_is_in_one_endpoint_alone() {
    let mut world = connected(with_key(1), 2);
    world.connect_with(1002, None, stock());
    world.pass(TRIP * 20);
    let ids = world.complete.clone();
    let mut former = restart(&mut world);
    let now = world.now();
    for (client, port) in [(0, 1000), (2, 1002)] {
        let mut record = Vec::new();
        world.clients[client].association.write(b"question", &mut record).unwrap();
        // Nor does it reset what is in another.
        assert_eq!(former.route(now, path(address(port)), &record), Route::Dropped);
    }
    assert_eq!((former.counts().resets_sent, former.transmit(now, &mut Vec::new())), (0, None));
    for id in ids {
        assert_eq!(former.write(id, b"answer", &mut Vec::new()), Err(Error::Closed));
        assert!(former.freeze(id, now).is_none() && former.path(id).is_none());
    }
    assert_eq!(former.deadline(), None);
    // It begins none either.
    world.connect(1003, None);
    let mut hello = Vec::new();
    world.clients[3].association.transmit(now, &mut hello);
    assert_eq!(former.route(now, path(address(1003)), &hello), Route::Dropped);
}

#[test]
fn an_association_whose_handshake_is_under_way_stays_and_completes_it() {
    let mut world = World::new(Mode::Full, with_key(1));
    world.connect(1000, None);
    while world.endpoint.is_empty() {
        world.pass(TRIP / 2);
    }
    let (id, now) = (world.endpoint.ids()[0], world.now());
    assert!(world.endpoint.freeze(id, now).is_none());
    world.pass(TRIP * 20);
    world.is_connected(0);
}

/// Its client is to learn why.
#[test]
fn an_association_that_has_failed_stays_until_its_alert_is_sent() {
    let mut world = connected(with_key(1), 1);
    world.pass(Duration::from_secs(300));
    let id = world.complete[0];
    let alert = AlertDescription::CERTIFICATE_REVOKED;
    let reason = "it was revoked".to_owned();
    let refused = PeerRejected { alert, reason };
    world.clients[0].association.refuse(refused);
    let (now, mut out) = (world.now(), Vec::new());
    world.clients[0].association.transmit(now, &mut out);
    assert!(world.endpoint.read(id, now, path(address(1000)), &mut out).is_err());
    assert!(world.endpoint.freeze(id, now).is_none());
}

/// With its token one that a client has used up would end the association.
#[test]
fn no_reset_answers_a_former_connection_id_of_an_association_that_moved_in() {
    for restarts in [false, true] {
        let mut world = connected(with_key(1), 1);
        let mut former = Vec::new();
        world.clients[0].association.write(b"a record of usual length", &mut former).unwrap();
        for _ in 0..3 {
            world.clients[0].association.request_connection_ids(2).unwrap();
            world.pass(TRIP * 20);
            assert!(world.clients[0].association.use_next_connection_id());
            world.is_connected(0);
        }
        if restarts {
            restart(&mut world);
        }
        assert_eq!(world.deliver(address(4000), former), Route::Dropped, "{restarts}");
        assert_eq!(world.endpoint.counts().resets_sent, 0);
        world.is_connected(0);
    }
}

/// Behind a NAT, or after another: one has a connection ID, and the other none.
#[test]
fn associations_that_share_an_address_move_together() {
    let mut world = connected(with_key(1), 1);
    world.connect_with(1000, None, stock());
    world.pass(TRIP * 20);
    world.complete.reverse();
    restart(&mut world);
    assert_eq!(world.endpoint.len(), 2);
    // The newest at an address is the one to which the world delivers.
    world.is_connected(1);
    let Route::Association(id) = world.client_writes(0, b"question") else { panic!("lost") };
    assert!(world.data[&id].ends_with(b"question"));
}

#[test]
fn an_association_is_thawed_once() {
    let mut world = connected(with_key(1), 1);
    let bytes = world.freeze().pop().unwrap().into_bytes();
    let now = world.now();
    world.restart(with_key(1));
    assert!(world.endpoint.thaw(FrozenAssociation::new(bytes.clone()), now).is_ok());
    let again = world.endpoint.thaw(FrozenAssociation::new(bytes), now);
    assert_eq!(again, Err(ThawError::ConnectionId));
    world.is_connected(0);
    assert_eq!(world.endpoint.len(), 1);
}

#[test]
fn an_association_with_something_under_way_stays() {
    let mut world = World::new(Mode::Full, with_key(1));
    let client = world.connect(1000, None);
    world.pass(TRIP * 2);
    // Its tickets aren't acknowledged yet.
    while world.complete.is_empty() {
        world.pass(TRIP / 2);
    }
    assert!(world.freeze().is_empty());
    world.pass(TRIP * 4);
    let frozen = world.freeze();
    assert_eq!(frozen.len(), 1);
    assert!(world.clients[client].error.is_none());
}

#[test]
fn the_clients_last_flight_is_acknowledged_by_the_next_process() {
    let mut scene = Scene::new(tessera_null_provider::provider(), Mode::Mutual);
    // Unacknowledged tickets would keep the association here.
    scene.server.tickets = None;
    let mut world = World::of(scene, with_key(1));
    world.connect(1000, None);
    while !world.clients[0].is_complete {
        world.pass(TRIP / 2);
    }
    // The ACK is lost.
    world.loses = Box::new(|is_up, _| !is_up);
    world.pass(TRIP * 3 / 2);
    assert!(!world.complete.is_empty() && !world.clients[0].association.is_acknowledged());
    restart(&mut world);
    world.loses = Box::new(|_, _| false);
    world.pass(TRIP * 10);
    assert!(world.clients[0].association.is_acknowledged());
    world.is_connected(0);
}

#[test]
fn budgets_and_checks_of_unproved_addresses_survive() {
    // A moment after the handshake, and when associations may be idle.
    for (enhanced, quiet) in [(false, 0), (true, 0), (false, 600)] {
        let mut kind = with_key(1);
        if enhanced {
            kind.return_routability = ReturnRoutability::Enhanced;
        }
        let mut world = connected(kind.clone(), 1);
        world.pass(Duration::from_secs(quiet));
        // Nothing reaches the new address.
        world.loses = Box::new(|is_up, _| !is_up);
        world.clients[0].address = address(4000);
        world.client_writes(0, b"from elsewhere");
        let id = world.complete[0];
        let room = |world: &mut World, id| {
            (0..).take_while(|_| world.endpoint.write(id, b"x", &mut Vec::new()).is_ok()).count()
        };
        assert!(world.endpoint.write(id, b"x", &mut Vec::new()).is_ok());
        let (_, refused) = world.restart_with_associations(kind);
        assert_eq!(refused, []);
        let id = world.complete[0];
        let left = room(&mut world, id);
        assert!((1..10).contains(&left), "{left} more records, of three times what came");
        assert_eq!(world.endpoint.path(id).unwrap().remote, address(4000));
        // No answer: it moves back to the address that was proved.
        world.pass(Duration::from_secs(30));
        assert_eq!(world.endpoint.counts().paths_refuted, 1, "enhanced: {enhanced}");
        let id = world.complete[0];
        assert_eq!(world.endpoint.path(id).unwrap().remote, address(1000));
    }
}

#[test]
fn associations_without_connection_ids_survive_by_address() {
    let mut world = World::new(Mode::Full, with_key(1));
    let without = AssociationOptions { connection_id: None, ..AssociationOptions::default() };
    let client = world.connect_with(1000, None, without);
    world.pass(TRIP * 20);
    world.is_connected(client);
    restart(&mut world);
    world.is_connected(client);
}

/// Without the interface nothing can be sent to it.
#[test]
fn an_association_at_a_link_local_address_goes_on_at_its_interface() {
    let mut world = World::new(Mode::Full, with_key(1));
    let link_local = SocketAddrV6::new("fe80::1".parse().unwrap(), 1000, 0, 3).into();
    let client = world.connect(1000, None);
    world.clients[client].address = link_local;
    world.pass(TRIP * 20);
    restart(&mut world);
    assert_eq!(world.endpoint.path(world.complete[0]).unwrap().remote, link_local);
    world.is_connected(client);
}

#[test]
fn associations_count_in_the_limits_of_the_next_process() {
    let mut world = connected(with_key(1), 3);
    let few = EndpointOptions { max_per_source: 2, ..with_key(1) };
    let (_, refused) = world.restart_with_associations(few);
    assert_eq!(refused, [ThawError::Full]);
    world.connect(1003, None);
    world.pass(TRIP * 20);
    assert!(!world.clients[3].is_complete);
    let other_len = EndpointOptions { connection_id_len: 9, ..with_key(1) };
    let (_, refused) = world.restart_with_associations(other_len);
    assert_eq!(refused, [ThawError::ConnectionId; 2]);
}

#[test]
fn a_client_that_the_next_process_would_not_accept_is_not_thawed() {
    let mut world = World::new(Mode::PskDhe, with_key(1));
    let session = world.session();
    assert!(session.is_some());
    let client = world.connect(1000, session);
    world.pass(TRIP * 20);
    world.is_connected(client);
    world.scene.server.policy_epoch += 1;
    let (_, refused) = world.restart_with_associations(with_key(1));
    assert!(refused.contains(&ThawError::Withdrawn), "{refused:?}");
}

#[test]
fn what_is_cut_or_of_another_version_is_refused_and_nothing_panics() {
    let mut world = connected(with_key(1), 1);
    let bytes = world.freeze().pop().unwrap().into_bytes();
    let now = world.now();
    let thaw = |world: &mut World, bytes: &[u8]| {
        world.restart(with_key(1));
        let frozen = FrozenAssociation::new(bytes.to_vec().into());
        world.endpoint.thaw(frozen, now).map(drop)
    };
    for len in 0..bytes.len() {
        assert_eq!(thaw(&mut world, &bytes[..len]), Err(ThawError::Unreadable), "{len} bytes");
    }
    for at in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[at / 8] ^= 1 << (at % 8);
        let _ = thaw(&mut world, &changed);
    }
    let mut other = bytes.clone();
    other[0] += 1;
    assert_eq!(thaw(&mut world, &other), Err(ThawError::Unreadable));
    assert_eq!(thaw(&mut world, &bytes), Ok(()));
}

#[test]
fn a_thousand_associations_move() {
    let mut world = World::new(Mode::Full, with_key(1));
    for port in 1000..2000 {
        world.connect(port, None);
        if port % 100 == 0 {
            world.pass(TRIP * 20);
        }
    }
    world.pass(TRIP * 20);
    let begun = Instant::now();
    let frozen = world.freeze();
    let elapsed = begun.elapsed();
    let frozen: Vec<_> = frozen.into_iter().map(FrozenAssociation::into_bytes).collect();
    let bytes = frozen.iter().map(|it| it.len()).sum::<usize>();
    println!("{} out in {elapsed:?}, {} bytes each", frozen.len(), bytes / frozen.len());
    assert_eq!(frozen.len(), 1000);
    assert!(bytes / 1000 < 640, "{bytes} bytes");
    world.restart(with_key(1));
    let (begun, now) = (Instant::now(), world.now());
    for association in frozen {
        world.endpoint.thaw(FrozenAssociation::new(association), now).unwrap();
    }
    println!("in: {:?}", begun.elapsed());
    (0..1000).for_each(|client| world.is_connected(client));
}
