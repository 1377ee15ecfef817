//! The store in a file: what survives it, and what happens while its disk fails.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera_store::contract::{commit, delete, get, put, put_under, read};
use tessera_store::{
    ChangedEntry, FileStore, FileStoreProblem, LeaseId, Revision, Store, StoreError, Transaction,
};
use tokio::time::{sleep, timeout};

use crate::common::{Directory, is_child, this_test};

fn refused<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    match result {
        Err(StoreError::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn everything_but_the_history_survives_a_restart() {
    let directory = Directory::new();
    let store = FileStore::open(&directory.store()).unwrap();
    assert_eq!(read(&store, b"").await.revision, Revision(0));
    let lease = store.grant(Duration::from_secs(60)).await.unwrap();
    commit(&store, vec![put(b"\xff\0", &[7; 1000]), put_under(b"leased", &lease)]).await;
    let last = commit(&store, vec![put(b"gone", b"")]).await;
    let last = commit(&store, vec![delete(b"gone")]).await.max(last);
    let before = read(&store, b"").await;
    assert_eq!(before.revision, last);
    let mut watch = store.watch(b"", last).await.unwrap();
    drop(store);
    assert!(matches!(watch.next().await, Err(StoreError::NotSent(_))), "it was closed");

    for life in 1..4 {
        let store = FileStore::open(&directory.store()).unwrap();
        let old = store.watch(b"", Revision(last.0 - 1)).await.map(drop);
        assert!(refused(old).contains("no longer known"));
        let future = store.watch(b"", Revision(last.0 + 100)).await.map(drop);
        assert!(refused(future).contains("an older copy"));
        let mut watch = store.watch(b"", read(&store, b"").await.revision).await.unwrap();
        assert_eq!(read(&store, b"").await.entries[..2], before.entries);
        let own = format!("\u{100}{life}").into_bytes();
        let revision = commit(&store, vec![put(&own, b"")]).await;
        assert!(revision > last, "revisions go on");
        assert_eq!(watch.next().await.unwrap()[0].revision(), revision);
        commit(&store, vec![delete(&own)]).await;
        // A lease's number is not used again.
        assert_ne!(store.grant(Duration::from_secs(60)).await.unwrap(), lease);
    }
}

#[tokio::test]
async fn a_lease_has_its_lifetime_again_after_a_restart() {
    let directory = Directory::new();
    let store = FileStore::open(&directory.store()).unwrap();
    let lifetime = Duration::from_secs(3);
    let lease = store.grant(lifetime).await.unwrap();
    commit(&store, vec![put_under(b"leased", &lease), put(b"stays", b"")]).await;
    sleep(Duration::from_secs(2)).await;
    drop(store);
    let opened = Instant::now();
    let store = FileStore::open(&directory.store()).unwrap();
    let after = read(&store, b"").await.revision;
    let mut watch = store.watch(b"", after).await.unwrap();
    let changes = timeout(Duration::from_secs(10), watch.next()).await.unwrap().unwrap();
    assert!(opened.elapsed() >= lifetime, "after {:?}", opened.elapsed());
    let revision = Revision(after.0 + 1);
    assert_eq!(changes, [ChangedEntry::Deleted { key: b"leased".into(), revision }]);
    drop(store);
    let store = FileStore::open(&directory.store()).unwrap();
    assert_eq!(get(&store, b"leased").await, None);
    assert_eq!(store.keep_alive(&lease).await, Ok(false));
}

#[tokio::test]
async fn the_file_is_private_and_opened_once() {
    let directory = Directory::new();
    let store = FileStore::open(&directory.store()).unwrap();
    commit(&store, vec![put(b"a", b"")]).await;
    for name in ["store", "store.lock"] {
        let mode = fs::metadata(directory.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    // A lock belongs to an opened file, so a second process meets the same.
    let error = FileStore::open(&directory.store()).err().unwrap();
    assert!(matches!(error.problem(), FileStoreProblem::InUse), "{error}");
    assert!(error.to_string().contains("stop it"), "{error}");
    drop(store);
    FileStore::open(&directory.store()).unwrap();
}

/// The next content can't be written: a directory is in its place.
#[tokio::test]
async fn a_failing_disk_costs_commits_and_nothing_else() {
    let directory = Directory::new();
    let store = FileStore::open(&directory.store()).unwrap();
    let lease = store.grant(Duration::from_secs(1)).await.unwrap();
    let revision = commit(&store, vec![put(b"a", b"1"), put_under(b"leased", &lease)]).await;
    let before = read(&store, b"").await;
    let mut watch = store.watch(b"", revision).await.unwrap();
    let obstacle = directory.path().join("store.new");
    fs::create_dir(&obstacle).unwrap();

    let change = || Transaction { changes: vec![put(b"a", b"2")], ..Transaction::default() };
    assert!(refused(store.commit(change()).await).contains("can't be written"));
    assert!(refused(store.grant(Duration::from_secs(1)).await).contains("can't be written"));
    // The lease ends meanwhile, and can't be deleted; its owner learns that.
    sleep(Duration::from_millis(1500)).await;
    assert_eq!(store.keep_alive(&lease).await, Ok(false));
    assert_eq!(read(&store, b"").await, before);
    assert!(timeout(Duration::from_millis(100), watch.next()).await.is_err());

    fs::remove_dir(&obstacle).unwrap();
    let changes = timeout(Duration::from_secs(5), watch.next()).await.unwrap().unwrap();
    let key: Vec<_> = changes.iter().map(|change| change.key().to_vec()).collect();
    assert_eq!(key, [b"leased"], "it is tried again");
    assert_eq!(store.commit(change()).await, Ok(Some(Revision(revision.0 + 2))));
    drop(store);
    let store = FileStore::open(&directory.store()).unwrap();
    assert_eq!(read(&store, b"").await.entries.len(), 1);
    assert_eq!(get(&store, b"a").await.unwrap().value, b"2");
}

/// On a file system of 256 KiB, in a mount namespace of this test's own.
#[tokio::test]
async fn a_full_disk_refuses_commits_until_there_is_room() {
    let directory = Directory::new();
    if !is_child() {
        let mount = "mount -t tmpfs -o size=256k,mode=700 none \"$0\" && exec \"$@\"";
        let mut inside = Command::new("unshare");
        inside.args(["--mount", "--map-root-user", "sh", "-c", mount]).arg(directory.path());
        let test = this_test("file::a_full_disk_refuses_commits_until_there_is_room");
        inside.arg(test.get_program()).args(test.get_args()).envs([("STORE_CHILD", "1")]);
        let output = inside.env("STORE_DIRECTORY", directory.path()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{output:?}");
        return;
    }
    let path = std::env::var_os("STORE_DIRECTORY").unwrap();
    let path = std::path::Path::new(&path).join("store");
    let store = FileStore::open(&path).unwrap();
    let mut kept = 0;
    let why = loop {
        let changes = vec![put(format!("{kept:03}").as_bytes(), &[7; 10_000])];
        match store.commit(Transaction { changes, ..Transaction::default() }).await {
            Ok(_) => kept += 1,
            error => break refused(error),
        }
    };
    assert!(why.contains("the file system is full; free some space"), "{why}");
    // The old file and the new one have room together.
    assert!((10..=13).contains(&kept), "{kept}");
    assert_eq!(read(&store, b"").await.entries.len(), kept);
    commit(&store, vec![delete(b"000"), put(b"small", b"1")]).await;
    drop(store);
    let store = FileStore::open(&path).unwrap();
    assert_eq!(read(&store, b"").await.entries.len(), kept);
}

/// Each answer of a process that is killed was durable, and what it had not answered is there as a whole or not at all.
#[tokio::test]
async fn writes_confirmed_by_a_killed_process_persist() {
    let names: Vec<_> = (0..20).map(|number| format!("key {number}")).collect();
    if is_child() {
        let path = std::env::var_os("STORE_DIRECTORY").unwrap();
        let store = FileStore::open(std::path::Path::new(&path)).unwrap();
        let mut out = std::io::stdout();
        for number in 0u32.. {
            let value = number.to_be_bytes();
            let changes = names.iter().map(|name| put(name.as_bytes(), &value)).collect();
            let revision = commit(&store, changes).await;
            writeln!(out, "\nanswered {}", revision.0).and_then(|()| out.flush()).unwrap();
        }
    }
    let directory = Directory::new();
    let mut last = 0;
    for round in 0..8 {
        let mut child = this_test("file::writes_confirmed_by_a_killed_process_persist")
            .env("STORE_DIRECTORY", directory.store())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut answered = lines.map_while(Result::ok).filter_map(|line| {
            line.strip_prefix("answered ").and_then(|revision| revision.parse::<u64>().ok())
        });
        let first = answered.nth(round).unwrap();
        assert!(first > last, "revisions go on");
        child.kill().and_then(|()| child.wait()).unwrap();
        last = answered.last().unwrap_or(first);

        let store = FileStore::open(&directory.store()).unwrap();
        let snapshot = read(&store, b"").await;
        assert!(snapshot.revision.0 >= last, "{snapshot:?} after the answer {last}");
        assert_eq!(snapshot.entries.len(), names.len());
        let whole = snapshot.entries.iter().all(|entry| entry.revision == snapshot.revision);
        assert!(whole, "{snapshot:?}");
        last = snapshot.revision.0;
    }
}

/// A disk that takes its time doesn't stop a runtime with one thread.
#[tokio::test(flavor = "current_thread")]
async fn a_commit_leaves_the_runtime_to_others() {
    let directory = Directory::new();
    let store = Arc::new(FileStore::open(&directory.store()).unwrap());
    let committing = store.clone();
    let commits = tokio::spawn(async move {
        for number in 0..15 {
            commit(&*committing, vec![put(&[number], &[7; 1024 * 1024])]).await;
        }
    });
    let mut turns = 0;
    while !commits.is_finished() {
        tokio::task::yield_now().await;
        turns += 1;
    }
    commits.await.unwrap();
    assert!(turns > 100, "{turns}");
}

#[tokio::test]
async fn a_lease_of_another_store_is_one_that_has_ended() {
    let directory = Directory::new();
    let store = FileStore::open(&directory.store()).unwrap();
    for name in ["", "7", "-1", "7587862106", "a name", "99999999999999999999999"] {
        let lease = LeaseId(name.into());
        assert_eq!(store.keep_alive(&lease).await, Ok(false));
        assert_eq!(store.revoke(&lease).await, Ok(()));
        let changes = vec![put_under(b"a", &lease)];
        let it = Transaction { changes, ..Transaction::default() };
        assert!(refused(store.commit(it).await).contains("lease not found"));
    }
}
