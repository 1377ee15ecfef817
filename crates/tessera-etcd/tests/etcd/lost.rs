//! Requests and answers between a server and etcd that are lost or late: whatever a server receives, a secret is taken
//! once, and no answer is wrong.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::common::between::{Fate, between};
use crate::common::{BlockingVault, DEADLINE, client, runtime};
use tessera::handshake::Reply;
use tessera::resume::{Absence, TakeAnswer, TakePurpose, Vault};
use tessera_etcd::VaultOptions;
use tessera_test_peers::etcd::Cluster;
use tessera_vault::contract::{NOW, accept, handle, put, put_for, question, take};
use tokio::runtime::Runtime;

/// A cluster, and two servers; the test controls the traffic between the first and etcd.
struct Scene {
    _cluster: Cluster,
    runtime: Arc<Runtime>,
    /// The fates of the next transactions that write, the last one first; all others are answered.
    fates: Arc<Mutex<Vec<Fate>>>,
    /// How many transactions arrived.
    came: Arc<Mutex<usize>>,
    /// The next transaction waits for this.
    held: Arc<Mutex<Option<Receiver<()>>>>,
    far: BlockingVault,
    near: BlockingVault,
}

impl Scene {
    fn new(deadline: Duration) -> Self {
        let cluster = Cluster::start(1).unwrap();
        let runtime = runtime();
        let fates: Arc<Mutex<Vec<Fate>>> = Arc::default();
        let came: Arc<Mutex<usize>> = Arc::default();
        let held: Arc<Mutex<Option<Receiver<()>>>> = Arc::default();
        let state = (fates.clone(), came.clone(), held.clone());
        let address = between(cluster.endpoints().remove(0), move |request| {
            let (fates, came, held) = &state;
            let writes = ["request_put", "request_delete_range"]
                .map(|op| request.body.windows(op.len()).any(|part| part == op.as_bytes()));
            if request.path != "/v3/kv/txn" || writes == [false; 2] {
                return Fate::Answered;
            }
            *came.lock().unwrap() += 1;
            let wait = held.lock().unwrap().take();
            if let Some(word) = wait {
                let _ = word.recv();
            }
            fates.lock().unwrap().pop().unwrap_or(Fate::Answered)
        });
        let options = VaultOptions::new("/lost/");
        let far = BlockingVault::new(&runtime, client(vec![address], deadline), options.clone());
        let near = BlockingVault::new(&runtime, client(cluster.endpoints(), DEADLINE), options);
        Self { _cluster: cluster, runtime, fates, came, held, far, near }
    }

    /// Sets the fate of the next transaction.
    fn next(&self, fate: Fate) {
        self.fates.lock().unwrap().push(fate);
    }

    /// Returns how many transactions arrived since the last call.
    fn came(&self) -> usize {
        std::mem::take(&mut *self.came.lock().unwrap())
    }

    fn hold(&self) -> Sender<()> {
        let (let_go, word) = channel();
        *self.held.lock().unwrap() = Some(word);
        let_go
    }
}

fn asked(vault: &BlockingVault, number: u32, purpose: TakePurpose) -> TakeAnswer {
    match vault.take(&question(number, purpose, Some(NOW))) {
        Reply::Now(taken) => taken,
        Reply::Later => unreachable!("it waits"),
    }
}

#[test]
fn a_take_whose_answer_is_lost_has_taken_the_secret() {
    let scene = Scene::new(DEADLINE);
    let purposes = [(TakePurpose::Accept, Absence::Used), (TakePurpose::Burn, Absence::Burned)];
    for (number, (purpose, fate)) in (0..).zip(purposes) {
        assert!(put(&scene.near, number));
        scene.next(Fate::AnswerLost);
        scene.came();
        // The outcome is unknown. The server must not ask again: it would learn that the secret was used, or absent.
        let taken = asked(&scene.far, number, purpose);
        assert!(matches!(taken, TakeAnswer::Unavailable), "{taken:?}");
        assert_eq!(scene.came(), 1);
        for vault in [&scene.far, &scene.near] {
            assert_eq!(accept(vault, number), Err(fate));
            assert_eq!(take(vault, number, TakePurpose::Burn, Some(NOW)), Err(fate));
        }
    }
}

#[test]
fn a_take_that_never_reached_etcd_has_taken_nothing() {
    let scene = Scene::new(DEADLINE);
    assert!(put(&scene.near, 1));
    scene.next(Fate::Lost);
    let taken = asked(&scene.far, 1, TakePurpose::Accept);
    assert!(matches!(taken, TakeAnswer::Unavailable), "{taken:?}");
    assert_eq!(accept(&scene.far, 1), Ok(()));
    assert_eq!(accept(&scene.near, 1), Err(Absence::Used));
}

/// The server has given up long before etcd receives the request.
#[test]
fn a_take_that_reaches_etcd_after_its_deadline_takes_effect_there() {
    let scene = Scene::new(Duration::from_millis(300));
    assert!(put(&scene.near, 1) && put(&scene.near, 2));
    // Once to obtain the lease that each take needs.
    assert_eq!(accept(&scene.far, 0), Err(Absence::Unknown));
    let let_go = scene.hold();
    assert!(matches!(asked(&scene.far, 1, TakePurpose::Accept), TakeAnswer::Unavailable));
    assert_eq!(take(&scene.near, 1, TakePurpose::Burn, Some(NOW)), Ok(()));
    let_go.send(()).unwrap();
    thread::sleep(Duration::from_millis(200));
    assert_eq!(accept(&scene.near, 1), Err(Absence::Burned), "late, and too late");

    let let_go = scene.hold();
    assert!(matches!(asked(&scene.far, 2, TakePurpose::Accept), TakeAnswer::Unavailable));
    let_go.send(()).unwrap();
    thread::sleep(Duration::from_millis(200));
    assert_eq!(take(&scene.near, 2, TakePurpose::Burn, Some(NOW)), Err(Absence::Used));
}

#[test]
fn a_put_whose_answer_is_lost_is_not_repeated() {
    let scene = Scene::new(DEADLINE);
    for (number, client) in [(1, None), (2, Some(&b"alice"[..]))] {
        scene.came();
        scene.next(Fate::AnswerLost);
        assert!(!put_for(&scene.far, number, client));
        assert_eq!(scene.came(), 1);
        assert_eq!(accept(&scene.near, number), Ok(()));
        // A second put would restore what was taken.
        assert!(!put_for(&scene.far, number, client));
        assert_eq!(accept(&scene.near, number), Err(Absence::Used));
    }
}

#[test]
fn a_burn_whose_answer_is_lost_has_burned_the_secret() {
    let scene = Scene::new(DEADLINE);
    assert!(put(&scene.far, 1) && put(&scene.far, 2));
    for (number, fate) in [(1, Fate::AnswerLost), (2, Fate::Lost)] {
        scene.next(fate);
        let handle = handle(number);
        let burning = scene.far.vault().burn_now(&handle);
        assert!(scene.runtime.block_on(burning).is_err(), "the outcome is unknown");
    }
    assert_eq!(accept(&scene.near, 1), Err(Absence::Burned));
    assert_eq!(accept(&scene.near, 2), Ok(()));
}
