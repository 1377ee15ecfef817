//! Keeps a connection to one site.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tessera::Destination;
use tessera_tokio::{ClientStream, Connector};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{debug, warn};
use zeroize::{Zeroize, Zeroizing};

use super::OtherSite;
use super::requests::{ROOM, Requests};
use crate::PROTOCOL;
use crate::counts::count;
use crate::limits::{ChannelLimits, after};
use crate::wire::Answer;

/// How to reach a site.
pub(super) struct Way {
    pub(super) connector: Connector,
    pub(super) site: OtherSite,
    pub(super) limits: ChannelLimits,
}

impl Way {
    /// Connects, and reconnects, until it is aborted.
    pub(super) async fn keep_connected(self, requests: Arc<Requests>) {
        let random = RandomState::new();
        let mut pause = SHORTEST_PAUSE;
        let mut attempts = 0;
        loop {
            let (address, mut heard) = (&self.site.address, false);
            let connected = timeout(self.limits.connect, self.connect()).await;
            let error = match connected.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into())) {
                Ok(stream) => {
                    count(&requests.counters.connections);
                    if stream.facts().psk.is_some() {
                        count(&requests.counters.resumptions);
                    }
                    let mut traffic = Traffic::new(&requests, self.limits);
                    let error = traffic.carry(stream).await;
                    heard = traffic.heard;
                    error
                }
                Err(error) => error,
            };
            // A site that stays away is logged once.
            if heard || attempts == 0 {
                warn!("no connection to the site at {address}: {error}");
            } else {
                debug!("no connection to the site at {address}: {error}");
            }
            count(&requests.counters.failures);
            requests.is_away();
            (pause, attempts) = if heard { (SHORTEST_PAUSE, 0) } else { (pause, attempts + 1) };
            sleep(cut(pause, &random, attempts)).await;
            pause = pause.saturating_mul(2).min(self.limits.longest_pause);
        }
    }

    async fn connect(&self) -> io::Result<ClientStream<TcpStream>> {
        let socket = TcpStream::connect(&self.site.address).await?;
        socket.set_nodelay(true)?;
        let server_name = self.site.server_name.clone();
        let port = socket.peer_addr().ok().map(|address| address.port());
        let destination = Destination { server_name, port, ..Destination::default() };
        let stream = self.connector.connect(destination, socket).await?;
        if stream.protocol() == Some(PROTOCOL) {
            Ok(stream)
        } else {
            Err(io::Error::new(ErrorKind::InvalidData, "the server speaks another protocol"))
        }
    }
}

/// Shortens a pause by up to half at random, so that the servers of a site don't reconnect to a restarted one together.
fn cut(pause: Duration, random: &RandomState, attempt: u64) -> Duration {
    let mut hasher = random.build_hasher();
    hasher.write_u64(attempt);
    let share = (hasher.finish() & 0xffff) as u32;
    pause - pause / 2 * share / 0x1_0000
}

const SHORTEST_PAUSE: Duration = Duration::from_millis(20);

/// The traffic of one connection.
struct Traffic<'a> {
    requests: &'a Requests,
    limits: ChannelLimits,
    balance: Mutex<Balance>,
    /// The site has answered: its handshake is complete, and it accepts this side's certificate.
    heard: bool,
}

/// The requests sent and answered on one connection.
struct Balance {
    /// All ids below this were sent, or are unused.
    asked_below: u64,
    unanswered: u64,
    /// Since when requests have been unanswered and nothing was received.
    silent_since: Option<Instant>,
    /// The last time that bytes moved.
    moved: Instant,
}

impl<'a> Traffic<'a> {
    fn new(requests: &'a Requests, limits: ChannelLimits) -> Self {
        Self { requests, limits, balance: Mutex::new(Balance::new()), heard: false }
    }

    /// Sends requests and receives answers until the connection ends; returns the reason.
    async fn carry<IO: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        stream: ClientStream<IO>,
    ) -> io::Error {
        let (reader, writer) = stream.split();
        let mut heard = false;
        let ended = tokio::select! {
            ended = self.hear(reader, &mut heard) => ended,
            ended = self.ask(writer) => ended,
            () = self.silence() => Err(io::Error::new(ErrorKind::TimedOut, "it does not answer")),
        };
        self.heard = heard;
        ended.err().unwrap_or_else(|| ErrorKind::UnexpectedEof.into())
    }

    async fn ask(&self, mut writer: impl AsyncWrite + Unpin) -> io::Result<()> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(ROOM));
        let mut from = 0;
        // The first request checks whether the site accepts this one.
        let mut ping = true;
        loop {
            let written = self.requests.write(&mut from, ping, &mut bytes);
            if written > 0 {
                self.balance().asked(from, written);
                writer.write_all(&bytes).await?;
                writer.flush().await?;
                bytes.zeroize();
                ping = false;
                continue;
            }
            let ping_at = self.balance().ping_at(self.limits.ping);
            tokio::select! {
                () = self.requests.more.notified() => ping = false,
                () = sleep_until(ping_at) => ping = self.balance().is_quiet(self.limits.ping),
            }
        }
    }

    async fn hear(&self, mut reader: impl AsyncRead + Unpin, heard: &mut bool) -> io::Result<()> {
        let mut buffer = [0; 64 * Answer::MAX_LEN];
        let mut filled = 0;
        loop {
            let count = reader.read(buffer.get_mut(filled..).unwrap_or_default()).await?;
            if count == 0 {
                return Ok(());
            }
            filled += count;
            let mut unread = buffer.get(..filled).unwrap_or_default();
            let malformed = |_| io::Error::new(ErrorKind::InvalidData, "its answer is malformed");
            while let Some(answer) = Answer::read(&mut unread).map_err(malformed)? {
                if !self.balance().answered(answer.id()) {
                    let error = "it answers a question that was not asked";
                    return Err(io::Error::new(ErrorKind::InvalidData, error));
                }
                if !*heard {
                    *heard = true;
                    self.requests.is_there();
                }
                if !matches!(answer, Answer::Pong { .. }) && !self.requests.answer(answer) {
                    let error = "its answer is of another kind than the question";
                    return Err(io::Error::new(ErrorKind::InvalidData, error));
                }
            }
            let left = unread.len();
            buffer.copy_within(filled - left..filled, 0);
            filled = left;
        }
    }

    /// Completes when requests are open and nothing arrived for a deadline.
    async fn silence(&self) {
        loop {
            let now = Instant::now();
            let since = self.balance().silent_since.unwrap_or(now);
            let until = after(since, self.limits.deadline);
            if until <= now {
                return;
            }
            sleep_until(until).await;
        }
    }

    fn balance(&self) -> MutexGuard<'_, Balance> {
        self.balance.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Balance {
    fn new() -> Self {
        Self { asked_below: 0, unanswered: 0, silent_since: None, moved: Instant::now() }
    }

    /// Adds requests that were sent, all with ids below `below`.
    fn asked(&mut self, below: u64, count: u64) {
        let now = Instant::now();
        self.asked_below = below;
        self.unanswered += count;
        self.silent_since.get_or_insert(now);
        self.moved = now;
    }

    /// Whether this can be the answer to a request of this connection.
    fn answered(&mut self, id: u64) -> bool {
        if id >= self.asked_below || self.unanswered == 0 {
            return false;
        }
        let now = Instant::now();
        self.unanswered -= 1;
        self.silent_since = (self.unanswered > 0).then_some(now);
        self.moved = now;
        true
    }

    /// Returns when to check next whether the connection has been quiet for `time`. While an answer is awaited, no ping
    /// is needed.
    fn ping_at(&self, time: Duration) -> Instant {
        let since = if self.unanswered > 0 { Instant::now() } else { self.moved };
        after(since, time)
    }

    /// Whether nothing moved for this long, and no answer is awaited.
    fn is_quiet(&self, time: Duration) -> bool {
        self.unanswered == 0 && self.moved.elapsed() >= time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_an_answer_does_not_poll_for_a_ping() {
        let interval = Duration::from_secs(15);
        let mut balance = Balance::new();
        balance.asked(1, 1);
        balance.moved -= 2 * interval;
        assert!(balance.ping_at(interval) > Instant::now() + interval / 2);
        assert!(!balance.is_quiet(interval));
        assert!(balance.answered(0) && !balance.answered(0));
        balance.moved -= 2 * interval;
        assert!(balance.ping_at(interval) < Instant::now() && balance.is_quiet(interval));
    }

    #[test]
    fn only_what_was_asked_is_answered() {
        let mut balance = Balance::new();
        assert!(!balance.answered(0));
        balance.asked(8, 2);
        assert!(!balance.answered(8), "not yet");
        assert!(balance.answered(7) && balance.answered(3), "in any order");
        assert!(!balance.answered(3), "there were two");
        assert_eq!(balance.silent_since, None);
    }

    #[test]
    fn a_pause_is_cut_by_half_of_it_at_most() {
        let (random, pause) = (RandomState::new(), Duration::from_secs(1));
        let pauses: Vec<_> = (0..1000).map(|attempt| cut(pause, &random, attempt)).collect();
        assert!(pauses.iter().all(|cut| *cut > pause / 2 && *cut <= pause));
        assert!(pauses.iter().any(|cut| *cut < pause * 6 / 10));
        assert!(pauses.iter().any(|cut| *cut > pause * 9 / 10));
    }
}
