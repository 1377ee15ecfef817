//! Who may be a member.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tessera_ring::{MemberOptions, RingOptions};
use tokio::time::sleep;

use crate::world::{World, settled, traits, until};

fn options(name: &str, kind: &str, issuer: &str) -> RingOptions {
    let member = MemberOptions { name: Some(name.into()), traits: traits(kind, issuer) };
    RingOptions { member, ..World::options(name) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_differs_from_those_of_its_kind_is_not_admitted() {
    let world = World::new();
    let a = world.join_with(options("a", "envoy", "CN=one"), None);
    settled(&[&a]).await;
    let b = world.join_with(options("b", "envoy", "CN=two"), None);
    let why = "b differs from member a in issuer: \"CN=two\" here, \"CN=one\" there: neither would resume the other's \
               tickets, so b is not admitted to the ring; make them equal";
    until("it is refused", || b.problem().as_deref() == Some(why)).await;
    sleep(Duration::from_millis(200)).await;
    assert_eq!((a.ring.status().members.len(), b.held()), (1, Default::default()));
    // The others aren't disturbed; members of other kinds may differ.
    a.ring.rotate().await.unwrap();
    let c = world.join_with(options("c", "haproxy", "CN=two"), None);
    settled(&[&a, &c]).await;
    // It gets in when the other is gone.
    a.ring.close().await;
    settled(&[&b, &c]).await;
    assert_eq!(b.problem(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_processes_with_one_name_the_later_one_stays() {
    let world = World::new();
    let first = world.join("a");
    settled(&[&first]).await;
    let second = world.join("a");
    until("the first leaves", || first.problem().is_some()).await;
    assert!(first.problem().unwrap().starts_with("another process joined the ring as a: "));
    settled(&[&second]).await;
    // It no longer touches the server that both have.
    let installs = first.server.installs.load(Ordering::Relaxed);
    second.ring.rotate().await.unwrap();
    settled(&[&second]).await;
    sleep(Duration::from_millis(200)).await;
    assert_eq!(first.server.installs.load(Ordering::Relaxed), installs);
    // Its lease's end takes nothing from the other.
    sleep(Duration::from_secs(3)).await;
    assert_eq!(second.ring.status().members.len(), 1);
}

/// Its renewals arrive: it must not count as live for that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_gets_no_answers_is_no_longer_waited_for() {
    let world = World::new();
    let (a, b) = (world.join("a"), world.join("b"));
    settled(&[&a, &b]).await;
    b.link.loses_answers.store(true, Ordering::Relaxed);
    let held = b.held().next;
    until("the others go on", || a.ring.status().members.len() == 1).await;
    a.ring.rotate().await.unwrap();
    a.ring.rotate().await.unwrap();
    b.link.loses_answers.store(false, Ordering::Relaxed);
    settled(&[&a, &b]).await;
    assert_ne!(b.held().next, held);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_died_is_waited_for_until_its_lease_ends() {
    let world = World::new();
    let (a, b) = (world.join("a"), world.join("b"));
    settled(&[&a, &b]).await;
    // As a process that was killed: nothing is revoked.
    drop(b);
    a.ring.rotate().await.unwrap();
    until("b is waited for", || a.ring.status().waiting_for == ["b"]).await;
    until("b is gone", || a.ring.status().members.len() == 1).await;
    a.ring.rotate().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_restarted_gets_its_keys_again() {
    let world = World::new();
    let a = world.join("a");
    settled(&[&a]).await;
    let installs = || a.server.installs.load(Ordering::Relaxed);
    let before = installs();
    sleep(Duration::from_millis(200)).await;
    assert_eq!(installs(), before, "unchanged keys are installed once");
    a.ring.install_again().await;
    until("they are installed again", || installs() == before + 1).await;
}
