//! The number of a record in its association (RFC 9147 §4).

/// Epoch and sequence number, which order all records of one sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordNumber {
    /// 0: no keys, 1: early data, 2: the handshake, 3 and above: application data (but see
    /// [`Numbering`](super::numbering::Numbering)).
    pub(crate) epoch: u64,
    /// From 0 in each epoch.
    pub(crate) sequence: u64,
}

/// The epoch of early data.
pub(crate) const EARLY_DATA_EPOCH: u64 = 1;

/// The epoch of the handshake traffic secrets.
pub(crate) const HANDSHAKE_EPOCH: u64 = 2;

/// Returns the number whose low `bits` bits are `low` and which is closest to `expected` (RFC 9147 §4.2.2).
pub(super) fn closest(low: u16, bits: u32, expected: u64) -> u64 {
    let size = 1u64 << bits;
    let candidate = expected & !(size - 1) | u64::from(low);
    if candidate + size / 2 < expected {
        candidate.saturating_add(size)
    } else if candidate > expected + size / 2 && candidate >= size {
        candidate - size
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_number_is_found() {
        for expected in [0, 1, 100, 127, 128, 255, 256, 70_000, 1 << 47] {
            for distance in -120i64..120 {
                let Some(number) = u64::try_from(expected as i64 + distance).ok() else { continue };
                let low = (number & 0xff) as u16;
                assert_eq!(closest(low, 8, expected), number, "{expected} {distance}");
                assert_eq!(closest(number as u16, 16, expected), number, "{expected} {distance}");
            }
        }
        // Nothing lies below 0.
        assert_eq!(closest(255, 8, 0), 255);
    }
}
