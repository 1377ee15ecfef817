//! What a connection protects: what the adversary could not do.

use tessera_reports::{ForwardSecrecy, Verdicts};

use crate::control::{ObservedFacts, StolenClientState, StolenServerState};
use tessera_adversary::{DecryptedParts, StolenSecrets};

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
            tessera_adversary::open(&client.capture, &stolen).map(|opened| opened.or(memory))
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

    /// Returns the verdicts on connections like this one, after an self.
    pub(crate) fn verdicts(&self, observed: &ObservedFacts) -> Verdicts {
        let secrecy = |what: fn(&DecryptedParts) -> bool| {
            secrecy([&self.after, &self.undeleted, &self.before].map(what))
        };
        let session_fs = secrecy(|opened| opened.session);
        Verdicts {
            first_byte_fs: if observed.early_data_accepted {
                secrecy(|opened| opened.early_data)
            } else {
                session_fs
            },
            session_fs,
            replay_executions: self.executions,
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
            let verdicts = attack.verdicts(&observed);
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
}
