//! How many resumed connections per second `tessera connect` makes, compared with a rustls client, against the same
//! server in the same run. Started by `bench/connect-rate`.

mod rustls_client;

use std::error::Error;
use std::process::Command;

use serde_json::Value;
use tessera_bench::ServedProgram;

/// The program's own allocator, for both clients.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const GROUP: &str = "X25519";
const SUITE: &str = "TLS_AES_128_GCM_SHA256";

/// One client's connections of one round.
struct Rate {
    per_second: f64,
    resumed: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["rustls", address, certificate, count, parallel] => {
            rustls_client::run(address, certificate, count.parse()?, parallel.parse()?)
        }
        [program, count, rounds, parallel @ ..] => {
            for parallel in parallel {
                compare(program, count.parse()?, rounds.parse()?, parallel.parse()?)?;
            }
            Ok(())
        }
        _ => Err("connect-rate PROGRAM COUNT ROUNDS PARALLEL...".into()),
    }
}

fn compare(program: &str, count: u64, rounds: usize, parallel: u64) -> Result<(), Box<dyn Error>> {
    let certificate = std::env::temp_dir().join(format!("connect-rate-{}.pem", std::process::id()));
    let certificate = certificate.to_str().ok_or("a temporary directory with a readable name")?;
    let options = ["--groups", GROUP, "--suites", SUITE, "--tickets", "8"];
    let mut with_certificate = options.to_vec();
    with_certificate.extend(["--name", "localhost", "--write-certificate", certificate]);
    let server = ServedProgram::start(program, &with_certificate)?;

    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        // The order alternates between rounds.
        for first in [round % 2 == 0, round % 2 != 0] {
            let rate = if first {
                tessera(program, &server, count, parallel)?
            } else {
                rustls(&server, certificate, count, parallel)?
            };
            if rate.resumed != count {
                return Err(format!("{} of {count} connections resumed", rate.resumed).into());
            }
            if first { &mut ours } else { &mut theirs }.push(rate.per_second);
        }
    }
    std::fs::remove_file(certificate)?;
    let (ours, theirs) = (median(ours), median(theirs));
    println!(
        "{parallel} at a time: tessera {ours:.0}/s, rustls {theirs:.0}/s, ratio {:.2} \
         (medians of {rounds} rounds of {count} connections; psk_dhe_ke, {GROUP}, {SUITE})",
        ours / theirs
    );
    Ok(())
}

fn tessera(
    program: &str,
    server: &ServedProgram,
    count: u64,
    parallel: u64,
) -> Result<Rate, Box<dyn Error>> {
    let (count, parallel) = (count.to_string(), parallel.to_string());
    let mut command = Command::new(program);
    command.args(["connect", &server.address, "--fingerprint", &server.fingerprint]);
    command.args(["--count", &count, "--parallel", &parallel, "--mode", "psk-dhe", "--json", "-"]);
    command.args([
        "--groups",
        GROUP,
        "--suites",
        SUITE,
        "--tickets",
        "8",
        "--server-name",
        "localhost",
    ]);
    rate(command)
}

fn rustls(
    server: &ServedProgram,
    certificate: &str,
    count: u64,
    parallel: u64,
) -> Result<Rate, Box<dyn Error>> {
    let (count, parallel) = (count.to_string(), parallel.to_string());
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["rustls", &server.address, certificate, &count, &parallel]);
    rate(command)
}

fn rate(mut command: Command) -> Result<Rate, Box<dyn Error>> {
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    let told: Value = serde_json::from_slice(&output.stdout)?;
    Ok(Rate {
        per_second: told["handshakes_per_second"].as_f64().ok_or("no rate")?,
        resumed: told["resumed"].as_u64().ok_or("no count")?,
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
