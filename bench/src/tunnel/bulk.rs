//! The processor time of both ends for each byte, on loopback: one stream of 1 GiB, and 64 streams that
//! share as much.

use std::thread;
use std::time::Duration;

use crate::Failure;
use crate::load::{self, Direction};
use crate::options::Options;
use crate::proxies::Proxies;
use crate::report::{Aim, Report};
use crate::scene::Scene;
use crate::ways::X25519;

/// Simultaneous streams, their direction, and the name of the row.
const LOADS: [(usize, Direction, &str); 4] = [
    (1, Direction::ToServer, "one stream to the server"),
    (1, Direction::ToClient, "one stream to the client"),
    (64, Direction::ToServer, "64 streams to the server"),
    (64, Direction::ToClient, "64 streams to the client"),
];
const AIM: Aim = Aim { of_haproxy: 1.0, of_stunnel: 1.0, of_haproxy_aws_lc: 1.0, of_better: true };

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let (rounds, mebibytes) = (options.rounds(5), options.count(1024));
    let scene = Scene::new(options)?;
    let mut all = Vec::new();
    for way in scene.ways(&[X25519]) {
        all.push(scene.start(way, false)?);
    }
    let notes = format!("{rounds} rounds of {mebibytes} MiB");
    let mut report = Report::new("processor time of both ends per GiB", "ms", notes);
    for _ in 0..rounds {
        for (streams, direction, name) in LOADS {
            for proxies in &all {
                let used = measure(&scene, proxies, streams, (mebibytes << 20) as u64, direction)?;
                let gibibytes = mebibytes as f64 / 1024.0;
                report.add(proxies.way, name, used.as_secs_f64() * 1e3 / gibibytes);
            }
        }
    }
    report.finish(options.json, Some((&[X25519], AIM)))
}

fn measure(
    scene: &Scene<'_>,
    proxies: &Proxies,
    streams: usize,
    bytes: u64,
    direction: Direction,
) -> Result<Duration, Failure> {
    let before = proxies.processor_time()?;
    let sent = load::streams(proxies.address, streams, bytes, direction);
    scene.runtime.block_on(sent).map_err(|error| format!("{}: {error}", proxies.way.name))?;
    // Includes what the ends do after the last byte.
    thread::sleep(Duration::from_millis(50));
    Ok(proxies.processor_time()? - before)
}
