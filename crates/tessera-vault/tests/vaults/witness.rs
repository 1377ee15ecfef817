//! Directories of memory vaults that were rolled back or copied, and the witnesses that detect it.
#![cfg(unix)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{fs, io};

use tessera::handshake::Reply;
use tessera::resume::{Absence, Incarnation, TakeAnswer, TakePurpose, TakeSecret, Vault};
use tessera_aws_lc::provider;
use tessera_vault::contract::{NOW, accept, handle, put};
use tessera_vault::{
    EpochKey, FileWitness, Limits, Mark, MemoryVault, RestoreOutcome, Witness, WitnessOutcome,
    WrappingKeys, WrappingPurpose, contract,
};

/// Directories of vaults and their witness, removed at the end.
struct Scene {
    dir: PathBuf,
    witness: Arc<dyn Witness>,
}

impl Scene {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("tessera-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let witness = Arc::new(FileWitness::new(&dir.join("witness")).unwrap());
        Self { dir, witness }
    }

    fn with(name: &str, witness: impl Witness + 'static) -> Self {
        let mut scene = Self::new(name);
        scene.witness = Arc::new(witness);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn try_open(&self, name: &str) -> io::Result<(MemoryVault, RestoreOutcome)> {
        let (limits, witness) = (Limits::new(100), self.witness.clone());
        MemoryVault::open_witnessed(&self.path(name), witness, limits, &provider(), &keys(), NOW)
    }

    fn open(&self, name: &str) -> (MemoryVault, RestoreOutcome) {
        self.try_open(name).unwrap()
    }

    fn copy(&self, from: &str, to: &str) {
        copy(&self.path(from), &self.path(to));
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

fn keys() -> WrappingKeys {
    let keys = WrappingKeys::new(&provider(), WrappingPurpose::Snapshot);
    keys.add(EpochKey::forever([1; 16], [7; 32].into()), NOW).unwrap();
    keys
}

fn close(vault: &MemoryVault) {
    vault.close(&provider(), &keys(), NOW).unwrap();
}

/// Closes a vault with three secrets; returns its incarnation.
fn closed(scene: &Scene) -> Option<Incarnation> {
    let (vault, restored) = scene.open("vault");
    assert_eq!(restored, RestoreOutcome::Nothing);
    assert!((0..3).all(|number| put(&vault, number)));
    close(&vault);
    vault.incarnation()
}

/// Returns what the vault reports of a secret of that life.
fn asked(vault: &MemoryVault, incarnation: Option<Incarnation>, number: u32) -> Option<Absence> {
    let mut question = TakeSecret::new(handle(number), TakePurpose::Accept, Some(NOW));
    question.incarnation = incarnation;
    match vault.take(&question) {
        Reply::Now(TakeAnswer::Absent(absent)) => Some(absent),
        _ => None,
    }
}

fn is_another(vault: &MemoryVault, than: Option<Incarnation>) -> bool {
    vault.incarnation().map(|it| it.vault) != than.map(|it| it.vault)
}

#[test]
fn a_witnessed_vault_keeps_the_contract_over_restarts_and_rollbacks() {
    let scene = Scene::new("witnessed");
    contract::restart(|| scene.open("vault").0, |vault| close(&vault));
    contract::rolled_back(
        || scene.open("other").0,
        |vault| close(&vault),
        || scene.copy("other", "backup"),
        || scene.copy("backup", "other"),
    );
}

#[test]
fn a_witnessed_vault_goes_on_after_a_clean_shutdown_and_after_a_crash() {
    let scene = Scene::new("goes-on");
    let first = closed(&scene);
    let (vault, restored) = scene.open("vault");
    assert_eq!((restored, vault.incarnation()), (RestoreOutcome::Secrets(3), first));
    drop(vault);
    let (vault, restored) = scene.open("vault");
    assert_eq!(restored, RestoreOutcome::Nothing);
    assert!(first.unwrap().is_before(&vault.incarnation().unwrap()));
    assert!(matches!(asked(&vault, first, 1), Some(Absence::Lost { .. })));
}

#[test]
fn a_vaults_directory_that_was_rolled_back_starts_afresh() {
    let scene = Scene::new("rolled-back");
    let first = closed(&scene);
    scene.copy("vault", "backup");
    let (vault, _) = scene.open("vault");
    assert_eq!(accept(&vault, 0), Ok(()));
    drop(vault);
    scene.copy("backup", "vault");
    let (vault, restored) = scene.open("vault");
    assert_eq!((restored, vault.len()), (RestoreOutcome::RolledBack, 0));
    assert!(is_another(&vault, first));
    assert!(!scene.path("vault").join("snapshot").exists());
    // Not even `lost`: an earlier life may continue elsewhere.
    for number in 0..3 {
        assert_eq!(asked(&vault, first, number), Some(Absence::Unknown));
    }
    // From here on it is like any other.
    assert!(put(&vault, 9));
    close(&vault);
    drop(vault);
    let (vault, restored) = scene.open("vault");
    assert_eq!(restored, RestoreOutcome::Secrets(1));
    assert_eq!(accept(&vault, 9), Ok(()));
}

#[test]
fn a_copy_of_a_vaults_directory_starts_afresh() {
    let scene = Scene::new("copied");
    let first = closed(&scene);
    scene.copy("vault", "copy");
    let (vault, restored) = scene.open("vault");
    assert_eq!(restored, RestoreOutcome::Secrets(3));
    let (other, restored) = scene.open("copy");
    assert_eq!(restored, RestoreOutcome::RolledBack);
    assert!(is_another(&other, first) && asked(&other, first, 0) == Some(Absence::Unknown));
    // A copy of one in use.
    scene.copy("vault", "third");
    let (third, restored) = scene.open("third");
    assert_eq!(restored, RestoreOutcome::RolledBack);
    assert_eq!(asked(&third, first, 0), Some(Absence::Unknown));
    // The original isn't affected.
    assert_eq!(accept(&vault, 0), Ok(()));
    close(&vault);
    drop(vault);
    assert_eq!(scene.open("vault").1, RestoreOutcome::Secrets(2));
}

#[test]
fn a_witness_that_forgot_a_vault_or_did_not_see_it_is_believed() {
    let scene = Scene::new("forgot");
    let first = closed(&scene);
    for entry in fs::read_dir(scene.path("witness")).unwrap() {
        fs::write(entry.unwrap().path(), b"").unwrap();
    }
    let (vault, restored) = scene.open("vault");
    assert_eq!(restored, RestoreOutcome::RolledBack);
    assert!(is_another(&vault, first) && put(&vault, 1));
    close(&vault);
    drop(vault);
    // It is opened without the witness, so it may be a copy by now.
    let open =
        |name| MemoryVault::open(&scene.path(name), Limits::new(9), &provider(), &keys(), NOW);
    assert_eq!(open("vault").unwrap().1, RestoreOutcome::Secrets(1));
    assert_eq!(scene.open("vault").1, RestoreOutcome::RolledBack);

    // A directory from before there was a witness continues, and can't be rolled back to then.
    let vault = open("old").unwrap().0;
    assert!(put(&vault, 1));
    close(&vault);
    drop(vault);
    scene.copy("old", "backup");
    assert_eq!(scene.open("old").1, RestoreOutcome::Secrets(1));
    scene.copy("backup", "old");
    assert_eq!(scene.open("old").1, RestoreOutcome::RolledBack);
}

/// Marks in memory: like a witness on another machine, it can't detect whether an owner lives.
#[derive(Default, Clone)]
struct RemoteWitness(Arc<Mutex<HashMap<[u8; 16], Mark>>>, Arc<Mutex<bool>>);

impl Witness for RemoteWitness {
    fn replace(
        &self,
        vault: &[u8; 16],
        old: Option<&Mark>,
        new: &Mark,
    ) -> io::Result<WitnessOutcome> {
        if *self.1.lock().unwrap() {
            return Err(io::Error::other("it can't be reached"));
        }
        let mut marks = self.0.lock().unwrap();
        if marks.get(vault) != old {
            return Ok(WitnessOutcome::Differs);
        }
        marks.insert(*vault, *new);
        Ok(WitnessOutcome::Replaced { hold: None })
    }
}

#[test]
fn a_witness_that_cannot_identify_the_living_vault_lets_none_speak_for_an_earlier_life() {
    let scene = Scene::with("afar", RemoteWitness::default());
    let first = closed(&scene);
    let (vault, restored) = scene.open("vault");
    assert_eq!((restored, vault.incarnation()), (RestoreOutcome::Secrets(3), first));
    scene.copy("vault", "copy");
    let (copy, restored) = scene.open("copy");
    assert_eq!(restored, RestoreOutcome::Nothing);
    assert!(is_another(&copy, first));
    assert_eq!(asked(&copy, first, 0), Some(Absence::Unknown), "the original has it");
    assert_eq!(accept(&vault, 0), Ok(()));
    // The original detects the copy when it hands its secrets on, and doesn't do so.
    assert!(vault.close(&provider(), &keys(), NOW).is_err());
    drop(vault);
    let (vault, restored) = scene.open("vault");
    assert_eq!((restored, vault.len()), (RestoreOutcome::RolledBack, 0));
}

#[test]
fn a_vault_does_not_open_without_its_witness() {
    let witness = RemoteWitness::default();
    let scene = Scene::with("away", witness.clone());
    closed(&scene);
    *witness.1.lock().unwrap() = true;
    assert!(scene.try_open("vault").is_err());
    *witness.1.lock().unwrap() = false;
    assert_eq!(scene.open("vault").1, RestoreOutcome::Secrets(3), "nothing happened");
}
