//! Caches of certificates in files.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tessera_kit::SettingFile;
use tessera_kit::cached_certificates::{KeptClients, KeptServers};

/// Another user can lock a directory that he can read, for as long as he likes.
#[test]
fn a_directory_that_others_lock_is_no_obstacle() {
    let path = std::env::temp_dir().join(format!("tessera-locked-{}", std::process::id()));
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    let others = File::open(&path).unwrap();
    others.lock().unwrap();
    let directory = || SettingFile { setting: "--cache-certificates", path: &path };
    let provider = tessera_aws_lc::provider();
    let clients = KeptClients::open(directory(), &provider);
    let second = KeptClients::open(directory(), &provider);
    // First where it would not wait for ever.
    let servers =
        clients.is_ok().then(|| KeptServers::open(directory(), Path::new(""), &provider, 1));
    fs::remove_dir_all(&path).unwrap();
    assert!(clients.is_ok() && servers.is_some_and(|servers| servers.is_ok()));
    assert!(second.is_err(), "two servers have one directory");
}

/// A server that ends can be in the middle of saving.
#[test]
fn a_cache_that_is_saved_twice_at_once_is_saved() {
    let path = std::env::temp_dir().join(format!("tessera-saved-{}", std::process::id()));
    let directory = SettingFile { setting: "--cache-certificates", path: &path };
    let clients = KeptClients::open(directory, &tessera_aws_lc::provider()).unwrap();
    let save = || (0..100).filter(|_| clients.save().is_err()).count();
    let failed: usize = std::thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(save));
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    fs::remove_dir_all(&path).unwrap();
    assert_eq!(failed, 0, "of 400");
}
