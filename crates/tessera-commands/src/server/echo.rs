//! Sends back what comes.

use std::io;

use tokio::io::AsyncWriteExt;

use super::client::Client;
use crate::receive::{Plaintext, receive};

pub(super) async fn answer(client: &mut Client) -> io::Result<()> {
    let mut answered = false;
    loop {
        let received = tokio::select! {
            biased;
            received = receive(&mut client.stream) => received?,
            // Who was not answered yet has something under way.
            () = client.ending.begun(), if answered => {
                // An answer to early data has left; the ticket follows the end of the handshake.
                client.stream.handshake().await?;
                Plaintext::default()
            }
        };
        answered = true;
        client.note_handshake();
        if received.is_empty() {
            return client.stream.shutdown().await;
        }
        client.stream.write_all(&received).await?;
    }
}
