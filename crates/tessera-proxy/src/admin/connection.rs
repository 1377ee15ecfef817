//! A connection of an operator's program.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout, timeout_at};

use super::AdminState;
use super::places::IdleMark;
use super::request::{LONGEST, Refusal, Request, parse};
use super::response::{Response, answer, refuse};

/// How long a connection may wait for its next request. Monitors poll every minute, or more often.
const IDLE: Duration = Duration::from_secs(120);
/// How long a request may take from its first byte.
const HEAD: Duration = Duration::from_secs(5);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(10);
/// How long a peer may take to notice the end.
const END: Duration = Duration::from_secs(1);

/// Answers requests, one after the other, to the end of the connection.
pub(super) async fn serve(
    mut io: impl AsyncRead + AsyncWrite + Unpin,
    served: &AdminState,
    waiting: &IdleMark,
) -> io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(asked) = next(&mut io, &mut buffer).await? {
        waiting.ends();
        let Response { bytes, keeps } = match asked {
            Ok(request) => answer(&request, served),
            Err(refusal) => refuse(refusal),
        };
        timeout(ANSWER, async {
            io.write_all(&bytes).await?;
            io.flush().await
        })
        .await??;
        if !keeps {
            return end(&mut io, buffer).await;
        }
        waiting.begins();
    }
    Ok(())
}

/// Reads the next request; none if the peer closed or is idle for too long. Bytes after it stay in the buffer.
async fn next(
    io: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> io::Result<Option<Result<Request, Refusal>>> {
    let mut deadline = Instant::now() + if buffer.is_empty() { IDLE } else { HEAD };
    loop {
        match parse(buffer) {
            Ok(Some((request, length))) => {
                buffer.drain(..length);
                return Ok(Some(Ok(request)));
            }
            Ok(None) => (),
            Err(refusal) => return Ok(Some(Err(refusal))),
        }
        let was_empty = buffer.is_empty();
        if was_empty {
            // Hold no buffer while idle.
            *buffer = Vec::new();
        }
        // A head that fills the buffer is refused above.
        let mut chunk = [0; 1024];
        let room = LONGEST.saturating_sub(buffer.len()).min(chunk.len());
        let Some(chunk) = chunk.get_mut(..room) else { return Ok(None) };
        let Ok(read) = timeout_at(deadline, io.read(chunk)).await else {
            return Ok((!was_empty).then_some(Err(Refusal::TooSlow)));
        };
        let count = read?;
        if count == 0 {
            return Ok(None);
        }
        if was_empty {
            deadline = Instant::now() + HEAD;
        }
        buffer.extend_from_slice(chunk.get(..count).unwrap_or_default());
    }
}

/// Closes a connection so that the peer can read the last answer: closing a socket with unread bytes resets it, which
/// may lose the answer (RFC 9112 §9.6).
async fn end(
    io: &mut (impl AsyncRead + AsyncWrite + Unpin),
    mut buffer: Vec<u8>,
) -> io::Result<()> {
    timeout(END, async {
        io.shutdown().await?;
        buffer.resize(1024, 0);
        for _ in 0..64 {
            if io.read(&mut buffer).await? == 0 {
                break;
            }
        }
        Ok(())
    })
    .await?
}

#[cfg(test)]
mod tests {
    use tokio::io::{DuplexStream, duplex};
    use tokio::time::sleep;

    use super::*;
    use crate::admin::places::Places;

    /// A peer with its own connection, over a pipe of this size.
    async fn connect(room: usize) -> (DuplexStream, Places) {
        let (peer, io) = duplex(room);
        let mut places = Places::new(1);
        let serve = |waiting: std::sync::Arc<IdleMark>| async move {
            let _ = serve(io, &AdminState::default(), &waiting).await;
        };
        places.give(serve).await;
        (peer, places)
    }

    async fn rest(peer: &mut DuplexStream) -> String {
        let mut answer = String::new();
        peer.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test(start_paused = true)]
    async fn a_byte_a_second_is_too_slow_however_long_it_goes_on() {
        let (mut peer, _places) = connect(1024).await;
        let started = Instant::now();
        let (mut read, mut write) = tokio::io::split(&mut peer);
        let dripping = async {
            for byte in "GET /metrics HTTP/1.1\r\nHost: a".bytes() {
                sleep(Duration::from_secs(1)).await;
                if write.write_all(&[byte]).await.is_err() {
                    break;
                }
            }
        };
        let answer = async {
            let mut answer = String::new();
            read.read_to_string(&mut answer).await.unwrap();
            (answer, started.elapsed())
        };
        let (_, (answer, elapsed)) = tokio::join!(dripping, answer);
        assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{answer}");
        // A second until the first byte, then HEAD.
        assert!((Duration::from_secs(6)..Duration::from_secs(8)).contains(&elapsed), "{elapsed:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_is_disconnected_without_an_answer() {
        let (mut peer, _places) = connect(1024).await;
        let started = Instant::now();
        assert_eq!(rest(&mut peer).await, "");
        assert_eq!(started.elapsed(), IDLE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_disconnected() {
        let (mut peer, _places) = connect(16).await;
        peer.write_all(b"GET /met").await.unwrap();
        peer.write_all(b"rics HTTP/1.0\r\n").await.unwrap();
        peer.write_all(b"\r\n").await.unwrap();
        sleep(ANSWER + Duration::from_secs(1)).await;
        // What fits into the pipe, then the end.
        assert_eq!(rest(&mut peer).await, "HTTP/1.1 200 OK\r");
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_connection_takes_the_place_of_the_longest_waiting_one() {
        let mut places = Places::new(3);
        let mut peers = Vec::new();
        for _ in 0..3 {
            let (peer, io) = duplex(1024);
            let serve = |waiting: std::sync::Arc<IdleMark>| async move {
                let _ = serve(io, &AdminState::default(), &waiting).await;
            };
            places.give(serve).await;
            peers.push(peer);
        }
        // The first sends a request, and then is idle after the others.
        let mut byte = [0; 17];
        peers[0].write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        peers[0].read_exact(&mut byte).await.unwrap();
        sleep(Duration::from_millis(1)).await;
        places.give(async |_| std::future::pending().await).await;
        assert_eq!(rest(&mut peers[1]).await, "");
        assert!(timeout(Duration::from_secs(1), rest(&mut peers[2])).await.is_err());
        assert!(timeout(Duration::from_secs(1), rest(&mut peers[0])).await.is_err());
    }
}
