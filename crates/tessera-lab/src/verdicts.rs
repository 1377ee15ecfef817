//! What a connection protects: what the adversary could not do.

use serde::Serialize;

use crate::adversary::{self, Loot, Opened};
use crate::control::{ClientLoot, Observed, ServerLoot};

/// From when on stolen keys do not open what was sent: forward secrecy, and when it begins. The
/// worse is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ForwardSecrecy {
    /// From the end of the handshake: both sides' ephemeral keys are gone.
    Handshake,
    /// From the moment the server took the one-time key, or the key expired: until then whoever
    /// reads the server's vault and the client's ticket opens a recorded flight.
    FromTakeOrExpiry,
    /// From the end of the epoch under whose key the one-time keys were stored. No vault of this
    /// experiment stores them so; that of a fleet does.
    #[allow(dead_code)]
    FromEpochEnd,
    /// Never: whoever learns the ticket's keys later opens a recording.
    None,
}

impl ForwardSecrecy {
    /// Its name in tables, the same as in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::FromTakeOrExpiry => "from_take_or_expiry",
            Self::FromEpochEnd => "from_epoch_end",
            Self::None => "none",
        }
    }
}

/// The verdicts on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Verdicts {
    /// Of the first request byte.
    pub(crate) first_byte_fs: ForwardSecrecy,
    /// Of everything after the handshake.
    pub(crate) session_fs: ForwardSecrecy,
    /// How often the server's application executed one request, its first flight having been
    /// recorded and sent again; measured.
    pub(crate) replay_executions: u32,
    /// Whether a quantum computer does not open a recording: the weaker of first byte and session,
    /// and of every connection since the last full handshake.
    pub(crate) pq_confidentiality: bool,
}

/// What the adversary achieved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attack {
    /// How often a request was executed whose first flight was sent again and again.
    pub(crate) executions: u32,
    /// What opened with all that could be stolen after the connection.
    pub(crate) after: Opened,
    /// What opened with the vault as it was before the connection, too.
    pub(crate) before: Opened,
}

impl Attack {
    /// Tries to open the recording. `None` if there is nothing in it to try.
    pub(crate) fn of(executions: u32, client: &ClientLoot, server: &ServerLoot) -> Option<Self> {
        let open = |vault| {
            let (sessions, ticket_key) = (&client.sessions, &server.ticket_key);
            adversary::open(&client.capture, &Loot { sessions, ticket_key, vault })
        };
        let (after, before) = (open(&server.vault_after)?, open(&server.vault_before)?);
        Some(Self { executions, after, before })
    }
}

impl Verdicts {
    /// The verdicts on connections like this one, after an attack.
    pub(crate) fn of(observed: &Observed, attack: &Attack) -> Self {
        let Attack { executions, after, before } = *attack;
        let session_fs = secrecy(after.session, before.session);
        Self {
            first_byte_fs: if observed.early_data_accepted {
                secrecy(after.early_data, before.early_data)
            } else {
                session_fs
            },
            session_fs,
            replay_executions: executions,
            pq_confidentiality: observed.post_quantum,
        }
    }
}

/// What opened with what is left has no forward secrecy; what opened with an earlier dump alone has
/// it since.
fn secrecy(opened_after: bool, opened_before: bool) -> ForwardSecrecy {
    match (opened_after, opened_before) {
        (true, _) => ForwardSecrecy::None,
        (false, true) => ForwardSecrecy::FromTakeOrExpiry,
        (false, false) => ForwardSecrecy::Handshake,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attempts_decide() {
        use ForwardSecrecy::{FromTakeOrExpiry, Handshake, None as Never};
        let opened = |early_data, session| Opened { early_data, session };
        let verdicts = |early_data_accepted, after, before| {
            let observed = Observed { early_data_accepted, ..Observed::default() };
            let verdicts = Verdicts::of(&observed, &Attack { executions: 1, after, before });
            (verdicts.first_byte_fs, verdicts.session_fs)
        };
        let (nothing, all) = (opened(false, false), opened(true, true));
        assert_eq!(verdicts(false, nothing, nothing), (Handshake, Handshake));
        assert_eq!(verdicts(false, all, all), (Never, Never));
        let early = opened(true, false);
        assert_eq!(verdicts(true, early, early), (Never, Handshake));
        assert_eq!(verdicts(true, nothing, early), (FromTakeOrExpiry, Handshake));
        assert_eq!(verdicts(true, nothing, all), (FromTakeOrExpiry, FromTakeOrExpiry));
    }

    #[test]
    fn names_are_those_of_the_report() {
        for fs in [
            ForwardSecrecy::Handshake,
            ForwardSecrecy::FromTakeOrExpiry,
            ForwardSecrecy::FromEpochEnd,
            ForwardSecrecy::None,
        ] {
            assert_eq!(serde_json::to_value(fs).unwrap(), fs.name());
        }
    }
}
