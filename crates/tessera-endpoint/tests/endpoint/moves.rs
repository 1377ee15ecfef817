//! Clients that change their address, or begin again at the same.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tessera::auth::PeerRejected;
use tessera::wire::AlertDescription;
use tessera::{AssociationOptions, ClientAssociation, Error};
use tessera_endpoint::{EndpointOptions, Route};
use tessera_harness::{Mode, to};

use crate::world::{TRIP, World, address};

#[test]
fn a_client_that_changes_its_address_keeps_its_association() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    let client = world.connect(1000, None);
    world.pass(TRIP * 20);
    world.is_connected(client);
    let mut old = Vec::new();
    world.clients[client].association.write(b"late", &mut old).unwrap();
    for port in [1001, 1002, 1003] {
        world.clients[client].address = address(port);
        world.is_connected(client);
        assert_eq!(world.endpoint.len(), 1);
    }
    assert_eq!(world.endpoint.counts().moved, 3);
    // wolfssl #10609: a record that isn't the newest moves nothing, although it opens.
    let Route::Association(id) = world.deliver(address(4000), old.clone()) else { panic!("lost") };
    assert_eq!(world.endpoint.path(id).unwrap().remote, address(1003));
    assert!(world.data[&id].ends_with(b"late"));
    // Nor does a replay of the newest, or a forgery.
    let mut newest = Vec::new();
    world.clients[client].association.write(b"newest", &mut newest).unwrap();
    world.deliver(address(1003), newest.clone());
    world.deliver(address(4001), newest.clone());
    *newest.last_mut().unwrap() ^= 1;
    world.deliver(address(4002), newest);
    assert_eq!(world.endpoint.path(id).unwrap().remote, address(1003));
}

#[test]
fn an_idle_association_wakes_for_its_client_wherever_that_is() {
    for mode in [Mode::Full, Mode::FsDhe] {
        let mut world = World::new(mode, EndpointOptions::default());
        let session = if mode.resumes() { world.session() } else { None };
        let client = world.connect(1000, session);
        world.pass(TRIP * 20);
        world.is_connected(client);
        let Route::Association(id) = world.client_writes(client, b"x") else { panic!("lost") };
        world.pass(Duration::from_secs(200));
        assert_eq!(world.endpoint.idle_len(), 0, "a client's last flight may come again");
        let all = world.endpoint.len();
        let quiet = Duration::from_secs(130);
        world.pass(quiet);
        assert_eq!(world.endpoint.idle_len(), all, "{mode:?}");
        for port in [1000, 1001, 1001] {
            let before = world.endpoint.path(id).unwrap();
            assert!(world.endpoint.bytes(id).unwrap().iter().all(|bytes| *bytes > 0));
            assert_eq!(world.endpoint.idle_len(), all, "neither wakes it");
            let mut forged = Vec::new();
            world.clients[client].association.write(b"forged", &mut forged).unwrap();
            *forged.last_mut().unwrap() ^= 1;
            world.deliver(address(4000), forged);
            assert_eq!(world.endpoint.idle_len(), all, "nor what doesn't open");
            assert_eq!(world.endpoint.path(id), Some(before));
            world.clients[client].address = address(port);
            world.is_connected(client);
            assert_eq!(world.endpoint.path(id).unwrap().remote, address(port));
            // Data every fifty seconds.
            for _ in 0..6 {
                world.pass(Duration::from_secs(50));
                assert_eq!(world.endpoint.idle_len(), all - 1);
                world.is_connected(client);
            }
            world.pass(quiet);
            assert_eq!(world.endpoint.idle_len(), all, "{mode:?}");
        }
        world.endpoint.remove(id);
        assert_eq!((world.endpoint.idle_len(), world.endpoint.len()), (all - 1, all - 1));
        assert_eq!(world.client_writes(client, b"x"), Route::Dropped);
    }
}

/// wolfssl #6365: negotiated, and then routed by address all the same.
#[test]
fn associations_with_connection_ids_share_an_address_and_swap_theirs() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    let clients: Vec<_> = (0..2).map(|n| world.connect(1000 + n, None)).collect();
    world.pass(TRIP * 20);
    let ids: Vec<_> = clients
        .iter()
        .map(|client| match world.client_writes(*client, b"x") {
            Route::Association(id) => id,
            other => panic!("{other:?}"),
        })
        .collect();
    world.clients[0].address = address(1001);
    world.clients[1].address = address(1000);
    for (client, id) in clients.iter().zip(&ids) {
        assert_eq!(world.client_writes(*client, b"y"), Route::Association(*id));
    }
    assert_eq!(world.endpoint.path(ids[0]).unwrap().remote, address(1001));
    assert_eq!(world.endpoint.path(ids[1]).unwrap().remote, address(1000));
    assert_eq!(world.endpoint.len(), 2);
}

/// mbedtls #5872: connection IDs were lost in a resumption.
#[test]
fn a_client_that_resumed_keeps_its_association_at_a_new_address() {
    for mode in [Mode::PskDhe, Mode::PskOnly, Mode::Replayable, Mode::FsDhe, Mode::FsKe] {
        let mut world = World::new(mode, EndpointOptions::default());
        let session = world.session();
        let client = world.connect(1000, session);
        world.pass(TRIP * 20);
        world.is_connected(client);
        world.clients[client].address = address(1001);
        world.is_connected(client);
        assert_eq!(world.endpoint.counts().moved, 1, "{mode:?}");
    }
}

#[test]
fn an_association_that_fails_after_it_moved_is_no_refused_hello() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    let client = world.connect(1000, None);
    world.pass(TRIP * 20);
    world.clients[client].address = address(1001);
    world.is_connected(client);
    world.clients[client].association.refuse(PeerRejected {
        alert: AlertDescription::CERTIFICATE_REVOKED,
        reason: "the certificate was revoked".to_owned(),
    });
    world.pass(TRIP * 2);
    assert_eq!(world.failed, [Error::AlertReceived(AlertDescription::CERTIFICATE_REVOKED)]);
    assert!(world.endpoint.is_empty());
    assert_eq!(world.endpoint.counts().refused_hellos, 0);
}

/// wolfssl #8841: a move of one association changed another, whose handshake was under way.
#[test]
fn a_client_that_moves_changes_no_other_s_handshake() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    let first = world.connect(1000, None);
    world.pass(TRIP * 20);
    let second = world.connect(1001, None);
    // It has sent its second hello, and the server its flight.
    world.pass(TRIP * 3);
    assert_eq!(world.endpoint.len(), 2);
    assert!(!world.clients[second].is_complete);
    world.clients[first].address = address(1002);
    world.is_connected(first);
    world.pass(TRIP * 20);
    world.is_connected(second);
    world.is_connected(first);
    assert_eq!(world.endpoint.counts().moved, 1);
}

/// RFC 9147 §5.11: a forged hello from the address of a live association destroys nothing; a client that has begun
/// again gets through.
#[test]
fn a_new_hello_from_a_live_address_replaces_nothing_before_its_handshake() {
    for connection_id_len in [0, 8] {
        let options = EndpointOptions { connection_id_len, ..EndpointOptions::default() };
        let mut world = World::new(Mode::Full, options);
        let first = world.connect(1000, None);
        world.pass(TRIP * 20);
        world.is_connected(first);
        let config = world.scene.client.clone().checked().unwrap();
        let mut forged =
            ClientAssociation::start(config, to(None), AssociationOptions::default(), world.now())
                .unwrap();
        let mut hello = Vec::new();
        forged.transmit(world.now(), &mut hello);
        assert_eq!(world.deliver(address(1000), hello), Route::Handled);
        world.is_connected(first);
        world.pass(TRIP * 2);
        // The same client after a reboot.
        let second = world.connect(1000, None);
        world.pass(TRIP * 20);
        world.is_connected(second);
        let left = if connection_id_len == 0 { 1 } else { 2 };
        assert_eq!(world.endpoint.len(), left, "{connection_id_len}");
        // The owner of the one that was replaced learns it.
        let replaced: &[Error] = if connection_id_len == 0 { &[Error::Truncated] } else { &[] };
        assert_eq!(world.failed, replaced);
    }
}

/// Clients that offer no connection ID, although the server has one for them.
pub(crate) fn without_ids() -> AssociationOptions {
    AssociationOptions { connection_id: None, ..AssociationOptions::default() }
}

#[test]
fn a_client_with_a_connection_id_takes_no_other_s_address() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    let victim = world.connect_with(1000, None, without_ids());
    let thief = world.connect(2000, None);
    world.pass(TRIP * 20);
    world.is_connected(victim);
    // It spoofs the other's address, in a record that opens and is its newest.
    world.clients[thief].address = address(1000);
    world.client_writes(thief, b"from elsewhere");
    assert_eq!(world.endpoint.counts().moved, 1);
    world.is_connected(victim);
    assert_eq!(world.endpoint.len(), 2);
}

/// A device that restarts again and again doesn't fill its address.
#[test]
fn a_client_without_connection_ids_that_begins_again_replaces_itself() {
    for mode in [Mode::Full, Mode::KemMutual] {
        let mut world = World::new(mode, EndpointOptions::default());
        for restarts in 0..5 {
            let client = world.connect_with(1000, None, without_ids());
            world.pass(TRIP * 20);
            world.is_connected(client);
            assert_eq!((world.endpoint.len(), world.failed.len()), (1, restarts));
        }
    }
}

/// Otherwise a client could fill the share of an address that isn't its own.
#[test]
fn an_association_that_moves_counts_where_it_began() {
    let options = EndpointOptions { max_per_source: 1, ..EndpointOptions::default() };
    let mut world = World::new(Mode::Full, options);
    let mover = world.connect(1000, None);
    world.pass(TRIP * 20);
    let elsewhere = SocketAddr::from(([192, 0, 2, 2], 1000));
    world.clients[mover].address = elsewhere;
    world.is_connected(mover);
    let second = world.connect(2000, None);
    let there = world.connect(2000, None);
    world.clients[there].address = SocketAddr::from(([192, 0, 2, 2], 2000));
    world.pass(TRIP * 20);
    assert!(!world.clients[second].is_complete && world.clients[there].is_complete);
}

#[test]
fn a_client_gets_the_connection_ids_that_it_asks_for_and_can_use_each() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    let client = world.connect(1000, None);
    world.pass(TRIP * 20);
    for port in 1001..1030 {
        if world.clients[client].association.spare_connection_ids() == 0 {
            world.clients[client].association.request_connection_ids(255).unwrap();
            world.pass(TRIP * 20);
            let spare = world.clients[client].association.spare_connection_ids();
            assert_eq!(spare, 7, "eight in all");
        }
        let association = &mut world.clients[client].association;
        assert!(association.use_next_connection_id());
        world.clients[client].address = address(port);
        world.is_connected(client);
    }
    // One that the client has used up leads nowhere, and none is left when the association is gone.
    let mut old = Vec::new();
    world.clients[client].association.write(b"x", &mut old).unwrap();
    for _ in 0..8 {
        if !world.clients[client].association.use_next_connection_id() {
            world.clients[client].association.request_connection_ids(255).unwrap();
            world.pass(TRIP * 20);
        }
        world.is_connected(client);
    }
    assert_eq!(world.deliver(address(1000), old), Route::Dropped);
    let Route::Association(id) = world.client_writes(client, b"x") else { panic!("lost") };
    world.endpoint.remove(id);
    assert_eq!(world.client_writes(client, b"x"), Route::Dropped);
}

#[test]
fn a_client_moves_after_its_handshake() {
    let mut world = World::new(Mode::Mutual, EndpointOptions::default());
    let short = AssociationOptions { max_datagram: 160, ..AssociationOptions::default() };
    world.connect_with(1000, None, short);
    let lost = Rc::new(RefCell::new(Vec::new()));
    let seen = lost.clone();
    world.loses = Box::new(move |is_up, datagram| {
        let is_protected = is_up && datagram[0] & 0xe0 == 0x20;
        if is_protected {
            seen.borrow_mut().push(datagram.to_vec());
        }
        is_protected
    });
    world.pass(TRIP * 6);
    let mut flight = lost.take();
    assert!(flight.len() > 1, "a chain in several datagrams");
    let Route::Association(id) = world.deliver(address(1001), flight.swap_remove(0)) else {
        panic!("it has a connection ID")
    };
    assert_eq!(world.endpoint.path(id).unwrap().remote, address(1000));
    assert_eq!(world.endpoint.counts().moved, 0);
}

/// Its records name no association: an owner that gives another address is mistaken.
#[test]
fn a_client_without_connection_ids_moves_nowhere() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    let client = world.connect_with(1000, None, without_ids());
    world.pass(TRIP * 20);
    let Route::Association(id) = world.client_writes(client, b"x") else { panic!("lost") };
    let mut datagram = Vec::new();
    world.clients[client].association.write(b"newest", &mut datagram).unwrap();
    world.read(id, address(1001), &mut datagram);
    assert!(world.data[&id].ends_with(b"newest"));
    assert_eq!(world.endpoint.path(id).unwrap().remote, address(1000));
    world.is_connected(client);
}
