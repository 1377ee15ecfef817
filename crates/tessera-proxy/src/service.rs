//! What the supervisor of a service is told, by the protocol of `sd_notify(3)`.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{env, io, thread};

use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval};

/// Tells the supervisor that started this process how it is. Where none asked (`NOTIFY_SOCKET`), nothing is told. A
/// supervisor that doesn't listen delays nobody: a thread waits for it, and keeps the newest of what it should hear.
///
/// ```
/// use tessera_proxy::service::Supervisor;
///
/// # fn main() -> std::io::Result<()> {
/// let supervisor = Supervisor::from_env()?;
/// supervisor.ready("3 tunnels");
/// supervisor.reloading();
/// supervisor.ready("4 tunnels");
/// supervisor.stopping("12 connections are left", std::time::Duration::from_secs(30));
/// supervisor.finish();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Supervisor {
    teller: Option<Teller>,
    watchdog: Option<Duration>,
}

#[derive(Debug)]
struct Teller {
    shared: Arc<Shared>,
    /// Nothing comes; its sender is gone when all was told.
    told: Receiver<()>,
}

/// How long the last message may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a process may take to close its state, after its connections have ended.
const LAST_STEPS: Duration = Duration::from_secs(15);

impl Supervisor {
    /// The supervisor of this process, or nobody.
    ///
    /// # Errors
    /// If there can be no thread.
    pub fn from_env() -> io::Result<Self> {
        if env::var_os("NOTIFY_SOCKET").is_none() {
            return Ok(Self { teller: None, watchdog: None });
        }
        let shared = Arc::new(Shared::default());
        let (telling, told) = sync_channel(0);
        let messages = shared.clone();
        thread::Builder::new().name("supervisor".to_owned()).spawn(move || {
            let _telling = telling;
            tell(&messages);
        })?;
        let watchdog = sd_notify::watchdog_enabled().filter(|interval| !interval.is_zero());
        Ok(Self { teller: Some(Teller { shared, told }), watchdog })
    }

    /// It serves, for the first time or after a reload.
    pub fn ready(&self, status: &str) {
        self.step(&[NotifyState::Ready, NotifyState::Status(&line(status))]);
    }

    /// It loads its configuration again; [`ready`](Self::ready) says that this is over, whatever came of it.
    pub fn reloading(&self) {
        // Since systemd 253 the time has to come with it, in the same message: sd_notify(3), "MONOTONIC_USEC=".
        match NotifyState::monotonic_usec_now() {
            Ok(now) => self.step(&[NotifyState::Reloading, now]),
            Err(_) => self.step(&[NotifyState::Reloading]),
        }
    }

    /// It ends, after at most so long and what comes then. A supervisor whose own limit is shorter (`TimeoutStopSec=`)
    /// waits for that: killed before, the process could not keep what survives it.
    pub fn stopping(&self, status: &str, within: Duration) {
        let within = within.saturating_add(LAST_STEPS).as_micros().min(u64::MAX.into());
        // sd_notify(3); the crate's own variant ends at 71 minutes.
        let extended = format!("EXTEND_TIMEOUT_USEC={within}");
        let extended = NotifyState::Custom(&extended);
        self.step(&[NotifyState::Stopping, NotifyState::Status(&line(status)), extended]);
    }

    /// How it is: a line that `systemctl status` shows.
    pub fn status(&self, status: &str) {
        let status = message(&[NotifyState::Status(&line(status))]);
        self.change(|pending| pending.status = Some(status));
    }

    /// Says for ever that the process is alive, twice as often as the supervisor asks (`WatchdogSec=`). It says so
    /// where it is polled: a runtime that is stuck stays silent.
    pub async fn keep_alive(&self) -> Infallible {
        let Some(watchdog) = self.watchdog else { return std::future::pending().await };
        let mut ticks = interval((watchdog / 2).max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.change(|pending| pending.is_alive = true);
        }
    }

    /// The last that a process does: waits a second for what was told.
    pub fn finish(self) {
        self.change(|pending| pending.ends = true);
        if let Some(teller) = self.teller {
            // Either all was told, or the supervisor doesn't listen.
            let _ = teller.told.recv_timeout(PATIENCE);
        }
    }

    /// A step of its life, in the order of these.
    fn step(&self, states: &[NotifyState<'_>]) {
        self.change(|pending| {
            if pending.steps.len() == MOST_STEPS {
                pending.steps.pop_front();
            }
            pending.steps.push_back(message(states));
            // What was said before has no place after it.
            pending.status = None;
        });
    }

    fn change(&self, change: impl FnOnce(&mut Pending)) {
        if let Some(teller) = &self.teller {
            change(&mut teller.shared.lock());
            teller.shared.changed.notify_one();
        }
    }
}

#[derive(Debug, Default)]
struct Shared {
    pending: Mutex<Pending>,
    changed: Condvar,
}

/// What the supervisor should hear.
#[derive(Debug, Default)]
struct Pending {
    steps: VecDeque<String>,
    status: Option<String>,
    is_alive: bool,
    ends: bool,
}

/// As many steps wait: several reloads.
const MOST_STEPS: usize = 16;

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next message; none at the end.
    fn next(&self) -> Option<String> {
        let idle = |pending: &mut Pending| {
            let Pending { steps, status, is_alive, ends } = pending;
            steps.is_empty() && status.is_none() && !*is_alive && !*ends
        };
        let pending = self.changed.wait_while(self.lock(), idle);
        let mut pending = pending.unwrap_or_else(PoisonError::into_inner);
        let step = pending.steps.pop_front().or_else(|| pending.status.take());
        step.or_else(|| {
            let is_alive = std::mem::take(&mut pending.is_alive);
            is_alive.then(|| message(&[NotifyState::Watchdog]))
        })
    }
}

fn tell(shared: &Shared) {
    let mut failed = false;
    while let Some(message) = shared.next() {
        let told = sd_notify::notify(&[NotifyState::Custom(&message)]);
        if let (Err(error), false) = (&told, failed) {
            tracing::warn!(%error, "the supervisor (NOTIFY_SOCKET) can't be told how this process is");
        }
        failed = told.is_err();
    }
}

fn message(states: &[NotifyState<'_>]) -> String {
    let lines: Vec<_> = states.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// A status is one line: the next one would be another message.
fn line(status: &str) -> String {
    status.replace(|c: char| c.is_control(), " ")
}
