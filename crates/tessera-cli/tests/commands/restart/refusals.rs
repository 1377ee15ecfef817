//! State directories that can't be used, as the server's user sees them.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::{fs, io};

use tessera_test_peers::Directory;

use super::supervisor::RUNTIME_DIRECTORY;
use crate::program::{run, signal, stderr, tessera};

/// A state directory, and the directory in memory for its key.
struct Place {
    files: Directory,
    runtime: Directory,
}

impl Place {
    fn new() -> Self {
        let runtime = Directory::new_in(Path::new("/dev/shm")).unwrap();
        Self { files: Directory::new(), runtime }
    }

    /// Makes one that a server left properly.
    fn left() -> Self {
        let place = Self::new();
        place.start(&[]).end();
        place
    }

    fn state(&self, file: &str) -> String {
        self.files.path(&format!("state/{file}"))
    }

    fn serve(&self, options: &[&str]) -> Command {
        let mut serve = tessera();
        serve.args(["serve", "--listen", "127.0.0.1:0", "--json", "-"]);
        serve.args(["--state", &self.files.path("state")]).args(options);
        serve.env(RUNTIME_DIRECTORY, self.runtime.as_path());
        serve
    }

    /// Starts a server, and returns what it found.
    fn start(&self, options: &[&str]) -> RunningServer {
        let mut child = self.serve(options).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let told: Vec<_> = lines.take(2).collect::<io::Result<_>>().unwrap();
        let found: serde_json::Value = serde_json::from_str(&told[1]).unwrap();
        RunningServer { child, found: found["found"].as_str().unwrap().to_owned() }
    }

    /// Starts a server that must refuse; returns its error.
    fn refuses(&self, options: &[&str]) -> String {
        refuses(&mut self.serve(options))
    }

    fn change(&self, file: &str, how: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(self.state(file)).unwrap();
        how(&mut bytes);
        fs::write(self.state(file), bytes).unwrap();
    }
}

fn refuses(command: &mut Command) -> String {
    let output = run(command, "");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    stderr(&output)
}

struct RunningServer {
    child: Child,
    found: String,
}

impl RunningServer {
    fn end(mut self) {
        signal(&self.child, "-TERM");
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tells(told: &str, words: &[&str]) {
    assert!(words.iter().all(|word| told.contains(word)), "{told}");
}

const AFRESH: &str = "to start afresh, which costs each client a full handshake: rm -f ";

#[test]
fn a_state_that_is_damaged_newer_or_in_use_is_refused_with_its_remedy() {
    let place = Place::left();
    for (file, word, how) in [
        ("ring", "damaged", (|bytes| bytes.truncate(40)) as fn(&mut Vec<u8>)),
        ("ring", "damaged", |bytes| bytes[60] ^= 4),
        ("ring", "newer version", |bytes| bytes[7] = 9),
        ("snapshot", "damaged", |bytes| bytes.truncate(20)),
        ("snapshot", "newer version", |bytes| bytes[7] = 99),
        ("state", "damaged", |bytes| bytes[0] ^= 1),
    ] {
        let good = fs::read(place.state(file)).unwrap();
        place.change(file, how);
        tells(&place.refuses(&[]), &[&place.state(file), word, AFRESH]);
        fs::write(place.state(file), good).unwrap();
    }
    let running = place.start(&[]);
    assert_eq!(running.found, "closed");
    tells(&place.refuses(&[]), &["another process uses this state"]);
    running.end();
    assert_eq!(place.start(&[]).found, "closed", "nothing of all that was in its way");
    assert_eq!(place.start(&[]).found, "crashed");
}

/// The server fails after it has read the one-time keys.
#[test]
fn a_start_that_fails_half_way_costs_clients_nothing() {
    let place = Place::new();
    let key = place.files.path("key");
    fs::write(&key, [7; 32]).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let note = place.state("key-was");
    for options in [&["--state-key", key.as_str()][..], &[]] {
        place.start(options).end();
        // The note can be neither removed nor written.
        let _ = fs::remove_file(&note);
        fs::create_dir(&note).unwrap();
        let output = run(&mut place.serve(options), "");
        assert!(!output.status.success());
        tells(&stderr(&output), &[&note]);
        fs::remove_dir(&note).unwrap();
        assert_eq!(place.start(options).found, "closed");
        fs::remove_dir_all(place.files.path("state")).unwrap();
    }
}

#[test]
fn a_state_without_its_key_is_begun_afresh_only_after_the_power_was_off() {
    let place = Place::left();
    let mut paths = fs::read_dir(place.runtime.as_path()).unwrap().map(|it| it.unwrap().path());
    let key = paths.find(|path| path.extension().is_some_and(|it| it == "key")).unwrap();
    fs::remove_file(&key).unwrap();
    let words = ["its key is gone", "RuntimeDirectoryPreserve=yes", AFRESH];
    tells(&place.refuses(&[]), &words);
    // Simulates a reboot, or another machine.
    place.change("key-was", |note| note[5] ^= 1);
    assert_eq!(place.start(&[]).found, "key-gone");
    place.start(&[]).end();
    fs::remove_file(&key).unwrap();
    fs::remove_file(place.state("key-was")).unwrap();
    tells(&place.refuses(&[]), &["not kept by this program", "--state-key", AFRESH]);
}

#[test]
fn the_key_of_a_state_is_read_from_its_configured_place() {
    let place = Place::new();
    let key = place.files.path("key");
    fs::write(&key, [7; 32]).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    let option = ["--state-key", key.as_str()];
    tells(&place.refuses(&option), &["others can read this key", "chmod 600"]);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    place.start(&option).end();
    assert_eq!(place.start(&option).found, "closed");
    fs::write(&key, [8; 32]).unwrap();
    tells(&place.refuses(&option), &["another key", AFRESH]);
    fs::write(&key, [0; 32]).unwrap();
    tells(&place.refuses(&option), &["zeros"]);
    fs::write(&key, "short").unwrap();
    tells(&place.refuses(&option), &["not a key: 32 bytes"]);
    fs::write(&key, [7; 32]).unwrap();
    fs::copy(&key, place.state("key")).unwrap();
    tells(&place.refuses(&["--state-key", &place.state("key")]), &["next to the state"]);
    fs::remove_file(place.state("key")).unwrap();

    let credential = ["--state-key", "credential:key"];
    tells(&place.refuses(&credential), &["no credentials", "LoadCredential=key:FILE"]);
    let mut serve = place.serve(&["--state-key", "credential:../key"]);
    tells(&refuses(serve.env("CREDENTIALS_DIRECTORY", "/")), &["without a path"]);
    let mut serve = place.serve(&["--state-key", "credential:gone"]);
    let told = refuses(serve.env("CREDENTIALS_DIRECTORY", place.files.as_path()));
    tells(&told, &["no such file"]);
    // On a disk the key would survive a power loss.
    let mut serve = place.serve(&[]);
    tells(&refuses(serve.env(RUNTIME_DIRECTORY, "/proc")), &["on a disk", "--state-key"]);
}

/// Returns what the server reports to its user at the start.
fn warned(place: &Place, options: &[&str]) -> (String, String) {
    let mut child = place.serve(options);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let told: Vec<_> = lines.take(2).collect::<io::Result<_>>().unwrap();
    signal(&child, "-TERM");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    (told[1].clone(), stderr(&output))
}

#[test]
fn a_state_that_is_put_back_is_noticed_by_its_witness_or_warned_of() {
    let place = Place::new();
    let key = place.files.path("key");
    fs::write(&key, [7; 32]).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let (state, copy) = (place.files.path("state"), place.files.path("copy"));
    let copied = |from: &str, to: &str| {
        let _ = fs::remove_dir_all(to);
        assert!(Command::new("cp").args(["-a", from, to]).status().unwrap().success());
    };
    // No warning where an old copy can't be opened.
    let (found, told) = warned(&place, &[]);
    assert!(found.contains(r#""old_copies":"refused""#) && told.is_empty(), "{found} {told}");
    fs::remove_dir_all(&state).unwrap();

    let alone = ["--state-key", key.as_str()];
    warned(&place, &alone);
    copied(&state, &copy);
    for _ in 0..2 {
        let (found, told) = warned(&place, &alone);
        assert!(found.contains(r#""found":"closed""#) && found.contains("unnoticed"), "{found}");
        tells(
            &told,
            &[
                "warning: ",
                &state,
                "nothing detects an old copy",
                "executed twice",
                "`state-witness`",
            ],
        );
        copied(&copy, &state);
    }

    let witness = place.files.path("witness");
    let witnessed = [&alone[..], &["--state-witness", &witness]].concat();
    for _ in 0..2 {
        let (found, told) = warned(&place, &witnessed);
        assert!(found.contains(r#""found":"closed""#) && told.is_empty(), "{found} {told}");
    }
    copied(&state, &copy);
    warned(&place, &witnessed);
    for _ in 0..2 {
        copied(&copy, &state);
        let (found, told) = warned(&place, &witnessed);
        assert!(found.contains(r#""found":"rolled-back""#), "{found}");
        tells(&told, &["warning: ", &state, "it doesn't match its witness"]);
    }

    let wrong = |directory: &str, words: &[&str]| {
        tells(&place.refuses(&[&alone[..], &["--state-witness", directory]].concat()), words);
    };
    fs::set_permissions(&witness, fs::Permissions::from_mode(0o777)).unwrap();
    wrong(&witness, &["others can write", "chmod go-w"]);
    wrong(&key, &["a directory is needed", "--state-witness"]);
    wrong(&place.state("witness"), &["the witness is in the state"]);
    let told = place.refuses(&["--state-witness", &witness]);
    tells(&told, &["--state-key"]);
}

/// Runs with the state directory on its own file system.
fn mounted(place: &Place, options: &str) -> Command {
    fs::create_dir(place.files.path("state")).unwrap();
    let script = r#"mount -t tmpfs -o mode=700 none "$1" && chmod "${0%,*}" "$1" && mount -o "remount,${0#*,}" "$1" && shift && exec "$@""#;
    let serve = place.serve(&[]);
    let mut command = Command::new("unshare");
    // Root of a user namespace could not use files of the peers' user.
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        command.arg("--map-root-user");
    }
    command.args(["--mount", "sh", "-c", script, options]);
    command.arg(place.files.path("state")).arg(serve.get_program()).args(serve.get_args());
    command.env(RUNTIME_DIRECTORY, place.runtime.as_path());
    command
}

#[test]
fn a_state_on_a_full_or_read_only_file_system_is_refused() {
    let place = Place::new();
    tells(&refuses(&mut mounted(&place, "700,size=4k")), &["the file system is full"]);
    let place = Place::new();
    tells(&refuses(&mut mounted(&place, "700,ro")), &["read-only", "on another"]);
    let place = Place::new();
    tells(&refuses(&mut mounted(&place, "777,rw")), &["others can write", "chmod go-w"]);
}

#[test]
fn a_state_whose_path_leads_nowhere_is_refused_with_the_option_that_has_it() {
    let place = Place::new();
    let refused = |path: &str| {
        let mut serve = tessera();
        serve.args(["serve", "--listen", "127.0.0.1:0", "--state", path]);
        refuses(serve.env(RUNTIME_DIRECTORY, place.runtime.as_path()))
    };
    let nowhere = place.files.path("nowhere/state");
    let expected = "its directory does not exist; create it, or check the path after --state";
    tells(&refused(&nowhere), &[&nowhere, expected]);
    let file = place.files.write("file", "");
    tells(&refused(&file), &["a directory is needed; check the path after --state"]);
}
