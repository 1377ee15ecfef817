//! A PSK that this server knows, and the one that goes on.

use crate::crypto::Suite;
use crate::resume::KnownPsk;

/// A PSK that the client offered and this server knows.
pub(super) struct PskCandidate {
    pub(super) index: usize,
    pub(super) psk: KnownPsk,
    /// Otherwise nothing may rest on it: it is here to have its flight's one-time key burned.
    pub(super) is_usable: bool,
}

/// The PSK that goes on, if one does, and with what.
#[derive(Clone, Copy)]
pub(super) struct PskInUse<'p> {
    pub(super) psk: Option<&'p PskCandidate>,
    pub(super) suite: &'static Suite,
    /// Whether the owner allows early data.
    pub(super) early_data: bool,
}
