//! What a connection protects, derived from what its engine says it did.

use serde::Serialize;

use crate::control::{Observed, Psk};

/// From when on stolen keys do not open what was sent: forward secrecy, and when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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

impl Verdicts {
    /// The verdicts on a connection whose request was executed so often.
    pub(crate) fn of(observed: &Observed, replay_executions: u32) -> Self {
        let session_fs = session(observed);
        Self {
            first_byte_fs: if observed.early_data_accepted {
                early_data(observed)
            } else {
                session_fs
            },
            session_fs,
            replay_executions,
            pq_confidentiality: observed.post_quantum,
        }
    }
}

/// An ephemeral key exchange outweighs the PSK; without one the session is worth what the PSK is.
fn session(observed: &Observed) -> ForwardSecrecy {
    match observed.group {
        Some(_) => ForwardSecrecy::Handshake,
        None => early_data(observed),
    }
}

/// Early data is under the PSK alone: a forward-secret one holds a key agreed for this flight.
fn early_data(observed: &Observed) -> ForwardSecrecy {
    match observed.psk {
        Psk::ForwardSecret => ForwardSecrecy::FromTakeOrExpiry,
        Psk::Resumption | Psk::None => ForwardSecrecy::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Agreement;

    fn verdicts(
        psk: Psk,
        group: Option<Agreement>,
        early_data_accepted: bool,
    ) -> (ForwardSecrecy, ForwardSecrecy) {
        let observed = Observed { psk, group, early_data_accepted, ..Observed::default() };
        let verdicts = Verdicts::of(&observed, 1);
        (verdicts.first_byte_fs, verdicts.session_fs)
    }

    #[test]
    fn of_every_mode() {
        use ForwardSecrecy::{FromTakeOrExpiry, Handshake, None as Never};
        let kx = Some(Agreement::X25519);
        assert_eq!(verdicts(Psk::None, kx, false), (Handshake, Handshake), "full");
        assert_eq!(verdicts(Psk::Resumption, None, false), (Never, Never), "psk-only");
        assert_eq!(verdicts(Psk::Resumption, kx, false), (Handshake, Handshake), "psk-dhe");
        assert_eq!(verdicts(Psk::Resumption, kx, true), (Never, Handshake), "0rtt");
        let fs = Psk::ForwardSecret;
        assert_eq!(verdicts(fs, kx, true), (FromTakeOrExpiry, Handshake), "0rtt-fs, psk_dhe_ke");
        let both = (FromTakeOrExpiry, FromTakeOrExpiry);
        assert_eq!(verdicts(fs, None, true), both, "0rtt-fs, psk_ke");
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
