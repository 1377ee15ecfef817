//! The store in a file keeps the contract.

use std::sync::Arc;

use tessera_store::{FileStore, Store, contract};

use crate::common::Directory;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_in_a_file_keeps_the_contract() {
    let directory = Directory::new();
    let store: Arc<dyn Store> = Arc::new(FileStore::open(&directory.store()).unwrap());
    contract::store(|| store.clone()).await;
}
