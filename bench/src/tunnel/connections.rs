//! The processor time of both ends for a new, resumed connection with a small request and its answer, on loopback.

use std::thread;
use std::time::Duration;

use crate::options::Options;
use crate::proxies::Proxies;
use crate::report::{Aim, Report};
use crate::scene::Scene;
use crate::ways::{HYBRID, WITHOUT_EARLY_DATA, X25519, X25519_PSK_KE};
use crate::{Failure, load};

const AT_ONCE: usize = 1;
const REQUEST: usize = 100;
/// Not counted: the first connections allocate.
const WARM_UP: usize = 100;
const AIM: Aim =
    Aim { of_haproxy: 0.67, of_stunnel: 0.5, of_haproxy_aws_lc: 1.0, of_better: false };

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let (rounds, count) = (options.rounds(9), options.count(1000));
    let scene = Scene::new(options)?;
    let mut all = Vec::new();
    for way in scene.ways(&[X25519_PSK_KE, X25519, HYBRID, WITHOUT_EARLY_DATA]) {
        let telling = scene.start(way, true)?;
        measure(&scene, &telling, WARM_UP)?;
        telling.check_resumption(WARM_UP)?;
        drop(telling);
        let proxies = scene.start(way, false)?;
        measure(&scene, &proxies, WARM_UP)?;
        all.push(proxies);
    }
    let notes = format!("{rounds} rounds of {count} connections, {AT_ONCE} at a time");
    let mut report = Report::new("processor time of both ends per resumed connection", "µs", notes);
    for _ in 0..rounds {
        for proxies in &all {
            let used = measure(&scene, proxies, count)?;
            report.add(proxies.way, "", used.as_secs_f64() * 1e6 / count as f64);
        }
    }
    report.finish(options.json, Some((&[X25519_PSK_KE, WITHOUT_EARLY_DATA], AIM)))
}

/// Measures the processor time of this many connections.
fn measure(scene: &Scene<'_>, proxies: &Proxies, count: usize) -> Result<Duration, Failure> {
    let before = proxies.processor_time()?;
    let made = scene.runtime.block_on(load::connections(proxies.address, count, AT_ONCE, REQUEST));
    if let Some(error) = made.errors.first() {
        return Err(format!("{}: {error}", proxies.way.name).into());
    }
    // Includes what the ends do after the last connection.
    thread::sleep(Duration::from_millis(50));
    Ok(proxies.processor_time()? - before)
}
