//! Two instances of a SEPP that share tickets and one-time keys through etcd: whichever a flight reaches, it is
//! processed once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tessera_etcd::{EtcdClient, Transport};
use tessera_kit::hex;
use tessera_ring::{FleetRing, RingOptions};
use tessera_sepp_tests::{Consumer, HOME, KEY, Sepp, VISITED, Words, World, request};
use tessera_test_peers::between::{Treatment, replay};
use tessera_test_peers::etcd::Cluster;
use tessera_test_peers::wait_until;
use tessera_vault::{EpochKey, WrappingKeys, WrappingPurpose};
use tokio::runtime::Runtime;

use crate::SEPP;
use crate::early::{accepted, replay_everywhere, warm_up};

fn words(endpoints: &[String]) -> Words<'_> {
    Words { instances: 2, etcd: endpoints, ..Words::EARLY }
}

#[test]
fn a_flight_is_processed_once_at_whichever_instance() {
    let mut cluster = Cluster::start(3).unwrap();
    let endpoints = cluster.endpoints();
    let mut world = World::start(SEPP, words(&endpoints));
    warm_up(&world);
    for round in 0..4 {
        // A load balancer alternates: its ticket is valid at both.
        let sepp = &world.home[round % 2];
        world.between.lead_to(sepp.places.n32f);
        let before = sepp.accepted_early();
        world.get_over_new_connection();
        assert_eq!(sepp.accepted_early(), before + 1, "round {round}\n{}", world.output());
    }
    replay_everywhere(&world);
    // An instance is killed: the other takes over, and knows what was processed there.
    for _ in 0..2 {
        world.get_over_new_connection();
    }
    world.cut();
    let recorded = world.between.take();
    world.home[1].kill();
    world.between.lead_to(world.home[0].places.n32f);
    world.served();
    replay(world.home[0].places.n32f, &recorded).unwrap();
    world.home[1].start();
    world.home[1].becomes(VISITED, "established");
    replay(world.home[1].places.n32f, &recorded).unwrap();
    world.get();
    assert_eq!(world.udm.executed_again(), []);
    // A member of etcd is killed: two of three suffice.
    let leader = cluster.leader().unwrap();
    cluster.kill(leader).unwrap();
    world.served();
    warm_up(&world);
    world.get_over_new_connection();
    replay_everywhere(&world);
    cluster.restart(leader).unwrap();
    warm_up(&world);
    // Without a majority no key can be taken: nothing is early, and every request is served.
    for member in [0, 1] {
        cluster.stop(member).unwrap();
    }
    let before = accepted(&world);
    world.cut();
    world.served();
    assert_eq!(accepted(&world), before);
    for member in [0, 1] {
        cluster.go_on(member).unwrap();
    }
    warm_up(&world);
    assert_eq!(world.udm.executed_again(), []);
}

/// The peer has both addresses: if one is gone, it connects to the other.
#[test]
fn the_peer_goes_to_the_other_instance_by_itself() {
    let cluster = Cluster::start(1).unwrap();
    let endpoints = cluster.endpoints();
    let mut world = World::start(SEPP, Words { knows_second: true, ..words(&endpoints) });
    warm_up(&world);
    world.home[0].kill();
    world.served();
    assert!(world.visited.is(HOME, "established"));
    for _ in 0..3 {
        world.get();
    }
    assert_eq!(world.udm.executed_again(), []);
}

/// The ring of ticket keys rotates while flights are recorded, lost and replayed.
#[test]
fn a_flight_from_before_a_rotation_is_processed_once() {
    let cluster = Cluster::start(1).unwrap();
    let endpoints = cluster.endpoints();
    let world = World::start(SEPP, words(&endpoints));
    warm_up(&world);
    world.get_over_new_connection();
    world.between.treat_next(Treatment::KeepBack);
    world.cut();
    let (lost, reply) = world.ask(http::Method::GET, "am-data");
    assert_eq!(reply.status, 504, "{reply:?}");
    world.served();
    world.cut();
    let recorded = world.between.take();
    let before = world.udm.asked().len();
    let of_home = |sepp: &Sepp| replay(sepp.places.n32f, &recorded).unwrap();
    rotate(&endpoints, || world.home.iter().for_each(of_home));
    world.home.iter().for_each(of_home);
    let after = world.udm.asked().len();
    // At most the one that was never processed.
    assert_eq!(after - before, world.udm.executions(&lost));
    warm_up(&world);
    world.home.iter().for_each(of_home);
    world.get_over_new_connection();
    replay_everywhere(&world);
}

/// Rotates the ticket keys of the instances, as a member of their ring, and does something until they have.
fn rotate(endpoints: &[String], meanwhile: impl Fn()) {
    let provider = tessera_aws_lc::provider();
    let wrapping = WrappingKeys::new(&provider, WrappingPurpose::TicketKeys);
    let mut secret = [0; 32];
    secret.copy_from_slice(&hex::decode(KEY).unwrap());
    let key = EpochKey::forever(*b"tunnel ring key\0", secret.into());
    wrapping.add(key, Duration::ZERO).unwrap();
    let runtime = Runtime::new().unwrap();
    let _inside = runtime.enter();
    let transport = Transport::PlaintextOnPrivateNetwork;
    let client = EtcdClient::new(endpoints.to_vec(), transport, Duration::from_secs(5));
    let options = RingOptions::new("/tessera/ring/");
    let ring = FleetRing::of_server(Arc::new(client), &provider, Arc::new(wrapping), options);
    let (ring, _) = ring.unwrap();
    wait_until("the ring rotates", || {
        meanwhile();
        runtime.block_on(ring.rotate()).ok()
    });
    let key = ring.status().active[0].id;
    wait_until("all instances seal with the new key", || {
        meanwhile();
        let members = ring.status().members;
        members.iter().all(|member| member.keys.first() == Some(&key)).then_some(())
    });
    runtime.block_on(ring.close());
}

/// An instance shuts down and is replaced, while network functions keep asking. Its associations continue with the
/// other one. A first flight that meets its end is lost, and repeated.
#[test]
fn an_instance_that_is_replaced_costs_no_answer() {
    let cluster = Cluster::start(1).unwrap();
    let endpoints = cluster.endpoints();
    let visited =
        "[peer.home.reconnection]\nearly-data = \"fs\"\nrepeatable = [\"GET /nudm-sdm/*\"]\n";
    let words = Words { knows_second: true, visited, ..words(&endpoints) };
    let mut world = World::start(SEPP, words);
    warm_up(&world);
    let (over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let amf = Consumer::at(world.visited.places.sbi);
    let errors: Vec<String> = thread::scope(|scope| {
        let asks = |of: usize| {
            let (amf, over, answered) = (&amf, &over, &answered);
            scope.spawn(move || {
                let mut errors = Vec::new();
                for number in 0.. {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let name = format!("load-{of}-{number}");
                    let path = "/nudm-sdm/v2/imsi-999700000000001/am-data";
                    let asked = request(http::Method::GET, path, &name);
                    match amf.try_ask(asked.body(bytes::Bytes::new()).unwrap()) {
                        Ok(reply) if reply.status == 200 => {
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        other => errors.push(format!("{name}: {other:?}")),
                    }
                    thread::sleep(Duration::from_millis(3));
                }
                errors
            })
        };
        let askers = [asks(0), asks(1), asks(2)];
        // Ends even if an assertion below fails: the scope waits for the threads.
        let ends = Ends(&over);
        let more = || {
            let enough = answered.load(Ordering::Relaxed) + 40;
            wait_until("there are answers", || {
                (answered.load(Ordering::Relaxed) >= enough).then_some(())
            });
        };
        for which in [0, 1, 0] {
            more();
            assert!(world.home[which].end().success());
            more();
            world.home[which].start();
            world.home[which].becomes(VISITED, "established");
            more();
        }
        drop(ends);
        askers.into_iter().flat_map(|asker| asker.join().unwrap()).collect()
    });
    assert_eq!(errors, [""; 0], "of {answered:?}\n{}", world.output());
    let repeated = world.visited.metric("sepp_repeated_requests_total", &[]);
    let again: usize = world.udm.executed_again().iter().map(|(_, times)| times - 1).sum();
    assert!(again as u64 <= repeated, "{again} of {repeated}: each by its own SEPP");
}

/// Signals the end when it is dropped.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
