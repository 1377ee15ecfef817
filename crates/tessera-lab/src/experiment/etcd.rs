//! The program `etcd`, for servers that keep their one-time keys in it.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, io, process, thread};

use nix::unistd::Pid;
use tessera_link::{End, Link};

use super::orphans::Orphans;
use crate::error::words;

/// A single member of etcd. It ends, and its data is removed, when this value is dropped or this process ends.
pub(crate) struct Etcd {
    // Dropped before the process, whose number may be reused after it.
    _orphans: Orphans,
    member: Member,
    address: SocketAddr,
}

/// How long it may take until it listens.
const PATIENCE: Duration = Duration::from_secs(30);

/// The network it is in.
#[derive(Clone, Copy)]
pub(crate) enum Place<'l> {
    /// This process's own.
    Here,
    /// That of the server's end of a link, where only that end's processes can reach it.
    AtServer(&'l Link),
}

impl Etcd {
    /// Starts it, and waits until it listens.
    ///
    /// # Errors
    /// The error is a sentence that names what is missing.
    pub(crate) fn start(place: Place<'_>) -> Result<Self, String> {
        if !is_on_path("etcd") {
            return Err("the program `etcd` is not on PATH".to_owned());
        }
        let failed =
            |error: io::Error| format!("the program `etcd` can't be started: {}", words(&error));
        let [client, peer] = place.run(free_ports).map_err(failed)?;
        let directory = new_directory().map_err(|error| {
            format!("no directory for the data of `etcd` can be made: {}", words(&error))
        })?;
        let (client_url, peer_url) =
            (format!("http://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
        let mut command = Command::new("etcd");
        command
            .args(["--name", "lab", "--data-dir"])
            .arg(directory.join("member"))
            .args(["--listen-client-urls", &client_url, "--advertise-client-urls", &client_url])
            .args(["--listen-peer-urls", &peer_url])
            .args(["--initial-advertise-peer-urls", &peer_url])
            .args(["--initial-cluster", &format!("lab={peer_url}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = place.spawn(command).map_err(|error| {
            // It is empty.
            let _ = fs::remove_dir(&directory);
            failed(error)
        })?;
        // Ends it on failure.
        let member = Member { child, directory };
        let pid = i32::try_from(member.child.id()).map_err(|error| error.to_string())?;
        let _orphans = Orphans::watch(&[Pid::from_raw(pid)], &member.directory)
            .map_err(|error| format!("`sh` can't be started next to `etcd`: {}", words(&error)))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, client));
        let mut etcd = Self { _orphans, member, address };
        etcd.listens(place)?;
        Ok(etcd)
    }

    /// Returns where clients find it.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether it runs and accepts connections. It was started in this place.
    pub(crate) fn is_there(&mut self, place: Place<'_>) -> bool {
        self.member.ended().is_none() && self.reach(place).is_ok()
    }

    /// Waits until it accepts connections.
    fn listens(&mut self, place: Place<'_>) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            // Another program may answer there: then it is not this etcd.
            let reached = self.reach(place);
            if let Some(status) = self.member.ended() {
                return Err(format!(
                    "the program `etcd` ended as soon as it was started: {status}"
                ));
            }
            match reached {
                Ok(()) => return Ok(()),
                Err(error) if begun.elapsed() > PATIENCE => {
                    return Err(format!("the program `etcd` does not listen: {}", words(&error)));
                }
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    fn reach(&self, place: Place<'_>) -> io::Result<()> {
        let address = self.address;
        place.run(move || TcpStream::connect(address).map(drop))
    }
}

impl Place<'_> {
    fn spawn(self, mut command: Command) -> io::Result<Child> {
        match self {
            Self::Here => command.spawn(),
            Self::AtServer(link) => link.spawn(End::Server, command),
        }
    }

    fn run<T: Send + 'static>(
        self,
        job: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        match self {
            Self::Here => job(),
            Self::AtServer(link) => link
                .spawn_thread(End::Server, job)?
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the thread failed"))),
        }
    }
}

/// The process, and its data.
struct Member {
    child: Child,
    directory: PathBuf,
}

impl Member {
    /// Returns how it ended, if it did.
    fn ended(&mut self) -> Option<ExitStatus> {
        // A process that can't be queried may be running.
        self.child.try_wait().ok().flatten()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // It may have ended already; and what can't be removed is a temporary file.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn is_on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Returns ports that are free now, in the network of the calling thread; etcd binds them in a moment.
fn free_ports() -> io::Result<[u16; 2]> {
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let (one, other) = (listen()?, listen()?);
    Ok([one.local_addr()?.port(), other.local_addr()?.port()])
}

/// Returns a directory that only this user may enter.
fn new_directory() -> io::Result<PathBuf> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("tessera-lab-etcd-{}-{number}", process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            // Left by an earlier process with the same number.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => (),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::EtcdStore;

    impl Etcd {
        /// Ends it, as if it had crashed.
        pub(crate) fn crash(&mut self) {
            self.member.child.kill().and_then(|()| self.member.child.wait()).unwrap();
        }
    }

    /// Skipped without etcd.
    #[test]
    fn an_etcd_of_the_lab_answers_and_leaves_nothing_behind() {
        let mut etcd = match Etcd::start(Place::Here) {
            Ok(etcd) => etcd,
            Err(reason) => {
                assert!(reason.contains("not on PATH"), "{reason}");
                eprintln!("not run: {reason}");
                return;
            }
        };
        let (address, directory) = (etcd.address(), etcd.member.directory.clone());
        drop(EtcdStore::open(address).unwrap());
        assert!(etcd.is_there(Place::Here));
        etcd.crash();
        assert!(!etcd.is_there(Place::Here));
        drop(etcd);
        assert!(TcpListener::bind(address).is_ok(), "etcd still listens");
        assert!(!directory.exists());
    }
}
