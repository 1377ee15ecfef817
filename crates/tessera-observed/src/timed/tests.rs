//! The known counts of handshakes, and the arithmetic with the test's own clock.

use std::cell::Cell;

use tessera::crypto::SAMPLE_LEN;
use tessera::wire::NamedGroup;
use tessera_harness::{Mode, Scene, at};

use super::tally::Tally;
use super::{OperationTime, TimedEnd};
use crate::observer::during;
use crate::operation::Operation;

/// Returns the operations of both ends of a connection, except for the one that brings a session. The only group is
/// X25519, and each connection brings one ticket.
fn operations(mode: Mode) -> [Vec<OperationTime>; 2] {
    let (client, server) = (TimedEnd::new(), TimedEnd::new());
    let mut scene = Scene::new(tessera_null_provider::provider(), mode);
    scene.client.groups = vec![NamedGroup::X25519];
    scene.server.groups = vec![NamedGroup::X25519];
    scene.server.policy.tickets.new_session_count = 1;
    if let Some(guard) = &mut scene.server.policy.early_data.forward_secret
        && mode != Mode::FsPsk
    {
        guard.kinds = vec![NamedGroup::X25519];
    }
    scene.client = client.client(scene.client);
    scene.server = server.server(scene.server);
    let session = scene.session();
    assert_eq!(session.is_some(), mode.resumes());
    client.take();
    server.take();
    let mut pair = scene.start(session, at(1));
    pair.run();
    assert!(pair.to_client.complete && pair.to_server.complete);
    let done = [client.take(), server.take()];
    assert_eq!(client.take(), []);
    done
}

/// The counts of each mode: at the client and at the server, in the order of [`COUNTED`]. Messages of one flight share
/// a record.
const COUNTS: [(Mode, [u64; 15], [u64; 15]); 7] = [
    (
        Mode::Mutual,
        [1, 0, 1, 0, 0, 0, 1, 1, 1, 2, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0, 1, 1, 2, 1, 1, 0, 0, 0, 0],
    ),
    (
        Mode::PskOnly,
        [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 1, 1, 0, 0, 0],
    ),
    (
        Mode::PskDhe,
        [1, 0, 1, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0, 0, 0, 2, 1, 1, 1, 0, 0, 0],
    ),
    (
        Mode::Replayable,
        [1, 0, 1, 0, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0, 0, 0, 2, 3, 1, 1, 0, 0, 1],
    ),
    // A one-time key is read to be opened; that for the next ticket is generated in one.
    (
        Mode::FsDhe,
        [1, 1, 1, 0, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0],
        [0, 1, 0, 1, 1, 1, 0, 0, 2, 3, 1, 1, 1, 1, 0],
    ),
    // The client has a share ready, for a server that wants one.
    (
        Mode::FsKe,
        [1, 1, 0, 0, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0],
        [0, 0, 0, 1, 1, 1, 0, 0, 2, 3, 1, 1, 1, 1, 0],
    ),
    (
        Mode::FsPsk,
        [1, 0, 0, 0, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 1, 1, 1, 1, 0],
    ),
];

const COUNTED: [Operation; 15] = [
    Operation::KeyGeneration,
    Operation::Encapsulation,
    Operation::Decapsulation,
    Operation::OneTimeKeyGeneration,
    Operation::OneTimeKeyReading,
    Operation::OneTimeKeyOpening,
    Operation::Signature,
    Operation::Verification,
    Operation::Seal,
    Operation::Open,
    Operation::TicketSealing,
    Operation::TicketOpening,
    Operation::VaultPut,
    Operation::VaultTake,
    Operation::Register,
];

#[test]
fn the_operations_of_full_and_resumed_handshakes_are_counted_at_the_end_that_does_them() {
    for (mode, client, server) in COUNTS {
        let done = operations(mode);
        let counted = done.each_ref().map(|done| COUNTED.map(|operation| count(done, operation)));
        assert_eq!(counted, [client, server], "{mode:?}");
        // Both ends run the same key schedule.
        let [client, server] = done.each_ref().map(|done| count(done, Operation::KeyDerivation));
        assert!(client > 0 && client == server, "{mode:?}: {client}, {server}");
        assert!(done.iter().all(|done| count(done, Operation::Hash) > 0), "{mode:?}");
        assert!(done.iter().all(|done| count(done, Operation::Random) > 0), "{mode:?}");
    }
}

/// A session of one configuration is good under the same one, timed or not.
#[test]
fn timed_and_untimed_configurations_connect_alike() {
    let plain = Scene::new(tessera_null_provider::provider(), Mode::PskDhe);
    let mut timed = plain.clone();
    let end = TimedEnd::new();
    timed.server = end.server(timed.server);
    let mut pair = timed.start(plain.session(), at(1));
    pair.run();
    assert!(pair.to_client.complete && pair.to_server.complete);
    assert_eq!(count(&end.take(), Operation::TicketOpening), 1);
    assert!(pair.server.facts().psk.is_some());
}

/// Both ends of a datagram mask its header: neither is a seal nor an opening of a record.
#[test]
fn a_mask_of_a_header_is_counted_as_such() {
    let end = TimedEnd::new();
    let scene = Scene::new(tessera_null_provider::provider(), Mode::PskDhe);
    let aead = end.client(scene.client).provider.suites[0].aead;
    let key = aead.header_key(&vec![0; aead.key_len()]);
    key.mask(&[0; SAMPLE_LEN]);
    key.mask(&[1; SAMPLE_LEN]);
    let done = end.take();
    let counts = [Operation::RecordKey, Operation::HeaderMask, Operation::Seal, Operation::Open];
    assert_eq!(counts.map(|operation| count(&done, operation)), [1, 2, 0, 0]);
}

fn count(operations: &[OperationTime], operation: Operation) -> u64 {
    operations.iter().find(|it| it.operation == operation).map_or(0, |it| it.count)
}

thread_local! {
    static TIME: Cell<u64> = const { Cell::new(0) };
}

/// Returns the time of a clock that advances by 7 ns at each reading.
fn ticking() -> u64 {
    pass(7);
    TIME.get()
}

fn pass(nanos: u64) {
    TIME.set(TIME.get() + nanos);
}

#[test]
fn the_time_of_an_operation_is_its_own_and_without_the_clocks() {
    let tally = Tally::by(ticking);
    during(&tally, Operation::Hash, || pass(1000));
    during(&tally, Operation::Hash, || pass(200));
    assert_eq!(tally.take(Operation::Hash), (2, 1200));
    assert_eq!(tally.take(Operation::Hash), (0, 0));

    during(&tally, Operation::OneTimeKeyGeneration, || {
        pass(10_000);
        during(&tally, Operation::Random, || pass(300));
        during(&tally, Operation::Random, || pass(300));
        pass(5_000);
    });
    assert_eq!(tally.take(Operation::Random), (2, 600));
    let (count, nanos) = tally.take(Operation::OneTimeKeyGeneration);
    assert_eq!((count, nanos), (1, 15_000));
}
