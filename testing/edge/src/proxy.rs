//! `tessera edge run` as a process that tests start, kill, stop and query.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use tessera_test_peers::{Directory, Network, PATIENCE, Process, free_port};

use crate::wait::until;

/// Where a proxy listens.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    /// For clients: an address of its own.
    pub clients: SocketAddr,
    /// For the other proxies.
    pub peers: SocketAddr,
    /// For one-time keys.
    pub keys: SocketAddr,
    /// For its operator.
    pub admin: SocketAddr,
}

impl Places {
    /// Picks free ports; clients come to the address 127.0.0.`number`.
    pub fn at(number: u8) -> Self {
        let free = |host| SocketAddr::from((host, free_port().unwrap()));
        let local = Ipv4Addr::LOCALHOST;
        Self {
            clients: free(Ipv4Addr::new(127, 0, 0, number)),
            peers: free(local),
            keys: free(local),
            admin: free(local),
        }
    }
}

/// A configuration, and the process that runs it, if any.
pub struct EdgeProxy {
    program: &'static str,
    /// Its name in the pool.
    pub name: &'static str,
    /// Where it listens.
    pub places: Places,
    process: Option<Process>,
    /// Its files. Removed after the process is killed.
    pub directory: Directory,
}

impl EdgeProxy {
    /// Creates one that will listen there. It has no file yet, and nothing runs.
    pub fn new(program: &'static str, name: &'static str, places: Places) -> Self {
        Self { program, name, places, process: None, directory: Directory::new() }
    }

    /// Starts it, and waits until it listens.
    #[track_caller]
    pub fn start(&mut self) {
        let file = self.directory.path("edge.toml");
        let words = ["run", &file];
        let process =
            Process::start_compiled("tessera edge", self.program, Network::Loopback, words);
        process.listens_on(self.places.admin.port());
        process.listens_on(self.places.peers.port());
        self.process = Some(process);
    }

    /// Returns the process that runs.
    #[track_caller]
    pub fn process(&self) -> &Process {
        self.process.as_ref().expect("it was started")
    }

    /// Stops it (SIGSTOP), and waits until no thread of it runs: nothing that is sent to it afterwards is begun.
    pub async fn freeze(&self) {
        let process = self.process();
        process.stop();
        let tasks = format!("/proc/{}/task", process.id());
        let is_stopped =
            |stat: String| stat.rsplit_once(") ").is_some_and(|(_, it)| it.starts_with('T'));
        until("all its threads stop", || {
            let threads = std::fs::read_dir(&tasks).unwrap().map(|it| it.unwrap().path());
            threads.map(|it| std::fs::read_to_string(it.join("stat")).unwrap()).all(is_stopped)
        })
        .await;
    }

    /// Ends it (SIGTERM), and waits until it has ended.
    #[track_caller]
    pub fn end(&mut self) {
        let mut process = self.process.take().expect("it was started");
        process.terminate();
        assert!(process.ends(), "{}", process.output());
    }

    /// Kills it (SIGKILL).
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Returns what it has logged.
    pub fn log(&self) -> String {
        self.process.as_ref().map(Process::output).unwrap_or_default()
    }

    /// Returns the sum of all series of this metric that have this label, as it is exposed: `step="switched"`.
    #[track_caller]
    pub fn metric(&self, name: &str, label: &str) -> u64 {
        let all = self.metrics().expect("it answers on its admin listener");
        let series = all.lines().filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let (is, of) = series.split_once('{').unwrap_or((series, ""));
            (is == name && of.contains(label)).then_some(value)
        });
        series.map(|value| value.parse::<f64>().unwrap()).sum::<f64>() as u64
    }

    fn metrics(&self) -> Option<String> {
        let mut stream = TcpStream::connect(self.places.admin).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }
}
