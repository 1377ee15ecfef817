//! A server.

use std::net::SocketAddr;

use serde_json::Value;
use tessera_test_peers::{PATIENCE, Process};

use crate::program::{Arm, Program};

/// One that runs.
pub struct Server {
    process: Process,
    address: SocketAddr,
}

/// What a server reports at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerEnd {
    /// The most sockets at once, and the most ports.
    pub sockets_and_ports: (u64, u64),
    /// Its processor time.
    pub cpu_us: u64,
}

impl Server {
    /// Starts one on the loopback interface.
    #[track_caller]
    pub fn start(program: &Program, arm: Arm) -> Self {
        Self::start_at(program, arm, ([127, 0, 0, 1], 0).into())
    }

    /// Kills it, and starts another at its address.
    #[track_caller]
    pub fn restart(mut self, program: &Program, arm: Arm) -> Self {
        let address = self.address;
        self.process.kill();
        drop(self);
        Self::start_at(program, arm, address)
    }

    #[track_caller]
    fn start_at(program: &Program, arm: Arm, listen: SocketAddr) -> Self {
        let (certificate, key) = (program.file("certificate.pem"), program.file("key.pem"));
        let process = program.start(&[
            "server",
            "--arm",
            arm.name,
            "--listen",
            &listen.to_string(),
            "--certificate",
            &certificate,
            "--key",
            &key,
        ]);
        let address = process.wait_for("to listen", PATIENCE, || {
            let output = process.stdout();
            let line: Value = serde_json::from_str(output.split_once('\n')?.0).ok()?;
            line["address"].as_str()?.parse().ok()
        });
        Self { process, address }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it.
    #[track_caller]
    pub fn end(mut self) -> ServerEnd {
        self.process.terminate();
        assert!(self.process.ends(), "{}", self.process.output());
        let output = self.process.stdout();
        let line: Value = serde_json::from_str(output.lines().last().unwrap_or_default())
            .unwrap_or_else(|error| panic!("{error}: {output}"));
        let number = |name: &str| line[name].as_u64().unwrap_or_else(|| panic!("{output}"));
        ServerEnd {
            sockets_and_ports: (number("sockets_most"), number("ports_most")),
            cpu_us: number("cpu_us"),
        }
    }
}
