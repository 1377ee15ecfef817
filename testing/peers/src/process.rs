//! A running peer whose output is watched.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use crate::confinement::{Network, confined, spawn};
use crate::ports::is_listening;
use crate::{Directory, PATIENCE, Peer};

/// A running peer; killed, with its children, when it is dropped.
pub struct Process {
    program: &'static str,
    child: Child,
    /// It was waited for, so its number may be reused.
    ended: bool,
    input: Option<ChildStdin>,
    stdout: OutputReader,
    stderr: OutputReader,
    // Removed after the process is killed.
    directory: Directory,
}

impl Process {
    /// Starts a peer of the table. One that can't be started fails the test.
    #[track_caller]
    pub fn start(
        program: &str,
        network: Network,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Self {
        let (peer, path) = Peer::checked(program);
        let command = confined(&path, network);
        Self::launch(peer.program, command, arguments, spawn)
    }

    /// Starts a peer of the table elsewhere: `spawn` starts the command, for example in a network namespace. The peer
    /// is killed when the thread that starts it ends.
    #[track_caller]
    pub fn start_by(
        spawn: impl FnOnce(Command) -> io::Result<Child>,
        program: &str,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Self {
        let (peer, path) = Peer::checked(program);
        let command = confined(&path, Network::Loopback);
        Self::launch(peer.program, command, arguments, spawn)
    }

    /// Starts a program that the test compiled, with a library that is a peer. Errors call it `name`.
    #[track_caller]
    pub fn start_compiled(
        name: &'static str,
        path: &str,
        network: Network,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Self {
        Self::launch(name, confined(path.as_ref(), network), arguments, spawn)
    }

    /// The same, started elsewhere or with more than arguments: `spawn` starts the command, by [`crate::spawn`] by
    /// default. If it sets standard input, [`tell`](Self::tell) can't be used.
    #[track_caller]
    pub fn start_compiled_by(
        spawn: impl FnOnce(Command) -> io::Result<Child>,
        name: &'static str,
        path: &str,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Self {
        Self::launch(name, confined(path.as_ref(), Network::Loopback), arguments, spawn)
    }

    #[track_caller]
    fn launch(
        program: &'static str,
        mut command: Command,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        spawn: impl FnOnce(Command) -> io::Result<Child>,
    ) -> Self {
        let directory = Directory::new();
        command
            .args(arguments)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", directory.as_path())
            .env("TMPDIR", directory.as_path())
            .current_dir(directory.as_path())
            // Its children are in its group, and end with it.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child =
            spawn(command).unwrap_or_else(|error| panic!("{program} can't be started: {error}"));
        let stdout = OutputReader::new(child.stdout.take());
        let stderr = OutputReader::new(child.stderr.take());
        let input = child.stdin.take();
        Self { program, child, ended: false, input, stdout, stderr, directory }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its own directory.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Returns its output so far: standard output, then standard error.
    pub fn output(&self) -> String {
        self.stdout() + &self.stderr()
    }

    /// Returns its standard output so far.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// Returns its standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Waits until it has printed this text.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        self.says_times(text, 1)
    }

    /// Waits until it has printed this text this many times.
    #[track_caller]
    pub fn says_times(&self, text: &str, times: usize) -> &Self {
        let what = format!("to print {text:?} {times} time(s)");
        self.wait_for(&what, PATIENCE, || {
            (self.output().matches(text).count() >= times).then_some(())
        });
        self
    }

    /// Polls until there is an answer, or fails the test with the peer's output.
    #[track_caller]
    pub fn wait_for<T>(
        &self,
        what: &str,
        patience: Duration,
        mut ask: impl FnMut() -> Option<T>,
    ) -> T {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(answer) = ask() {
                return answer;
            }
            if Instant::now() >= deadline {
                panic!("{} was expected {what}, but wrote:\n{}", self.program, self.output());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until a program listens on this TCP port of its network. This makes no connection.
    #[track_caller]
    pub fn listens_on(&self, port: u16) -> &Self {
        self.wait_for(&format!("to listen on port {port}"), PATIENCE, || {
            (!self.is_alive() || is_listening(self.id(), port)).then_some(())
        });
        if !self.is_alive() {
            panic!("{} ended before it listened on port {port}:\n{}", self.program, self.output());
        }
        self
    }

    /// Writes to its input.
    pub fn tell(&mut self, text: &str) -> &mut Self {
        self.try_to_tell(text).expect("it reads its input");
        self
    }

    /// Writes to its input, unless it has already closed that.
    pub fn try_to_tell(&mut self, text: &str) -> io::Result<()> {
        let input = self.input.as_mut().expect("its input is open");
        input.write_all(text.as_bytes()).and_then(|()| input.flush())
    }

    /// Ends its input.
    pub fn end_input(&mut self) -> &mut Self {
        self.input = None;
        self
    }

    /// Waits for its end, and for the end of its output; reports whether it succeeded.
    #[track_caller]
    pub fn ends(&mut self) -> bool {
        self.ends_within(PATIENCE)
    }

    /// As [`ends`](Self::ends), with another deadline.
    #[track_caller]
    pub fn ends_within(&mut self, patience: Duration) -> bool {
        self.status_within(patience).success()
    }

    /// As [`ends_within`](Self::ends_within); returns its exit status.
    #[track_caller]
    pub fn status_within(&mut self, patience: Duration) -> ExitStatus {
        let deadline = Instant::now() + patience;
        while self.is_alive() {
            if Instant::now() >= deadline {
                panic!("{} was expected to end, but wrote:\n{}", self.program, self.output());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let status = self.end();
        // No process that it left behind holds its output open any more.
        self.stdout.end();
        self.stderr.end();
        status
    }

    /// Whether it still runs. This reaps nothing: its number stays the group's until the group is killed.
    pub fn is_alive(&self) -> bool {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        !self.ended && waitid(Id::Pid(self.pid()), flags) == Ok(WaitStatus::StillAlive)
    }

    fn end(&mut self) -> ExitStatus {
        if !self.ended {
            self.signal(Signal::SIGKILL);
            self.ended = true;
        }
        self.child.wait().expect("it is a child")
    }

    /// Stops it (SIGSTOP): its connections stay open, and it answers nothing.
    pub fn stop(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Resumes it after [`stop`](Self::stop).
    pub fn go_on(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        self.signal(Signal::SIGTERM);
    }

    /// Sends SIGINT, for a quick but orderly end, and waits a while for that.
    pub fn interrupt(&mut self) {
        self.signal(Signal::SIGINT);
        let deadline = Instant::now() + PATIENCE;
        while self.is_alive() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Reloads its files (SIGHUP).
    pub fn hang_up(&self) {
        self.signal(Signal::SIGHUP);
    }

    /// Kills it (SIGKILL), and waits for its end. Its directory stays.
    pub fn kill(&mut self) {
        self.end();
    }

    fn signal(&self, signal: Signal) {
        // It fails only if the whole group has ended.
        let _ = killpg(self.pid(), signal);
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// A stream of output that a thread reads until it ends.
struct OutputReader {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl OutputReader {
    fn new(stream: Option<impl Read + Send + 'static>) -> Self {
        let mut stream = stream.expect("it was asked for");
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let copy = bytes.clone();
        let reader = std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut part) {
                let mut bytes = copy.lock().unwrap_or_else(PoisonError::into_inner);
                bytes.extend_from_slice(&part[..count]);
            }
        });
        Self { bytes, reader: Some(reader) }
    }

    fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn end(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("reading does not panic");
        }
    }
}
