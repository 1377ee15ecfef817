//! The endpoints' processes, seen from the lab.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tessera_link::{End, Link};

use crate::endpoint;
use crate::error::LabError;

/// How long an answer may take: longer than an endpoint waits for its peer, so that the endpoint can report the error
/// itself.
const PATIENCE: Duration = Duration::from_secs(90);

/// Returns this program.
pub(crate) fn this_program() -> Command {
    // Not by its path: the program's file may be replaced while it runs.
    Command::new("/proc/self/exe")
}

/// An endpoint's process, which is killed when this value is dropped.
pub(crate) struct Process {
    name: &'static str,
    child: Child,
    /// Until it is to end.
    orders: Option<ChildStdin>,
    answers: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
}

impl Process {
    /// Starts this program again as one end of the link.
    pub(crate) fn start(link: &Link, end: End) -> Result<Self, LabError> {
        Self::start_as(endpoint::name(end), link, end)
    }

    /// As [`Process::start`], under another name.
    pub(crate) fn start_as(name: &'static str, link: &Link, end: End) -> Result<Self, LabError> {
        Self::start_program(name, endpoint::ARGUMENTS, link, end)
    }

    /// Starts this program again with other arguments, followed by the name of its end.
    pub(crate) fn start_program(
        name: &'static str,
        arguments: [&str; 2],
        link: &Link,
        end: End,
    ) -> Result<Self, LabError> {
        let mut command = this_program();
        command.args(arguments).arg(endpoint::name(end));
        Self::start_command(name, command, link, end)
    }

    /// Starts a program.
    pub(crate) fn start_command(
        name: &'static str,
        mut command: Command,
        link: &Link,
        end: End,
    ) -> Result<Self, LabError> {
        let failed = || LabError::system(format!("starting the {name}'s process"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = link.spawn(end, command).map_err(failed())?;
        let (Some(orders), Some(stdout), Some(mut stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed()(io::Error::other("it has no pipes")));
        };
        let (give, answers) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(io::Result::ok) {
                if give.send(line).is_err() {
                    break;
                }
            }
        });
        let stderr = thread::spawn(move || {
            let mut text = Vec::new();
            // If reading fails, the text so far must do.
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).trim_end().to_owned()
        });
        Ok(Self { name, child, orders: Some(orders), answers, stderr: Some(stderr) })
    }

    /// Sends an order.
    pub(crate) fn tell(&mut self, order: &impl Serialize) -> Result<(), LabError> {
        let written = serde_json::to_vec(order).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            let orders = self.orders.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            orders.write_all(&line)
        });
        written.map_err(|error| self.died(&format!("it accepts no commands ({error})")))
    }

    /// Waits for an answer.
    pub(crate) fn hear<A: DeserializeOwned>(&mut self) -> Result<A, LabError> {
        self.hear_within(PATIENCE)
    }

    /// Waits for an answer, for a limited time.
    pub(crate) fn hear_within<A: DeserializeOwned>(
        &mut self,
        patience: Duration,
    ) -> Result<A, LabError> {
        let answer = self.hear_any(patience)?;
        answer.ok_or_else(|| self.failed("it does not answer".to_owned()))
    }

    /// The same, if there is an answer.
    pub(crate) fn hear_any<A: DeserializeOwned>(
        &mut self,
        patience: Duration,
    ) -> Result<Option<A>, LabError> {
        match self.answers.recv_timeout(patience) {
            Ok(line) => serde_json::from_str(&line)
                .map(Some)
                .map_err(|error| self.failed(format!("its answer is malformed ({error})"))),
            Err(RecvTimeoutError::Disconnected) => Err(self.died("it ended")),
            Err(RecvTimeoutError::Timeout) => Ok(None),
        }
    }

    /// Ends its standard input.
    pub(crate) fn end_orders(&mut self) {
        self.orders = None;
    }

    /// Ends the process at once.
    pub(crate) fn kill(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Stops the process: its kernel still receives, and the process doesn't answer until it continues.
    pub(crate) fn stop(&mut self) -> Result<(), LabError> {
        let pid = self.signal(Signal::SIGSTOP)?;
        // After the signal, some threads may run on for a while.
        match waitpid(pid, Some(WaitPidFlag::WUNTRACED)) {
            Ok(WaitStatus::Stopped(..)) => Ok(()),
            Ok(_) => Err(self.died("it ended")),
            Err(error) => Err(self.failed(format!("it does not stop ({error})"))),
        }
    }

    /// Has it go on.
    pub(crate) fn go_on(&self) -> Result<(), LabError> {
        self.signal(Signal::SIGCONT).map(drop)
    }

    fn signal(&self, signal: Signal) -> Result<Pid, LabError> {
        let pid = i32::try_from(self.child.id()).map(Pid::from_raw).map_err(io::Error::other);
        let sent = pid.and_then(|pid| Ok(kill(pid, signal).map(|()| pid)?));
        sent.map_err(LabError::system(format!("sending {signal} to the {}'s process", self.name)))
    }

    /// Returns the error that the process is running but unusable.
    pub(crate) fn failed(&self, what: String) -> LabError {
        LabError::Endpoint { name: self.name, what, stderr: String::new() }
    }

    /// Returns the error that the process has died, with its last output.
    fn died(&mut self, what: &str) -> LabError {
        // It ends by itself now if it has not; if killing fails there is nothing else to do.
        let _ = self.child.kill();
        let status = match self.child.wait() {
            Ok(status) => format!("{what}: {status}"),
            Err(_) => what.to_owned(),
        };
        let stderr = self.stderr.take().and_then(|stderr| stderr.join().ok()).unwrap_or_default();
        LabError::Endpoint { name: self.name, what: status, stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
