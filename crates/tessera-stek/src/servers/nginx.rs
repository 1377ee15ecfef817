//! nginx: its key files, and a reload of its master process.
//!
//! `ssl_session_ticket_key` names one file after the other; the first seals, all open. nginx reads them when it starts and
//! when it reloads. One reload a rotation suffices: the next key is among the files a whole rotation before it seals.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tessera_ring::{InstallRefused, Installation, Installer, RingKeys};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use super::{CHECK_EVERY, key_file};
use crate::keys::{Fillers, ServerKey, ServerKeys};

/// The keys of the virtual hosts of an nginx that share key files.
pub struct Nginx {
    /// The file with the process id of the master (`pid`).
    pub pid_file: PathBuf,
    /// The files of `ssl_session_ticket_key`, in the order of the configuration: at least three. With fewer than the ring
    /// has keys, the oldest keys are left out, and their tickets cost full handshakes.
    pub files: Vec<PathBuf>,
    /// The keys of its domain.
    pub keys: ServerKeys,
    state: Mutex<NginxState>,
}

#[derive(Default)]
struct NginxState {
    fillers: Fillers,
    /// What the master loaded last, if it still runs.
    loaded: Option<(Process, Vec<ServerKey>)>,
}

/// How long a reload may take: nginx reads certificates and lists first.
const RELOAD: Duration = Duration::from_secs(15);

/// How often to look for the new workers.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A process, with its start, since ids are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    pid: i32,
    /// In clock ticks since the boot.
    started: u64,
}

impl Nginx {
    /// Creates the installer.
    #[must_use]
    pub fn new(pid_file: PathBuf, files: Vec<PathBuf>, keys: ServerKeys) -> Self {
        Self { pid_file, files, keys, state: Mutex::default() }
    }

    async fn follow(&self, ring: &RingKeys) -> Result<(), InstallRefused> {
        let mut state = self.state.lock().await;
        let wanted = self.wanted(ring, &mut state)?;
        // First the files: an nginx that isn't running reads them when it starts.
        for (path, key) in self.files.iter().zip(&wanted) {
            key_file::replace(path, key).map_err(|error| {
                InstallRefused(format!(
                    "the ticket key {} can't be written: {error}",
                    path.display()
                ))
            })?;
        }
        let master = self.master()?;
        let is_loaded =
            |(loaded, keys): &(Process, Vec<ServerKey>)| *loaded == master && *keys == wanted;
        if state.loaded.as_ref().is_some_and(is_loaded) {
            return Ok(());
        }
        state.loaded = None;
        let before = workers(master);
        kill(Pid::from_raw(master.pid), Signal::SIGHUP).map_err(|error| {
            InstallRefused(format!(
                "nginx (process {}) can't be signalled to reload: {error}; run the sidecar as root, or as its user",
                master.pid
            ))
        })?;
        self.wait_for_workers(master, &before).await?;
        state.loaded = Some((master, wanted));
        Ok(())
    }

    /// Returns the contents of the files, in their order.
    fn wanted(
        &self,
        ring: &RingKeys,
        state: &mut NginxState,
    ) -> Result<Vec<ServerKey>, InstallRefused> {
        let keys = self.keys.derive(ring, &mut state.fillers)?;
        let mut wanted: Vec<_> = keys.in_order().take(self.files.len()).cloned().collect();
        let missing = self.files.len() - wanted.len();
        wanted.extend_from_slice(self.keys.fill(&mut state.fillers, missing)?);
        Ok(wanted)
    }

    fn master(&self) -> Result<Process, InstallRefused> {
        let path = self.pid_file.display();
        let text = read_short(&self.pid_file).map_err(|error| {
            InstallRefused(format!(
                "nginx's process id in {path} can't be read: {error}; check that nginx runs"
            ))
        })?;
        let pid = text.trim().parse().ok().filter(|pid| *pid > 1);
        let process = pid.and_then(Process::of);
        let process = process.filter(|process| command_line(process.pid).contains("nginx: master"));
        process.ok_or_else(|| {
            InstallRefused(format!(
                "{path} doesn't name a running master of nginx; check that nginx runs"
            ))
        })
    }

    /// Waits until the master has new workers: they have the files that were there when it was signalled.
    async fn wait_for_workers(
        &self,
        master: Process,
        before: &[Process],
    ) -> Result<(), InstallRefused> {
        let deadline = Instant::now() + RELOAD;
        while Instant::now() < deadline {
            sleep(LOOK_EVERY).await;
            let current = workers(master);
            let serving: Vec<_> = current.iter().filter(|worker| !worker.is_leaving()).collect();
            if !serving.is_empty() && serving.iter().all(|worker| !before.contains(worker)) {
                let leaving = current.iter().filter(|worker| worker.is_leaving());
                let leaving: Vec<_> = leaving.map(|worker| worker.pid).collect();
                if !leaving.is_empty() {
                    tracing::info!(
                        ?leaving,
                        "workers of nginx with the earlier ticket keys finish their connections"
                    );
                }
                return Ok(());
            }
            if Process::of(master.pid) != Some(master) {
                return Err(InstallRefused("nginx ended during its reload".into()));
            }
        }
        Err(InstallRefused(format!(
            "nginx (process {}) started no new workers within {} s: its log has the reason, and `nginx -t` tests its \
             configuration",
            master.pid,
            RELOAD.as_secs()
        )))
    }
}

impl Installer for Nginx {
    fn install<'a>(&'a self, keys: &'a RingKeys) -> Installation<'a> {
        Box::pin(self.follow(keys))
    }

    fn check_every(&self) -> Option<Duration> {
        Some(CHECK_EVERY)
    }
}

impl Process {
    fn of(pid: i32) -> Option<Self> {
        let started = stat(Path::new("/proc").join(pid.to_string()).as_path())?.started;
        Some(Self { pid, started })
    }

    /// Whether it only finishes its connections.
    fn is_leaving(&self) -> bool {
        command_line(self.pid).contains("is shutting down")
    }
}

/// Returns the worker processes of a master.
fn workers(master: Process) -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let children = entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let Stat { parent, started } = stat(&entry.path())?;
        let is_worker = parent == master.pid && command_line(pid).contains("nginx: worker");
        is_worker.then_some(Process { pid, started })
    });
    children.collect()
}

/// What `/proc/PID/stat` has: proc_pid_stat(5).
struct Stat {
    parent: i32,
    started: u64,
}

fn stat(process: &Path) -> Option<Stat> {
    let text = fs::read_to_string(process.join("stat")).ok()?;
    // The second field is the name, in parentheses, which may contain anything.
    let (_, rest) = text.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    // Fields 4 and 22; `rest` begins with the third.
    Some(Stat { parent: fields.nth(1)?.parse().ok()?, started: fields.nth(17)?.parse().ok()? })
}

/// Reads the beginning of a regular file.
fn read_short(path: &Path) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut text = String::new();
    fs::File::open(path)?.take(64).read_to_string(&mut text)?;
    Ok(text)
}

/// Returns the command line, in which nginx writes what a process is.
fn command_line(pid: i32) -> String {
    match fs::read(format!("/proc/{pid}/cmdline")) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        // It has ended.
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_id_is_read_from_a_short_regular_file_alone() {
        let path = std::env::temp_dir().join(format!("tessera-pid-{}", std::process::id()));
        fs::write(&path, "42\n".to_owned() + &" ".repeat(1000)).unwrap();
        assert_eq!(read_short(&path).unwrap().len(), 64);
        fs::remove_file(&path).unwrap();
        for other in ["/dev/zero", "/tmp"] {
            assert!(read_short(Path::new(other)).is_err(), "{other}");
        }
    }

    #[test]
    fn a_process_is_known_by_its_start_too() {
        let own = i32::try_from(std::process::id()).unwrap();
        let process = Process::of(own).unwrap();
        assert!(process.started > 0);
        assert_eq!(Process::of(own), Some(process));
        let child = std::process::Command::new("sleep").arg("5").spawn();
        let mut child = child.unwrap();
        let found = stat(Path::new(&format!("/proc/{}", child.id()))).unwrap();
        assert_eq!(found.parent, own);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
