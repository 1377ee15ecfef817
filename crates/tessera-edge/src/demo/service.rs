//! A service: it counts each client's requests, and that is the client's state, with the highest fence that it has seen.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::HeaderName;
use http::{Method, Request, Response, StatusCode};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::server::{
    AcceptedConnection, ServerOptions, UpgradeOptions, UpgradeRequest, serve,
};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::time::sleep;

/// An instance.
#[derive(Default)]
pub(crate) struct CountingService {
    states: Mutex<HashMap<String, State>>,
    executed: Mutex<Vec<String>>,
    /// The imports that it has taken: client and fence.
    imported: Mutex<Vec<(String, u64)>>,
}

/// A client's state.
#[derive(Clone, Copy, Default)]
struct State {
    fence: u64,
    count: u64,
}

/// The longest body.
const LONGEST: usize = 1 << 20;

impl CountingService {
    /// Serves at a free address, which it returns.
    pub(crate) async fn listen(self: Arc<Self>) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let upgrades = Some(UpgradeOptions::default());
        let options = Arc::new(ServerOptions { upgrades, ..ServerOptions::default() });
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (service, options) = (self.clone(), options.clone());
                tokio::spawn(async move {
                    let answer = async |request| service.answer(request).await;
                    let never = std::future::pending();
                    serve(AcceptedConnection::plaintext(socket), options, answer, never).await;
                });
            }
        });
        Ok(address)
    }

    /// Returns how many requests a client has made, by its state.
    pub(crate) fn count(&self, client: &str) -> u64 {
        lock(&self.states).get(client).copied().unwrap_or_default().count
    }

    /// Returns the requests that this instance executed: client, method and path.
    pub(crate) fn executed(&self) -> Vec<String> {
        lock(&self.executed).clone()
    }

    /// Returns the imports that this instance has taken: client and fence.
    #[cfg(test)]
    pub(crate) fn imported(&self) -> Vec<(String, u64)> {
        lock(&self.imported).clone()
    }

    /// Loses a client's state, as a service may.
    #[cfg(test)]
    pub(crate) fn lose(&self, client: &str) {
        lock(&self.states).entry(client.to_owned()).or_default().count = 0;
    }

    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        match path.strip_prefix("/state/") {
            Some(client) => self.answer_state(client, request).await,
            None => self.execute(&path, request).await,
        }
    }

    async fn execute(&self, path: &str, mut request: Request<Body>) -> Response<Body> {
        let text = |request: &Request<Body>, name: &str| {
            let value = request.headers().get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let client = text(&request, "tessera-client");
        if let Err(fence) = self.pass(&client, &request) {
            return fenced_off(fence);
        }
        lock(&self.executed).push(format!("{client} {} {path}", request.method()));
        if let Some(upgrade) = UpgradeRequest::take(&mut request) {
            let (near, far) = tokio::io::duplex(1024);
            tokio::spawn(async move {
                let (mut read, mut write) = tokio::io::split(far);
                // It ends with its client.
                let _ = tokio::io::copy(&mut read, &mut write).await;
                let _ = write.shutdown().await;
            });
            return upgrade.accept(Response::new(()), near);
        }
        match path {
            "/slow" => sleep(Duration::from_millis(300)).await,
            "/hang" => std::future::pending().await,
            _ => (),
        }
        let names =
            ["tessera-client", "x-forwarded-for", "x-forwarded-proto", "tessera-generation"];
        let cookies = text(&request, "cookie");
        let fence = text(&request, "tessera-fence");
        let fields = names.map(|name| text(&request, name)).join("|");
        let own = request.headers().keys().map(HeaderName::as_str);
        let own = own.filter(|name| name.starts_with("tessera-")).collect::<Vec<_>>().join(" ");
        let body = request.into_body().collect_up_to(LONGEST).await.unwrap_or_default();
        let count = {
            let mut states = lock(&self.states);
            let state = states.entry(client).or_default();
            state.count += 1;
            state.count
        };
        let answer = match path {
            "/fields" => Bytes::from(fields),
            "/own" => own.into(),
            "/cookies" => cookies.into(),
            "/fence" => fence.into(),
            "/echo" => body.data,
            "/trailers" => format!("{:?}", body.trailers).into(),
            _ => count.to_string().into(),
        };
        let mut response = Response::new(Body::full(answer));
        // Where a client goes isn't for a service to say, nor what becomes of a request.
        response.headers_mut().insert("tessera-refused", http::HeaderValue::from_static("?1"));
        let elsewhere = http::HeaderValue::from_static("h2=\"elsewhere.example:443\"");
        response.headers_mut().insert(http::header::ALT_SVC, elsewhere);
        response
    }

    /// Exports, imports or forgets a client's state.
    async fn answer_state(&self, client: &str, request: Request<Body>) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        if request.method() == Method::GET {
            if let Err(fence) = self.pass(client, &request) {
                return fenced_off(fence);
            }
            let count = self.count(client);
            if count > 0 {
                *response.status_mut() = StatusCode::OK;
                response.headers_mut().insert("tessera-state-version", count.into());
                *response.body_mut() = Body::full(count.to_string().into());
            }
            return response;
        }
        let (is_delete, fence) = (request.method() == Method::DELETE, fence(&request));
        let body = request.into_body().collect_up_to(LONGEST).await.unwrap_or_default().data;
        // It is forgotten, or has the version that was counted.
        let count = match is_delete {
            true => Some(0),
            false => std::str::from_utf8(&body).ok().and_then(|count| count.parse().ok()),
        };
        let (Some(fence), Some(count)) = (fence, count) else {
            *response.status_mut() = StatusCode::BAD_REQUEST;
            return response;
        };
        let mut states = lock(&self.states);
        let state = states.entry(client.to_owned()).or_default();
        // The version is the count.
        if fence < state.fence || !is_delete && (fence, count) < (state.fence, state.count) {
            return fenced_off(state.fence);
        }
        *state = State { fence, count };
        if !is_delete {
            lock(&self.imported).push((client.to_owned(), fence));
        }
        response.headers_mut().insert("tessera-fence", fence.into());
        response
    }

    /// Notes the fence of a request; fails with a higher one that it has seen.
    fn pass(&self, client: &str, request: &Request<Body>) -> Result<(), u64> {
        let Some(fence) = fence(request) else { return Ok(()) };
        let mut states = lock(&self.states);
        let state = states.entry(client.to_owned()).or_default();
        if fence < state.fence {
            return Err(state.fence);
        }
        state.fence = fence;
        Ok(())
    }
}

fn fence(request: &Request<Body>) -> Option<u64> {
    request.headers().get("tessera-fence")?.to_str().ok()?.parse().ok()
}

/// Refuses what comes too late.
fn fenced_off(highest: u64) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::PRECONDITION_FAILED;
    response.headers_mut().insert("tessera-fence", highest.into());
    response
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
