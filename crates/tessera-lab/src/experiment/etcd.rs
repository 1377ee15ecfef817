//! The program `etcd`, for servers whose one-time keys lie there.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, io, process, thread};

use tessera_link::{End, Link};

use crate::error::words;

/// One member of etcd, alone. It and its data are gone when this value is.
pub(crate) struct Etcd {
    child: Child,
    address: SocketAddr,
}

/// How long it may take until it listens.
const PATIENCE: Duration = Duration::from_secs(30);

impl Etcd {
    /// Starts it in this process's own network, and waits until it listens.
    ///
    /// # Errors
    /// A sentence that says what is missing.
    pub(crate) fn start() -> Result<Self, String> {
        Self::start_in(&Place::Here)
    }

    /// Starts it at the server's end of a link, where only that end's processes reach it.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub(crate) fn start_at_server(link: &Link) -> Result<Self, String> {
        Self::start_in(&Place::AtServer(link))
    }

    /// Where clients find it.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    fn start_in(place: &Place<'_>) -> Result<Self, String> {
        if !is_on_path("etcd") {
            return Err("the program `etcd` is not on PATH".to_owned());
        }
        let failed =
            |error: io::Error| format!("the program `etcd` can't be started: {}", words(&error));
        let [client, peer] = place.run(free_ports).map_err(failed)?;
        let data = new_directory().map_err(|error| {
            format!("no directory for the data of `etcd` can be made: {}", words(&error))
        })?;
        let (client_url, peer_url) =
            (format!("http://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
        let mut command = Command::new("sh");
        command
            .args(["-c", UNTIL_NOBODY_IS_THERE, "sh"])
            .args(["--name", "lab", "--data-dir"])
            .arg(data.join("member"))
            .args(["--listen-client-urls", &client_url, "--advertise-client-urls", &client_url])
            .args(["--listen-peer-urls", &peer_url])
            .args(["--initial-advertise-peer-urls", &peer_url])
            .args(["--initial-cluster", &format!("lab={peer_url}")])
            .env("TESSERA_LAB_DATA", &data)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = place.spawn(command).map_err(|error| {
            // It is empty.
            let _ = fs::remove_dir(&data);
            failed(error)
        })?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, client));
        // Ends it if it is of no use.
        let etcd = Self { child, address };
        place.run(move || listens(address)).map_err(failed)?;
        Ok(etcd)
    }
}

/// Whose network it is in.
enum Place<'l> {
    Here,
    AtServer(&'l Link),
}

impl Place<'_> {
    fn spawn(&self, mut command: Command) -> io::Result<Child> {
        match self {
            Self::Here => command.spawn(),
            Self::AtServer(link) => link.spawn(End::Server, command),
        }
    }

    fn run<T: Send + 'static>(
        &self,
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

/// Waits until somebody listens there.
fn listens(address: SocketAddr) -> io::Result<()> {
    let begun = Instant::now();
    while let Err(error) = TcpStream::connect(address) {
        if begun.elapsed() > PATIENCE {
            return Err(error);
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Runs etcd until standard input ends, which it does when the lab does, however that ends.
const UNTIL_NOBODY_IS_THERE: &str = "\
    etcd \"$@\" & member=$!; read -r _; kill -KILL $member; wait $member; rm -rf -- \"$TESSERA_LAB_DATA\"";

impl Drop for Etcd {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // Nothing can be done about a shell that doesn't end.
        let _ = self.child.wait();
    }
}

fn is_on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Ports that are free now, in the network of the calling thread; etcd takes them in a moment.
fn free_ports() -> io::Result<[u16; 2]> {
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let (one, other) = (listen()?, listen()?);
    Ok([one.local_addr()?.port(), other.local_addr()?.port()])
}

/// A directory that only this user may enter.
fn new_directory() -> io::Result<PathBuf> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("tessera-lab-etcd-{}-{number}", process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            // Of another process that once had the same number.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => (),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::EtcdStore;

    /// Not run where there is no etcd.
    #[test]
    fn an_etcd_of_the_lab_answers_and_leaves_nothing_behind() {
        let etcd = match Etcd::start() {
            Ok(etcd) => etcd,
            Err(reason) => {
                assert!(reason.contains("not on PATH"), "{reason}");
                eprintln!("not run: {reason}");
                return;
            }
        };
        let address = etcd.address();
        drop(EtcdStore::open(address).unwrap());
        drop(etcd);
        assert!(TcpListener::bind(address).is_ok(), "etcd still listens");
        let ours = format!("tessera-lab-etcd-{}-", process::id());
        let left = fs::read_dir(env::temp_dir()).unwrap().filter(|entry| {
            entry.as_ref().is_ok_and(|it| it.file_name().to_string_lossy().starts_with(&ours))
        });
        assert_eq!(left.count(), 0);
    }
}
