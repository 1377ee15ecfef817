//! Helpers of the tests.

/// Converts hexadecimal digits to bytes; spaces are skipped.
pub fn hex(digits: &str) -> Vec<u8> {
    let nibbles: Vec<u8> = digits
        .chars()
        .filter(|digit| !digit.is_whitespace())
        .map(|digit| digit.to_digit(16).expect("a hexadecimal digit") as u8)
        .collect();
    assert!(nibbles.len().is_multiple_of(2), "half a byte is left over");
    nibbles.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
