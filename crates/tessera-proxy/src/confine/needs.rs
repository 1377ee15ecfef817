//! Derives what a process needs from what its configuration names.

use std::env;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf, absolute};

#[cfg(feature = "stores")]
use tessera_kit::volatile;
use tessera_kit::{KeySource, ProgramError};

use super::{Confinement, TcpPorts};
use crate::address::{DialAddress, ListenAddress};
#[cfg(feature = "stores")]
use crate::stores::{EtcdSection, Fleet, StoresSection};

/// Gathers a [`Confinement`]: the directories of all files, so that files can be replaced and reloaded; the directories
/// written to; the ports.
#[derive(Debug, Clone)]
pub struct Needs {
    confinement: Confinement,
}

impl Needs {
    /// Starts with the needs of any process: its own metrics, and the kernel's data about the machine. No ports.
    #[must_use]
    pub fn new() -> Self {
        let mut needs = Self { confinement: Confinement::default() };
        needs.confinement.tcp = Some(TcpPorts::default());
        needs.read_if_there(["/proc/self", "/proc/sys", "/sys/fs/cgroup"]);
        needs
    }

    /// Returns the confinement.
    #[must_use]
    pub fn confinement(mut self) -> Confinement {
        for paths in [&mut self.confinement.read, &mut self.confinement.write] {
            paths.sort_unstable();
            paths.dedup();
        }
        self.confinement
    }

    /// Allows all ports, if they can't be known now.
    pub fn all_ports(&mut self) {
        self.confinement.tcp = None;
    }

    /// Allows signals to other processes.
    pub fn signals(&mut self) {
        self.confinement.signals = true;
    }

    /// Allows executing programs, and reading everything for that.
    pub fn programs(&mut self) {
        self.confinement.programs = true;
    }

    /// Allows resolving names.
    pub fn names(&mut self) {
        self.confinement.names = true;
    }

    /// Adds a key that is kept elsewhere.
    pub fn key(&mut self, source: &KeySource) {
        match source {
            KeySource::File(path) => self.file(Some(path)),
            KeySource::Credential(_) => {
                let directory = env::var_os("CREDENTIALS_DIRECTORY");
                self.read_if_there(directory.iter().map(Path::new));
            }
        }
    }

    /// Adds a file that may be replaced by another of its name. A missing file is reported when it is loaded.
    pub fn file(&mut self, path: Option<&Path>) {
        let Some(path) = path else { return };
        self.read_if_there([path.parent().unwrap_or(path)]);
        // It may be a symbolic link, as with ACME clients.
        if let Ok(real) = path.canonicalize() {
            self.read_if_there(real.parent());
        }
    }

    /// Adds paths to read if they exist.
    pub fn read_if_there(&mut self, paths: impl IntoIterator<Item = impl AsRef<Path>>) {
        let there = paths.into_iter().map(|path| here(path.as_ref())).filter(|path| path.exists());
        self.confinement.read.extend(there);
    }

    /// Adds a directory that is written to. It is created now if missing: later that would need the right to write to
    /// its parent, such as all of `/run`.
    pub fn directory(&mut self, path: &Path) {
        // If this fails, opening it fails too, and reports why.
        let _ = DirBuilder::new().mode(0o700).create(path);
        let there = [Some(path), path.parent()].into_iter().flatten().map(here);
        self.confinement.write.extend(there.filter(|path| path.exists()).take(1));
    }

    /// Adds files that may be replaced by others of their names.
    pub fn files<'p>(&mut self, paths: impl IntoIterator<Item = &'p PathBuf>) {
        paths.into_iter().for_each(|path| self.file(Some(path)));
    }

    /// Adds the stores of a section: a state with its key and its witness, and a fleet.
    #[cfg(feature = "stores")]
    pub fn stores(&mut self, stores: &StoresSection<'_>) {
        if let Some(directory) = stores.state {
            self.directory(directory);
            stores.state_witness.into_iter().for_each(|directory| self.directory(directory));
            match stores.state_key {
                Some(source) => self.key(source),
                // The key is in the runtime directory.
                None => {
                    let directory = volatile::memory_directory("tessera");
                    directory.iter().for_each(|directory| self.directory(&directory.path));
                }
            }
        }
        stores.fleet.into_iter().for_each(|fleet| self.fleet(fleet));
    }

    #[cfg(feature = "stores")]
    fn fleet(&mut self, fleet: &Fleet) {
        self.etcd(&fleet.etcd);
        self.files(&fleet.epoch_keys);
        self.key(&fleet.ring_key);
        if let Some(sites) = &fleet.sites {
            self.listen(&sites.listen);
            self.files([&sites.ca, &sites.certificate].into_iter().chain(&sites.key));
            sites.others.iter().for_each(|other| self.dial(&other.address));
        }
    }

    /// Adds the members of etcd, and the files of its section.
    #[cfg(feature = "stores")]
    pub fn etcd(&mut self, etcd: &EtcdSection) {
        self.files([&etcd.ca, &etcd.certificate, &etcd.key].into_iter().flatten());
        for endpoint in &etcd.endpoints {
            match endpoint.parse() {
                Ok(address) => self.dial(&address),
                // Leave it to etcd's client to understand it, and allow all ports.
                Err(_) => self.all_ports(),
            }
        }
    }

    /// Adds an address to listen on.
    pub fn listen(&mut self, address: &ListenAddress) {
        let port = match address {
            ListenAddress::Everywhere(port) => *port,
            ListenAddress::Tcp(address) => address.port(),
            ListenAddress::Name(name) => {
                self.confinement.names = true;
                name.port
            }
            ListenAddress::Unix(path) => {
                let parent = path.parent().map(here).filter(|parent| parent.exists());
                self.confinement.write.extend(parent);
                return;
            }
            ListenAddress::Inherited(_) => return,
        };
        self.confinement.tcp.iter_mut().for_each(|ports| ports.listen.push(port));
    }

    /// Adds an address to connect to.
    pub fn dial(&mut self, address: &DialAddress) {
        let port = match address {
            DialAddress::Tcp(address) => address.port(),
            DialAddress::Name(name) => {
                self.confinement.names = true;
                name.port
            }
            // Landlock doesn't restrict connecting to Unix sockets here.
            DialAddress::Unix(_) => return,
        };
        self.confinement.tcp.iter_mut().for_each(|ports| ports.connect.push(port));
    }
}

impl Default for Needs {
    fn default() -> Self {
        Self::new()
    }
}

/// Adds advice to the error of a failed reload if it was the confinement that kept a file from being read.
#[must_use]
pub fn explain(confinement: &Confinement, error: ProgramError) -> ProgramError {
    // The directory of a relative path may be listed as `.`.
    let whole = |path: &Path| absolute(path).unwrap_or_else(|_| path.to_owned());
    let is_outside = |path: &Path| {
        let mut allowed = confinement.read.iter().chain(&confinement.write);
        !allowed.any(|directory| whole(path).starts_with(whole(directory)))
    };
    match error {
        ProgramError::File { path, line, what } if is_outside(&path) => {
            let what = format!(
                "{what} (this process may read only the directories of the files that were named when it started; \
                 restart it to read this file)"
            );
            ProgramError::File { path, line, what }
        }
        other => other,
    }
}

/// Returns the parent directory; `.` for a bare file name.
fn here(path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() }
}
