//! Files that change under a running server or client.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use tessera::handshake::{Checked, ClientAuthentication};
use tessera::{ClientConfig, ServerConfig};
use tessera_kit::live::LiveConfig;
use tessera_kit::{ProgramError, SettingFile, credential, pem, trust};
use tessera_pki::Authority;
use tessera_pki::rcgen::{CertificateParams, date_time_ymd};
use tessera_tokio::{Acceptor, Connector};

/// A directory that is removed after the test.
struct Files(PathBuf);

impl Files {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tessera-kit-live-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    /// Writes a certificate and its key.
    fn issue(&self, ca: &Authority, change: impl FnOnce(&mut CertificateParams)) {
        let leaf = ca.issue_with(&["server.example"], change);
        self.write("chain.pem", &leaf.pem);
        self.write("key.pem", leaf.key_pem());
    }

    fn load_credential(&self) -> Result<(), ProgramError> {
        let (chain, key) = (self.path("chain.pem"), self.path("key.pem"));
        credential::load(setting(&chain), setting(&key)).map(|_| ())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn setting(path: &Path) -> SettingFile<'_> {
    SettingFile { setting: "a test's", path }
}

/// Loads the parts of a server's configuration that come from files.
fn load_server(files: &Path) -> Result<Checked<ServerConfig>, ProgramError> {
    let [chain, key, roots, list] =
        ["chain.pem", "key.pem", "clients.pem", "clients.crl"].map(|name| files.join(name));
    let credential = credential::load(setting(&chain), setting(&key))?;
    let verifier = trust::roots_and_revocation_lists(setting(&roots), &[setting(&list)])?;
    let mut config = ServerConfig::new(tessera_aws_lc::provider(), vec![credential]);
    config.client_authentication = ClientAuthentication::Required(Arc::new(verifier));
    Ok(config.checked()?)
}

/// Authorities publish lists in DER.
#[test]
fn a_revocation_list_may_be_der() {
    let (files, clients) = (Files::new(), Authority::new("clients"));
    files.issue(&clients, |_| ());
    files.write("clients.pem", clients.pem());
    files.write("clients.crl", clients.revoking(&[7]));
    let path = files.path("clients.crl");
    let [der] = pem::revocation_lists(setting(&path)).unwrap().try_into().unwrap();
    let of_pem = load_server(&files.0).unwrap();
    fs::write(&path, &der).unwrap();
    assert_eq!(pem::revocation_lists(setting(&path)).unwrap(), [&der[..]]);
    assert!(load_server(&files.0).unwrap().keeps_sessions_of(&of_pem));
    fs::write(&path, &der[..100]).unwrap();
    let error = load_server(&files.0).err().unwrap();
    assert_eq!(error.file(), Some(&*path), "{error}");
}

#[test]
fn a_reload_exchanges_all_files_or_none_and_counts() {
    let (files, clients) = (Files::new(), Authority::new("clients"));
    files.issue(&clients, |_| ());
    files.write("clients.pem", clients.pem());
    files.write("clients.crl", clients.revoking(&[]));
    let directory = files.0.clone();
    let acceptor = Acceptor::new(load_server(&directory).unwrap());
    let live = LiveConfig::new(acceptor.clone(), move || load_server(&directory));
    assert_eq!((live.counts().generation, live.counts().reloads), (1, 0));
    let chain = || acceptor.config().credentials[0].chain.clone();

    // Certificate and list are new, and the list is unusable: nothing changes, in any order of faults.
    let first = chain();
    files.issue(&clients, |_| ());
    for (list, words) in [
        (Authority::new("clients").revoking(&[]), "not signed by a root of that name"),
        ("-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n".to_owned(), "revocation list"),
        (clients.revoking(&[])[..100].to_owned(), "half written"),
        (String::new(), "no revocation list"),
    ] {
        files.write("clients.crl", list);
        let error = live.reload().unwrap_err();
        assert_eq!(error.file(), Some(&*files.path("clients.crl")), "{error}");
        assert!(error.to_string().contains(words), "{words}: {error}");
        assert_eq!((chain(), acceptor.generation()), (first.clone(), 1));
    }
    let counts = live.counts();
    assert_eq!((counts.failures, counts.reloads), (4, 0));
    let failed_since = counts.failed_since.unwrap();

    // The list is restored unchanged: only the certificate differs.
    files.write("clients.crl", clients.revoking(&[]));
    let changed = live.reload().unwrap();
    assert_eq!((changed.generation, changed.certificates, changed.peers), (2, true, false));
    assert_ne!(chain(), first);
    let counts = live.counts();
    assert_eq!((counts.generation, counts.reloads, counts.failures), (2, 1, 4));
    assert!(counts.failed_since.is_none() && counts.loaded_at >= failed_since);

    // A client is revoked, a root replaced, and another added.
    files.write("clients.crl", clients.revoking(&[7]));
    let changed = live.reload().unwrap();
    assert_eq!((changed.certificates, changed.peers, changed.psks), (false, true, false));
    let other = Authority::new("other");
    files.write("clients.pem", other.pem());
    assert!(live.reload().unwrap().peers);
    files.write("clients.pem", other.pem() + &clients.pem());
    assert!(live.reload().unwrap().peers);
    let changed = live.reload().unwrap();
    assert_eq!((changed.generation, changed.certificates, changed.peers), (6, false, false));
}

#[test]
fn a_connector_is_reloaded_in_the_same_way() {
    let (files, servers) = (Files::new(), Authority::new("servers"));
    files.write("roots.pem", servers.pem());
    let path = files.path("roots.pem");
    let load = move || -> Result<Checked<ClientConfig>, ProgramError> {
        let verifier = trust::roots(setting(&path))?;
        Ok(ClientConfig::new(tessera_aws_lc::provider(), Arc::new(verifier)).checked()?)
    };
    let connector = Connector::new(load().unwrap());
    let live = LiveConfig::new(connector.clone(), load);
    assert!(!live.reload().unwrap().peers);
    files.write("roots.pem", Authority::new("others").pem());
    assert!(live.reload().unwrap().peers);
    fs::remove_file(files.path("roots.pem")).unwrap();
    assert_eq!(live.reload().unwrap_err().file(), Some(&*files.path("roots.pem")));
    assert_eq!(connector.generation(), 3);
}

#[test]
fn a_prepared_change_has_no_effect_before_the_exchange() {
    let (files, servers) = (Files::new(), Authority::new("servers"));
    files.write("roots.pem", servers.pem());
    let path = files.path("roots.pem");
    let load = move || -> Result<Checked<ClientConfig>, ProgramError> {
        let verifier = trust::roots(setting(&path))?;
        Ok(ClientConfig::new(tessera_aws_lc::provider(), Arc::new(verifier)).checked()?)
    };
    let connector = Connector::new(load().unwrap());
    let live = LiveConfig::new(connector.clone(), load);
    files.write("roots.pem", Authority::new("others").pem());
    drop(live.prepare().unwrap());
    assert_eq!((connector.generation(), live.counts().reloads), (1, 0));
    let prepared = live.prepare().unwrap();
    // Changes after the files were read are not included.
    files.write("roots.pem", "");
    let changed = prepared.exchange();
    assert!(changed.peers);
    assert_eq!((changed.generation, connector.generation(), live.counts().reloads), (2, 2, 1));
    assert!(live.prepare().is_err());
    assert_eq!((connector.generation(), live.counts().failures), (2, 1));
}

/// A gateway's two faces, from one set of files.
#[test]
fn an_acceptor_and_a_connector_are_reloaded_together_or_not_at_all() {
    let (files, clients) = (Files::new(), Authority::new("clients"));
    files.issue(&clients, |_| ());
    files.write("clients.pem", clients.pem());
    files.write("clients.crl", clients.revoking(&[]));
    files.write("servers.pem", Authority::new("servers").pem());
    let directory = files.0.clone();
    let load = move || -> Result<_, ProgramError> {
        let server = load_server(&directory)?;
        let verifier = trust::roots(setting(&directory.join("servers.pem")))?;
        let client = ClientConfig::new(tessera_aws_lc::provider(), Arc::new(verifier));
        Ok((server, client.checked()?))
    };
    let (server, client) = load().unwrap();
    let both = (Acceptor::new(server), Connector::new(client));
    let live = LiveConfig::new(both.clone(), load);
    files.issue(&clients, |_| ());
    files.write("servers.pem", "");
    assert_eq!(live.reload().unwrap_err().file(), Some(&*files.path("servers.pem")));
    assert_eq!((both.0.generation(), both.1.generation()), (1, 1));
    files.write("servers.pem", Authority::new("others").pem());
    let changed = live.reload().unwrap();
    assert_eq!((changed.generation, changed.certificates, changed.peers), (2, true, true));
    assert_eq!((both.0.generation(), both.1.generation()), (2, 2));
}

/// Concurrent reloads take turns, and each that succeeds counts.
#[test]
fn reloads_take_turns() {
    let (files, clients) = (Files::new(), Authority::new("clients"));
    files.issue(&clients, |_| ());
    files.write("clients.pem", clients.pem());
    files.write("clients.crl", clients.revoking(&[]));
    let (directory, inside) = (files.0.clone(), Mutex::new(()));
    let acceptor = Acceptor::new(load_server(&directory).unwrap());
    let live = LiveConfig::new(acceptor, move || {
        let _alone = inside.try_lock().unwrap();
        load_server(&directory)
    });
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..5).for_each(|_| assert!(live.reload().is_ok())));
        }
    });
    assert_eq!((live.counts().reloads, live.counts().generation), (20, 21));
}

#[test]
fn a_certificate_that_no_peer_would_accept_is_refused_with_the_reason() {
    let (files, root) = (Files::new(), Authority::new("root"));
    let refused = |words: &str| {
        let error = files.load_credential().unwrap_err();
        assert_eq!(error.file(), Some(&*files.path("chain.pem")), "{error}");
        assert!(error.to_string().contains(words), "{words}: {error}");
    };
    files.issue(&root, |params| params.not_after = date_time_ymd(2020, 1, 1));
    refused("has expired");
    files.issue(&root, |params| params.not_before = date_time_ymd(2090, 1, 1));
    refused("not valid yet");
    files.issue(&root, |params| {
        (params.not_before, params.not_after) =
            (date_time_ymd(2021, 1, 1), date_time_ymd(2020, 1, 1));
    });
    refused("expires before it becomes valid");
    files.issue(&root, |_| ());
    files.load_credential().unwrap();
}

#[test]
fn a_chain_must_be_in_order() {
    let (files, root) = (Files::new(), Authority::new("root"));
    let intermediate = root.below("intermediate");
    let leaf = intermediate.issue("server.example");
    files.write("key.pem", leaf.key_pem());
    let (leaf, intermediate, root) = (leaf.pem, intermediate.pem(), root.pem());
    for chain in [&[&leaf][..], &[&leaf, &intermediate], &[&leaf, &intermediate, &root]] {
        files.write("chain.pem", chain.iter().map(|pem| pem.as_str()).collect::<String>());
        files.load_credential().unwrap();
    }
    for (chain, at) in [
        (&[&leaf, &root][..], 1),
        (&[&leaf, &root, &intermediate], 1),
        (&[&leaf, &leaf, &intermediate], 1),
        (&[&leaf, &intermediate, &intermediate], 2),
    ] {
        files.write("chain.pem", chain.iter().map(|pem| pem.as_str()).collect::<String>());
        let error = files.load_credential().unwrap_err().to_string();
        let words = format!("certificate {} is not the issuer of certificate {at};", at + 1);
        assert!(error.contains(&words), "{words}: {error}");
    }
}
