//! What an association holds on the heap, and that records allocate nothing.

use tessera_datagram_bench::server::{Server, path};
use tessera_datagram_bench::{DatagramPair, Keys, now};
use tessera_endpoint::EndpointOptions;

/// What AWS-LC keeps for an AES-GCM key, in bytes, by valgrind's DHAT; it isn't counted here.
const OF_AWS_LC: i64 = 592;

/// Returns what both ends hold on the heap, and in place.
fn held(change: impl Fn(&mut DatagramPair)) -> i64 {
    let keys = Keys::new();
    let mut kept = Vec::with_capacity(16);
    kept.push(DatagramPair::connect(&keys).0);
    let held = allocation_counter::measure(|| {
        for _ in 0..10 {
            let mut pair = DatagramPair::connect(&keys).0;
            change(&mut pair);
            kept.push(pair);
        }
    });
    held.bytes_current / 10 + size_of::<DatagramPair>() as i64
}

/// The aim is four kibibytes each.
#[test]
fn both_ends_of_an_awake_association_hold_less_than_nine_kilobytes() {
    let both = held(|_| ()) + 4 * OF_AWS_LC;
    println!("both ends hold {both} bytes");
    assert!(both < 8_600, "{both} bytes");
}

/// The aim is one kibibyte each.
#[test]
fn both_ends_of_a_sleeping_association_hold_less_than_four_kilobytes() {
    let both = held(|pair| assert!(pair.client.sleep(now()) && pair.server.sleep(now())));
    println!("both ends hold {both} bytes");
    assert!(both < 4_000, "{both} bytes");
}

#[test]
fn records_allocate_nothing() {
    let keys = Keys::new();
    let (mut pair, _) = DatagramPair::connect(&keys);
    let (data, mut buffer) = (vec![7; 1100], Vec::new());
    pair.send(&data, 10, &mut buffer);
    let used = allocation_counter::measure(|| {
        pair.send(&data, 1000, &mut buffer);
    });
    assert_eq!(used.count_total, 0);
}

#[test]
fn parts_of_hellos_hold_no_more_than_their_pool() {
    let mut server = Server::new(10);
    let mut client = server.client(now());
    client.set_max_datagram(150);
    let mut part = Vec::new();
    assert!(client.transmit(now(), &mut part));
    let held = allocation_counter::measure(|| {
        for number in 0..20_000 {
            server.deliver(now(), path(number), &mut part);
        }
    });
    let limit = EndpointOptions::default().hello_pool as i64;
    assert!((limit / 2..=limit).contains(&held.bytes_current), "{} bytes", held.bytes_current);
}
