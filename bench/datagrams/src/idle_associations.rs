//! What associations hold in a server: `idle-associations [COUNT] [--json]`. See ../README.md.

use std::time::{Duration, Instant};
use std::{env, fs, mem, process};

use allocation_counter::measure;
use tessera::Time;
use tessera_datagram_bench::KEY_OF_AWS_LC;
use tessera_datagram_bench::server::{Server, after, path};
use tessera_endpoint::FrozenAssociation;
use tessera_vault::{ServerState, StateKey, StateOptions};

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
    let restart = Restart::of(server, now);
    server = restart.server;
    let mut refreshed = 0;
    for (path, (client, _)) in &mut probes {
        let mut datagram = Vec::new();
        client.write(b"still there", &mut datagram).expect("writes");
        refreshed += server.deliver(now, *path, &mut datagram).1;
    }
    assert_eq!(refreshed, probes.len() * b"still there".len());
    let each = |bytes: i64| bytes / i64::from(count);
    let awake_each = each(awake.bytes_current) + 2 * KEY_OF_AWS_LC;
    let asleep_each = each(awake.bytes_current + saved.bytes_current);
    let resident_each = each(resident_awake - resident_before);
    let resident_asleep_each = each(resident_asleep - resident_before);
    if env::args().any(|argument| argument == "--json") {
        println!(
            "{{\"associations\": {count}, \"awake\": {awake_each}, \"asleep\": {asleep_each}, \
             \"resident_awake\": {resident_each}, \"resident_after_sleep\": {resident_asleep_each}, \
             \"in_file\": {}, \"restart_millis\": {:?}}}",
            restart.file_bytes_each,
            restart.steps.map(|step| step.as_millis())
        );
        return;
    }
    println!("bytes of each of {count} associations in one endpoint   heap  resident");
    println!("{:<54} {awake_each:>6}   {resident_each:>7}", "awake");
    println!("{:<54} {asleep_each:>6}   {resident_asleep_each:>7}", "idle");
    println!("{:<54} {:>6}", "in the file of a graceful restart", restart.file_bytes_each);
    let [out, sealed, opened, back] = restart.steps;
    println!(
        "moved out in {out:?}, sealed in {sealed:?}, opened in {opened:?}, moved in in {back:?}"
    );
}

/// What a graceful restart costs.
struct Restart {
    server: Server,
    file_bytes_each: u64,
    steps: [Duration; 4],
}

impl Restart {
    /// Moves all associations through a state into the next server.
    fn of(mut server: Server, now: Time) -> Self {
        let directory = env::temp_dir().join(format!("idle-associations-{}", process::id()));
        let key = || StateKey::new(Box::new([7; StateKey::LEN].into()));
        let open = || {
            let (provider, options) = (tessera_aws_lc::provider(), StateOptions::default());
            ServerState::open(&directory, &[key()], &provider, options, UNIX).expect("a directory")
        };
        let count = server.endpoint.len();
        let mut last = Instant::now();
        let mut lap = || mem::replace(&mut last, Instant::now()).elapsed();
        let state = open();
        lap();
        let frozen: Vec<_> = server
            .endpoint
            .ids()
            .into_iter()
            .filter_map(|id| server.endpoint.freeze(id, now))
            .collect();
        assert_eq!((frozen.len(), server.endpoint.len()), (count, 0));
        let out = lap();
        let bytes = frozen.into_iter().map(FrozenAssociation::into_bytes).collect();
        state.close_with(bytes, UNIX).expect("room");
        let sealed = lap();
        let file = fs::metadata(directory.join("associations")).expect("a file").len();
        drop(state);
        let mut server = server.next(count);
        lap();
        let frozen = open().take_associations().expect("whole");
        let opened = lap();
        for bytes in frozen {
            server.endpoint.thaw(FrozenAssociation::new(bytes), now).expect("thaws");
        }
        let back = lap();
        fs::remove_dir_all(directory).expect("is there");
        Self { server, file_bytes_each: file / count as u64, steps: [out, sealed, opened, back] }
    }
}

/// A time since the Unix epoch.
const UNIX: Duration = Duration::from_secs(1_800_000_000);

/// How many associations have a client that continues.
const PROBES: u32 = 10;

/// Returns how much memory of the process is resident, in bytes.
fn resident() -> i64 {
    const PAGE: i64 = 4096;
    let statm = fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<i64>().ok());
    pages.expect("a number") * PAGE
}
