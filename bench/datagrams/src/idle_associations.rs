//! What associations hold in a server: `idle-associations [COUNT] [--json]`. See ../README.md.

use std::time::Duration;
use std::{env, fs};

use allocation_counter::measure;
use tessera_datagram_bench::KEY_OF_AWS_LC;
use tessera_datagram_bench::server::{Server, after, path};

fn main() {
    let count = env::args().skip(1).find_map(|argument| argument.parse::<u32>().ok());
    let count = count.unwrap_or(100_000);
    let mut server = Server::new(count as usize + PROBES as usize);
    // What is made once for all, and associations that must still work afterwards.
    let mut probes: Vec<_> = (0..PROBES)
        .map(|number| (path(number), server.connect(path(number), after(Duration::ZERO))))
        .collect();
    let resident_before = resident();
    let awake = measure(|| {
        for number in PROBES..PROBES + count {
            let _ = server.connect(path(number), after(Duration::ZERO));
        }
    });
    let resident_awake = resident();
    let saved = measure(|| server.pass(Server::IDLE));
    assert_eq!(server.endpoint.idle_len(), server.endpoint.len());
    let resident_asleep = resident();
    let now = after(Server::IDLE);
    for (path, (client, _)) in &mut probes {
        let mut datagram = Vec::new();
        client.write(b"still there", &mut datagram).expect("writes");
        assert_eq!(server.deliver(now, *path, &mut datagram).1, b"still there".len());
    }
    let each = |bytes: i64| bytes / i64::from(count);
    let awake_each = each(awake.bytes_current) + 2 * KEY_OF_AWS_LC;
    let asleep_each = each(awake.bytes_current + saved.bytes_current);
    let resident_each = each(resident_awake - resident_before);
    let resident_asleep_each = each(resident_asleep - resident_before);
    if env::args().any(|argument| argument == "--json") {
        println!(
            "{{\"associations\": {count}, \"awake\": {awake_each}, \"asleep\": {asleep_each}, \
             \"resident_awake\": {resident_each}, \"resident_after_sleep\": {resident_asleep_each}}}"
        );
        return;
    }
    println!("bytes of each of {count} associations in one endpoint   heap  resident");
    println!("{:<54} {awake_each:>6}   {resident_each:>7}", "awake");
    println!("{:<54} {asleep_each:>6}   {resident_asleep_each:>7}", "idle");
}

/// How many associations have a client that continues.
const PROBES: u32 = 10;

/// Returns how much memory of the process is resident, in bytes.
fn resident() -> i64 {
    const PAGE: i64 = 4096;
    let statm = fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<i64>().ok());
    pages.expect("a number") * PAGE
}
