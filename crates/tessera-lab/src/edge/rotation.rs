//! Clients that move between two proxies while their ring rotates (`tessera-ring`): in memory, with the ring in a file.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tessera::ServerConfig;
use tessera::handshake::Checked;
use tessera::resume::TicketKeys;
use tessera_link::LinkKind;
use tessera_proxy::demo::Files;
use tessera_ring::{ChangeError, FleetRing, RingOptions};
use tessera_store::{FileStore, Store};
use tessera_vault::{EpochKey, WrappingKeys, WrappingPurpose};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};

use super::ends::Ends;
use super::report::{Rotation, RowName};
use crate::certificates::Parties;
use crate::control::Psk;
use crate::endpoint::{PATIENCE, Result};
use crate::in_memory::connect;

/// Between two rotations.
const PAUSE: Duration = Duration::from_millis(10);

/// How many tickets wait while the second proxy gets the oldest of them: for several rotations.
const WAITING: usize = 50;

/// Moves clients until the ring has rotated this often; calls `done` after each rotation.
pub(super) fn measure(
    name: RowName,
    parties: &Parties,
    rotations: u64,
    done: impl Fn(),
) -> Result<Rotation> {
    let ends = Ends::new(name.way, name.kx, parties, LinkKind::Loopback, None)?;
    let pool = Pool::open()?;
    let [first, second] = [(&ends.first, 0), (&ends.server, 1)].map(|(config, proxy)| {
        let mut config: ServerConfig = (**config).clone();
        config.tickets = Some(pool.keys[proxy].clone());
        config.checked()
    });
    let (first, second): (Checked<ServerConfig>, Checked<ServerConfig>) = (first?, second?);
    let mut waiting = VecDeque::new();
    let issue = |waiting: &mut VecDeque<_>| -> Result<()> {
        waiting.extend(connect(ends.client.clone(), first.clone(), None, 1)?.sessions);
        Ok(())
    };
    while waiting.len() < WAITING {
        issue(&mut waiting)?;
    }
    let rotated = pool.rotate();
    let mut row = Rotation {
        name,
        rotations: 0,
        resumed: 0,
        full: 0,
        seconds: 0.0,
        why_failed: BTreeMap::new(),
    };
    let begun = Instant::now();
    while row.rotations < rotations {
        issue(&mut waiting)?;
        let session = waiting.pop_front();
        match connect(ends.client.clone(), second.clone(), session, 1) {
            Ok(made) if made.server.observed.psk == Psk::Resumption => row.resumed += 1,
            Ok(_) => row.full += 1,
            Err(error) => *row.why_failed.entry(error.to_string()).or_default() += 1,
        }
        let now = rotated.load(Ordering::Relaxed).min(rotations);
        (row.rotations..now).for_each(|_| done());
        row.rotations = now;
        if begun.elapsed() > PATIENCE * 10 {
            return Err("the ring doesn't rotate".into());
        }
    }
    row.seconds = begun.elapsed().as_secs_f64();
    Ok(row)
}

/// The members of a ring at two proxies.
struct Pool {
    keys: [Arc<dyn TicketKeys>; 2],
    rings: [Arc<FleetRing>; 2],
    // Before the directory: the store is in it.
    runtime: Runtime,
    _directory: Files,
}

impl Pool {
    /// Opens it, and waits until both proxies have a key to seal with.
    fn open() -> Result<Self> {
        let directory = Files::make()?;
        let store: Arc<dyn Store> = Arc::new(FileStore::open(&directory.path("ring"))?);
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let provider = tessera_aws_lc::provider();
        let member = || -> Result<(FleetRing, Arc<dyn TicketKeys>)> {
            let wrapping = WrappingKeys::new(&provider, WrappingPurpose::TicketKeys);
            wrapping.add(EpochKey::forever([1; 16], [1; 32].into()), Duration::ZERO)?;
            let (wrapping, options) = (Arc::new(wrapping), RingOptions::new("/lab/"));
            let ring = FleetRing::of_server(store.clone(), &provider, wrapping, options);
            let (ring, keys) = ring.map_err(|_| "no random bytes for a ring")?;
            Ok((ring, keys))
        };
        let ((first, keys), (second, others)) = {
            let _runtime = runtime.enter();
            (member()?, member()?)
        };
        for ring in [&first, &second] {
            let mut issuing = ring.issuing();
            runtime.block_on(async {
                timeout(PATIENCE, issuing.wait_for(Option::is_some)).await.map(|it| it.map(|_| ()))
            })??;
        }
        let rings = [Arc::new(first), Arc::new(second)];
        Ok(Self { keys: [keys, others], rings, runtime, _directory: directory })
    }

    /// Rotates again and again, whenever both proxies hold the next key; returns the count.
    fn rotate(&self) -> Arc<AtomicU64> {
        let rotated = Arc::new(AtomicU64::new(0));
        let (ring, count) = (self.rings[0].clone(), rotated.clone());
        self.runtime.spawn(async move {
            loop {
                match ring.rotate().await {
                    Ok(()) => count.fetch_add(1, Ordering::Relaxed),
                    Err(ChangeError::Store(_)) => break,
                    Err(_) => 0,
                };
                sleep(PAUSE).await;
            }
        });
        rotated
    }
}

#[cfg(test)]
mod tests {
    use tessera_reports::KeyExchange;

    use super::super::EdgeWay;
    use super::*;
    use crate::certificates::Certificates;

    #[test]
    fn tickets_resume_at_the_other_proxy_whichever_key_seals_meanwhile() {
        let certificates = Certificates::P256;
        let parties = Parties::new(certificates, 2).unwrap();
        let name = RowName { way: EdgeWay::Resumed, kx: KeyExchange::X25519, certificates };
        let row = measure(name, &parties, 5, || ()).unwrap();
        assert_eq!((row.rotations, row.full, row.why_failed.len()), (5, 0, 0));
        assert!(row.resumed > 0 && row.seconds > 0.0);
    }
}
