//! How peers come back: which ways are allowed to whom, and that nothing of earlier counts unless it counts now.

mod judge;
mod modes;
mod no_longer;
mod sessions;
mod standing;

pub use self::judge::PeerJudge;
pub use self::modes::Mode;
pub use self::no_longer::NoLonger;
pub use self::sessions::PeerSessions;
pub use self::standing::{Connected, Purpose, Standing};
pub use crate::identity::Modes;
