//! One client, from the handshake to the end.

use std::time::Duration;

use tessera_kit::report::Report;
use tessera_tokio::{AcceptedClient, TimedOut};
use tokio::io::AsyncWriteExt;

use super::client::Client;
use super::shared::Shared;
use super::{echo, http};
use crate::options::Answer;

/// Serves a client to its end, and reports it.
pub(super) async fn serve(accepted: AcceptedClient, how: Answer, idle: Duration, report: &Report) {
    let mut client = Client::new(accepted);
    // A client that has begun is served even if the server ends; the limit on closing ends that.
    let begun = client.handshake().await;
    match how {
        Answer::Http if begun.is_ok() => {
            let client = Shared::new(client);
            // Boxed: a task is as large as its largest branch, and an echo is small.
            let result = Box::pin(http::answer(&client, idle)).await;
            if client.lock().timed_out() == Some(TimedOut::Idle) {
                let _ = client.clone().shutdown().await;
            }
            client.lock().tell(result, report);
        }
        _ => {
            let result = match begun {
                Ok(()) => echo::answer(&mut client).await,
                failed => failed,
            };
            if client.timed_out() == Some(TimedOut::Idle) {
                // The answer is complete: confirm that with close_notify.
                let _ = client.stream.shutdown().await;
            }
            client.tell(result, report);
        }
    }
}
