//! A member that starts while the store can't be reached.

use std::sync::Arc;

use crate::world::{HOUR, MemoryCache, World, settled, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_starts_with_its_saved_keys_and_enforces_their_times() {
    let world = World::new();
    let cache = Arc::new(MemoryCache::default());
    let a = world.join_with(World::options("a"), Some(cache.clone()));
    settled(&[&a]).await;
    a.ring.rotate().await.unwrap();
    settled(&[&a]).await;
    let held = a.held();
    drop(a);
    // The store is gone.
    let mut other = World::new();
    other.members_are_cut = true;
    let again = other.join_with(World::options("a"), Some(cache.clone()));
    until("it has its keys", || again.held() == held).await;
    other.pass(HOUR * 2);
    until("it stops sealing", || again.held().issuing.is_none()).await;

    // What is saved isn't readable, and a damaged cache counts as empty.
    let saved = cache.0.lock().unwrap().clone().unwrap();
    assert!(!saved.windows(16).any(|window| *window == held.issuing.unwrap()));
    for damaged in [&saved[..saved.len() - 1], &saved[1..], b""] {
        let cache = Arc::new(MemoryCache(Some(damaged.to_vec()).into()));
        let world = World::new();
        let member = world.join_with(World::options("b"), Some(cache));
        settled(&[&member]).await;
    }
}
