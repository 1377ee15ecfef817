//! Files that a store doesn't open: each is refused with what to do, and left as it is.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use tessera_store::contract::{commit, put, read};
use tessera_store::{FileStore, FileStoreError, FileStoreProblem, Revision};

use crate::common::Directory;

/// Returns a directory with a store in it.
async fn used() -> Directory {
    let directory = Directory::new();
    let store = FileStore::open(&directory.store()).unwrap();
    commit(&store, vec![put(b"a", &[7; 100])]).await;
    directory
}

fn refusal(path: &Path) -> FileStoreError {
    match FileStore::open(path) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error,
    }
}

/// Sets the mode, and asserts that this is refused.
async fn is_refused(directory: &Directory, path: &Path, mode: u32) {
    let before = fs::metadata(path).unwrap().permissions();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let error = refusal(&directory.store());
    let has_mode = |it: &FileStoreProblem| matches!(it, FileStoreProblem::WritableByOthers { mode: it } if *it == mode);
    assert!(has_mode(error.problem()) && error.path() == path, "{error:?}");
    assert!(error.to_string().contains("chmod go-w"), "{error}");
    fs::set_permissions(path, before).unwrap();
    FileStore::open(&directory.store()).unwrap();
}

#[tokio::test]
async fn a_store_that_other_users_can_change_is_refused() {
    let directory = used().await;
    let lock = directory.path().join("store.lock");
    for mode in [0o620, 0o602, 0o666] {
        is_refused(&directory, &directory.store(), mode).await;
        is_refused(&directory, &lock, mode).await;
    }
    for mode in [0o770, 0o702, 0o1777] {
        is_refused(&directory, directory.path(), mode).await;
    }
    // Only root can give files away; another user's can't be written by anyone else either.
    for path in [directory.store(), lock, directory.path().into()] {
        match chown(&path, Some(1), None) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return,
            changed => changed.unwrap(),
        }
        let error = refusal(&directory.store());
        let problem = error.problem();
        assert!(matches!(problem, FileStoreProblem::OwnedByAnother { owner: 1 }), "{error:?}");
        assert!(error.path() == path && error.to_string().contains("chown"), "{error}");
        chown(&path, Some(0), None).unwrap();
    }
}

#[tokio::test]
async fn a_damaged_file_is_refused_and_left_as_it_is() {
    let directory = used().await;
    let whole = fs::read(directory.store()).unwrap();
    let mut changed = whole.clone();
    changed[40] ^= 1;
    let longer = [&whole[..], b"\0"].concat();
    for content in [&[], &whole[..5], &whole[..whole.len() - 1], &changed, &longer] {
        fs::write(directory.store(), content).unwrap();
        let error = refusal(&directory.store());
        assert!(matches!(error.problem(), FileStoreProblem::Damaged), "{error:?}");
        assert!(error.to_string().contains("restore it from a copy, or remove it"), "{error}");
        assert_eq!(fs::read(directory.store()).unwrap(), content);
    }
    fs::write(directory.store(), &whole).unwrap();
    let store = FileStore::open(&directory.store()).unwrap();
    assert_eq!(read(&store, b"").await.revision, Revision(1));
}

#[tokio::test]
async fn a_foreign_file_is_refused_and_left_as_it_is() {
    let directory = Directory::new();
    let zeros = vec![0; 20_000_000];
    for content in [&b"# a configuration\n"[..], b"tsstate\x01", &zeros] {
        fs::write(directory.store(), content).unwrap();
        let error = refusal(&directory.store());
        assert!(matches!(error.problem(), FileStoreProblem::Foreign), "{error:?}");
        assert_eq!(fs::read(directory.store()).unwrap(), content);
    }
    fs::write(directory.store(), b"tsstore\x02, of a later version").unwrap();
    let error = refusal(&directory.store());
    let problem = error.problem();
    assert!(matches!(problem, FileStoreProblem::OtherVersion { version: 2 }), "{error:?}");
    assert!(error.to_string().contains("use the program that wrote it"), "{error}");
}

#[tokio::test]
async fn anything_but_a_file_is_refused() {
    let directory = used().await;
    let elsewhere = directory.path().join("elsewhere");
    fs::rename(directory.store(), &elsewhere).unwrap();
    symlink(&elsewhere, directory.store()).unwrap();
    let error = refusal(&directory.store());
    assert!(matches!(error.problem(), FileStoreProblem::NotAFile), "{error:?}");
    fs::remove_file(directory.store()).unwrap();
    fs::create_dir(directory.store()).unwrap();
    for path in [directory.store(), "/".into(), directory.path().join("..")] {
        let error = refusal(&path);
        assert!(matches!(error.problem(), FileStoreProblem::NotAFile), "{error:?}");
    }
    let missing = refusal(&directory.path().join("missing/store"));
    assert!(missing.to_string().contains("its directory does not exist; create it"), "{missing}");
}

/// It would begin with revision 0, and clients would take what they read for older than what they know.
#[tokio::test]
async fn a_store_whose_file_is_gone_is_not_begun_afresh() {
    let directory = used().await;
    fs::remove_file(directory.store()).unwrap();
    for _ in 0..2 {
        let error = refusal(&directory.store());
        assert!(matches!(error.problem(), FileStoreProblem::Missing), "{error:?}");
        assert!(error.to_string().contains("together with the file `.lock`"), "{error}");
    }
    fs::remove_file(directory.path().join("store.lock")).unwrap();
    let store = FileStore::open(&directory.store()).unwrap();
    assert_eq!(read(&store, b"").await.entries, []);
}

/// A crash left the next content half written, with the permissions of an attacker's choice.
#[tokio::test]
async fn leftovers_of_a_crash_are_replaced() {
    let directory = used().await;
    let new = directory.path().join("store.new");
    fs::write(&new, b"half").unwrap();
    fs::set_permissions(&new, Permissions::from_mode(0o666)).unwrap();
    let store = FileStore::open(&directory.store()).unwrap();
    commit(&store, vec![put(b"a", b"")]).await;
    assert!(!new.exists());
    let mode = fs::metadata(directory.store()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
