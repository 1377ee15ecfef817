//! What an attacker on the path can cause with copies of flights.

use tessera_tunnel::metrics::{EarlyDataVerdict, Outcome};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use crate::backends::Echo;
use crate::copies::{accepted, copy};
use crate::world::{Client, Files, RunningServer, within};

#[tokio::test]
async fn a_copy_keeps_no_connection_of_the_backend_while_its_handshake_goes_on() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let mut section = files.server(&echo.forward());
    let server = RunningServer::start(&section);
    let client = Client::new(&files.client());
    let flight = accepted(&client, server.address).await;

    let backend = TcpListener::bind("127.0.0.1:0").await.unwrap();
    section.forward = backend.local_addr().unwrap().to_string().parse().unwrap();
    server.end.reload(section).unwrap();
    let mut copies = Vec::new();
    for _ in 0..3 {
        copies.push(copy(server.address, &flight).await);
        let (mut dialled, _) = within(backend.accept()).await.unwrap();
        assert_eq!(within(dialled.read(&mut [0])).await.unwrap(), 0);
    }
    assert_eq!(server.metrics.early_data.get(EarlyDataVerdict::Used), 3);
    assert_eq!(server.metrics.connections.get(Outcome::HandshakeFailed), 0, "they go on");
}
