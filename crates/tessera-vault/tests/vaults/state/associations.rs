//! Associations that one server hands to the next.

use std::fs;

use tessera_vault::{PreviousLife, StateProblem};
use zeroize::Zeroizing;

use super::{Dir, seal};
use crate::common::NOW;

/// Several chunks of them.
fn some() -> Vec<Zeroizing<Vec<u8>>> {
    (0..1000_u32)
        .map(|number| Zeroizing::new([&[0x5a; 400][..], &number.to_be_bytes()].concat()))
        .collect()
}

fn handed_over(dir: &Dir) {
    let state = dir.open();
    seal(&state);
    state.close_with(some(), NOW).unwrap();
}

#[test]
fn associations_are_handed_over_once_and_in_no_file_afterwards() {
    let dir = Dir::new("associations");
    handed_over(&dir);
    for (name, bytes) in dir.files() {
        assert!(!bytes.windows(16).any(|window| window == [0x5a; 16]), "{name}");
    }
    let state = dir.open();
    assert!(!dir.path("associations").exists());
    assert!(state.take_associations().unwrap() == some());
    assert!(state.take_associations().unwrap().is_empty(), "once");
    drop(state);
    assert!(dir.open().take_associations().unwrap().is_empty(), "after a crash");
}

#[test]
fn associations_that_a_server_did_not_take_are_the_next_ones() {
    let dir = Dir::new("not-taken");
    handed_over(&dir);
    // One whose ring can't be written, and one that ends at once.
    fs::create_dir(dir.path("ring.new")).unwrap();
    assert!(dir.try_open(&[1]).is_err());
    fs::remove_dir(dir.path("ring.new")).unwrap();
    dir.open().close(NOW).unwrap();
    assert!(dir.open().take_associations().unwrap() == some());
}

#[test]
fn a_copy_of_associations_that_is_brought_back_is_not_read() {
    let dir = Dir::new("brought-back");
    handed_over(&dir);
    let copy = dir.files();
    drop(dir.open());
    // The file alone, after a crash.
    fs::write(dir.path("associations"), &copy["associations"]).unwrap();
    let state = dir.open();
    assert!(state.take_associations().unwrap().is_empty());
    assert!(!dir.path("associations").exists());
    state.close(NOW).unwrap();
    drop(state);
    // After a clean end, whose snapshot has another name.
    fs::write(dir.path("associations"), &copy["associations"]).unwrap();
    let state = dir.open();
    let error = state.take_associations().unwrap_err();
    assert!(matches!(error.problem(), StateProblem::Damaged), "{error}");
    assert!(matches!(state.previous_life(), PreviousLife::Closed { .. }));
    drop(state);
    // With its snapshot.
    for name in ["associations", "snapshot"] {
        fs::write(dir.path(name), &copy[name]).unwrap();
    }
    let state = dir.open();
    assert!(state.take_associations().unwrap().is_empty());
    assert_eq!(state.previous_life(), PreviousLife::Crashed);
}

#[test]
fn associations_that_are_damaged_or_of_another_version_or_state_are_refused_alone() {
    type Damage = fn(&mut Vec<u8>);
    let damage: [(&str, Damage); 9] = [
        ("damaged", |bytes| bytes.clear()),
        ("damaged", |bytes| bytes.truncate(7)),
        ("damaged", |bytes| bytes.truncate(bytes.len() / 2)),
        ("damaged", |bytes| bytes.truncate(bytes.len() - 1)),
        ("damaged", |bytes| bytes[0] ^= 1),
        ("damaged", |bytes| bytes[100] ^= 1),
        ("damaged", |bytes| *bytes.last_mut().unwrap() ^= 1),
        ("older version", |bytes| bytes[7] = 0),
        ("newer version", |bytes| bytes[7] = 2),
    ];
    for (told, damage) in damage {
        let dir = Dir::new("damaged-associations");
        handed_over(&dir);
        let mut bytes = fs::read(dir.path("associations")).unwrap();
        damage(&mut bytes);
        fs::write(dir.path("associations"), bytes).unwrap();
        let state = dir.open();
        let error = state.take_associations().unwrap_err().to_string();
        assert!(error.contains(told) && error.contains("associations"), "{error}");
        assert_eq!(state.previous_life(), PreviousLife::Closed { secrets: 0 });
    }
    let (dir, other) = (Dir::new("own-associations"), Dir::new("other-associations"));
    handed_over(&dir);
    handed_over(&other);
    fs::copy(other.path("associations"), dir.path("associations")).unwrap();
    assert!(dir.open().take_associations().is_err());
}

#[test]
fn associations_need_the_key_of_their_state() {
    let dir = Dir::new("key-of-associations");
    handed_over(&dir);
    assert!(matches!(dir.refused(&[2]).problem(), StateProblem::WrongKey));
    assert!(dir.try_open(&[2, 1]).unwrap().take_associations().unwrap() == some());
}

#[test]
fn associations_that_fit_no_disk_cost_nothing_else() {
    let dir = Dir::new("full-of-associations");
    let state = dir.open();
    fs::create_dir(dir.path("associations.new")).unwrap();
    let told = state.close_with(some(), NOW).unwrap_err().to_string();
    assert!(told.contains("associations"), "{told}");
    fs::remove_dir(dir.path("associations.new")).unwrap();
    drop(state);
    let state = dir.open();
    assert_eq!(state.previous_life(), PreviousLife::Closed { secrets: 0 });
    assert!(state.take_associations().unwrap().is_empty());
}
