//! How much may be sent to an address that is unproved (RFC 9147 §5.1).

/// How many more bytes may be sent to an address.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Budget {
    /// The peer has shown that it receives what is sent there.
    Proved,
    /// Three times what has come from it, less what was sent.
    Unproved { left: u32 },
}

impl Budget {
    pub(crate) const UNPROVED: Self = Self::Unproved { left: 0 };

    pub(crate) fn is_proved(self) -> bool {
        matches!(self, Self::Proved)
    }

    pub(crate) fn receive(&mut self, bytes: usize) {
        if let Self::Unproved { left } = self {
            let more = u32::try_from(bytes.saturating_mul(FACTOR)).unwrap_or(u32::MAX);
            *left = left.saturating_add(more);
        }
    }

    /// Returns how many bytes may be sent.
    pub(crate) fn left(self) -> usize {
        match self {
            Self::Proved => usize::MAX,
            Self::Unproved { left } => left as usize,
        }
    }

    pub(crate) fn send(&mut self, bytes: usize) {
        if let Self::Unproved { left } = self {
            *left = left.saturating_sub(u32::try_from(bytes).unwrap_or(u32::MAX));
        }
    }
}

const FACTOR: usize = 3;
