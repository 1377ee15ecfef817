//! An instance of the services of one proxy. It lives in the test's process, so its record outlives every proxy.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::server::{AcceptedConnection, ServerOptions, serve};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::sleep;

/// What all instances of a pool have executed, in this order.
#[derive(Clone, Default)]
pub struct Executions(Arc<Mutex<Vec<Execution>>>);

/// A request that was executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// The proxy whose instance it was.
    pub at: &'static str,
    /// The client, as services see its name.
    pub client: String,
    /// The path, which has the request's number.
    pub path: String,
    /// When it began.
    pub when: SystemTime,
}

impl Executions {
    /// Returns all.
    pub fn all(&self) -> Vec<Execution> {
        lock(&self.0).clone()
    }

    /// Returns how often each request was executed, by its path.
    pub fn counts(&self) -> HashMap<String, usize> {
        let mut counts = HashMap::new();
        for execution in &*lock(&self.0) {
            *counts.entry(execution.path.clone()).or_default() += 1;
        }
        counts
    }

    /// Returns where a client's requests to the service with state were executed, without repetitions: `a`, `b`, `a`.
    pub fn places(&self, client: &str) -> Vec<&'static str> {
        let all = lock(&self.0);
        let of = all.iter().filter(|it| it.client == client && it.path.starts_with("/cart"));
        let mut places: Vec<_> = of.map(|it| it.at).collect();
        places.dedup();
        places
    }

    /// Returns the requests that were executed more than once.
    pub fn doubled(&self) -> Vec<Execution> {
        let all = lock(&self.0);
        let mut seen = HashSet::new();
        let again = |it: &&Execution| !seen.insert((it.client.clone(), it.path.clone()));
        all.iter().filter(again).cloned().collect()
    }
}

/// An instance.
pub struct Instance {
    /// Where it listens.
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    at: &'static str,
    executions: Executions,
    states: Mutex<HashMap<String, State>>,
    /// The clients whose exports or imports wait.
    held: watch::Sender<HashSet<(Method, String)>>,
    /// The exports and imports that began.
    begun: Mutex<Vec<(Method, String)>>,
}

/// A client's state: the highest fence that was seen, how many of its requests were executed, and data that the test planted.
#[derive(Clone, Default)]
struct State {
    fence: u64,
    count: u64,
    planted: Bytes,
}

/// The longest body.
const LONGEST: usize = 1 << 20;

impl Instance {
    /// Starts the instance of a proxy.
    pub async fn start(at: &'static str, executions: &Executions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            at,
            executions: executions.clone(),
            states: Mutex::default(),
            held: watch::Sender::default(),
            begun: Mutex::default(),
        });
        let options = Arc::new(ServerOptions::default());
        let this = shared.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (shared, options) = (this.clone(), options.clone());
                tokio::spawn(async move {
                    let answer = async |request| shared.answer(request).await;
                    let never = std::future::pending();
                    serve(AcceptedConnection::plaintext(socket), options, answer, never).await;
                });
            }
        });
        Self { address, shared }
    }

    /// Holds back the exports (GET) or imports (PUT) of a client's state, until [`release`](Self::release).
    pub fn hold(&self, method: Method, client: &str) {
        self.shared.held.send_modify(|held| {
            held.insert((method, client.to_owned()));
        });
    }

    /// Lets all go on.
    pub fn release(&self) {
        self.shared.held.send_modify(HashSet::clear);
    }

    /// Whether an export or import of a client's state has begun.
    pub fn has_begun(&self, method: Method, client: &str) -> bool {
        lock(&self.shared.begun).contains(&(method, client.to_owned()))
    }

    /// Forgets which exports and imports have begun.
    pub fn forget_begun(&self) {
        lock(&self.shared.begun).clear();
    }

    /// Plants data in a client's state.
    pub fn plant(&self, client: &str, data: impl Into<Bytes>) {
        lock(&self.shared.states).entry(client.to_owned()).or_default().planted = data.into();
    }

    /// Returns the data in a client's state.
    pub fn planted(&self, client: &str) -> Bytes {
        lock(&self.shared.states).get(client).cloned().unwrap_or_default().planted
    }

    /// Returns how many requests a client has made, by its state.
    pub fn count(&self, client: &str) -> u64 {
        lock(&self.shared.states).get(client).cloned().unwrap_or_default().count
    }
}

impl Shared {
    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        match path.strip_prefix("/state/") {
            Some(client) => self.answer_state(client, request).await,
            None if path == "/page" => page(),
            None => self.execute(path, request).await,
        }
    }

    async fn execute(&self, path: String, request: Request<Body>) -> Response<Body> {
        let client = request.headers().get("tessera-client").and_then(|it| it.to_str().ok());
        let client = client.unwrap_or_default().to_owned();
        let fence = fence(&request);
        let (method, has_state) = (request.method().clone(), path.starts_with("/cart"));
        let body = request.into_body().collect_up_to(LONGEST).await;
        let Ok(body) = body else {
            // Cut off: it wasn't executed.
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::BAD_REQUEST;
            return response;
        };
        if let Some(highest) = fence.and_then(|fence| self.above(&client, fence)) {
            return fenced_off(highest);
        }
        lock(&self.executions.0).push(Execution {
            at: self.at,
            client: client.clone(),
            path: path.clone(),
            when: SystemTime::now(),
        });
        if has_state && method != Method::GET {
            lock(&self.states).entry(client).or_default().count += 1;
        }
        if path.contains("slow") {
            sleep(Duration::from_millis(300)).await;
        }
        let mut response = Response::new(Body::full(body.data));
        response.headers_mut().insert("x-at", http::HeaderValue::from_static(self.at));
        response
    }

    async fn answer_state(&self, client: &str, request: Request<Body>) -> Response<Body> {
        let key = (request.method().clone(), client.to_owned());
        lock(&self.begun).push(key.clone());
        let mut held = self.held.subscribe();
        // It ends with the test.
        let _ = held.wait_for(|held| !held.contains(&key)).await;
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let Some(fence) = fence(&request) else {
            *response.status_mut() = StatusCode::BAD_REQUEST;
            return response;
        };
        if request.method() == Method::GET {
            if let Some(highest) = self.above(client, fence) {
                return fenced_off(highest);
            }
            let has_state = |it: &&State| it.count > 0 || !it.planted.is_empty();
            if let Some(state) = lock(&self.states).get(client).filter(has_state) {
                *response.status_mut() = StatusCode::OK;
                response.headers_mut().insert("tessera-state-version", state.count.into());
                let data = [&state.count.to_be_bytes(), &state.planted[..]].concat();
                *response.body_mut() = Body::full(data.into());
            }
            return response;
        }
        if request.method() == Method::DELETE {
            if let Some(highest) = self.above(client, fence) {
                return fenced_off(highest);
            }
            let forgotten = State { fence, ..State::default() };
            lock(&self.states).insert(client.to_owned(), forgotten);
            response.headers_mut().insert("tessera-fence", fence.into());
            return response;
        }
        let mut data = request.into_body().collect_up_to(LONGEST).await.unwrap_or_default().data;
        let count = data.split_to(8);
        let count = u64::from_be_bytes(count[..].try_into().unwrap());
        let mut states = lock(&self.states);
        let state = states.entry(client.to_owned()).or_default();
        // The version is the count.
        if (fence, count) < (state.fence, state.count) {
            return fenced_off(state.fence);
        }
        *state = State { fence, count, planted: data };
        response.headers_mut().insert("tessera-fence", fence.into());
        response
    }

    /// Notes a fence; returns a higher one that was seen, if any.
    fn above(&self, client: &str, fence: u64) -> Option<u64> {
        let mut states = lock(&self.states);
        let state = states.entry(client.to_owned()).or_default();
        state.fence = state.fence.max(fence);
        (state.fence > fence).then_some(state.fence)
    }
}

fn fence(request: &Request<Body>) -> Option<u64> {
    request.headers().get("tessera-fence")?.to_str().unwrap().parse().ok()
}

/// Refuses what comes after a later owner's.
fn fenced_off(highest: u64) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::PRECONDITION_FAILED;
    response.headers_mut().insert("tessera-fence", highest.into());
    response
}

/// The page by which browsers send their requests.
fn page() -> Response<Body> {
    let mut response = Response::new(Body::full(include_str!("stock/page.html").into()));
    let html = http::HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(http::header::CONTENT_TYPE, html);
    response
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
