//! What demonstrations stand on: files of their own, and somebody on the path.

mod adversary;
mod files;

pub use self::adversary::Adversary;
pub use self::files::Files;
