//! Sends back what comes.

use std::io;

use tokio::io::AsyncWriteExt;

use super::client::Client;
use crate::receive::{Plaintext, receive};

pub(super) async fn answer(client: &mut Client) -> io::Result<()> {
    loop {
        let received = tokio::select! {
            received = receive(&mut client.stream) => received?,
            () = client.ending.begun() => Plaintext::default(),
        };
        client.note_handshake();
        if received.is_empty() {
            return client.stream.shutdown().await;
        }
        client.stream.write_all(&received).await?;
    }
}
