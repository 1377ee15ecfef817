//! Clients of other makers. Each sends one request after the other, as a process that prints what became of them: browsers
//! by `page.html`, curl and curl_cffi by `visitor.py`, Go by the module `go`.

mod browser;

use std::cell::OnceCell;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use tessera_test_peers::{Directory, Process, go};

use crate::client::ORIGIN;

/// A kind of client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StockClient {
    /// Firefox. `FIREFOX` names the program, `firefox-esr` by default.
    Firefox,
    /// Chromium.
    Chromium,
    /// curl_cffi: libcurl with BoringSSL, as Chrome. `PYTHON` names an interpreter that has it.
    CurlCffi,
    /// A run of the program curl for each request.
    Curl,
    /// Go's net/http, led by the program.
    Go,
}

/// Where a client is, and what it does.
#[derive(Clone, Copy)]
pub struct Itinerary<'s> {
    /// The authority of the origin's certificate, as PEM.
    pub ca: &'s str,
    /// Where the origin's name leads. All proxies have this port.
    pub origin: SocketAddr,
    /// Between an answer and the next request.
    pub pause: Duration,
    /// Begins the paths of its requests, behind `/cart/`.
    pub prefix: &'s str,
    /// Starts a process where the client is.
    pub spawn: &'s dyn Fn(Command) -> io::Result<Child>,
}

/// A client that runs.
pub struct Visitor {
    process: Process,
    _files: Directory,
}

/// A request, as its client knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Visit {
    /// Its number. Each client begins with 0.
    pub number: u64,
    /// When it was sent, since 1970.
    pub sent: Duration,
    /// When the whole response was there, or an error.
    pub answered: Duration,
    /// The status; 0: there was no response.
    pub status: u16,
    /// The proxy whose instance executed it.
    pub at: String,
    /// The proxy that the response announces, by its address; of the response before, if there was none.
    pub announced: String,
}

/// What clients are made of, once. It must live as long as they do.
pub struct StockClients {
    go: OnceCell<String>,
    files: Directory,
}

impl StockClients {
    /// Makes nothing yet.
    pub fn new() -> Self {
        Self { go: OnceCell::new(), files: Directory::new() }
    }

    /// Starts a client.
    ///
    /// # Panics
    /// If its program is missing; the message names it.
    #[track_caller]
    pub fn start(&self, client: StockClient, to: &Itinerary<'_>) -> Visitor {
        let files = Directory::new();
        let ca = files.write("ca.pem", to.ca);
        let (origin, pause) = (origin(to), to.pause.as_millis().to_string());
        let address = to.origin.to_string();
        let process = match client {
            StockClient::Firefox => browser::firefox(to, &ca, &files),
            StockClient::Chromium => browser::chromium(to, &ca, &files),
            StockClient::CurlCffi | StockClient::Curl => {
                let python = python(client);
                let by = if client == StockClient::Curl { "curl" } else { "curl-cffi" };
                let resolve = format!("{ORIGIN}:{}:{}", to.origin.port(), to.origin.ip());
                let script = files.write("visitor.py", include_str!("visitor.py"));
                let words = ["-u", &script, by, &origin, &ca, &resolve, &pause, to.prefix];
                Process::start_compiled_by(to.spawn, "visitor.py", &python, words)
            }
            StockClient::Go => {
                let words = [&origin, &ca, &address, &pause, to.prefix];
                Process::start_compiled_by(to.spawn, "visitor", self.go(), words)
            }
        };
        Visitor { process, _files: files }
    }

    fn go(&self) -> &str {
        self.go.get_or_init(|| {
            let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("go");
            // Next to what cargo built.
            let program = std::env::current_exe().unwrap();
            let cache = program.parent().unwrap().join("go-of-edge-tests");
            go::build(&module, &cache, &self.files)
        })
    }
}

impl Default for StockClients {
    fn default() -> Self {
        Self::new()
    }
}

impl Visitor {
    /// Returns the requests that are over.
    pub fn visits(&self) -> Vec<Visit> {
        self.process.output().lines().filter_map(read).collect()
    }

    /// Returns all that it has printed.
    pub fn log(&self) -> String {
        self.process.output()
    }
}

/// Reads `visit NUMBER SENT ANSWERED STATUS AT ANNOUNCED end`, with times in milliseconds, wherever it is in the line.
fn read(line: &str) -> Option<Visit> {
    let (_, rest) = line.split_once("visit ")?;
    let mut words = rest.split_once(" end")?.0.split(' ');
    let mut next = || words.next();
    let moment = |word: &str| Some(Duration::from_secs_f64(word.parse::<f64>().ok()? / 1e3));
    Some(Visit {
        number: next()?.parse().ok()?,
        sent: moment(next()?)?,
        answered: moment(next()?)?,
        status: next()?.parse().ok()?,
        at: next()?.to_owned(),
        announced: next()?.to_owned(),
    })
}

fn origin(to: &Itinerary<'_>) -> String {
    format!("https://{ORIGIN}:{}", to.origin.port())
}

/// Returns the interpreter, which has the package that a client needs.
#[track_caller]
fn python(client: StockClient) -> String {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let module = if client == StockClient::CurlCffi { "curl_cffi" } else { "sys" };
    let tried = Command::new(&python).args(["-c", &format!("import {module}")]).output();
    let has_it = tried.is_ok_and(|it| it.status.success());
    assert!(has_it, "PYTHON must name a Python with the package {module}, and {python} isn't one");
    python
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visit_is_found_in_a_browsers_log() {
        let line = "[1:2:3/4:INFO:CONSOLE:5] \"visit 7 1000.5 1002.25 200 b 127.0.0.2:443 end\", source: x";
        let visit = read(line).unwrap();
        assert_eq!((visit.number, visit.status), (7, 200));
        assert_eq!((visit.at.as_str(), visit.announced.as_str()), ("b", "127.0.0.2:443"));
        assert_eq!(visit.answered - visit.sent, Duration::from_micros(1750));
        // Its end isn't there yet.
        assert_eq!(read("visit 7 1000.5 1002.25 200 b 127.0.0.2:4"), None);
    }
}
