//! What a process with these tunnels needs from the machine.

use std::env;
use std::path::Path;

use tessera_proxy::confine::{Confinement, Needs};

use crate::config::{Anchors, ClientSection, End, ServerSection, Tunnels};

/// Returns the access that the tunnels need: the directories of all files that the configuration names, so that files
/// can be replaced and reloaded; the directories written to; the ports.
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
    of_end(needs, &section.end(""));
    needs.stores(&section.stores(""));
}

fn of_client(needs: &mut Needs, section: &ClientSection) {
    needs.listen(&section.listen);
    needs.dial(&section.connect);
    of_end(needs, &section.end(""));
    section.sessions.iter().for_each(|directory| needs.directory(directory));
    section.sessions_key.iter().for_each(|source| needs.key(source));
}

fn of_end(needs: &mut Needs, end: &End<'_>) {
    [end.certificate, end.key].into_iter().for_each(|path| needs.file(path));
    let peers = end.peers;
    match &peers.ca {
        Some(Anchors::File(path)) => needs.file(Some(path)),
        Some(Anchors::System) => {
            // One may be a symbolic link to another.
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
    needs.files(peers.crl.iter().chain(&peers.public_keys).chain(&peers.psk_file));
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
        assert!(
            explain(&confinement, elsewhere).to_string().contains("restart it to read this file")
        );
        let there = ProgramError::in_file(&files.join("b.pem"), "permission denied");
        assert!(!explain(&confinement, there).to_string().contains("restart"));
    }

    #[test]
    fn a_broken_file_named_relatively_is_not_reported_to_need_a_restart() {
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
        assert!(
            explain(&confinement, outside).to_string().contains("restart it to read this file")
        );
    }
}
