//! Backend first: one connection's answers.

use std::sync::{Arc, Mutex, PoisonError};

use tessera::resume::{AcceptResumption, ResumptionVerdict};
use tessera_proxy::socket::Socket;
use tessera_tokio::{Answer, Answers};

use super::Shared;
use super::backend;

/// What a connection's handshake dialled.
pub(super) type Dialled = Arc<Mutex<Option<Socket>>>;

/// The answers of one connection: whoever comes with early data gets its backend first. What stores elsewhere leave for
/// later, they answer themselves.
pub(super) struct BackendFirst {
    pub(super) shared: Arc<Shared>,
    pub(super) dialled: Dialled,
}

impl Answers for BackendFirst {
    fn others(&self) -> Option<&dyn Answers> {
        self.shared.stores.answers.as_deref()
    }

    fn accept_resumption(&self, _: AcceptResumption) -> Answer<ResumptionVerdict> {
        let (shared, dialled) = (self.shared.clone(), self.dialled.clone());
        Box::pin(async move {
            match backend::dial(&shared).await {
                Ok(socket) => {
                    *dialled.lock().unwrap_or_else(PoisonError::into_inner) = Some(socket);
                    ResumptionVerdict::Accept
                }
                // The connection dials again, and tells why if it fails again.
                Err(_) => ResumptionVerdict::AcceptWithoutEarlyData,
            }
        })
    }
}
