//! Clients that change their address, or begin again at the same.

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

/// RFC 9147 §5.11: a forged hello from the address of a live association destroys nothing; a client that has begun again
/// gets through.
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
