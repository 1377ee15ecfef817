//! `tessera sepp run` as a process that tests start, kill and query.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::process::ExitStatus;

use tessera_proxy::demo::OperatorIdentity;
use tessera_test_peers::{Directory, Network, PATIENCE, Process, free_port, wait_until};

/// Where a SEPP listens.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    /// For own network functions.
    pub sbi: SocketAddr,
    /// For agreements with other networks.
    pub n32c: SocketAddr,
    /// For relayed messages.
    pub n32f: SocketAddr,
    /// For its operator.
    pub admin: SocketAddr,
}

impl Places {
    /// Picks free ports of this address.
    pub fn on(host: IpAddr) -> Self {
        let free = || SocketAddr::from((host, free_port().unwrap()));
        Self { sbi: free(), n32c: free(), n32f: free(), admin: free() }
    }

    /// Returns the same ports at another address: an instance next to the first.
    pub fn moved_to(mut self, host: IpAddr) -> Self {
        for place in [&mut self.sbi, &mut self.n32c, &mut self.n32f, &mut self.admin] {
            place.set_ip(host);
        }
        self
    }
}

/// A configuration, and the process that runs it, if any.
pub struct Sepp {
    program: &'static str,
    /// Where it listens.
    pub places: Places,
    process: Option<Process>,
    /// Its files. Removed after the process is killed.
    pub directory: Directory,
}

impl Sepp {
    /// Creates one that will listen there. It has no file yet, and nothing runs.
    pub fn new(program: &'static str, places: Places) -> Self {
        Self { program, places, process: None, directory: Directory::new() }
    }

    /// Writes its configuration as this operator's, with these sections.
    pub fn configure(&self, operator: OperatorIdentity, sections: &str) {
        let Places { sbi, n32c, n32f, admin } = self.places;
        let text = format!(
            "[process]\nadmin = \"{admin}\"\nlog = \"json\"\ndrain = \"10s\"\nthreads = 1\n\
             {}{sections}",
            operator.own("sepp.pem", [sbi, n32c, n32f])
        );
        self.directory.write("sepp.toml", text);
    }

    /// Starts it, and waits until it listens. Peers may be absent.
    #[track_caller]
    pub fn start(&mut self) {
        let file = self.directory.path("sepp.toml");
        let words = ["run", &file];
        let process =
            Process::start_compiled("tessera sepp", self.program, Network::Loopback, words);
        process.listens_on(self.places.admin.port());
        process.listens_on(self.places.n32f.port());
        self.process = Some(process);
    }

    /// Runs `tessera sepp check` on its configuration: returns whether it could run, and the output.
    #[track_caller]
    pub fn check(&self) -> (bool, String) {
        let file = self.directory.path("sepp.toml");
        let words = ["check", &file];
        let mut process =
            Process::start_compiled("tessera sepp check", self.program, Network::None, words);
        (process.end_input().ends(), process.output())
    }

    /// Returns the process that runs, or that ran last.
    #[track_caller]
    pub fn process(&self) -> &Process {
        self.process.as_ref().expect("it was started")
    }

    /// Kills it (SIGKILL).
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Sends SIGTERM, and waits for the end.
    #[track_caller]
    pub fn end(&mut self) -> ExitStatus {
        let process = self.process.as_mut().expect("it was started");
        process.terminate();
        process.status_within(PATIENCE)
    }

    /// Reloads its files (SIGHUP), and waits until it has.
    #[track_caller]
    pub fn reload(&self) {
        let count = || self.metric("sepp_reload_total", &[r#"result="ok""#]);
        let before = count();
        self.process().hang_up();
        self.process().wait_for("to reload", PATIENCE, || (count() > before).then_some(()));
    }

    /// Makes one request to its admin listener; returns the whole answer.
    pub fn admin(&self, method: &str, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(self.places.admin).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let head = "Host: localhost\r\nContent-Length: 0\r\nConnection: close";
        write!(stream, "{method} {path} HTTP/1.1\r\n{head}\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    /// Whether `/peers` reports this state of the peer: `established`, `terminated`.
    pub fn is(&self, peer: &str, state: &str) -> bool {
        let answer = self.admin("GET", &format!("/peers/{peer}"));
        answer.is_some_and(|answer| answer.contains(&format!("\"state\": \"{state}\"")))
    }

    /// Waits until `/peers` reports this state of the peer.
    #[track_caller]
    pub fn becomes(&self, peer: &str, state: &str) {
        let what = format!("{peer} to be {state}");
        self.process().wait_for(&what, 2 * PATIENCE, || self.is(peer, state).then_some(()));
    }

    /// Returns the sum of all series of this metric that have these labels, as they are exposed: `result="ok"`.
    #[track_caller]
    pub fn metric(&self, name: &str, labels: &[&str]) -> u64 {
        let all = self.admin("GET", "/metrics").expect("it answers on its admin listener");
        let series = all.lines().filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let (is, of) = series.split_once('{').unwrap_or((series, ""));
            let has = |label: &&str| of.split([',', '}']).any(|one| one == *label);
            (is == name && labels.iter().all(has)).then_some(value)
        });
        series.map(|value| value.parse::<f64>().unwrap()).sum::<f64>() as u64
    }

    /// Waits until that sum is at least this.
    #[track_caller]
    pub fn counts(&self, name: &str, labels: &[&str], at_least: u64) {
        wait_until(&format!("{at_least} of {name} with {labels:?}"), || {
            (self.metric(name, labels) >= at_least).then_some(())
        });
    }

    /// Returns how many handshakes of peers that came were complete in this mode: `a` full, `c` resumed, `e` with early
    /// data.
    #[track_caller]
    pub fn handshakes(&self, mode: &str) -> u64 {
        let mode = format!("mode=\"{mode}\"");
        self.metric("sepp_tls_handshakes_total", &[&mode, r#"result="ok""#])
    }

    /// Returns how many first flights of peers it took.
    #[track_caller]
    pub fn accepted_early(&self) -> u64 {
        self.metric("sepp_early_data_total", &[r#"result="accepted""#])
    }
}
