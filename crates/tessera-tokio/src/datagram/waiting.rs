//! Waits for what another task changes.

use std::pin::pin;

use tokio::sync::Notify;

/// Looks again after each change until there is a result. No change is missed, and dropping the future loses nothing.
pub(super) async fn wait_for<T>(changed: &Notify, mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        let mut next = pin!(changed.notified());
        // From here on no change is missed.
        next.as_mut().enable();
        if let Some(result) = look() {
            return result;
        }
        next.await;
    }
}
