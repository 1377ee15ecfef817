//! One-time keys in etcd, for a server that serves one connection at a time and waits for etcd meanwhile.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tessera::crypto::KeyForm;
use tessera::handshake::Reply;
use tessera::resume::{FlightHandle, PutRefused, PutSecret, TakeAnswer, TakeSecret, Vault};
use tessera_etcd::{EtcdClient, EtcdVault, Transport, VaultOptions};
use tessera_vault::{EpochKey, WrappingKeys, WrappingPurpose};
use tokio::runtime::{Builder, Runtime};

use super::pipes::Result;
use super::stores::unix_time;

/// How long etcd may take per request: longer than on a busy machine.
const DEADLINE: Duration = Duration::from_secs(5);

/// How long etcd may take to respond after it was started.
const START: Duration = Duration::from_secs(30);

/// More than a row needs for one client, and the most that a vault in etcd allows.
const PER_CLIENT: u16 = 1000;

/// A vault in etcd that waits for every put and take. It is a new one each time: no other has its prefix or its epoch
/// key.
pub(crate) struct EtcdStore {
    // Before the runtime, in which its tasks are.
    vault: EtcdVault,
    runtime: Runtime,
}

impl EtcdStore {
    /// Opens a vault in the etcd at this address, when it answers.
    pub(crate) fn open(etcd: SocketAddr) -> Result<Self> {
        let provider = tessera_aws_lc::provider();
        let random = || -> Result<[u8; 16]> {
            let mut bytes = [0; 16];
            provider.random.fill(&mut bytes).map_err(|_| "no random bytes for a vault")?;
            Ok(bytes)
        };
        // The keys of an experiment protect nothing of value.
        let secret = [random()?, random()?].concat();
        let secret: [u8; 32] = secret.try_into().map_err(|_| "a key of another length")?;
        let keys = WrappingKeys::new(&provider, WrappingPurpose::Secrets);
        keys.add(EpochKey::forever(random()?, secret.into()), unix_time()?)?;
        let prefix = format!("/tessera-lab/{:032x}/", u128::from_be_bytes(random()?));
        let options = VaultOptions {
            per_client: PER_CLIENT,
            // As vaults in memory keep them.
            key_form: KeyForm::Expanded,
            ..VaultOptions::new(prefix)
        };
        let transport = Transport::PlaintextOnPrivateNetwork;
        let client = EtcdClient::new(vec![etcd.to_string()], transport, DEADLINE);

        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let vault = {
            let _runtime = runtime.enter();
            EtcdVault::open(client, &provider, Arc::new(keys), options)
        };
        let begun = Instant::now();
        while let Err(error) = runtime.block_on(vault.count()) {
            if begun.elapsed() > START {
                return Err(format!("etcd does not answer: {error}").into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(Self { vault, runtime })
    }
}

impl Vault for EtcdStore {
    fn put(&self, put: PutSecret<'_>) -> std::result::Result<(), PutRefused> {
        self.runtime.block_on(self.vault.put_now(put))
    }

    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
        Reply::Now(self.runtime.block_on(self.vault.take_secret(question)))
    }

    fn burn(&self, handle: &FlightHandle) {
        self.vault.burn(handle);
    }

    fn key_form(&self) -> KeyForm {
        self.vault.key_form()
    }

    fn len(&self) -> usize {
        self.vault.len()
    }
}
