//! What survives a restart.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tessera_kit::KeySource;
use tessera_tokio::EarlyData;

use crate::backends::Echo;
use crate::world::{Client, Files, Running, answer};

#[tokio::test(flavor = "multi_thread")]
async fn clients_notice_nothing_of_a_clean_restart() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let mut section = files.server(&echo.forward());
    let state = files.path("state");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
    section.state = Some(state);
    fs::write(files.path("state.key"), [7; 32]).unwrap();
    fs::set_permissions(files.path("state.key"), fs::Permissions::from_mode(0o600)).unwrap();
    section.state_key = Some(KeySource::File(files.path("state.key")));

    let server = Running::start(&section);
    let client = Client::new(&files.client());
    client.request(server.address, b"before").await.unwrap();
    server.stop().await;

    let server = Running::start(&section);
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
    let server = Running::start(&section);
    let client = Client::new(&files.client());
    client.request(server.address, b"before").await.unwrap();
    server.stop().await;
    let server = Running::start(&section);
    let early = client.early(server.address, b"after").await;
    assert!(matches!(early, EarlyData::Rejected { .. }), "{early:?}");
}
