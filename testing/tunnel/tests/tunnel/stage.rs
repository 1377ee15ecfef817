//! Both ends of one tunnel in front of a backend that counts, with an adversary between them.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use tessera_test_peers::wait_until;
use tessera_tunnel_tests::Pki;
use tessera_tunnel_tests::between::RecordingForwarder;
use tessera_tunnel_tests::counting::{CountingBackend, ask_once};
use tessera_tunnel_tests::free_address;
use tessera_tunnel_tests::tessera::{Tunnels, client_section, server_section};

use crate::TESSERA;

/// The key of a state directory, as `openssl rand -hex 32` writes one.
const STATE_KEY: &str = "b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184";

pub(crate) struct Stage {
    pub(crate) pki: Pki,
    pub(crate) backend: CountingBackend,
    pub(crate) server: Tunnels,
    pub(crate) server_address: SocketAddr,
    pub(crate) between: RecordingForwarder,
    pub(crate) client: Tunnels,
    pub(crate) client_address: SocketAddr,
    asked: AtomicUsize,
}

/// Whether a server's tickets and one-time keys survive it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Persistence {
    Nothing,
    State,
}

impl Stage {
    #[track_caller]
    pub(crate) fn start(keeps: Persistence) -> Self {
        let (pki, backend) = (Pki::new(), CountingBackend::start());
        let (server_address, client_address) = (free_address(), free_address());
        let mut server = server(&pki, &backend, server_address, keeps);
        server.start();
        let between = RecordingForwarder::start(server_address);
        let listen = client_address.to_string();
        let section = client_section(&pki, "app", &listen, between.address(), "");
        let client = Tunnels::run(TESSERA, &section);
        let asked = AtomicUsize::default();
        Self { pki, backend, server, server_address, between, client, client_address, asked }
    }

    /// Asks over a new connection; returns the name of the request, and whether there was an answer.
    #[track_caller]
    pub(crate) fn ask(&self) -> (String, io::Result<()>) {
        let name = format!("request-{}", self.asked.fetch_add(1, Ordering::Relaxed));
        let answer = ask_once(self.client_address, &name);
        (name, answer)
    }

    /// Asks, and expects an answer; returns the name of the request.
    #[track_caller]
    pub(crate) fn ask_well(&self) -> String {
        let (name, answer) = self.ask();
        if let Err(error) = answer {
            panic!(
                "{name}: {error}; the client end wrote:\n{}\nthe server end:\n{}",
                self.client.process().output(),
                self.server.process().output()
            );
        }
        assert_eq!(self.backend.executions_of(&name, 0), 1, "{name} was answered");
        name
    }

    /// Asks until the first flights carry the requests.
    #[track_caller]
    pub(crate) fn warm_up(&self) {
        let before = self.early("accepted");
        wait_until("a first flight carries the request", || {
            self.ask_well();
            (self.early("accepted") > before).then_some(())
        });
        self.between.take();
    }

    /// Returns how many first flights ended with this verdict, as the client counted.
    #[track_caller]
    pub(crate) fn early(&self, verdict: &str) -> u64 {
        let verdict = format!("verdict=\"{verdict}\"");
        self.client.metric("tessera_tunnel_early_data_total", &[r#"role="client""#, &verdict])
    }

    /// Returns how many connections of programs ended so, as the client counted.
    #[track_caller]
    pub(crate) fn ended(&self, outcome: &str) -> u64 {
        let outcome = format!("outcome=\"{outcome}\"");
        self.client.metric("tessera_tunnel_connections_total", &[r#"role="client""#, &outcome])
    }
}

/// Returns a server end for the backend, not started.
pub(crate) fn server(
    pki: &Pki,
    backend: &CountingBackend,
    address: SocketAddr,
    keeps: Persistence,
) -> Tunnels {
    let more = match keeps {
        Persistence::Nothing => String::new(),
        Persistence::State => {
            let key = pki.directory.write_private("state.key", STATE_KEY);
            format!("state = \"state\"\nstate-key = \"{key}\"\n")
        }
    };
    let listen = address.to_string();
    let section = server_section(pki, "backend", &listen, backend.address(), &more);
    Tunnels::new(TESSERA, &section)
}
