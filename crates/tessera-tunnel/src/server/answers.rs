//! Backend first: one connection's answers.

use std::sync::{Arc, Mutex, PoisonError};

use tessera::ServerConfig;
use tessera::auth::{PeerAcceptance, PeerRejected, VerifyPeer};
use tessera::crypto::SigningError;
use tessera::handshake::{Checked, ChooseConfig, NoConfig, Sign};
use tessera::resume::{
    AcceptResumption, OpenTicket, Receipt, ResumptionVerdict, SessionState, SettleReceipt,
    TakeSecret, Taken,
};
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

impl BackendFirst {
    fn others(&self) -> &dyn Answers {
        self.shared.stores.answers.as_deref().unwrap_or(&Nobody)
    }
}

/// Refuses everything: no store leaves anything for later.
struct Nobody;

impl Answers for Nobody {}

impl Answers for BackendFirst {
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

    fn choose_config(
        &self,
        question: ChooseConfig,
    ) -> Answer<Result<Checked<ServerConfig>, NoConfig>> {
        self.others().choose_config(question)
    }

    fn open_ticket(&self, question: OpenTicket) -> Answer<Option<SessionState>> {
        self.others().open_ticket(question)
    }

    fn take_secret(&self, question: TakeSecret) -> Answer<Taken> {
        self.others().take_secret(question)
    }

    fn settle_receipt(&self, question: SettleReceipt) -> Answer<Receipt> {
        self.others().settle_receipt(question)
    }

    fn verify_peer(&self, question: VerifyPeer) -> Answer<Result<PeerAcceptance, PeerRejected>> {
        self.others().verify_peer(question)
    }

    fn sign(&self, question: Sign) -> Answer<Result<Vec<u8>, SigningError>> {
        self.others().sign(question)
    }
}
