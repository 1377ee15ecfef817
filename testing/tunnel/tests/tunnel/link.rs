//! Over an emulated link that delays and loses packets: each end in its own network namespace.
//!
//! As root these tests need the link, and fail without it.

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tessera_link::{End, Link, LinkKind, LinkParameters};
use tessera_tunnel_tests::Pki;
use tessera_tunnel_tests::between::{RecordingForwarder, Treatment, replay};
use tessera_tunnel_tests::counting::{CountingBackend, ask_once};
use tessera_tunnel_tests::free_address;
use tessera_tunnel_tests::tessera::{Place, Tunnels, client_section, server_section};

use crate::TESSERA;

struct RemoteTunnel {
    link: Arc<Link>,
    client_end: Place,
    backend: CountingBackend,
    between: RecordingForwarder,
    server: Tunnels,
    server_address: SocketAddr,
    client: Tunnels,
    client_address: SocketAddr,
}

impl RemoteTunnel {
    /// `None` only if the machine allows no link to a user other than root.
    #[track_caller]
    fn start(more: &str) -> Option<Self> {
        let link = Link::open(LinkKind::Auto, &LinkParameters::default()).unwrap();
        if let Some(reason) = link.fallback_reason() {
            assert!(!is_root(), "{reason}");
            eprintln!("not tested: {reason}");
            return None;
        }
        let link = Arc::new(link);
        let [client_end, server_end] =
            [End::Client, End::Server].map(|end| Place::At(link.clone(), end));
        for place in [&client_end, &server_end] {
            place.run(|| fs::write("/proc/sys/net/ipv4/tcp_fastopen", "3")).unwrap();
        }
        let pki = Pki::new();
        let backend = server_end.run(CountingBackend::start);
        let interface = link.addresses().server;
        let server_address = SocketAddr::new(interface, free_address().port());
        let listen = server_address.to_string();
        let section = server_section(&pki, "backend", &listen, backend.address(), more);
        let mut server = Tunnels::new_at(server_end.clone(), TESSERA, &section);
        server.start();
        let between =
            server_end.run(move || RecordingForwarder::start_on(interface, server_address));
        let client_address = free_address();
        // Fast Open works per hop, and the adversary is a hop.
        let to = if more.contains("fast-open") { server_address } else { between.address() };
        let listen = client_address.to_string();
        let section = client_section(&pki, "app", &listen, to, more);
        let mut client = Tunnels::new_at(client_end.clone(), TESSERA, &section);
        client.start();
        let this = Self {
            link,
            client_end,
            backend,
            between,
            server,
            server_address,
            client,
            client_address,
        };
        this.ask("warm", 5);
        Some(this)
    }

    /// Runs programs that ask one after the other; returns how many got no answer.
    #[track_caller]
    fn ask(&self, name: &str, requests: usize) -> usize {
        let (address, of) = (self.client_address, name.to_owned());
        let answers = self.client_end.run(move || {
            thread::scope(|scope| {
                let programs = ["a", "b", "c"].map(|program| {
                    let name = format!("{of}-{program}");
                    scope.spawn(move || {
                        let ask = |number| ask_once(address, &format!("{name}-{number}")).is_ok();
                        (0..requests).map(ask).collect::<Vec<_>>()
                    })
                });
                programs.map(|program| program.join().unwrap()).concat()
            })
        });
        for (index, answered) in answers.iter().enumerate() {
            let program = ["a", "b", "c"][index / requests];
            let executed =
                self.backend.executions_of(&format!("{name}-{program}-{}", index % requests), 0);
            assert!(executed <= 1 && (executed == 1 || !answered), "{executed} times, {answered}");
        }
        answers.iter().filter(|answered| !**answered).count()
    }

    fn early(&self, verdict: &str) -> u64 {
        let verdict = format!("verdict=\"{verdict}\"");
        self.client.metric("tessera_tunnel_early_data_total", &[&verdict])
    }
}

fn lossy() -> LinkParameters {
    LinkParameters {
        rtt: Duration::from_millis(33),
        jitter: Duration::from_millis(5),
        loss: 0.02,
        ..LinkParameters::default()
    }
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
    uid.split_whitespace().nth(1) == Some("0")
}

#[test]
fn a_link_that_loses_packets_costs_no_answer_and_repeats_nothing() {
    let Some(remote) = RemoteTunnel::start("") else { return };
    remote.link.set(&lossy()).unwrap();
    let before = remote.early("accepted");
    assert_eq!(remote.ask("lossy", 5), 0, "a request without its answer");
    assert!(remote.early("accepted") > before, "none of them early");
    remote.between.treat(Treatment::Double);
    let lost = remote.ask("doubled", 3);
    eprintln!("{lost} of 9 lost against their copy");
    let resets = [r#"outcome="reset_by_verdict""#];
    remote.client.counts("tessera_tunnel_connections_total", &resets, lost as u64);
    let executed = remote.backend.executions();
    let (recorded, server) = (remote.between.take(), remote.server_address);
    remote.client_end.run(move || replay(server, &recorded)).unwrap();
    assert_eq!(remote.backend.executions(), executed, "a replay was executed");
    remote.backend.executed_nothing_twice();
    assert_eq!(remote.link.failure(), None);
    assert!(remote.server.process().is_alive());
}

#[test]
fn first_flights_in_syns_are_executed_once() {
    let Some(remote) = RemoteTunnel::start("tcp-fast-open = true\ngroups = [\"X25519\"]\n") else {
        return;
    };
    remote.link.set(&lossy()).unwrap();
    assert_eq!(remote.ask("fast", 5), 0, "a request without its answer");
    assert!(remote.link.statistics().to_server.syn_data_packets > 0, "no SYN carried data");
    assert!(remote.early("accepted") > 0);
    remote.backend.executed_nothing_twice();
}
