//! Plaintext that can be found in memory.

use std::sync::Mutex;
use std::sync::PoisonError;

use tessera_aws_lc::provider;
use zeroize::Zeroizing;

/// The marks that were sent over a connection.
#[derive(Default)]
pub struct Marks(Mutex<Vec<(String, Vec<u8>)>>);

impl Marks {
    /// Records a mark, to search for it.
    pub fn keep(&self, name: &str, mark: &[u8]) {
        let mut marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        marks.push((name.to_owned(), mark.to_vec()));
    }

    /// Returns all that were made.
    pub fn all(&self) -> Vec<(String, Vec<u8>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns a new mark: letters and digits, so that it fits in a line of HTTP.
pub fn mark() -> Zeroizing<Vec<u8>> {
    let mut random = Zeroizing::new([0; LEN / 2]);
    provider().random.fill(&mut *random).expect("random bytes");
    let digits = random.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let mut mark = Zeroizing::new(Vec::with_capacity(LEN));
    mark.extend(digits.map(|digit| b"0123456789abcdef"[usize::from(digit)]));
    mark
}

/// Whether this is a mark.
pub fn is_mark(bytes: &[u8]) -> bool {
    bytes.len() == LEN && bytes.iter().all(u8::is_ascii_hexdigit)
}

/// The length of a mark, in bytes.
const LEN: usize = 48;
