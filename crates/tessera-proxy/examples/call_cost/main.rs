//! The cost of a call: CPU time of the client's thread alone, over one plaintext HTTP/2 connection.
//!
//! `cargo run --profile dist -p tessera-proxy --features http --example call_cost -- [pool|hyper] [in flight] [seconds]`
//!
//! `pool` is [`tessera_proxy::http::client`]; `hyper` is hyper's client alone, which has a task and two channels for
//! each request, but neither deadlines nor retries.

mod server;

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tessera_proxy::address::DialAddress;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::{Call, Plaintext, Pool, PoolOptions};
use tessera_proxy::http::deadline::Deadline;
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::task::JoinSet;

type BoxResult<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> BoxResult {
    let mut arguments = std::env::args().skip(1);
    let by_pool = arguments.next().is_none_or(|which| which == "pool");
    let in_flight = arguments.next().map_or(Ok(40), |count| count.parse())?;
    let seconds = arguments.next().map_or(Ok(5), |count| count.parse())?;
    let address = server::start()?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = Client::new(by_pool, address).await?;
        // The first second is a warm-up.
        client.load(in_flight, Duration::from_secs(1)).await?;
        let before = cpu()?;
        let calls = client.load(in_flight, Duration::from_secs(seconds)).await?;
        let each = (cpu()? - before).as_nanos() / u128::from(calls.max(1));
        let which = if by_pool { "pool" } else { "hyper" };
        println!("{which}: {calls} calls, {each} ns of the client's CPU each");
        Ok(())
    })
}

#[derive(Clone)]
enum Client {
    Pool(Pool),
    Hyper(SendRequest<Full<Bytes>>),
}

impl Client {
    async fn new(by_pool: bool, address: SocketAddr) -> BoxResult<Self> {
        if by_pool {
            let connect = Arc::new(Plaintext::default());
            let options = PoolOptions { connections: 1, ..PoolOptions::default() };
            return Ok(Self::Pool(Pool::new(connect, DialAddress::Tcp(address), options)));
        }
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(socket)).await?;
        tokio::spawn(connection);
        Ok(Self::Hyper(sender))
    }

    /// Returns the number of calls.
    async fn load(&self, in_flight: usize, time: Duration) -> BoxResult<u64> {
        let end = Instant::now() + time;
        let mut callers = JoinSet::new();
        for _ in 0..in_flight {
            let mut client = self.clone();
            callers.spawn(async move {
                let mut calls = 0;
                while Instant::now() < end {
                    client.call().await?;
                    calls += 1;
                }
                BoxResult::Ok(calls)
            });
        }
        let mut calls = 0;
        while let Some(caller) = callers.join_next().await {
            calls += caller??;
        }
        Ok(calls)
    }

    async fn call(&mut self) -> BoxResult {
        let request = Request::post("http://peer.example/nausf-auth/v1/ue-authentications")
            .header("content-type", "application/json")
            .header("accept", "application/json,application/problem+json")
            .header("user-agent", "AMF")
            .header("3gpp-sbi-max-rsp-time", "10000")
            .header("3gpp-sbi-sender-timestamp", "Sat, 21 Nov 2026 01:44:47.553 GMT");
        let body = Bytes::from_static(&[b'x'; 170]);
        match self {
            Self::Pool(pool) => {
                let call = Call::until(Deadline::after(Duration::from_secs(10)));
                let answer = pool.call(request.body(Body::full(body))?, call).await?;
                answer.response.into_body().collect_up_to(1024).await?;
            }
            Self::Hyper(sender) => {
                let response = sender.send_request(request.body(Full::new(body))?).await?;
                response.into_body().collect().await?;
            }
        }
        Ok(())
    }
}

/// Returns this thread's CPU time, as counted by Linux.
fn cpu() -> BoxResult<Duration> {
    let line = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanos = line.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Ok(Duration::from_nanos(nanos.unwrap_or(0)))
}
