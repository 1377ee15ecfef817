//! The compared arms: what a client does when its path to the server has gone, and how its server finds it again.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tessera_reports::Mode;

/// An arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// OpenSSL, DTLS 1.2: connects again with a full handshake. The paper's plain DTLS.
    OpensslFull,
    /// The same with a session ID.
    OpensslSessionId,
    /// The same with a ticket.
    OpensslTicket,
    /// The paper's IPC over OpenSSL: the server answers from a socket of the association's own.
    OpensslIpc,
    /// The paper's TCS over OpenSSL: the client goes to such a socket after the handshake.
    OpensslTcs,
    /// pion, DTLS 1.2 with connection IDs.
    PionCid,
    /// Scandium, DTLS 1.2 with connection IDs.
    ScandiumCid,
    /// Ours, DTLS 1.3: connects again with a full handshake.
    Full,
    /// The same with a ticket and a key exchange.
    PskDhe,
    /// The same with forward-secret early data.
    #[serde(rename = "0rtt-fs")]
    ZeroRttFs,
    /// The paper's IPC: ServerHello comes from a socket of the association's own.
    Ipc,
    /// The paper's TCS: the handshake announces such a socket, and the client goes there.
    Tcs,
    /// Connection IDs, and no check of the address to which the client moves.
    Cid,
    /// The same with a basic check (RFC 9853).
    CidRrc,
    /// The same, and the server sends no data before the check has succeeded.
    CidRrcStrict,
    /// quinn, QUIC: its client goes on from another socket.
    QuinnRebind,
}

/// Whose code an arm is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stack {
    Ours,
    /// A program of this name.
    Other(&'static str),
}

impl Arm {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::OpensslFull,
        Self::OpensslSessionId,
        Self::OpensslTicket,
        Self::OpensslIpc,
        Self::OpensslTcs,
        Self::PionCid,
        Self::ScandiumCid,
        Self::Full,
        Self::PskDhe,
        Self::ZeroRttFs,
        Self::Ipc,
        Self::Tcs,
        Self::Cid,
        Self::CidRrc,
        Self::CidRrcStrict,
        Self::QuinnRebind,
    ];

    /// Its name in options, tables and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OpensslFull => "openssl-full",
            Self::OpensslSessionId => "openssl-session-id",
            Self::OpensslTicket => "openssl-ticket",
            Self::OpensslIpc => "openssl-ipc",
            Self::OpensslTcs => "openssl-tcs",
            Self::PionCid => "pion-cid",
            Self::ScandiumCid => "scandium-cid",
            Self::Full => "full",
            Self::PskDhe => "psk-dhe",
            Self::ZeroRttFs => "0rtt-fs",
            Self::Ipc => "ipc",
            Self::Tcs => "tcs",
            Self::Cid => "cid",
            Self::CidRrc => "cid-rrc",
            Self::CidRrcStrict => "cid-rrc-strict",
            Self::QuinnRebind => "quinn-rebind",
        }
    }

    pub(super) fn stack(self) -> Stack {
        match self {
            Self::OpensslFull
            | Self::OpensslSessionId
            | Self::OpensslTicket
            | Self::OpensslIpc
            | Self::OpensslTcs => Stack::Other("openssl-peer"),
            Self::PionCid => Stack::Other("pion-peer"),
            Self::ScandiumCid => Stack::Other("scandium-peer"),
            Self::QuinnRebind => Stack::Other("quinn-peer"),
            _ => Stack::Ours,
        }
    }

    /// Whether its association goes on after a change of address. Otherwise the client connects again.
    pub(crate) fn survives(self) -> bool {
        match self {
            Self::OpensslFull | Self::OpensslSessionId | Self::OpensslTicket => false,
            Self::Full | Self::PskDhe | Self::ZeroRttFs => false,
            Self::OpensslIpc | Self::OpensslTcs | Self::PionCid | Self::ScandiumCid => true,
            Self::Ipc | Self::Tcs | Self::QuinnRebind => true,
            Self::Cid | Self::CidRrc | Self::CidRrcStrict => true,
        }
    }

    /// Whether its association has a socket of the server's own.
    pub(super) fn has_own_socket(self) -> bool {
        matches!(self, Self::Ipc | Self::Tcs)
    }

    /// Returns how one of ours connects again.
    pub(super) fn mode(self) -> Mode {
        match self {
            Self::PskDhe => Mode::PskDhe,
            Self::ZeroRttFs => Mode::ZeroRttFs,
            _ => Mode::Full,
        }
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Arm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|it| it.name() == text);
        known.ok_or_else(|| format!("arms are {}", Self::ALL.map(Self::name).join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arm_has_one_name() {
        for arm in Arm::ALL {
            let name = arm.name();
            assert_eq!(name.parse(), Ok(arm));
            assert_eq!(serde_json::to_value(arm).unwrap(), name);
        }
        assert!("half".parse::<Arm>().unwrap_err().contains("full, psk-dhe"));
    }
}
