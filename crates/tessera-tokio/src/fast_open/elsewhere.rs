//! Systems without support in this crate: connections open with an ordinary handshake.

use std::io;
use std::num::NonZeroU16;

use super::AsSocket;

pub(super) const MAY_ACCEPT: u32 = 2;

pub(super) struct Info {
    pub(super) state: State,
    pub(super) syn_data_taken: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Opening,
    Open,
    Closed,
}

pub(super) fn info(_: &impl AsSocket) -> Option<Info> {
    None
}

pub(super) fn connect(_: &impl AsSocket) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn accept(_: &impl AsSocket, _: NonZeroU16) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn sysctl() -> Option<u32> {
    None
}

pub(super) fn has_no_cookie(_: &io::Error) -> bool {
    false
}

pub(super) fn is_before_syn(_: &io::Error) -> bool {
    false
}
