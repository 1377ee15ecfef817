//! A process with tunnels, and programs that use them.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;
use tessera_test_peers::Directory;

use crate::program::{P256, Pki, signal, tessera};

/// Longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Certificates and configurations.
pub(crate) struct Stage {
    pub(crate) pki: Pki,
    pub(crate) files: Directory,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self { pki: Pki::new(P256), files: Directory::new() }
    }

    /// Returns a section for a server end.
    pub(crate) fn server(&self, name: &str, backend: SocketAddr, more: &str) -> String {
        format!(
            "[server.{name}]\nlisten = \"127.0.0.1:0\"\nforward = \"{backend}\"\ncertificate = \"{}\"\nkey = \"{}\"\n\
             {more}\n[server.{name}.peers]\nca = \"{}\"\nnames = [\"client.example\"]\n",
            self.pki.path("server.pem"),
            self.pki.path("server.key"),
            self.pki.path("root.pem"),
        )
    }

    /// Returns a section for a client end.
    pub(crate) fn client(&self, name: &str, server: SocketAddr, more: &str) -> String {
        format!(
            "[client.{name}]\nlisten = \"127.0.0.1:0\"\nconnect = \"{server}\"\nserver-name = \"localhost\"\n\
             certificate = \"{}\"\nkey = \"{}\"\n{more}\n[client.{name}.peers]\nca = \"{}\"\n",
            self.pki.path("client.pem"),
            self.pki.path("client.key"),
            self.pki.path("root.pem"),
        )
    }

    pub(crate) fn write(&self, name: &str, sections: &[&str]) -> String {
        let mut text = "[process]\nlog = \"json\"\ndrain = \"1s\"\nadmin = \"unix:".to_owned();
        writeln!(text, "{}\"", self.admin(name)).unwrap();
        self.files.write(name, text + &sections.concat())
    }

    /// Returns the admin socket of the process with the configuration of this name.
    pub(crate) fn admin(&self, name: &str) -> String {
        self.files.path(&format!("{name}.sock"))
    }

    /// Returns its response for this path.
    pub(crate) fn ask(&self, name: &str, path: &str) -> String {
        let mut socket = std::os::unix::net::UnixStream::connect(self.admin(name)).unwrap();
        write!(socket, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        text
    }
}

/// `tessera tunnel run`.
pub(crate) struct RunningTunnel {
    pub(crate) child: Child,
    log: Receiver<Value>,
}

impl RunningTunnel {
    pub(crate) fn start(file: &str) -> Self {
        Self::spawn(tessera().args(["tunnel", "run", file]))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, log) = channel();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).try_for_each(|line| {
                let told = serde_json::from_str(&line);
                sender.send(told.unwrap_or_else(|error| panic!("{line:?}: {error}")))
            })
        });
        Self { child, log }
    }

    /// Returns the next line with this in its message.
    pub(crate) fn says(&self, text: &str) -> Value {
        let mut before = Vec::new();
        loop {
            let told = self.log.recv_timeout(PATIENCE);
            let told = told.unwrap_or_else(|_| panic!("nothing of {text:?} after {before:#?}"));
            if told["message"].as_str().unwrap().contains(text) {
                return told;
            }
            before.push(told);
        }
    }

    /// Returns where its ends listen, in the order of their names.
    pub(crate) fn addresses<const N: usize>(&self) -> [SocketAddr; N] {
        std::array::from_fn(|_| {
            self.says("listening")["address"].as_str().unwrap().parse().unwrap()
        })
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Ends it, and waits until it has exited.
    pub(crate) fn end(mut self) -> ExitStatus {
        self.signal("-TERM");
        self.child.wait().unwrap()
    }
}

impl Drop for RunningTunnel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a backend that echoes with this prefix.
pub(crate) fn backend(before: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || drop(answer(socket, before)));
        }
    });
    address
}

fn answer(mut socket: TcpStream, before: &str) -> io::Result<()> {
    let reader = BufReader::new(socket.try_clone()?);
    for line in reader.lines() {
        socket.write_all(format!("{before}{}\n", line?).as_bytes())?;
    }
    socket.shutdown(Shutdown::Write)
}

/// Connects, sends a line, and returns the answer.
pub(crate) fn ask(address: SocketAddr, line: &str) -> io::Result<String> {
    let mut talk = ProgramConnection::begin(address)?;
    let answer = talk.ask(line)?;
    talk.0.get_mut().shutdown(Shutdown::Write)?;
    let mut rest = String::new();
    talk.0.read_to_string(&mut rest)?;
    assert_eq!(rest, "");
    Ok(answer)
}

/// A program's connection.
pub(crate) struct ProgramConnection(pub(crate) BufReader<TcpStream>);

impl ProgramConnection {
    pub(crate) fn begin(address: SocketAddr) -> io::Result<Self> {
        let socket = TcpStream::connect(address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(BufReader::new(socket)))
    }

    pub(crate) fn ask(&mut self, line: &str) -> io::Result<String> {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes())?;
        let mut answer = String::new();
        self.0.read_line(&mut answer)?;
        match answer.strip_suffix('\n') {
            Some(answer) => Ok(answer.to_owned()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Returns how many key pairs of this kind handshakes have asked for, by a process that makes them ahead.
pub(crate) fn keys_asked_for(metrics: &str, kind: &str) -> u64 {
    let count = |event: &str| {
        let series =
            format!("tessera_keys_ahead_events_total{{kind=\"{kind}\",event=\"{event}\"}} ");
        let value = metrics.lines().find_map(|line| line.strip_prefix(&series));
        value.unwrap_or_else(|| panic!("{series} is not in\n{metrics}")).parse::<u64>().unwrap()
    };
    count("used") + count("missed")
}
