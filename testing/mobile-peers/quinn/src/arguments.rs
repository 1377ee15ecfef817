//! The options of both roles.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

pub enum Role {
    Server(ServerOptions),
    Client(ClientOptions),
}

pub struct ServerOptions {
    pub listen: SocketAddr,
    pub certificate: String,
    pub key: String,
}

pub struct ClientOptions {
    pub server: SocketAddr,
    pub ca: String,
    pub sources: Vec<IpAddr>,
    pub acks: u32,
    pub pace: Duration,
    pub timeout: Duration,
    pub timeouts: u32,
    /// The server does, and the connection is lost.
    pub restarts: bool,
    pub detection: Detection,
}

/// When a path counts as lost.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Detection {
    Timeout,
    Rtt,
    Event,
}

pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Role, String> {
    let role = arguments.next().unwrap_or_default();
    let mut options = Options(HashMap::new());
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} has no value"))?;
        options.0.insert(name, value);
    }
    if options.text("--arm")? != "quinn-rebind" {
        return Err("--arm: quinn-rebind is this program's only one".into());
    }
    let role = match role.as_str() {
        "server" => Role::Server(ServerOptions {
            listen: options.parsed("--listen")?,
            certificate: options.text("--certificate")?,
            key: options.text("--key")?,
        }),
        "client" => {
            let sources = options.text("--sources")?;
            let sources: Result<Vec<_>, _> = sources.split(',').map(str::parse).collect();
            Role::Client(ClientOptions {
                server: options.parsed("--connect")?,
                ca: options.text("--ca")?,
                sources: sources.map_err(|error| format!("--sources: {error}"))?,
                timeouts: options.parsed("--timeouts")?,
                restarts: options.0.remove("--restarts").is_some_and(|value| value == "1"),
                acks: options.parsed("--acks")?,
                pace: Duration::from_millis(options.parsed("--pace-ms")?),
                timeout: Duration::from_millis(options.parsed("--timeout-ms")?),
                detection: match options.text("--detection")?.as_str() {
                    "timeout" => Detection::Timeout,
                    "rtt3" => Detection::Rtt,
                    "event" => Detection::Event,
                    other => return Err(format!("--detection: {other}")),
                },
            })
        }
        _ => return Err("the first argument: client or server".into()),
    };
    match options.0.keys().next() {
        Some(unknown) => Err(format!("{unknown}: no such option")),
        None => Ok(role),
    }
}

struct Options(HashMap<String, String>);

impl Options {
    fn text(&mut self, name: &str) -> Result<String, String> {
        self.0.remove(name).ok_or_else(|| format!("{name} is missing"))
    }

    fn parsed<T: FromStr>(&mut self, name: &str) -> Result<T, String> {
        let text = self.text(name)?;
        text.parse().map_err(|_| format!("{name}: {text}"))
    }
}
