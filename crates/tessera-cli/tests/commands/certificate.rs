//! `tessera certificate`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use tessera_test_peers::{Directory, openssl};

use crate::program::{Pki, RSA, Server, facts, run, stderr, tessera};

/// An authority, and what it issues.
pub(crate) struct KemPki {
    directory: Directory,
}

impl KemPki {
    /// Makes an authority with a key of this kind.
    pub(crate) fn new(kind: &str) -> Self {
        let pki = Self { directory: Directory::new() };
        pki.make("authority", "root", &["--kind", kind, "--name", "An authority"]);
        pki
    }

    /// Issues a certificate with a key of this kind: `NAME.pem` with `NAME.key`.
    pub(crate) fn issue(&self, file: &str, kind: &str, more: &[&str]) {
        let [ca, ca_key] = ["root.pem", "root.key"].map(|name| self.path(name));
        let options = ["--ca", &ca, "--ca-key", &ca_key, "--kind", kind];
        self.make("issue", file, &[&options, more].concat());
    }

    fn make(&self, task: &str, file: &str, more: &[&str]) {
        let [certificate, key] = ["pem", "key"].map(|end| self.path(&format!("{file}.{end}")));
        let output = certificate_command(
            &[&[task, "--certificate", &certificate, "--key", &key], more].concat(),
        );
        assert!(output.status.success(), "{}", stderr(&output));
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.directory.path(name)
    }
}

/// The names of servers here.
pub(crate) const SERVER: &[&str] = &["--name", "localhost", "--name", "127.0.0.1"];

fn certificate_command(arguments: &[&str]) -> Output {
    run(tessera().arg("certificate").args(arguments), "")
}

fn refused(arguments: &[&str], advice: &[&str]) {
    let output = certificate_command(arguments);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
    for advice in advice {
        assert!(told.contains(advice), "{arguments:?}: {told}");
    }
}

fn text(path: &str) -> String {
    openssl::output(&["x509", "-noout", "-text", "-in", path])
}

#[test]
fn openssl_verifies_a_chain_of_an_authority_on_p256() {
    let pki = KemPki::new("p256");
    pki.issue("server", "p256", SERVER);
    let [root, own] = ["root.pem", "server.pem"].map(|name| pki.path(name));
    let verify = ["verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", &root, &own];
    assert!(openssl::output(&verify).contains("OK"));
    let root = text(&root);
    assert!(root.contains("CA:TRUE, pathlen:0") && root.contains("Certificate Sign"), "{root}");
    pki.issue("client", "ed25519", &["--name", "client.example", "--client"]);
    let client = text(&pki.path("client.pem"));
    for part in ["TLS Web Client Authentication", "DNS:client.example", "Digital Signature"] {
        assert!(client.contains(part), "{client}");
    }
}

/// RFC 9935 §5, RFC 8410 §5. Debian's OpenSSL doesn't know the keys.
#[test]
fn openssl_reads_certificates_with_keys_of_kems_whose_usage_is_theirs_alone() {
    let pki = KemPki::new("p256");
    for (kind, usage) in [
        ("ml-kem-512", "Key Encipherment"),
        ("ml-kem-768", "Key Encipherment"),
        ("ml-kem-1024", "Key Encipherment"),
        ("x25519", "Key Agreement"),
    ] {
        pki.issue(kind, kind, SERVER);
        let text = text(&pki.path(&format!("{kind}.pem")));
        for part in ["DNS:localhost, IP Address:127.0.0.1", "TLS Web Server Authentication"] {
            assert!(text.contains(part), "{text}");
        }
        let told = text.split_once("X509v3 Key Usage: critical\n").unwrap().1;
        assert_eq!(told.lines().next().unwrap().trim(), usage, "{kind}");
    }
}

#[test]
fn a_server_with_a_key_that_signs_is_verified_by_its_authority() {
    for (authority, kind) in
        [("ml-dsa-65", "ml-dsa-44"), ("ed25519", "p256"), ("ml-dsa-44", "ml-dsa-65")]
    {
        let pki = KemPki::new(authority);
        pki.issue("server", kind, SERVER);
        let [root, own, key] = ["root.pem", "server.pem", "server.key"].map(|it| pki.path(it));
        let server = Server::start(&["--certificate", &own, "--key", &key]);
        let told = facts(&server.connect(&["--ca", &root, "--json", "-"], "hello"));
        assert_eq!(told["peer"], "127.0.0.1", "{told}");
    }
}

#[test]
fn a_public_key_is_certified_whose_private_key_is_elsewhere() {
    let pki = KemPki::new("ml-dsa-44");
    let [root, root_key] = ["root.pem", "root.key"].map(|it| pki.path(it));
    let [own, key, public] = ["own.pem", "own.key", "own.pub"].map(|it| pki.path(it));
    let made = certificate_command(&[
        "key",
        "--kind",
        "ml-kem-768",
        "--key",
        &key,
        "--public-key",
        &public,
    ]);
    assert!(made.status.success(), "{}", stderr(&made));
    let issue = ["issue", "--ca", &root, "--ca-key", &root_key, "--certificate", &own];
    let issue = [&issue[..], SERVER, &["--public-key", &public]].concat();
    assert!(certificate_command(&issue).status.success());
    let server = Server::start(&["--kem-auth", "--certificate", &own, "--key", &key]);
    let told = facts(&server.connect(&["--kem-auth", "--ca", &root, "--json", "-"], "hello"));
    assert_eq!(told["server_signature_scheme"], "KEM_MLKEM768", "{told}");

    // A coefficient that is no residue (FIPS 203 §7.2).
    let text = fs::read_to_string(&public).unwrap();
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines[5] = "/".repeat(64);
    fs::write(&public, lines.join("\n")).unwrap();
    let again = [&issue[..], &["--force"]].concat();
    refused(&again, &[&public, "not a public key of its KEM"]);
    // X448 authenticates no end of TLS (RFC 8410 §3), and ML-KEM has no parameters (RFC 9935 §3).
    let mlkem = "MBIwDQYJYIZIAWUDBAQCBQADAQA=".to_owned();
    let x448 = "MEIwBQYDK2VvAzkA".to_owned() + &"CQkJ".repeat(18) + "CQk=";
    for key in [mlkem, x448] {
        let key = format!("-----BEGIN PUBLIC KEY-----\n{key}\n-----END PUBLIC KEY-----\n");
        fs::write(&public, key).unwrap();
        refused(&again, &["--public-key", "no end of TLS authenticates"]);
    }
}

#[test]
fn keys_are_their_owners_and_files_are_replaced_on_request_alone() {
    let pki = KemPki::new("p256");
    let [own, key] = ["root.pem", "root.key"].map(|it| pki.path(it));
    let mode = || fs::metadata(&key).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    let before = fs::read(&key).unwrap();
    let again =
        ["authority", "--kind", "p256", "--name", "A", "--certificate", &own, "--key", &key];
    refused(&again, &[&key, "--force"]);
    fs::rename(&key, pki.path("moved")).unwrap();
    refused(&again, &[&own, "--force"]);
    assert!(!fs::exists(&key).unwrap());
    fs::rename(pki.path("moved"), &key).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(certificate_command(&[&again[..], &["--force"]].concat()).status.success());
    assert_eq!(mode(), 0o600);
    assert_ne!(fs::read(&key).unwrap(), before);
    let nowhere = pki.path("no/such/key");
    let mut nowhere = again.map(|it| if it == key { nowhere.as_str() } else { it }).to_vec();
    nowhere.push("--force");
    refused(&nowhere, &["its directory does not exist; check the path after --key"]);
    // A key would be in the way of the next attempt.
    fs::remove_file(&key).unwrap();
    let nowhere = pki.path("no/such/certificate");
    let nowhere = again.map(|it| if it == own { nowhere.as_str() } else { it });
    refused(&nowhere, &["its directory does not exist; check the path after --certificate"]);
    assert!(!fs::exists(&key).unwrap());
}

#[test]
fn errors_of_an_issuer_name_the_file_and_the_fix() {
    let (pki, other, rsa) = (KemPki::new("p256"), KemPki::new("p256"), Pki::new(RSA));
    pki.issue("server", "p256", SERVER);
    let [own, key] = ["new.pem", "new.key"].map(|it| pki.path(it));
    let [root, root_key, leaf, leaf_key] =
        ["root.pem", "root.key", "server.pem", "server.key"].map(|it| pki.path(it));
    let [other_key, rsa, rsa_key] =
        [other.path("root.key"), rsa.path("root.pem"), rsa.path("root.key")];
    let issue = |ca: &str, ca_key: &str, name: &str, advice: &[&str]| {
        let options = ["issue", "--kind", "ml-kem-768", "--certificate", &own, "--key", &key];
        let ca = ["--ca", ca, "--ca-key", ca_key, "--name", name];
        refused(&[&options[..], &ca].concat(), advice);
        assert!(!fs::exists(&key).unwrap() && !fs::exists(&own).unwrap());
    };
    issue(&root, &other_key, "a", &[&other_key, "--ca and --ca-key"]);
    issue(&leaf, &leaf_key, "a", &[&leaf, "not an authority's", "tessera certificate authority"]);
    issue(&rsa, &rsa_key, "a", &["--ca-key", "ML-DSA-65"]);
    issue(&root, &root, "a", &[&root, "no private key in this file", "--ca-key"]);
    issue(&root_key, &root_key, "a", &[&root_key, "no certificate in this file"]);
    let disordered = pki.path("disordered.pem");
    fs::write(&disordered, [&root, &leaf].map(|it| fs::read_to_string(it).unwrap()).concat())
        .unwrap();
    issue(&disordered, &root_key, "a", &[&disordered, "2 is not the issuer of certificate 1"]);
    issue(&root, &root_key, "not a name", &["--name \"not a name\""]);
    let authority = ["authority", "--kind", "p256", "--certificate", &own, "--key", &key, "--name"];
    refused(&[&authority[..], &[&"x".repeat(65)]].concat(), &["--name: 1 to 64 characters"]);
    let kem = ["authority", "--kind", "ml-kem-768", "--certificate", &own, "--key", &key];
    refused(&[&kem[..], &["--name", "A"]].concat(), &["invalid value 'ml-kem-768'", "ml-dsa-65"]);
}

/// With --force each would replace the other, and a key be gone.
#[test]
fn no_file_takes_the_place_of_another_of_the_same_command() {
    let pki = KemPki::new("p256");
    let [root, root_key, own] = ["root.pem", "root.key", "own"].map(|it| pki.path(it));
    let (before, before_key) = (fs::read(&root).unwrap(), fs::read(&root_key).unwrap());
    let link = pki.path("link");
    std::os::unix::fs::symlink(&root_key, &link).unwrap();
    let force = ["--force"];
    let same = |task: &[&str], [one, other]: [&str; 2]| {
        let advice = [format!("{one} and {other} name the same file")];
        refused(&[task, &force].concat(), &[&advice[0]]);
    };
    let kind = ["--kind", "p256"];
    let both = ["--key", &own, "--certificate", &own];
    same(&[&["authority", "--name", "A"], &kind[..], &both].concat(), ["--key", "--certificate"]);
    let halves = ["key", "--key", &own, "--public-key", &own];
    same(&[&halves[..], &kind].concat(), ["--key", "--public-key"]);
    let issue = ["issue", "--name", "a", "--ca", &root, "--ca-key", &root_key];
    let issue = [&issue[..], &kind].concat();
    same(&[&issue[..], &both].concat(), ["--key", "--certificate"]);
    let over = ["--key", &root_key, "--certificate", &own];
    same(&[&issue[..], &over].concat(), ["--ca-key", "--key"]);
    let over = ["--key", &own, "--certificate", &root];
    same(&[&issue[..], &over].concat(), ["--ca", "--certificate"]);
    assert!(!fs::exists(&own).unwrap());
    // A link is replaced, and not what it leads to; without --force it is in the way.
    let at_link = [&issue[..], &["--key", &link, "--certificate", &own]].concat();
    refused(&at_link, &[&link, "--force"]);
    assert!(certificate_command(&[&at_link[..], &force].concat()).status.success());
    assert!(!fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&link).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!((fs::read(&root).unwrap(), fs::read(&root_key).unwrap()), (before, before_key));
}

#[test]
fn names_that_no_certificate_has_are_refused() {
    let pki = KemPki::new("p256");
    let [root, root_key, own, key] =
        ["root.pem", "root.key", "new.pem", "new.key"].map(|it| pki.path(it));
    let long = "a".repeat(64) + ".example";
    let names =
        ["", "*", "*.", "*.*.example", "a b", "a\nb", "a..b", "a.*", "münchen.example", "-", &long];
    for name in names.into_iter().chain(["a,DNS:b", "*.192.0.2.1", "192.0.2.256", "[::1]"]) {
        let issue = ["issue", "--ca", &root, "--ca-key", &root_key, "--kind", "x25519"];
        let files = ["--certificate", &own, "--key", &key];
        let name_option = format!("--name={name}");
        refused(&[&issue[..], &files, &[&name_option]].concat(), &["--name"]);
        assert!(!fs::exists(&key).unwrap() && !fs::exists(&own).unwrap(), "{name:?}");
    }
}

#[test]
fn a_file_of_several_public_keys_is_refused_and_so_is_an_authority_that_may_not_sign() {
    let pki = KemPki::new("p256");
    let [root, root_key, own, several] =
        ["root.pem", "root.key", "own.pem", "several.pub"].map(|it| pki.path(it));
    let mut both = String::new();
    for name in ["one", "two"] {
        let [key, public] = ["key", "pub"].map(|end| pki.path(&format!("{name}.{end}")));
        let make = ["key", "--kind", "ml-kem-768", "--key", &key, "--public-key", &public];
        assert!(certificate_command(&make).status.success());
        both += &fs::read_to_string(&public).unwrap();
    }
    fs::write(&several, both).unwrap();
    let issue = ["issue", "--name", "a", "--certificate", &own, "--public-key", &several];
    let ca = ["--ca", &root, "--ca-key", &root_key];
    refused(&[&issue[..], &ca].concat(), &[&several, "2 public keys in this file"]);
    let connect = run(tessera().args(["connect", "localhost:1", "--known-key", &several]), "");
    assert_eq!(connect.status.code(), Some(2));
    assert!(stderr(&connect).contains("2 public keys in this file"), "{}", stderr(&connect));

    // A certificate with cA, for a key that may only agree on keys.
    let odd = pki.path("odd.pem");
    fs::set_permissions(&root_key, fs::Permissions::from_mode(0o644)).unwrap();
    let subject = ["req", "-x509", "-key", &root_key, "-subj", "/CN=odd"];
    let usage = ["-addext", "keyUsage=critical,keyAgreement"];
    fs::write(&odd, openssl::output(&[&subject[..], &usage].concat())).unwrap();
    let issue = ["issue", "--kind", "p256", "--name", "a", "--certificate", &own];
    let key = pki.path("own.key");
    let odd_ca = ["--key", &key, "--ca", &odd, "--ca-key", &root_key];
    refused(&[&issue[..], &odd_ca].concat(), &[&odd, "keyCertSign"]);
}
