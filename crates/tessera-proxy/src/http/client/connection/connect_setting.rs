//! Whether a server allows Extended CONNECT (RFC 8441 §3).

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use tokio::sync::Notify;
use tokio::time::timeout;

/// SETTINGS_ENABLE_CONNECT_PROTOCOL of a server. h2 doesn't report when its SETTINGS arrive.
#[derive(Default)]
pub(super) struct ConnectSetting {
    interest: AtomicU8,
    came: Notify,
}

/// No one has asked.
const NONE: u8 = 0;
/// An upgrade waits for the setting.
const WAITS: u8 = 1;
/// It didn't come in time.
const MISSED: u8 = 2;

impl ConnectSetting {
    /// Called by the connection's task after it has read.
    pub(super) fn note(&self, sender: Option<&SendRequest<Bytes>>) {
        if self.interest.load(Ordering::SeqCst) == WAITS
            && sender.is_some_and(SendRequest::is_extended_connect_protocol_enabled)
        {
            self.interest.store(NONE, Ordering::SeqCst);
            self.came.notify_waiters();
        }
    }

    /// Whether the server allows it. Of a connection, only the first upgrades wait.
    pub(super) async fn is_allowed(&self, sender: &SendRequest<Bytes>) -> bool {
        let came = self.came.notified();
        // SETTINGS that arrive after this are noted, those before are seen below.
        let earlier =
            self.interest.compare_exchange(NONE, WAITS, Ordering::SeqCst, Ordering::SeqCst);
        if sender.is_extended_connect_protocol_enabled() {
            return true;
        }
        if earlier == Err(MISSED) {
            return false;
        }
        let _ = timeout(LONGEST_WAIT, came).await;
        let is_allowed = sender.is_extended_connect_protocol_enabled();
        self.interest.store(if is_allowed { NONE } else { MISSED }, Ordering::SeqCst);
        is_allowed
    }
}

/// SETTINGS are the first that a server sends.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
