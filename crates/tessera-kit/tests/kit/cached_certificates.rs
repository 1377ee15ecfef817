//! Certificate caches in files.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tessera_cache::{ServerCache, ServerLimits};
use tessera_kit::SettingFile;
use tessera_kit::cached_certificates::{KeptClients, KeptServers};

/// Another user can lock a readable directory for any length of time.
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
    // First where it would not wait indefinitely.
    let servers =
        clients.is_ok().then(|| KeptServers::open(directory(), Path::new(""), &provider, 1));
    fs::remove_dir_all(&path).unwrap();
    assert!(clients.is_ok() && servers.is_some_and(|servers| servers.is_ok()));
    assert!(second.is_err(), "two servers have one directory");
}

/// A server may end in the middle of a save.
#[test]
fn a_cache_that_is_saved_twice_at_once_is_saved() {
    let path = std::env::temp_dir().join(format!("tessera-saved-{}", std::process::id()));
    let directory = SettingFile { setting: "--cache-certificates", path: &path };
    let clients = KeptClients::open(directory, &tessera_aws_lc::provider()).unwrap();
    let save = || (0..100).filter(|_| clients.save().is_err()).count();
    let failed: usize = thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(save));
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    fs::remove_dir_all(&path).unwrap();
    assert_eq!(failed, 0, "of 400");
}

/// Opening a pipe would wait for its reader, and through a link a file would be created elsewhere.
#[test]
fn a_pipe_or_a_link_in_place_of_the_lock_is_refused() {
    let path = std::env::temp_dir().join(format!("tessera-piped-{}", std::process::id()));
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
    assert!(Command::new("mkfifo").arg(path.join("clients.lock")).status().unwrap().success());
    symlink(path.join("elsewhere"), path.join("servers.lock")).unwrap();
    let (sender, told) = mpsc::channel();
    let directory = path.clone();
    thread::spawn(move || {
        let directory = || SettingFile { setting: "--cache-certificates", path: &directory };
        let provider = tessera_aws_lc::provider();
        let clients = KeptClients::open(directory(), &provider).err();
        let _ = sender.send(clients.map(|error| error.to_string()));
        let servers = KeptServers::open(directory(), Path::new(""), &provider, 1).err();
        let _ = sender.send(servers.map(|error| error.to_string()));
    });
    let errors = [(); 2].map(|()| told.recv_timeout(Duration::from_secs(5)));
    let made_elsewhere = path.join("elsewhere").exists();
    fs::remove_dir_all(&path).unwrap();
    for (error, lock) in errors.into_iter().zip(["clients.lock", "servers.lock"]) {
        let error = error.expect("it does not wait").expect("it is refused");
        assert!(error.contains(lock) && error.contains("not a file; remove it"), "{error}");
    }
    assert!(!made_elsewhere);
}

/// A cache with larger bounds than the default writes a longer file.
#[test]
#[ignore = "takes some seconds, and half a gigabyte"]
fn a_large_cache_is_kept() {
    let path = std::env::temp_dir().join(format!("tessera-large-{}", std::process::id()));
    let directory = || SettingFile { setting: "--cache-certificates", path: &path };
    let provider = tessera_aws_lc::provider();
    let mut limits = ServerLimits::default();
    limits.bytes = 1 << 30;
    let cache = ServerCache::new(&provider).unwrap().with_limits(limits);
    // According to the format: a key, and clients with a list of issuers, a leaf and a ticket each.
    let mut written = b"tessera clients\x02".to_vec();
    written.extend([7; 24]);
    for client in 0..17u8 {
        written.extend([1, 0, 0, 0, 0, 0xff, 0, 0]);
        written.extend(vec![client; 0xff_0000]);
        written.extend([[client; 16].as_slice(), &[0; 5], &[1], &[client; 6], &[0xc0, 1]].concat());
    }
    let checksum = provider.sha256().unwrap().hash(&written);
    written.extend(checksum.as_ref());
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
    fs::write(path.join("clients"), &written).unwrap();
    fs::set_permissions(path.join("clients"), Permissions::from_mode(0o600)).unwrap();
    drop(written);
    let kept = KeptClients::keep(directory(), cache);
    fs::remove_dir_all(&path).unwrap();
    let kept = kept.unwrap();
    assert!(!kept.found().was_refused(), "{}", kept.found());
    assert_eq!(kept.metrics().entries, 17);
}
