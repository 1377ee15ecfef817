//! One connection of another site.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tessera::handshake::Reply;
use tessera_tokio::{AcceptedClient, Ending};
use tessera_vault::{Acknowledgement, BurnAtHome};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::{debug, warn};
use zeroize::{Zeroize, Zeroizing};

use super::Service;
use super::share::Place;
use crate::PROTOCOL;
use crate::counts::count;
use crate::known;
use crate::wire::{Answer, Request};

/// Serves a connection to its end.
pub(super) async fn serve(service: Arc<Service>, client: AcceptedClient) {
    let AcceptedClient { mut stream, address, ending, .. } = client;
    if let Err(error) = stream.handshake().await {
        count(&service.counters.refused);
        return debug!("no handshake with {address}: {error}");
    }
    // Without the right configuration no peer has a name.
    let site = known::name_of(stream.facts().peer.as_ref());
    let place = site.as_deref().and_then(|site| service.place(site));
    let (Some(site), Some(place)) = (site, place) else {
        count(&service.counters.refused);
        return warn!("{address} is refused: not a known site, or one with too many connections");
    };
    if stream.protocol() != Some(PROTOCOL) {
        count(&service.counters.refused);
        return warn!("{address}, site {site}, is refused: it speaks another protocol");
    }
    count(&service.counters.connections);
    let (reader, writer) = stream.split();
    let (answers, to_send) = channel(ANSWERS_AHEAD);
    let mut later = JoinSet::new();
    let hearing = hear(&service, (&site, &place), reader, answers, &mut later, ending);
    if let Err(error) = tokio::try_join!(hearing, send(writer, to_send)) {
        if error.kind() == ErrorKind::InvalidData {
            count(&service.counters.malformed);
            warn!("the connection of {address}, site {site}, is cut off: {error}");
        } else {
            debug!("the connection of {address}, site {site}, ended: {error}");
        }
    }
}

/// Reads requests and answers them, until the peer or the server ends.
async fn hear(
    service: &Arc<Service>,
    (site, place): (&str, &Place),
    mut reader: impl AsyncRead + Unpin,
    answers: Sender<Answer>,
    later: &mut JoinSet<()>,
    mut ending: Ending,
) -> io::Result<()> {
    let room = Arc::new(Semaphore::new(service.limits.in_flight.clamp(1, Semaphore::MAX_PERMITS)));
    let mut buffer = Zeroizing::new(vec![0; 2 * Request::MAX_LEN]);
    let mut filled = 0;
    let mut last = None;
    loop {
        let free = buffer.get_mut(filled..).unwrap_or_default();
        let received = tokio::select! {
            received = reader.read(free) => received?,
            () = ending.begun() => return Ok(()),
        };
        if received == 0 {
            return Ok(());
        }
        filled += received;
        let mut unread = buffer.get(..filled).unwrap_or_default();
        while let Some(request) = Request::read(&mut unread).map_err(|_| malformed("no request"))? {
            let id = request.id();
            if last.is_some_and(|last| id <= last) {
                return Err(malformed("ids don't grow"));
            }
            last = Some(id);
            place.pace().await;
            if !matches!(request, Request::Ping { .. }) {
                count(&service.counters.requests);
            }
            let answer = match request {
                Request::Ping { id } => Some(Answer::Pong { id }),
                Request::Life { id } => {
                    count(&service.counters.answered);
                    Some(Answer::Life { id, life: service.vault.life() })
                }
                Request::BurnMoved { id, question } => {
                    count(&service.counters.answered);
                    let burned = unix_time().map(|it| service.vault.burn_moved_here(&question, it));
                    let acknowledgement = burned.unwrap_or(Acknowledgement::Unknown);
                    Some(Answer::Acknowledged { id, acknowledgement })
                }
                Request::Carry { id, secret } => {
                    count(&service.counters.answered);
                    let arrived =
                        unix_time().map(|it| service.vault.arrive_from_another(secret, it));
                    if let Some(Err(error)) = &arrived {
                        debug!("a secret of site {site} was not taken: {error}");
                    }
                    Some(Answer::Carried { id, has_arrived: arrived == Some(Ok(())) })
                }
                Request::Burn { id, burn } => {
                    match service.vault.burn_for_another(&burn, unix_time()) {
                        Reply::Now(acknowledgement) => {
                            count(&service.counters.answered);
                            Some(Answer::Acknowledged { id, acknowledgement })
                        }
                        Reply::Later => {
                            while later.try_join_next().is_some() {}
                            let Ok(permit) = room.clone().acquire_owned().await else {
                                return Ok(());
                            };
                            let (service, answers) = (service.clone(), answers.clone());
                            later.spawn(answer_later(service, id, burn, answers, permit));
                            None
                        }
                    }
                }
            };
            // A peer that reads no answers blocks the reading of its requests too.
            if let Some(answer) = answer
                && answers.send(answer).await.is_err()
            {
                return Ok(());
            }
        }
        let left = unread.len();
        keep_last(&mut buffer, filled, left);
        filled = left;
    }
}

/// Moves the last bytes that were received to the front, and wipes all others: a secret that has arrived may be taken long
/// before this connection ends, or more arrives.
fn keep_last(buffer: &mut [u8], filled: usize, last: usize) {
    buffer.copy_within(filled - last..filled, 0);
    buffer.get_mut(last..filled).unwrap_or_default().zeroize();
}

/// Waits for a vault that answers later.
async fn answer_later(
    service: Arc<Service>,
    id: u64,
    burn: BurnAtHome,
    answers: Sender<Answer>,
    _permit: OwnedSemaphorePermit,
) {
    let acknowledgement = match &service.later {
        Some(vault) => {
            let taking = vault.take_secret(burn.question(unix_time()));
            match timeout(service.limits.answer, taking).await {
                Ok(taken) => Acknowledgement::of(&taken),
                Err(_) => {
                    count(&service.counters.timed_out);
                    Acknowledgement::Unknown
                }
            }
        }
        None => Acknowledgement::Unknown,
    };
    count(&service.counters.answered);
    // Its connection may have ended.
    let _ = answers.send(Answer::Acknowledged { id, acknowledgement }).await;
}

/// Sends answers until there are no more, and then close_notify.
async fn send(
    mut writer: impl AsyncWrite + Unpin,
    mut answers: Receiver<Answer>,
) -> io::Result<()> {
    let mut ready = Vec::with_capacity(ANSWERS_AHEAD);
    let mut bytes = Vec::with_capacity(ANSWERS_AHEAD * Answer::MAX_LEN);
    while answers.recv_many(&mut ready, ANSWERS_AHEAD).await > 0 {
        ready.drain(..).for_each(|answer| answer.write(&mut bytes));
        writer.write_all(&bytes).await?;
        writer.flush().await?;
        bytes.clear();
    }
    writer.shutdown().await
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

fn unix_time() -> Option<Duration> {
    SystemTime::now().duration_since(UNIX_EPOCH).ok()
}

/// How many answers may wait to be sent.
const ANSWERS_AHEAD: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_were_read_are_wiped() {
        for (last, expected) in [(0, *b"......xx"), (2, *b"ef....xx"), (6, *b"abcdefxx")] {
            let mut buffer = *b"abcdefxx";
            keep_last(&mut buffer, 6, last);
            assert_eq!(buffer.map(|byte| if byte == 0 { b'.' } else { byte }), expected, "{last}");
        }
    }
}
