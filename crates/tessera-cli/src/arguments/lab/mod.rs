//! `tessera lab`.

mod bithac;
mod dtls;
mod edge;
mod embedded;
mod experiment;
mod load;
mod results;
mod roaming;
mod traffic;
mod values;

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use tessera_lab::{Mode, Options, sites};
use tessera_link::End;

use self::bithac::BithacArguments;
use self::dtls::DtlsArguments;
pub(crate) use self::dtls::DtlsEnd;
use self::edge::EdgeArguments;
use self::embedded::EmbeddedArguments;
use self::experiment::{CommonArguments, ModeArgument};
use self::load::LoadArguments;
use self::results::ResultsArguments;
use self::roaming::RoamingArguments;
use self::traffic::TrafficArguments;

/// The experiments.
#[derive(Subcommand)]
pub(crate) enum Lab {
    /// Measures the cost and the protection of each way of reconnecting.
    ///
    /// A client and a server, in two processes, connect over the kernel's TCP and an emulated link: with full
    /// handshakes, with PSKs, with 0-RTT and with forward-secret 0-RTT. The table shows medians with 95 % confidence
    /// intervals; the report, as JSON or as a page with plots, has every sample.
    ///
    /// The emulated link needs root, or a system that allows user namespaces. Otherwise the lab reports this and runs
    /// on loopback.
    #[command(after_help = "\
Examples:
  tessera lab reconnect                                   all modes, at 0 and 33 ms; a minute or two
  tessera lab reconnect --modes psk-dhe,0rtt-fs           two modes only
  tessera lab reconnect --modes 0rtt-unguarded            what a replay does at unguarded servers
  tessera lab reconnect --modes 0rtt-fs --tcp-fast-open   first bytes after half a round trip
  tessera lab reconnect --rtt 5ms,80ms --loss 0.5%        two links, both losing packets
  tessera lab reconnect --loss 1% --loss-burst 3          packets lost three in a row
  tessera lab reconnect --congestion 5%                   packets wait for those of others
  tessera lab reconnect --rate 2mbit --mtu 1280           a slow link
  tessera lab reconnect --repetitions 101 --json out.json every sample, for other programs
  tessera lab reconnect --report out.html                 a page with plots, for a browser
  tessera lab reconnect --json - | jq '.rows[].mode'      the report on standard output")]
    Reconnect(ReconnectArguments),

    /// Measures what a client pays at a site that did not issue its ticket, where two sites share ticket keys.
    ///
    /// Each site has its own one-time keys. A flight that arrives at the other site is not accepted there: the home
    /// site burns its key, and only after it has acknowledged that may the client send again. Meanwhile an adversary
    /// sends the recorded flight to both sites; the request must be executed once.
    ///
    /// The client and the sites are three processes. The links between them are emulated as in `lab reconnect`; loss,
    /// congestion, jitter, rate and mtu are those of the client's link. The sites talk to each other over mutual TLS.
    /// The table shows medians; the report, as JSON or as a page with plots, has every sample, and shows up to which
    /// distance between the sites early data at the wrong one pays.
    #[command(after_help = "\
Examples:
  tessera lab sites                              at 0 and 33 ms, with 20 ms between the sites
  tessera lab sites --site-rtt 5ms,80ms          near sites and far ones
  tessera lab sites --rtt 10ms --loss 0.5%       a link that loses packets
  tessera lab sites --with-guessing-site         also a site that does not ask: executed twice
  tessera lab sites --site-rtt 5ms,20ms,80ms --report out.html
                                                 a page with plots, for a browser
  tessera lab sites --json - | jq '.rows[].path' the report on standard output")]
    Sites(SitesArguments),

    /// Measures many users that reconnect repeatedly, and the fail-over of all connections of a server at once.
    ///
    /// A client process with all users and a server process run at the two ends of an emulated link. Each user
    /// connects, registers a roaming subscriber (13 exchanges), leaves, and returns. A storm is a fail-over: a server
    /// with all connections is replaced by another with the same ticket keys and vault, and all return at once with one
    /// request. Tickets are made beforehand.
    ///
    /// The table shows how long the first accepted request, the response and the registration take, what a reconnection
    /// costs both processes, and how the server's processor time grows with the number of users.
    #[command(after_help = "\
Examples:
  tessera lab load                                  everything, at 134 ms; hours
  tessera lab load --storms 1000 --modes full,psk-dhe,0rtt-fs
                                                    a fail-over of 1,000 connections
  tessera lab load --users 1,10,100 --rtt 33ms      how it grows, nearer
  tessera lab load --resume cells.jsonl --json load.json
                                                    goes on where an earlier run stopped

Exit codes: 0 at least one cell was measured, 1 none could be, or something failed, 2 the options are invalid.")]
    Load(LoadArguments),

    /// Measures each way of reconnecting between two mobile networks: a paper's evaluation, on real links.
    ///
    /// The grid has each option of the paper (Lastre et al., Sensors 2025, 25, 6144), (a) to (e), with two suites,
    /// classical and post-quantum keys, and one-time keys in memory and in etcd: in memory, where only the engine
    /// counts; over the kernel's TCP and emulated links between cities, with and without loss and congestion; and
    /// through two SEPPs. Tickets are made beforehand. The report lists what could not be measured, with the reason: a
    /// link that the machine can't emulate, an etcd that isn't on PATH.
    #[command(after_help = "\
Examples:
  tessera lab roaming --cells through=engine        the engine alone; some minutes
  tessera lab roaming --cells 'option=c|e,link=seoul-los-angeles,loss=0,suite=0x1302'
                                                    two options, across the Pacific
  tessera lab roaming --cells 'kx=hybrid,option=c,loss=1%'
                                                    post-quantum keys, on links that lose packets
  tessera lab roaming --sample 3 --repetitions 20   three cells of the grid
  tessera lab roaming --resume cells.jsonl --json roaming.json --report roaming.html
                                                    everything, in hours; goes on where it stopped

Exit codes: 0 at least one cell was measured, 1 none could be, or something failed, 2 the options are invalid.")]
    Roaming(RoamingArguments),

    /// Measures what sizes and times of TLS records reveal to an observer on the path, with and without padding.
    ///
    /// A client connects in six ways (full handshakes, PSKs and early data) and performs one registration of a roaming
    /// subscriber (13 exchanges) on each connection. An observer without keys sees, at the client's end of the link,
    /// when TLS records pass, in which direction, and how long they are. A decision tree, trained on some connections,
    /// guesses the way of the others; the tables show how often it is right, by sizes, by times and by both, which ways
    /// it confuses, and what padding costs.
    ///
    /// The repetitions are connections per way and setting. The experiment needs the emulated link: root, or a system
    /// that allows user namespaces.
    #[command(after_help = "\
Examples:
  tessera lab traffic                                   at 0 and 33 ms, three paddings; about ten minutes
  tessera lab traffic --rtt 5ms --repetitions 10        a first look, within a minute
  tessera lab traffic --padding 0,256,1024              other paddings
  tessera lab traffic --json out.json --report out.html every flow, and a page for a browser
  tessera lab traffic --resume flows.jsonl --json out.json
                                                        goes on where an earlier run stopped
  tessera lab traffic --json - | jq '.confusion.tables[] | [.padding, .features, .accuracy]'")]
    Traffic(TrafficArguments),

    /// Measures what two ends with certificates send and compute when they reconnect: a paper's evaluation of cached
    /// handshakes, in TLS 1.3.
    ///
    /// Both ends have a chain of two certificates and connect in each of these ways: with both chains whole,
    /// compressed, or named by hash (BiTHaC over RFC 8879); with raw public keys; with a ticket; and with
    /// forward-secret early data. Bytes are counted by layer and direction, packet by packet, over links of three MTUs;
    /// times are measured over links from 20 kbit/s to 100 Mbit/s; and the computation of both ends in memory, with
    /// chains of one to four certificates. Handshakes over datagrams (DTLS 1.3) run in virtual time, with and without
    /// losses, so that a seed repeats them.
    ///
    /// It needs the emulated link: root, or a system that allows user namespaces; `--parts datagrams,work,hits,memory`
    /// needs neither.
    #[command(after_help = "\
Examples:
  tessera lab bithac                                    bytes, work, hits and memory; some minutes
  tessera lab bithac --certificates ml-dsa-65 --ways full,cached,raw-keys
                                                        post-quantum certificates in three ways
  tessera lab bithac --parts work --certificates p-256  the cost of verifying chains; no link
  tessera lab bithac --parts times --repetitions 7      24 cells; a quarter of an hour
  tessera lab bithac --parts datagrams --mtu 127 --loss 5%
                                                        DTLS 1.3 over small packets; some minutes, no link
  tessera lab bithac --parts bytes,losses,times,datagrams,work,hits,memory --resume cells --json all.json
                                                        everything, in hours; goes on where it stopped
  tessera lab bithac --json - | jq '.cells[] | [.way, .certificates, .samples[0].server.handshake]'")]
    Bithac(BithacArguments),

    /// Measures what a client sends and computes that comes to another edge proxy: a paper's evaluation.
    ///
    /// A client with a ticket of one proxy connects to another that has the same ticket keys (Catoni, Puliafito and Dini,
    /// "TLS 1.3 for Fast and Secure Edge Service Continuity in Smart Cities"): full and resumed, with X25519 and
    /// X25519MLKEM768. The paper lacks the others: a classical resumption of a hybrid handshake, HelloRetryRequest,
    /// forward-secret early data, also with a key that moved to the proxy or is burned where it is, a signer, links and
    /// losses, moves while the ticket keys rotate. The tables show bytes by flight, times, the operations of both ends, and
    /// the proxy's processor time at a fixed rate.
    ///
    /// Emulated links need root, or a system that allows user namespaces. Otherwise the lab reports this and runs on
    /// loopback.
    #[command(after_help = "\
Examples:
  tessera lab edge                                      over loopback and 20 ms; a minute
  tessera lab edge --parts operations --certificates rsa-2048,p-256,ml-dsa-65
                                                        what both ends compute
  tessera lab edge --parts handshakes --ways full,resumed --rtt 5ms,100ms
                                                        near and far
  tessera lab edge --repetitions 35 --connections 100 --rtt 5ms,20ms,50ms,100ms --loss 1% --json edge.json
                                                        as often as the paper")]
    Edge(EdgeArguments),

    /// Measures what a client that moves loses of its DTLS association, and how soon it goes on: a paper's evaluation.
    ///
    /// A client sends one message after the other and awaits its acknowledgement; every 10 s its interface goes down, and
    /// comes back with another address (Caminati et al., "Fast Session Resumption in DTLS for Mobile Communications"). It
    /// then connects again, in full, with a ticket or with forward-secret early data, or its association goes on under
    /// its connection IDs, with and without a check of the new address. The tables show the time for all
    /// acknowledgements, and from a usable path to the first new one, in its parts. The pace of messages and the time of
    /// an outage are the laboratory's: the paper names none.
    ///
    /// Ours run in virtual time, so that a seed repeats each datagram, and, as other stacks do, as programs over sockets
    /// and an emulated link, which needs root, or a system that allows user namespaces.
    #[command(after_help = "\
Examples:
  tessera lab dtls --parts paper --repetitions 3        the paper's run; seconds
  tessera lab dtls --arms full,cid-rrc --parts detection,change
                                                        two arms, and how they notice
  tessera lab dtls --through sockets --parts paper --arms openssl-full,openssl-tcs,cid-rrc --peers programs
                                                        three arms over sockets; half an hour
  tessera lab dtls --json dtls.json --report dtls.html  all in virtual time, and a page for a browser

Exit codes: 0 at least one cell was measured, 1 none could be, or something failed, 2 the options are invalid.")]
    Dtls(DtlsArguments),

    /// Measures what a client and a server take on a Cortex-M33: flash, memory and instructions.
    ///
    /// Builds the images of `firmware/` from a checkout and runs them in an emulator (QEMU's mps2-an505): a client alone,
    /// whose flash counts by section and by crate and which connects to OpenSSL, and both ends in one guest, whose stack,
    /// heap and instructions count by message. There is no network stack, and instructions are no cycles.
    ///
    /// Needs Debian's rustc-web, cargo-web, rust-web-src, lld, binutils, openssl and qemu-system-arm; each image takes a
    /// minute or two to build. A recorded report is shown without them.
    #[command(after_help = "\
Examples:
  tessera lab embedded --small                          all images, built small; some minutes
  tessera lab embedded --images psk --connections 2     one image, opt-level s
  tessera lab embedded --small --suites                 all images, and handshakes by suite
  tessera lab embedded --small --json embedded.json --report embedded.html
                                                        the report, and a page for a browser
  tessera lab embedded --from docs/results/embedded.json
                                                        what was recorded, without an emulator

Exit codes: 0 all was measured, 1 an image failed or a program is missing, 2 the options are invalid.")]
    Embedded(EmbeddedArguments),

    /// Makes the tables and figures of papers' evaluations from the reports of roaming, load and traffic, of bithac, of
    /// edge, or of dtls; and those of clients on devices from that of embedded.
    ///
    /// A paper's numbers are shown next to those of the reports. Without an output file, all tables go to standard
    /// output, as Markdown.
    #[command(after_help = "\
Examples:
  tessera lab results docs/results                                      all tables
  tessera lab results docs/results --page docs/results/roaming.html     a page with figures
  tessera lab results docs/results --markdown docs/results/roaming.md --markdown docs/results/roaming-tables.md
                                                                        rewrites the tables of two texts
  tessera lab results docs/results --of bithac                          those of cached certificates
  tessera lab results docs/results --of edge                            those of edge proxies
  tessera lab results docs/results --of embedded                        those of clients on devices")]
    Results(ResultsArguments),

    /// One end of an experiment; the lab starts it.
    #[command(hide = true)]
    Endpoint { end: EndArgument },

    /// One end of `lab dtls` over sockets; the lab starts it.
    #[command(hide = true)]
    DtlsEnd {
        #[command(subcommand)]
        end: DtlsEnd,
    },

    /// One end of `lab load`; the lab starts it.
    #[command(hide = true)]
    LoadEndpoint { end: EndArgument },
}

#[derive(Args)]
pub(crate) struct ReconnectArguments {
    #[command(flatten)]
    common: CommonArguments,

    /// The modes (ways to connect) to measure, separated by commas. 0rtt-unguarded is not in the default: it shows what
    /// a replay does if no server remembers tickets.
    #[arg(
        long,
        value_name = "MODES",
        value_delimiter = ',',
        default_value = "full,psk-only,psk-dhe,0rtt,0rtt-fs,0rtt-fs-psk"
    )]
    modes: Vec<ModeArgument>,

    /// Measures each way once more with TCP Fast Open (RFC 7413): the SYN carries as much of the first flight as fits.
    /// Needs the emulated link.
    #[arg(long)]
    tcp_fast_open: bool,
}

#[derive(Args)]
pub(crate) struct SitesArguments {
    #[command(flatten)]
    common: CommonArguments,

    /// Round-trip times between the sites, separated by commas, each with a unit: us, ms or s
    /// [default: 20ms, and 0 on loopback].
    #[arg(long, value_name = "TIMES", value_delimiter = ',', value_parser = values::duration)]
    site_rtt: Option<Vec<Duration>>,

    /// Adds a site that reports `burned` without asking the home site. That is wrong: the adversary has a request
    /// executed twice there.
    #[arg(long)]
    with_guessing_site: bool,
}

impl From<ReconnectArguments> for Options {
    fn from(arguments: ReconnectArguments) -> Self {
        let mut options = Self::from(arguments.common);
        options.fast_open = arguments.tcp_fast_open;
        for mode in arguments.modes.into_iter().map(Mode::from) {
            if !options.modes.contains(&mode) {
                options.modes.push(mode);
            }
        }
        options
    }
}

impl From<SitesArguments> for sites::Options {
    fn from(arguments: SitesArguments) -> Self {
        let SitesArguments { common, site_rtt: site_rtts, with_guessing_site } = arguments;
        Self { site_rtts, with_guessing_site, common: common.into() }
    }
}

/// One of the two ends.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum EndArgument {
    Client,
    Server,
}

impl From<EndArgument> for End {
    fn from(end: EndArgument) -> Self {
        match end {
            EndArgument::Client => Self::Client,
            EndArgument::Server => Self::Server,
        }
    }
}
