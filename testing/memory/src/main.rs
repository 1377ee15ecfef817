//! Reads the memory of programs whose connections have ended, and looks for what opens them.
#![forbid(unsafe_code)]

mod attack;
mod configuration;
mod marks;
mod pki;
mod process;
mod recorder;
mod tape;
mod traffic;
mod way;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use serde::Serialize;

use attack::{Attacked, attack};
use pki::Pki;
use process::{Process, serve};
use recorder::Recorder;
use traffic::Client;
use way::Way;

/// What went wrong, as words.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// Reads the memory of `tessera serve` and `tessera connect` after connections have ended, and looks in
/// it for everything that would open them.
#[derive(Parser)]
struct Arguments {
    /// The program to attack.
    #[arg(long, value_name = "FILE", default_value = "target/release/tessera")]
    program: PathBuf,

    /// After how many connections the memory is read.
    #[arg(long, value_delimiter = ',', default_value = "1,30")]
    connections: Vec<usize>,

    /// The ways to connect; all by default.
    #[arg(long, value_delimiter = ',', value_enum)]
    ways: Vec<Way>,

    /// Writes the results as JSON.
    #[arg(long)]
    json: bool,
}

/// What came of one attack.
#[derive(Serialize)]
struct Row {
    attacked: &'static str,
    way: String,
    connections: usize,
    result: Attacked,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing was found.
#[tokio::main]
async fn run(arguments: &Arguments) -> Result<bool, Error> {
    let ways = if arguments.ways.is_empty() { Way::value_variants() } else { &arguments.ways };
    let pki = Pki::new()?;
    let mut clean = true;
    for way in ways.iter().filter(|way| way.is_served()) {
        let (process, address) = Process::server(serve(&arguments.program, *way, pki.directory()))?;
        let recorder: &'static Recorder = Box::leak(Box::default());
        let client = Client::new(*way, address, recorder.provider(), pki.directory())?;
        let mut captures = Vec::new();
        for count in &arguments.connections {
            captures.extend(client.connect(*count, PARALLEL).await?);
            tokio::time::sleep(PAUSE).await;
            let snapshot = process.read()?;
            let result = attack(&snapshot, recorder, &client.marks, &captures);
            clean &= result.findings.is_empty();
            tell(
                arguments,
                &Row { attacked: "server", way: way.to_string(), connections: *count, result },
            )?;
        }
    }
    Ok(clean)
}

fn tell(arguments: &Arguments, row: &Row) -> Result<(), Error> {
    if arguments.json {
        println!("{}", serde_json::to_string(row)?);
        return Ok(());
    }
    let Attacked { bytes, threads, known, tried, recordings, findings } = &row.result;
    println!(
        "{} {} after {} more connections: {:.1} MB, {threads} threads, {known} known values, {tried} \
         strings tried on {recordings} recordings: {}",
        row.attacked,
        row.way,
        row.connections,
        *bytes as f64 / 1e6,
        if findings.is_empty() { "nothing found" } else { "FOUND" },
    );
    for finding in findings {
        println!(
            "  {:<52} {:<5} {:>4} secrets {:>5} copies",
            finding.secret, finding.kind, finding.secrets, finding.copies
        );
        for place in &finding.places {
            println!("      {place}");
        }
    }
    Ok(())
}

/// How many connections there are at a time.
const PARALLEL: usize = 8;

/// How long after the last connection's end the memory is read.
const PAUSE: Duration = Duration::from_millis(100);
