//! What idle and hostile connections cost `tessera serve`. Started by `bench/idle-connections`.

mod flood;
mod idle;

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::Value;
use tessera_bench::ServedProgram;
use tessera_bench::usage::resident;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, count, flooders] = arguments.as_slice() else {
        return Err("idle-connections PROGRAM COUNT FLOODERS".into());
    };
    let (count, flooders): (usize, usize) = (count.parse()?, flooders.parse()?);
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(program, count, flooders))
}

async fn measure(program: &str, count: usize, flooders: usize) -> Result<(), Box<dyn Error>> {
    // All clients come from one address.
    let server = ServedProgram::start(program, &["--max-connections-per-address", "100000"])?;
    // Memory that the process keeps is allocated before the first count.
    drop(idle::connections(&server, 200).await?);
    load(program, &server)?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = resident(server.id())?;
    let idle = idle::connections(&server, count).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let each = resident(server.id())?.saturating_sub(before) / count as u64;
    println!("{count} idle connections: {each} bytes of resident memory each (limit 16,384)");

    let calm = load(program, &server)?;
    println!("handshakes meanwhile: {calm}");
    for kind in [flood::Kind::SlowLoris, flood::Kind::Garbage, flood::Kind::Records] {
        let flood = flood::Flood::start(kind, server.address.parse()?, flooders);
        tokio::time::sleep(Duration::from_secs(2)).await;
        let flooded = load(program, &server)?;
        let sent = flood.stop();
        let ratio = flooded.p99 as f64 / calm.p99 as f64;
        println!(
            "with {flooders} times {kind:?} ({sent} connections): {flooded}; p99 ratio {ratio:.2}"
        );
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let after = resident(server.id())?.saturating_sub(before) / count as u64;
    println!("after the floods: {after} bytes for each idle connection");

    let mut idle = idle;
    let hostile = idle.split_off(count.saturating_sub(flooders));
    let dripping = flood::drip(hostile);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let flooded = load(program, &server)?;
    let ratio = flooded.p99 as f64 / calm.p99 as f64;
    println!("with {} of them dripping a record: {flooded}; p99 ratio {ratio:.2}", dripping.len());
    drop((idle, dripping));
    Ok(())
}

/// Handshakes of honest clients, in microseconds.
struct Latency {
    median: u64,
    p99: u64,
}

impl std::fmt::Display for Latency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "median {} us, p99 {} us", self.median, self.p99)
    }
}

/// Measures full handshakes, one at a time.
fn load(program: &str, server: &ServedProgram) -> Result<Latency, Box<dyn Error>> {
    let output = Command::new(program)
        .args(["connect", &server.address, "--fingerprint", &server.fingerprint])
        .args(["--count", "2000", "--mode", "full", "--json", "-"])
        .output()?;
    let told: Value = serde_json::from_slice(&output.stdout)?;
    if told["failed"] != 0 {
        return Err(format!("honest clients failed: {told}").into());
    }
    let micros = |name: &str| told[name].as_u64().ok_or("no latency");
    Ok(Latency { median: micros("median_micros")?, p99: micros("p99_micros")? })
}
