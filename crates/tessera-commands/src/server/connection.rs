//! One client, from the handshake to the end.

use std::io;

use tessera_kit::report::Report;
use tessera_tokio::{AcceptedClient, TimedOut};
use tokio::io::AsyncWriteExt;

use super::client::Client;
use super::{echo, http};
use crate::options::Answer;

/// Serves a client to its end, and tells about it.
pub(super) async fn serve(accepted: AcceptedClient, how: Answer, report: &Report) {
    let mut client = Client::new(accepted);
    let result = answer(&mut client, how).await;
    let timed_out = client.stream.get_ref().timed_out();
    if timed_out == Some(TimedOut::Idle) {
        // Nothing is missing: the client may know.
        let _ = client.stream.shutdown().await;
    }
    let why = |error: io::Error| timed_out.map_or_else(|| error.to_string(), |it| it.to_string());
    report.tell(&client.facts(result.err().map(why)));
}

async fn answer(client: &mut Client, how: Answer) -> io::Result<()> {
    // Whoever has begun is served, also when the server ends: its limit for the last goodbyes ends this.
    client.handshake().await?;
    match how {
        Answer::Echo => echo::answer(client).await,
        Answer::Http => http::answer(client).await,
    }
}
