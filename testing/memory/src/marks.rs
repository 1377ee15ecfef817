//! Plaintext that can be found again.

use std::sync::Mutex;
use std::sync::PoisonError;

use tessera_aws_lc::provider;
use zeroize::Zeroizing;

/// The marks that were sent.
#[derive(Default)]
pub struct Marks(Mutex<Vec<(String, Vec<u8>)>>);

impl Marks {
    /// A new mark: letters and digits, so that it may stand in a line of HTTP.
    pub fn make(&self, name: &str) -> Zeroizing<Vec<u8>> {
        let mut random = [0; LEN / 2];
        provider().random.fill(&mut random).expect("random bytes");
        let mark = Zeroizing::new(tessera_kit::hex::encode(&random).into_bytes());
        let mut marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        marks.push((name.to_owned(), mark.to_vec()));
        mark
    }

    /// All that were made.
    pub fn all(&self) -> Vec<(String, Vec<u8>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The length of a mark, in bytes.
pub const LEN: usize = 48;
