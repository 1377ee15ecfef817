//! What the supervisor of a service is told, by the protocol of `sd_notify(3)`.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;
use std::{env, io};

use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval};

/// Tells the supervisor that started this process how it is. Where none asked (`NOTIFY_SOCKET`), nothing is told. A
/// supervisor that doesn't listen delays nobody: a thread waits for it, and what is too much is left out.
///
/// ```
/// use tessera_proxy::service::Supervisor;
///
/// # fn main() -> std::io::Result<()> {
/// let supervisor = Supervisor::from_env()?;
/// supervisor.ready("3 tunnels");
/// supervisor.reloading();
/// supervisor.ready("4 tunnels");
/// supervisor.stopping("12 connections are left");
/// supervisor.finish();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Supervisor {
    messages: Option<SyncSender<String>>,
    /// Nothing comes; it ends when all was told.
    told: Option<Receiver<()>>,
    watchdog: Option<Duration>,
}

/// As many messages wait.
const ROOM: usize = 16;

/// How long the last message may take.
const PATIENCE: Duration = Duration::from_secs(1);

impl Supervisor {
    /// The supervisor of this process, or nobody.
    ///
    /// # Errors
    /// If there can be no thread.
    pub fn from_env() -> io::Result<Self> {
        if env::var_os("NOTIFY_SOCKET").is_none() {
            return Ok(Self { messages: None, told: None, watchdog: None });
        }
        let (sender, messages) = sync_channel::<String>(ROOM);
        let (telling, told) = sync_channel(0);
        thread::Builder::new().name("supervisor".to_owned()).spawn(move || {
            let _telling = telling;
            tell(&messages);
        })?;
        let watchdog = sd_notify::watchdog_enabled().filter(|interval| !interval.is_zero());
        Ok(Self { messages: Some(sender), told: Some(told), watchdog })
    }

    /// It serves, for the first time or after a reload.
    pub fn ready(&self, status: &str) {
        self.send(&[NotifyState::Ready, NotifyState::Status(&line(status))]);
    }

    /// It loads its configuration again; [`ready`](Self::ready) says that this is over, whatever came of it.
    pub fn reloading(&self) {
        // Since systemd 253 the time has to come with it, in the same message: sd_notify(3), "MONOTONIC_USEC=".
        match NotifyState::monotonic_usec_now() {
            Ok(now) => self.send(&[NotifyState::Reloading, now]),
            Err(_) => self.send(&[NotifyState::Reloading]),
        }
    }

    /// It ends.
    pub fn stopping(&self, status: &str) {
        self.send(&[NotifyState::Stopping, NotifyState::Status(&line(status))]);
    }

    /// How it is: a line that `systemctl status` shows.
    pub fn status(&self, status: &str) {
        self.send(&[NotifyState::Status(&line(status))]);
    }

    /// Says for ever that the process is alive, twice as often as the supervisor asks (`WatchdogSec=`). It says so
    /// where it is polled: a runtime that is stuck stays silent.
    pub async fn keep_alive(&self) {
        let Some(watchdog) = self.watchdog else { return std::future::pending().await };
        let mut ticks = interval((watchdog / 2).max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.send(&[NotifyState::Watchdog]);
        }
    }

    /// The last that a process does: waits a second for what was told.
    pub fn finish(self) {
        drop(self.messages);
        if let Some(told) = self.told {
            let over = told.recv_timeout(PATIENCE);
            debug_assert!(matches!(
                over,
                Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout)
            ));
        }
    }

    fn send(&self, states: &[NotifyState<'_>]) {
        if let Some(messages) = &self.messages {
            let lines: Vec<_> = states.iter().map(ToString::to_string).collect();
            // A supervisor that has sixteen to read won't miss the next one.
            let _ = messages.try_send(lines.join("\n"));
        }
    }
}

fn tell(messages: &Receiver<String>) {
    let mut failed = false;
    for message in messages {
        let told = sd_notify::notify(&[NotifyState::Custom(&message)]);
        if let (Err(error), false) = (&told, failed) {
            tracing::warn!(%error, "the supervisor (NOTIFY_SOCKET) can't be told how this process is");
        }
        failed = told.is_err();
    }
}

/// A status is one line: the next one would be another message.
fn line(status: &str) -> String {
    status.replace(|c: char| c.is_control(), " ")
}
