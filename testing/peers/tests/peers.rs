//! Checks every peer: its user, its network, and that nothing of it is left over.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::panic)]

use std::fs;
use std::process::Command;
use std::time::Duration;

use tessera_test_peers::{Directory, Network, PATIENCE, Process, openssl, table, wait_until};

#[test]
fn every_peer_of_the_table_is_installed_in_an_accepted_version() {
    let reasons: Vec<_> = table().filter_map(|peer| peer.version().err()).collect();
    assert_eq!(reasons, [""; 0]);
    assert_eq!(table().count(), 31);
}

#[test]
#[should_panic(expected = "cat is not in testing/peers/peers.txt")]
fn a_program_outside_the_table_is_not_started() {
    Process::start("cat", Network::None, ["/etc/hostname"]);
}

#[test]
fn a_peer_runs_unprivileged_in_a_directory_of_its_own() {
    let (server, _) = openssl::s_server(&["-nocert", "-psk", "00", "-tls1_3"]);
    let status = proc(&server, "status");
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.expect("a field of /proc/PID/status").split_whitespace().next().map(str::to_owned)
    };
    assert_eq!(field("NoNewPrivs:").as_deref(), Some("1"));
    assert_ne!(field("Uid:").as_deref(), Some("0"), "root drops its privileges");
    let directory = fs::read_link(format!("/proc/{}/cwd", server.id())).expect("it runs");
    assert_eq!(directory, server.directory().as_path());
    let environment = proc(&server, "environ");
    assert!(!environment.contains("CARGO"), "no variable of the test's: {environment}");
}

#[test]
fn a_peer_that_needs_no_network_has_none() {
    // It waits for its input.
    let hash = Process::start("openssl", Network::None, ["dgst", "-sha256"]);
    hash.wait_for("to be started", PATIENCE, || {
        proc(&hash, "cmdline").starts_with("openssl").then_some(())
    });
    let unshare = ["--user", "--map-current-user", "--net", "true"];
    let allowed = Command::new("unshare").args(unshare).status().expect("util-linux").success();
    // The loopback interface is always there; there are no others, and no routes.
    let interfaces = proc(&hash, "net/dev").lines().filter(|line| line.contains(':')).count();
    assert!(!allowed || interfaces == 1, "{}", proc(&hash, "net/dev"));
    assert!(!allowed || proc(&hash, "net/route").lines().count() <= 1);
}

#[test]
fn a_dropped_peer_is_gone_with_its_directory() {
    let (server, _) = openssl::s_server(&["-nocert", "-psk", "00", "-tls1_3"]);
    let (id, directory) = (server.id(), server.directory().as_path().to_owned());
    assert!(directory.exists());
    drop(server);
    assert!(!directory.exists());
    assert!(!fs::exists(format!("/proc/{id}")).expect("/proc can be read"));
}

#[test]
fn a_dropped_peer_takes_its_children_with_it() {
    let options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
    let more = ["--remote-debugging-port=0", "--user-data-dir=profile", "about:blank"];
    let browser = Process::start("chromium", Network::None, options.iter().chain(&more));
    let home = format!("HOME={}", browser.directory().as_path().display());
    let family = || {
        let processes = fs::read_dir("/proc").expect("/proc can be read").flatten();
        let environments = processes.filter_map(|it| fs::read(it.path().join("environ")).ok());
        environments.filter(|it| String::from_utf8_lossy(it).contains(&home)).count()
    };
    browser.wait_for("to have children", PATIENCE, || (family() > 2).then_some(()));
    drop(browser);
    wait_until("the browser's children end", || (family() == 0).then_some(()));
}

#[test]
fn a_peer_dies_with_a_test_that_is_killed() {
    const ROLE: &str = "TESSERA_PEERS_ROLE";
    if std::env::var_os(ROLE).is_some() {
        let (server, _) = openssl::s_server(&["-nocert", "-psk", "00", "-tls1_3"]);
        println!("pid={}.", server.id());
        // Like SIGKILL, this drops nothing.
        std::process::exit(0);
    }
    // Collects what the victim leaves behind.
    let directory = Directory::new();
    let output = Command::new(std::env::current_exe().expect("a test has a program"))
        .args(["--exact", "--nocapture", "a_peer_dies_with_a_test_that_is_killed"])
        .env(ROLE, "victim")
        .env("TMPDIR", directory.as_path())
        .output()
        .expect("the test starts itself");
    let output = String::from_utf8_lossy(&output.stdout);
    let id = output.split_once("pid=").and_then(|(_, rest)| rest.split_once('.'));
    let (id, _) = id.unwrap_or_else(|| panic!("no id in {output:?}"));
    wait_until("the kernel kills the peer", || {
        // A zombie waits for an init, which may be slow.
        let status = fs::read_to_string(format!("/proc/{id}/status"));
        status.map_or(true, |status| status.contains("State:\tZ")).then_some(())
    });
}

#[test]
#[should_panic(expected = "openssl was expected to print more, but wrote:\nOpenSSL 3.")]
fn a_peer_that_does_not_answer_fails_the_test_with_what_it_wrote() {
    let version = Process::start("openssl", Network::None, ["version"]);
    version.says("OpenSSL 3.");
    version.wait_for("to print more", Duration::ZERO, || None)
}

fn proc(process: &Process, file: &str) -> String {
    let path = format!("/proc/{}/{file}", process.id());
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    String::from_utf8_lossy(&bytes).into_owned()
}
