//! Requests that switch protocols: HTTP/1.1's Upgrade (RFC 9110 §7.8) and HTTP/2's Extended CONNECT (RFC 8441).

mod asked;
mod carrier;
mod request;

pub(super) use self::asked::{Asked, asked, check_upgrade};
pub(super) use self::carrier::{Carrier, carry};
pub use self::request::UpgradeRequest;
pub(super) use self::request::{OtherSide, other_side};
