//! Runs over a stream that does everything a stream may do: short reads, short writes, spurious pending,
//! flushes that take time.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::common::{self, bytes, destination, finish, forward_secret};
use tessera_tokio::{AsyncHandshake, MemorySessionStore, TlsStream};
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex,
};
use tokio::task::JoinHandle;

/// A stream whose irregularities are determined by its seed.
struct IrregularStream {
    io: DuplexStream,
    state: u64,
    /// Written, but not sent before a flush.
    unsent: Vec<u8>,
}

impl IrregularStream {
    fn new(io: DuplexStream, seed: u64) -> Self {
        Self { io, state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, unsent: Vec::new() }
    }

    /// Returns a pseudorandom number (xorshift: any sequence will do).
    fn below(&mut self, bound: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % bound
    }

    /// Reports pending occasionally, and wakes at once.
    fn hesitates(&mut self, cx: &Context<'_>) -> bool {
        let hesitates = self.below(4) == 0;
        if hesitates {
            cx.waker().wake_by_ref();
        }
        hesitates
    }

    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.unsent.is_empty() {
            let count = std::task::ready!(Pin::new(&mut self.io).poll_write(cx, &self.unsent))?;
            self.unsent.drain(..count);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for IrregularStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.hesitates(cx) {
            return Poll::Pending;
        }
        let most = match self.below(3) {
            0 => 1 + self.below(10),
            1 => 1 + self.below(1000),
            _ => u64::MAX,
        };
        let most = buffer.remaining().min(usize::try_from(most).unwrap());
        let mut some = vec![0; most];
        let mut part = ReadBuf::new(&mut some);
        std::task::ready!(Pin::new(&mut self.io).poll_read(cx, &mut part))?;
        buffer.put_slice(part.filled());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for IrregularStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.hesitates(cx) {
            return Poll::Pending;
        }
        if self.unsent.len() > 500 {
            std::task::ready!(self.poll_drain(cx))?;
        }
        let count = data.len().min(1 + self.below(1500) as usize);
        self.unsent.extend_from_slice(&data[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.hesitates(cx) {
            return Poll::Pending;
        }
        self.poll_drain(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        std::task::ready!(self.poll_drain(cx))?;
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// Writes in one task and reads in another, both in pieces.
fn exchange<S: AsyncHandshake>(
    stream: TlsStream<IrregularStream, S>,
    data: Arc<Vec<u8>>,
) -> [JoinHandle<Vec<u8>>; 2] {
    let (mut reader, mut writer) = stream.split();
    let writing = tokio::spawn(async move {
        for piece in data.chunks(3333) {
            writer.write_all(piece).await.unwrap();
            writer.flush().await.unwrap();
        }
        writer.shutdown().await.unwrap();
        Vec::new()
    });
    let reading = tokio::spawn(async move {
        let mut received = Vec::new();
        reader.read_to_end(&mut received).await.unwrap();
        received
    });
    [writing, reading]
}

#[tokio::test]
async fn no_data_gets_lost_over_an_irregular_stream() {
    let ends = forward_secret();
    let connector = ends.connector().with_sessions(Arc::new(MemorySessionStore::default()));
    let (mut client, mut server) = common::connect(&connector, &ends.acceptor()).await;
    finish(&mut client, &mut server).await;
    let data = Arc::new(bytes(40_000));
    for seed in 0..40 {
        let (near, far) = duplex([20, 300, 3000, 100_000][seed as usize % 4]);
        let (near, far) =
            (IrregularStream::new(near, 2 * seed), IrregularStream::new(far, 2 * seed + 1));
        let mut client = connector.start(destination(), near).await.unwrap();
        let server = ends.acceptor().start(far).unwrap();
        // Each connection uses the ticket of the previous one.
        let early = client.write_early(&data[..5000]).await.unwrap();
        assert_eq!(early, 5000, "seed {seed}");
        let server = exchange(server, data.clone());
        let client = exchange(client, Arc::new(data[early..].to_vec()));
        let mut received = Vec::new();
        for task in client.into_iter().chain(server) {
            let ends_in_time = tokio::time::timeout(std::time::Duration::from_secs(20), task);
            let Ok(done) = ends_in_time.await else { panic!("seed {seed} hangs") };
            received.push(done.unwrap());
        }
        assert!(received[1] == *data && received[3] == *data, "seed {seed}");
    }
}
