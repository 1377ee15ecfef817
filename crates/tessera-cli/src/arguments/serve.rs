//! `tessera serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tessera_commands::{Answer, ClientCertificates, ServeOptions, Tickets};

use super::common::CommonArguments;
use super::values;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tessera serve                                         echoes, with a certificate made for this run
  tessera serve --http --listen 0.0.0.0:8443            a page about each connection, for browsers
  tessera serve --certificate chain.pem --key key.pem   with a certificate of its own
  tessera serve --ca clients.pem --require-client-certificate
  tessera serve --psk-file psks.txt --psk-hash sha384   PSKs, and no certificate
  tessera serve --forward-secret-early-data             0-RTT that is accepted at most once
  tessera serve --listen 127.0.0.1:0 --json -           a free port; facts for programs
Ctrl-C ends it: connections are closed properly.";

#[derive(Args)]
pub(crate) struct ServeArguments {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4433",
          value_parser = values::address)]
    listen: SocketAddr,

    /// Answers HTTP with a page about the connection, also as /facts.json; /keyupdate changes the keys
    /// first. Without it the server sends back what comes.
    #[arg(long)]
    http: bool,

    /// A name or address for the certificate that is made where none is given. May be repeated.
    #[arg(long, value_name = "NAME", conflicts_with = "certificate",
          value_parser = clap::builder::NonEmptyStringValueParser::new(), help_heading = "Certificates")]
    name: Vec<String>,

    /// Writes the certificate that is made to this file (PEM), for clients that shall trust it.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "certificate",
        help_heading = "Certificates"
    )]
    write_certificate: Option<PathBuf>,

    /// Asks clients for a certificate that --ca accepts; those who have none are welcome too.
    #[arg(long, requires = "ca", help_heading = "Certificates")]
    ask_client_certificate: bool,

    /// Refuses clients without a certificate that --ca accepts.
    #[arg(
        long,
        requires = "ca",
        conflicts_with = "ask_client_certificate",
        help_heading = "Certificates"
    )]
    require_client_certificate: bool,

    /// How many tickets a full handshake gives at most; 0 turns resumption off.
    #[arg(long, value_name = "N", default_value_t = 2,
          value_parser = clap::value_parser!(u8).range(..=32))]
    tickets: u8,

    /// How long a ticket lives, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 24 * 3600,
          value_parser = clap::value_parser!(u32).range(1..=7 * 24 * 3600))]
    ticket_lifetime: u32,

    /// How many connections there may be at a time; others wait.
    #[arg(long, value_name = "N", default_value_t = 100_000,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    max_connections: usize,

    /// How long a handshake may take, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10,
          value_parser = clap::value_parser!(u16).range(1..=3600))]
    handshake_timeout: u16,

    #[command(flatten)]
    common: CommonArguments,
}

impl From<ServeArguments> for ServeOptions {
    fn from(arguments: ServeArguments) -> Self {
        Self {
            listen: arguments.listen,
            answer: if arguments.http { Answer::Http } else { Answer::Echo },
            names: arguments.name,
            write_certificate: arguments.write_certificate,
            client_certificates: match arguments {
                ServeArguments { require_client_certificate: true, .. } => {
                    ClientCertificates::Require
                }
                ServeArguments { ask_client_certificate: true, .. } => ClientCertificates::Ask,
                _ => ClientCertificates::No,
            },
            tickets: Tickets {
                count: arguments.tickets,
                lifetime: Duration::from_secs(arguments.ticket_lifetime.into()),
            },
            max_connections: arguments.max_connections,
            handshake_timeout: Duration::from_secs(arguments.handshake_timeout.into()),
            common: arguments.common.into(),
        }
    }
}
