//! Session files leave nothing in memory once they are written or their sessions dropped.
//!
//! A separate program, because it searches the whole process.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::sync::Arc;
use std::sync::mpsc::channel;

use common::{SERVER_NAME, connect, finish, forward_secret};
use tessera::crypto::Secret;
use tessera::resume::{ClientSession, FsClientTicket, SessionState};
use tessera_harness::Mark;
use tessera_tokio::{FileSessionStore, MemorySessionStore, SessionStore};

/// Returns a session whose secrets are marked.
async fn marked(mark: &Mark) -> ClientSession {
    let memory = Arc::new(MemorySessionStore::default());
    let ends = forward_secret();
    let connector = ends.connector().with_sessions(memory.clone());
    let (mut client, mut server) = connect(&connector, &ends.acceptor()).await;
    finish(&mut client, &mut server).await;
    let session = memory.pop(SERVER_NAME).unwrap();
    let secret = || Secret::filled_by(32, |out| mark.fill(out));
    let forward_secret = session.forward_secret.unwrap();
    ClientSession {
        state: SessionState { psk: secret(), ..session.state },
        forward_secret: Some(FsClientTicket { secret: secret(), ..forward_secret }),
        ..session
    }
}

/// On its own thread, as connections do it; its stack is searched while it lives.
#[tokio::test]
async fn no_secret_of_a_session_file_stays_in_memory() {
    let directory = std::env::temp_dir().join(format!("tessera-wiped-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    let mark = Mark::new();
    let key = [7; 32];
    for wrapped in [false, true] {
        let session = Box::new(marked(&mark).await);
        assert!(mark.count() > 0, "what is there is found");
        let directory = directory.clone();
        let (done, steps) = channel();
        let (go_on, may_go_on) = channel();
        let thread = std::thread::spawn(move || {
            let store = match wrapped {
                false => FileSessionStore::open(directory),
                true => {
                    FileSessionStore::open_wrapped(directory, &tessera_aws_lc::provider(), &key)
                }
            };
            let store = store.unwrap();
            store.put(SERVER_NAME, *session);
            done.send("written").unwrap();
            may_go_on.recv().unwrap();
            let session = store.pop(SERVER_NAME).unwrap();
            done.send("read").unwrap();
            may_go_on.recv().unwrap();
            drop(session);
            done.send("dropped").unwrap();
            may_go_on.recv().unwrap();
        });
        for (step, has_session) in [("written", false), ("read", true), ("dropped", false)] {
            assert_eq!(steps.recv().unwrap(), step);
            assert_eq!(mark.count() > 0, has_session, "{step}, wrapped: {wrapped}");
            go_on.send(()).unwrap();
        }
        thread.join().unwrap();
    }
    let _ = fs::remove_dir_all(&directory);
}
