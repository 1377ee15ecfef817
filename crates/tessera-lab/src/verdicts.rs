//! What a connection protects: what the adversary could not do.

use serde::Serialize;

use crate::adversary::{self, DecryptedParts, StolenSecrets};
use crate::control::{ObservedFacts, StolenClientState, StolenServerState};

/// From when on stolen keys do not decrypt what was sent: forward secrecy, and when it begins. The worse is the
/// greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ForwardSecrecy {
    /// From the end of the handshake: both sides' ephemeral keys are gone.
    Handshake,
    /// From the moment the server took the one-time key, or the key expired: until then an attacker who reads the
    /// server's vault and the client's ticket decrypts a recorded flight. After it no attacker does, even with all
    /// memory of the server's process.
    FromTakeOrExpiry,
    /// From the end of the epoch under whose key the one-time keys were stored. No vault of this
    /// experiment stores them so; that of a fleet does.
    #[allow(dead_code)]
    FromEpochEnd,
    /// From the moment that the server took the one-time secret *and* the client's storage, backups included, forgot
    /// it: until then either copy alone decrypts a recorded flight.
    FromDeletionByBoth,
    /// Never: an attacker who learns the ticket's keys later decrypts a recording.
    None,
}

impl ForwardSecrecy {
    /// Its name in reports.
    #[cfg(test)]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::FromTakeOrExpiry => "from_take_or_expiry",
            Self::FromEpochEnd => "from_epoch_end",
            Self::FromDeletionByBoth => "from_deletion_by_both",
            Self::None => "none",
        }
    }

    /// From when on, in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Handshake => "the handshake",
            Self::FromTakeOrExpiry => "take or expiry",
            Self::FromEpochEnd => "the epoch's end",
            Self::FromDeletionByBoth => "deletion by both",
            Self::None => "never",
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
    /// How often the server's application executed one request, whose first flight was recorded and replayed; measured.
    pub(crate) replay_executions: u32,
    /// Whether a quantum computer does not decrypt a recording: the weaker of first byte and session, and of every
    /// connection since the last full handshake.
    pub(crate) pq_confidentiality: bool,
}

/// What the adversary achieved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attack {
    /// How often a request was executed whose first flight was replayed repeatedly.
    pub(crate) executions: u32,
    /// What was decrypted with all that both ends had after the connection, including the memory of the server's
    /// process.
    pub(crate) after: DecryptedParts,
    /// What was decrypted with the session that the client used and deleted, too.
    pub(crate) undeleted: DecryptedParts,
    /// What was decrypted with the vault as it was before the connection, too.
    pub(crate) before: DecryptedParts,
}

impl Attack {
    /// Tries to decrypt the recording; `memory` is what was decrypted with the memory of the server's process. `None`
    /// if there is nothing in it to try.
    pub(crate) fn of(
        executions: u32,
        client: &StolenClientState,
        server: &StolenServerState,
        memory: DecryptedParts,
    ) -> Option<Self> {
        let open = |sessions: &[Vec<u8>], vault| {
            let ticket_key = &server.ticket_key;
            let stolen = StolenSecrets { sessions, ticket_key, vault };
            adversary::open(&client.capture, &stolen).map(|opened| opened.or(memory))
        };
        let left = client.sessions.as_slice();
        let undeleted: Vec<_> = left.iter().chain(&client.used).cloned().collect();
        Some(Self {
            executions,
            after: open(left, &server.vault_after)?,
            undeleted: open(&undeleted, &server.vault_after)?,
            before: open(&undeleted, &server.vault_before)?,
        })
    }
}

impl Verdicts {
    /// Returns the verdicts on connections like this one, after an attack.
    pub(crate) fn of(observed: &ObservedFacts, attack: &Attack) -> Self {
        let secrecy = |what: fn(&DecryptedParts) -> bool| {
            secrecy([&attack.after, &attack.undeleted, &attack.before].map(what))
        };
        let session_fs = secrecy(|opened| opened.session);
        Self {
            first_byte_fs: if observed.early_data_accepted {
                secrecy(|opened| opened.early_data)
            } else {
                session_fs
            },
            session_fs,
            replay_executions: attack.executions,
            pq_confidentiality: observed.post_quantum,
        }
    }
}

/// What is decrypted with what is left has no forward secrecy; what needs a session that the client deleted has it
/// since then, if the deletion is real; what needs an earlier dump of the vault has it since the take.
fn secrecy([after, undeleted, before]: [bool; 3]) -> ForwardSecrecy {
    match (after, undeleted, before) {
        (true, ..) => ForwardSecrecy::None,
        (false, true, _) => ForwardSecrecy::FromDeletionByBoth,
        (false, false, true) => ForwardSecrecy::FromTakeOrExpiry,
        (false, false, false) => ForwardSecrecy::Handshake,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_adversarys_attempts_decide_on_the_verdicts() {
        use ForwardSecrecy::{FromDeletionByBoth, FromTakeOrExpiry, Handshake, None as Never};
        let opened = |early_data, session| DecryptedParts { early_data, session };
        let verdicts = |early_data_accepted, after, undeleted, before| {
            let observed = ObservedFacts { early_data_accepted, ..ObservedFacts::default() };
            let attack = Attack { executions: 1, after, undeleted, before };
            let verdicts = Verdicts::of(&observed, &attack);
            (verdicts.first_byte_fs, verdicts.session_fs)
        };
        let (nothing, all) = (opened(false, false), opened(true, true));
        assert_eq!(verdicts(false, nothing, nothing, nothing), (Handshake, Handshake));
        assert_eq!(verdicts(false, all, all, all), (Never, Never));
        let early = opened(true, false);
        assert_eq!(verdicts(true, early, early, early), (Never, Handshake));
        assert_eq!(verdicts(true, nothing, nothing, early), (FromTakeOrExpiry, Handshake));
        assert_eq!(verdicts(true, nothing, nothing, all), (FromTakeOrExpiry, FromTakeOrExpiry));
        assert_eq!(verdicts(true, nothing, early, all), (FromDeletionByBoth, FromTakeOrExpiry));
        assert_eq!(verdicts(true, nothing, all, all), (FromDeletionByBoth, FromDeletionByBoth));
    }

    #[test]
    fn the_names_of_verdicts_are_those_of_the_report() {
        for fs in [
            ForwardSecrecy::Handshake,
            ForwardSecrecy::FromTakeOrExpiry,
            ForwardSecrecy::FromEpochEnd,
            ForwardSecrecy::FromDeletionByBoth,
            ForwardSecrecy::None,
        ] {
            assert_eq!(serde_json::to_value(fs).unwrap(), fs.name());
        }
    }
}
