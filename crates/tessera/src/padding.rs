//! Record padding (RFC 8446 §5.4).

use core::num::NonZeroU16;

/// The length of protected records, chosen to hide how much they hold: application
/// data, handshake messages and alerts alike. Padding costs bandwidth, and doesn't hide when and
/// how often a side sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Padding {
    /// As long as their content.
    #[default]
    None,
    /// Padded to the next multiple of this many bytes of content, or to the longest record that the
    /// peer accepts if that is less; 16,384 makes all records maximal. Padding counts against the limit
    /// of early data, since a server that refuses early data can't distinguish the two; so early data is
    /// padded no further than its limit.
    MultipleOf(NonZeroU16),
}

impl Padding {
    /// Returns the padded length of `len` bytes of content in a record of at most `most`.
    pub(crate) fn padded(self, len: usize, most: usize) -> usize {
        match self {
            Self::None => len,
            Self::MultipleOf(multiple) => {
                len.next_multiple_of(usize::from(multiple.get())).min(most).max(len)
            }
        }
    }

    /// Returns how much content fits `room` bytes after padding.
    pub(crate) fn fitting(self, room: usize) -> usize {
        match self {
            Self::None => room,
            Self::MultipleOf(multiple) => room - room % usize::from(multiple.get()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_rounds_content_up_and_stays_within_the_record() {
        let padding = Padding::MultipleOf(NonZeroU16::new(100).expect("not zero"));
        for (len, most, padded) in [
            (0, 500, 0),
            (1, 500, 100),
            (100, 500, 100),
            (101, 500, 200),
            (450, 470, 470),
            (470, 470, 470),
        ] {
            assert_eq!(padding.padded(len, most), padded, "{len}");
            assert_eq!(Padding::None.padded(len, most), len);
        }
        for room in 0..500 {
            let fits = padding.fitting(room);
            assert!(padding.padded(fits, 16_384) <= room);
            assert!(padding.padded(fits + 1, 16_384) > room);
            assert_eq!(Padding::None.fitting(room), room);
        }
    }
}
