//! How much may be sent to an address that is unproved (RFC 9147 §5.1).

/// What was received from an address, and sent to it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Budget {
    /// The peer has shown that it receives what is sent there.
    Proved,
    /// Three times what has come from it.
    Unproved { received: usize, sent: usize },
}

impl Budget {
    pub(crate) const UNPROVED: Self = Self::Unproved { received: 0, sent: 0 };

    pub(crate) fn is_proved(self) -> bool {
        matches!(self, Self::Proved)
    }

    pub(crate) fn receive(&mut self, bytes: usize) {
        if let Self::Unproved { received, .. } = self {
            *received += bytes;
        }
    }

    /// Returns how many bytes may be sent.
    pub(crate) fn left(self) -> usize {
        match self {
            Self::Proved => usize::MAX,
            Self::Unproved { received, sent } => {
                received.saturating_mul(FACTOR).saturating_sub(sent)
            }
        }
    }

    pub(crate) fn send(&mut self, bytes: usize) {
        if let Self::Unproved { sent, .. } = self {
            *sent += bytes;
        }
    }
}

const FACTOR: usize = 3;
