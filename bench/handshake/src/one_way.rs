//! Connects in one way, for callgrind to count: `one-way WAY COUNT`. Collect the function `server_reads`; see README.md.

use std::env;
use std::process::ExitCode;

use tessera_handshake_bench::{NoMeter, Scene, WAYS};

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let count = arguments.next().and_then(|count| count.parse::<usize>().ok());
    let (Some(way), Some(count)) = (WAYS.iter().find(|way| way.name == name), count) else {
        let names: Vec<_> = WAYS.iter().map(|way| format!("{:?}", way.name)).collect();
        eprintln!("usage: one-way WAY COUNT, with WAY one of {}", names.join(", "));
        return ExitCode::from(2);
    };
    let scene = Scene::new(way, None);
    let mut session = scene.first(&mut NoMeter);
    for _ in 1..count {
        session = scene.next(session, &mut NoMeter);
    }
    ExitCode::SUCCESS
}
