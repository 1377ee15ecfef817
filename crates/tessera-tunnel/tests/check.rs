//! What `check` reports about a file that can run.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tessera_pki::Authority;
use tessera_pki::rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256};

fn ending(end: SystemTime) -> Authority {
    Authority::with("an authority", &PKCS_ECDSA_P256_SHA256, |it| it.not_after = end.into())
}

/// A directory with an authority, a server's certificate and its key.
struct Files(PathBuf);

impl Files {
    /// The server's certificate ends in this many days, the authority's 100 days later.
    fn new(name: &str, days: u64) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("check-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        let ends = |days: u64| SystemTime::now() + Duration::from_secs(days * 86_400 - 3600);
        let ca = ending(ends(days + 100));
        let leaf = ca.issue_with(&["db.example"], |it| it.not_after = ends(days).into());
        let files = Self(path);
        files.write("ca.pem", &ca.pem(), 0o644);
        files.write("db.pem", &leaf.pem, 0o644);
        files.write("db.key", &leaf.key_pem(), 0o640);
        files
    }

    fn write(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    /// A root that ends in two days, followed by the other one.
    fn root_that_ends_soon(&self) -> &'static str {
        let root = ending(SystemTime::now() + Duration::from_secs(2 * 86_400)).pem();
        let others = fs::read_to_string(self.0.join("ca.pem")).unwrap();
        self.write("roots.pem", &(root + &others), 0o644);
        "roots.pem"
    }

    /// Returns what `check` prints for a server end with these lines of `[process]` and this `ca`.
    fn check(&self, process: &str, ca: &str) -> String {
        let text = format!(
            "[process]\n{process}\n[server.pg]\nlisten = \":8443\"\nforward = \"127.0.0.1:5432\"\n\
             certificate = \"db.pem\"\nkey = \"db.key\"\n[server.pg.peers]\nca = \"{ca}\"\nany-of-ca = true\n"
        );
        tessera_tunnel::summary(&self.write("a.toml", &text, 0o644)).unwrap()
    }

    /// The same, and asserts that these are the only warnings.
    #[track_caller]
    fn warns(&self, process: &str, ca: &str, warnings: &[&str]) {
        let shown = self.check(process, ca);
        let lines: Vec<_> = shown.lines().filter(|line| line.starts_with("  warning")).collect();
        assert_eq!(lines.len(), warnings.len(), "{shown}");
        for warning in warnings {
            assert!(lines.iter().any(|line| line.contains(warning)), "{warning}: {shown}");
        }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_sound_file_has_no_warning() {
    let files = Files::new("meant", 200);
    for admin in ["127.0.0.1:9464", "[::1]:9464", "192.0.2.1:9464", "unix:/run/x.sock"] {
        files.warns(&format!("admin = \"{admin}\""), "ca.pem", &[]);
    }
}

#[test]
fn certificates_that_end_within_a_month_are_warnings() {
    Files::new("later", 31).warns("", "ca.pem", &[]);
    Files::new("soon", 30).warns("", "ca.pem", &["db.pem) expires within 30 days"]);
    let files = Files::new("root", 7);
    let roots = files.root_that_ends_soon();
    files.warns("", roots, &["[server.pg] certificate", "a root of [server.pg] peers.ca"]);
}

#[test]
fn metrics_that_everybody_can_ask_for_are_a_warning() {
    let files = Files::new("admin", 200);
    for admin in [":9464", "0.0.0.0:9464", "[::]:9464", "[::ffff:0.0.0.0]:9464"] {
        files.warns(&format!("admin = \"{admin}\""), "ca.pem", &["[process] admin: "]);
    }
}

#[test]
fn a_key_that_everybody_reads_or_writes_is_a_warning() {
    let files = Files::new("key", 200);
    for mode in [0o644, 0o604, 0o602] {
        fs::set_permissions(files.0.join("db.key"), fs::Permissions::from_mode(mode)).unwrap();
        files.warns("", "ca.pem", &["chmod o= "]);
    }
}

#[test]
fn a_certificate_that_vouches_for_itself_alone_is_a_warning_where_roots_belong() {
    let files = Files::new("leaf", 200);
    files.warns("", "db.pem", &["[server.pg] peers.ca: certificate 1 of "]);
    let [leaf, root] = ["db.pem", "ca.pem"].map(|it| fs::read_to_string(files.0.join(it)).unwrap());
    files.write("both.pem", &(root + &leaf), 0o644);
    files.warns("", "both.pem", &["certificate 2 of "]);
    // A self-signed certificate is accepted as it is.
    let own = CertificateParams::new(["app.example".to_owned()]).unwrap();
    let own = own.self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
    files.write("own.pem", &own, 0o644);
    files.warns("", "own.pem", &[]);
}

#[test]
fn a_client_without_certificate_key_and_psk_is_a_warning() {
    let files = Files::new("client", 200);
    for (identity, warns) in [("", true), ("certificate = \"db.pem\"\nkey = \"db.key\"", false)] {
        let text = format!(
            "[client.pg]\nlisten = \"127.0.0.1:5432\"\nconnect = \"db.example:8443\"\n{identity}\n\
             [client.pg.peers]\nca = \"ca.pem\"\n"
        );
        let shown = tessera_tunnel::summary(&files.write("c.toml", &text, 0o644)).unwrap();
        let warning =
            "[client.pg] certificate: without certificate, key or PSK every server end refuses";
        assert_eq!(shown.contains(warning), warns, "{shown}");
    }
}
