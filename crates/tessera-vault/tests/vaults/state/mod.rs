//! Ring and vault in one directory: restarts, crashes, other keys, and any content that a directory can have.
#![cfg(unix)]

mod associations;
mod put_back;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::common::{NOW, session};
use tessera::handshake::Reply;
use tessera::resume::{
    Absence, OpenTicket, TakeAnswer, TakePurpose, TakeSecret, TicketKeys, Vault,
};
use tessera_aws_lc::provider;
use tessera_vault::contract::{accept, handle, put};
use tessera_vault::{
    EpochKey, Limits, MemoryVault, PreviousLife, ServerState, StateError, StateKey, StateOptions,
    StateProblem, WrappingKeys, WrappingPurpose,
};

const SECOND: Duration = Duration::from_secs(1);

/// A separate directory for each test, removed at the end.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("tessera-state-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        Self(dir)
    }

    fn open(&self) -> ServerState {
        self.try_open(&[1]).unwrap()
    }

    fn try_open(&self, keys: &[u8]) -> Result<ServerState, StateError> {
        let keys: Vec<_> = keys.iter().map(|key| self::key(*key)).collect();
        // A child that another test is starting holds all files of this process, locks included, until its
        // exec.
        for _ in 0..40 {
            match ServerState::open(&self.0, &keys, &provider(), StateOptions::default(), NOW) {
                Err(error) if matches!(error.problem(), StateProblem::InUse) => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                opened => return opened,
            }
        }
        ServerState::open(&self.0, &keys, &provider(), StateOptions::default(), NOW)
    }

    /// Returns why it is refused, after checking that its content is unchanged.
    fn refused(&self, keys: &[u8]) -> StateError {
        let before = self.files();
        let error = self.try_open(keys).err().expect("it is refused");
        assert!(self.files() == before, "{error}");
        error
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(&self.0).unwrap().map(Result::unwrap);
        let files = entries.filter(|entry| entry.file_name() != "lock");
        let name = |entry: &fs::DirEntry| entry.file_name().into_string().unwrap();
        files.map(|entry| (name(&entry), fs::read(entry.path()).unwrap())).collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Ends a server with one ticket and one secret in it; returns the ticket.
    fn filled(&self) -> Vec<u8> {
        let state = self.open();
        let ticket = seal(&state);
        assert!(put(&*state.vault(), 1));
        state.close(NOW).unwrap();
        ticket
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn key(byte: u8) -> StateKey {
    StateKey::new(Box::new([byte; 32].into()))
}

fn seal(state: &ServerState) -> Vec<u8> {
    state.ring().seal(&session(), NOW).expect("there is a key")
}

fn opens(state: &ServerState, ticket: &[u8]) -> bool {
    let question = OpenTicket::new(ticket.to_vec(), Some(NOW));
    matches!(state.ring().open(&question), Reply::Now(Some(_)))
}

#[test]
fn a_state_survives_a_clean_restart_whole() {
    let dir = Dir::new("clean");
    let state = dir.open();
    assert_eq!(state.previous_life(), PreviousLife::None);
    let (ticket, life) = (seal(&state), state.vault().incarnation());
    assert!(put(&*state.vault(), 1) && put(&*state.vault(), 2));
    assert_eq!(accept(&*state.vault(), 2), Ok(()));
    state.close(NOW).unwrap();
    drop(state);
    for (name, bytes) in dir.files() {
        let mode = fs::metadata(dir.path(&name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
        assert!(!bytes.windows(16).any(|window| window == [0x5a; 16]), "{name}");
    }
    let state = dir.open();
    assert_eq!(state.previous_life(), PreviousLife::Closed { secrets: 1 });
    assert_eq!(state.vault().incarnation(), life);
    assert!(opens(&state, &ticket));
    assert!(!dir.path("snapshot").exists());
    assert_eq!(accept(&*state.vault(), 1), Ok(()));
    assert_eq!(accept(&*state.vault(), 2), Err(Absence::Used));
}

#[test]
fn the_ring_of_a_state_survives_a_crash_and_the_secrets_are_lost() {
    let dir = Dir::new("crash");
    let state = dir.open();
    let (ticket, life) = (seal(&state), state.vault().incarnation());
    assert!(put(&*state.vault(), 1));
    drop(state);
    let state = dir.open();
    assert_eq!(state.previous_life(), PreviousLife::Crashed);
    assert!(opens(&state, &ticket));
    let mut question = TakeSecret::new(handle(1), TakePurpose::Accept, Some(NOW));
    question.incarnation = life;
    let taken = state.vault().take(&question);
    assert!(matches!(taken, Reply::Now(TakeAnswer::Absent(Absence::Lost { .. }))));
}

#[test]
fn the_reset_key_of_a_state_survives_crashes_and_another_key_of_the_state() {
    let dir = Dir::new("reset-key");
    let key = *dir.open().reset_key();
    assert_ne!(key, [0; 32]);
    let sealed = fs::read(dir.path("reset-key")).unwrap();
    assert!(!sealed.windows(8).any(|window| key.windows(8).any(|part| part == window)));
    assert_eq!(dir.open().reset_key(), &key, "after a crash");
    assert_eq!(dir.try_open(&[2, 1]).unwrap().reset_key(), &key);
    assert_eq!(dir.try_open(&[2]).unwrap().reset_key(), &key);
    // Directories of earlier versions have none.
    fs::remove_file(dir.path("reset-key")).unwrap();
    let other = *dir.try_open(&[2]).unwrap().reset_key();
    assert_ne!(other, key);
    assert_ne!(Dir::new("other-reset-key").open().reset_key(), &other);
}

/// Fails if the secrets are only in memory.
#[test]
fn a_state_whose_ring_cannot_be_written_keeps_its_secrets() {
    let dir = Dir::new("unwritten");
    let ticket = dir.filled();
    fs::create_dir(dir.path("ring.new")).unwrap();
    let error = dir.try_open(&[2, 1]).err().unwrap();
    assert!(matches!(error.problem(), StateProblem::Io(_)), "{error}");
    fs::remove_dir(dir.path("ring.new")).unwrap();
    let state = dir.try_open(&[2, 1]).unwrap();
    assert_eq!(state.previous_life(), PreviousLife::Closed { secrets: 1 });
    assert!(opens(&state, &ticket));
    assert_eq!(accept(&*state.vault(), 1), Ok(()));
}

/// A destroyed key is in no file.
#[test]
fn a_state_that_is_kept_destroys_what_has_expired() {
    let dir = Dir::new("kept");
    let state = dir.open();
    assert!(put(&*state.vault(), 1));
    let day = 24 * 3600;
    // In steps, since a clock that jumps is not believed.
    (0..2 * day / 60).for_each(|minute| state.keep(NOW + 60 * minute * SECOND).unwrap());
    assert!(state.vault().is_empty() && !state.ring().is_empty());
    assert!(state.ring().len() > 1, "a day and a half is a key's life");
}

/// A new directory gets its ring last.
#[test]
fn a_first_start_that_was_cut_short_begins_again() {
    let dir = Dir::new("cut-short");
    drop(dir.open());
    fs::remove_file(dir.path("ring")).unwrap();
    assert_eq!(dir.open().ring().len(), 1);
}

#[test]
fn a_state_keeps_no_key_that_has_ended() {
    let dir = Dir::new("ended");
    let ticket = dir.filled();
    let later = NOW + Duration::from_secs(40 * 3600);
    let options = StateOptions::default();
    let state = ServerState::open(&dir.0, &[key(1)], &provider(), options, later).unwrap();
    assert_eq!(state.ring().len(), 1);
    drop(state);
    // The clock was wrong, but the key is gone nevertheless.
    let state = dir.open();
    assert!(!opens(&state, &ticket));
}

#[test]
fn a_state_changes_its_key_at_a_restart() {
    let dir = Dir::new("rekeyed");
    let ticket = dir.filled();
    let state = dir.try_open(&[2, 1]).unwrap();
    assert_eq!(state.previous_life(), PreviousLife::Closed { secrets: 1 });
    state.close(NOW).unwrap();
    drop(state);
    let error = dir.refused(&[1]);
    assert!(matches!(error.problem(), StateProblem::WrongKey), "{error}");
    let state = dir.try_open(&[2]).unwrap();
    assert!(opens(&state, &ticket) && accept(&*state.vault(), 1) == Ok(()));
}

#[test]
fn a_state_has_one_owner_at_a_time() {
    let dir = Dir::new("owners");
    let state = dir.open();
    let (ring, vault) = (state.ring(), state.vault());
    for left in [Some(state), None] {
        let error = dir.refused(&[1]);
        assert!(matches!(error.problem(), StateProblem::InUse), "{error}");
        drop(left);
    }
    drop(vault);
    assert!(matches!(dir.refused(&[1]).problem(), StateProblem::InUse), "the ring writes");
    drop(ring);
    dir.open();
}

/// Checks that wrong content is refused and left unchanged, and that the command in the message suffices.
fn is_refused_with_its_remedy(dir: &Dir, what: &str) {
    let error = dir.refused(&[1]);
    assert!(error.is_of_content(), "{what}: {error}");
    let told = error.to_string();
    let command = told.split("full handshake: ").nth(1);
    assert!(Command::new("sh").args(["-c", command.unwrap()]).status().unwrap().success());
    let state = dir.open();
    assert_eq!(state.previous_life(), PreviousLife::None, "{what}");
}

#[test]
fn damaged_files_of_a_state_are_refused_and_the_remedy_works() {
    type Damage = fn(&mut Vec<u8>);
    let damage: [(&str, Damage); 15] = [
        ("ring", |bytes| bytes.clear()),
        ("ring", |bytes| bytes.truncate(5)),
        ("ring", |bytes| bytes.truncate(bytes.len() - 1)),
        ("ring", |bytes| bytes.push(0)),
        ("ring", |bytes| bytes[7] = 0),
        ("ring", |bytes| bytes[7] = 2),
        ("state", |bytes| bytes.truncate(30)),
        ("state", |bytes| bytes[3] ^= 1),
        ("snapshot", |bytes| bytes.clear()),
        ("snapshot", |bytes| bytes.truncate(bytes.len() / 2)),
        ("snapshot", |bytes| *bytes.last_mut().unwrap() ^= 1),
        ("snapshot", |bytes| bytes[7] = 99),
        ("reset-key", |bytes| bytes.clear()),
        ("reset-key", |bytes| bytes[0] ^= 1),
        ("reset-key", |bytes| *bytes.last_mut().unwrap() ^= 1),
    ];
    for (name, damage) in damage {
        let dir = Dir::new("it's damaged");
        dir.filled();
        let mut bytes = fs::read(dir.path(name)).unwrap();
        damage(&mut bytes);
        fs::write(dir.path(name), bytes).unwrap();
        is_refused_with_its_remedy(&dir, name);
    }
    for name in ["ring", "state"] {
        let dir = Dir::new("missing");
        dir.filled();
        fs::remove_file(dir.path(name)).unwrap();
        is_refused_with_its_remedy(&dir, name);
    }
}

#[test]
fn every_changed_byte_of_a_states_ring_is_noticed() {
    let dir = Dir::new("flips");
    dir.filled();
    let good = fs::read(dir.path("ring")).unwrap();
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        fs::write(dir.path("ring"), bytes).unwrap();
        let error = dir.refused(&[1]);
        assert!(error.is_of_content(), "{at}: {error}");
    }
    fs::write(dir.path("ring"), good).unwrap();
    assert_eq!(dir.open().previous_life(), PreviousLife::Closed { secrets: 1 });
}

#[test]
fn states_of_other_versions_are_named_as_such() {
    let dir = Dir::new("versions");
    dir.filled();
    for (file, version, word) in [
        ("ring", 0, "older"),
        ("ring", 2, "newer"),
        ("snapshot", 99, "newer"),
        ("reset-key", 2, "newer"),
    ] {
        let good = fs::read(dir.path(file)).unwrap();
        let mut bytes = good.clone();
        bytes[7] = version;
        fs::write(dir.path(file), bytes).unwrap();
        let told = dir.refused(&[1]).to_string();
        assert!(told.contains(word) && told.contains(file), "{told}");
        fs::write(dir.path(file), good).unwrap();
    }
}

/// Two directories, one key: a file of one is not accepted in the other.
#[test]
fn files_of_two_states_are_not_mixed() {
    let (one, other) = (Dir::new("one"), Dir::new("other"));
    one.filled();
    other.filled();
    for name in ["ring", "state", "snapshot", "reset-key"] {
        let good = fs::read(one.path(name)).unwrap();
        fs::copy(other.path(name), one.path(name)).unwrap();
        let error = one.refused(&[1]);
        assert!(matches!(error.problem(), StateProblem::Damaged), "{name}: {error}");
        fs::write(one.path(name), good).unwrap();
    }
    assert_eq!(one.open().previous_life(), PreviousLife::Closed { secrets: 1 });
}

/// A directory from earlier in the same life is refused where anything could be accepted twice.
#[test]
fn an_earlier_snapshot_of_a_state_is_refused() {
    let dir = Dir::new("earlier");
    dir.filled();
    let earlier = fs::read(dir.path("snapshot")).unwrap();
    let state = dir.open();
    assert_eq!(accept(&*state.vault(), 1), Ok(()));
    state.close(NOW).unwrap();
    drop(state);
    fs::write(dir.path("snapshot"), earlier).unwrap();
    assert!(matches!(dir.refused(&[1]).problem(), StateProblem::Damaged));
}

#[test]
fn a_directory_that_is_no_state_is_refused() {
    let dir = Dir::new("no-state");
    fs::create_dir(&dir.0).unwrap();
    fs::write(dir.path("thesis.tex"), "years of work").unwrap();
    let error = dir.refused(&[1]);
    assert!(matches!(error.problem(), StateProblem::HoldsOtherFiles) && !error.is_of_content());
    assert!(!dir.path("lock").exists());
    fs::remove_file(dir.path("thesis.tex")).unwrap();
    fs::set_permissions(&dir.0, fs::Permissions::from_mode(0o777)).unwrap();
    let error = dir.refused(&[1]);
    assert!(matches!(error.problem(), StateProblem::WritableByOthers { mode: 0o777 }), "{error}");
    fs::set_permissions(&dir.0, fs::Permissions::from_mode(0o755)).unwrap();
    // Only root can change the owner, and only root could have opened it then.
    if chown(&dir.0, Some(65_534), None).is_ok() {
        let error = dir.refused(&[1]);
        let problem = error.problem();
        assert!(matches!(problem, StateProblem::OwnedByAnother { owner: 65_534 }), "{error}");
        chown(&dir.0, Some(0), None).unwrap();
    }
    dir.open();

    let file = Dir::new("file");
    fs::write(&file.0, "").unwrap();
    let told = file.try_open(&[1]).err().unwrap().to_string();
    assert!(told.contains("a directory is needed"), "{told}");
    fs::remove_file(&file.0).unwrap();
    let below = Dir(file.0.join("missing"));
    let told = below.try_open(&[1]).err().unwrap().to_string();
    assert!(told.contains("does not exist"), "{told}");
    assert!(dir.try_open(&[0]).err().unwrap().to_string().contains("all zeros"));
}

/// A directory of a vault alone is refused: its secrets would be lost.
#[test]
fn a_directory_of_a_vault_alone_is_refused() {
    let dir = Dir::new("vault");
    let keys = WrappingKeys::new(&provider(), WrappingPurpose::Snapshot);
    keys.add(EpochKey::forever([1; 16], [7; 32].into()), NOW).unwrap();
    let (vault, _) = MemoryVault::open(&dir.0, Limits::new(10), &provider(), &keys, NOW).unwrap();
    vault.close(&provider(), &keys, NOW).unwrap();
    drop(vault);
    is_refused_with_its_remedy(&dir, "a vault's");
}

#[test]
fn a_state_on_a_full_disk_is_refused_and_kept() {
    let dir = Dir::new("full");
    let ticket = dir.filled();
    for name in ["ring.new", "state.new", "reset-key.new"] {
        // Every write here finds the disk full.
        symlink("/dev/full", dir.path(name)).unwrap();
        let error = dir.try_open(&[2, 1]).err().expect("there is no room");
        assert!(error.to_string().contains("is full"), "{error}");
        assert!(!error.is_of_content());
        fs::remove_file(dir.path(name)).unwrap();
    }
    assert!(opens(&dir.try_open(&[2, 1]).unwrap(), &ticket));
}

#[test]
fn a_state_continues_on_a_full_disk_and_reports_it() {
    let dir = Dir::new("fills");
    let state = dir.open();
    symlink("/dev/full", dir.path("ring.new")).unwrap();
    let ticket = seal(&state);
    let told = state.close(NOW + SECOND).unwrap_err().to_string();
    assert!(told.contains("is full") && told.contains("ring"), "{told}");
    assert!(opens(&state, &ticket));
    fs::remove_file(dir.path("ring.new")).unwrap();
    drop(state);
    // The previous ring is there, and the vault was closed.
    let state = dir.open();
    assert_eq!(state.previous_life(), PreviousLife::Closed { secrets: 0 });
    assert!(opens(&state, &ticket));
}

#[test]
fn a_state_can_be_begun_afresh() {
    let dir = Dir::new("afresh");
    let ticket = dir.filled();
    let options = StateOptions::default();
    let afresh = || ServerState::open_afresh(&dir.0, &[key(9)], &provider(), options, NOW);
    let state = afresh().unwrap();
    assert_eq!(state.previous_life(), PreviousLife::None);
    assert!(!opens(&state, &ticket) && accept(&*state.vault(), 1).is_err());
    assert!(matches!(afresh().err().unwrap().problem(), StateProblem::InUse));
    drop(state);
    assert_eq!(dir.try_open(&[9]).unwrap().previous_life(), PreviousLife::Crashed);
}
