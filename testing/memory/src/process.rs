//! The attacked processes.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tessera_adversary::process_memory::{ProcessMemory, Snapshot};

use crate::Error;
use crate::pki::SERVER_NAME;
use crate::way::{Carrier, Way};

/// A process, killed when this value is dropped.
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts a server with four workers, and waits until it listens: its first line has the address, as JSON.
    pub fn server(mut command: Command) -> Result<(Self, SocketAddr), Error> {
        command.env("TOKIO_WORKER_THREADS", WORKERS);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = spawn(command)?;
        let stdout = child.stdout.take();
        let process = Self { child };
        let mut stdout = BufReader::new(stdout.ok_or("no standard output")?);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let told: Value =
            serde_json::from_str(&line).map_err(|error| format!("the server: {error}: {line}"))?;
        let address = told["address"].as_str().ok_or("the server reports no address")?.parse()?;
        // A full pipe would burden the server.
        thread::spawn(move || stdout.read_to_end(&mut Vec::new()));
        Ok((process, address))
    }

    /// Starts a client with four workers.
    pub fn client(mut command: Command) -> Result<Self, Error> {
        command.env("TOKIO_WORKER_THREADS", WORKERS);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(Self { child: spawn(command)? })
    }

    /// Waits until it reports that its connections have ended.
    pub fn ended(&mut self) -> Result<(), Error> {
        let stdout = self.child.stdout.as_mut().ok_or("no standard output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        if line == "ended\n" { Ok(()) } else { Err(format!("the client printed {line:?}").into()) }
    }

    /// Reads its memory, while it is stopped.
    pub fn read(&self) -> Result<Snapshot, Error> {
        let number = self.child.id();
        let forbidden = |error| {
            format!("the memory of process {number} can't be read: {error}; run this as root")
        };
        let mut memory = ProcessMemory::open(number).map_err(forbidden)?;
        let pid = Pid::from_raw(i32::try_from(number)?);
        kill(pid, Signal::SIGSTOP)?;
        let still = wait_for_all_threads(number);
        let snapshot = memory.read();
        kill(pid, Signal::SIGCONT)?;
        still?;
        Ok(snapshot.map_err(forbidden)?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Each thread stops separately: one that hasn't stopped yet has no readable stack pointer.
fn wait_for_all_threads(process: u32) -> Result<(), Error> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let threads = fs::read_dir(format!("/proc/{process}/task"))?.flatten();
        let stats = threads.map(|thread| fs::read_to_string(thread.path().join("stat")));
        // The state follows the name, which is in parentheses. A thread that has ended has none.
        let is_still =
            |stat: &String| stat.rsplit(") ").next().is_some_and(|it| it.starts_with(['T', 't']));
        if stats.flatten().all(|stat| is_still(&stat)) {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("process {process} doesn't stand still").into());
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn spawn(mut command: Command) -> Result<Child, Error> {
    let program = command.get_program().to_owned();
    command.spawn().map_err(|error| format!("{}: {error}", program.display()).into())
}

/// `tessera serve` in this way.
pub fn serve(program: &Path, way: Way, directory: &Path) -> Command {
    let mut command = Command::new(program);
    let path = |name: &str| directory.join(name);
    command.args(["serve", "--listen", "127.0.0.1:0", "--json", "-", "--groups", &groups(way)]);
    let own = if way.has_kems() { "server-kem" } else { "server" };
    command.arg("--certificate").arg(path(&format!("{own}.pem")));
    command.arg("--key").arg(path(&format!("{own}.key")));
    if way.has_kems() {
        command.arg("--kem-auth");
    }
    if way == Way::KnownKey {
        command.arg("--known-key").arg(path("server-kem.key"));
    }
    if way.is_mutual() {
        command.arg("--require-client-certificate").arg("--ca").arg(path("root.pem"));
    }
    if way.has_early_data() {
        command.arg("--forward-secret-early-data");
    }
    if way == Way::FsHttp {
        command.arg("--http");
    }
    if way.carrier() == Carrier::Datagrams {
        command.arg("--udp");
    }
    command
}

/// `tessera connect` in this way, this often.
pub fn connect(
    program: &Path,
    way: Way,
    mode: &str,
    server: SocketAddr,
    directory: &Path,
    [count, parallel]: [usize; 2],
) -> Command {
    let mut command = Command::new(program);
    let (count, parallel) = (count.to_string(), parallel.to_string());
    command.args(["connect", &server.to_string(), "--server-name", SERVER_NAME, "--quiet"]);
    command.args(["--count", &count, "--parallel", &parallel, "--tickets", &parallel]);
    command.args(["--mode", mode, "--groups", &groups(way)]);
    command.arg("--ca").arg(directory.join("root.pem"));
    if way.has_kems() {
        command.arg("--kem-auth");
    }
    if way == Way::KnownKey {
        command.arg("--known-key").arg(directory.join("server-kem.pem"));
    }
    command
}

/// Returns the command of an end in this test's program.
pub fn own(end: &str, way: Way, directory: &Path) -> Result<Command, Error> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([end, &way.to_string()]).arg(directory);
    Ok(command)
}

fn groups(way: Way) -> String {
    let groups: Vec<_> = way.groups().iter().map(|group| format!("{group:?}")).collect();
    groups.join(",")
}

/// As many threads as serve connections.
const WORKERS: &str = "4";
