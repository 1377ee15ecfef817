//! Reads the memory of programs whose connections have ended, and searches for secrets that decrypt them.
//!
//! ```text
//!   this process                                the process that is attacked
//!   an end that writes down every secret  <-->  tessera serve, tessera connect, or an end of our own
//!   searches ---------------------------------> its memory, while it stands still
//! ```
#![forbid(unsafe_code)]

mod attack;
mod configuration;
mod ends;
mod expanded;
mod keys_ahead;
mod marks;
mod pki;
mod process;
mod recorder;
mod rows;
mod slips;
mod tape;
mod way;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::{Parser, Subcommand, ValueEnum};
use nix::unistd::geteuid;
use tessera_kit::memory_guard;

use pki::Pki;
use rows::{OutputFormat, Rows};
use slips::Slip;
use way::Way;

/// An error as text.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// Reads the memory of `tessera serve` and `tessera connect` after connections have ended, and searches it for
/// everything that would decrypt them. Needs root.
#[derive(Parser)]
#[command(after_help = "\
Exit codes: 0 nothing was found, 1 something was, 2 the attack could not be made.
A place on a stack comes with return addresses above it: addr2line -Cfie PROGRAM OFFSET names them.")]
struct Arguments {
    /// The program to attack.
    #[arg(long, value_name = "FILE", default_value = "target/release/tessera")]
    program: PathBuf,

    /// The numbers of connections after which the memory is read, one attack each.
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_value = "1,30")]
    connections: Vec<usize>,

    /// The ways to connect; all by default.
    #[arg(long, value_name = "WAYS", value_delimiter = ',', value_enum)]
    ways: Vec<Way>,

    /// Attacks servers with one flaw each instead, and fails unless it finds every one.
    #[arg(long)]
    slips: bool,

    /// Writes one JSON object a line.
    #[arg(long)]
    json: bool,

    #[command(subcommand)]
    end: Option<End>,
}

/// The processes that this program starts.
#[derive(Subcommand)]
enum End {
    #[command(hide = true)]
    Server { way: Way, directory: PathBuf, slip: Option<Slip> },
    #[command(hide = true)]
    Client { way: Way, directory: PathBuf, server: std::net::SocketAddr, count: usize },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.end.is_none() && !geteuid().is_root() {
        return as_root();
    }
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs this program again as root, who alone can read the memory of a process that forbids it.
fn as_root() -> ExitCode {
    let sudo = || {
        let mut sudo = Command::new("sudo");
        sudo.arg("-n");
        sudo
    };
    let program = std::env::current_exe();
    if let (Ok(program), Ok(true)) =
        (program, sudo().arg("true").status().map(|status| status.success()))
    {
        let status = sudo().arg(program).args(std::env::args_os().skip(1)).status();
        let code = status.ok().and_then(|status| status.code());
        return ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(2));
    }
    eprintln!(
        "error: only root reads the memory of a process that forbids it: run this as root, or allow sudo \
         without a password"
    );
    ExitCode::from(2)
}

/// Returns whether all results are as expected.
#[tokio::main]
async fn run(arguments: &Arguments) -> Result<bool, Error> {
    if let Some(end) = &arguments.end {
        // As the programs do.
        let _ = memory_guard::raise();
        match end {
            End::Server { way, directory, slip } => {
                ends::server::run(*way, directory, *slip).await?
            }
            End::Client { way, directory, server, count } => {
                ends::connections::run(*way, directory, *server, *count).await?
            }
        }
        return Ok(true);
    }
    let pki = Pki::new()?;
    let told = OutputFormat { json: arguments.json };
    let rows = Rows { program: &arguments.program, pki: &pki, told };
    if arguments.slips {
        return rows.slips().await;
    }
    let ways = if arguments.ways.is_empty() { Way::value_variants() } else { &arguments.ways };
    let mut clean = true;
    for way in ways {
        clean &= rows.server(*way, &arguments.connections).await?;
        // No client of this test uses HTTP with a server of this test.
        let counts = if *way == Way::FsHttp { &[][..] } else { &arguments.connections };
        for count in counts {
            clean &= rows.client(*way, *count).await?;
        }
    }
    Ok(clean)
}
