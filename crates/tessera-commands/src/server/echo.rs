//! Echoes what clients send.

use std::io;

use tokio::io::AsyncWriteExt;

use super::client::Client;
use crate::receive::receive;

pub(super) async fn answer(client: &mut Client) -> io::Result<()> {
    let mut answered = false;
    loop {
        let received = tokio::select! {
            biased;
            received = receive(&mut client.stream) => received?,
            // A client without an answer has a request in flight.
            () = client.ending.begun(), if answered => return client.leave().await,
        };
        answered = true;
        client.note_handshake();
        if received.is_empty() {
            return client.stream.shutdown().await;
        }
        client.stream.write_all(&received).await?;
    }
}
