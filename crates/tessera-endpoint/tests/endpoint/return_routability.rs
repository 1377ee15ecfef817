//! Checks of the address to which a client seems to have moved (RFC 9853).

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use tessera::{AssociationOptions, ConnectionId, Error, PathMessage, ReadEvent};
use tessera_endpoint::{AssociationId, EndpointOptions, ReturnRoutability, Route};
use tessera_harness::{Mode, Scene};
use tessera_null_provider::provider;

use crate::world::{TRIP, World, address};

const ENHANCED: EndpointOptionsChange = |options| {
    options.return_routability = ReturnRoutability::Enhanced;
};

type EndpointOptionsChange = fn(&mut EndpointOptions);

/// Returns a world with a client at port 1000 whose handshake is complete, and its association.
fn connected(change: EndpointOptionsChange) -> (World, usize, AssociationId) {
    let mut options = EndpointOptions::default();
    change(&mut options);
    let mut world = World::new(Mode::Full, options);
    let client = world.connect(1000, None);
    world.pass(TRIP * 20);
    world.is_connected(client);
    let Route::Association(id) = world.client_writes(client, b"x") else { panic!("lost") };
    assert_eq!(world.endpoint.counts().moved, 0);
    (world, client, id)
}

/// Returns the addresses of datagrams from the server from now on, with their lengths.
fn watch(world: &mut World) -> Rc<RefCell<Vec<usize>>> {
    let lengths = Rc::new(RefCell::new(Vec::new()));
    let noted = lengths.clone();
    world.loses = Box::new(move |is_up, datagram| {
        if !is_up {
            noted.borrow_mut().push(datagram.len());
        }
        false
    });
    lengths
}

#[track_caller]
fn assert_counts(world: &World, [moved, proved, refuted]: [u64; 3]) {
    let counts = world.endpoint.counts();
    assert_eq!([counts.moved, counts.paths_proved, counts.paths_refuted], [moved, proved, refuted]);
}

/// Returns whether the server may send more than three times what came from a client that moved.
fn may_send_much(world: &mut World, id: AssociationId) -> bool {
    (0..20).all(|_| world.endpoint.write(id, &[0; 1000], &mut Vec::new()).is_ok())
}

#[test]
fn one_challenge_of_few_bytes_proves_a_new_address() {
    let (mut world, client, id) = connected(|_| ());
    let sent = watch(&mut world);
    world.clients[client].address = address(1001);
    // Answered at once.
    world.is_connected(client);
    assert!(!may_send_much(&mut world, id));
    world.pass(TRIP * 2);
    assert_counts(&world, [1, 1, 0]);
    assert!(may_send_much(&mut world, id));
    world.pass(Duration::from_secs(30));
    assert_counts(&world, [1, 1, 0]);
    assert_eq!(sent.borrow().len(), 1, "one challenge");
    assert!(sent.borrow()[0] <= 64, "{} bytes", sent.borrow()[0]);
    world.is_connected(client);
}

#[test]
fn a_challenge_or_an_answer_that_is_lost_is_followed_by_others() {
    for lost_up in [false, true] {
        let (mut world, client, _) = connected(|_| ());
        world.clients[client].address = address(1001);
        world.is_connected(client);
        let mut lost = 0;
        world.loses = Box::new(move |is_up, _| {
            lost += usize::from(is_up == lost_up);
            is_up == lost_up && lost <= 2
        });
        // What came pays for two challenges; data pays for the third.
        world.pass(TRIP * 5);
        world.is_connected(client);
        world.pass(TRIP * 20);
        assert_counts(&world, [1, 1, 0]);
    }
}

/// The first half of a copy that overtakes: the server sees the newest record from the victim's address.
fn forward_to_victim(world: &mut World, client: usize) {
    let mut datagram = Vec::new();
    world.clients[client].association.write(b"question", &mut datagram).unwrap();
    world.deliver(address(4000), datagram.clone());
    world.deliver(address(1000), datagram);
}

#[test]
fn a_copy_from_a_victim_s_address_is_refuted_and_sends_it_three_times_at_most() {
    let (mut world, client, id) = connected(|_| ());
    forward_to_victim(&mut world, client);
    assert_eq!(world.endpoint.path(id).unwrap().remote, address(4000));
    let mut sent = 0;
    let mut datagram = Vec::new();
    while world.endpoint.write(id, b"answer", &mut datagram).is_ok() {
        sent += std::mem::take(&mut datagram).len();
    }
    world.pass(Duration::from_secs(10));
    let [from, to] = world.bytes[&address(4000)];
    assert!(to + sent <= 3 * from, "{to} + {sent} bytes for {from}");
    assert_counts(&world, [1, 0, 1]);
    assert_eq!(world.endpoint.path(id).unwrap().remote, address(1000));
    assert!(may_send_much(&mut world, id));
    world.is_connected(client);
}

#[test]
fn the_client_s_next_record_ends_the_check_of_a_victim_s_address() {
    for change in [|_: &mut _| (), ENHANCED] {
        let (mut world, client, id) = connected(change);
        forward_to_victim(&mut world, client);
        world.is_connected(client);
        assert_eq!(world.endpoint.path(id).unwrap().remote, address(1000));
        assert!(may_send_much(&mut world, id), "proved before");
        world.pass(Duration::from_secs(10));
        assert!(!world.bytes.contains_key(&address(4000)) || world.bytes[&address(4000)][1] == 0);
        assert_counts(&world, [2, 0, 0]);
    }
}

/// RFC 9853 §7.1.2: an attacker off the path who is faster than the network.
#[test]
fn an_enhanced_check_asks_the_client_where_it_was_before_a_victim_is_asked() {
    let (mut world, client, id) = connected(ENHANCED);
    forward_to_victim(&mut world, client);
    world.pass(TRIP * 2);
    assert_counts(&world, [1, 0, 1]);
    assert_eq!(world.endpoint.path(id).unwrap().remote, address(1000));
    assert_eq!(world.bytes[&address(4000)][1], 0, "no challenge");
}

#[test]
fn an_enhanced_check_proves_a_rebound_address_and_one_that_the_client_prefers() {
    for is_rebound in [true, false] {
        let (mut world, client, id) = connected(ENHANCED);
        world.clients[client].address = address(1001);
        world.clients[client].dropped_address = (!is_rebound).then_some(address(1000));
        world.is_connected(client);
        // Two round trips after a path_drop; three go to an address that doesn't answer.
        let timeout = world.endpoint.with(id, |association| association.path_timeout()).unwrap();
        world.pass(if is_rebound { timeout + TRIP * 2 } else { TRIP * 4 });
        assert_counts(&world, [1, 1, 0]);
        assert_eq!(world.endpoint.path(id).unwrap().remote, address(1001));
        assert!(may_send_much(&mut world, id));
    }
}

#[test]
fn data_waits_for_the_answer_where_the_owner_wants_it_to() {
    let (mut world, client, id) = connected(|options| options.waits_for_path_response = true);
    world.clients[client].address = address(1001);
    world.client_writes(client, b"question");
    let written = world.endpoint.write(id, b"answer", &mut Vec::new());
    assert!(matches!(written, Err(Error::TooEarly(_))), "{written:?}");
    world.pass(TRIP * 2);
    assert_counts(&world, [1, 1, 0]);
    world.is_connected(client);
}

/// It is neither forgotten, nor does its timer expire all the time.
#[test]
fn an_ack_waits_for_the_answer_where_data_does() {
    let mut scene = Scene::new(provider(), Mode::Full);
    // This client would acknowledge them late.
    scene.server.tickets = None;
    let options = EndpointOptions { waits_for_path_response: true, ..EndpointOptions::default() };
    let mut world = World::of(scene, options);
    let patient = AssociationOptions {
        first_timeout: Duration::from_secs(10),
        measures_round_trips: false,
        ..AssociationOptions::default()
    };
    let client = world.connect_with(1000, None, patient);
    world.pass(Duration::from_secs(20));
    world.is_connected(client);
    world.clients[client].address = address(1001);
    world.clients[client].association.update_keys(false).unwrap();
    let mut is_first = true;
    world.loses = Box::new(move |is_up, _| !is_up && std::mem::take(&mut is_first));
    for _ in 0..100 {
        world.pass(TRIP / 2);
        let now = world.now().monotonic;
        assert!(world.endpoint.deadline().is_none_or(|at| at > now), "due after it was handled");
    }
    assert_counts(&world, [1, 1, 0]);
    let client = &world.clients[client].association;
    assert!(client.is_acknowledged() && client.resent() == 0);
}

#[test]
fn answers_of_other_challenges_and_from_elsewhere_prove_nothing() {
    let (mut world, client, id) = connected(|_| ());
    world.clients[client].address = address(1001);
    world.is_connected(client);
    let mut challenge = Vec::new();
    let now = world.now();
    let to = world.endpoint.transmit(now, &mut challenge).unwrap();
    assert_eq!(to.remote, address(1001));
    let answer = |world: &mut World, message, from| {
        let mut datagram = Vec::new();
        world.clients[client].association.write_path_message(message, &mut datagram).unwrap();
        world.deliver(address(from), datagram);
    };
    for cookie in [[0; 8], [255; 8]] {
        answer(&mut world, PathMessage::Response(cookie), 1001);
        answer(&mut world, PathMessage::Drop(cookie), 1001);
    }
    assert_counts(&world, [1, 0, 0]);
    // The right answer, but from a third address.
    world.clients[client].address = address(1002);
    world.loses = Box::new(|is_up, _| !is_up);
    world.deliver_to_client(address(1002), challenge);
    world.pass(TRIP);
    assert_counts(&world, [1, 0, 0]);
    world.pass(Duration::from_secs(10));
    assert_counts(&world, [1, 0, 1]);
    assert_eq!(world.endpoint.path(id).unwrap().remote, address(1000), "the last that was proved");
}

#[test]
fn a_client_that_moves_during_a_check_is_checked_where_it_is_now() {
    for change in [|_: &mut _| (), ENHANCED] {
        let (mut world, client, id) = connected(change);
        for port in [1001, 1002] {
            world.clients[client].address = address(port);
            world.is_connected(client);
        }
        world.pass(TRIP * 12);
        assert_counts(&world, [2, 1, 0]);
        assert_eq!(world.endpoint.path(id).unwrap().remote, address(1002));
        assert!(may_send_much(&mut world, id));
    }
}

#[test]
fn data_during_a_check_does_not_begin_it_again() {
    let (mut world, client, _) = connected(|_| ());
    world.clients[client].address = address(1001);
    world.client_writes(client, b"x");
    let (now, mut challenge) = (world.now(), Vec::new());
    world.endpoint.transmit(now, &mut challenge).unwrap();
    world.client_writes(client, b"x");
    world.deliver_to_client(address(1001), challenge);
    world.pass(TRIP);
    assert_counts(&world, [1, 1, 0]);
}

#[test]
fn a_server_answers_challenges_where_they_come_from() {
    let (mut world, client, _) = connected(|_| ());
    let mut datagram = Vec::new();
    let challenge = PathMessage::Challenge([7; 8]);
    world.clients[client].association.write_path_message(challenge, &mut datagram).unwrap();
    world.deliver(address(1000), datagram.clone());
    let mut answer = Vec::new();
    let now = world.now();
    let to = world.endpoint.transmit(now, &mut answer).unwrap();
    assert_eq!(to.remote, address(1000));
    let read = world.clients[client].association.read(now, &mut answer).unwrap();
    let ReadEvent::Path(message) = read.event else { panic!("no answer") };
    assert_eq!(message, PathMessage::Response([7; 8]));
    // Once: a replay is dropped.
    world.deliver(address(4000), datagram);
    assert_eq!(world.endpoint.transmit(now, &mut answer), None);
}

/// Returns a client with the longest connection ID.
fn with_long_id(change: EndpointOptionsChange) -> (World, usize) {
    let mut options = EndpointOptions::default();
    change(&mut options);
    let mut world = World::new(Mode::Full, options);
    let connection_id = ConnectionId::new(&[7; 255]);
    let options = AssociationOptions { connection_id, ..AssociationOptions::default() };
    let client = world.connect_with(1000, None, options);
    world.pass(TRIP * 20);
    world.is_connected(client);
    (world, client)
}

/// It has the client's connection ID, which may be long.
#[test]
fn a_challenge_that_waits_for_more_from_the_client_is_not_due_all_the_time() {
    let (mut world, client) = with_long_id(|_| ());
    world.clients[client].address = address(1001);
    world.client_sends(client, b"x");
    for _ in 0..100 {
        world.pass(TRIP / 2);
        let now = world.now().monotonic;
        assert!(world.endpoint.deadline().is_none_or(|at| at > now), "due after it was handled");
    }
    assert_counts(&world, [1, 0, 1]);
    // With more from there it is sent.
    world.client_sends(client, &[7; 100]);
    world.pass(TRIP * 20);
    assert_counts(&world, [2, 1, 1]);
}

#[test]
fn a_challenge_to_the_address_that_was_proved_waits_for_nothing() {
    let (mut world, client) = with_long_id(ENHANCED);
    let before = world.bytes[&address(1000)][1];
    world.clients[client].address = address(1001);
    world.client_sends(client, b"x");
    world.pass(TRIP * 2);
    assert!(world.bytes[&address(1000)][1] > before);
}

/// A client chooses the length of its connection ID, and could have it sent to a victim.
#[test]
fn an_answer_of_more_than_three_times_its_challenge_goes_to_proved_addresses_only() {
    let (mut world, client) = with_long_id(|_| ());
    for (port, is_answered) in [(1001, false), (1000, true)] {
        let mut datagram = Vec::new();
        let challenge = PathMessage::Challenge([7; 8]);
        world.clients[client].association.write_path_message(challenge, &mut datagram).unwrap();
        world.deliver(address(port), datagram);
        let now = world.now();
        let answer = world.endpoint.transmit(now, &mut Vec::new());
        assert_eq!(answer.is_some(), is_answered, "{port}");
    }
}
