//! `tessera serve` without options, as a library call: an echo server with a certificate made for the run. It listens
//! until it receives Ctrl-C or SIGTERM.
//!
//! ```text
//! cargo run -p tessera-commands --example echo
//! ```

use std::process::ExitCode;
use std::time::Duration;

use tessera_commands::{Answer, ClientCertificates, Common, ServeOptions, Tickets, serve};

fn main() -> ExitCode {
    let options = ServeOptions {
        revocation_lists: vec![],
        tcp_fast_open: false,
        udp: false,
        forward: None,
        forward_dtls12: None,
        sockets: None,
        socket_ports: None,
        listen: ([127, 0, 0, 1], 4433).into(),
        answer: Answer::Echo,
        names: vec!["localhost".into()],
        write_certificate: None,
        client_certificates: ClientCertificates::No,
        tickets: Tickets { count: 2, lifetime: Duration::from_secs(24 * 3600) },
        max_connections: 100,
        max_connections_per_address: None,
        idle_timeout: Duration::from_secs(300),
        write_timeout: Duration::from_secs(30),
        state: None,
        state_key: None,
        state_witness: None,
        handshake_timeout: Duration::from_secs(10),
        common: Common::default(),
    };
    match serve(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
