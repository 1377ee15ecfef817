//! What is already known when a server decides again about the same ClientHello.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::binder::ProvedHello;
use super::config::{NoConfig, ServerConfig};
use super::known_key::KnownKeyPsk;
use super::psk_search::PskSearch;
use crate::handshake::config::Checked;
use crate::resume::{Receipt, ResumptionVerdict, TakeAnswer};

/// The owner's answers, and results that are expensive to compute.
#[derive(Default)]
pub(super) struct Answers {
    pub(super) config: Option<Result<Checked<ServerConfig>, NoConfig>>,
    pub(super) known_key: Option<Option<Box<KnownKeyPsk>>>,
    pub(super) psk: PskSearch,
    pub(super) proved: Option<ProvedHello>,
    pub(super) resumption: Option<ResumptionVerdict>,
    /// For the flights that the client asks about, in order, as far as settled.
    pub(super) receipts: Vec<Receipt>,
    /// For the next one.
    pub(super) receipt: Option<Receipt>,
    pub(super) taken: Option<TakeAnswer>,
}
