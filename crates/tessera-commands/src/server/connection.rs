//! One client, from the handshake to the end.

use std::io;
use std::time::Duration;

use tessera_kit::report::Report;
use tessera_tokio::{AcceptedClient, TimedOut};
use tokio::io::AsyncWriteExt;

use super::client::Client;
use super::shared::Shared;
use super::{echo, http};
use crate::options::Answer;

/// Serves a client to its end, and tells about it.
pub(super) async fn serve(accepted: AcceptedClient, how: Answer, idle: Duration, report: &Report) {
    let mut client = Client::new(accepted);
    let begun = begin(&mut client).await;
    match how {
        Answer::Http if matches!(begun, Ok(true)) => {
            let client = Shared::new(client);
            let result = http::answer(&client, idle).await;
            if client.lock().timed_out() == Some(TimedOut::Idle) {
                let _ = client.clone().shutdown().await;
            }
            client.lock().tell(result, report);
        }
        _ => {
            let result = match begun {
                Ok(true) => echo::answer(&mut client).await,
                other => other.map(drop),
            };
            if client.timed_out() == Some(TimedOut::Idle) {
                // Nothing is missing: the client may know.
                let _ = client.stream.shutdown().await;
            }
            client.tell(result, report);
        }
    }
}

/// Shakes hands; whether it goes on then.
async fn begin(client: &mut Client) -> io::Result<bool> {
    let mut ending = client.ending.clone();
    tokio::select! {
        handshake = client.handshake() => handshake.map(|()| true),
        // Whoever is not through yet will come again.
        () = ending.begun() => Ok(false),
    }
}
