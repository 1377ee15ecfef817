//! What a process with these tunnels still needs of the machine.

use std::env;
use std::path::{Path, PathBuf};

use tessera_proxy::confine::{Confinement, Needs};

use crate::config::{Anchors, ClientSection, Fleet, Peers, ServerSection, Tunnels};

/// The directories of all files that the configuration names, where they can be replaced and loaded again; the
/// directories that are written to; the ports.
pub(crate) fn of(tunnels: &Tunnels, file: Option<&Path>) -> Confinement {
    let mut needs = Needs::new();
    needs.file(file);
    tunnels.process.admin.iter().for_each(|address| needs.listen(address));
    tunnels.server.values().for_each(|section| of_server(&mut needs, section));
    tunnels.client.values().for_each(|section| of_client(&mut needs, section));
    needs.confinement()
}

fn of_server(needs: &mut Needs, section: &ServerSection) {
    needs.listen(&section.listen);
    needs.dial(&section.forward);
    needs.file(section.certificate.as_deref());
    needs.file(section.key.as_deref());
    of_peers(needs, &section.peers);
    if let Some(directory) = &section.state {
        let witness = section.state_witness.as_deref();
        needs.state(directory, section.state_key.as_ref(), witness);
    }
    if let Some(fleet) = &section.fleet {
        of_fleet(needs, fleet);
    }
}

fn of_client(needs: &mut Needs, section: &ClientSection) {
    needs.listen(&section.listen);
    needs.dial(&section.connect);
    needs.file(section.certificate.as_deref());
    needs.file(section.key.as_deref());
    of_peers(needs, &section.peers);
    if let Some(directory) = &section.sessions {
        needs.directory(directory);
    }
    section.sessions_key.iter().for_each(|source| needs.key(source));
}

fn of_fleet(needs: &mut Needs, fleet: &Fleet) {
    let etcd = &fleet.etcd;
    let files = [&etcd.ca, &etcd.certificate, &etcd.key, &fleet.epoch_keys];
    files.into_iter().for_each(|path| needs.file(path.as_deref()));
    needs.key(&fleet.ring_key);
    for endpoint in &etcd.endpoints {
        match endpoint.parse() {
            Ok(address) => needs.dial(&address),
            // What it is, etcd's client knows; so all ports are left to it.
            Err(_) => needs.all_ports(),
        }
    }
    if let Some(sites) = &fleet.sites {
        needs.listen(&sites.listen);
        let files = [Some(&sites.ca), Some(&sites.certificate), sites.key.as_ref()];
        files.into_iter().for_each(|path| needs.file(path.map(PathBuf::as_path)));
        sites.others.iter().for_each(|other| needs.dial(&other.address));
    }
}

fn of_peers(needs: &mut Needs, peers: &Peers) {
    match &peers.ca {
        Some(Anchors::File(path)) => needs.file(Some(path)),
        Some(Anchors::System) => {
            // Links of the one point to the others.
            needs.read_if_there([
                "/etc/ssl",
                "/usr/share/ca-certificates",
                "/usr/local/share/ca-certificates",
            ]);
            let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter_map(env::var_os);
            named.for_each(|path| needs.file(Some(Path::new(&path))));
        }
        None => (),
    }
    let files = peers.crl.iter().chain(&peers.public_keys).chain(&peers.psk_file);
    files.for_each(|path| needs.file(Some(path)));
}

#[cfg(test)]
mod tests {
    use tessera_kit::ProgramError;
    use tessera_proxy::confine::explain;

    use super::*;
    use crate::config::KeySource;

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
