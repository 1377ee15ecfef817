//! What survives a restart.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use tessera_kit::KeySource;
use tessera_tokio::EarlyData;
use tessera_tunnel::config::{EtcdSection, Fleet, FleetVault, ServerSection, SitesSection};

use crate::backends::Echo;
use crate::world::{Client, Files, RunningServer, answer};

fn with_state(files: &Files, echo: &Echo) -> ServerSection {
    let mut section = files.server(&echo.forward());
    let state = files.path("state");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
    section.state = Some(state);
    fs::write(files.path("state.key"), [7; 32]).unwrap();
    fs::set_permissions(files.path("state.key"), fs::Permissions::from_mode(0o600)).unwrap();
    section.state_key = Some(KeySource::File(files.path("state.key")));
    section
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_notice_nothing_of_a_clean_restart() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let section = with_state(&files, &echo);
    let server = RunningServer::start(&section);
    let client = Client::new(&files.client());
    client.request(server.address, b"before").await.unwrap();
    server.stop().await;

    let server = RunningServer::start(&section);
    let EarlyData::Accepted { mut stream, .. } = client.early(server.address, b"after").await
    else {
        panic!("not accepted")
    };
    assert_eq!(answer(&mut stream).await.unwrap(), b"after");
    server.stop().await;
    assert_eq!(echo.seen(), [b"before".to_vec(), b"after".to_vec()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_memory_nothing_survives_and_clients_make_full_handshakes() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let section = files.server(&echo.forward());
    let server = RunningServer::start(&section);
    let client = Client::new(&files.client());
    client.request(server.address, b"before").await.unwrap();
    server.stop().await;
    let server = RunningServer::start(&section);
    let early = client.early(server.address, b"after").await;
    assert!(matches!(early, EarlyData::Rejected { .. }), "{early:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_fails_at_its_fleet_leaves_the_state_to_the_next() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let section = with_state(&files, &echo);
    let server = RunningServer::start(&section);
    let client = Client::new(&files.client());
    client.request(server.address, b"before").await.unwrap();
    server.stop().await;

    // Another program holds the port of the sites. The ring is not fetched yet.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let sites = SitesSection {
        listen: taken.local_addr().unwrap().to_string().parse().unwrap(),
        vault_name: None,
        ca: files.path("ca.pem"),
        certificate: files.path("server.pem"),
        key: None,
        others: Vec::new(),
    };
    let etcd = EtcdSection {
        endpoints: vec!["127.0.0.1:1".to_owned()],
        prefix: "/tunnel/".to_owned(),
        ca: None,
        server_name: None,
        certificate: None,
        key: None,
        plaintext_on_private_network: true,
    };
    let fleet = Fleet {
        etcd,
        ring_key: KeySource::File(files.path("state.key")),
        vault: FleetVault::Sites,
        epoch_keys: None,
        sites: Some(sites),
    };
    let failing = ServerSection { fleet: Some(fleet), ..section.clone() };
    let error = RunningServer::try_start(&failing).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("fleet.sites] listen"), "{error}");

    let server = RunningServer::start(&section);
    let early = client.early(server.address, b"after").await;
    let EarlyData::Accepted { mut stream, .. } = early else { panic!("{early:?}") };
    assert_eq!(answer(&mut stream).await.unwrap(), b"after");
}
