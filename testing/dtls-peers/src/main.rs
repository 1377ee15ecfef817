//! Tessera against other implementations of DTLS 1.3: each a process, reached over UDP through a relay, in both roles.
//!
//! ```text
//! tessera-dtls-peers NAME=PROGRAM...
//! ```
//!
//! Prints a table. Ends with 1 if a case fails, or passes that is known to fail; with 2 without a peer.

#![allow(clippy::unwrap_used, reason = "the relay and the certificates are the tests' own")]

mod cases;
mod meeting;
mod observed;
mod openssl;
mod ours;
mod peers;
#[path = "../../../crates/tessera-tokio/tests/datagrams/relay.rs"]
mod relay;
mod stranger;

use std::process::ExitCode;

use crate::cases::Case;
use crate::peers::{KNOWN, PEERS};

#[tokio::main]
async fn main() -> ExitCode {
    let mut table = Table::default();
    println!("| peer | its role | case | result |\n|---|---|---|---|");
    for argument in std::env::args().skip(1) {
        let named = argument.split_once('=');
        let peer = named.and_then(|(name, _)| PEERS.iter().find(|peer| peer.name == name));
        let (Some((_, program)), Some(peer)) = (named, peer) else {
            eprintln!("tessera-dtls-peers: {argument} is no NAME=PROGRAM of a peer");
            return ExitCode::from(2);
        };
        let name = match meeting::name(program) {
            Ok(name) => name,
            Err(error) => {
                eprintln!("tessera-dtls-peers: {error}");
                return ExitCode::from(2);
            }
        };
        for is_server in [false, true] {
            if is_server && !peer.has_server {
                continue;
            }
            for case in Case::of(peer, is_server) {
                let result = meeting::run(case, peer, program, is_server).await;
                let known = KNOWN.iter().find(|known| {
                    known.peer == peer.name
                        && known.is_server == is_server
                        && case.name() == known.case
                });
                table.row(&name, is_server, &case.name(), result, known.map(|known| known.reason));
            }
        }
    }
    match openssl::version() {
        Ok(name) => {
            let case = "DTLS 1.2 is refused";
            table.row(&name, false, case, openssl::client().await, None);
            table.row(&name, true, case, openssl::server().await, None);
        }
        Err(error) => {
            eprintln!("tessera-dtls-peers: {error}");
            return ExitCode::from(2);
        }
    }
    table.end()
}

/// The table, and how many rows went how.
#[derive(Default)]
struct Table {
    passed: usize,
    theirs: usize,
    failed: usize,
}

impl Table {
    fn row(
        &mut self,
        peer: &str,
        is_server: bool,
        case: &str,
        result: Result<String, String>,
        known: Option<&str>,
    ) {
        let (count, text) = match (result, known) {
            (Ok(observed), None) if observed.is_empty() => (&mut self.passed, "passed".into()),
            (Ok(observed), None) => (&mut self.passed, format!("passed: {observed}")),
            (Ok(_), Some(reason)) => {
                (&mut self.failed, format!("FAILED: it passed, but: {reason}"))
            }
            (Err(error), Some(reason)) => (&mut self.theirs, format!("theirs: {reason} ({error})")),
            (Err(error), None) => (&mut self.failed, format!("FAILED: {error}")),
        };
        *count += 1;
        let role = if is_server { "server" } else { "client" };
        println!("| {peer} | {role} | {case} | {text} |");
    }

    fn end(self) -> ExitCode {
        let Self { passed, theirs, failed } = self;
        println!("\n{passed} passed, {theirs} fail because of the peer, {failed} failed");
        ExitCode::from(u8::from(failed > 0))
    }
}
