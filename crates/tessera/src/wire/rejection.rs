//! What EncryptedExtensions reports on refused forward-secret early data (docs/0rtt-fs.md).

use alloc::vec::Vec;

use super::reader::Reader;
use super::writer::Writer;
use crate::error::Error;

/// What the server reports on a forward-secret ticket whose early data it did not accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// The server doesn't know whether the early data was accepted.
    Unknown,
    /// The key was taken to refuse it.
    Burned,
    /// The key was taken to accept it.
    Used,
    /// The key was in the memory of a server that ended at least `ended_before` milliseconds ago, and
    /// is gone. A flight sent since then has not been accepted. Only its client knows when it sent
    /// the flight, and it needs no clock in step with the server's for that: it compares two spans.
    Lost { ended_before: u32 },
}

impl Rejection {
    /// Reads a rejection; an unknown verdict is not trusted, whatever follows it.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(match reader.u8()? {
            0 => Self::Unknown,
            1 => Self::Burned,
            2 => Self::Used,
            3 => Self::Lost { ended_before: reader.u32()? },
            _ => {
                reader.rest();
                Self::Unknown
            }
        })
    }

    pub(crate) fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Unknown => out.u8(0),
            Self::Burned => out.u8(1),
            Self::Used => out.u8(2),
            Self::Lost { ended_before } => {
                out.u8(3);
                out.u32(ended_before);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejections_are_read_from_the_wire_as_they_were_written() {
        let lost = Rejection::Lost { ended_before: 70_000 };
        for rejection in [Rejection::Burned, Rejection::Used, Rejection::Unknown, lost] {
            let mut out = Vec::new();
            rejection.write(&mut out);
            let mut reader = Reader::new(&out);
            assert_eq!(Rejection::read(&mut reader), Ok(rejection));
            assert!(reader.is_empty());
        }
        for unknown in [&[4_u8] as &[u8], &[255, 1, 2, 3]] {
            let mut reader = Reader::new(unknown);
            let read = Rejection::read(&mut reader);
            assert_eq!(read, Ok(Rejection::Unknown));
            assert!(reader.is_empty());
        }
        assert!(Rejection::read(&mut Reader::new(&[3, 0, 0])).is_err());
        assert!(Rejection::read(&mut Reader::new(&[])).is_err());
    }
}
