//! What a process with these tunnels still needs of the machine.

use std::env;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf, absolute};

use tessera_kit::{ProgramError, volatile};
use tessera_proxy::confine::{Confinement, TcpPorts};

use crate::config::{
    Anchors, ClientSection, DialAddress, Fleet, KeySource, ListenAddress, Peers, ServerSection,
    Tunnels,
};

/// The directories of all files that the configuration names, where they can be replaced and loaded again; the
/// directories that are written to; the ports.
pub(crate) fn of(tunnels: &Tunnels, file: Option<&Path>) -> Confinement {
    let mut needs = Needs::default();
    needs.confinement.tcp = Some(TcpPorts::default());
    // Of the program itself: its metrics, and what the kernel says of the machine.
    needs.read_if_there(["/proc/self", "/proc/sys", "/sys/fs/cgroup"]);
    needs.file(file);
    needs.listen(tunnels.process.admin.as_ref());
    tunnels.server.values().for_each(|section| needs.server(section));
    tunnels.client.values().for_each(|section| needs.client(section));
    for paths in [&mut needs.confinement.read, &mut needs.confinement.write] {
        paths.sort_unstable();
        paths.dedup();
    }
    needs.confinement
}

/// A reload that failed, with what to do where it was the confinement that kept a file from being read.
pub(crate) fn explain(confinement: &Confinement, error: ProgramError) -> ProgramError {
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

#[derive(Default)]
struct Needs {
    confinement: Confinement,
}

impl Needs {
    fn server(&mut self, section: &ServerSection) {
        self.listen(Some(&section.listen));
        self.dial(&section.forward);
        self.file(section.certificate.as_deref());
        self.file(section.key.as_deref());
        self.peers(&section.peers);
        if let Some(directory) = &section.state {
            self.directory(directory);
            match &section.state_key {
                Some(source) => self.key(source),
                None => {
                    if let Some(directory) = volatile::runtime_directory("tessera") {
                        self.directory(&directory);
                    }
                }
            }
        }
        if let Some(fleet) = &section.fleet {
            self.fleet(fleet);
        }
    }

    fn client(&mut self, section: &ClientSection) {
        self.listen(Some(&section.listen));
        self.dial(&section.connect);
        self.file(section.certificate.as_deref());
        self.file(section.key.as_deref());
        self.peers(&section.peers);
        if let Some(directory) = &section.sessions {
            self.directory(directory);
        }
        section.sessions_key.iter().for_each(|source| self.key(source));
    }

    fn fleet(&mut self, fleet: &Fleet) {
        let etcd = &fleet.etcd;
        let files = [&etcd.ca, &etcd.certificate, &etcd.key, &fleet.epoch_keys];
        files.into_iter().for_each(|path| self.file(path.as_deref()));
        self.key(&fleet.ring_key);
        for endpoint in &etcd.endpoints {
            match endpoint.parse() {
                Ok(address) => self.dial(&address),
                // What it is, etcd's client knows; so all ports are left to it.
                Err(_) => self.confinement.tcp = None,
            }
        }
        if let Some(sites) = &fleet.sites {
            self.listen(Some(&sites.listen));
            let files = [Some(&sites.ca), Some(&sites.certificate), sites.key.as_ref()];
            files.into_iter().for_each(|path| self.file(path.map(PathBuf::as_path)));
            sites.others.iter().for_each(|other| self.dial(&other.address));
        }
    }

    fn peers(&mut self, peers: &Peers) {
        match &peers.ca {
            Some(Anchors::File(path)) => self.file(Some(path)),
            Some(Anchors::System) => {
                // Links of the one point to the others.
                self.read_if_there([
                    "/etc/ssl",
                    "/usr/share/ca-certificates",
                    "/usr/local/share/ca-certificates",
                ]);
                let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter_map(env::var_os);
                named.for_each(|path| self.file(Some(Path::new(&path))));
            }
            None => (),
        }
        let files = peers.crl.iter().chain(&peers.public_keys).chain(&peers.psk_file);
        files.for_each(|path| self.file(Some(path)));
    }

    fn key(&mut self, source: &KeySource) {
        match source {
            KeySource::File(path) => self.file(Some(path)),
            KeySource::Credential(_) => {
                let directory = env::var_os("CREDENTIALS_DIRECTORY");
                self.read_if_there(directory.iter().map(Path::new));
            }
        }
    }

    /// A file that may be replaced by another one of its name. What isn't there is told by whoever reads it.
    fn file(&mut self, path: Option<&Path>) {
        let Some(path) = path else { return };
        self.read_if_there([path.parent().unwrap_or(path)]);
        // It may be a link to somewhere else, as those of ACME clients.
        if let Ok(real) = path.canonicalize() {
            self.read_if_there(real.parent());
        }
    }

    fn read_if_there(&mut self, paths: impl IntoIterator<Item = impl AsRef<Path>>) {
        let there = paths.into_iter().map(|path| here(path.as_ref())).filter(|path| path.exists());
        self.confinement.read.extend(there);
    }

    /// A directory that is written to. One that isn't there yet is made now, and not by whoever opens it: that would
    /// need the right to write to its parent, such as all of `/run`.
    fn directory(&mut self, path: &Path) {
        // Where it fails, opening it fails too, and says why.
        let _ = DirBuilder::new().mode(0o700).create(path);
        let there = [Some(path), path.parent()].into_iter().flatten().map(here);
        self.confinement.write.extend(there.filter(|path| path.exists()).take(1));
    }

    fn listen(&mut self, address: Option<&ListenAddress>) {
        let port = match address {
            Some(ListenAddress::Everywhere(port)) => *port,
            Some(ListenAddress::Tcp(address)) => address.port(),
            Some(ListenAddress::Name(name)) => {
                self.confinement.names = true;
                name.port
            }
            Some(ListenAddress::Unix(path)) => {
                let parent = path.parent().map(here).filter(|parent| parent.exists());
                self.confinement.write.extend(parent);
                return;
            }
            Some(ListenAddress::Inherited(_)) | None => return,
        };
        self.confinement.tcp.iter_mut().for_each(|ports| ports.listen.push(port));
    }

    fn dial(&mut self, address: &DialAddress) {
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

/// A path without a directory is one of this directory.
fn here(path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_reads_the_directories_of_its_files_and_writes_to_its_state_alone() {
        let root = env::temp_dir().join(format!("tessera-confinement-{}", std::process::id()));
        let [files, state] = ["files", "state"].map(|name| root.join(name));
        std::fs::create_dir_all(&files).unwrap();
        let mut section = ServerSection::new(
            "127.0.0.1:8443".parse().unwrap(),
            "db.example:5432".parse().unwrap(),
        );
        section.certificate = Some(files.join("not-there.pem"));
        section.state = Some(state.clone());
        section.state_key = Some(KeySource::File(files.join("state.key")));
        let server = [("a".to_owned(), section)].into();
        let tunnels = Tunnels { server, ..Tunnels::default() };
        let confinement = of(&tunnels, Some(Path::new("/not-there/a.toml")));
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(confinement.write, [state]);
        assert!(confinement.read.contains(&files), "{confinement:?}");
        assert!(confinement.read.iter().all(|path| !path.starts_with("/not-there")));
        assert!(confinement.names);
        let ports = confinement.tcp.as_ref().unwrap();
        assert_eq!((ports.connect.as_slice(), ports.listen.as_slice()), (&[5432][..], &[8443][..]));

        let elsewhere = ProgramError::in_file(Path::new("/elsewhere/a.pem"), "permission denied");
        assert!(explain(&confinement, elsewhere).to_string().contains("a restart reads this one"));
        let there = ProgramError::in_file(&files.join("b.pem"), "permission denied");
        assert!(!explain(&confinement, there).to_string().contains("restart"));
    }

    #[test]
    fn a_broken_file_that_is_named_relatively_is_not_said_to_need_a_restart() {
        let mut section =
            ServerSection::new("127.0.0.1:8443".parse().unwrap(), "127.0.0.1:1".parse().unwrap());
        section.certificate = Some("db.pem".into());
        let server = [("a".to_owned(), section)].into();
        let tunnels = Tunnels { server, ..Tunnels::default() };
        let confinement = of(&tunnels, Some(Path::new("tunnels.toml")));
        for path in ["db.pem", "tunnels.toml", "./db.key"] {
            let broken = ProgramError::in_file(Path::new(path), "it is broken");
            let told = explain(&confinement, broken).to_string();
            assert!(!told.contains("restart"), "{told}");
        }
        let outside = ProgramError::in_file(Path::new("/elsewhere/db.key"), "permission denied");
        assert!(explain(&confinement, outside).to_string().contains("a restart reads this one"));
    }
}
