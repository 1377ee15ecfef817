//! Several servers behind one name: whichever a connection reaches, its first flight is executed once.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use tessera_test_peers::etcd::Cluster;
use tessera_test_peers::{free_port, wait_until};
use tessera_tunnel_tests::Pki;
use tessera_tunnel_tests::between::{RecordingForwarder, replay};
use tessera_tunnel_tests::counting::{CountingBackend, ask_once};
use tessera_tunnel_tests::free_address;
use tessera_tunnel_tests::tessera::{Tunnels, client_section, server_section};

use crate::TESSERA;

/// 32 bytes, as `openssl rand -hex 32` writes them.
const KEY: &str = "b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184";

struct FleetStage {
    backend: CountingBackend,
    servers: [Tunnels; 2],
    addresses: [SocketAddr; 2],
    between: RecordingForwarder,
    client: Tunnels,
    client_address: SocketAddr,
}

impl FleetStage {
    /// Starts two servers, each with its own lines of the section.
    #[track_caller]
    fn start(pki: &Pki, more: [&str; 2]) -> Self {
        let backend = CountingBackend::start();
        let addresses = [free_address(), free_address()];
        let servers = [0, 1].map(|index| {
            let listen = addresses[index].to_string();
            let section = server_section(pki, "db", &listen, backend.address(), more[index]);
            Tunnels::new(TESSERA, &section)
        });
        let mut servers = servers;
        servers.iter_mut().for_each(Tunnels::start);
        let between = RecordingForwarder::start(addresses[0]);
        let client_address = free_address();
        let listen = client_address.to_string();
        let section = client_section(pki, "app", &listen, between.address(), "");
        let client = Tunnels::run(TESSERA, &section);
        Self { backend, servers, addresses, between, client, client_address }
    }

    fn early(&self, verdict: &str) -> u64 {
        let verdict = format!("verdict=\"{verdict}\"");
        self.client.metric("tessera_tunnel_early_data_total", &[&verdict])
    }

    #[track_caller]
    fn ask(&self, name: &str) {
        if let Err(error) = ask_once(self.client_address, name) {
            let [first, second] = &self.servers;
            panic!(
                "{name}: {error}\n{}\n{}\n{}",
                self.client.process().output(),
                first.process().output(),
                second.process().output()
            );
        }
    }

    /// Asks until first flights carry the requests.
    #[track_caller]
    fn warm_up(&self) {
        let before = self.early("accepted");
        let mut number = 0;
        wait_until("a first flight carries the request", || {
            number += 1;
            self.ask(&format!("warm-{before}-{number}"));
            (self.early("accepted") > before).then_some(())
        });
        self.between.take();
    }

    /// Replays a recording to both servers.
    #[track_caller]
    fn replay_everywhere(&self) {
        let before = self.backend.executions();
        let recorded = self.between.take();
        for address in self.addresses {
            replay(address, &recorded).unwrap();
        }
        assert_eq!(self.backend.executions(), before, "a replay was executed");
        self.backend.executed_nothing_twice();
    }
}

#[test]
fn with_a_vault_in_etcd_a_flight_is_executed_at_any_server_once() {
    let cluster = Cluster::start(1).unwrap();
    let pki = Pki::new();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let ring = pki.directory.write_private("ring.key", KEY);
    let epochs = pki.directory.write_private("epochs", format!("{} 3600 {KEY}\n", now - 60));
    let endpoint = &cluster.endpoints()[0];
    let more = format!(
        "fleet.vault = \"etcd\"\nfleet.ring-key = \"{ring}\"\nfleet.epoch-keys = \"{epochs}\"\n\
         fleet.etcd = {{ endpoints = [\"{endpoint}\"], plaintext-on-private-network = true }}\n"
    );
    let stage = FleetStage::start(&pki, [&more, &more]);
    stage.warm_up();
    for round in 0..4 {
        // A load balancer alternates.
        stage.between.lead_to(stage.addresses[round % 2]);
        let before = stage.early("accepted");
        stage.ask(&format!("round-{round}"));
        assert_eq!(stage.early("accepted"), before + 1, "round {round}");
    }
    stage.replay_everywhere();
}

#[test]
fn with_vaults_of_their_own_a_flight_at_another_server_is_burned_at_home() {
    let cluster = Cluster::start(1).unwrap();
    let (pki, sites) = (Pki::new(), Pki::new());
    let ring = pki.directory.write_private("ring.key", KEY);
    let endpoint = &cluster.endpoints()[0];
    let names = ["0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"];
    let ports = [free_port().unwrap(), free_port().unwrap()];
    let more = [0, 1].map(|index| {
        let other = 1 - index;
        format!(
            "[server.db.fleet]\nvault = \"sites\"\nring-key = \"{ring}\"\n\
             etcd = {{ endpoints = [\"{endpoint}\"], plaintext-on-private-network = true }}\n\
             [server.db.fleet.sites]\nlisten = \"127.0.0.1:{}\"\nvault-name = \"{}\"\nca = \"{}\"\n\
             certificate = \"{}\"\nkey = \"{}\"\n\
             others = [{{ address = \"127.0.0.1:{}\", server-name = \"server.example\", \
             vault-name = \"{}\" }}]\n",
            ports[index],
            names[index],
            sites.ca,
            sites.server.certificate,
            sites.server.key,
            ports[other],
            names[other]
        )
    });
    let stage = FleetStage::start(&pki, [&more[0], &more[1]]);
    stage.warm_up();
    // The ticket is the first server's; the second has it burned, and the client repeats the request by itself.
    let burned = stage.early("burned");
    stage.between.lead_to(stage.addresses[1]);
    stage.ask("abroad");
    assert_eq!(stage.early("burned"), burned + 1);
    stage.replay_everywhere();
    stage.warm_up();
    stage.between.lead_to(stage.addresses[0]);
    stage.ask("back");
    stage.replay_everywhere();
}
