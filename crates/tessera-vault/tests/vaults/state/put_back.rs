//! A directory restored to its state after an earlier end, under the key of that time.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use tessera::resume::Absence;
use tessera_aws_lc::provider;
use tessera_vault::contract::{accept, put};
use tessera_vault::{FileWitness, PreviousLife, ServerState, StateOptions, StateProblem};

use super::{Dir, key, opens};
use crate::common::NOW;

/// Restores the files of a directory.
fn put_back(dir: &Dir, files: &BTreeMap<String, Vec<u8>>) {
    fs::remove_dir_all(&dir.0).unwrap();
    fs::create_dir(&dir.0).unwrap();
    fs::set_permissions(&dir.0, fs::Permissions::from_mode(0o700)).unwrap();
    for (name, bytes) in files {
        fs::write(dir.path(name), bytes).unwrap();
    }
}

#[test]
fn a_state_gives_secrets_out_again_unless_it_has_a_witness() {
    let (dir, place) = (Dir::new("put-back"), Dir::new("put-back-witness"));
    let ticket = dir.filled();
    let copy = dir.files();
    for _ in 0..2 {
        put_back(&dir, &copy);
        let state = dir.open();
        assert_eq!(
            accept(&*state.vault(), 1),
            Ok(()),
            "nothing in a directory shows that it is old"
        );
        state.close(NOW).unwrap();
    }

    let witness = Arc::new(FileWitness::new(&place.0).unwrap());
    let open = || {
        let options = StateOptions::default();
        ServerState::open_witnessed(&dir.0, &[key(1)], witness.clone(), &provider(), options, NOW)
    };
    // The first open with a witness accepts the directory as it is.
    put_back(&dir, &copy);
    let state = open().unwrap();
    assert_eq!(state.previous_life(), PreviousLife::Closed { secrets: 1 });
    state.close(NOW).unwrap();
    drop(state);
    let copy = dir.files();
    let state = open().unwrap();
    assert_eq!(accept(&*state.vault(), 1), Ok(()));
    let mut reset_keys = vec![*state.reset_key()];
    state.close(NOW).unwrap();
    drop(state);
    for _ in 0..2 {
        put_back(&dir, &copy);
        let state = open().unwrap();
        assert_eq!(state.previous_life(), PreviousLife::RolledBack);
        assert_eq!(accept(&*state.vault(), 1), Err(Absence::Unknown));
        assert!(!dir.path("snapshot").exists());
        assert!(opens(&state, &ticket), "a ticket may be used twice");
        assert!(!reset_keys.contains(state.reset_key()), "it may be a copy");
        reset_keys.push(*state.reset_key());
        // From here on it is like any other.
        assert!(put(&*state.vault(), 2));
        state.close(NOW).unwrap();
        drop(state);
        let state = open().unwrap();
        assert_eq!(state.previous_life(), PreviousLife::Closed { secrets: 1 });
        assert_eq!(accept(&*state.vault(), 2), Ok(()));
        assert!(opens(&state, &ticket));
    }
    let state = open().unwrap();
    assert_eq!(state.previous_life(), PreviousLife::Crashed, "the life before wasn't closed");
    drop(state);
    fs::remove_dir_all(&place.0).unwrap();
    let told = open().err().unwrap();
    assert!(matches!(told.problem(), StateProblem::Witness(_)));
    let words = told.to_string();
    let expected = format!("{}: its witness can't be read: {}", dir.0.display(), place.0.display());
    assert!(words.starts_with(&expected), "{words}");
}
