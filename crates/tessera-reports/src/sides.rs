//! Both sides of something.

use serde::{Deserialize, Serialize};

/// Both sides of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sides<T> {
    /// The client's.
    pub client: T,
    /// The server's.
    pub server: T,
}
