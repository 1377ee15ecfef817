//! `tessera lab bithac`.

use std::path::PathBuf;

use clap::Args;
use tessera_lab::bithac::{self, CertificateWay, Certificates, Part};
use tessera_lab::{Destination, Options};
use tessera_link::LinkParameters;

use super::experiment::GridArguments;
use super::values;

/// The options of the experiment.
#[derive(Args)]
pub(crate) struct BithacArguments {
    /// What to measure, separated by commas: bytes (one connection of each way and MTU), losses (the same with packet
    /// loss, several connections each), times (24 cells), datagrams (handshakes of DTLS 1.3 in virtual time, with and
    /// without packet loss: bytes, packets, times, what was sent again), work (in memory, with chains of one to four
    /// certificates), hits (the same with caches that know only some peers), memory (of up to 64 remembered peers, and of
    /// very many clients; only if the program was built with `--features heap`).
    #[arg(long, value_name = "PARTS", value_delimiter = ',', default_value = Part::DEFAULT, value_parser = part)]
    parts: Vec<Part>,

    /// The ways to connect, separated by commas: full, zlib, raw-keys, psk-dhe and 0rtt-fs; cached, which is
    /// cached-first where neither end knows the other, and cached-miss where what they know is useless; the same as
    /// paper, paper-first and paper-miss in the forms of RFC 7924 and BiTHaC, and rfc7924 for the server's chain alone
    /// (these over links only); and known (in memory only), whose chains are sent whole and not verified again
    /// [default: all].
    #[arg(long, value_name = "WAYS", value_delimiter = ',',
          hide_default_value = true, default_values_t = CertificateWay::ALL, value_parser = way)]
    ways: Vec<CertificateWay>,

    /// The keys of the certificates, separated by commas: rsa-2048, rsa-4096, p-256, ml-dsa-44, ml-dsa-65, ml-dsa-87
    /// [default: all].
    #[arg(long, value_name = "KEYS", value_delimiter = ',',
          hide_default_value = true, default_values_t = Certificates::ALL, value_parser = certificates)]
    certificates: Vec<Certificates>,

    /// The largest IP packets of `bytes`, `losses` and `datagrams`, in bytes, separated by commas; `datagrams` takes
    /// those below 1228, since longer ones hold any datagram.
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "1500,576,127",
          value_parser = clap::value_parser!(u16).range(96..))]
    mtu: Vec<u16>,

    /// The loss rates of `losses` and `datagrams`, to which the latter adds none: percentages such as 1%, or numbers from
    /// 0 to 1, separated by commas.
    #[arg(long, value_name = "SHARES", value_delimiter = ',', default_value = "1%,5%", value_parser = values::share)]
    loss: Vec<f64>,

    /// How many connections are measured for each cell of `times`; one for `bytes`, a fifth as many for `losses`, ten
    /// times as many in memory and for `datagrams` with losses.
    #[arg(long, value_name = "N", default_value_t = 20,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    repetitions: usize,

    /// How many clients with P-256 certificates a server's cache remembers for `memory`: a million take half a
    /// gigabyte.
    #[arg(long, value_name = "N", default_value_t = 1_000_000,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    clients: u64,

    #[command(flatten)]
    grid: GridArguments,

    /// Writes the report as a page with plots to this file. `-` is standard output.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

fn part(name: &str) -> Result<Part, String> {
    let known = Part::ALL.into_iter().find(|part| part.name() == name);
    known.ok_or_else(|| format!("parts are {}", Part::ALL.map(Part::name).join(", ")))
}

fn way(name: &str) -> Result<CertificateWay, String> {
    name.parse()
}

fn certificates(name: &str) -> Result<Certificates, String> {
    name.parse()
}

impl From<BithacArguments> for bithac::Options {
    fn from(arguments: BithacArguments) -> Self {
        let BithacArguments {
            parts,
            ways,
            certificates,
            mtu,
            loss,
            repetitions,
            clients,
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
        let resume = grid.resume;
        Self { common, parts, ways, certificates, mtus: mtu, losses: loss, clients, resume }
    }
}
