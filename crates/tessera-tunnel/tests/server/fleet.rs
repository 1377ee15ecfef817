//! Several server ends behind one name.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use tessera::resume::Verdict;
use tessera_kit::KeySource;
use tessera_kit::clock::unix;
use tessera_pki::rcgen::SanType;
use tessera_test_peers::etcd::Cluster;
use tessera_test_peers::free_port;
use tessera_tokio::EarlyData;
use tessera_tunnel::config::{
    EtcdSection, Fleet, FleetVault, ServerSection, SiteSection, SitesSection,
};
use tessera_tunnel::metrics::HandshakeKind;

use crate::backends::Echo;
use crate::world::{Client, Files, RunningServer, answer, within};

/// The fleet section of each server, without its own part.
fn fleet(files: &Files, cluster: &Cluster, vault: FleetVault) -> Fleet {
    let key = files.path("ring.key");
    fs::write(&key, [7; 32]).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    Fleet {
        etcd: EtcdSection {
            endpoints: cluster.endpoints(),
            prefix: "/tunnel/".to_owned(),
            ca: None,
            server_name: None,
            certificate: None,
            key: None,
            plaintext_on_private_network: true,
        },
        ring_key: KeySource::File(key),
        vault,
        epoch_keys: None,
        sites: None,
    }
}

/// Waits until a server issues tickets under a key that all servers have.
async fn tickets_come(client: &Client, server: &RunningServer, echo: &Echo) {
    let by_ticket = || {
        let handshakes = &server.metrics.handshakes;
        handshakes.get(HandshakeKind::Resumed) + handshakes.get(HandshakeKind::ForwardSecret)
    };
    within(async {
        while by_ticket() == 0 {
            client.request(server.address, b"").await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert!(echo.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn with_both_in_etcd_a_flight_is_accepted_once_at_any_server() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let cluster = Cluster::start(1).unwrap();
    let epochs = files.path("epochs");
    let line =
        |key: u8| format!("{} 36000 {}\n", unix().as_secs() - 60, format!("{key:02x}").repeat(32));
    fs::write(&epochs, line(9)).unwrap();
    let mut section = files.server(&echo.forward());
    section.fleet = Some(Fleet {
        epoch_keys: Some(epochs.clone()),
        ..fleet(&files, &cluster, FleetVault::Etcd)
    });
    let [one, other] = [RunningServer::start(&section), RunningServer::start(&section)];
    let client = Client::new(&files.client());
    tickets_come(&client, &one, &echo).await;
    tickets_come(&client, &other, &echo).await;

    let mut accepted = 0;
    // The keys of its first tickets may have reached etcd after the tickets reached the client.
    while accepted < 3 {
        let EarlyData::Accepted { mut stream, .. } = client.early(other.address, b"pay").await
        else {
            client.request(one.address, b"").await.unwrap();
            continue;
        };
        assert_eq!(answer(&mut stream).await.unwrap(), b"pay");
        accepted += 1;
    }
    assert_eq!(echo.seen().len(), 3);

    fs::write(&epochs, "no key").unwrap();
    let error = one.end.reload(section.clone()).unwrap_err().to_string();
    assert!(error.contains("epochs:1: an epoch key is BEGINS SECONDS HEX"), "{error}");
    fs::write(&epochs, line(9)).unwrap();
    one.end.reload(section).unwrap();
    one.stop().await;
    other.stop().await;
}

/// A server that keeps its own one-time keys.
fn site(
    files: &Files,
    section: &ServerSection,
    fleet: &Fleet,
    [own, other]: [(&str, u16); 2],
) -> ServerSection {
    let name = |site: &str| format!("{site}.sites.example");
    files.issue(own.0, SanType::DnsName(name(own.0).try_into().unwrap()));
    let vault = |site: &str| site.as_bytes()[0].to_string().repeat(16)[..32].to_owned();
    let sites = SitesSection {
        listen: format!("127.0.0.1:{}", own.1).parse().unwrap(),
        vault_name: Some(vault(own.0)),
        ca: files.path("ca.pem"),
        certificate: files.path(&format!("{}.pem", own.0)),
        key: None,
        others: vec![SiteSection {
            address: format!("127.0.0.1:{}", other.1).parse().unwrap(),
            server_name: name(other.0),
            vault_name: vault(other.0),
        }],
    };
    ServerSection { fleet: Some(Fleet { sites: Some(sites), ..fleet.clone() }), ..section.clone() }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_vaults_at_sites_a_flight_is_burned_at_home_before_it_is_sent_again() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let cluster = Cluster::start(1).unwrap();
    let fleet = fleet(&files, &cluster, FleetVault::Sites);
    let section = files.server(&echo.forward());
    let (a, b) = (("a", free_port().unwrap()), ("b", free_port().unwrap()));
    let one = RunningServer::start(&site(&files, &section, &fleet, [a, b]));
    let other = RunningServer::start(&site(&files, &section, &fleet, [b, a]));
    let client = Client::new(&files.client());
    tickets_come(&client, &one, &echo).await;
    tickets_come(&client, &other, &echo).await;

    // A ticket of one server at the other: the channel between them must be up first.
    let elsewhere = async {
        loop {
            let fresh = Client::new(&files.client());
            fresh.request(one.address, b"").await.unwrap();
            match fresh.early(other.address, b"pay").await {
                EarlyData::Rejected { stream, verdict: Verdict::Burned, .. } => return stream,
                EarlyData::Rejected { verdict: Verdict::Unknown, .. } => (),
                unexpected => panic!("{unexpected:?}"),
            }
        }
    };
    let mut stream = within(elsewhere).await;
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"pay").await.unwrap();
    assert_eq!(answer(&mut stream).await.unwrap(), b"pay");
    // The server that issued it accepts it.
    let fresh = Client::new(&files.client());
    fresh.request(one.address, b"").await.unwrap();
    let early = fresh.early(one.address, b"at home").await;
    let EarlyData::Accepted { mut stream, .. } = early else { panic!("{early:?}") };
    answer(&mut stream).await.unwrap();
    assert_eq!(echo.seen(), [b"pay".to_vec(), b"at home".to_vec()]);
    one.stop().await;
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_with_a_state_has_its_name_and_its_keys_after_a_restart() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let cluster = Cluster::start(1).unwrap();
    let fleet = fleet(&files, &cluster, FleetVault::Sites);
    let ports = (free_port().unwrap(), free_port().unwrap());
    let mut section =
        site(&files, &files.server(&echo.forward()), &fleet, [("a", ports.0), ("b", ports.1)]);
    section.state = Some(files.path("state"));
    fs::create_dir(files.path("state")).unwrap();
    fs::set_permissions(files.path("state"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::copy(files.path("ring.key"), files.path("state.key")).unwrap();
    section.state_key = Some(KeySource::File(files.path("state.key")));
    let error = section.check("test").unwrap_err().to_string();
    assert!(error.starts_with("[server.test] fleet.sites.vault-name: "), "{error}");
    section.fleet.as_mut().unwrap().sites.as_mut().unwrap().vault_name = None;

    let server = RunningServer::start(&section);
    let client = Client::new(&files.client());
    tickets_come(&client, &server, &echo).await;
    let name = server.end.stores().vault_name().unwrap();
    server.stop().await;
    // Directory and port are free again once the last of the old stores is dropped.
    let server = within(async {
        loop {
            match RunningServer::try_start(&section) {
                Ok(server) => return server,
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.contains("in use") || text.contains("uses this state"), "{text}");
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_eq!(server.end.stores().vault_name().unwrap(), name);
    // Its ring comes from etcd, a moment after the start: another client waits for it.
    tickets_come(&Client::new(&files.client()), &server, &echo).await;
    let early = client.early(server.address, b"pay").await;
    let EarlyData::Accepted { mut stream, .. } = early else { panic!("{early:?}") };
    assert_eq!(answer(&mut stream).await.unwrap(), b"pay");
    assert_eq!(echo.seen(), [b"pay".to_vec()]);
}
