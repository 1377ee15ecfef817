//! What an association holds on the heap, and that records allocate nothing.

use std::time::Duration;

use tessera::Time;
use tessera_datagram_bench::{DatagramPair, Keys, now};

/// The aim is four kibibytes each. The keys of an epoch and direction take 1.1, and a server keeps those of the handshake
/// for four minutes, to acknowledge a last flight that comes again.
#[test]
fn both_ends_of_an_idle_association_hold_at_most_ten_kilobytes() {
    let keys = Keys::new();
    let mut kept = Vec::with_capacity(16);
    kept.push(DatagramPair::connect(&keys).0);
    let held = allocation_counter::measure(|| {
        for _ in 0..10 {
            kept.push(DatagramPair::connect(&keys).0);
        }
    });
    let each = held.bytes_current / 10 + size_of::<DatagramPair>() as i64;
    println!("both ends hold {each} bytes");
    assert!(each <= 10_000, "{each} bytes");
}

#[test]
fn both_ends_of_a_sleeping_association_hold_at_most_four_kibibytes() {
    let keys = Keys::new();
    let mut kept = Vec::with_capacity(16);
    kept.push(DatagramPair::connect(&keys).0);
    let held = allocation_counter::measure(|| {
        for _ in 0..10 {
            let mut pair = DatagramPair::connect(&keys).0;
            // Not while the client's last flight may come again.
            assert!(!pair.server.sleep(now()));
            let later = Time { monotonic: Duration::from_secs(240), ..now() };
            assert!(pair.client.sleep(later) && pair.server.sleep(later));
            kept.push(pair);
        }
    });
    let each = held.bytes_current / 10 + size_of::<DatagramPair>() as i64;
    println!("both ends hold {each} bytes");
    assert!(each <= 4096, "{each} bytes");
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
