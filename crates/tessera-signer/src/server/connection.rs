//! One connection of a client.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use tessera_tokio::{AcceptedClient, Ending};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{OwnedPermit, Receiver, Sender, channel};
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
            // The signatures in progress are still sent.
            while slow.join_next().await.is_some() {}
            return Ok(());
        }
        filled += received;
        let mut unread = buffer.get(..filled).unwrap_or_default();
        while let Some(request) = Request::read(&mut unread).map_err(|_| malformed())? {
            while slow.try_join_next().is_some() {}
            // A client that reads no answers blocks the reading of its requests too, whether its keys are fast or slow.
            let Ok(place) = answers.clone().reserve_owned().await else { return Ok(()) };
            answer(service, client, request, place, slow);
        }
        let left = unread.len();
        buffer.copy_within(filled - left..filled, 0);
        filled = left;
    }
}

/// Answers a request: at once, or when its slow signature is there.
fn answer(
    service: &Arc<Service>,
    client: &Client,
    request: Request,
    place: OwnedPermit<Answer>,
    slow: &mut JoinSet<()>,
) {
    let (id, scheme, name, message) = match request {
        Request::Ping { id } => {
            place.send(Answer::Pong { id });
            return;
        }
        Request::Sign { id, scheme, name, message } => (id, scheme, name, message),
    };
    let granted = || {
        let key = service.keys().find(&client.identity, &name, scheme, &message)?;
        let permit = match key.is_fast() {
            true => None,
            false => {
                let permit = service.in_progress.clone().try_acquire_owned();
                Some(permit.map_err(|_| Refusal::Busy)?)
            }
        };
        // Last: what is refused uses up nothing.
        key.take_one(&client.identity)?;
        Ok((key, permit))
    };
    let (key, permit) = match granted() {
        Ok(granted) => granted,
        Err(refusal) => {
            service.refused(client, &name, refusal);
            place.send(Answer::Refused { id, refusal });
            return;
        }
    };
    let (service, identity) = (service.clone(), client.identity.clone());
    let answer = move |signature: Option<Vec<u8>>| match signature {
        Some(signature) => {
            service.metrics.signed(&String::from_utf8_lossy(&name));
            Answer::Signed { id, signature }
        }
        None => {
            service.refused(&Client { identity }, &name, Refusal::Failed);
            Answer::Refused { id, refusal: Refusal::Failed }
        }
    };
    let signer = key.signer().clone();
    let Some(permit) = permit else {
        place.send(answer(signer.sign(scheme, &message).ok()));
        return;
    };
    slow.spawn(async move {
        let signed = spawn_blocking(move || {
            let signature = signer.sign(scheme, &message);
            // Also if the connection has ended meanwhile.
            drop(permit);
            signature
        });
        place.send(answer(signed.await.ok().and_then(Result::ok)));
    });
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
