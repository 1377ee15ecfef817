//! CRC-32C, which detects accidents, not attacks (RFC 9260 appendix A).

/// Returns the checksum of the concatenated pieces.
pub(super) fn crc32c<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> u32 {
    let bytes = pieces.into_iter().flatten();
    !bytes.fold(!0, |crc, byte| TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8))
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// Castagnoli's polynomial, bits reversed.
const POLYNOMIAL: u32 = 0x82f6_3b78;

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3720 appendix B.4, and the check value of the catalogues.
    #[test]
    fn known_checksums_come_out() {
        assert_eq!(crc32c([&[0; 32][..]]), 0x8a91_36aa);
        assert_eq!(crc32c([&[0xff; 32][..]]), 0x62a8_ab43);
        assert_eq!(crc32c([&b"1234"[..], b"56789"]), 0xe306_9283);
    }
}
