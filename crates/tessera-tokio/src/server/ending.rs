//! How connections learn that their server ends.

use tokio::sync::watch;

/// Announces the server's end to all connections.
pub(super) struct End(watch::Sender<bool>);

/// A connection's view of its server's end. It can be cloned.
#[derive(Debug, Clone)]
pub struct Ending(watch::Receiver<bool>);

pub(super) fn ending() -> (End, Ending) {
    let (sender, receiver) = watch::channel(false);
    (End(sender), Ending(receiver))
}

impl End {
    pub(super) fn tell(&self) {
        let _ = self.0.send(true);
    }
}

impl Ending {
    /// Waits until the server ends. The connection must then end within
    /// [`Limits::drain`](super::Limits::drain).
    pub async fn begun(&mut self) {
        // A dropped server has ended too.
        let _ = self.0.wait_for(|ended| *ended).await;
    }
}
