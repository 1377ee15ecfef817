//! Requests to a cluster: each is sent once, with a deadline, to a member that can be reached.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tessera_store::{LeaseId, StoreError};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout, timeout_at};

use crate::api::{
    ErrorAnswer, LeaseAnswer, LeaseRequest, Range, RangeAnswer, StreamAnswer, Txn, TxnAnswer,
    WatchRequest, code,
};
use crate::connection::{Sender, Transport};

/// A client of one etcd cluster (3.4, or 3.5.6 and later).
///
/// It uses one member at a time, and the next one when that fails. It is cheap to clone, and keeps its connections open: 16 per
/// member, for which further requests wait. Watches and leases, which must not wait, have others.
///
/// A request that may have reached a member is not repeated.
#[derive(Clone)]
pub struct EtcdClient {
    shared: Arc<Shared>,
    /// The deadline of the operation that the requests belong to.
    by: Option<Instant>,
}

struct Shared {
    members: Vec<Member>,
    transport: Transport,
    deadline: Duration,
    /// The member to try first.
    preferred: AtomicUsize,
}

struct Member {
    /// `host:port`.
    endpoint: String,
    idle: Mutex<Vec<Sender>>,
    /// One for each request for keys.
    places: Semaphore,
}

/// A connection that has a request.
struct Lent<'c> {
    sender: Sender,
    member: usize,
    _place: Option<SemaphorePermit<'c>>,
}

/// The most requests for keys per member at a time, each on its own connection. With more, it answers fewer a second.
const CONNECTIONS: usize = 16;

/// How the paths of requests for keys begin.
const KEYS: &str = "/v3/kv/";

/// The longest answer, in bytes; a range has a limit of its caller's.
const MAX_ANSWER: usize = 8 * 1024 * 1024;

/// Stands for "no deadline"; short enough to be added to any time.
const MAX_DEADLINE: Duration = Duration::from_secs(24 * 3600);

/// The request whose answer has no end.
const WATCH: &str = "/v3/watch";

/// How much of a member's error message is kept, in bytes.
const MAX_WHY: usize = 300;

impl EtcdClient {
    /// Creates a client of the members at `endpoints` (`host:port` each).
    ///
    /// Each request has `deadline` in all, connecting included; at most a day.
    pub fn new(endpoints: Vec<String>, transport: Transport, deadline: Duration) -> Self {
        let member = |endpoint| Member {
            endpoint,
            idle: Mutex::default(),
            places: Semaphore::new(CONNECTIONS),
        };
        let members = endpoints.into_iter().map(member).collect();
        let preferred = AtomicUsize::new(0);
        let deadline = deadline.min(MAX_DEADLINE);
        Self { shared: Arc::new(Shared { members, transport, deadline, preferred }), by: None }
    }

    /// Returns a client for the requests of one operation, which share a deadline that starts now.
    pub(crate) fn for_one_operation(&self) -> Self {
        self.until(self.deadline())
    }

    /// Returns a client with another deadline.
    pub(crate) fn until(&self, by: Instant) -> Self {
        Self { shared: self.shared.clone(), by: Some(by) }
    }

    /// Returns the deadline of a request that begins now.
    pub(crate) fn deadline(&self) -> Instant {
        self.by.unwrap_or_else(|| Instant::now() + self.shared.deadline)
    }

    pub(crate) async fn txn(&self, txn: &Txn) -> Result<TxnAnswer, StoreError> {
        self.call("/v3/kv/txn", txn, MAX_ANSWER).await
    }

    pub(crate) async fn range(&self, range: &Range) -> Result<RangeAnswer, StoreError> {
        self.range_within(range, MAX_ANSWER).await
    }

    /// Requests a range whose answer has at most `max` bytes.
    pub(crate) async fn range_within(
        &self,
        range: &Range,
        max: usize,
    ) -> Result<RangeAnswer, StoreError> {
        self.call("/v3/kv/range", range, max).await
    }

    /// Grants a lease that lives for `ttl`, in whole seconds.
    pub(crate) async fn grant(&self, ttl: Duration) -> Result<LeaseId, StoreError> {
        let ttl = Some(ttl.as_secs().max(1).to_string());
        let answer: LeaseAnswer =
            self.call("/v3/lease/grant", &LeaseRequest { ttl, id: None }, MAX_ANSWER).await?;
        answer.id.map(LeaseId).ok_or_else(|| StoreError::Unknown("a lease without an id".into()))
    }

    /// Restarts a lease's time; `false` if it has ended.
    pub(crate) async fn keep_alive(&self, lease: &LeaseId) -> Result<bool, StoreError> {
        let request = LeaseRequest { ttl: None, id: Some(&lease.0) };
        let answer: StreamAnswer<LeaseAnswer> =
            self.call("/v3/lease/keepalive", &request, MAX_ANSWER).await?;
        Ok(answer.result.ttl.is_some())
    }

    /// Ends a lease, and deletes its keys.
    pub(crate) async fn revoke(&self, lease: &LeaseId) -> Result<(), StoreError> {
        let request = LeaseRequest { ttl: None, id: Some(&lease.0) };
        self.call::<_, serde_json::Value>("/v3/lease/revoke", &request, MAX_ANSWER).await.map(drop)
    }

    /// Sends a request whose answer is short.
    async fn call<Q: Serialize, A: DeserializeOwned>(
        &self,
        path: &str,
        question: &Q,
        max: usize,
    ) -> Result<A, StoreError> {
        let deadline = self.deadline();
        let (answer, lent) = self.send(path, question, deadline).await?;
        let (status, member) = (answer.status(), lent.member);
        let body = Limited::new(answer.into_body(), max).collect();
        let body = match timeout_at(deadline, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) => return Err(self.unknown(member, error.to_string())),
            Err(_) => return Err(self.unknown(member, "no answer in time".into())),
        };
        self.give_back(lent);
        if !status.is_success() {
            return Err(match serde_json::from_slice(&body) {
                Ok(error) => refusal(&error).unwrap_or_else(|| self.unknown(member, why(&error))),
                Err(_) => self.unknown(member, shortened(&body)),
            });
        }
        serde_json::from_slice(&body).map_err(|error| StoreError::Unknown(error.to_string()))
    }

    /// Begins a watch. Its answer ends with the sender.
    pub(crate) async fn stream(
        &self,
        request: &WatchRequest,
    ) -> Result<(Incoming, Sender), StoreError> {
        let deadline = self.deadline();
        let (answer, lent) = self.send(WATCH, request, deadline).await?;
        let (status, member) = (answer.status(), lent.member);
        if !status.is_success() {
            let body = Limited::new(answer.into_body(), MAX_ANSWER).collect();
            let body = timeout_at(deadline, body).await.ok().and_then(Result::ok);
            let error = body.and_then(|body| serde_json::from_slice(&body.to_bytes()).ok());
            let refusal = error.as_ref().and_then(refusal);
            return Err(refusal.unwrap_or_else(|| self.unknown(member, status.to_string())));
        }
        Ok((answer.into_body(), lent.sender))
    }

    /// Sends a request to the first member that can be reached. Once a byte may have left, no other member is tried.
    async fn send<Q: Serialize>(
        &self,
        path: &str,
        question: &Q,
        deadline: Instant,
    ) -> Result<(Response<Incoming>, Lent<'_>), StoreError> {
        let body = serde_json::to_vec(question);
        let body = Bytes::from(body.map_err(|error| StoreError::NotSent(error.to_string()))?);
        let count = self.shared.members.len();
        let preferred = self.shared.preferred.load(Ordering::Relaxed);
        let mut failure = StoreError::NotSent("no endpoints".into());
        for attempt in 0..count {
            let index = preferred.wrapping_add(attempt) % count;
            // A member that doesn't even accept leaves time for the others.
            let left = deadline.saturating_duration_since(Instant::now());
            let share = left / (count - attempt) as u32;
            let member = &self.shared.members[index];
            let connecting = async {
                let place = match path.starts_with(KEYS) {
                    true => Some(member.places.acquire().await.map_err(io::Error::other)?),
                    false => None,
                };
                let sender = member.sender(&self.shared.transport).await?;
                io::Result::Ok(Lent { sender, member: index, _place: place })
            };
            let mut lent = match timeout(share, connecting).await {
                Ok(Ok(lent)) => lent,
                Ok(Err(error)) => {
                    failure = self.not_sent(index, error.to_string());
                    continue;
                }
                Err(_) => {
                    failure = self.not_sent(index, "no connection in time".into());
                    continue;
                }
            };
            let mut request = Request::post(path)
                .header(header::HOST, &member.endpoint)
                .header(header::CONTENT_TYPE, "application/json");
            if path == WATCH {
                // etcd's `hasleader`: the watch ends if its member loses the leader, instead of falling silent.
                request = request.header("grpc-metadata-hasleader", "true");
            }
            let request = request
                .body(Full::new(body.clone()))
                .map_err(|error| StoreError::NotSent(error.to_string()))?;
            match timeout_at(deadline, lent.sender.try_send_request(request)).await {
                Ok(Ok(answer)) => return Ok((answer, lent)),
                Ok(Err(mut error)) => {
                    // hyper returns the request if no byte of it left.
                    let kept = error.take_message().is_some();
                    let why = error.into_error().to_string();
                    failure = match kept {
                        true => self.not_sent(index, why),
                        false => return Err(self.unknown(index, why)),
                    };
                }
                Err(_) => return Err(self.unknown(index, "no answer in time".into())),
            }
        }
        Err(failure)
    }

    fn give_back(&self, lent: Lent<'_>) {
        let mut idle = self.shared.members[lent.member].idle();
        if idle.len() < CONNECTIONS {
            idle.push(lent.sender);
        }
    }

    fn not_sent(&self, member: usize, why: String) -> StoreError {
        self.ask_another_than(member);
        StoreError::NotSent(why)
    }

    fn unknown(&self, member: usize, why: String) -> StoreError {
        self.ask_another_than(member);
        StoreError::Unknown(why)
    }

    fn ask_another_than(&self, member: usize) {
        let next = (member + 1) % self.shared.members.len();
        let preferred = &self.shared.preferred;
        let _ = preferred.compare_exchange(member, next, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl Member {
    /// Returns an idle connection, or a new one.
    async fn sender(&self, transport: &Transport) -> io::Result<Sender> {
        while let Some(mut sender) = self.take_idle() {
            if !sender.is_closed() && sender.ready().await.is_ok() {
                return Ok(sender);
            }
        }
        transport.connect(&self.endpoint).await
    }

    fn take_idle(&self) -> Option<Sender> {
        self.idle().pop()
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Sender>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the error of a request that etcd refused without executing it; `None` if it may have executed it, as when its
/// quota is exceeded (RESOURCE_EXHAUSTED).
fn refusal(error: &ErrorAnswer) -> Option<StoreError> {
    let refused = [
        code::INVALID_ARGUMENT,
        code::NOT_FOUND,
        code::PERMISSION_DENIED,
        code::FAILED_PRECONDITION,
        code::OUT_OF_RANGE,
        code::UNIMPLEMENTED,
        code::UNAUTHENTICATED,
    ];
    let refused = refused.contains(&error.code);
    refused.then(|| StoreError::Refused(why(error)))
}

fn why(error: &ErrorAnswer) -> String {
    shortened(error.message.as_bytes())
}

/// It goes into a log.
fn shortened(why: &[u8]) -> String {
    String::from_utf8_lossy(&why[..why.len().min(MAX_WHY)]).into_owned()
}
