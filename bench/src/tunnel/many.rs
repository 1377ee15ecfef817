//! Whether anything is lost: 5,000 connections at once, and reloads under load.

use std::thread;
use std::time::{Duration, Instant};

use crate::Failure;
use crate::load::{self, ConnectionLog, Open};
use crate::options::Options;
use crate::proxies::Proxies;
use crate::report::Report;
use crate::scene::Scene;
use crate::ways::X25519;

const ECHOED: usize = 1000;
/// Connections that are open during the reloads.
const STAYING: usize = 200;
/// Clients that come and go during the reloads.
const COMING: usize = 16;
const RELOADS: usize = 10;
const BETWEEN: Duration = Duration::from_millis(300);

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let count = options.count(5000);
    let scene = Scene::new(options)?;
    let notes = format!("{count} connections at once; {RELOADS} reloads of both ends under load");
    let mut report = Report::new("errors", "connections", notes);
    let mut lost = 0.0;
    for way in scene.ways(&[X25519]) {
        let proxies = scene.start(way, false)?;
        let errors = at_once(&scene, &proxies, count)?;
        report.add(way, "at once", errors as f64);
        if way.is_ours() {
            lost += errors as f64;
            let errors = reloads(&scene, &proxies)?;
            report.add(way, "reloads under load", errors as f64);
            lost += errors as f64;
        }
    }
    report.finish(options.json, None)?;
    if lost == 0.0 { Ok(()) } else { Err(format!("{lost} connections were lost").into()) }
}

/// Opens this many connections, and has each echo twice: when it is new, and when all are open.
fn at_once(scene: &Scene<'_>, proxies: &Proxies, count: usize) -> Result<usize, Failure> {
    let began = Instant::now();
    let (open, mut errors) = scene.runtime.block_on(load::open(proxies.address, count, ECHOED));
    let opened = began.elapsed();
    errors.extend(scene.runtime.block_on(again(open)).0);
    tell(proxies, &errors);
    eprintln!("{}: {count} opened within {:.1} s", proxies.way.name, opened.as_secs_f64());
    Ok(errors.len())
}

/// Has each echo once more, one after the other; returns the errors, and the connections that live.
async fn again(open: Vec<Open>) -> (Vec<std::io::Error>, Vec<Open>) {
    let (mut errors, mut living) = (Vec::new(), Vec::new());
    for mut open in open {
        match load::within(open.again(ECHOED)).await {
            Ok(()) => living.push(open),
            Err(error) => errors.push(error),
        }
    }
    (errors, living)
}

/// Reloads both ends repeatedly, while some connections stay and others come and go.
fn reloads(scene: &Scene<'_>, proxies: &Proxies) -> Result<usize, Failure> {
    let (mut open, mut errors) =
        scene.runtime.block_on(load::open(proxies.address, STAYING, ECHOED));
    let until = Instant::now() + BETWEEN * (RELOADS as u32 + 2);
    let coming = scene.runtime.spawn(come_and_go(proxies.address, until));
    for _ in 0..RELOADS {
        thread::sleep(BETWEEN);
        proxies.reload()?;
        let (failed, living) = scene.runtime.block_on(again(open));
        errors.extend(failed);
        open = living;
    }
    let made = scene.runtime.block_on(coming)?;
    eprintln!("{}: {} connections during the reloads", proxies.way.name, made.latencies.len());
    errors.extend(made.errors);
    errors.extend(scene.runtime.block_on(again(open)).0);
    tell(proxies, &errors);
    Ok(errors.len())
}

async fn come_and_go(to: std::net::SocketAddr, until: Instant) -> ConnectionLog {
    let mut all = ConnectionLog::default();
    while Instant::now() < until {
        let made = load::connections(to, COMING * 4, COMING, ECHOED).await;
        all.latencies.extend(made.latencies);
        all.errors.extend(made.errors);
    }
    all
}

fn tell(proxies: &Proxies, errors: &[std::io::Error]) {
    for error in errors.iter().take(3) {
        eprintln!("{}: {error}", proxies.way.name);
    }
}
