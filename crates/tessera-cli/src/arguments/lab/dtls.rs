//! `tessera lab dtls`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use tessera_lab::mobile::program::{ClientOptions, ServerOptions};
use tessera_lab::mobile::{self, Arm, Detection, Part, Through};
use tessera_lab::{Destination, Options, Share};
use tessera_link::LinkParameters;

use super::experiment::GridArguments;

/// The options of the experiment.
#[derive(Args)]
pub(crate) struct DtlsArguments {
    /// Which factors differ from the paper's run, one at a time, separated by commas: paper (none: both readings of its
    /// time-out, one and two interfaces), detection, change (what happens at a hand-over), delay, loss, outage,
    /// nat [default: all].
    #[arg(long, value_name = "PARTS", value_delimiter = ',',
          hide_default_value = true, default_values_t = Part::ALL, value_parser = part)]
    parts: Vec<Part>,

    /// What carries datagrams: virtual (both ends in one thread, in virtual time; ours alone), or sockets (two programs
    /// over the kernel's UDP and an emulated link, which needs root or a system that allows user namespaces), separated
    /// by commas.
    #[arg(long, value_name = "WAYS", value_delimiter = ',', default_value = "virtual", value_parser = through)]
    through: Vec<Through>,

    /// The arms, separated by commas: full, psk-dhe and 0rtt-fs connect again; ipc, tcs, cid, cid-rrc and cid-rrc-strict go on;
    /// those of other stacks, which run over sockets and need --peers, are openssl-full, openssl-session-id,
    /// openssl-ticket, openssl-ipc, openssl-tcs, pion-cid, scandium-cid and quinn-rebind [default: all].
    #[arg(long, value_name = "ARMS", value_delimiter = ',',
          hide_default_value = true, default_values_t = Arm::ALL, value_parser = arm)]
    arms: Vec<Arm>,

    /// How many runs each cell in virtual time has, each with a seed of its own.
    #[arg(long, value_name = "N", default_value_t = 20,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    repetitions: usize,

    /// How many runs the cells of the paper's run have over sockets; the others there have one.
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1_000))]
    socket_repetitions: usize,

    /// How many acknowledgements a run has; with fewer than 600, an interface goes down 2.5 s after it was up, and not
    /// every 10 s [default: the paper's 600; over sockets, where a factor differs, 60].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    acks: Option<u32>,

    /// The directory with the programs of other stacks: openssl-peer, pion-peer, scandium-peer, quinn-peer.
    #[arg(long, value_name = "DIRECTORY")]
    peers: Option<PathBuf>,

    /// Only the N-th of M parts of the cells, written N/M, to divide them among runs with a journal each. Journals of
    /// the same program, machine and seed can then be joined: the first line of one, and all lines but the first of
    /// each.
    #[arg(long, value_name = "N/M")]
    share: Option<Share>,

    #[command(flatten)]
    grid: GridArguments,

    /// Writes the report as a page with plots to this file. `-` is standard output.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

fn part(name: &str) -> Result<Part, String> {
    name.parse()
}

fn through(name: &str) -> Result<Through, String> {
    name.parse()
}

fn arm(name: &str) -> Result<Arm, String> {
    name.parse()
}

impl From<DtlsArguments> for mobile::Options {
    fn from(arguments: DtlsArguments) -> Self {
        let DtlsArguments {
            parts,
            through,
            arms,
            repetitions,
            socket_repetitions,
            acks,
            peers,
            share,
            grid,
            report,
        } = arguments;
        let common = Options {
            repetitions,
            rtts: None,
            link: grid.link.into(),
            parameters: LinkParameters { seed: grid.seed, ..LinkParameters::default() },
            modes: Vec::new(),
            fast_open: false,
            json: grid.json.as_deref().map(Destination::named),
            page: report.as_deref().map(Destination::named),
        };
        let (socket_runs, resume) = (socket_repetitions, grid.resume);
        Self { common, socket_runs, parts, through, arms, acks, peers, share, resume }
    }
}

/// One end over sockets, with the options of all stacks' programs.
#[derive(Subcommand)]
pub(crate) enum DtlsEnd {
    /// The server.
    Server(DtlsServer),
    /// The client.
    Client(DtlsClient),
}

/// The options of the server.
#[derive(Args)]
pub(crate) struct DtlsServer {
    #[arg(long, value_parser = arm)]
    arm: Arm,
    #[arg(long)]
    listen: SocketAddr,
    #[arg(long)]
    certificate: PathBuf,
    #[arg(long)]
    key: PathBuf,
    #[arg(long)]
    restarts: bool,
}

/// The options of the client.
#[derive(Args)]
pub(crate) struct DtlsClient {
    #[arg(long, value_parser = arm)]
    arm: Arm,
    #[arg(long)]
    connect: SocketAddr,
    #[arg(long)]
    ca: PathBuf,
    #[arg(long, value_delimiter = ',')]
    sources: Vec<IpAddr>,
    #[arg(long)]
    acks: u32,
    #[arg(long)]
    pace_ms: u64,
    #[arg(long)]
    timeout_ms: u64,
    #[arg(long)]
    timeouts: u32,
    #[arg(long, value_parser = detection)]
    detection: Detection,
    #[arg(long)]
    restarts: bool,
}

fn detection(name: &str) -> Result<Detection, String> {
    name.parse()
}

impl From<DtlsServer> for ServerOptions {
    fn from(arguments: DtlsServer) -> Self {
        let DtlsServer { arm, listen: address, certificate, key, restarts } = arguments;
        Self { arm, address, certificate, key, restarts }
    }
}

impl From<DtlsClient> for ClientOptions {
    fn from(arguments: DtlsClient) -> Self {
        let DtlsClient {
            arm,
            connect,
            ca,
            sources,
            acks,
            pace_ms,
            timeout_ms,
            timeouts,
            detection,
            restarts,
        } = arguments;
        let [pace, timeout] = [pace_ms, timeout_ms].map(Duration::from_millis);
        Self {
            arm,
            server: connect,
            ca,
            addresses: sources,
            acks,
            pace,
            timeout,
            timeouts,
            detection,
            restarts,
        }
    }
}
