//! The PSKs that this server knows, and the one in use.

use crate::crypto::Suite;
use crate::resume::KnownPsk;

/// A PSK that the client offered and this server knows.
pub(super) struct PskCandidate {
    pub(super) index: usize,
    pub(super) psk: KnownPsk,
    /// If not, nothing may rest on it: it is here only to burn its flight's one-time key.
    pub(super) is_usable: bool,
}

/// The PSK in use, if any, and its suite.
#[derive(Clone, Copy)]
pub(super) struct PskInUse<'p> {
    pub(super) psk: Option<&'p PskCandidate>,
    pub(super) suite: &'static Suite,
    /// Whether the owner allows early data.
    pub(super) early_data: bool,
}
