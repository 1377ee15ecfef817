//! `tessera tunnel run` as a process that tests start, kill, replace and query.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use tessera_link::{End, Link};
use tessera_test_peers::{Clock, Directory, PATIENCE, Process, spawn};

use crate::{CLIENT_NAME, Pki, SERVER_NAME, free_address};

/// The name by which a section listens on the socket that [`Tunnels::start_with_socket`] hands over.
pub const SOCKET: &str = "systemd:handed-over";

/// The network that a process runs in.
#[derive(Clone, Default)]
pub enum Place {
    /// In that of the test.
    #[default]
    Here,
    /// At an end of an emulated link.
    At(Arc<Link>, End),
}

impl Place {
    /// Runs a job there, and waits for it. Sockets stay where they were made.
    #[track_caller]
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        match self {
            Self::Here => job(),
            Self::At(link, end) => link.spawn_thread(*end, job).unwrap().join().unwrap(),
        }
    }

    fn spawn(&self, command: Command) -> io::Result<Child> {
        match self {
            Self::Here => spawn(command),
            Self::At(link, end) => link.spawn(*end, command),
        }
    }
}

/// A configuration, and the process that runs it, if any.
pub struct Tunnels {
    program: &'static str,
    admin: SocketAddr,
    process: Option<Process>,
    // Both are removed after the process is killed.
    place: Place,
    directory: Directory,
}

impl Tunnels {
    /// Creates tunnels from these sections, for this program. Paths are relative to their own directory. Nothing runs
    /// yet.
    pub fn new(program: &'static str, sections: &str) -> Self {
        Self::new_at(Place::Here, program, sections)
    }

    /// The same in another network.
    pub fn new_at(place: Place, program: &'static str, sections: &str) -> Self {
        let (admin, directory) = (free_address(), Directory::new());
        let tunnels = Self { program, admin, place, process: None, directory };
        tunnels.rewrite(sections);
        tunnels
    }

    /// The same, running and ready.
    #[track_caller]
    pub fn run(program: &'static str, sections: &str) -> Self {
        let mut tunnels = Self::new(program, sections);
        tunnels.start();
        tunnels
    }

    /// Replaces the sections, for the next start or reload.
    pub fn rewrite(&self, sections: &str) {
        let process =
            format!("[process]\nadmin = \"{}\"\nlog = \"json\"\ndrain = \"10s\"\n", self.admin);
        self.directory.write("tunnels.toml", process + sections);
    }

    /// Its directory.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Starts it, and waits until it is ready.
    #[track_caller]
    pub fn start(&mut self) {
        self.launch(&[], None);
        self.is_ready();
    }

    /// The same, with a clock that may be wrong.
    #[track_caller]
    pub fn start_with_clock(&mut self, clock: &Clock) {
        self.launch(&clock.words().each_ref().map(String::as_str), None);
        clock.serves(self.process().id());
        self.is_ready();
    }

    /// The same, with at most this many open files.
    #[track_caller]
    pub fn start_with_files(&mut self, files: usize) {
        self.launch(&["prlimit", &format!("--nofile={files}:{files}")], None);
        self.is_ready();
    }

    /// The same, with no file larger than this many blocks of 512 bytes, which behaves like a full disk.
    #[track_caller]
    pub fn start_with_file_size(&mut self, blocks: usize) {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        self.launch(&["sh", "-c", &script, "sh"], None);
        self.is_ready();
    }

    /// The same, with a listening socket ([`SOCKET`]) that a service manager would hand over.
    #[track_caller]
    pub fn start_with_socket(&mut self, socket: &TcpListener) {
        // The shell moves the socket to its descriptor, and becomes the program.
        let script = "exec 3<&0 0</dev/null; export LISTEN_FDS=1 LISTEN_PID=$$ \
                      LISTEN_FDNAMES=handed-over; exec \"$@\"";
        self.launch(&["sh", "-c", script, "sh"], Some(socket.try_clone().unwrap()));
        self.is_ready();
    }

    /// Starts it although it can't run; returns its exit status.
    #[track_caller]
    pub fn fails(&mut self) -> Option<i32> {
        self.launch(&[], None);
        self.process.as_mut().unwrap().status_within(PATIENCE).code()
    }

    #[track_caller]
    fn launch(&mut self, before: &[&str], input: Option<TcpListener>) {
        assert!(self.process.as_ref().is_none_or(|process| !process.is_alive()), "it runs");
        let file = self.directory.path("tunnels.toml");
        let words = [before, &[self.program, &file]].concat();
        let place = &self.place;
        let process = Process::start_compiled_by(
            |mut command| {
                if let Some(socket) = input {
                    command.stdin(Stdio::from(OwnedFd::from(socket)));
                }
                place.spawn(command)
            },
            "tessera tunnel",
            words[0],
            &words[1..],
        );
        self.process = Some(process);
    }

    #[track_caller]
    fn is_ready(&self) {
        self.process().wait_for("to be ready", PATIENCE, || {
            assert!(self.process().is_alive(), "it ended:\n{}", self.process().output());
            let answer = self.get("/readyz")?;
            answer.starts_with("HTTP/1.1 200").then_some(())
        });
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

    /// Ends it, and waits until it has exited.
    #[track_caller]
    pub fn end(&mut self) -> ExitStatus {
        let process = self.process.as_mut().expect("it was started");
        process.terminate();
        process.status_within(PATIENCE)
    }

    /// Makes one request to its admin listener; returns the whole answer.
    fn get(&self, path: &'static str) -> Option<String> {
        let admin = self.admin;
        self.place.run(move || {
            let mut stream = TcpStream::connect(admin).ok()?;
            stream.set_read_timeout(Some(PATIENCE)).ok()?;
            let head = "Host: localhost\r\nConnection: close";
            write!(stream, "GET {path} HTTP/1.1\r\n{head}\r\n\r\n").ok()?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).ok()?;
            Some(answer)
        })
    }

    /// Returns the sum of all series of this metric that have these labels, written as they are exposed:
    /// `outcome="cut"`.
    #[track_caller]
    pub fn metric(&self, name: &str, labels: &[&str]) -> u64 {
        let all = self.get("/metrics").expect("it answers on its admin listener");
        let series = all.lines().filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let (is, of) = series.split_once('{').unwrap_or((series, ""));
            let has = |label: &&str| of.split([',', '}']).any(|one| one == *label);
            (is == name && labels.iter().all(has)).then_some(value)
        });
        let values: Vec<f64> = series.map(|value| value.parse().unwrap()).collect();
        assert!(!values.is_empty(), "there is no {name} with {labels:?} in\n{all}");
        values.iter().sum::<f64>() as u64
    }

    /// Waits until that sum is at least this.
    #[track_caller]
    pub fn counts(&self, name: &str, labels: &[&str], at_least: u64) {
        let what = format!("to count {at_least} of {name} with {labels:?}");
        self.process()
            .wait_for(&what, PATIENCE, || (self.metric(name, labels) >= at_least).then_some(()));
    }
}

/// Returns a server end's section `[server.NAME]` with mutual certificates, and these further lines. Sub-tables come
/// last.
pub fn server_section(pki: &Pki, name: &str, listen: &str, to: SocketAddr, more: &str) -> String {
    format!(
        "[server.{name}]\nlisten = \"{listen}\"\nforward = \"{to}\"\n{}peers.ca = \"{}\"\n\
         peers.names = [\"{CLIENT_NAME}\"]\n{more}\n",
        identity(&pki.server.certificate, &pki.server.key),
        pki.ca
    )
}

/// Returns a client end's section `[client.NAME]`, like [`server_section`].
pub fn client_section(pki: &Pki, name: &str, listen: &str, to: SocketAddr, more: &str) -> String {
    format!(
        "[client.{name}]\nlisten = \"{listen}\"\nconnect = \"{to}\"\nserver-name = \"{SERVER_NAME}\"\n\
         {}peers.ca = \"{}\"\n{more}\n",
        identity(&pki.client.certificate, &pki.client.key),
        pki.ca
    )
}

fn identity(certificate: &str, key: &str) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "certificate = \"{certificate}\"\nkey = \"{key}\"");
    text
}
