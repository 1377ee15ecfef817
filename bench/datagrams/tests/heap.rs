//! What an association holds on the heap, and that records allocate nothing.

use std::time::Duration;

use tessera_datagram_bench::server::{Server, path};
use tessera_datagram_bench::{DatagramPair, KEY_OF_AWS_LC, Keys, now};
use tessera_endpoint::EndpointOptions;

/// Returns what each association holds in an endpoint after so much time, its part of the tables included.
fn held(time: Duration) -> i64 {
    // Almost fills the tables, as 100,000 do.
    const COUNT: u32 = 750;
    let mut server = Server::new(COUNT as usize + 1);
    let _ = server.connect(path(0), now());
    let held = allocation_counter::measure(|| {
        for number in 1..=COUNT {
            let _ = server.connect(path(number), now());
        }
        server.pass(time);
    });
    held.bytes_current / i64::from(COUNT)
}

#[test]
fn an_awake_association_holds_less_than_four_kibibytes() {
    let each = held(Duration::ZERO) + 2 * KEY_OF_AWS_LC;
    println!("each holds {each} bytes");
    assert!(each < 4_096, "{each} bytes");
}

#[test]
fn an_idle_association_holds_less_than_a_kibibyte() {
    let each = held(Server::IDLE);
    println!("each holds {each} bytes");
    assert!(each < 1_024, "{each} bytes");
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
