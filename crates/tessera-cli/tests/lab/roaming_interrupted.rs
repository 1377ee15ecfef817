//! `tessera lab roaming` with failures around it: it is interrupted, its etcd ends, its disk is full, its journal
//! doesn't match.
#![cfg(feature = "lab")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tessera_test_peers::Directory;

fn roaming(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tessera"));
    command.args(ROAMING).args(arguments);
    command
}

const ROAMING: [&str; 4] = ["lab", "roaming", "--link", "loopback"];

/// As above, but terminated by signals as from a terminal: the process that starts the tests may ignore signals (a
/// shell's background jobs do), and children inherit that.
fn interruptible(arguments: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command.args(["-c", WITH_SIGNALS, env!("CARGO_BIN_EXE_tessera")]).args(ROAMING).args(arguments);
    command
}

const WITH_SIGNALS: &str = "import os, signal, sys
for each in signal.SIGINT, signal.SIGTERM, signal.SIGHUP: signal.signal(each, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])";

fn run(arguments: &[&str]) -> Output {
    roaming(arguments).output().expect("starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Starts it, and returns its output, line by line.
fn start(mut command: Command) -> (Child, BufReader<ChildStdout>) {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("starts");
    let stdout = child.stdout.take().expect("a pipe");
    (child, BufReader::new(stdout))
}

/// Reads lines up to one that begins with this.
fn until(stdout: &mut impl BufRead, begin: &str) {
    let found = stdout.lines().any(|line| line.expect("reads").starts_with(begin));
    assert!(found, "no line begins with {begin:?}");
}

/// Sends a signal to a process, or to a group of them.
fn signal(name: &str, target: &str) {
    let sent = Command::new("kill").args(["-s", name, "--", target]).status().expect("kill runs");
    assert!(sent.success(), "{name} {target}");
}

/// More cells than are measured before the test ends.
const MANY: [&str; 4] =
    ["--cells", "through=endpoints,link=none,loss=0,store=memory", "--link-repetitions", "2000"];

#[test]
fn an_interrupted_run_prints_how_to_resume_it() {
    let directory = Directory::new();
    let journal = directory.path("cells.jsonl");
    for (options, words) in [
        (["--resume", &journal].as_slice(), [journal.as_str(), "same command"]),
        (&[], ["--resume FILE", "nothing"]),
    ] {
        let (mut child, mut stdout) = start(interruptible(&[&MANY, options].concat()));
        until(&mut stdout, "seed");
        signal("INT", &child.id().to_string());
        let mut told = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut told).expect("reads");
        assert_eq!(child.wait().expect("ends").code(), Some(130), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        assert!(told.starts_with("interrupted: "), "{told}");
        assert!(words.iter().all(|word| told.contains(word)), "{told}");
    }
}

fn has_etcd() -> bool {
    let found = Command::new("etcd").arg("--version").output().is_ok();
    if !found {
        eprintln!("not run: the program `etcd` is not on PATH");
    }
    found
}

/// A terminal or a service manager signals all processes of a group.
#[test]
fn signals_to_the_whole_group_leave_no_etcd_and_no_data_behind() {
    if !has_etcd() {
        return;
    }
    for name in ["INT", "TERM", "HUP"] {
        let directory = Directory::new();
        let cells = "through=endpoints,link=none,loss=0,store=etcd,suite=0x1302";
        let mut command = interruptible(&["--cells", cells, "--link-repetitions", "30"]);
        command.env("TMPDIR", directory.as_path()).process_group(0);
        let (mut child, mut stdout) = start(command);
        // After the first row, its etcd runs.
        until(&mut stdout, "(e) ");
        let left = || fs::read_dir(directory.as_path()).expect("is there").count();
        assert_eq!(left(), 1, "the data of etcd");
        signal(name, &format!("-{}", child.id()));
        child.wait().expect("ends");
        let begun = Instant::now();
        while left() > 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{name}: the data is still there");
            sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn an_etcd_that_ends_at_once_is_the_reason_why_its_cells_are_not_run() {
    let directory = Directory::new();
    let etcd = directory.write("etcd", "#!/bin/sh\nexit 3\n");
    fs::set_permissions(&etcd, fs::Permissions::from_mode(0o755)).expect("its owner may");
    let path = std::env::var("PATH").unwrap_or_default();
    let cells = "through=engine,store=etcd,ticket_key=psk,suite=0x1302";
    let mut command = roaming(&["--cells", cells, "--repetitions", "2"]);
    command.env("PATH", format!("{}:{path}", directory.as_path().display()));
    let output = command.output().expect("starts");
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("`etcd` ended as soon as it was started: exit status: 3"), "{stderr}");
}

/// A limit on the file's size looks like a full disk to the writer.
#[test]
fn a_disk_that_is_full_leaves_the_last_report_whole() {
    let directory = Directory::new();
    let report = directory.write("report.json", "the last report");
    let arguments = ["--cells", "through=engine,option=b", "--repetitions", "200", "--json"];
    let mut shell = Command::new("bash");
    shell.args(["-c", "ulimit -f 1; trap '' XFSZ; exec \"$@\"", "bash"]);
    let command = roaming(&arguments);
    let output = shell.arg(command.get_program()).args(command.get_args()).arg(&report).output();
    let output = output.expect("starts");
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("writing the report: File too large"), "{stderr}");
    assert_eq!(fs::read_to_string(&report).expect("is there"), "the last report");
    assert_eq!(fs::read_dir(directory.as_path()).expect("is there").count(), 1);
}

#[test]
fn one_file_is_not_taken_for_two() {
    let directory = Directory::new();
    let journal = directory.path("cells.jsonl");
    let cells = ["--cells", "through=engine,option=b,suite=0x1302", "--repetitions", "2"];
    let output = run(&[&cells[..], &["--resume", &journal]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let kept = fs::read_to_string(&journal).expect("a journal");
    let link = directory.path("link");
    std::os::unix::fs::symlink(&journal, &link).expect("a link");
    let (roundabout, new) = (directory.path("./cells.jsonl"), directory.path("new"));
    for options in [
        ["--resume", &journal, "--json", &roundabout],
        ["--resume", &link, "--report", &journal],
        ["--resume", &new, "--json", &new],
        ["--json", &new, "--report", &new],
    ] {
        let output = run(&[&cells[..], &options].concat());
        let stderr = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {stderr}");
        assert!(stderr.contains(options[0]) && stderr.contains(options[2]), "{stderr}");
        assert!(stderr.contains("both name the file"), "{stderr}");
    }
    assert_eq!(fs::read_to_string(&journal).expect("a journal"), kept);
    assert!(!Path::new(&new).exists());
}

#[test]
fn a_journal_that_was_changed_is_refused_with_the_line() {
    let directory = Directory::new();
    let journal = directory.path("cells.jsonl");
    let cells = ["--cells", "through=engine,option=b", "--repetitions", "6", "--resume", &journal];
    let output = run(&cells);
    assert!(output.status.success(), "{}", stderr(&output));
    let kept = fs::read_to_string(&journal).expect("a journal");
    let first = kept.lines().nth(1).expect("a cell");
    for (changed, words) in [
        (format!("{kept}{first}\n"), "line 4 is engine/b/"),
        (kept.replace("\"failed\":0", "\"failed\":999"), "line 2"),
        (kept.replace("\"rtt_ms\":0.0", "\"rtt_ms\":7.5"), "the grid has no"),
    ] {
        assert_ne!(changed, kept);
        fs::write(&journal, &changed).expect("writes");
        let output = run(&cells);
        let stderr = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("--resume") && stderr.contains(words), "{stderr}");
        assert_eq!(fs::read_to_string(&journal).expect("a journal"), changed);
    }
    for path in ["/dev/full", directory.as_path().to_str().expect("UTF-8")] {
        let output = run(&["--resume", path]);
        let stderr = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("it is not a regular file"), "{stderr}");
    }
}

/// Names as in the tables match the same cells.
#[test]
fn the_help_has_the_values_of_a_filter_and_tables_words_are_understood() {
    let help = run(&["--help"]);
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    for values in
        ["kx: x25519, x25519mlkem768, none", "loss: 0, 0.001, 0.01", "link: none, seoul-tokyo"]
    {
        assert!(help.contains(values), "no {values:?} in {help}");
    }
    let cells = "through=engine,kx=hybrid,option=c,suite=0x1302,loss=0%";
    let output = run(&["--cells", cells, "--repetitions", "2"]);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", stderr(&output));
    let rows = stdout.lines().filter(|line| line.contains("hybrid") && line.contains("0x1302"));
    assert!(rows.count() >= 1, "{stdout}");
}
