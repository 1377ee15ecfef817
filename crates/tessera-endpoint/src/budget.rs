//! How much may be sent to an address that is unproved (RFC 9147 §5.1).

use tessera::face::{Reader, Writer};

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

    /// Appends it, for another endpoint.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Proved => out.u8(0),
            Self::Unproved { left } => {
                out.u8(1);
                out.u32(left);
            }
        }
    }

    /// Reads what [`write`](Self::write) wrote.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        match reader.u8().ok()? {
            0 => Some(Self::Proved),
            1 => Some(Self::Unproved { left: reader.u32().ok()? }),
            _ => None,
        }
    }
}

/// How many times what has come may be sent (RFC 9147 §5.1).
const FACTOR: usize = 3;
