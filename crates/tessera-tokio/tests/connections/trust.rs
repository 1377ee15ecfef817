//! Trust in the operating system's store.
#![cfg(feature = "system-trust")]

use std::fs;
use std::process::Command;

use tessera_pki::Authority;

const CHILD: &str = "TESSERA_TEST_HAS_ROOTS";

fn child(name: &str, expected: &str, contents: &str) {
    let file = format!("tessera-tokio-roots-{name}-{}.pem", std::process::id());
    let file = std::env::temp_dir().join(file);
    fs::write(&file, contents).unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "trust::a_process_with_a_trust_store"])
        .env("SSL_CERT_FILE", &file)
        .env_remove("SSL_CERT_DIR")
        .env(CHILD, expected)
        .output();
    fs::remove_file(&file).unwrap();
    let output = child.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn root() -> String {
    Authority::new("root").pem()
}

#[test]
fn the_roots_of_the_system_are_found() {
    child("found", "some", &root());
}

#[test]
fn a_bad_root_of_the_system_is_skipped() {
    let bad = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    child("bad", "some", &format!("{bad}{}", root()));
}

#[test]
fn a_system_without_roots_is_an_error() {
    child("none", "none", "");
}

/// Body of the processes that the tests above start; does nothing otherwise.
#[test]
fn a_process_with_a_trust_store() {
    let Some(expected) = std::env::var_os(CHILD) else { return };
    assert_eq!(tessera_tokio::system_verifier().is_ok(), expected == "some");
}
