//! Options that the experiments of `tessera lab` share.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tessera_lab::{Destination, Mode, Options};
use tessera_link::{Congestion, LinkKind, LinkParameters};

use super::values;

/// Options that the experiments share.
#[derive(Args)]
pub(crate) struct CommonArguments {
    /// How many connections are measured for each row.
    #[arg(long, value_name = "N", default_value_t = 35,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    repetitions: usize,

    /// Round-trip times, separated by commas, each with a unit: us, ms or s [default: 0,33ms].
    #[arg(long, value_name = "TIMES", value_delimiter = ',', value_parser = values::duration)]
    rtt: Option<Vec<Duration>>,

    /// The packet loss: a percentage such as 1%, or a number from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = values::share)]
    loss: f64,

    /// The mean number of packets lost in a row; the total stays that of --loss. 1 loses each independently.
    #[arg(long, value_name = "PACKETS", default_value = "1", value_parser = values::burst)]
    loss_burst: f64,

    /// How long a packet waits behind others: the mean of an exponential distribution, per direction, as a percentage
    /// of the round-trip time such as 5%, or a time with a unit. Packets stay in order.
    #[arg(long, value_name = "MEAN", default_value = "0", value_parser = values::congestion)]
    congestion: Congestion,

    /// How much longer than usual a packet may take, with a unit: us, ms or s.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = values::duration)]
    jitter: Duration,

    /// The rate of the link, such as 10mbit (kbit, mbit or gbit per second); unlimited by default.
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    rate: Option<u64>,

    /// The largest IP packet, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 1500,
          value_parser = clap::value_parser!(u16).range(576..))]
    mtu: u16,

    /// The seed of the random numbers for loss, jitter and congestion: the same seed loses the same packets.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// How the link is made.
    #[arg(long, value_name = "KIND", default_value = "auto")]
    link: LinkArgument,

    /// Writes a report with its samples to this file; `-` is standard output, and moves the
    /// table to standard error.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Writes the report as a page to this file: plots, tables, verdicts and every sample, in one self-contained file.
    /// `-` is standard output.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl From<CommonArguments> for Options {
    fn from(arguments: CommonArguments) -> Self {
        let CommonArguments { loss, loss_burst, congestion, jitter, rate, mtu, seed, .. } =
            arguments;
        Self {
            repetitions: arguments.repetitions,
            rtts: arguments.rtt,
            link: arguments.link.into(),
            parameters: LinkParameters {
                loss,
                loss_burst,
                congestion,
                jitter,
                rate,
                mtu,
                seed,
                ..LinkParameters::default()
            },
            modes: Vec::new(),
            fast_open: false,
            json: arguments.json.as_deref().map(Destination::named),
            page: arguments.report.as_deref().map(Destination::named),
        }
    }
}

/// Options that experiments with a grid of cells share.
#[derive(Args)]
pub(crate) struct GridArguments {
    /// Records each finished cell in this file; a run with the same file and options continues where it stopped.
    #[arg(long, value_name = "FILE")]
    pub(super) resume: Option<PathBuf>,

    /// The seed of all random numbers, including those of links.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,

    /// How links are made.
    #[arg(long, value_name = "KIND", default_value = "auto")]
    pub(super) link: LinkArgument,

    /// Writes a report with its samples to this file; `-` is standard output, and moves the table to standard
    /// error.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
}

/// How the link is made.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LinkArgument {
    /// Emulated if the machine allows it, otherwise loopback.
    Auto,
    /// The loopback interface; nothing is emulated.
    Loopback,
    /// Emulated between two network namespaces.
    Tun,
}

impl From<LinkArgument> for LinkKind {
    fn from(link: LinkArgument) -> Self {
        match link {
            LinkArgument::Auto => Self::Auto,
            LinkArgument::Loopback => Self::Loopback,
            LinkArgument::Tun => Self::Tun,
        }
    }
}

/// A way to connect.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ModeArgument {
    /// Certificates on both sides, as in a first connection.
    Full,
    /// A ticket alone; no forward secrecy.
    PskOnly,
    /// A ticket and a key exchange.
    PskDhe,
    /// Early data as in RFC 8446; no forward secrecy for it.
    #[value(name = "0rtt")]
    ZeroRtt,
    /// Forward-secret early data.
    #[value(name = "0rtt-fs")]
    ZeroRttFs,
    /// Early data under a one-time PSK; forward-secret only if both ends actually delete it.
    #[value(name = "0rtt-fs-psk")]
    ZeroRttFsPsk,
    /// Replayable early data that no server remembers, to show what an adversary gains.
    #[value(name = "0rtt-unguarded")]
    ZeroRttUnguarded,
}

impl From<ModeArgument> for Mode {
    fn from(mode: ModeArgument) -> Self {
        match mode {
            ModeArgument::Full => Self::Full,
            ModeArgument::PskOnly => Self::PskOnly,
            ModeArgument::PskDhe => Self::PskDhe,
            ModeArgument::ZeroRtt => Self::ZeroRtt,
            ModeArgument::ZeroRttFs => Self::ZeroRttFs,
            ModeArgument::ZeroRttFsPsk => Self::ZeroRttFsPsk,
            ModeArgument::ZeroRttUnguarded => Self::ZeroRttUnguarded,
        }
    }
}
