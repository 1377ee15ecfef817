//! Backend first: the answers of one connection.

use std::sync::{Arc, Mutex, PoisonError};

use tessera::resume::{AcceptResumption, ResumptionVerdict};
use tessera_proxy::socket::Socket;
use tessera_tokio::{Answer, Answers};

use super::Shared;
use super::backend;

/// The backend connection dialled during a handshake.
pub(super) type BackendSlot = Arc<Mutex<Option<Socket>>>;

/// The answers of one connection: dials the backend before accepting early data. Questions about stores elsewhere go to
/// their own answers.
pub(super) struct BackendFirst {
    pub(super) shared: Arc<Shared>,
    pub(super) dialled: BackendSlot,
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
                // The connection dials again, and reports the error if that fails too.
                Err(_) => ResumptionVerdict::AcceptWithoutEarlyData,
            }
        })
    }
}
