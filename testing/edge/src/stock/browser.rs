//! Browsers without a window.

use std::process::{Command, Stdio};

use tessera_test_peers::{Directory, Network, Process};

use super::{Itinerary, origin};
use crate::client::ORIGIN;

/// Starts Firefox with a profile of its own.
#[track_caller]
pub(super) fn firefox(to: &Itinerary<'_>, ca: &str, files: &Directory) -> Process {
    let program = std::env::var("FIREFOX").unwrap_or_else(|_| "firefox-esr".to_owned());
    // It must be looked for here: in the end it is a shell that starts it.
    let found = Command::new(&program).arg("--version").stdout(Stdio::null()).status();
    assert!(found.is_ok(), "FIREFOX must name Firefox, and {program} can't be started");
    let profile = trusting(ca, files, "profile");
    files.write("profile/user.js", PREFERENCES);
    let hosts = files.write("hosts", format!("{} {ORIGIN}\n", to.origin.ip()));
    // Its own /etc/hosts: Firefox has no option for a name's address. A user namespace lets it mount that without
    // privileges.
    let mount = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
    let words = ["--user", "--map-root-user", "--mount", "sh", "-c", mount, &hosts, &program];
    let page = page(to);
    let options = ["--headless", "--no-remote", "--profile", &profile, &page];
    Process::start_compiled_by(to.spawn, "Firefox", "unshare", words.iter().chain(&options))
}

const PREFERENCES: &str = r#"
// Names come from /etc/hosts alone.
user_pref("network.trr.mode", 5);
user_pref("browser.dom.window.dump.enabled", true);
user_pref("devtools.console.stdout.content", true);
// Times in full.
user_pref("privacy.reduceTimerPrecision", false);
// It looks for no network, and opens nothing by itself.
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.aboutwelcome.enabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);
user_pref("app.update.enabled", false);
user_pref("extensions.update.enabled", false);
user_pref("services.settings.server", "");
user_pref("browser.safebrowsing.malware.enabled", false);
user_pref("browser.safebrowsing.phishing.enabled", false);
user_pref("browser.safebrowsing.downloads.enabled", false);
"#;

/// Starts Chromium with a profile of its own. Its home has the certificates that it trusts.
#[track_caller]
pub(super) fn chromium(to: &Itinerary<'_>, ca: &str, files: &Directory) -> Process {
    let home = files.path("");
    trusting(ca, files, ".pki/nssdb");
    let rule = format!("--host-resolver-rules=MAP {ORIGIN} {}", to.origin.ip());
    let profile = format!("--user-data-dir={}", files.path("profile"));
    let page = page(to);
    let options = [
        "--headless",
        // Its own sandbox needs privileges that it can't have here.
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        // Containers have little shared memory.
        "--disable-dev-shm-usage",
        "--enable-logging=stderr",
        // For the page to go on.
        "--remote-debugging-port=0",
        &rule,
        &profile,
        &page,
    ];
    let at_home = |mut command: Command| {
        command.env("HOME", &home);
        (to.spawn)(command)
    };
    Process::start_by(at_home, "chromium", options)
}

fn page(to: &Itinerary<'_>) -> String {
    format!("{}/page?pause={}&prefix={}", origin(to), to.pause.as_millis(), to.prefix)
}

/// Makes a database of certificates that trusts an authority; returns its directory.
#[track_caller]
fn trusting(ca: &str, files: &Directory, name: &str) -> String {
    let directory = files.path(name);
    let certutil = |words: &[&str]| {
        let database = format!("sql:{directory}");
        let words = [words, &["-d", &database]].concat();
        let mut process = Process::start("certutil", Network::None, words);
        assert!(process.end_input().ends(), "certutil failed: {}", process.output());
    };
    make_directory(files, name);
    certutil(&["-N", "--empty-password"]);
    certutil(&["-A", "-n", "authority", "-t", "CT,,", "-i", ca]);
    directory
}

/// Makes a directory, and those above it, for peers.
fn make_directory(files: &Directory, name: &str) {
    use std::os::unix::fs::{MetadataExt, chown};
    let owner = std::fs::metadata(files.as_path()).unwrap();
    let mut path = files.as_path().to_owned();
    for part in name.split('/') {
        path.push(part);
        std::fs::create_dir(&path).unwrap();
        chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
}
