//! Sessions on their way into a store.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tessera::resume::ClientSession;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::SessionStore;

/// Puts a connection's new sessions into its store. A store may block, so this happens on another thread; a
/// session lost there costs a round trip.
#[derive(Default)]
pub(crate) struct SessionWriter {
    store: Option<(Arc<dyn SessionStore>, String)>,
    running: Vec<JoinHandle<()>>,
}

impl SessionWriter {
    pub(crate) fn new(store: Option<Arc<dyn SessionStore>>, server_name: &str) -> Self {
        let store = store.map(|store| (store, server_name.to_owned()));
        Self { store, running: Vec::new() }
    }

    pub(crate) fn put(&mut self, session: Box<ClientSession>) {
        let Some((store, server_name)) = &self.store else { return };
        let (store, server_name) = (store.clone(), server_name.clone());
        let blocks = store.blocks();
        let put = move || store.put(&server_name, *session);
        self.running.retain(|running| !running.is_finished());
        match Handle::try_current() {
            Ok(runtime) if blocks => self.running.push(runtime.spawn_blocking(put)),
            _ => put(),
        }
    }

    /// Waits until every session is stored.
    pub(crate) fn poll_done(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(running) = self.running.last_mut() {
            // A store that panicked has only lost its session.
            let Poll::Ready(_) = Pin::new(running).poll(cx) else { return Poll::Pending };
            self.running.pop();
        }
        self.running = Vec::new();
        Poll::Ready(())
    }
}
