//! The vault in etcd: its contract, over kills, elections and partitions, with three real members.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{BlockingVault, DEADLINE, client, runtime};
use tessera::handshake::Reply;
use tessera::resume::{Absence, PutSecret, TakeAnswer, TakePurpose, TakeSecret, Vault};
use tessera_etcd::VaultOptions;
use tessera_test_peers::etcd::Cluster;
use tessera_vault::contract::{self, LIFETIME, NOW, accept, handle, put, question, race, secret};
use tokio::runtime::Runtime;

/// Separate vaults in one cluster.
struct Fleet {
    cluster: Cluster,
    runtime: Arc<Runtime>,
    next: AtomicU32,
}

impl Fleet {
    fn start() -> Self {
        Self { cluster: Cluster::start(3).unwrap(), runtime: runtime(), next: AtomicU32::new(0) }
    }

    /// Returns options for a new vault.
    fn options(&self) -> VaultOptions {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        VaultOptions::new(format!("/test/{number}/"))
    }

    fn vault(&self, options: &VaultOptions) -> BlockingVault {
        self.vault_at(options, self.cluster.endpoints(), DEADLINE)
    }

    /// Opens a vault as a server that only knows this member.
    fn vault_of(&self, options: &VaultOptions, member: usize, deadline: Duration) -> BlockingVault {
        self.vault_at(options, vec![self.cluster.endpoints()[member].clone()], deadline)
    }

    fn vault_at(
        &self,
        options: &VaultOptions,
        at: Vec<String>,
        deadline: Duration,
    ) -> BlockingVault {
        BlockingVault::new(&self.runtime, client(at, deadline), options.clone())
    }
}

fn asked(vault: &BlockingVault, number: u32) -> TakeAnswer {
    match vault.take(&question(number, TakePurpose::Accept, Some(NOW))) {
        Reply::Now(taken) => taken,
        Reply::Later => unreachable!("it waits"),
    }
}

fn is_unavailable(vault: &BlockingVault, number: u32) -> bool {
    matches!(asked(vault, number), TakeAnswer::Unavailable)
}

#[test]
fn an_etcd_vault_keeps_the_contract_of_vaults() {
    let fleet = Fleet::start();
    contract::vault(|| fleet.vault(&fleet.options()));

    let options = fleet.options();
    contract::restart(|| fleet.vault(&options), drop);

    several_servers_race(&fleet);
    the_background(&fleet);
    a_client_that_is_faster_than_the_put(&fleet);
    what_etcd_keeps(&fleet);
}

/// 64 takes by servers that know different members.
fn several_servers_race(fleet: &Fleet) {
    let options = fleet.options();
    let servers: Vec<_> = (0..3).map(|member| fleet.vault_of(&options, member, DEADLINE)).collect();
    for number in 0..5 {
        assert!(put(&servers[number as usize % 3], number));
        let results = race(64, |thread| accept(&servers[thread % 3], number));
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
        let used = results.iter().filter(|result| **result == Err(Absence::Used)).count();
        assert_eq!(used, 63, "{results:?}");
    }
    // A client's limit holds for the whole fleet, though servers put for it at the same time.
    let options = VaultOptions { per_client: 3, ..fleet.options() };
    let servers: Vec<_> = (0..3).map(|member| fleet.vault_of(&options, member, DEADLINE)).collect();
    race(9, |thread| {
        let server = &servers[thread % 3];
        contract::put_for(server, thread as u32, Some(b"alice"));
    });
    assert!(servers[0].len() <= 3, "{}", servers[0].len());
}

/// Like the engine: puts and burns in the background.
fn the_background(fleet: &Fleet) {
    let waiting = fleet.vault(&fleet.options());
    let vault = waiting.vault();
    for number in 0..200 {
        let handle = handle(number);
        let put = PutSecret::new(handle, secret(number), NOW + LIFETIME, NOW);
        vault.put(put).unwrap();
    }
    let deadline = Instant::now() + DEADLINE;
    // A put that ends during a count is counted twice, until the next count.
    while waiting.len() < 200 || vault.len() != 200 {
        assert!(Instant::now() < deadline, "{} {}", waiting.len(), vault.len());
    }
    vault.burn(&handle(1));
    while waiting.len() > 199 {
        assert!(Instant::now() < deadline, "{}", waiting.len());
    }
    assert_eq!(accept(&waiting, 1), Err(Absence::Burned));
    assert_eq!(accept(&waiting, 2), Ok(()));
    let without_clock = question(3, TakePurpose::Accept, None);
    assert!(matches!(vault.take(&without_clock), Reply::Later));
    let taken = fleet.runtime.block_on(vault.take_secret(&without_clock));
    assert!(matches!(taken, TakeAnswer::Unavailable));
    // A longer lifetime than the vault allows.
    assert!(!contract::put_until(&waiting, 300, secret(300), NOW + LIFETIME * 2, None));
}

/// The ticket comes to another server before etcd has the secret.
fn a_client_that_is_faster_than_the_put(fleet: &Fleet) {
    let options = fleet.options();
    let (issuer, other) = (fleet.vault(&options), fleet.vault(&options));
    // A busy machine may be too slow now and then.
    let waited = (0..10).any(|number| {
        thread::scope(|scope| {
            let take = scope.spawn(|| accept(&other, number));
            thread::sleep(Duration::from_millis(60));
            assert!(put(&issuer, number));
            let taken = take.join().unwrap();
            // The take that came too early took nothing.
            let later = accept(&other, number);
            assert_eq!(later, if taken.is_ok() { Err(Absence::Used) } else { Ok(()) });
            taken.is_ok()
        })
    });
    assert!(waited, "no take waited for its put");
}

/// etcd's files retain what was taken, but wrapped; a control shows that the search finds plaintext.
fn what_etcd_keeps(fleet: &Fleet) {
    let options = fleet.options();
    let vault = fleet.vault(&options);
    assert!(put(&vault, 0x7177_7177));
    assert_eq!(accept(&vault, 0x7177_7177), Ok(()));
    let seed = secret(0x7177_7177).key;
    let found = |bytes: &[u8]| {
        (0..3).any(|member| {
            let files = Command::new("find").arg(fleet.cluster.data_dir(member)).output().unwrap();
            String::from_utf8(files.stdout).unwrap().lines().any(|path| {
                let content = std::fs::read(path).unwrap_or_default();
                content.windows(bytes.len()).any(|window| window == bytes)
            })
        })
    };
    let deleted = format!("{}s/", options.prefix);
    assert!(found(deleted.as_bytes()), "etcd keeps what was deleted");
    assert!(!found(&seed[..16]) && !found(&handle(0x7177_7177).0));
}

/// The second process of this test finds the cluster by its environment.
#[test]
fn an_etcd_vault_keeps_the_contract_over_a_kill() {
    const ENDPOINTS: &str = "TESSERA_ETCD_TEST_ENDPOINTS";
    const NAME: &str = "vault::an_etcd_vault_keeps_the_contract_over_a_kill";
    let runtime = runtime();
    let vault = |endpoints: &str| {
        let endpoints = endpoints.split(',').map(String::from).collect();
        BlockingVault::new(&runtime, client(endpoints, DEADLINE), VaultOptions::new("/kill/"))
    };
    if let Ok(endpoints) = std::env::var(ENDPOINTS) {
        return contract::a_kill_between_take_and_answer(NAME, || vault(&endpoints), &[], drop);
    }
    let cluster = Cluster::start(1).unwrap();
    let endpoints = cluster.endpoints().join(",");
    let environment = [(ENDPOINTS, endpoints.as_str())];
    contract::a_kill_between_take_and_answer(NAME, || vault(&endpoints), &environment, drop);
}

#[test]
fn an_etcd_vault_gives_each_secret_once_during_a_partition() {
    let fleet = Fleet::start();
    let options = fleet.options();
    let short = Duration::from_millis(700);
    let members: Vec<_> = (0..3).map(|member| fleet.vault_of(&options, member, short)).collect();
    let everyone = fleet.vault(&options);
    for number in 0..10 {
        assert!(put(&everyone, number));
    }
    // The leader loses the others, and hasn't noticed yet.
    let alone = fleet.cluster.leader().unwrap();
    let others: Vec<_> = (0..3).filter(|member| *member != alone).collect();
    fleet.cluster.cut_off(alone);
    let began = Instant::now();
    let taken = asked(&members[alone], 0);
    assert!(matches!(taken, TakeAnswer::Unavailable), "{taken:?}");
    assert!(began.elapsed() < short * 2, "{:?}", began.elapsed());

    let leader = fleet.cluster.wait_for_leader(&others).unwrap();
    assert_ne!(leader, alone);
    // The majority works; the minority accepts nothing, not even secrets that no other server takes.
    let majority = fleet.vault_of(&options, others[0], DEADLINE);
    for number in 0..4 {
        assert_eq!(accept(&majority, number), Ok(()), "{number}");
    }
    for number in 0..6 {
        assert!(is_unavailable(&members[alone], number));
    }
    assert!(!put(&members[alone], 20));
    // A server that knows all members finds one that works, after it has tried the one that doesn't.
    let all = fleet.vault_at(&options, fleet.cluster.endpoints(), short * 3);
    assert!((0..3).any(|_| {
        thread::sleep(Duration::from_millis(600));
        accept_if_available(&all, 4)
    }));

    fleet.cluster.heal();
    fleet.cluster.wait_for_leader(&[0, 1, 2]).unwrap();
    let patient = fleet.vault_of(&options, alone, DEADLINE);
    for number in 0..5 {
        assert!(accept(&patient, number).is_err(), "{number} was taken by the majority");
    }
    // The minority's takes may have had an effect or not: at most once.
    for number in 5..10 {
        let wins = (0..3).filter(|_| accept(&patient, number).is_ok()).count();
        assert!(wins <= 1 && (number == 5 || wins == 1), "{number}: {wins}");
    }
}

#[test]
fn an_etcd_vault_gives_each_secret_once_while_members_die_and_come_back() {
    let mut fleet = Fleet::start();
    let options = fleet.options();
    let vault = fleet.vault_at(&options, fleet.cluster.endpoints(), Duration::from_secs(1));
    for number in 0..60 {
        assert!(put(&vault, number));
    }
    let accepted: Vec<_> = (0..60).map(|_| AtomicUsize::new(0)).collect();
    let running = AtomicBool::new(true);
    thread::scope(|scope| {
        // Two servers take the same secrets concurrently, and repeat takes without an answer, as replays of a flight
        // do.
        for _ in 0..2 {
            scope.spawn(|| {
                while running.load(Ordering::Relaxed) {
                    for number in 0..60 {
                        if accept_if_available(&vault, number) {
                            accepted[number as usize].fetch_add(1, Ordering::Relaxed);
                        }
                        thread::sleep(Duration::from_millis(3));
                    }
                }
            });
        }
        let leader = fleet.cluster.leader().unwrap();
        fleet.cluster.kill(leader).unwrap();
        let others: Vec<_> = (0..3).filter(|member| *member != leader).collect();
        let next = fleet.cluster.wait_for_leader(&others).unwrap();
        fleet.cluster.restart(leader).unwrap();
        fleet.cluster.wait_for_leader(&[0, 1, 2]).unwrap();
        // The member doesn't answer, and its connections stay open.
        fleet.cluster.stop(next).unwrap();
        let others: Vec<_> = (0..3).filter(|member| *member != next).collect();
        fleet.cluster.wait_for_leader(&others).unwrap();
        fleet.cluster.go_on(next).unwrap();
        fleet.cluster.wait_for_leader(&[0, 1, 2]).unwrap();
        running.store(false, Ordering::Relaxed);
    });
    let times: Vec<_> = accepted.iter().map(|times| times.load(Ordering::Relaxed)).collect();
    assert!(times.iter().all(|times| *times <= 1), "{times:?}");
    assert!(times.iter().sum::<usize>() >= 50, "{times:?}");
    // The whole cluster restarts.
    let options = fleet.options();
    let vault = fleet.vault(&options);
    for number in 0..4 {
        assert!(put(&vault, number));
    }
    assert_eq!(accept(&vault, 0), Ok(()));
    for member in 0..3 {
        fleet.cluster.kill(member).unwrap();
    }
    let began = Instant::now();
    assert!(is_unavailable(&vault, 1), "etcd is not reachable");
    assert!(began.elapsed() < DEADLINE * 2);
    for member in 0..3 {
        fleet.cluster.restart(member).unwrap();
    }
    fleet.cluster.wait_for_leader(&[0, 1, 2]).unwrap();
    assert_eq!(accept(&vault, 0), Err(Absence::Used));
    // No take was left over for etcd while it was away.
    assert_eq!(accept(&vault, 1), Ok(()));
    assert_eq!(accept(&vault, 1), Err(Absence::Used));
}

/// A server whose first member doesn't answer tries another for the next request, whatever it was: here the lease
/// before the take.
#[test]
fn a_member_of_etcd_that_hangs_is_not_asked_again() {
    let fleet = Fleet::start();
    let options = fleet.options();
    assert!(put(&fleet.vault(&options), 1));
    let hangs = (fleet.cluster.leader().unwrap() + 1) % 3;
    fleet.cluster.stop(hangs).unwrap();
    let mut endpoints = fleet.cluster.endpoints();
    endpoints.rotate_left(hangs);
    let vault = fleet.vault_at(&options, endpoints, Duration::from_secs(1));
    assert!(is_unavailable(&vault, 1));
    thread::sleep(Duration::from_millis(600));
    assert_eq!(accept(&vault, 1), Ok(()));
}

fn accept_if_available(vault: &BlockingVault, number: u32) -> bool {
    matches!(asked(vault, number), TakeAnswer::Taken(_))
}

/// Without its epoch key, the contents of etcd are useless.
#[test]
fn secrets_in_etcd_can_not_be_read_after_their_epoch() {
    use tessera_aws_lc::provider;
    use tessera_vault::{EpochKey, WrappingKeys, WrappingPurpose};

    let cluster = Cluster::start(1).unwrap();
    let runtime = runtime();
    let _inside = runtime.enter();
    let keys = Arc::new(WrappingKeys::new(&provider(), WrappingPurpose::Secrets));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let minute = Duration::from_secs(60);
    keys.add(EpochKey::generate(&provider(), now, minute, minute).unwrap(), now).unwrap();
    let client = client(cluster.endpoints(), DEADLINE);
    let vault = tessera_etcd::EtcdVault::open(
        client,
        &provider(),
        keys.clone(),
        VaultOptions::new("/epoch/"),
    );
    let put = |number: u32, lifetime| {
        let put = PutSecret::new(handle(number), secret(number), now + lifetime, now);
        runtime.block_on(vault.put_now(put)).is_ok()
    };
    assert!(put(1, minute * 2) && put(2, minute));
    assert!(!put(3, minute * 2 + Duration::from_secs(1)), "it would outlive its epoch key");
    let take = |number| {
        let question = TakeSecret::new(handle(number), TakePurpose::Accept, Some(now));
        runtime.block_on(vault.take_secret(&question))
    };
    assert!(matches!(take(1), TakeAnswer::Taken(_)));
    keys.purge(now + minute * 2);
    assert!(matches!(take(2), TakeAnswer::Absent(Absence::Unknown)));
    assert!(!put(4, minute), "nothing wraps it");
}
