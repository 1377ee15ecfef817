//! What a process needs, from what its configuration names.

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
use crate::stores::{Fleet, StoresSection};

/// Gathers a [`Confinement`]: the directories of all files, where they can be replaced and loaded again; the
/// directories that are written to; the ports.
#[derive(Debug, Clone)]
pub struct Needs {
    confinement: Confinement,
}

impl Needs {
    /// Those of any process: its own metrics, and what the kernel says of the machine. No port may be used yet.
    #[must_use]
    pub fn new() -> Self {
        let mut needs = Self { confinement: Confinement::default() };
        needs.confinement.tcp = Some(TcpPorts::default());
        needs.read_if_there(["/proc/self", "/proc/sys", "/sys/fs/cgroup"]);
        needs
    }

    /// All of it.
    #[must_use]
    pub fn confinement(mut self) -> Confinement {
        for paths in [&mut self.confinement.read, &mut self.confinement.write] {
            paths.sort_unstable();
            paths.dedup();
        }
        self.confinement
    }

    /// Any port, since nobody knows now which.
    pub fn all_ports(&mut self) {
        self.confinement.tcp = None;
    }

    /// Names are looked up.
    pub fn names(&mut self) {
        self.confinement.names = true;
    }

    /// A key that somebody else keeps.
    pub fn key(&mut self, source: &KeySource) {
        match source {
            KeySource::File(path) => self.file(Some(path)),
            KeySource::Credential(_) => {
                let directory = env::var_os("CREDENTIALS_DIRECTORY");
                self.read_if_there(directory.iter().map(Path::new));
            }
        }
    }

    /// A file that may be replaced by another one of its name. What isn't there is told by whoever reads it.
    pub fn file(&mut self, path: Option<&Path>) {
        let Some(path) = path else { return };
        self.read_if_there([path.parent().unwrap_or(path)]);
        // It may be a link to somewhere else, as those of ACME clients.
        if let Ok(real) = path.canonicalize() {
            self.read_if_there(real.parent());
        }
    }

    /// What is read if it is there.
    pub fn read_if_there(&mut self, paths: impl IntoIterator<Item = impl AsRef<Path>>) {
        let there = paths.into_iter().map(|path| here(path.as_ref())).filter(|path| path.exists());
        self.confinement.read.extend(there);
    }

    /// A directory that is written to. One that isn't there yet is made now, and not by whoever opens it: that would
    /// need the right to write to its parent, such as all of `/run`.
    pub fn directory(&mut self, path: &Path) {
        // Where it fails, opening it fails too, and says why.
        let _ = DirBuilder::new().mode(0o700).create(path);
        let there = [Some(path), path.parent()].into_iter().flatten().map(here);
        self.confinement.write.extend(there.filter(|path| path.exists()).take(1));
    }

    /// Files that may be replaced by others of their names.
    pub fn files<'p>(&mut self, paths: impl IntoIterator<Item = &'p PathBuf>) {
        paths.into_iter().for_each(|path| self.file(Some(path)));
    }

    /// What a section says of stores: a state with its key and its witness, and a fleet.
    #[cfg(feature = "stores")]
    pub fn stores(&mut self, stores: &StoresSection<'_>) {
        if let Some(directory) = stores.state {
            self.directory(directory);
            stores.state_witness.into_iter().for_each(|directory| self.directory(directory));
            match stores.state_key {
                Some(source) => self.key(source),
                // The runtime directory has it.
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
        let etcd = &fleet.etcd;
        self.files(
            [&etcd.ca, &etcd.certificate, &etcd.key, &fleet.epoch_keys].into_iter().flatten(),
        );
        self.key(&fleet.ring_key);
        for endpoint in &etcd.endpoints {
            match endpoint.parse() {
                Ok(address) => self.dial(&address),
                // What it is, etcd's client knows; so all ports are left to it.
                Err(_) => self.all_ports(),
            }
        }
        if let Some(sites) = &fleet.sites {
            self.listen(&sites.listen);
            self.files([&sites.ca, &sites.certificate].into_iter().chain(&sites.key));
            sites.others.iter().for_each(|other| self.dial(&other.address));
        }
    }

    /// A place to listen at.
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

    /// A place to connect to.
    pub fn dial(&mut self, address: &DialAddress) {
        let port = match address {
            DialAddress::Tcp(address) => address.port(),
            DialAddress::Name(name) => {
                self.confinement.names = true;
                name.port
            }
            // Landlock leaves connecting to sockets alone.
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

/// A reload that failed, with what to do where it was the confinement that kept a file from being read.
#[must_use]
pub fn explain(confinement: &Confinement, error: ProgramError) -> ProgramError {
    // A relative path is one of a directory that may be called `.`.
    let whole = |path: &Path| absolute(path).unwrap_or_else(|_| path.to_owned());
    let is_outside = |path: &Path| {
        let mut allowed = confinement.read.iter().chain(&confinement.write);
        !allowed.any(|directory| whole(path).starts_with(whole(directory)))
    };
    match error {
        ProgramError::File { path, line, what } if is_outside(&path) => {
            let what = format!(
                "{what} (this process reads only the directories of the files that were named when it started; a \
                 restart reads this one)"
            );
            ProgramError::File { path, line, what }
        }
        other => other,
    }
}

/// A path without a directory is one of this directory.
fn here(path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() }
}
