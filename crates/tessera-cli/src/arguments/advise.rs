//! `tessera advise`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

pub(super) const EXAMPLES: &str = "\
Examples:
  tessera advise --round-trip 134ms --reconnections-per-hour 4
  tessera advise --round-trip 134ms --reconnections-per-hour 4 --peer-tls tessera --early-requests at-most-once
  tessera advise facts.toml                       the same facts, in a file; options override them
  tessera advise facts.toml --results results     judged by your own measurements with tessera lab
  tessera advise --table-6                        Table 6 of the roaming paper, judged by measurements

It doesn't cover devices with external PSKs and without certificates, nor budgets of bytes and energy:
see docs/advise.md.";

/// The subject of the advice, and its sources.
#[derive(Args)]
pub(crate) struct AdviseArguments {
    /// The facts of a deployment, as TOML: the options below are its keys
    #[arg(value_name = "FACTS.toml", value_hint = ValueHint::FilePath)]
    pub(crate) facts: Option<PathBuf>,

    /// Your own measurements: a directory with roaming.json, load.json or reconnect.json of `tessera lab`. What they
    /// don't cover of the protection of each way comes from the built-in evidence
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) results: Option<PathBuf>,

    /// Writes the advice as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Writes Table 6 of Lastre et al. (2025) instead: which way is acceptable, judged by what an adversary achieved.
    /// Costs are for --round-trip, the only fact it uses, or for 134 ms
    #[arg(long, conflicts_with_all = ["facts", "evidence"])]
    pub(crate) table_6: bool,

    /// Writes the evidence that advice is based on instead, as JSON
    #[arg(long, conflicts_with = "facts")]
    pub(crate) evidence: bool,

    #[command(flatten)]
    pub(crate) given: FactArguments,
}

/// The facts as text: `tessera_advise` parses them as it parses those of a file. A value that begins with `-` is a
/// negative number, which it rejects.
#[derive(Args)]
#[command(next_help_heading = "Facts")]
pub(crate) struct FactArguments {
    /// What the advice is for: own (default: a program of your own), tunnel (`tessera tunnel`) or sepp (`tessera
    /// sepp`); the last two offer fewer choices
    #[arg(long, value_name = "WHAT")]
    application: Option<String>,

    /// Round-trip time between the two ends: 134ms. Required
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    round_trip: Option<String>,

    /// How often one connection is re-established, on average: 4, 0.05. Required
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    reconnections_per_hour: Option<String>,

    /// How many connections may reconnect at once. Default: 1
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    connections: Option<String>,

    /// How many requests wait for a reconnection. Default: 1
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    waiting_requests: Option<String>,

    /// What a first flight may carry: none (default), at-most-once, or repeatable (processing it many times does no
    /// harm)
    #[arg(long, value_name = "WHICH")]
    early_requests: Option<String>,

    /// Which data must stay secret if keys are stolen later: always (default), after-handshake (not early data), or
    /// not-needed
    #[arg(long, value_name = "WHICH")]
    forward_secrecy: Option<String>,

    /// Whether recordings must stay secret from quantum computers: true (default) or false
    #[arg(long, value_name = "BOOL")]
    post_quantum: Option<String>,

    /// Whether each connection must present certificates: true or false (default)
    #[arg(long, value_name = "BOOL")]
    fresh_certificates: Option<String>,

    /// What the other end supports: tessera, stock (default: TLS 1.3 with tickets), or stock-without-tickets
    #[arg(long, value_name = "WHAT")]
    peer_tls: Option<String>,

    /// How many servers share one name. Default: 1
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    servers: Option<String>,

    /// Whether a client returns to the server that it left: true, or false (default: to any of them)
    #[arg(long, value_name = "BOOL")]
    same_server: Option<String>,

    /// The store that they share for one-time keys: none (default) or etcd
    #[arg(long, value_name = "WHAT")]
    shared_store: Option<String>,

    /// Round-trip time from a server to that store: 0.5ms
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    store_round_trip: Option<String>,

    /// How much memory a server may use for tickets: 64MiB. Default: no limit
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    ticket_memory: Option<String>,

    /// How much processor time the server may use for one reconnection: 300us. Default: no limit
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    server_processor: Option<String>,

    /// The longest ticket lifetime: 2h. Default: 7d, TLS's limit
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    longest_ticket_lifetime: Option<String>,

    /// Whether both ends really delete one-time PSKs, backups included: true or false (default)
    #[arg(long, value_name = "BOOL")]
    deletes_one_time_psks: Option<String>,

    /// Risks that the owner accepts, separated by commas: no-forward-secrecy, early-data-without-forward-secrecy, replay,
    /// early-key-exchange
    #[arg(long, value_name = "RISKS")]
    accept_risk: Option<String>,

    /// The rate of the link, if it is low enough to matter: 20kbit/s. Default: no limit
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    bandwidth: Option<String>,

    /// How many seconds of one request's waiting a second of processor time is worth. Default: 1
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    processor_price: Option<String>,
}

impl FactArguments {
    /// Returns the facts that are set, with their keys.
    pub(crate) fn given(self) -> impl Iterator<Item = (&'static str, String)> {
        let facts = [
            ("application", self.application),
            ("round-trip", self.round_trip),
            ("reconnections-per-hour", self.reconnections_per_hour),
            ("connections", self.connections),
            ("waiting-requests", self.waiting_requests),
            ("early-requests", self.early_requests),
            ("forward-secrecy", self.forward_secrecy),
            ("post-quantum", self.post_quantum),
            ("fresh-certificates", self.fresh_certificates),
            ("peer-tls", self.peer_tls),
            ("servers", self.servers),
            ("same-server", self.same_server),
            ("shared-store", self.shared_store),
            ("store-round-trip", self.store_round_trip),
            ("ticket-memory", self.ticket_memory),
            ("server-processor", self.server_processor),
            ("longest-ticket-lifetime", self.longest_ticket_lifetime),
            ("deletes-one-time-psks", self.deletes_one_time_psks),
            ("accept-risk", self.accept_risk),
            ("bandwidth", self.bandwidth),
            ("processor-price", self.processor_price),
        ];
        facts.into_iter().filter_map(|(key, text)| Some((key, text?)))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        advise: AdviseArguments,
    }

    #[test]
    fn every_fact_of_a_file_is_an_option() {
        for key in tessera_advise::facts::KEYS {
            let line = Line::try_parse_from(["advise", &format!("--{key}"), "it"]).ok();
            let given: Vec<_> =
                line.into_iter().flat_map(|line| line.advise.given.given()).collect();
            assert_eq!(given, [(key, "it".to_owned())]);
        }
    }
}
