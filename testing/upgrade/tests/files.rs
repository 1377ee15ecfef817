//! Files of earlier versions: they open, or are refused with a sentence.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here are tests too")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tessera::handshake::Reply;
use tessera::resume::{
    Absence, ClientSession, OpenTicket, PskKind, SessionImportError, TicketKeys, Vault,
};
use tessera::wire::NamedGroup;
use tessera_aws_lc::provider;
use tessera_harness::{EARLY_DATA, SERVER_NAME, at};
use tessera_tokio::{FileSessionStore, SessionStore};
use tessera_upgrade::{Caches, NOW, of_version, scene, wrapping_keys};
use tessera_vault::contract::accept;
use tessera_vault::{
    Limits, MemoryVault, RestoreOutcome, TicketKey, TicketKeyRing, WrappingPurpose,
};

/// A copy of a folder, removed at the end: opening consumes the contents.
struct Copy(std::path::PathBuf);

impl Copy {
    fn of(folder: &Path, name: &str) -> Self {
        // Concurrent tests have the same name and process.
        static COPIES: AtomicUsize = AtomicUsize::new(0);
        let number = COPIES.fetch_add(1, Ordering::Relaxed);
        let unique = format!("tessera-{name}-{}-{number}", std::process::id());
        let to = std::env::temp_dir().join(unique);
        let _ = fs::remove_dir_all(&to);
        copy(folder, &to);
        Self(to)
    }
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap().flatten() {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::copy(from, to).unwrap();
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// It doesn't name the verifier that accepted its server.
#[test]
fn a_session_file_of_version_1_is_refused_with_a_sentence() {
    let old = of_version("1").join("sessions");
    let file = files(&old).pop().expect("a session");
    let error = ClientSession::import(&fs::read(file).unwrap()).unwrap_err();
    assert_eq!(error, SessionImportError::EarlierVersion);
    assert_eq!(
        error.to_string(),
        "a session made by an earlier version, which doesn't record who accepted its server; drop it"
    );
    // A store removes it.
    let copy = Copy::of(&old, "sessions");
    let store = FileSessionStore::open(&copy.0).unwrap();
    assert!(store.pop(SERVER_NAME).is_none());
    assert_eq!(files(&copy.0), [] as [&Path; 0]);
}

/// Ticket keys outlive the version; a ticket sealed under them by that version is an unknown ticket.
#[test]
fn a_ticket_key_of_version_1_seals_and_its_tickets_cost_a_full_handshake() {
    let old = of_version("1");
    let key = TicketKey::decode(&fs::read(old.join("ring-key")).unwrap()).expect("a key");
    let id = key.id;
    let ring = Arc::new(TicketKeyRing::new(&provider()));
    ring.add(key, NOW).unwrap();
    let ticket = fs::read(old.join("ticket")).unwrap();
    assert_eq!(ticket[1..17], id);
    assert!(matches!(ring.open(&OpenTicket::new(ticket.clone(), Some(NOW))), Reply::Now(None)));

    let scene = scene(ring);
    let mut session = scene.session().expect("a session");
    assert_eq!(session.ticket[1..17], id);
    let mut resumed = scene.start(scene.session(), at(1));
    resumed.run();
    assert_eq!(resumed.server.facts().psk, Some(PskKind::ForwardSecret));
    session.ticket = ticket;
    let mut pair = scene.start(Some(session), at(1));
    pair.run();
    assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
    assert!(pair.to_client.complete && pair.to_server.complete);
    assert_eq!(pair.server.facts().psk, None);
    assert_eq!(pair.to_server.early_data, b"");
}

#[test]
fn vault_directories_of_earlier_versions_open_with_all_they_had() {
    for version in ["1", "2", "3"] {
        let (vault, _copy) = vault_of(version);
        assert_eq!(accept(&vault, 0), Err(Absence::Used));
        assert_eq!(accept(&vault, 1), Err(Absence::Burned));
        assert_eq!(accept(&vault, 2), Ok(()));
        assert_eq!(accept(&vault, 3), Ok(()));
    }
}

fn vault_of(version: &str) -> (MemoryVault, Copy) {
    let copy = Copy::of(&of_version(version).join("vault"), &format!("vault-{version}"));
    let keys = wrapping_keys(WrappingPurpose::Snapshot);
    let (vault, restored) =
        MemoryVault::open(&copy.0, Limits::new(100), &provider(), &keys, NOW).unwrap();
    // Those of the contract, and of two tickets.
    assert_eq!(restored, RestoreOutcome::Secrets(2 + 2), "{version}");
    (vault, copy)
}

/// Client, ring and vault as a version left them: in version 2 the flight's hybrid key is a seed of that version. New
/// keys in the vault are expanded.
#[test]
fn a_flight_under_a_ticket_of_an_earlier_version_is_accepted() {
    for version in ["2", "3"] {
        accepts_a_flight_of(version);
    }
}

fn accepts_a_flight_of(version: &str) {
    let old = of_version(version);
    let file = files(&old.join("sessions")).pop().expect("a session");
    let session = ClientSession::import(&fs::read(file).unwrap()).expect("of this version");
    let ring = Arc::new(TicketKeyRing::new(&provider()));
    let key = TicketKey::decode(&fs::read(old.join("ring-key")).unwrap()).expect("a key");
    ring.add(key, NOW).unwrap();
    let (vault, _copy) = vault_of(version);
    let vault = Arc::new(vault);
    let mut scene = scene(ring);
    if let Some(guard) = &mut scene.server.policy.early_data.forward_secret {
        guard.vault = vault.clone();
    }
    let mut session = Some(session);
    for (moment, left) in [(1, 4), (2, 4)] {
        let mut pair = scene.start(session.take(), at(moment));
        pair.run();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
        let facts = pair.server.facts();
        assert_eq!(facts.one_time_key, Some(NamedGroup::X25519MLKEM768));
        assert_eq!(pair.to_server.early_data, EARLY_DATA);
        // One was taken, one was put.
        assert_eq!(vault.len(), left);
        session = pair.to_client.sessions.pop();
    }
}

#[test]
fn certificates_that_version_3_kept_travel_as_hashes() {
    let kept = |file: &str| fs::read(of_version("3").join(file)).unwrap();
    let caches = Caches::empty();
    caches.client.import(&kept("servers")).unwrap();
    caches.server.import(&kept("clients")).unwrap();
    assert_eq!(caches.connect(), (true, true));
}
