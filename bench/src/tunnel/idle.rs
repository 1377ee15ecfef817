//! The resident memory of both ends for a connection that has echoed 4 kB and now is idle.

use std::thread;
use std::time::Duration;

use crate::options::Options;
use crate::report::{Aim, Report};
use crate::scene::Scene;
use crate::ways::X25519;
use crate::{Failure, load};

const ECHOED: usize = 4000;
/// Earlier connections, so that what they allocate is not attributed to idle ones.
const WARM_UP: usize = 20;
const AIM: Aim = Aim { of_haproxy: 0.3, of_stunnel: 0.1, of_haproxy_aws_lc: 1.0, of_better: false };

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let (rounds, count) = (options.rounds(3), options.count(1000));
    let scene = Scene::new(options)?;
    let notes = format!("{rounds} rounds of {count} connections");
    let mut report = Report::new("resident memory of both ends per idle connection", "KiB", notes);
    for _ in 0..rounds {
        for way in scene.ways(&[X25519]) {
            let proxies = scene.start(way, false)?;
            let made =
                scene.runtime.block_on(load::connections(proxies.address, WARM_UP, 2, ECHOED));
            if let Some(error) = made.errors.first() {
                return Err(format!("{}: {error}", way.name).into());
            }
            thread::sleep(Duration::from_millis(200));
            let before = proxies.resident()?;
            let (open, errors) = scene.runtime.block_on(load::open(proxies.address, count, ECHOED));
            if let Some(error) = errors.first() {
                return Err(format!("{}: {error}", way.name).into());
            }
            // The ends may release memory a moment later.
            thread::sleep(Duration::from_secs(2));
            let grown = proxies.resident()?.saturating_sub(before);
            report.add(way, "", grown as f64 / 1024.0 / count as f64);
            drop(open);
        }
    }
    report.finish(options.json, Some((&[X25519], AIM)))
}
