//! The command line.

mod advise;
mod certificate;
mod common;
#[cfg(any(
    feature = "edge",
    feature = "orchestrator",
    feature = "sepp",
    feature = "signer",
    feature = "stek",
    feature = "tunnel"
))]
mod configuration_file;
mod connect;
#[cfg(feature = "edge")]
mod edge;
#[cfg(feature = "lab")]
mod lab;
#[cfg(feature = "orchestrator")]
mod orchestrator;
#[cfg(feature = "sepp")]
mod sepp;
mod serve;
#[cfg(feature = "signer")]
mod signer;
#[cfg(feature = "stek")]
mod stek;
#[cfg(feature = "tunnel")]
mod tunnel;
mod values;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueHint};
use clap_complete::Shell;

pub(crate) use self::advise::AdviseArguments;
pub(crate) use self::certificate::CertificateTask;
use self::connect::ConnectArguments;
#[cfg(feature = "edge")]
pub(crate) use self::edge::Edge;
#[cfg(feature = "lab")]
pub(crate) use self::lab::{DtlsEnd, Lab};
#[cfg(feature = "orchestrator")]
pub(crate) use self::orchestrator::Orchestrator;
#[cfg(feature = "sepp")]
pub(crate) use self::sepp::Sepp;
use self::serve::ServeArguments;
#[cfg(feature = "signer")]
pub(crate) use self::signer::Signer;
#[cfg(feature = "stek")]
pub(crate) use self::stek::Stek;
#[cfg(feature = "tunnel")]
pub(crate) use self::tunnel::{Task as TunnelTask, Tunnel};

/// Returns examples of the commands that this build has.
fn examples() -> String {
    const ALL: &[(bool, &str)] = &[
        (
            cfg!(feature = "demo"),
            "tessera serve --http           a server to talk to, with a page about each connection",
        ),
        (true, "tessera connect localhost:443  a client, with standard input and output"),
        (
            true,
            "tessera certificate --help     authorities and certificates, with ML-DSA and ML-KEM keys, too",
        ),
        (
            cfg!(all(feature = "demo", feature = "tunnel")),
            "tessera tunnel demo            a database behind a tunnel, and an attacker who replays",
        ),
        (
            cfg!(all(feature = "demo", feature = "sepp")),
            "tessera sepp demo              two SEPPs, and a roaming partner that returns",
        ),
        (
            cfg!(feature = "lab"),
            "tessera lab reconnect          what each way of reconnecting costs and protects",
        ),
        (cfg!(feature = "lab"), "tessera lab reconnect --help   how to measure something else"),
        (
            true,
            "tessera advise --help          which way of reconnecting fits a deployment, judged by measurements",
        ),
        (
            true,
            "tessera manual DIRECTORY       the manual pages; `tessera completions` writes those of a shell",
        ),
    ];
    let lines = ALL.iter().filter(|(is_here, _)| *is_here);
    lines.fold("Examples:".to_owned(), |text, (_, line)| text + "\n  " + line)
}

/// Returns examples of a command, with its demonstration if this build has it.
#[cfg(any(feature = "edge", feature = "sepp", feature = "stek", feature = "tunnel"))]
fn examples_with_demo(demo: &str, others: &str) -> String {
    format!("Examples:\n{}{others}", if cfg!(feature = "demo") { demo } else { "" })
}

/// TLS 1.3 that reconnects fast without giving anything up.
#[derive(Parser)]
#[command(
    name = "tessera",
    version,
    arg_required_else_help = true,
    after_help = examples()
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Listens for TLS 1.3 clients: echoes, or answers HTTP, and reports the facts of each connection; with --udp, for
    /// clients of DTLS 1.3.
    #[command(after_help = serve::examples())]
    Serve(Box<ServeArguments>),

    /// Connects to a TLS 1.3 server: carries standard input and output, or measures many connections.
    #[command(arg_required_else_help = true, after_help = connect::EXAMPLES)]
    Connect(Box<ConnectArguments>),

    /// Makes authorities, and certificates for TLS with keys that sign, or of KEMs: ML-DSA, ML-KEM, and classical ones.
    #[command(arg_required_else_help = true, after_help = certificate::EXAMPLES)]
    Certificate {
        #[command(subcommand)]
        task: CertificateTask,
    },

    /// Carries any TCP protocol through two small processes: mutual TLS 1.3, whose new connections need no extra round
    /// trip and are never executed twice.
    #[cfg(feature = "tunnel")]
    #[command(
        arg_required_else_help = true,
        after_help = examples_with_demo(
            "  tessera tunnel demo              what it does, in a few seconds\n",
            "  tessera tunnel server --help     the end next to a database
  tessera tunnel client --help     the end next to its user
  tessera tunnel check FILE        many tunnels in a file: docs/tunnel.md",
        )
    )]
    Tunnel {
        #[command(subcommand)]
        task: Tunnel,
    },

    /// The border of a 5G core towards its roaming partners: a Security Edge Protection Proxy (3GPP TS 29.573),
    /// whose N32 reconnects fast and safely.
    #[cfg(feature = "sepp")]
    #[command(
        arg_required_else_help = true,
        after_help = examples_with_demo(
            "  tessera sepp demo          what it does, in a few seconds\n",
            "  tessera sepp check FILE    what a configuration would do, and warnings
  tessera sepp run FILE      an example is packaging/sepp.toml (/usr/share/doc/tessera/examples)

docs/sepp.md has the first N32 in ten minutes, every key, rule, cause and metric.",
        )
    )]
    Sepp {
        #[command(subcommand)]
        task: Sepp,
    },

    /// Holds certificate keys for servers elsewhere: signs their handshakes over mutual TLS, by name and rate, and nothing
    /// else.
    #[cfg(feature = "signer")]
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera signer check FILE    who may sign with what, and warnings
  tessera signer run FILE      an example is packaging/signer.toml (/usr/share/doc/tessera/examples)

docs/signer.md has a signer in five minutes, and every key and metric."
    )]
    Signer {
        #[command(subcommand)]
        task: Signer,
    },

    /// Ticket keys for pools of TLS servers that resume each other's sessions: HAProxy, nginx, Envoy and others. They
    /// rotate in two phases, and no key seals before every server holds it.
    #[cfg(feature = "stek")]
    #[command(
        arg_required_else_help = true,
        after_help = examples_with_demo(
            "  tessera stek demo                 what it does, with the servers that are installed here\n",
            "  tessera stek check FILE           what a configuration would do, and warnings
  tessera stek run FILE             the sidecar of this host; an example is packaging/stek.toml
  tessera stek status FILE          keys, members, and which are behind
  tessera stek revoke FILE --now    after a theft

docs/stek.md has an existing fleet in ten minutes, and every key and metric.",
        )
    )]
    Stek {
        #[command(subcommand)]
        task: Stek,
    },

    /// A pool of HTTP proxies at the edge: a client moves from one to another, and its session, its one-time keys and its
    /// state move along.
    #[cfg(feature = "edge")]
    #[command(
        arg_required_else_help = true,
        after_help = examples_with_demo(
            "  tessera edge demo          what it does, in a few seconds\n",
            "  tessera edge check FILE    what a configuration would do
  tessera edge run FILE      a proxy of the pool; an example is packaging/edge.toml

docs/edge.md has a pool in ten minutes, and every key and metric.",
        )
    )]
    Edge {
        #[command(subcommand)]
        task: Edge,
    },

    /// Moves clients between the proxies of a pool, with their sessions: on request, away from a proxy, away from a site.
    #[cfg(feature = "orchestrator")]
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera orchestrator check FILE    what a configuration would do, and warnings
  tessera orchestrator run FILE      an example is packaging/orchestrator.toml
  tessera orchestrator move --help   the other commands call a running orchestrator, by mutual TLS

docs/orchestrator.md has the API, and every key and metric."
    )]
    Orchestrator {
        #[command(subcommand)]
        task: Orchestrator,
    },

    /// Measures on real processes over an emulated link, and on an emulated device.
    #[cfg(feature = "lab")]
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera lab reconnect                           what each way of reconnecting costs and protects
  tessera lab reconnect --rtt 100ms --loss 1%     the same, far away
  tessera lab sites                               at the site that did not issue the ticket
  tessera lab load --storms 1000                  a fail-over of 1,000 connections
  tessera lab roaming --cells through=engine      the evaluation of a paper: here in memory alone
  tessera lab traffic --rtt 5ms --repetitions 10  what an observer without keys learns
  tessera lab results DIRECTORY                   their reports as tables and figures"
    )]
    Lab {
        #[command(subcommand)]
        experiment: Lab,
    },

    /// Explains where the laboratory is.
    #[cfg(not(feature = "lab"))]
    #[command(hide = true, disable_help_flag = true)]
    Lab {
        #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
        experiment: Vec<std::ffi::OsString>,
    },

    /// Recommends a way of reconnecting for a deployment, with a measured cost for each reason.
    ///
    /// Facts rule ways out. Of the rest, the safest is recommended; a less safe one only if its saving was measured and
    /// exceeds the uncertainty of the measurement. docs/advise.md has the rules.
    #[command(arg_required_else_help = true, after_help = advise::EXAMPLES)]
    Advise(Box<AdviseArguments>),

    /// Writes completions for a shell to standard output.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  source <(tessera completions bash)    for this shell alone
  tessera completions bash > ~/.local/share/bash-completion/completions/tessera
  tessera completions zsh > ~/.zfunc/_tessera          a directory of $fpath
  tessera completions fish > ~/.config/fish/completions/tessera.fish"
    )]
    Completions {
        /// The shell.
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },

    /// Writes the manual pages into a directory, one per command.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera manual ~/.local/share/man/man1    then: man tessera-connect
  tessera manual /tmp/pages                 then: man -l /tmp/pages/tessera.1"
    )]
    Manual {
        /// The directory; it is created if it does not exist.
        #[arg(value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
        directory: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[cfg(feature = "lab")]
    #[test]
    fn endpoints_are_started_as_the_lab_does() {
        use tessera_link::End;

        for end in [End::Client, End::Server] {
            let mut line = vec!["tessera"];
            line.extend(tessera_lab::endpoint::ARGUMENTS);
            line.push(tessera_lab::endpoint::name(end));
            assert!(Arguments::try_parse_from(&line).is_ok());
            line.splice(1..3, tessera_lab::load::endpoint::ARGUMENTS);
            assert!(Arguments::try_parse_from(line).is_ok());
        }
    }
}
