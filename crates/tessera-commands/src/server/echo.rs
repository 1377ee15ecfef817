//! Sends back what comes.

use std::io;

use tokio::io::AsyncWriteExt;

use super::client::Client;
use super::ending::Ending;
use crate::receive::receive;

pub(super) async fn answer(client: &mut Client, ending: &mut Ending) -> io::Result<()> {
    loop {
        let received = tokio::select! {
            received = receive(&mut client.stream) => received?,
            () = ending.begun() => Vec::new(),
        };
        client.note_handshake();
        if received.is_empty() {
            return client.stream.shutdown().await;
        }
        client.stream.write_all(&received).await?;
    }
}
