//! A SEPP as a process: starts it, reads its metrics, reloads it.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use tessera_link::{End, Link};

use crate::error::LabError;

/// A SEPP's process, which is killed when this value is dropped.
pub(super) struct SeppProcess {
    name: &'static str,
    child: Child,
    pid: Pid,
    /// A Unix socket.
    admin: PathBuf,
    log: Arc<Mutex<VecDeque<String>>>,
}

/// Checks that this program is a SEPP too.
///
/// # Errors
/// [`LabError::Options`] if it isn't.
pub(super) fn check_program() -> Result<(), LabError> {
    let mut command = program();
    command.args(["run", "--help"]).stdin(Stdio::null());
    let output = command.output().map_err(LabError::system("starting this program again"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(LabError::Options(
            "connections of SEPPs need `tessera sepp`, and this program was built without it: \
             build it with the feature `sepp`"
                .to_owned(),
        )),
    }
}

fn program() -> Command {
    // Not by its path: the program's file may be replaced while it runs.
    let mut command = Command::new("/proc/self/exe");
    command.arg("sepp");
    command
}

impl SeppProcess {
    /// Runs the SEPP of a file at one end of the link. Its admin listener is this Unix socket.
    pub(super) fn start(
        name: &'static str,
        link: &Link,
        end: End,
        file: &Path,
        admin: PathBuf,
    ) -> Result<Self, LabError> {
        let failed = || LabError::system(format!("starting the {name}'s process"));
        let mut command = program();
        command.arg("run").arg(file);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = link.spawn(end, command).map_err(failed())?;
        let log = Arc::new(Mutex::new(VecDeque::new()));
        let outputs: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|stdout| Box::new(stdout) as _),
            child.stderr.take().map(|stderr| Box::new(stderr) as _),
        ];
        outputs.into_iter().flatten().for_each(|output| keep_last(output, log.clone()));
        let pid = i32::try_from(child.id()).map_err(io::Error::other).map_err(failed())?;
        Ok(Self { name, child, pid: Pid::from_raw(pid), admin, log })
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Waits until it listens.
    pub(super) fn listens(&mut self) -> Result<(), LabError> {
        self.until("it does not listen", |sepp| Ok(sepp.admin("/healthz").is_ok()))
    }

    /// Waits until it has an association with its only peer.
    pub(super) fn is_associated(&mut self) -> Result<(), LabError> {
        self.until("it agrees on nothing with its peer", |sepp| {
            Ok(sepp.admin("/peers").is_ok_and(|peers| peers.contains(r#""state": "established""#)))
        })
    }

    /// Reloads its configuration, and waits until it has.
    pub(super) fn reload(&mut self) -> Result<(), LabError> {
        let done = |counts: &Counts| counts.of("sepp_reload_total", &[("result", "ok")]);
        let failed = |counts: &Counts| counts.of("sepp_reload_total", &[("result", "failed")]);
        let before = self.counts()?;
        kill(self.pid, Signal::SIGHUP).map_err(|errno| {
            LabError::system(format!("asking the {} to reload", self.name))(errno.into())
        })?;
        self.until("it does not reload", |sepp| {
            let now = sepp.counts()?;
            match failed(&now) > failed(&before) {
                true => Err(sepp.failed("it refuses its own file".to_owned())),
                false => Ok(done(&now) > done(&before)),
            }
        })
    }

    /// Returns its present counts.
    pub(super) fn counts(&self) -> Result<Counts, LabError> {
        let text = self.admin("/metrics");
        text.map(Counts).map_err(|error| self.failed(format!("it reports no metrics ({error})")))
    }

    /// Waits until a condition holds.
    pub(super) fn until(
        &mut self,
        otherwise: &str,
        is: impl Fn(&Self) -> Result<bool, LabError>,
    ) -> Result<(), LabError> {
        let began = Instant::now();
        while !is(self)? {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(self.failed(format!("it ended: {status}")));
            }
            if began.elapsed() > PATIENCE {
                return Err(self.failed(otherwise.to_owned()));
            }
            thread::sleep(BETWEEN_LOOKS);
        }
        Ok(())
    }

    /// Returns the processor time that it has used, with the kernel's work for it.
    pub(super) fn processor_time(&self) -> Result<Duration, LabError> {
        let clock = ClockId::pid_cpu_clock_id(self.pid).and_then(clock_gettime);
        let failed = LabError::system(format!("reading the processor time of the {}", self.name));
        Ok(clock.map_err(io::Error::from).map_err(failed)?.into())
    }

    /// Its resident memory, in bytes.
    pub(super) fn resident(&self) -> Result<u64, LabError> {
        let path = format!("/proc/{}/status", self.pid);
        let status = fs::read_to_string(&path).map_err(LabError::system(&path))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kilobytes
            .map(|kilobytes| kilobytes * 1024)
            .ok_or_else(|| self.failed(format!("{path} doesn't report its memory")))
    }

    /// Returns the error that the process is unusable, with the last lines of its log.
    pub(super) fn failed(&self, what: String) -> LabError {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let stderr = log.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        LabError::Endpoint { name: self.name, what, stderr }
    }

    /// Returns the response of its admin listener to a request, head and body.
    fn admin(&self, path: &str) -> io::Result<String> {
        let mut stream = UnixStream::connect(&self.admin)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for SeppProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A SEPP's counts, as exposed by its metrics.
pub(super) struct Counts(String);

impl Counts {
    /// Returns the sum of the series of this metric that have all these labels.
    pub(super) fn of(&self, metric: &str, labels: &[(&str, &str)]) -> u64 {
        let series = self.0.lines().filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let (name, of) = series.split_once('{')?;
            let mut of = of.trim_end_matches('}').split(',');
            let of: Vec<_> = of.by_ref().filter_map(|label| label.split_once('=')).collect();
            let has = |&(key, value): &(&str, &str)| {
                of.iter().any(|(name, is)| *name == key && is.trim_matches('"') == value)
            };
            (name == metric && labels.iter().all(has)).then(|| value.parse::<u64>().ok())?
        });
        series.sum()
    }
}

/// Reads on, so that the process never blocks, and keeps the last lines.
fn keep_last(output: impl Read + Send + 'static, log: Arc<Mutex<VecDeque<String>>>) {
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(io::Result::ok) {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            if log.len() == KEPT_LINES {
                log.pop_front();
            }
            log.push_back(line);
        }
    });
}

const KEPT_LINES: usize = 20;

/// How long anything may take that should come at once: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(30);

const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_summed_by_labels() {
        let counts = Counts(
            "# HELP a x\na_total{x=\"1\",y=\"q\"} 2\na_total{x=\"2\",y=\"r\"} 3\na_other{} 9\n"
                .to_owned(),
        );
        assert_eq!(counts.of("a_total", &[]), 5);
        assert_eq!(counts.of("a_total", &[("x", "2")]), 3);
        assert_eq!(counts.of("a_total", &[("x", "2"), ("y", "q")]), 0);
        assert_eq!(counts.of("a_other", &[]), 9);
        assert_eq!(counts.of("a", &[]), 0);
    }
}
