//! Reconnection of peers: which ways each may use, and checks that earlier authentication is still valid.

mod identity_refusal;
mod judge;
mod modes;
mod sessions;
mod standing;

pub use self::identity_refusal::IdentityRefusal;
pub use self::judge::PeerJudge;
pub use self::modes::Mode;
pub use self::sessions::PeerSessions;
pub use self::standing::{PeerConnection, Purpose, Standing};
pub use crate::identity::Modes;
