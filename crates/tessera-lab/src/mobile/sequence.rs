//! The paper's figures 1 to 3 as recorded: the datagrams of a first handshake, and of the first messages.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tessera_link::NatKind;

use super::arm::Arm;
use crate::numbers::fixed;
use crate::table::{Cell as Entry, Table, cells};

/// The figures: an arm, and the NAT in front of its client.
pub(super) const FIGURES: [(Arm, Option<NatKind>); 4] = [
    (Arm::Ipc, None),
    (Arm::Ipc, Some(NatKind::PortRestricted)),
    (Arm::Tcs, None),
    (Arm::Tcs, Some(NatKind::PortRestricted)),
];

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sequence {
    pub(crate) arm: Arm,
    /// The NAT's kind, or `none`.
    pub(crate) nat: String,
    pub(crate) datagrams: Vec<SequenceDatagram>,
}

/// A datagram.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SequenceDatagram {
    pub(crate) at_us: u64,
    /// The ports of the sender and of the receiver.
    pub(crate) from: u16,
    pub(crate) to: u16,
    pub(crate) is_to_server: bool,
    pub(crate) what: String,
    /// Without the headers of UDP and IP.
    pub(crate) len: usize,
    /// Whether it arrives.
    pub(crate) arrives: bool,
}

/// Datagrams while they are recorded.
#[derive(Default)]
pub(super) struct SequenceRecorder {
    datagrams: Vec<(SequenceDatagram, Vec<u8>)>,
}

/// A sequence has no more datagrams.
const MOST: usize = 24;

impl SequenceRecorder {
    /// Notes a datagram that is sent.
    pub(super) fn sent(
        &mut self,
        at: Duration,
        [from, to]: [SocketAddr; 2],
        is_to_server: bool,
        is_data: bool,
        datagram: &[u8],
    ) {
        if self.datagrams.len() < MOST {
            let noted = SequenceDatagram {
                at_us: at.as_micros() as u64,
                from: from.port(),
                to: to.port(),
                is_to_server,
                what: what(datagram, is_to_server, is_data).to_owned(),
                len: datagram.len(),
                arrives: false,
            };
            self.datagrams.push((noted, datagram.to_vec()));
        }
    }

    /// Notes a datagram that arrives.
    pub(super) fn arrived(&mut self, datagram: &[u8]) {
        let mut waiting = self.datagrams.iter_mut().filter(|(noted, _)| !noted.arrives);
        if let Some((noted, _)) = waiting.find(|(_, bytes)| bytes == datagram) {
            noted.arrives = true;
        }
    }

    pub(super) fn into_datagrams(self) -> Vec<SequenceDatagram> {
        self.datagrams.into_iter().map(|(noted, _)| noted).collect()
    }
}

/// Describes a datagram by its first record.
fn what(datagram: &[u8], is_to_server: bool, is_data: bool) -> &'static str {
    // RFC 9147 §4, §5.2: the headers of a plaintext record and a fragment, and legacy_version.
    let random = datagram.get(27..31);
    match (datagram.first(), datagram.get(13)) {
        (Some(22), Some(1)) => "ClientHello",
        // RFC 8446 §4.1.3.
        (Some(22), Some(2)) if random == Some(&[0xcf, 0x21, 0xad, 0x74]) => "HelloRetryRequest",
        (Some(22), Some(2)) => "ServerHello, and records under handshake keys",
        (Some(22), _) => "handshake",
        (Some(26), _) => "ACK",
        _ if is_data && is_to_server => "message",
        _ if is_data => "acknowledgement",
        _ => "records under keys",
    }
}

impl Sequence {
    /// Returns it as a table.
    pub(crate) fn table(&self) -> Table {
        let title = format!("{}, NAT: {}", self.arm, self.nat);
        let mut table =
            Table::new(title, "ms:8 || from:16 | to:16 | what:46 | bytes:5 | arrives:7");
        for datagram in &self.datagrams {
            let SequenceDatagram { from, to, what, len, arrives, .. } = datagram;
            let [from, to] = match datagram.is_to_server {
                true => [format!("client {from}"), format!("server {to}")],
                false => [format!("server {from}"), format!("client {to}")],
            };
            let arrives = Entry::from(if *arrives { "yes" } else { "no" }).bad_if(!arrives);
            let at = fixed(datagram.at_us as f64 / 1e3, 0);
            table.row(at, cells![from, to, what.clone(), *len, arrives]);
        }
        table
    }
}
