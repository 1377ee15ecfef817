//! Measures commits of a store in a file that holds 100 kB: one after another, and sixteen at once.
//!
//! ```text
//! cargo run --release --example commits -- DIRECTORY
//! ```
//!
//! Each commit waits for the disk. The directory, which is created, decides which disk.

use std::error::Error;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tessera_store::{Change, FileStore, Store, StoreError, Transaction};

const ENTRIES: usize = 100;
const VALUE: usize = 1000;
const COMMITS: usize = 1000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).map(PathBuf::from).ok_or("which DIRECTORY?")?;
    DirBuilder::new().mode(0o700).create(&directory)?;
    let store = Arc::new(FileStore::open(&directory.join("store"))?);
    for number in 0..ENTRIES {
        put(&store, number).await?;
    }
    for at_once in [1, 16] {
        let began = Instant::now();
        let mut slowest = began.elapsed();
        let tasks = (0..at_once).map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut slowest = began.elapsed();
                for number in 0..COMMITS / at_once {
                    let began = Instant::now();
                    put(&store, number % ENTRIES).await?;
                    slowest = slowest.max(began.elapsed());
                }
                Ok::<_, StoreError>(slowest)
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            slowest = slowest.max(task.await??);
        }
        let rate = COMMITS as f64 / began.elapsed().as_secs_f64();
        println!("{at_once:2} at once: {rate:.0} commits/s, the slowest in {slowest:.1?}");
    }
    Ok(())
}

async fn put(store: &FileStore, number: usize) -> Result<(), StoreError> {
    let key = number.to_string().into_bytes();
    let change = Change::Put { key, value: vec![7; VALUE], lease: None };
    let transaction = Transaction { changes: vec![change], ..Transaction::default() };
    store.commit(transaction).await.map(drop)
}
