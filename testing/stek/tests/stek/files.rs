//! Servers with ticket keys in files: nghttpx, and commands that go wrong.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera_aws_lc::provider;
use tessera_ring::Installer;
use tessera_stek::keys::{ServerKeys, TicketKeyDomain};
use tessera_stek::servers::files::{FileFormat, KeyFileParts, KeyFiles, ReloadCommand};
use tessera_stek_tests::{Fleet, RunningServer, ring_keys, settled, until};
use tessera_test_peers::Directory;
use tessera_vault::TicketKeyForm;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tickets_cross_between_two_nghttpx_through_rotations() {
    let fleet = Fleet::new();
    let mut servers = [RunningServer::nghttpx(&fleet.pki), RunningServer::nghttpx(&fleet.pki)];
    servers.iter_mut().for_each(RunningServer::start);
    let join = |name: &str, server: &RunningServer| {
        let parts = server.nghttpx_installer(fleet.keys("nghttpx"), fleet.canary());
        fleet.join(name, Arc::new(KeyFiles::new(parts).unwrap()))
    };
    let rings = [join("a", &servers[0]), join("b", &servers[1])];
    let rings: Vec<_> = rings.iter().collect();
    settled(&rings).await;
    let [a, b] = [0, 1].map(|at: usize| servers[at].address);
    let canary = fleet.canary();
    let mut names = std::collections::BTreeSet::new();
    for round in 0..20 {
        let ticket = canary.ticket(a).await.unwrap();
        names.insert(*ticket.key_name().unwrap());
        assert!(canary.resumes(b, ticket).await.unwrap(), "round {round}");
        let earlier = canary.ticket(b).await.unwrap();
        rings[round % 2].rotate().await.unwrap();
        assert!(canary.resumes(a, earlier).await.unwrap(), "round {round}, over a rotation");
        settled(&rings).await;
    }
    assert_eq!(names.len(), 20, "each rotation has its own key");
    let old = canary.ticket(a).await.unwrap();
    rings[1].revoke().await.unwrap();
    settled(&rings).await;
    assert!(!canary.resumes(b, old).await.unwrap());
    assert!(fleet.crosses(a, b).await && fleet.crosses(b, a).await);
    // A restart finds the keys in the files.
    let ticket = canary.ticket(b).await.unwrap();
    servers[0].start();
    assert!(canary.resumes(a, ticket).await.unwrap());
}

/// nghttpx discards all keys if it can't read one of its files, and its process that was signalled ends well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_nghttpx_that_discards_its_keys_acknowledges_nothing() {
    let fleet = Fleet::new();
    let mut server = RunningServer::nghttpx(&fleet.pki);
    let short = server.path("short");
    fs::write(&short, [1; 79]).unwrap();
    fs::set_permissions(&short, fs::Permissions::from_mode(0o644)).unwrap();
    server.set(&format!("tls-ticket-key-file={}", short.display()));
    server.start();
    let mut parts = server.nghttpx_installer(fleet.keys("nghttpx"), fleet.canary());
    if let Some(probe) = &mut parts.probe {
        probe.reads_within = Duration::from_secs(1);
    }
    let ring = fleet.join("a", Arc::new(KeyFiles::new(parts).unwrap()));
    until("the problem is known", || ring.status().problem.is_some()).await;
    let problem = ring.status().problem.unwrap();
    assert!(
        problem
            .contains("didn't take the ticket keys within 1 s: it seals tickets with another key"),
        "{problem}"
    );
    assert!(ring.rotate().await.is_err(), "the next key isn't acknowledged");
    fs::write(&short, [1; 80]).unwrap();
    settled(&[&ring]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_down_acknowledges_when_it_has_started() {
    let fleet = Fleet::new();
    let mut server = RunningServer::nghttpx(&fleet.pki);
    let parts = server.nghttpx_installer(fleet.keys("nghttpx"), fleet.canary());
    let ring = fleet.join("a", Arc::new(KeyFiles::new(parts).unwrap()));
    until("the problem is known", || ring.status().problem.is_some()).await;
    let problem = ring.status().problem.unwrap();
    assert!(problem.contains(" failed (exit status: "), "{problem}");
    server.start();
    settled(&[&ring]).await;
}

/// A server of keys in one file, without a probe: `command` is a script.
fn with_command(file: &str, command: &str) -> KeyFiles {
    in_format(FileFormat::Base64, file, command)
}

fn in_format(format: FileFormat, file: &str, command: &str) -> KeyFiles {
    let domain = TicketKeyDomain { kind: "program", name: "test".into() };
    let parts = KeyFileParts {
        files: vec![file.into()],
        format,
        keys: ServerKeys::new(&provider(), TicketKeyForm::Aes256, &domain),
        command: ReloadCommand::new(["sh", "-c", command]),
        probe: None,
    };
    KeyFiles::new(parts).unwrap()
}

#[tokio::test]
async fn a_command_runs_once_for_each_change_and_sees_the_new_file() {
    let directory = Directory::new();
    let (file, log) = (directory.path("keys"), directory.path("log"));
    let installer = with_command(&file, &format!("cat {file} >> {log}; echo >> {log}"));
    let mut keys = ring_keys();
    installer.install(&keys).await.unwrap();
    let first = fs::read_to_string(&file).unwrap();
    assert_eq!(first.lines().count(), 3);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let written = fs::metadata(&file).unwrap().modified().unwrap();
    installer.install(&keys).await.unwrap();
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), written, "nothing is written");
    keys.earlier.clear();
    installer.install(&keys).await.unwrap();
    let second = fs::read_to_string(&file).unwrap();
    assert_eq!(fs::read_to_string(&log).unwrap(), format!("{first}\n{second}\n"));
    assert!(first.starts_with(&second));
    // Without an issuing key a random one seals, and stays the same.
    keys.issuing = None;
    installer.install(&keys).await.unwrap();
    let third = fs::read_to_string(&file).unwrap();
    installer.install(&keys).await.unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), third);
    assert_eq!(third.lines().nth(1), second.lines().nth(1));
    assert_ne!(third.lines().next(), second.lines().next());
    // Another program has changed the file.
    fs::write(&file, "nonsense").unwrap();
    installer.install(&keys).await.unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), third);
}

/// h2o and Apache Traffic Server read a file if its time has changed, in whole seconds.
#[tokio::test]
async fn two_files_in_a_row_have_different_seconds_where_servers_look_at_them() {
    let directory = Directory::new();
    let file = directory.path("keys");
    let installer = in_format(FileFormat::H2o, &file, "true");
    let mut seconds = Vec::new();
    for _ in 0..2 {
        installer.install(&ring_keys()).await.unwrap();
        seconds.push(fs::metadata(&file).unwrap().mtime());
    }
    assert!(seconds[0] < seconds[1], "{seconds:?}");
}

#[tokio::test]
async fn a_command_that_fails_acknowledges_nothing_and_runs_again() {
    let directory = Directory::new();
    let (file, good) = (directory.path("keys"), directory.path("good"));
    let installer =
        with_command(&file, &format!("[ -e {good} ] || {{ echo no reload >&2; exit 4; }}"));
    let keys = ring_keys();
    for _ in 0..2 {
        let refusal = installer.install(&keys).await.unwrap_err().to_string();
        assert!(refusal.ends_with(" failed (exit status: 4): no reload"), "{refusal}");
    }
    directory.write("good", "");
    installer.install(&keys).await.unwrap();
    fs::remove_file(good).unwrap();
    installer.install(&keys).await.unwrap();
}

/// The command would end in a minute.
#[tokio::test]
async fn a_command_that_hangs_acknowledges_nothing() {
    let directory = Directory::new();
    let installer = with_command(&directory.path("keys"), "sleep 60");
    let start = Instant::now();
    let refusal = installer.install(&ring_keys()).await.unwrap_err().to_string();
    assert!(refusal.contains("didn't end within 10 s, and was killed"), "{refusal}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn a_file_that_cannot_be_written_keeps_its_keys_and_runs_no_command() {
    let directory = Directory::new();
    let (file, log) = (directory.path("keys"), directory.path("log"));
    let installer = with_command(&file, &format!("echo run >> {log}"));
    let mut keys = ring_keys();
    installer.install(&keys).await.unwrap();
    let first = fs::read_to_string(&file).unwrap();
    keys.earlier.clear();
    let refused = async |expected: &str| {
        let refusal = installer.install(&keys).await.unwrap_err().to_string();
        assert!(refusal.contains(expected) && refusal.contains(&file), "{refusal}");
        assert_eq!(fs::read_to_string(&file).unwrap(), first);
        assert_eq!(fs::read_to_string(&log).unwrap(), "run\n");
    };
    // As on a full disk, the new file can't be created.
    let obstacle = directory.path("keys.new");
    fs::create_dir(&obstacle).unwrap();
    refused("can't be written: ").await;
    fs::remove_dir(&obstacle).unwrap();
    fs::set_permissions(directory.as_path(), fs::Permissions::from_mode(0o777)).unwrap();
    refused("every user of this machine may write to ").await;
    fs::set_permissions(directory.as_path(), fs::Permissions::from_mode(0o700)).unwrap();
    installer.install(&keys).await.unwrap();
    assert_eq!(fs::read_to_string(&log).unwrap(), "run\nrun\n");
}

#[test]
fn settings_that_cannot_work_are_refused_with_the_reason() {
    let parts = |format, files: &[&str], form| KeyFileParts {
        files: files.iter().map(Into::into).collect(),
        format,
        keys: ServerKeys::new(&provider(), form, &TicketKeyDomain { kind: "x", name: "y".into() }),
        command: ReloadCommand::new(["true"]),
        probe: None,
    };
    use FileFormat::{Base64, Binary, Concatenated, H2o};
    use TicketKeyForm::{Aes128, Aes256};
    for (format, files, form, reason) in [
        (Binary, &["a", "b"][..], Aes256, "at least three files"),
        (Binary, &["a", "b", "a"], Aes256, "the file a is named twice"),
        (Base64, &["a", "b"], Aes256, "exactly one file"),
        (H2o, &[], Aes256, "exactly one file"),
        (H2o, &["a"], Aes128, "no keys of 48 bytes"),
        (Concatenated, &["a"], Aes256, "no keys of 80 bytes"),
    ] {
        let error = KeyFiles::new(parts(format, files, form)).err().unwrap();
        assert!(error.to_string().contains(reason), "{error}");
    }
    let unconfirmed = KeyFileParts { command: None, ..parts(Base64, &["a"], Aes256) };
    let error = KeyFiles::new(unconfirmed).err().unwrap();
    assert!(error.to_string().starts_with("neither `command` nor `canary`"), "{error}");
}
