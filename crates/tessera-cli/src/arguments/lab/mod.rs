//! `tessera lab`.

mod bithac;
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
use self::experiment::{CommonArguments, ModeArgument};
use self::load::LoadArguments;
use self::results::ResultsArguments;
use self::roaming::RoamingArguments;
use self::traffic::TrafficArguments;

/// The experiments.
#[derive(Subcommand)]
pub(crate) enum Lab {
    /// Measures what each way of reconnecting costs, and what it protects.
    ///
    /// A client and a server, two processes, connect over the kernel's TCP and an emulated link:
    /// with full handshakes, with PSKs, with 0-RTT and with forward-secret 0-RTT. The table shows
    /// medians with 95 % confidence intervals; the report, as JSON or as a page with plots, has every
    /// sample.
    ///
    /// The emulated link needs root, or a system that lets users have namespaces. Without
    /// them the lab reports so, and runs on loopback.
    #[command(after_help = "\
Examples:
  tessera lab reconnect                                   all modes, at 0 and 33 ms; about a minute
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

    /// Two sites with the same ticket keys: what a client pays at the one that did not issue its ticket.
    ///
    /// Each site has one-time keys of its own. A flight that comes to the other site is not accepted
    /// there: its key is burned at home, and only when home has acknowledged that the client is told that
    /// it may send again. An adversary sends the recorded flight to both sites meanwhile; the request
    /// must be executed once.
    ///
    /// The client and the sites are three processes, and the links between them are emulated as in `lab
    /// reconnect`; loss, congestion, jitter, rate and mtu are those of the client's. The sites ask each other over
    /// mutual TLS. The table shows medians; the report, as JSON or as a page with plots, has every
    /// sample, and shows up to which distance of the sites early data at the wrong one pays.
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

    /// Many users who connect again and again, and all connections of a server that come back at once.
    ///
    /// A client process with all users and a server process, at the two ends of an emulated link. Each user
    /// connects, registers a roaming subscriber (13 exchanges), leaves, and comes again. A storm is a
    /// fail-over: all connections had a server, which is replaced by another with the same ticket keys and
    /// vault, and all come back at once with one request. Tickets are made beforehand.
    ///
    /// The table shows how long the first accepted request takes, the response and the registration, and what a
    /// reconnection costs both processes; and how the server's processor time grows with the number of users.
    #[command(after_help = "\
Examples:
  tessera lab load                                  everything, at 134 ms; hours
  tessera lab load --storms 1000 --modes full,psk-dhe,0rtt-fs
                                                    a fail-over of 1,000 connections
  tessera lab load --users 1,10,100 --rtt 33ms      how it grows, nearer
  tessera lab load --resume cells.jsonl --json load.json
                                                    goes on where an earlier run stopped")]
    Load(LoadArguments),

    /// What each way of reconnecting costs between two mobile networks: the evaluation of a paper, on real links.
    ///
    /// The grid has each option of the paper (Lastre et al., Sensors 2025, 25, 6144), (a) to (e), with two
    /// suites, classical and post-quantum keys, and one-time keys in memory and in etcd: in memory, where only
    /// the engine counts; over the kernel's TCP and emulated links between cities, with and without loss and
    /// congestion; and through two SEPPs. Tickets are made beforehand. What can't be measured is in the
    /// report with its reason: a link that the machine can't emulate, an etcd that isn't on PATH.
    #[command(after_help = "\
Examples:
  tessera lab roaming --cells through=engine        the engine alone; some minutes
  tessera lab roaming --cells 'option=c|e,link=seoul-los-angeles,loss=0,suite=0x1302'
                                                    two options, across the Pacific
  tessera lab roaming --cells 'kx=hybrid,option=c,loss=1%'
                                                    post-quantum keys, on links that lose packets
  tessera lab roaming --sample 3 --repetitions 20   three cells of the grid
  tessera lab roaming --resume cells.jsonl --json roaming.json --report roaming.html
                                                    everything, in hours; goes on where it stopped")]
    Roaming(RoamingArguments),

    /// What sizes and times of TLS records tell an observer on the path, with and without padding.
    ///
    /// A client connects in each of six ways, full handshakes, PSKs and early data, and has one registration of
    /// a roaming subscriber (13 exchanges) on each connection. An observer without keys sees when TLS records
    /// pass at the client's end of the link, from which side they come, and how long they are. A decision
    /// tree, grown on some connections, says of the others which way they were made; the tables show how often
    /// it is right, by sizes, by times and by both, who is taken for whom, and what padding costs.
    ///
    /// The repetitions are connections of each way and setting. It needs the emulated link, as root or on a
    /// system that lets users have namespaces.
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

    /// What two ends with certificates send and compute when they meet again: the evaluation of a paper on caching
    /// handshakes, in TLS 1.3.
    ///
    /// Both ends have a chain of two certificates and connect in each of these ways: with both chains whole, compressed,
    /// or named by hash (BiTHaC over RFC 8879); with raw public keys; with a ticket; and with forward-secret early
    /// data. Bytes are counted by layer and direction, packet by packet, over links of three MTUs; times are measured
    /// over links from 20 kbit/s to 100 Mbit/s; and what both ends compute, in memory, with chains of one to
    /// four certificates.
    ///
    /// It needs the emulated link, as root or on a system that lets users have namespaces; `--parts work,hits,memory` needs none.
    #[command(after_help = "\
Examples:
  tessera lab bithac                                    bytes, work, hits and memory; some minutes
  tessera lab bithac --certificates ml-dsa-65 --ways full,cached,raw-keys
                                                        post-quantum certificates in three ways
  tessera lab bithac --parts work --certificates p-256  what judging chains takes; no link
  tessera lab bithac --parts times --repetitions 7      24 cells; a quarter of an hour
  tessera lab bithac --parts bytes,losses,times,work,hits,memory --resume cells --json all.json
                                                        everything, in hours; goes on where it stopped
  tessera lab bithac --json - | jq '.cells[] | [.way, .certificates, .samples[0].server.handshake]'")]
    Bithac(BithacArguments),

    /// The tables and figures of papers' evaluations, made from the reports of roaming, load and traffic, or of bithac.
    ///
    /// A paper's numbers stand beside those of the reports. Without a file to write, all tables go to
    /// standard output, as Markdown.
    #[command(after_help = "\
Examples:
  tessera lab results docs/results                                      all tables
  tessera lab results docs/results --page docs/results/roaming.html     a page with figures
  tessera lab results docs/results --markdown docs/results/roaming.md   the tables of a text, anew
  tessera lab results docs/results --of bithac                          those of cached certificates")]
    Results(ResultsArguments),

    /// One end of an experiment; the lab starts it.
    #[command(hide = true)]
    Endpoint { end: EndArgument },

    /// One end of `lab load`; the lab starts it.
    #[command(hide = true)]
    LoadEndpoint { end: EndArgument },
}

#[derive(Args)]
pub(crate) struct ReconnectArguments {
    #[command(flatten)]
    common: CommonArguments,

    /// The modes (ways to connect) to measure, separated by commas. 0rtt-unguarded is not in the
    /// default: it shows what a replay does where no server remembers.
    #[arg(
        long,
        value_name = "MODES",
        value_delimiter = ',',
        default_value = "full,psk-only,psk-dhe,0rtt,0rtt-fs,0rtt-fs-psk"
    )]
    modes: Vec<ModeArgument>,

    /// Measures each way once more with TCP Fast Open (RFC 7413): the SYN carries the first flight, as much of
    /// it as fits. Needs the emulated link.
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

    /// Also a site that says `burned` without having asked home. It is wrong: the adversary has a
    /// request executed twice there.
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
