//! Sessions in files under a key from elsewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tessera::resume::{ClientSession, PskKind};
use tessera_aws_lc::provider;
use tessera_tokio::{FileSessionStore, SessionStore};

use super::common::{SERVER_NAME, connect, ends, finish, forward_secret};
use super::{Directory, WARNINGS, keep_warnings, sessions};

const KEY: [u8; 32] = [7; 32];

fn wrapped(directory: &Directory) -> FileSessionStore {
    FileSessionStore::open_wrapped(&directory.0, &provider(), &KEY).unwrap()
}

/// Makes a wrapped session in a directory, and returns the path of its file.
async fn one(directory: &Directory) -> PathBuf {
    wrapped(directory).put(SERVER_NAME, sessions(ends(), 1).await.remove(0));
    directory.files().remove(0)
}

fn warnings_of(file: &Path) -> Vec<String> {
    let warnings = WARNINGS.lock().unwrap();
    let file = file.to_str().unwrap();
    warnings.iter().filter(|it| it.contains(file)).cloned().collect()
}

/// Checks that the store removes the only file of its server, and reports why.
fn drops(store: &FileSessionStore, server_name: &str, file: &Path, why: &str) {
    keep_warnings();
    assert!(store.pop(server_name).is_none());
    assert!(!file.exists(), "{why}");
    let warnings = warnings_of(file);
    assert!(
        matches!(&warnings[..], [it] if it.contains(why) && it.ends_with("; removed")),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn a_wrapped_session_is_resumed_once() {
    let directory = Directory::new("wrapped-resumed");
    let ends = forward_secret();
    let connector = ends.connector().with_sessions(Arc::new(wrapped(&directory)));
    let (mut client, mut server) = connect(&connector, &ends.acceptor()).await;
    finish(&mut client, &mut server).await;
    assert_eq!(directory.files().len(), 2);
    // As another process would.
    let connector = ends.connector().with_sessions(Arc::new(wrapped(&directory)));
    let (client, _server) = connect(&connector, &ends.acceptor()).await;
    assert_eq!(client.facts().psk, Some(PskKind::ForwardSecret));
    assert_eq!(directory.files().len(), 1);
}

#[tokio::test]
async fn a_wrapped_file_shows_nothing_of_its_session() {
    let (directory, open) = (Directory::new("wrapped-hidden"), Directory::new("open"));
    let session = sessions(forward_secret(), 1).await.remove(0);
    let copy = || ClientSession::import(&session.export()).unwrap();
    let fs_secret = session.forward_secret.as_ref().unwrap().secret.expose();
    let shown = [session.state.psk.expose(), fs_secret, &session.ticket[..]];
    let shows = |file: &Path, secret: &[u8]| {
        let file = fs::read(file).unwrap();
        // Part of it suffices.
        file.windows(8).any(|window| secret.chunks_exact(8).any(|part| part == window))
    };
    FileSessionStore::open(&open.0).unwrap().put(SERVER_NAME, copy());
    assert!(shown.iter().all(|secret| shows(&open.files()[0], secret)), "what is there is found");

    for _ in 0..2 {
        wrapped(&directory).put(SERVER_NAME, copy());
    }
    let files = directory.files();
    for file in &files {
        assert!(!shown.iter().any(|secret| shows(file, secret)));
    }
    // Each has its own key: not even the equality of the sessions shows.
    let mark = b"tessera wrapped session 1\n".len();
    let [one, two] = [0, 1].map(|file| fs::read(&files[file]).unwrap());
    assert!(one[mark..].windows(8).all(|window| !two[mark..].windows(8).any(|it| it == window)));
}

#[tokio::test]
async fn no_changed_bit_and_no_missing_byte_of_a_wrapped_file_goes_unseen() {
    let directory = Directory::new("wrapped-changed");
    let file = one(&directory).await;
    let whole = fs::read(&file).unwrap();
    let store = wrapped(&directory);
    let refused = |bytes: &[u8], what: usize| {
        fs::write(&file, bytes).unwrap();
        assert!(store.pop(SERVER_NAME).is_none() && !file.exists(), "{what}");
    };
    for bit in 0..8 * whole.len() {
        let mut changed = whole.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        refused(&changed, bit);
    }
    for len in 0..whole.len() {
        refused(&whole[..len], len);
    }
    refused(&[&whole[..], &[0]].concat(), whole.len());
    fs::write(&file, &whole).unwrap();
    assert!(store.pop(SERVER_NAME).is_some(), "unchanged it is read");
}

#[tokio::test]
async fn a_session_of_another_key_or_server_or_kind_of_store_is_dropped_with_a_sentence() {
    let directory = Directory::new("wrapped-other");
    let file = one(&directory).await;
    let other = FileSessionStore::open_wrapped(&directory.0, &provider(), &[8; 32]).unwrap();
    drops(&other, SERVER_NAME, &file, "another key");

    let file = one(&directory).await;
    let moved = directory.0.join("server-other.example");
    fs::rename(file.parent().unwrap(), &moved).unwrap();
    let moved = moved.join(file.file_name().unwrap());
    drops(&wrapped(&directory), "other.example", &moved, "another key or server");

    let file = one(&directory).await;
    let open = FileSessionStore::open(&directory.0).unwrap();
    drops(&open, SERVER_NAME, &file, "the store has no key");

    open.put(SERVER_NAME, sessions(ends(), 1).await.remove(0));
    let file = directory.files().remove(0);
    drops(&wrapped(&directory), SERVER_NAME, &file, "not a wrapped session");
}

#[tokio::test]
async fn a_server_has_one_directory_however_its_name_is_written_in_a_wrapped_store_too() {
    let directory = Directory::new("wrapped-names");
    let store = wrapped(&directory);
    store.put("Server.Example", sessions(ends(), 1).await.remove(0));
    assert!(store.pop(SERVER_NAME).is_some());
}

#[test]
fn a_key_of_zeros_wraps_nothing() {
    let directory = Directory::new("wrapped-zeros");
    let error = FileSessionStore::open_wrapped(&directory.0, &provider(), &[0; 32]).unwrap_err();
    assert_eq!(error.to_string(), "the key of a session store is all zeros");
}
