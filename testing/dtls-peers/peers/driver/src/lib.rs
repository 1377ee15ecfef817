//! What all peers written in Rust share: their arguments, their commands and their answers; see `../../README.md`.

use std::fmt::Debug;
use std::io::{self, BufRead, stdin};
use std::net::UdpSocket;
use std::sync::mpsc::{self, TryRecvError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// How long a command may take: some retransmissions.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// How long to wait for a datagram between two commands.
pub const MOMENT: Duration = Duration::from_millis(10);

/// A result whose error is shown.
pub type Result<T> = std::result::Result<T, String>;

/// The arguments.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub is_server: bool,
    /// The authority, PEM.
    pub ca: String,
    /// This side's certificate and key, PEM.
    pub chain: Option<String>,
    pub key: String,
    /// The server's name.
    pub name: String,
    /// The connection ID to be addressed with.
    pub cid: Option<Vec<u8>>,
    pub mtu: Option<usize>,
    /// Whether a server asks each client for a cookie.
    pub cookie: bool,
    /// The only group: `X25519MLKEM768` or `P-384`.
    pub group: Option<String>,
}

/// What is known of a handshake.
#[derive(Debug, Default)]
pub struct Facts {
    pub version: String,
    pub resumed: bool,
    /// `not-offered`, `rejected` or `accepted`.
    pub early_data: &'static str,
    /// The early data that a server received.
    pub early: String,
    pub group: String,
    /// The connection ID that this side addresses the other with, in hexadecimal digits, if that is known.
    pub to_peer: Option<String>,
}

/// A stranger's end.
pub trait Peer: Sized {
    /// Its name and version.
    const NAME: &str;

    fn new(options: Options, socket: UdpSocket) -> Result<Self>;

    /// Connects over a new socket; with the session of the connection that was closed last, and with early data.
    fn connect(&mut self, port: u16, resumes: bool, early: &str) -> Result<Facts>;

    /// Accepts a client at the first socket.
    fn accept(&mut self) -> Result<Facts> {
        Err("has no server".into())
    }

    fn send(&mut self, data: &str) -> Result<()>;

    /// Receives data; `None` after the other side's end.
    fn receive(&mut self) -> Result<Option<String>>;

    /// Changes this side's keys.
    fn update(&mut self) -> Result<()> {
        Err("has no key updates".into())
    }

    /// Asks for a connection ID, and addresses the other side with it from now on; returns it in hexadecimal digits.
    fn rename(&mut self) -> Result<String> {
        Err("asks for no connection IDs".into())
    }

    fn close(&mut self) -> Result<()>;

    /// Waits a moment for a datagram or a timer, between two commands, and keeps the data that came.
    fn idle(&mut self) -> Result<()>;
}

/// Runs a peer: its arguments, then a command a line.
pub fn run<P: Peer>() {
    if let Err(error) = obey::<P>() {
        println!("{}", json!({"error": error}));
        std::process::exit(1);
    }
}

fn obey<P: Peer>() -> Result<()> {
    let mut options = Options { cookie: true, ..Options::default() };
    for argument in std::env::args().skip(1) {
        let (option, value) = argument.split_once('=').ok_or("an argument without a value")?;
        let value = value.to_owned();
        match option {
            "role" => options.is_server = value == "server",
            "ca" => options.ca = value,
            "chain" => options.chain = Some(value),
            "key" => options.key = value,
            "name" => options.name = value,
            "cid" => options.cid = Some(bytes(&value)),
            "mtu" => options.mtu = value.parse().ok(),
            "cookie" => options.cookie = value == "1",
            // wolfSSL's alone: it must be asked for.
            "early_data" => (),
            "group" => options.group = Some(value),
            _ => return Err(format!("no option {option}")),
        }
    }
    let socket = bound()?;
    let port = socket.local_addr().map_err(shown)?.port();
    let mut peer = P::new(options, socket)?;
    println!("{}", json!({"peer": P::NAME, "port": port}));
    let (lines, commands) = mpsc::channel();
    thread::spawn(move || {
        stdin().lock().lines().map_while(io::Result::ok).try_for_each(|line| lines.send(line))
    });
    loop {
        let line = match commands.try_recv() {
            Ok(line) => line,
            Err(TryRecvError::Disconnected) => return Ok(()),
            Err(TryRecvError::Empty) => {
                // The next command reports what is wrong.
                if peer.idle().is_err() {
                    thread::sleep(MOMENT);
                }
                continue;
            }
        };
        let (command, text) = line.split_once(' ').unwrap_or((&line, ""));
        let answer = match command {
            "connect" => port_of(text).and_then(|port| peer.connect(port, false, "")).map(object),
            "resume" => {
                let (port, early) = text.split_once(' ').unwrap_or((text, ""));
                port_of(port).and_then(|port| peer.connect(port, true, early)).map(object)
            }
            "accept" => peer.accept().map(object),
            "send" => peer.send(text).map(|()| json!({})),
            "receive" => peer.receive().map(|received| match received {
                Some(data) => json!({"data": data}),
                None => json!({"closed": true}),
            }),
            "update" => peer.update().map(|()| json!({})),
            "rename" => peer.rename().map(|to_peer| json!({"to_peer": to_peer})),
            "close" => peer.close().map(|()| json!({})),
            _ => Err("no such command".into()),
        };
        println!("{}", answer.unwrap_or_else(|error| json!({"error": error})));
    }
}

fn object(facts: Facts) -> Value {
    let Facts { version, resumed, early_data, early, group, to_peer } = facts;
    json!({
        "version": version,
        "resumed": resumed,
        "early_data": early_data,
        "early": early,
        "group": group,
        "to_peer": to_peer,
    })
}

fn port_of(text: &str) -> Result<u16> {
    text.parse().map_err(shown)
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at| u8::from_str_radix(hex.get(at..at + 2).unwrap_or_default(), 16);
    (0..hex.len()).step_by(2).filter_map(|at| digit(at).ok()).collect()
}

/// Returns hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a new socket.
pub fn bound() -> Result<UdpSocket> {
    UdpSocket::bind(("127.0.0.1", 0)).map_err(shown)
}

/// Returns an error's text.
pub fn shown(error: impl Debug) -> String {
    format!("{error:?}")
}
