//! The client: one connection, which goes on from every address.

use std::error::Error;
use std::net::UdpSocket;
use std::time::Duration;

use bytes::Bytes;
use quinn::{ClientConfig, Connection, ConnectionError, Endpoint, UdpStats};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::arguments::{ClientOptions, Detection};
use crate::interfaces::Interfaces;
use crate::{configs, report};

/// Nothing that the lab does lasts longer.
/// A timer may be this late without moving the messages after it.
const LATE: Duration = Duration::from_millis(20);

const PATIENCE: Duration = Duration::from_secs(60);
const LEAST_RTT_TIMEOUT: Duration = Duration::from_millis(20);
const MESSAGE_LENGTH: usize = 64;

type Failure = Box<dyn Error>;

pub async fn run(options: ClientOptions) -> Result<(), Failure> {
    let mut input = Input::start();
    let interfaces = Interfaces::new(&options.sources);
    let config = configs::client(&options.ca)?;
    let mut client = Client { options, config, interfaces, endpoint: None };
    let Some(connection) = client.connect(&mut input).await? else {
        report::event("end", json!({ "cpu_us": report::cpu_us() }));
        std::process::exit(0);
    };
    let mut application = Application::new(&mut client, connection);
    let result = application.run(&mut input).await;
    application.close();
    let Application { sent, received, .. } = application;
    if let Some(endpoint) = &client.endpoint {
        // Until the close is sent.
        let _ = tokio::time::timeout(Duration::from_millis(100), endpoint.wait_idle()).await;
    }
    result?;
    report::event(
        "end",
        json!({
            "cpu_us": report::cpu_us(),
            "datagrams_sent": sent.datagrams,
            "datagrams_received": received.datagrams,
            "bytes_sent": sent.bytes,
            "bytes_received": received.bytes,
        }),
    );
    // A read of standard input can't be cancelled.
    std::process::exit(0);
}

struct Client {
    options: ClientOptions,
    config: ClientConfig,
    interfaces: Interfaces,
    endpoint: Option<Endpoint>,
}

impl Client {
    /// Connects; starts over if the address changes meanwhile. `None` if the input is closed.
    async fn connect(&mut self, input: &mut Input) -> Result<Option<Connection>, Failure> {
        let began = Instant::now();
        loop {
            report::event("handshake_begin", json!({}));
            let connecting = match self.bind() {
                Ok(socket) => {
                    let endpoint = endpoint(socket)?;
                    let server = self.options.server;
                    let connecting =
                        endpoint.connect_with(self.config.clone(), server, "server.example")?;
                    self.endpoint = Some(endpoint);
                    Some(connecting)
                }
                // The address isn't there.
                Err(_) => None,
            };
            let address = self.interfaces.route();
            let has_socket = connecting.is_some();
            let handshake = async {
                match connecting {
                    Some(connecting) => connecting.await,
                    None => std::future::pending().await,
                }
            };
            tokio::pin!(handshake);
            loop {
                if began.elapsed() > PATIENCE {
                    return Err("no handshake within a minute".into());
                }
                tokio::select! {
                    connection = &mut handshake => {
                        let connection = connection?;
                        report::event("handshake_end", json!({ "kind": "full" }));
                        return Ok(Some(connection));
                    }
                    line = input.line() => {
                        let Some(line) = line else { return Ok(None) };
                        let is_way_new = self.interfaces.change(&line)?;
                        if is_way_new && self.options.detection == Detection::Event {
                            break;
                        }
                    }
                    () = tokio::time::sleep(self.options.timeout) => {
                        if !has_socket || self.interfaces.route() != address {
                            break;
                        }
                    }
                }
            }
        }
    }

    /// What is sent next leaves from the address of now.
    fn follow_route(&self) -> Result<(), Failure> {
        let Some(endpoint) = &self.endpoint else { return Ok(()) };
        if endpoint.local_addr()?.ip() != self.interfaces.route()
            && let Ok(socket) = self.bind()
        {
            endpoint.rebind(socket)?;
        }
        Ok(())
    }

    fn bind(&self) -> std::io::Result<UdpSocket> {
        let socket = UdpSocket::bind((self.interfaces.route(), 0))?;
        report::event("socket", json!({ "address": socket.local_addr()?.to_string() }));
        Ok(socket)
    }
}

fn endpoint(socket: UdpSocket) -> Result<Endpoint, Failure> {
    let runtime = quinn::default_runtime().ok_or("tokio runs")?;
    Ok(Endpoint::new(quinn::EndpointConfig::default(), None, socket, runtime)?)
}

/// Stop-and-wait over the connection's datagrams.
struct Application<'a> {
    client: &'a mut Client,
    connection: Connection,
    /// What connections that are closed have sent and received.
    sent: Total,
    received: Total,
    message: u32,
    timeouts_in_row: u32,
    is_sent: bool,
    is_repeated: bool,
    sent_at: Instant,
    next_at: Instant,
    progress_at: Instant,
    smoothed_rtt: Option<Duration>,
}

#[derive(Default)]
struct Total {
    datagrams: u64,
    bytes: u64,
}

impl Total {
    fn add(&mut self, stats: &UdpStats) {
        self.datagrams += stats.datagrams;
        self.bytes += stats.bytes;
    }
}

impl<'a> Application<'a> {
    fn new(client: &'a mut Client, connection: Connection) -> Self {
        let now = Instant::now();
        Self {
            client,
            connection,
            sent: Total::default(),
            received: Total::default(),
            message: 0,
            timeouts_in_row: 0,
            is_sent: false,
            is_repeated: false,
            sent_at: now,
            next_at: now,
            progress_at: now,
            smoothed_rtt: None,
        }
    }

    fn close(&mut self) {
        let stats = self.connection.stats();
        self.sent.add(&stats.udp_tx);
        self.received.add(&stats.udp_rx);
        self.connection.close(0_u32.into(), b"");
    }

    /// Gives up the connection, which the server has lost; returns whether there is another.
    async fn connect_again(&mut self, input: &mut Input) -> Result<bool, Failure> {
        self.close();
        let Some(connection) = self.client.connect(input).await? else { return Ok(false) };
        self.connection = connection;
        self.timeouts_in_row = 0;
        self.progress_at = Instant::now();
        if self.is_sent {
            self.send()?;
        }
        Ok(true)
    }

    async fn run(&mut self, input: &mut Input) -> Result<(), Failure> {
        while self.message < self.client.options.acks {
            let limit = self.progress_at + PATIENCE;
            let due = if self.is_sent { self.sent_at + self.timeout() } else { self.next_at };
            tokio::select! {
                ack = self.connection.read_datagram() => match ack {
                    Err(ConnectionError::Reset) => {
                        if !self.connect_again(input).await? {
                            break;
                        }
                    }
                    ack => self.read_ack(&ack?),
                },
                line = input.line() => {
                    let Some(line) = line else { break };
                    let is_way_new = self.client.interfaces.change(&line)?;
                    let is_event = self.client.options.detection == Detection::Event;
                    if is_event && is_way_new && self.is_sent {
                        self.send()?;
                    }
                }
                () = sleep_until(due.min(limit)) => {
                    if Instant::now() >= limit {
                        return Err("no progress for 60 s".into());
                    }
                    if self.is_sent {
                        report::event("timeout", json!({}));
                        self.timeouts_in_row += 1;
                        let options = &self.client.options;
                        if options.restarts && self.timeouts_in_row >= options.timeouts {
                            if !self.connect_again(input).await? {
                                break;
                            }
                            continue;
                        }
                    }
                    self.send()?;
                }
            }
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), Failure> {
        let mut content = [0; MESSAGE_LENGTH];
        content[..4].copy_from_slice(&self.message.to_be_bytes());
        self.sent_at = Instant::now();
        if self.is_sent {
            self.is_repeated = true;
        } else {
            if self.sent_at.saturating_duration_since(self.next_at) > LATE {
                self.next_at = self.sent_at;
            }
            self.next_at += self.client.options.pace;
        }
        self.is_sent = true;
        self.client.follow_route()?;
        report::event("sent", json!({ "message": self.message }));
        self.connection.send_datagram(Bytes::copy_from_slice(&content))?;
        Ok(())
    }

    fn read_ack(&mut self, content: &[u8]) {
        if !self.is_sent || content != self.message.to_be_bytes() {
            return;
        }
        report::event("ack", json!({ "message": self.message }));
        self.progress_at = Instant::now();
        // Karn: which of several messages was acknowledged isn't known. The weight is RFC 6298's.
        let rtt = self.progress_at - self.sent_at;
        if !self.is_repeated {
            self.smoothed_rtt =
                Some(self.smoothed_rtt.map_or(rtt, |before| (7 * before + rtt) / 8));
        }
        self.message += 1;
        self.timeouts_in_row = 0;
        self.is_sent = false;
        self.is_repeated = false;
    }

    /// How long an ack may take.
    fn timeout(&self) -> Duration {
        let options = &self.client.options;
        match (options.detection, self.smoothed_rtt) {
            (Detection::Rtt, Some(rtt)) => (3 * rtt).max(LEAST_RTT_TIMEOUT),
            _ => options.timeout,
        }
    }
}

/// The lines of standard input.
struct Input(mpsc::Receiver<String>);

impl Input {
    fn start() -> Self {
        let (give, lines) = mpsc::channel(1);
        tokio::spawn(async move {
            let mut input = BufReader::new(tokio::io::stdin()).lines();
            while let Ok(Some(line)) = input.next_line().await {
                if give.send(line).await.is_err() {
                    break;
                }
            }
        });
        Self(lines)
    }

    /// The next, or `None` at the end.
    async fn line(&mut self) -> Option<String> {
        self.0.recv().await
    }
}
