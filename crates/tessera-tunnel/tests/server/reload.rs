//! Reloaded files.

use std::fs;

use tessera::resume::Verdict;
use tessera_pki::rcgen::SanType;
use tessera_tokio::EarlyData;
use tessera_tunnel::metrics::{Outcome, ReloadResult};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::backends::Echo;
use crate::world::{Client, Files, RunningServer, answer, within};

#[tokio::test(flavor = "multi_thread")]
async fn broken_files_leave_what_was_loaded_in_use() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let section = files.server(&echo.forward());
    let server = RunningServer::start(&section);
    let client = Client::new(&files.client());
    let good = fs::read(files.path("server.pem")).unwrap();
    for (name, broken) in
        [("server.pem", &b"garbage"[..]), ("server.pem", &good[..good.len() / 2]), ("ca.pem", b"")]
    {
        let before = fs::read(files.path(name)).unwrap();
        fs::write(files.path(name), broken).unwrap();
        let error = server.end.reload(section.clone()).unwrap_err();
        assert_eq!((error.exit_code(), error.file()), (2, Some(&*files.path(name))), "{error}");
        fs::write(files.path(name), before).unwrap();
        assert_eq!(client.request(server.address, b"hello").await.unwrap(), b"hello");
    }
    let mut elsewhere = section.clone();
    elsewhere.limits.connections = 5;
    let error = server.end.reload(elsewhere).unwrap_err().to_string();
    assert!(error.contains("[server.test] limits") && error.contains("restart"), "{error}");
    assert_eq!(server.metrics.reloads.get(ReloadResult::Failed), 4);
    server.end.reload(section).unwrap();
    assert_eq!(server.metrics.reloads.get(ReloadResult::Reloaded), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_certificate_ends_no_session_and_no_connection() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let section = files.server(&echo.forward());
    let server = RunningServer::start(&section);
    let client = Client::new(&files.client());
    client.request(server.address, b"hello").await.unwrap();
    let mut open = client.connect(server.address).await.unwrap();
    open.write_all(b"be").await.unwrap();
    files.issue("server", SanType::DnsName("server.example".try_into().unwrap()));
    let changes = server.end.reload(section).unwrap();
    assert!(changes.certificates && !changes.peers);
    open.write_all(b"fore").await.unwrap();
    assert_eq!(answer(&mut open).await.unwrap(), b"before");
    let early = client.early(server.address, b"early").await;
    assert!(matches!(early, EarlyData::Accepted { .. }), "{early:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_ends_when_its_peer_is_not_allowed_any_more() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let mut section = files.server(&echo.forward());
    let server = RunningServer::start(&section);
    let client = Client::new(&files.client());
    let mut open = client.connect(server.address).await.unwrap();
    open.write_all(b"half a request").await.unwrap();
    let arrives = async {
        while server.metrics.received_bytes.get() == 0 {
            tokio::task::yield_now().await;
        }
    };
    within(arrives).await;
    section.peers.names = vec!["other.example".to_owned()];
    assert!(server.end.reload(section).unwrap().peers);
    // No traffic: the reload itself ends the connection, and not in order.
    within(open.read_to_end(&mut Vec::new())).await.unwrap_err();
    client.request(server.address, b"hello").await.unwrap_err();
    let metrics = server.metrics.clone();
    server.stop().await;
    assert_eq!(metrics.connections.get(Outcome::Cut), 1);
    // The backend did not take it for a complete request.
    assert!(echo.seen().is_empty());
}

/// The server, already authenticated, answers the early data before it checks the client's certificate.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_no_longer_allowed_learns_that_its_flight_was_not_executed() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let mut section = files.server(&echo.forward());
    let server = RunningServer::start(&section);
    let client = Client::new(&files.client());
    client.request(server.address, b"hello").await.unwrap();
    section.peers.names = vec!["other.example".to_owned()];
    assert!(server.end.reload(section).unwrap().peers);
    let early = client.early(server.address, b"early").await;
    assert!(matches!(early, EarlyData::Rejected { verdict: Verdict::Burned, .. }), "{early:?}");
    server.stop().await;
    assert_eq!(echo.seen(), [b"hello"]);
}
