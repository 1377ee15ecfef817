//! Notifications to the supervisor of a service, by the protocol of `sd_notify(3)`.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{env, io, thread};

use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval};

/// Notifies the supervisor that started this process of its state, if it asked for that (`NOTIFY_SOCKET`). A supervisor
/// that doesn't read never blocks the process: a thread waits for it, and keeps the latest messages.
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
    shared: Arc<SharedState>,
    /// Receives nothing; disconnected when every message was sent.
    told: Receiver<()>,
}

/// How long the last message may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a process may take to close its state after its connections have ended.
const LAST_STEPS: Duration = Duration::from_secs(15);

impl Supervisor {
    /// Connects to the supervisor of this process, if there is one.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn from_env() -> io::Result<Self> {
        if env::var_os("NOTIFY_SOCKET").is_none() {
            return Ok(Self { teller: None, watchdog: None });
        }
        let shared = Arc::new(SharedState::default());
        let (telling, told) = sync_channel(0);
        let messages = shared.clone();
        thread::Builder::new().name("supervisor".to_owned()).spawn(move || {
            let _telling = telling;
            tell(&messages);
        })?;
        let watchdog = sd_notify::watchdog_enabled().filter(|interval| !interval.is_zero());
        Ok(Self { teller: Some(Teller { shared, told }), watchdog })
    }

    /// Reports that it serves, for the first time or after a reload.
    pub fn ready(&self, status: &str) {
        self.step(&[NotifyState::Ready, NotifyState::Status(&line(status))]);
    }

    /// Reports that it reloads its configuration; [`ready`](Self::ready) reports the end of that, whatever the result.
    pub fn reloading(&self) {
        // Since systemd 253 the time must be in the same message: sd_notify(3), "MONOTONIC_USEC=".
        match NotifyState::monotonic_usec_now() {
            Ok(now) => self.step(&[NotifyState::Reloading, now]),
            Err(_) => self.step(&[NotifyState::Reloading]),
        }
    }

    /// Reports that it shuts down, which takes at most `within` plus the time to close its state. Extends a shorter
    /// limit of the supervisor (`TimeoutStopSec=`): if killed before, the process would lose its persistent state.
    pub fn stopping(&self, status: &str, within: Duration) {
        let within = within.saturating_add(LAST_STEPS).as_micros().min(u64::MAX.into());
        // sd_notify(3); the crate's own variant is limited to 71 minutes.
        let extended = format!("EXTEND_TIMEOUT_USEC={within}");
        let extended = NotifyState::Custom(&extended);
        self.step(&[NotifyState::Stopping, NotifyState::Status(&line(status)), extended]);
    }

    /// Sets the status line that `systemctl status` shows.
    pub fn status(&self, status: &str) {
        let status = message(&[NotifyState::Status(&line(status))]);
        self.change(|pending| pending.status = Some(status));
    }

    /// Reports forever that the process is alive, twice as often as the supervisor asks (`WatchdogSec=`). It depends on
    /// being polled: a runtime that is stuck stays silent.
    pub async fn keep_alive(&self) -> Infallible {
        let Some(watchdog) = self.watchdog else { return std::future::pending().await };
        let mut ticks = interval((watchdog / 2).max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.change(|pending| pending.is_alive = true);
        }
    }

    /// Waits a second for messages to be sent; the last act of a process.
    pub fn finish(self) {
        self.change(|pending| pending.ends = true);
        if let Some(teller) = self.teller {
            // Either all was sent, or the supervisor doesn't read.
            let _ = teller.told.recv_timeout(PATIENCE);
        }
    }

    /// Queues a state change; these keep their order.
    fn step(&self, states: &[NotifyState<'_>]) {
        self.change(|pending| {
            if pending.steps.len() == MOST_STEPS {
                pending.steps.pop_front();
            }
            pending.steps.push_back(message(states));
            // An earlier status is outdated now.
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
struct SharedState {
    pending: Mutex<Pending>,
    changed: Condvar,
}

/// Messages not sent yet.
#[derive(Debug, Default)]
struct Pending {
    steps: VecDeque<String>,
    status: Option<String>,
    is_alive: bool,
    ends: bool,
}

/// The most queued state changes: enough for several reloads.
const MOST_STEPS: usize = 16;

impl SharedState {
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

fn tell(shared: &SharedState) {
    let mut failed = false;
    while let Some(message) = shared.next() {
        let told = sd_notify::notify(&[NotifyState::Custom(&message)]);
        if let (Err(error), false) = (&told, failed) {
            tracing::warn!(%error, "the state of this process can't be reported to the supervisor (NOTIFY_SOCKET)");
        }
        failed = told.is_err();
    }
}

fn message(states: &[NotifyState<'_>]) -> String {
    let lines: Vec<_> = states.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// A status must be one line: another would be a message of its own.
fn line(status: &str) -> String {
    status.replace(|c: char| c.is_control(), " ")
}
