//! The end of a server, as its connections learn of it.

use tokio::sync::watch;

/// Tells all connections that the server ends.
pub(super) struct End(watch::Sender<bool>);

/// What a connection knows of its server's end. It can be cloned.
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
    /// Waits until the server ends. What is left then is to end the connection, within
    /// [`Limits::drain`](super::Limits::drain).
    pub async fn begun(&mut self) {
        // A server that is gone has ended too.
        let _ = self.0.wait_for(|ended| *ended).await;
    }
}
