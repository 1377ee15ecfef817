//! The requests to one site that wait for answers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};

use crate::counts::{ChannelCounters, count};
use crate::limits::{ChannelLimits, after};
use crate::wire::{Answer, Request};

/// The requests to one site. They outlive connections.
pub(super) struct Requests {
    table: Mutex<Table>,
    limits: ChannelLimits,
    pub(super) counters: Arc<ChannelCounters>,
    /// There are requests to send.
    pub(super) more: Notify,
}

struct Table {
    /// By id, in ascending order: those that a connection has not sent yet are at the end.
    waiting: BTreeMap<u64, RequestEntry>,
    next_id: u64,
    /// Since when the site has been unreachable.
    away_since: Option<Instant>,
    ended: bool,
}

struct RequestEntry {
    request: Request,
    expires: Instant,
    give: oneshot::Sender<Answer>,
}

/// A request that waits. Dropping it frees its place in the table.
pub(super) struct PendingRequest {
    id: u64,
    expires: Instant,
    answer: oneshot::Receiver<Answer>,
    requests: Arc<Requests>,
}

impl Requests {
    pub(super) fn new(limits: ChannelLimits, counters: Arc<ChannelCounters>) -> Self {
        let table = Table {
            waiting: BTreeMap::new(),
            next_id: 0,
            away_since: Some(Instant::now()),
            ended: false,
        };
        Self { table: Mutex::new(table), limits, counters, more: Notify::new() }
    }

    /// Adds a request, unless there is no room, or the site has been away for so long that no answer is expected in
    /// time.
    pub(super) fn begin(
        self: &Arc<Self>,
        request: impl FnOnce(u64) -> Request,
    ) -> Option<PendingRequest> {
        let now = Instant::now();
        let mut table = self.table();
        let is_away = |since: Instant| now.duration_since(since) >= self.limits.deadline;
        if table.ended
            || table.away_since.is_some_and(is_away)
            || table.waiting.len() >= self.limits.in_flight
        {
            return None;
        }
        let (give, answer) = oneshot::channel();
        let expires = after(now, self.limits.deadline);
        let id = table.next_id();
        let request = request(id);
        if !request.is_sendable() {
            return None;
        }
        table.waiting.insert(id, RequestEntry { request, expires, give });
        drop(table);
        self.more.notify_one();
        Some(PendingRequest { id, expires, answer, requests: self.clone() })
    }

    /// Writes requests with ids from `from` on that still have time; if there are none and `ping`, a ping. Returns how
    /// many, and advances `from`.
    pub(super) fn write(&self, from: &mut u64, ping: bool, to: &mut Vec<u8>) -> u64 {
        let now = Instant::now();
        let mut table = self.table();
        let mut written = 0;
        for (id, waiting) in table.waiting.range(*from..) {
            if to.len() >= AT_ONCE {
                return written;
            }
            *from = id + 1;
            if waiting.expires > now {
                waiting.request.write(to);
                written += 1;
            }
        }
        if written == 0 && ping {
            let id = table.next_id();
            *from = id + 1;
            Request::Ping { id }.write(to);
            written = 1;
        }
        written
    }

    /// Passes an answer to its request, if that still waits. `false` if it is of another kind: then the request waits on.
    pub(super) fn answer(&self, answer: Answer) -> bool {
        let mut table = self.table();
        let waiting = table.waiting.get(&answer.id());
        if waiting.is_some_and(|waiting| !waiting.request.fits(&answer)) {
            return false;
        }
        let waiting = table.waiting.remove(&answer.id());
        drop(table);
        let given = waiting.map(|waiting| waiting.give.send(answer));
        if !matches!(given, Some(Ok(()))) {
            count(&self.counters.late);
        }
        true
    }

    /// The site has answered.
    pub(super) fn is_there(&self) {
        self.table().away_since = None;
    }

    /// The connection to the site ended, or could not be made.
    pub(super) fn is_away(&self) {
        self.table().away_since.get_or_insert_with(Instant::now);
    }

    /// Ends all requests: no connection carries them any more.
    pub(super) fn end(&self) {
        let mut table = self.table();
        table.ended = true;
        table.waiting.clear();
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn next_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }
}

impl PendingRequest {
    /// Waits for the answer; `None` if there will be none.
    pub(super) async fn answer(mut self) -> Result<Option<Answer>, Elapsed> {
        timeout_at(self.expires, &mut self.answer).await.map(Result::ok)
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        self.requests.table().waiting.remove(&self.id);
    }
}

/// After how many bytes no more requests go into one write: with the longest one, less than a record.
const AT_ONCE: usize = 8 * 1024;

/// The room for what goes into one write. A buffer that grew would leave secrets behind.
pub(super) const ROOM: usize = AT_ONCE + Request::MAX_LEN;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tessera::resume::FlightHandle;
    use tessera_vault::{Departure, MovedSecret, VaultLife};

    use super::*;

    /// It would leave the secrets behind.
    #[tokio::test]
    async fn a_buffer_of_secrets_never_grows() {
        let requests = Arc::new(Requests::new(ChannelLimits::default(), Arc::default()));
        let to = VaultLife { vault: [1; 16], number: 0, nonce: [2; 16] };
        let carry = |id, len| Request::Carry {
            id,
            secret: MovedSecret {
                handle: FlightHandle([3; 32]),
                secret: vec![4; len].into(),
                expires_at: Duration::ZERO,
                client: vec![5; 4096],
                departure: Departure { to, moves: 1 },
            },
        };
        let waiting: Vec<_> =
            (0..10).map(|_| requests.begin(|id| carry(id, 4096)).unwrap()).collect();
        assert!(requests.begin(|id| carry(id, 4097)).is_none(), "too long");
        let (mut from, mut bytes, mut count) = (0, Vec::with_capacity(ROOM), 0);
        while count < 10 {
            let written = requests.write(&mut from, false, &mut bytes);
            assert!(written > 0 && bytes.len() <= ROOM && bytes.capacity() == ROOM);
            count += written;
            bytes.clear();
        }
        drop(waiting);
    }
}
