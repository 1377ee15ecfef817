//! First flights polled in every order, by one task or two: each byte arrives once and in order, and waiting
//! tasks are woken.

use std::future::poll_fn;
use std::io;
use std::num::NonZeroU16;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::common::{self, SERVER_NAME, bytes, destination, forward_secret, prepared};
use tessera::resume::{ClientSession, Verdict};
use tessera::wire::NamedGroup;
use tessera::{Destination, Padding};
use tessera_tokio::{Acceptor, FirstFlight, FirstFlightError, SessionStore};
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex,
};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::timeout;

/// SplitMix64: the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// The fate of a flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Accepted,
    Burned,
    Used,
    UsedAndRepeatable,
    NoTicket,
}

const FATES: [Fate; 5] =
    [Fate::Accepted, Fate::Burned, Fate::Used, Fate::UsedAndRepeatable, Fate::NoTicket];

/// Returns a stream with this fate, and what its server received.
async fn case(
    fate: Fate,
    capacity: usize,
    padding: Padding,
) -> (FirstFlight<DuplexStream>, JoinHandle<Vec<u8>>) {
    let mut ends = forward_secret();
    ends.client.padding = padding;
    let (connector, store) = prepared(&ends).await;
    let mut server = ends.server.clone();
    let mut destination = destination();
    match fate {
        Fate::Accepted => (),
        Fate::Burned => server.groups = vec![NamedGroup::SECP256R1],
        Fate::NoTicket => drop(store.pop(SERVER_NAME)),
        Fate::Used | Fate::UsedAndRepeatable => {
            let session = store.pop(SERVER_NAME).unwrap().export();
            let copy = || Some(ClientSession::import(&session).unwrap());
            destination.session = copy().map(Box::new);
            let to = Destination { session: copy().map(Box::new), ..common::destination() };
            let (near, far) = duplex(64 * 1024);
            let mut first = connector.first_flight(to, near).await.unwrap();
            first.write_all(b"first").await.unwrap();
            let acceptor = ends.acceptor();
            let (settled, server) = tokio::join!(first.settled(), acceptor.accept(far));
            settled.unwrap();
            server.unwrap();
        }
    }
    let acceptor = Acceptor::new(server.checked().unwrap());
    let (near, far) = duplex(capacity);
    let mut stream = connector.first_flight(destination, near).await.unwrap();
    if fate == Fate::UsedAndRepeatable {
        stream = stream.repeatable();
    }
    (stream, tokio::spawn(echo(acceptor, far)))
}

/// Echoes what arrives, and returns it.
async fn echo(acceptor: Acceptor, far: DuplexStream) -> Vec<u8> {
    let mut server = acceptor.accept_early(far).await.unwrap();
    let (mut received, mut chunk) = (Vec::new(), [0; 3000]);
    loop {
        let count = server.read(&mut chunk).await.unwrap_or(0);
        if count == 0 {
            let _failed = server.shutdown().await;
            return received;
        }
        received.extend_from_slice(&chunk[..count]);
        server.write_all(&chunk[..count]).await.unwrap();
        server.flush().await.unwrap();
    }
}

/// Checks what the program saw: the echo, or its error.
fn check(case: &str, fate: Fate, data: &[u8], result: io::Result<Vec<u8>>, received: &[u8]) {
    if fate == Fate::Used {
        let error = result.unwrap_err();
        let error = FirstFlightError::of(&error).unwrap();
        assert_eq!(error.verdict(), Some(Verdict::Used), "{case}");
        assert!(received.is_empty(), "{case}: {} bytes", received.len());
    } else {
        let echo = result.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert!(received == data, "{case}: {} of {} bytes", received.len(), data.len());
        assert!(echo == data, "{case}: {} of {} bytes", echo.len(), data.len());
    }
}

/// If a waker is lost, only the end of this hour can wake the program; paused time jumps there as soon as
/// every task waits.
const HOUR: Duration = Duration::from_secs(3600);

const CAPACITIES: [usize; 4] = [50, 700, 5_000, 256 * 1024];
/// Wide padding leaves room for less early data than the limit.
const WIDE: Padding = Padding::MultipleOf(NonZeroU16::new(3_000).unwrap());
const SIZES: [usize; 5] = [1, 60, 3_000, 20_000, 70_000];

/// Makes random data, a third of which begins like HTTP/2, and so waits for a request.
fn data(numbers: &mut Numbers) -> Vec<u8> {
    let size = numbers.one_of(&SIZES);
    match numbers.below(3) {
        0 => [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &bytes(size)].concat(),
        _ => bytes(size),
    }
}

/// A program's task: polls operations in random order, and in the end all that it waits for.
struct Program<'p> {
    stream: FirstFlight<DuplexStream>,
    numbers: &'p mut Numbers,
    data: &'p [u8],
    written: usize,
    echo: Vec<u8>,
    is_shut_down: bool,
}

impl Program<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        for _ in 0..self.numbers.below(6) {
            match self.numbers.below(3) {
                0 => drop(self.poll_read(cx)?),
                1 => drop(self.poll_write(cx)?),
                _ => drop(Pin::new(&mut self.stream).poll_flush(cx)?),
            }
        }
        if self.poll_write(cx)?.is_ready() {
            cx.waker().wake_by_ref();
        }
        let _ = Pin::new(&mut self.stream).poll_flush(cx)?;
        self.poll_read(cx)
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let rest = &self.data[self.written..];
        if rest.is_empty() {
            if !self.is_shut_down {
                let shut_down = Pin::new(&mut self.stream).poll_shutdown(cx)?;
                self.is_shut_down = shut_down.is_ready();
            }
            return Poll::Pending;
        }
        let some = &rest[..1 + self.numbers.below(rest.len())];
        Pin::new(&mut self.stream).poll_write(cx, some).map_ok(|count| self.written += count)
    }

    /// Ready at the end of the stream.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut chunk = [0; 2000];
            let mut buffer = ReadBuf::new(&mut chunk);
            std::task::ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer))?;
            if buffer.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            self.echo.extend_from_slice(buffer.filled());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_task_may_poll_a_first_flight_in_any_order() {
    for seed in 0..150 {
        let mut numbers = Numbers(seed);
        let fate = FATES[seed as usize % FATES.len()];
        let capacity = numbers.one_of(&CAPACITIES);
        let data = data(&mut numbers);
        let padding = numbers.one_of(&[Padding::None, WIDE]);
        let case_name = format!("seed {seed}, {fate:?}, {capacity}, {} bytes", data.len());
        let (stream, server) = case(fate, capacity, padding).await;
        let mut program = Program {
            stream,
            numbers: &mut numbers,
            data: &data,
            written: 0,
            echo: Vec::new(),
            is_shut_down: false,
        };
        let ended = timeout(HOUR, poll_fn(|cx| program.poll(cx))).await;
        let ended = ended.unwrap_or_else(|_| panic!("{case_name}: waits for ever"));
        let result = ended.map(|()| std::mem::take(&mut program.echo));
        drop(program);
        check(&case_name, fate, &data, result, &server.await.unwrap());
    }
}

async fn write(
    mut writer: impl AsyncWrite + Unpin,
    mut numbers: Numbers,
    data: Vec<u8>,
) -> io::Result<()> {
    let mut rest = &data[..];
    while !rest.is_empty() {
        let count = 1 + numbers.below(rest.len());
        writer.write_all(&rest[..count]).await?;
        rest = &rest[count..];
        match numbers.below(4) {
            0 => writer.flush().await?,
            1 => yield_now().await,
            _ => (),
        }
    }
    writer.shutdown().await
}

async fn read(mut reader: impl AsyncRead + Unpin) -> io::Result<Vec<u8>> {
    let mut echo = Vec::new();
    reader.read_to_end(&mut echo).await?;
    Ok(echo)
}

#[tokio::test(start_paused = true)]
async fn two_tasks_share_a_first_flight_and_both_are_woken() {
    for seed in 1000..1100 {
        let mut numbers = Numbers(seed);
        let fate = FATES[seed as usize % FATES.len()];
        let capacity = numbers.one_of(&CAPACITIES);
        let data = data(&mut numbers);
        let padding = numbers.one_of(&[Padding::None, WIDE]);
        let case_name = format!("seed {seed}, {fate:?}, {capacity}, {} bytes", data.len());
        let (stream, server) = case(fate, capacity, padding).await;
        let (reader, writer) = tokio::io::split(stream);
        let write = write(writer, Numbers(seed), data.clone());
        let (reading, writing) = if numbers.below(2) == 0 {
            let reading = tokio::spawn(read(reader));
            yield_now().await;
            (reading, tokio::spawn(write))
        } else {
            let writing = tokio::spawn(write);
            yield_now().await;
            (tokio::spawn(read(reader)), writing)
        };
        let both = async { (reading.await.unwrap(), writing.await.unwrap()) };
        let both = timeout(HOUR, both).await;
        let (result, written) = both.unwrap_or_else(|_| panic!("{case_name}: waits for ever"));
        assert_eq!(written.is_err(), fate == Fate::Used, "{case_name}");
        check(&case_name, fate, &data, result, &server.await.unwrap());
    }
}
