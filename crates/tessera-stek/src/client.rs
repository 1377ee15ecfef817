//! `tessera stek status`, `rotate` and `revoke`: requests to the admin port of a running sidecar.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{io, str};

use tessera_kit::{ProgramError, report};
use tessera_proxy::address::ListenAddress;

use crate::config::LoadedStek;
use crate::state::{ChangeKind, StekState};

/// Prints the state of the ring, as the sidecar of this configuration sees it. Returns whether all is well.
///
/// # Errors
/// If the sidecar can't be reached.
pub fn status(file: &Path, json: bool) -> Result<bool, ProgramError> {
    let sidecar = Sidecar::of(file)?;
    let text = sidecar.request("GET", "/ring")?;
    let state = sidecar.state(&text)?;
    report::print(if json { format!("{text}\n") } else { state.text() })?;
    Ok(state.is_well())
}

/// Has the sidecar of this configuration change the ring, and waits for the result.
///
/// # Errors
/// If the sidecar can't be reached, or the change didn't happen.
pub fn change(file: &Path, kind: ChangeKind) -> Result<(), ProgramError> {
    let sidecar = Sidecar::of(file)?;
    let path = match kind {
        ChangeKind::Rotate => "/ring/rotate",
        ChangeKind::Revoke => "/ring/revoke",
    };
    let answer = sidecar.request("POST", path)?;
    let number: u64 = answer.trim().parse().map_err(|_| sidecar.failed(answer.trim()))?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let state = sidecar.state(&sidecar.request("GET", "/ring")?)?;
        let change = state.change.filter(|change| change.number == number);
        match change.and_then(|change| change.result) {
            Some(result) if result == "done" => return report::print(format!("{}\n", done(kind))),
            Some(why) => {
                return Err(ProgramError::Failed(format!("the ring was not changed: {why}")));
            }
            None if Instant::now() >= deadline => {
                return Err(sidecar.failed(
                    "the change is still in progress; `tessera stek status` shows its end",
                ));
            }
            None => sleep(POLL_EVERY),
        }
    }
}

fn done(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Rotate => "The next key seals now, and the one after it is distributed.",
        ChangeKind::Revoke => {
            "All keys were replaced. Members that reach the store drop the earlier ones: `status` lists them. A server that it \
             doesn't list still opens stolen tickets: stop that server."
        }
    }
}

/// The admin port of a sidecar.
struct Sidecar {
    address: ListenAddress,
}

/// How long a change may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often to ask for its result.
const POLL_EVERY: Duration = Duration::from_millis(50);

/// How long one request may take.
const DEADLINE: Duration = Duration::from_secs(5);

/// The longest answer.
const LONGEST: u64 = 4 * 1024 * 1024;

trait Connection: Read + Write {}

impl<C: Read + Write> Connection for C {}

impl Sidecar {
    fn of(file: &Path) -> Result<Self, ProgramError> {
        let loaded = LoadedStek::read(file)?;
        let admin = loaded.stek.process.admin.clone();
        let address = admin.ok_or_else(|| {
            loaded.locate(ProgramError::settings(
                "[process] admin: must be set, to \"unix:/run/tessera-stek/admin.sock\" for example: requests to the \
                 sidecar go there",
            ))
        })?;
        Ok(Self { address })
    }

    /// Returns the body of the answer to a request.
    fn request(&self, method: &str, path: &str) -> Result<String, ProgramError> {
        let answer = self.exchange(method, path).map_err(|error| self.failed(error))?;
        let (head, body) =
            answer.split_once("\r\n\r\n").ok_or_else(|| self.failed("no HTTP answer"))?;
        match head.split(' ').nth(1) {
            Some("200" | "202") => Ok(body.to_owned()),
            _ => Err(self.failed(body.trim())),
        }
    }

    fn exchange(&self, method: &str, path: &str) -> io::Result<String> {
        let mut connection = self.connect()?;
        // HTTP/1.0: the connection ends with the answer.
        write!(connection, "{method} {path} HTTP/1.0\r\nHost: stek\r\n\r\n")?;
        let mut answer = Vec::new();
        connection.take(LONGEST).read_to_end(&mut answer)?;
        String::from_utf8(answer).map_err(io::Error::other)
    }

    fn connect(&self) -> io::Result<Box<dyn Connection>> {
        let port = match &self.address {
            ListenAddress::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(DEADLINE))?;
                return Ok(Box::new(stream));
            }
            ListenAddress::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, DEADLINE)?;
                stream.set_read_timeout(Some(DEADLINE))?;
                return Ok(Box::new(stream));
            }
            ListenAddress::Everywhere(port) => *port,
            ListenAddress::Name(name) => {
                return Ok(Box::new(TcpStream::connect((name.host.as_str(), name.port))?));
            }
            ListenAddress::Inherited(_) => return Err(ErrorKind::AddrNotAvailable.into()),
        };
        Ok(Box::new(TcpStream::connect(("localhost", port))?))
    }

    fn state(&self, json: &str) -> Result<StekState, ProgramError> {
        serde_json::from_str(json).map_err(|error| self.failed(error))
    }

    fn failed(&self, why: impl std::fmt::Display) -> ProgramError {
        ProgramError::Failed(format!("the sidecar at {}: {why}; check that it runs", self.address))
    }
}
