//! A memory vault with a directory: clean shutdowns, crashes, backups, two owners.
#![cfg(unix)]

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tessera::handshake::Reply;
use tessera::resume::{Absence, Incarnation, TakeAnswer, TakePurpose, TakeSecret, Vault};
use tessera_aws_lc::provider;
use tessera_vault::contract::{
    LIFETIME, NOW, accept, handle, put, put_for, question, secret, take,
};
use tessera_vault::{
    EpochKey, Limits, MemoryVault, RestoreOutcome, WrappingKeys, WrappingPurpose, contract,
};

/// A separate directory for each test, removed at the end.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("tessera-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        Self(dir)
    }

    fn open(&self) -> (MemoryVault, RestoreOutcome) {
        self.open_at(NOW, &keys(7))
    }

    fn open_at(&self, now: Duration, keys: &WrappingKeys) -> (MemoryVault, RestoreOutcome) {
        // A child that another test is starting holds all files of this process, locks included, until its
        // exec.
        for _ in 0..1000 {
            match MemoryVault::open(&self.0, Limits::new(2000), &provider(), keys, now) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                opened => return opened.unwrap(),
            }
        }
        unreachable!("another vault owns the directory");
    }

    fn snapshot(&self) -> PathBuf {
        self.0.join("snapshot")
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn keys(secret: u8) -> WrappingKeys {
    let keys = WrappingKeys::new(&provider(), WrappingPurpose::Snapshot);
    keys.add(EpochKey::forever([1; 16], [secret; 32].into()), NOW).unwrap();
    keys
}

#[test]
fn wrapping_keys_are_counted() {
    let two = keys(7);
    two.add(EpochKey::forever([2; 16], [8; 32].into()), NOW).unwrap();
    assert_eq!((two.len(), two.is_empty(), keys(7).len()), (2, false, 1));
    assert!(WrappingKeys::new(&provider(), WrappingPurpose::Snapshot).is_empty());
}

#[test]
fn wrapping_keys_that_no_longer_open_are_destroyed() {
    let hour = Duration::from_secs(3600);
    let two = WrappingKeys::new(&provider(), WrappingPurpose::Snapshot);
    for (id, hours) in [([1; 16], 1), ([2; 16], 2)] {
        let forever = EpochKey::forever(id, [id[0]; 32].into());
        let opens_until = NOW + hours * hour;
        two.add(EpochKey { issues_until: opens_until, opens_until, ..forever }, NOW).unwrap();
    }
    assert_eq!(two.opens_until(NOW), Some(NOW + 2 * hour));
    assert_eq!(two.opens_until(NOW + 2 * hour), None);
    assert_eq!([NOW, NOW + hour, NOW + 2 * hour].map(|now| two.purge(now)), [0, 1, 1]);
}

fn close(vault: &MemoryVault) {
    vault.close(&provider(), &keys(7), NOW).unwrap();
}

#[test]
fn a_memory_vault_keeps_the_contract_over_restarts() {
    let dir = Dir::new("restarts");
    contract::restart(|| dir.open().0, |vault| close(&vault));
}

#[test]
fn a_memory_vault_keeps_the_contract_over_a_kill() {
    const NAME: &str = "lives::a_memory_vault_keeps_the_contract_over_a_kill";
    const DIR: &str = "TESSERA_VAULT_TEST_DIR";
    // The child uses the directory of its parent, which removes it.
    let of_parent = std::env::var(DIR).ok();
    let own = Dir::new("kill");
    let dir = of_parent.unwrap_or_else(|| own.0.display().to_string());
    let open = || {
        let limits = Limits::new(1000);
        MemoryVault::open(Path::new(&dir), limits, &provider(), &keys(7), NOW).unwrap().0
    };
    contract::a_kill_between_take_and_answer(NAME, open, &[(DIR, &dir)], |vault| close(&vault));
}

#[test]
fn a_clean_shutdown_keeps_a_vaults_secrets_and_tombstones() {
    let dir = Dir::new("clean");
    let (vault, restored) = dir.open();
    assert_eq!(restored, RestoreOutcome::Nothing);
    // More than one chunk.
    for number in 0..990 {
        assert!(put(&vault, number));
    }
    assert_eq!(accept(&vault, 0), Ok(()));
    vault.burn(&handle(1));
    close(&vault);
    assert!(vault.is_empty() && !put(&vault, 5000));
    let mode = fs::metadata(dir.snapshot()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(fs::metadata(&dir.0).unwrap().permissions().mode() & 0o777, 0o700);
    // The secret may be elsewhere, so it must not be reported gone.
    let asked = vault.take(&question(2, TakePurpose::Accept, Some(NOW)));
    assert!(matches!(asked, Reply::Now(TakeAnswer::Unavailable)));
    close(&vault);
    drop(vault);

    let (vault, restored) = dir.open();
    assert_eq!(restored, RestoreOutcome::Secrets(988));
    assert!(!dir.snapshot().exists(), "it is gone before anything is served");
    assert_eq!(accept(&vault, 0), Err(Absence::Used));
    assert_eq!(accept(&vault, 1), Err(Absence::Burned));
    for number in 2..990 {
        assert_eq!(accept(&vault, number), Ok(()));
    }
}

/// The secrets of a named client stay its own after a restart: clients without a name don't push them out.
#[test]
fn a_snapshot_knows_which_secrets_belong_to_a_client_with_a_name() {
    let dir = Dir::new("named");
    let vault = dir.open().0;
    for number in 0..400 {
        let client = (number / 4_u32).to_be_bytes();
        assert!(put_for(&vault, number, Some(&client)));
    }
    assert!((1000..1100).all(|number| put(&vault, number)));
    close(&vault);
    drop(vault);
    let vault = dir.open().0;
    assert_eq!(vault.len(), 500);
    // Clients without a name, and a named one that has more.
    for number in 2000..10_000 {
        put_for(&vault, number, (number % 2 == 0).then_some(b"greedy"));
    }
    assert_eq!(vault.len(), 2000);
    let left = |numbers: std::ops::Range<u32>| {
        numbers.filter(|number| accept(&vault, *number).is_ok()).count()
    };
    assert_eq!((left(0..400), left(1000..1100)), (400, 0));
}

#[test]
fn expired_secrets_are_not_restored_from_a_snapshot() {
    let dir = Dir::new("expired");
    let vault = dir.open().0;
    assert!(put(&vault, 1));
    close(&vault);
    drop(vault);
    let (vault, restored) = dir.open_at(NOW + LIFETIME, &keys(7));
    assert_eq!((restored, vault.len()), (RestoreOutcome::Secrets(0), 0));
}

#[test]
fn a_crash_loses_all_secrets_of_a_memory_vault() {
    let dir = Dir::new("crash");
    let vault = dir.open().0;
    assert!(put(&vault, 1));
    drop(vault);
    let (vault, restored) = dir.open();
    assert_eq!(restored, RestoreOutcome::Nothing);
    assert_eq!(accept(&vault, 1), Err(Absence::Unknown));
}

#[test]
fn a_vaults_directory_has_one_owner_at_a_time() {
    let dir = Dir::new("owners");
    let first = dir.open().0;
    let second = || MemoryVault::open(&dir.0, Limits::new(10), &provider(), &keys(7), NOW);
    assert_eq!(second().err().map(|error| error.kind()), Some(ErrorKind::WouldBlock));
    // Closed is not the same as gone.
    close(&first);
    assert_eq!(second().err().map(|error| error.kind()), Some(ErrorKind::WouldBlock));
    assert!(dir.snapshot().exists());
    drop(first);
    assert!(matches!(dir.open(), (_, RestoreOutcome::Secrets(0))));
}

fn copy(from: &Path) -> Vec<u8> {
    fs::read(from).unwrap()
}

#[test]
fn a_vaults_snapshot_is_loaded_once_and_only_the_last() {
    let dir = Dir::new("once");
    let vault = dir.open().0;
    assert!(put(&vault, 1));
    close(&vault);
    drop(vault);
    let backup = copy(&dir.snapshot());
    let vault = dir.open().0;
    assert_eq!(accept(&vault, 1), Ok(()));
    drop(vault);
    // Back from a backup after a crash, and after a clean shutdown.
    fs::write(dir.snapshot(), &backup).unwrap();
    let (vault, restored) = dir.open();
    assert_eq!((restored, vault.len()), (RestoreOutcome::Nothing, 0));
    close(&vault);
    drop(vault);
    fs::write(dir.snapshot(), &backup).unwrap();
    let (vault, restored) = dir.open();
    assert_eq!((restored, vault.len()), (RestoreOutcome::Discarded, 0));
}

/// A life that was handed on twice has two snapshots, and only the second may be loaded.
#[test]
fn an_earlier_snapshot_of_a_vaults_life_is_not_loaded() {
    let dir = Dir::new("earlier");
    let vault = dir.open().0;
    let life = vault.incarnation();
    assert!(put(&vault, 1));
    close(&vault);
    drop(vault);
    let earlier = copy(&dir.snapshot());
    let vault = dir.open().0;
    assert_eq!(accept(&vault, 1), Ok(()));
    assert_eq!(vault.incarnation(), life);
    close(&vault);
    drop(vault);
    fs::write(dir.snapshot(), &earlier).unwrap();
    let (vault, restored) = dir.open();
    assert_eq!((restored, vault.len()), (RestoreOutcome::Discarded, 0));
    assert!(accept(&vault, 1).is_err());
}

/// Splits a snapshot into chunks, each with its header.
fn chunks(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &bytes[8..];
    let mut chunks = Vec::new();
    while let Some(len) = rest.get(1..5) {
        let len = u32::from_be_bytes(len.try_into().unwrap()) as usize;
        let (chunk, after) = rest.split_at(5 + len);
        chunks.push(chunk.to_vec());
        rest = after;
    }
    chunks
}

fn rearrange(bytes: &mut Vec<u8>, how: fn(&mut Vec<Vec<u8>>)) {
    let mut chunks = chunks(bytes);
    assert!(chunks.len() > 3);
    how(&mut chunks);
    bytes.truncate(8);
    bytes.extend(chunks.concat());
}

#[test]
fn damaged_snapshots_of_a_vault_are_discarded() {
    let dir = Dir::new("damaged");
    let damage: [fn(&mut Vec<u8>); 8] = [
        |bytes| rearrange(bytes, |chunks| chunks.swap(0, 1)),
        |bytes| rearrange(bytes, |chunks| drop(chunks.remove(1))),
        |bytes| rearrange(bytes, |chunks| chunks.insert(1, chunks[1].clone())),
        |bytes| bytes[30] ^= 1,
        |bytes| bytes.truncate(bytes.len() - 1),
        |bytes| bytes.truncate(bytes.len() / 2),
        // The first chunk claims to be the last.
        |bytes| bytes[8] ^= 1,
        |bytes| bytes.clear(),
    ];
    for damage in damage {
        let vault = dir.open().0;
        for number in 0..1900 {
            assert!(put(&vault, number));
        }
        close(&vault);
        let number = vault.incarnation().unwrap().number;
        drop(vault);
        let mut bytes = copy(&dir.snapshot());
        damage(&mut bytes);
        fs::write(dir.snapshot(), bytes).unwrap();
        let (vault, restored) = dir.open();
        assert_eq!((restored, vault.len()), (RestoreOutcome::Discarded, 0));
        assert_eq!(vault.incarnation().unwrap().number, number + 1);
        drop(vault);
    }
    let vault = dir.open().0;
    close(&vault);
    drop(vault);
    assert_eq!(dir.open_at(NOW, &keys(8)).1, RestoreOutcome::Discarded, "another key");
    fs::write(dir.0.join("state"), b"short").unwrap();
    let opened = MemoryVault::open(&dir.0, Limits::new(10), &provider(), &keys(7), NOW);
    assert_eq!(opened.err().map(|error| error.kind()), Some(ErrorKind::InvalidData));
}

#[test]
fn the_files_of_a_vault_hold_no_secret_in_the_clear() {
    let dir = Dir::new("clear");
    let vault = dir.open().0;
    assert!(put(&vault, 1));
    close(&vault);
    let seed = secret(1).key;
    for entry in fs::read_dir(&dir.0).unwrap() {
        let bytes = copy(&entry.unwrap().path());
        assert!(!bytes.windows(16).any(|window| *window == seed[..16]));
    }
}

#[test]
fn secrets_of_a_vaults_earlier_lives_are_lost() {
    let dir = Dir::new("incarnations");
    let asked = |vault: &MemoryVault, incarnation: Option<Incarnation>, number| {
        let mut question = TakeSecret::new(handle(number), TakePurpose::Accept, Some(NOW));
        question.incarnation = incarnation;
        match vault.take(&question) {
            Reply::Now(TakeAnswer::Absent(absent)) => Some(absent),
            _ => None,
        }
    };
    let vault = dir.open().0;
    let first = vault.incarnation();
    assert!(put(&vault, 1) && put(&vault, 2));
    close(&vault);
    drop(vault);
    // A clean shutdown is no end of a life: an unknown secret may have been used and forgotten.
    let vault = dir.open().0;
    assert_eq!(vault.incarnation(), first);
    assert_eq!(asked(&vault, first, 1), None, "it is taken");
    assert_eq!(asked(&vault, first, 9), Some(Absence::Unknown));
    drop(vault);
    // A crash is an end.
    let began = std::time::Instant::now();
    let vault = dir.open().0;
    let second = vault.incarnation();
    assert!(first.unwrap().is_before(&second.unwrap()));
    for number in [1, 2, 9] {
        std::thread::sleep(Duration::from_millis(5));
        let Some(Absence::Lost { ended_before }) = asked(&vault, first, number) else {
            unreachable!("the earlier life is over");
        };
        assert!(ended_before >= Duration::from_millis(5) && ended_before <= began.elapsed());
    }
    assert_eq!(asked(&vault, second, 1), Some(Absence::Unknown), "never there, or evicted");
    assert_eq!(asked(&vault, None, 1), Some(Absence::Unknown));
    // Another vault, and one from the future.
    let other = Incarnation { vault: [9; 16], number: 0 };
    assert_eq!(asked(&vault, Some(other), 1), Some(Absence::Unknown));
    let next = second.map(|it| Incarnation { number: it.number + 1, ..it });
    assert_eq!(asked(&vault, next, 1), Some(Absence::Unknown));
    // Remembered outcomes take precedence.
    assert!(put(&vault, 3));
    assert_eq!(take(&vault, 3, TakePurpose::Accept, Some(NOW)), Ok(()));
    assert_eq!(asked(&vault, first, 3), Some(Absence::Used));
    assert_eq!(MemoryVault::new(10).incarnation(), None);
}
