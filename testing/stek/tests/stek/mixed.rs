//! A pool of an Envoy and one of Tessera's own servers: each resumes the other's sessions.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tessera::wire::NamedGroup;
use tessera::{ClientConfig, ServerConfig};
use tessera_aws_lc::provider;
use tessera_envoy_tickets::{Pool, SessionContext};
use tessera_etcd::{EtcdClient, Transport};
use tessera_kit::KeySource;
use tessera_proxy::stores::{EnvoyPool, PoolStores, SidecarRing, Stores};
use tessera_ring::FleetRing;
use tessera_stek::canary::Canary;
use tessera_stek_tests::{Fleet, Pki, RunningServer, SERVER_NAME, Sidecar, serve, settled, until};
use tessera_test_peers::etcd::Cluster;
use tessera_test_peers::{Directory, Network, Process, go};
use tessera_webpki::WebPkiVerifier;

use crate::openssl::s_client;
use crate::program::PROGRAM;

const GROUPS: [NamedGroup; 2] = [NamedGroup::X25519, NamedGroup::X25519MLKEM768];

struct MixedPool {
    envoy: RunningServer,
    own: SocketAddr,
    rings: [FleetRing; 2],
}

impl MixedPool {
    /// Starts an Envoy with this certificate, and our server, which expects those of its pool to have the context.
    async fn start(fleet: &Fleet, of_envoy: &Pki, context: SessionContext) -> Self {
        let mut envoy = RunningServer::envoy(of_envoy, "a");
        let installer = envoy.envoy_installer(fleet.keys("envoy"));
        let pool = Pool::new(context, vec![SERVER_NAME.into()]);
        let (second, own) = fleet.server_among_envoys("b", pool);
        let rings = [fleet.join("a", Arc::new(installer)), second];
        envoy.start();
        settled(&rings.each_ref()).await;
        envoy.listens();
        Self { envoy, own, rings }
    }

    /// Each direction in which a ticket may cross.
    fn crossings(&self) -> [(SocketAddr, SocketAddr); 2] {
        [(self.envoy.address, self.own), (self.own, self.envoy.address)]
    }
}

fn context(pki: &Pki) -> SessionContext {
    SessionContext::of_envoy(&[pki.der()], &[]).unwrap()
}

fn canary(pkis: &[&Pki], group: NamedGroup) -> Canary {
    let roots: Vec<_> = pkis.iter().map(|pki| pki.authority.der()).collect();
    let mut config = ClientConfig::new(provider(), Arc::new(WebPkiVerifier::new(&roots).unwrap()));
    config.groups = vec![group];
    Canary::new(config.checked().unwrap(), SERVER_NAME).with_http_request()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs ENVOY, the program"]
async fn tickets_cross_between_envoy_and_our_server_through_rotations() {
    let fleet = Fleet::new();
    let pool = MixedPool::start(&fleet, &fleet.pki, context(&fleet.pki)).await;
    let [first, second] = pool.rings.each_ref();
    for round in 0..3 {
        for group in GROUPS {
            let canary = canary(&[&fleet.pki], group);
            let mut tickets = Vec::new();
            for (from, to) in pool.crossings() {
                let ticket = canary.ticket(from).await.unwrap();
                assert_eq!(ticket.group(), Some(group));
                assert!(canary.resumes(to, ticket).await.unwrap(), "round {round}, {group:?}");
                tickets.push((canary.ticket(from).await.unwrap(), to));
            }
            first.rotate().await.unwrap();
            settled(&[first, second]).await;
            for (ticket, to) in tickets {
                let resumed = canary.resumes(to, ticket).await.unwrap();
                assert!(resumed, "round {round}, {group:?}, over a rotation");
            }
        }
    }
    for (from, to) in pool.crossings() {
        let canary = canary(&[&fleet.pki], NamedGroup::X25519);
        let ticket = canary.ticket(from).await.unwrap();
        second.revoke().await.unwrap();
        settled(&[first, second]).await;
        assert!(!canary.resumes(to, ticket).await.unwrap());
        let ticket = canary.ticket(from).await.unwrap();
        assert!(canary.resumes(to, ticket).await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs ENVOY, the program"]
async fn go_and_openssl_cross_between_envoy_and_our_server() {
    let fleet = Fleet::new();
    let pool = MixedPool::start(&fleet, &fleet.pki, context(&fleet.pki)).await;
    let [envoy, own] = [pool.envoy.address, pool.own];
    let files = Directory::new();
    let ca = files.write("ca.pem", fleet.pki.authority.pem());
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("go");
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go");
    let program = go::build(&module, &cache, &files);
    for group in GROUPS {
        for order in [[envoy, own], [own, envoy]] {
            let group = &group.0.to_string();
            let arguments = [SERVER_NAME, &ca, group];
            let mut client = Process::start_compiled("go", &program, Network::Loopback, arguments);
            client.tell(&format!("{}\n", order[0])).says_times("resumed: false\n", 1);
            // Each ticket is from the connection before, itself resumed.
            for (at, server) in order.iter().cycle().skip(1).take(5).enumerate() {
                client.tell(&format!("{server}\n")).says_times("resumed: true\n", at + 1);
            }
            assert!(client.end_input().ends(), "{}", client.output());
        }
    }
    let file = &files.path("session.pem");
    for order in [[envoy, own], [own, envoy]] {
        let first = s_client(order[0], &["-sess_out", file]).unwrap();
        assert!(first.contains("New, TLSv1.3"), "{first}");
        for server in order.iter().cycle().skip(1).take(4) {
            let next = s_client(*server, &["-sess_in", file, "-sess_out", file]).unwrap();
            assert!(next.contains("Reused, TLSv1.3"), "{next}");
        }
    }
}

/// The keys are the same, and open the tickets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs ENVOY, the program"]
async fn tickets_of_another_context_or_issuer_cost_a_full_handshake() {
    let fleet = Fleet::new();
    let elsewhere = Pki::of("Another test CA");
    for (of_envoy, context) in
        [(&fleet.pki, SessionContext([1; 32])), (&elsewhere, context(&fleet.pki))]
    {
        let pool = MixedPool::start(&fleet, of_envoy, context).await;
        let canary = canary(&[&fleet.pki, &elsewhere], NamedGroup::X25519);
        let mut names = Vec::new();
        for (from, to) in pool.crossings() {
            let ticket = canary.ticket(from).await.unwrap();
            names.push(*ticket.key_name().unwrap());
            assert!(!canary.resumes(to, ticket).await.unwrap());
            let ticket = canary.ticket(from).await.unwrap();
            assert!(canary.resumes(from, ticket).await.unwrap());
        }
        assert_eq!(names[0], names[1]);
    }
}

/// The stores of `tessera edge`, and a sidecar as a process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs ENVOY, the program"]
async fn our_programs_stores_join_the_ring_of_an_envoys_sidecar() {
    let pki = Pki::of("Ring test CA");
    let etcd = Cluster::start(1).unwrap();
    let endpoints = etcd.endpoints();
    let at_etcd =
        format!("etcd = {{ endpoints = {endpoints:?}, plaintext-on-private-network = true }}");
    let mut envoy = RunningServer::envoy(&pki, "a");
    let certificate = envoy.path("server.pem").display().to_string();
    let section = format!("{}certificate = \"{certificate}\"\n", envoy.envoy_section());
    let mut sidecar = Sidecar::new(PROGRAM, "a", &at_etcd, &section);
    sidecar.start();
    envoy.start();
    envoy.listens();

    let files = Directory::new();
    let key = KeySource::File(files.write_private("ring.key", "0123456789abcdef".repeat(4)).into());
    let transport = Transport::PlaintextOnPrivateNetwork;
    let hour = SidecarRing::AN_HOUR;
    let ring = SidecarRing {
        prefix: "/tessera/",
        rotate_every: hour,
        ticket_lifetime: hour,
        clock_skew: Duration::from_secs(1),
    };
    let pool = EnvoyPool {
        section: "envoys",
        ring,
        key: &key,
        pool: "www",
        member: "edge",
        certificate: &pki.der(),
        server_names: &[],
    };
    let client = EtcdClient::new(endpoints, transport, Duration::from_secs(1));
    let stores = Stores::open_pool(PoolStores {
        section: "proxy",
        store: Arc::new(client),
        prefix: "/tessera/".into(),
        key: &key,
        sites: None,
        envoys: Some(pool),
    });
    let stores = stores.unwrap();
    let mut config = ServerConfig::new(provider(), vec![pki.credential()]);
    config.tickets = Some(stores.tickets.clone());
    config.suites_by_the_clients_preference = true;
    let own = serve(config);
    let both = "tessera_stek_members{} 2\n";
    until("both are members", || sidecar.is_well() && sidecar.metrics().contains(both)).await;
    let canary = canary(&[&pki], NamedGroup::X25519MLKEM768);
    for (from, to) in [(envoy.address, own), (own, envoy.address)] {
        let ticket = canary.ticket(from).await.unwrap();
        let rotated = sidecar.task("rotate");
        assert!(rotated.status.success(), "{}", String::from_utf8_lossy(&rotated.stderr));
        assert!(canary.resumes(to, ticket).await.unwrap());
    }
    sidecar.kill();
    stores.close().await.unwrap();
}
