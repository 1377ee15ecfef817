//! Shared by the tests: a runtime, a vault that waits, clusters.

pub mod authority;
pub mod between;
pub mod http;
pub mod rings;

use std::sync::Arc;
use std::time::Duration;

use tessera::handshake::Reply;
use tessera::resume::{FlightHandle, PutRefused, PutSecret, TakeAnswer, TakeSecret, Vault};
use tessera_aws_lc::provider;
use tessera_etcd::{EtcdClient, EtcdVault, Transport, VaultOptions};
use tessera_vault::contract::NOW;
use tessera_vault::{EpochKey, WrappingKeys, WrappingPurpose};
use tokio::runtime::Runtime;

/// An etcd vault whose operations block, as the contract's tests require.
pub struct BlockingVault {
    vault: Option<EtcdVault>,
    runtime: Arc<Runtime>,
}

/// The deadline of each operation. Slow machines need time; a test that waits for the deadline sets its own.
pub const DEADLINE: Duration = Duration::from_secs(5);

pub fn runtime() -> Arc<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    Arc::new(builder.worker_threads(2).enable_all().build().unwrap())
}

pub fn client(endpoints: Vec<String>, deadline: Duration) -> EtcdClient {
    EtcdClient::new(endpoints, Transport::PlaintextOnPrivateNetwork, deadline)
}

pub fn epoch_keys() -> Arc<WrappingKeys> {
    let keys = WrappingKeys::new(&provider(), WrappingPurpose::Secrets);
    keys.add(EpochKey::forever([1; 16], [7; 32].into()), NOW).unwrap();
    Arc::new(keys)
}

impl BlockingVault {
    pub fn new(runtime: &Arc<Runtime>, client: EtcdClient, options: VaultOptions) -> Self {
        let _inside = runtime.enter();
        let vault = EtcdVault::open(client, &provider(), epoch_keys(), options);
        Self { vault: Some(vault), runtime: runtime.clone() }
    }

    pub fn vault(&self) -> &EtcdVault {
        self.vault.as_ref().unwrap()
    }
}

impl Drop for BlockingVault {
    fn drop(&mut self) {
        // Its tasks end on the runtime.
        let _inside = self.runtime.enter();
        drop(self.vault.take());
    }
}

impl Vault for BlockingVault {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.runtime.block_on(self.vault().put_now(put))
    }

    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
        Reply::Now(self.runtime.block_on(self.vault().take_secret(question)))
    }

    fn burn(&self, handle: &FlightHandle) {
        self.runtime.block_on(self.vault().burn_now(handle)).unwrap();
    }

    fn len(&self) -> usize {
        self.runtime.block_on(self.vault().count()).unwrap()
    }
}
