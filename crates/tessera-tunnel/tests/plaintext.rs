//! What a server end keeps of the bytes it carried. A separate process, because the test searches its memory.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "other tests need more of it")]
#[path = "server/world.rs"]
mod world;

use tessera_harness::Mark;
use tessera_tunnel::config::Early;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use world::{Client, Files, RunningServer, within};

/// Runs in the test's thread, whose stack is searched too.
#[tokio::test]
async fn of_the_first_bytes_of_a_client_nothing_stays_in_memory() {
    const LEN: usize = 9000;
    let files = Files::new();
    let backend = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut section = files.server(&backend.local_addr().unwrap().to_string());
    (section.wait_for_client, section.early) = (true, Early::Never);
    let server = RunningServer::start(&section);
    let client = Client::new(&files.client());

    let mark = Mark::new();
    let (mut sent, mut received) = (vec![0; LEN], vec![0; LEN]);
    mark.fill(&mut sent);
    let mut stream = client.connect(server.address).await.unwrap();
    stream.write_all(&sent).await.unwrap();
    let (mut dialled, _) = within(backend.accept()).await.unwrap();
    within(dialled.read_exact(&mut received)).await.unwrap();
    assert!(sent == received && mark.count() >= 2 * LEN / Mark::LEN - 2);
    sent.fill(0);
    received.fill(0);
    assert_eq!(mark.count(), 0, "what was handed on is kept");
    drop((stream, dialled));
    server.stop().await;
    assert_eq!(mark.count(), 0);
}
