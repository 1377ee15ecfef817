//! A client that follows from proxy to proxy, and numbers its requests.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use tessera::resume::{ClientSession, Continuation};
use tessera::{ClientConfig, Destination};
use tessera_bindings::ClientName;
use tessera_follow::{FollowingClient, Route};
use tessera_tokio::hyper::FlightReport;
use tessera_tokio::{Connector, MemorySessionStore, SessionStore};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tower_service::Service;

use crate::service::Executions;
use crate::wait::LONG;

/// The name of the origin, which all proxies share.
pub const ORIGIN: &str = "www.example";

/// A client.
#[derive(Clone)]
pub struct Drone {
    client: FollowingClient<Full<Bytes>, Dial>,
    connector: Connector,
    origin: SocketAddr,
    sessions: Arc<Sessions>,
    executions: Executions,
    /// How services see its name.
    pub seen: String,
    name: Option<ClientName>,
    sent: Arc<Mutex<Vec<(String, Outcome)>>>,
}

/// What became of a request, as its client knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// 200.
    Answered,
    /// 503, or not sent at all: it was not executed.
    Refused,
    /// Anything else.
    Unknown,
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its fields.
    pub headers: HeaderMap,
    /// Its body.
    pub body: String,
    /// How many bytes of early data its connection carried.
    pub early: usize,
    /// The port of the alternative that answered.
    pub alternative: Option<String>,
}

impl Answer {
    /// Returns a field.
    pub fn field(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// Requests that are sent until it is ended.
pub struct Track {
    is_over: Arc<std::sync::atomic::AtomicBool>,
    task: tokio::task::JoinHandle<()>,
}

impl Track {
    /// Ends it, after the request in progress.
    pub async fn end(self) {
        self.is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        self.task.await.unwrap();
    }
}

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

impl Drone {
    pub(crate) fn new(
        mut config: ClientConfig,
        name: Option<&str>,
        origin: &[SocketAddr],
        executions: &Executions,
    ) -> Self {
        config.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
        Self::without_early_data(config, name, origin, executions)
    }

    /// The same without early data: a session takes a round trip more.
    pub(crate) fn without_early_data(
        config: ClientConfig,
        name: Option<&str>,
        origin: &[SocketAddr],
        executions: &Executions,
    ) -> Self {
        let sessions = Arc::new(Sessions::default());
        let connector = Connector::new(config.checked().unwrap()).with_sessions(sessions.clone());
        let client = FollowingClient::over(Dial(origin.into()), connector.clone());
        Self {
            client,
            connector,
            origin: origin[0],
            sessions,
            executions: executions.clone(),
            seen: name.map(|name| format!("dns%3A{name}")).unwrap_or_default(),
            name: name.map(|name| ClientName::new(format!("dns:{name}")).unwrap()),
            sent: Arc::default(),
        }
    }

    /// Returns its name in the store.
    #[track_caller]
    pub fn name(&self) -> &ClientName {
        self.name.as_ref().expect("it has a certificate")
    }

    /// Makes a handshake with the first address of the origin, and reports whether it brought a ticket.
    pub(crate) async fn gets_ticket(&self) -> bool {
        let socket = TcpStream::connect(self.origin).await.unwrap();
        let destination = Destination { server_name: ORIGIN.into(), ..Destination::default() };
        let mut stream = self.connector.connect(destination, socket).await.unwrap();
        // The settings, behind the tickets.
        stream.read_exact(&mut [0; 9]).await.unwrap();
        self.sessions.pop(ORIGIN).is_some()
    }

    /// Forgets its connections, as after a change of networks: the next request is in a first flight.
    pub fn reconnect(&self) {
        self.client.network_changed();
    }

    /// Returns all that it ever had to keep secret: its encoded sessions.
    pub fn secrets(&self) -> Vec<Vec<u8>> {
        self.sessions.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends a request.
    ///
    /// # Errors
    /// If there was no answer, or not in time.
    pub async fn send(
        &self,
        request: http::request::Builder,
        body: impl Into<Bytes>,
    ) -> Result<Answer, String> {
        let request = request.body(Full::from(body.into())).unwrap();
        let exchange = async {
            let response = self.client.request(request).await.map_err(|it| format!("{it:?}"))?;
            let report = response.extensions().get::<FlightReport>();
            let early = report.map_or(0, |report| report.early_data().accepted);
            let alternative = match response.extensions().get::<Route>() {
                Some(Route::Alternative(it)) => Some(it.to_string()),
                _ => None,
            };
            let (parts, body) = response.into_parts();
            let body = body.collect().await.map_err(|it| it.to_string())?.to_bytes();
            let body = String::from_utf8_lossy(&body).into_owned();
            Ok(Answer { status: parts.status, headers: parts.headers, body, early, alternative })
        };
        timeout(PATIENCE, exchange).await.unwrap_or_else(|_| Err("no answer in time".to_owned()))
    }

    /// Sends the next numbered request to the service with state, or to the one without.
    pub async fn post(&self, service: &str) -> (Outcome, Option<Answer>) {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = format!("{service}/{number}");
        let request = Request::post(format!("https://{ORIGIN}{path}"));
        let answer = self.send(request, format!("body of {number}")).await;
        let outcome = match &answer {
            Ok(answer) if answer.status == StatusCode::OK => Outcome::Answered,
            Ok(answer) if answer.status == StatusCode::SERVICE_UNAVAILABLE => Outcome::Refused,
            _ => Outcome::Unknown,
        };
        if let Err(error) = &answer {
            eprintln!("{path} of {}: {error}", self.seen);
        }
        if outcome == Outcome::Answered {
            let body = answer.as_ref().map(|it| it.body.as_str()).unwrap_or_default();
            assert_eq!(body, format!("body of {number}"), "another request's answer");
        }
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).push((path, outcome));
        (outcome, answer.ok())
    }

    /// Sends numbered requests until one is answered.
    #[track_caller]
    pub fn is_served(&self, service: &str) -> impl Future<Output = Answer> {
        let place = std::panic::Location::caller();
        async move {
            let deadline = std::time::Instant::now() + LONG;
            loop {
                if let (Outcome::Answered, Some(answer)) = self.post(service).await {
                    return answer;
                }
                assert!(std::time::Instant::now() < deadline, "it isn't served, at {place}");
                sleep(Duration::from_millis(20)).await;
            }
        }
    }

    /// Sends numbered requests, one after the other, with a pause between them.
    pub fn sends(&self, service: &'static str, pause: Duration) -> Track {
        let is_over = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (this, over) = (self.clone(), is_over.clone());
        let task = tokio::spawn(async move {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                this.post(service).await;
                sleep(pause).await;
            }
        });
        Track { is_over, task }
    }

    /// Returns how many of its requests became this.
    pub fn counts(&self, outcome: Outcome) -> usize {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.iter().filter(|(_, it)| *it == outcome).count()
    }

    /// Checks that what services executed is what the client knows: an answered request once, a refused one never, and any
    /// other at most once.
    #[track_caller]
    pub fn agrees(&self) {
        self.agrees_with(&self.executions.counts());
    }

    /// The same, given how often each request was executed.
    #[track_caller]
    pub fn agrees_with(&self, executed: &HashMap<String, usize>) {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let mut paths = HashSet::new();
        for (path, outcome) in &*sent {
            assert!(paths.insert(path), "{path} was sent twice");
            let times = executed.get(path).copied().unwrap_or_default();
            let is_right = match outcome {
                Outcome::Answered => times == 1,
                Outcome::Refused => times == 0,
                Outcome::Unknown => times <= 1,
            };
            assert!(is_right, "{path} of {} was executed {times} times: {outcome:?}", self.seen);
        }
    }
}

/// Sessions in memory, with a copy of all.
#[derive(Default)]
struct Sessions {
    current: MemorySessionStore,
    seen: Mutex<Vec<Vec<u8>>>,
}

impl SessionStore for Sessions {
    fn put(&self, server_name: &str, session: ClientSession) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push(session.state.encode().to_vec());
        self.current.put(server_name, session);
    }

    fn pop(&self, server_name: &str) -> Option<ClientSession> {
        self.current.pop(server_name)
    }

    fn blocks(&self) -> bool {
        false
    }
}

/// Connects to the addresses that are announced, and to those of the origin by its name.
#[derive(Clone)]
struct Dial(Arc<[SocketAddr]>);

impl Service<Uri> for Dial {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<TcpStream>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let announced = uri.authority().and_then(|it| it.as_str().parse::<SocketAddr>().ok());
        let addresses = announced.map_or_else(|| self.0.clone(), |it| [it].into());
        Box::pin(async move {
            // One after the other, until one accepts.
            let socket = TcpStream::connect(&addresses[..]).await?;
            socket.set_nodelay(true)?;
            Ok(TokioIo::new(socket))
        })
    }
}
