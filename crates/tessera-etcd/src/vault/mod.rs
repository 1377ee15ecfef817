//! The vault of a fleet.
//!
//! Under the prefix of the vault:
//! - `s/` and the name of a secret: when the secret expires, in milliseconds (8 bytes, big-endian), and the wrapped
//!   secret;
//! - `t/` and the name: its fate, `u` (used) or `b` (burned);
//! - `c/`, a hash of the client's name, and a number below the limit of clients: the name of a secret.
//!
//! The name of a secret is a hash of its flight's handle: a handle suffices to have a server burn the secret, so
//! reading etcd must not reveal handles.
//!
//! All of it has leases, so that nothing stays without end.

mod count;
mod lease;
mod puts;
mod takes;

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use tessera::crypto::{Hash, KeyForm, Provider};
use tessera::handshake::Reply;
use tessera::resume::{
    FlightHandle, OneTimeSecret, PutRefused, PutSecret, Receipt, Receipts, SettleReceipt,
    TakeAnswer, TakePurpose, TakeSecret, Vault,
};
use tessera::wire::CipherSuite;
use tessera_store::StoreError;
use tessera_tokio::{Answer, Answers};
use tessera_vault::WrappingKeys;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::api::Range;
use crate::client::EtcdClient;
use count::Count;
use lease::Leases;
use puts::{Work, WrappedSecret};
use takes::Room;

/// Holds the one-time secrets of a fleet in etcd, and gives each out once.
///
/// It is a [`Vault`] that answers takes later ([`Reply::Later`]): the server's [`Answers`] must pass
/// [`take_secret`](Answers::take_secret) on to it, and it is such an `Answers` itself. It puts in the background, so
/// that no handshake waits. A secret whose put fails, or is lost when the process ends, costs its client a round trip.
/// So does one that is taken before its put is done; it is in etcd from then on, and its flight can still be accepted
/// although its client received `unknown`.
///
/// Limits hold per vault, and approximately: [`VaultOptions::secrets`] is compared with a count every ten seconds plus
/// what this server has put since. The limit per client is exact: a new secret replaces the oldest.
pub struct EtcdVault {
    shared: Arc<Shared>,
    work: mpsc::Sender<Work>,
}

/// Options of a vault in etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultOptions {
    /// The prefix of all its keys in etcd. Servers with the same prefix share the vault, and need the same epoch keys.
    pub prefix: String,
    /// The most secrets. The last quarter is reserved for clients whose name is known, so that clients without one
    /// can't fill the vault. It remembers the fate of ten times as many former secrets.
    pub secrets: usize,
    /// The most secrets of one client whose name is known, up to 1000 and a quarter of `secrets`.
    pub per_client: u16,
    /// The longest lifetime of a secret; longer ones are refused. Tombstones live at least as long.
    pub max_lifetime: Duration,
    /// The form of new post-quantum keys. Default: seeds, with 0.3 kB per entry. In expanded form an entry has 2.6 kB,
    /// and handshakes need less than half the processor time. Servers of earlier versions only know seeds: a flight
    /// under an expanded key is `unknown` to them. So use it when the last of them is gone.
    pub key_form: KeyForm,
}

impl VaultOptions {
    /// Creates options for 100,000 secrets, 64 per client, for at most an hour: the default lifetime of a guard's keys.
    /// Keys are kept as seeds.
    pub fn new(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            secrets: 100_000,
            per_client: 64,
            max_lifetime: Duration::from_secs(3600),
            key_form: KeyForm::Seed,
        }
    }
}

struct Shared {
    client: EtcdClient,
    keys: Arc<WrappingKeys>,
    hash: &'static dyn Hash,
    options: VaultOptions,
    leases: Leases,
    secrets: Count,
    tombstones: Count,
    room: Room,
}

impl EtcdVault {
    /// Opens a vault, whether or not etcd can be reached.
    ///
    /// Its tasks run on the tokio runtime in which this is called, and end with the vault. `keys` are for
    /// [`WrappingPurpose::Secrets`](tessera_vault::WrappingPurpose::Secrets).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn open(
        client: EtcdClient,
        provider: &Provider,
        keys: Arc<WrappingKeys>,
        options: VaultOptions,
    ) -> Self {
        let shared = Arc::new(Shared {
            client,
            keys,
            hash: hash_for_names(provider),
            leases: Leases::new(options.max_lifetime),
            options,
            secrets: Count::default(),
            tombstones: Count::default(),
            room: Room::new(),
        });
        let (work, queue) = mpsc::channel(QUEUE);
        tokio::spawn(puts::run(shared.clone(), queue));
        tokio::spawn(keep_count(Arc::downgrade(&shared)));
        Self { shared, work }
    }

    /// Takes a secret.
    ///
    /// It is one transaction, sent once; whatever fails, at most one of all takes gets the secret. A take to burn it,
    /// and one after several that found nothing, reads first, and writes only if the secret is there.
    pub async fn take_secret(&self, question: &TakeSecret) -> TakeAnswer {
        self.shared.take(question).await
    }

    /// Puts a secret, and waits for it.
    ///
    /// [`Vault::put`] does it without waiting.
    ///
    /// # Errors
    /// If etcd didn't confirm in time that it has the secret, or already has one under its handle; at a limit; or if no
    /// wrapping key lives as long as the secret.
    pub async fn put_now(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.shared.put(self.shared.prepare(put)?).await
    }

    /// Destroys a secret, and waits for it.
    ///
    /// [`Vault::burn`] does it without waiting.
    ///
    /// # Errors
    /// If etcd didn't confirm it in time: the secret may still be there.
    pub async fn burn_now(&self, handle: &FlightHandle) -> Result<(), StoreError> {
        self.shared.burn(handle).await
    }

    /// Counts the secrets.
    ///
    /// # Errors
    /// If etcd doesn't answer in time.
    pub async fn count(&self) -> Result<usize, StoreError> {
        self.shared.count(&self.shared.client, "s/", &self.shared.secrets).await
    }
}

/// Returns a hash that is the same for all servers of a fleet, whatever their preferred suites.
fn hash_for_names(provider: &Provider) -> &'static dyn Hash {
    let suite = provider.suite(CipherSuite::TLS_AES_256_GCM_SHA384);
    suite.unwrap_or(provider.suites[0]).hash
}

/// The most puts that may wait; further ones are refused.
const QUEUE: usize = 1024;

impl Vault for EtcdVault {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        // Wrapped at once: nothing in the queue holds a secret in plaintext.
        let prepared = self.shared.prepare(put)?;
        self.work.try_send(Work::Put(prepared)).map_err(|_| PutRefused)
    }

    fn take(&self, _: &TakeSecret) -> Reply<TakeAnswer> {
        Reply::Later
    }

    fn burn(&self, handle: &FlightHandle) {
        if self.work.try_send(Work::Burn(*handle)).is_err() {
            tracing::warn!(
                "a one-time key stays until it expires: too many requests wait for etcd"
            );
        }
    }

    fn key_form(&self) -> KeyForm {
        self.shared.options.key_form
    }

    /// As counted up to ten seconds ago, and without the takes since.
    fn len(&self) -> usize {
        self.shared.secrets.estimate()
    }
}

impl Answers for EtcdVault {
    fn take_secret(&self, question: TakeSecret) -> Answer<TakeAnswer> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.take(&question).await })
    }

    fn settle_receipt(&self, question: SettleReceipt) -> Answer<Receipt> {
        let question = TakeSecret::new(question.handle, TakePurpose::Burn, question.unix);
        let taking = Answers::take_secret(self, question);
        Box::pin(async move { Receipt::of(&taking.await, false) })
    }
}

/// Answers questions about flights later, from what the vault knows. An application that records its own work answers
/// them itself, with [`EtcdVault::take_secret`] and its record.
impl Receipts for EtcdVault {
    fn settle(&self, _: &SettleReceipt) -> Reply<Receipt> {
        Reply::Later
    }
}

impl Shared {
    async fn count(
        &self,
        client: &EtcdClient,
        kind: &str,
        count: &Count,
    ) -> Result<usize, StoreError> {
        let added = count.added();
        let answer = client.range(&Range::count(self.prefix(kind).as_bytes())).await?;
        let counted = answer.count.and_then(|count| count.parse().ok()).unwrap_or(0);
        count.set(counted, added);
        Ok(counted)
    }

    /// Wraps a secret for etcd.
    fn prepare(&self, put: PutSecret<'_>) -> Result<WrappedSecret, PutRefused> {
        let lifetime = put.expires_at.saturating_sub(put.unix);
        let opens = self.keys.opens_until(put.unix).is_some_and(|until| put.expires_at <= until);
        let is_too_long = put.secret.key.len() > OneTimeSecret::MAX_KEY_LEN;
        let none_for_clients = self.options.per_client == 0;
        if lifetime > self.options.max_lifetime || !opens || none_for_clients || is_too_long {
            return Err(PutRefused);
        }
        let expires_at = millis(put.expires_at).to_be_bytes();
        let secret = put.secret.encode();
        let context = [&put.handle.0[..], &expires_at].concat();
        let wrapped = self.keys.wrap(&context, &secret, put.unix).ok_or(PutRefused)?;
        let value = [&expires_at, &wrapped[..]].concat();
        let client = put.client.map(|client| self.hash.hash(client).as_ref().to_vec());
        Ok(WrappedSecret { name: self.name(&put.handle), value, client })
    }

    fn unwrap(&self, handle: &FlightHandle, value: &[u8], unix: Duration) -> Option<OneTimeSecret> {
        let (expires_at, wrapped) = value.split_at_checked(8)?;
        let secret = self.keys.unwrap(&[&handle.0, expires_at].concat(), wrapped, unix)?;
        OneTimeSecret::decode(&secret)
    }

    fn prefix(&self, kind: &str) -> String {
        format!("{}{kind}", self.options.prefix)
    }

    fn name(&self, handle: &FlightHandle) -> Name {
        let mut name = Name::default();
        let hash = self.hash.hash(&[b"tessera vault name v1", &handle.0[..]].concat());
        name.iter_mut().zip(hash.as_ref()).for_each(|(to, from)| *to = *from);
        name
    }

    fn key(&self, kind: &str, name: &Name) -> Vec<u8> {
        [self.prefix(kind).as_bytes(), name].concat()
    }
}

/// The name of a secret in etcd.
type Name = [u8; 32];

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Counts at intervals while the vault exists. It purges wrapping keys too: forward secrecy depends on that.
async fn keep_count(shared: Weak<Shared>) {
    loop {
        let Some(vault) = shared.upgrade() else { return };
        if let Ok(unix) = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
            vault.keys.purge(unix);
        }
        for (kind, count) in [("s/", &vault.secrets), ("t/", &vault.tombstones)] {
            // A long deadline: no request waits for this, and counting a million takes etcd a while.
            let client = vault.client.until(Instant::now() + COUNT_EVERY);
            if let Err(error) = vault.count(&client, kind, count).await {
                tracing::debug!("can't count one-time keys: {error}");
            }
        }
        drop(vault);
        tokio::time::sleep(COUNT_EVERY).await;
    }
}

const COUNT_EVERY: Duration = Duration::from_secs(10);
