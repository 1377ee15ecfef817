//! The results as tables, and the terms in them.

use super::report::{Cell, CellName, Part, Recovery, Sample, Through};
use crate::numbers::fixed;
use crate::statistics::Median;
use crate::table::{Cell as Entry, Name, Row, Table, cells};

/// Returns the table of a part, without rows.
pub(super) fn table(part: Part, through: Through) -> Table {
    let columns = "arm:14 | scenario:80 || runs:4 | failed:6 | acks, s:12 | path to ack, ms:12 | detection, ms:10 | \
                   keys, ms:8 | drain, ms:8 | lost:5 | datagrams:- | bytes:- | set-up, ms:8 | set-up, datagrams:9 | \
                   set-up, bytes:6 | client's sockets:- | client CPU, ms:- | server CPU, ms:-";
    Table::new(format!("{}, {}", part.title(), through.words()), columns)
}

/// Returns its row of a cell.
pub(super) fn row(cell: &Cell) -> Row {
    let failed = cell.failed();
    let recovery = |value: fn(&Recovery) -> u64| cell.recovery_ms(value);
    let whole = |value: fn(&Sample) -> u64| cell.median(value).map(|it| fixed(it.value, 0));
    // They are known once the first hand-over begins.
    let counted = |value| whole(value).filter(|it| it != "0");
    Row::new(
        name(&cell.name),
        cells![
            cell.samples.len(),
            Entry::from(failed).bad_if(failed > 0),
            cell.time_s(),
            recovery(|it| it.all_us),
            recovery(|it| it.detection_us),
            recovery(|it| it.keys_us),
            recovery(Recovery::drain_us),
            whole(|it| it.traffic.lost),
            whole(|it| it.traffic.datagrams),
            whole(|it| it.traffic.bytes),
            cell.median(|it| it.setup.handshake_us).map(|it| it.divided_by(1e3)),
            counted(|it| it.setup.datagrams),
            counted(|it| it.setup.bytes),
            whole(|it| it.client_sockets.into()),
            cell.median(|it| it.client_cpu_us).map(|it| it.divided_by(1e3)),
            cell.median(|it| it.server_cpu_us).map(|it| it.divided_by(1e3)),
        ],
    )
}

/// Returns the name of a cell, for people.
pub(crate) fn name(of: &CellName) -> Name {
    Name::new(of.key(), of.arm.name()).with("", of.scenario.words())
}

impl Cell {
    /// Returns how many runs ended before all messages were acknowledged.
    pub(crate) fn failed(&self) -> usize {
        self.samples.iter().filter(|it| it.failure.is_some()).count()
    }

    /// Returns the median of a number of each run.
    pub(crate) fn median(&self, value: fn(&Sample) -> u64) -> Option<Median> {
        Median::of(self.samples.iter().map(|sample| value(sample) as f64))
    }

    /// Returns how long all acknowledgements took, in seconds, in runs that have all.
    pub(crate) fn time_s(&self) -> Option<Median> {
        let whole = self.samples.iter().filter(|it| it.failure.is_none());
        Median::of(whole.map(|it| it.time_us as f64 / 1e6))
    }

    /// Returns the median of a time of each hand-over, in milliseconds.
    pub(crate) fn recovery_ms(&self, value: fn(&Recovery) -> u64) -> Option<Median> {
        let all = self.samples.iter().flat_map(|sample| &sample.recoveries);
        Median::of(all.map(|it| value(it) as f64 / 1e3))
    }

    /// Returns all hand-overs.
    pub(crate) fn recoveries(&self) -> impl Iterator<Item = &Recovery> {
        self.samples.iter().flat_map(|sample| &sample.recoveries)
    }
}

impl Part {
    /// Returns its title.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Paper => "the paper's run",
            Self::Detection => "other ways to notice that the path has gone",
            Self::Change => "other hand-overs",
            Self::Delay => "a longer delay",
            Self::Loss => "links that lose datagrams",
            Self::Outage => "other outages",
            Self::Nat => "NATs",
        }
    }
}

impl Through {
    /// Describes it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Virtual => "in virtual time",
            Self::Sockets => "over sockets",
        }
    }
}

pub(super) const LEGEND: &str = "
scenario         delay one way; what happens every 10 s; how long the interface is down; how the client
                 notices: no acknowledgement for 1 s (time-out) or for 3 round trips, or its interface reports it
                 (link event); 2 time-outs: in a row, before a client connects again. The pace (one message
                 each 100 ms, when the one before it was acknowledged) and the outage are ours: the paper names none
acks             the time from the first message to the last acknowledgement
path to ack      from the moment at which a path carries datagrams again to the first acknowledgement of a message
                 that was sent over it; of that detection, until the client sends that message or begins a
                 handshake; keys, the handshake; drain, the rest
lost             datagrams of both directions
set-up           the first handshake; datagrams and bytes with headers of UDP and IP: all without data before the
                 first hand-over, tickets and connection IDs included
client's sockets how many it opened
full             connects again (DTLS 1.3; the server asks for a cookie); psk-dhe: with a ticket and a key
                 exchange; 0rtt-fs: with forward-secret early data
ipc, tcs         the association goes on at a server socket of its own: from which ServerHello comes (ipc), or which
                 the handshake announces (tcs)
cid              the association goes on under its connection IDs; cid-rrc: the server checks the new address
                 (RFC 9853, basic) and sends meanwhile; cid-rrc-strict: it sends no data before
openssl-         DTLS 1.2; -full, -session-id and -ticket connect again; -ipc and -tcs are the paper's, with a server
                 socket of the association's own; pion-cid and scandium-cid: DTLS 1.2 with connection IDs
quinn-rebind     QUIC, whose client goes on from another socket
virtual time     client, server and network are one thread, and time passes from event to event: computation takes
                 none. Modelled: interfaces, links with delay and losses, NATs
sockets          two programs over the kernel's UDP and an emulated link; CPU is that of the programs. Modelled: the
                 link, its NAT and its interface";
