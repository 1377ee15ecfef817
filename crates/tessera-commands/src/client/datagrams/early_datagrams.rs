//! Early data over datagrams.

use std::io;

use tessera::EarlyDataStatus;
use tessera::resume::Verdict;
use tessera_tokio::{ClientDatagramConnection, EarlyDataOutcome};

/// The early data that was sent, by the lengths of its datagrams.
#[derive(Default)]
pub(super) struct EarlyDatagrams {
    pub(super) lens: Vec<usize>,
}

impl EarlyDatagrams {
    /// Writes early data, as much as the connection takes, in several datagrams if it is long.
    pub(super) fn write(
        connection: &ClientDatagramConnection,
        mut data: &[u8],
    ) -> io::Result<Self> {
        let mut early = Self::default();
        while !data.is_empty() {
            let len = data.len().min(connection.early_data_room());
            if !early.add(connection, &data[..len])? {
                break;
            }
            data = &data[len..];
        }
        Ok(early)
    }

    /// Writes a datagram, if the connection takes it whole.
    pub(super) fn add(
        &mut self,
        connection: &ClientDatagramConnection,
        datagram: &[u8],
    ) -> io::Result<bool> {
        let has_room = (1..=connection.early_data_room()).contains(&datagram.len());
        let is_written = has_room && connection.write_early(datagram)?;
        self.lens.extend(is_written.then_some(datagram.len()));
        Ok(is_written)
    }

    /// Returns, after the handshake, how many of the datagrams have arrived; the others were not executed. `None` if
    /// each may have been.
    pub(super) fn taken(&self, connection: &ClientDatagramConnection) -> Option<usize> {
        let facts = connection.facts();
        match facts.early_data {
            _ if self.lens.is_empty() => Some(0),
            EarlyDataStatus::Accepted => {
                // A server that doesn't count them may have taken all.
                let taken = facts.early_records_taken.and_then(|taken| usize::try_from(taken).ok());
                Some(taken.unwrap_or(self.lens.len()).min(self.lens.len()))
            }
            EarlyDataStatus::Rejected(Verdict::Burned) => Some(0),
            _ => None,
        }
    }

    /// Returns how many of the datagrams are not to be sent again where a copy that the network makes does no harm.
    pub(super) fn settled(&self, connection: &ClientDatagramConnection) -> usize {
        let is_unknown =
            connection.facts().early_data == EarlyDataStatus::Rejected(Verdict::Unknown);
        match self.taken(connection) {
            Some(taken) => taken,
            // It left once, and the server that got it refused it, as one that has lost its keys.
            None if is_unknown && connection.resent() == 0 => 0,
            None => self.lens.len(),
        }
    }

    /// Returns what is known of it.
    pub(super) fn outcome(&self, connection: &ClientDatagramConnection) -> EarlyDataOutcome {
        let mut outcome = EarlyDataOutcome::default();
        outcome.sent = self.lens.iter().sum();
        if outcome.sent > 0 {
            let facts = connection.facts();
            let is_accepted = facts.early_data == EarlyDataStatus::Accepted;
            outcome.accepted = if is_accepted { outcome.sent } else { 0 };
            let verdict = facts.early_data.verdict().unwrap_or(Verdict::Unknown);
            outcome.verdict = (!is_accepted).then_some(verdict);
        }
        outcome
    }
}
