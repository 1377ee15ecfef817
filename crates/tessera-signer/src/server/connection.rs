//! One connection of a client.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use tessera_tokio::{AcceptedClient, Ending};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{JoinSet, spawn_blocking};
use tracing::{debug, warn};

use super::{Client, Service};
use crate::PROTOCOL;
use crate::wire::{Answer, Refusal, Request};

/// Serves a connection to its end.
pub(super) async fn serve(service: Arc<Service>, client: AcceptedClient) {
    let AcceptedClient { mut stream, address, ending, .. } = client;
    if let Err(error) = stream.handshake().await {
        service.metrics.failed();
        return debug!("no handshake with {address}: {error}");
    }
    let peer = stream.facts().peer.as_ref();
    let client = peer.map(|peer| Client { identity: peer.blob.clone() });
    let Some(client) = client.filter(|_| stream.protocol() == Some(PROTOCOL)) else {
        service.metrics.failed();
        return warn!("{address} is refused: it has no certificate, or speaks another protocol");
    };
    let _open = service.metrics.opened();
    let (reader, writer) = stream.split();
    let (answers, to_send) = channel(ANSWERS_AHEAD);
    let mut slow = JoinSet::new();
    let hearing = hear(&service, &client, reader, answers, &mut slow, ending);
    if let Err(error) = tokio::try_join!(hearing, send(writer, to_send)) {
        if error.kind() == ErrorKind::InvalidData {
            service.metrics.failed();
            warn!("the connection of {address} is cut off: {error}");
        } else {
            debug!("the connection of {address} ended: {error}");
        }
    }
}

/// Reads requests and answers them, until the client or the server ends.
async fn hear(
    service: &Arc<Service>,
    client: &Client,
    mut reader: impl AsyncRead + Unpin,
    answers: Sender<Answer>,
    slow: &mut JoinSet<()>,
    mut ending: Ending,
) -> io::Result<()> {
    let mut buffer = vec![0; 2 * Request::MAX_LEN];
    let mut filled = 0;
    loop {
        let free = buffer.get_mut(filled..).unwrap_or_default();
        let received = tokio::select! {
            received = reader.read(free) => received?,
            () = ending.begun() => 0,
        };
        if received == 0 {
            // The signatures in progress are sent still.
            while slow.join_next().await.is_some() {}
            return Ok(());
        }
        filled += received;
        let mut unread = buffer.get(..filled).unwrap_or_default();
        while let Some(request) = Request::read(&mut unread).map_err(|_| malformed())? {
            while slow.try_join_next().is_some() {}
            // A client that reads no answers blocks the reading of its requests too.
            if let Some(answer) = answer(service, client, request, &answers, slow)
                && answers.send(answer).await.is_err()
            {
                return Ok(());
            }
        }
        let left = unread.len();
        buffer.copy_within(filled - left..filled, 0);
        filled = left;
    }
}

/// Answers a request; `None` if a slow signature is in progress, which is sent when it is there.
fn answer(
    service: &Arc<Service>,
    client: &Client,
    request: Request,
    answers: &Sender<Answer>,
    slow: &mut JoinSet<()>,
) -> Option<Answer> {
    let (id, scheme, name, message) = match request {
        Request::Ping { id } => return Some(Answer::Pong { id }),
        Request::Sign { id, scheme, name, message } => (id, scheme, name, message),
    };
    let refused = |refusal| {
        service.refused(client, &name, refusal);
        Some(Answer::Refused { id, refusal })
    };
    let key = match service.keys().grant(&client.identity, &name, scheme, &message) {
        Ok(key) => key,
        Err(refusal) => return refused(refusal),
    };
    if key.is_fast() {
        return match key.signer().sign(scheme, &message) {
            Ok(signature) => {
                service.metrics.signed(&String::from_utf8_lossy(&name));
                Some(Answer::Signed { id, signature })
            }
            Err(_) => refused(Refusal::Failed),
        };
    }
    let Ok(permit) = service.in_progress.clone().try_acquire_owned() else {
        return refused(Refusal::Busy);
    };
    let (service, answers, identity) = (service.clone(), answers.clone(), client.identity.clone());
    slow.spawn(async move {
        let signer = key.signer().clone();
        let signed = spawn_blocking(move || {
            let signature = signer.sign(scheme, &message);
            // Also if the connection has ended meanwhile.
            drop(permit);
            signature
        });
        let answer = match signed.await {
            Ok(Ok(signature)) => {
                service.metrics.signed(&String::from_utf8_lossy(&name));
                Answer::Signed { id, signature }
            }
            _ => {
                service.refused(&Client { identity }, &name, Refusal::Failed);
                Answer::Refused { id, refusal: Refusal::Failed }
            }
        };
        // Its connection may have ended.
        let _ = answers.send(answer).await;
    });
    None
}

/// Sends answers until there are no more, and then close_notify.
async fn send(
    mut writer: impl AsyncWrite + Unpin,
    mut answers: Receiver<Answer>,
) -> io::Result<()> {
    let mut ready = Vec::with_capacity(ANSWERS_AHEAD);
    let mut bytes = Vec::new();
    while answers.recv_many(&mut ready, ANSWERS_AHEAD).await > 0 {
        ready.drain(..).for_each(|answer| answer.write(&mut bytes));
        writer.write_all(&bytes).await?;
        writer.flush().await?;
        bytes.clear();
    }
    writer.shutdown().await
}

fn malformed() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "it sent no request")
}

/// How many answers may wait to be sent.
const ANSWERS_AHEAD: usize = 64;
