//! A PSK that may go on, and the one that does.

use crate::crypto::Suite;
use crate::resume::KnownPsk;

/// A PSK that the client offered and this server knows.
pub(super) struct PskCandidate {
    pub(super) index: usize,
    pub(super) psk: KnownPsk,
}

/// The PSK that goes on, if one does, and with what.
#[derive(Clone, Copy)]
pub(super) struct PskInUse<'p> {
    pub(super) psk: Option<&'p PskCandidate>,
    pub(super) suite: &'static Suite,
    /// Whether the owner allows early data.
    pub(super) early_data: bool,
}
