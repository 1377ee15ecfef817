//! A client that is handed over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use http::Request;
use tessera_edge_tests::{Drone, LONG, ORIGIN, Visit, Visitor};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// Between an answer and the next request.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// A client that sends requests.
pub(crate) enum Client {
    Own(OwnClient),
    Stock(Visitor),
}

impl Client {
    fn visits(&self) -> Vec<Visit> {
        match self {
            Self::Own(own) => own.shared.visits(),
            Self::Stock(visitor) => visitor.visits(),
        }
    }

    /// Waits until this many requests were answered so.
    pub(crate) async fn has(&self, what: &str, is_it: impl Fn(&Visit) -> bool, count: usize) {
        let deadline = Instant::now() + LONG;
        loop {
            let visits = self.visits();
            if visits.iter().filter(|it| it.status == 200 && is_it(it)).count() >= count {
                return;
            }
            if Instant::now() > deadline {
                let log = if let Self::Stock(it) = self { it.log() } else { format!("{visits:?}") };
                panic!("waited in vain until a client {what}:\n{log}");
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Ends it; returns its requests, and whether the first at the next proxy was early.
    pub(crate) async fn end(self) -> (Vec<Visit>, Option<bool>) {
        match self {
            Self::Own(own) => own.end().await,
            Self::Stock(visitor) => (visitor.visits(), None),
        }
    }
}

/// `tessera-follow`, at the client's end of the link.
pub(crate) struct OwnClient {
    shared: Arc<OwnShared>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct OwnShared {
    is_over: AtomicBool,
    /// With whether the connection carried early data.
    visits: Mutex<Vec<(Visit, bool)>>,
}

impl OwnShared {
    fn visits(&self) -> Vec<Visit> {
        let visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        visits.iter().map(|(it, _)| it.clone()).collect()
    }
}

impl OwnClient {
    /// Starts it on the runtime at the client's end. `prefix` begins the paths of its requests.
    pub(crate) fn start(clients: &Handle, drone: Drone, prefix: &str) -> Self {
        let shared = Arc::new(OwnShared::default());
        let (this, prefix) = (shared.clone(), prefix.to_owned());
        let task = clients.spawn(async move { send_all(&this, &drone, &prefix).await });
        Self { shared, task }
    }

    async fn end(self) -> (Vec<Visit>, Option<bool>) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.task.await.unwrap();
        let visits = self.shared.visits.lock().unwrap_or_else(PoisonError::into_inner);
        let early = visits.iter().find(|(it, _)| it.at == "b").map(|(_, early)| *early);
        (visits.iter().map(|(it, _)| it.clone()).collect(), early)
    }
}

async fn send_all(shared: &OwnShared, drone: &Drone, prefix: &str) {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (mut at, mut announced) = (String::new(), String::new());
    let mut is_moving = false;
    for number in 0.. {
        let (sent, before) = (now(), (at.clone(), announced.clone()));
        let request = Request::post(format!("https://{ORIGIN}/cart/{prefix}-{number}"));
        let answer = drone.send(request, format!("body of {number}")).await;
        let answered = now();
        let (mut status, mut early) = (0, false);
        match answer {
            Ok(answer) => {
                status = answer.status.as_u16();
                early = answer.early > 0;
                at = answer.field("x-at").to_owned();
                let next = answer.field("alt-svc").split('"').nth(1);
                announced = next.unwrap_or_default().to_owned();
            }
            Err(error) => eprintln!("{prefix}-{number}: {error}"),
        }
        let visit =
            Visit { number, sent, answered, status, at: at.clone(), announced: announced.clone() };
        shared.visits.lock().unwrap_or_else(PoisonError::into_inner).push((visit, early));
        if shared.is_over.load(Ordering::Relaxed) {
            return;
        }
        // At once after an announcement; then soon, until it has arrived.
        let is_new = !before.1.is_empty() && before.1 != announced;
        is_moving = (is_moving || is_new) && before.0 == at;
        if !is_new {
            sleep(if is_moving { Duration::from_millis(5) } else { PAUSE }).await;
        }
    }
}
