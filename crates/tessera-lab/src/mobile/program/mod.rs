//! Our arms as programs over UDP sockets. Their lines on standard input and output are those of other stacks' programs
//! (`testing/mobile-peers`).

mod client;
mod files;
mod lines;
mod server;
mod sockets;

pub use self::client::{ClientOptions, run as run_client};
pub(super) use self::lines::{ClientLine, LastLine, ServerLine, StepLine};
pub use self::server::{ServerOptions, run as run_server};

/// The arguments with which the lab starts its program again as one of the ends, followed by those of all such programs.
///
/// They are not for users.
pub const ARGUMENTS: [&str; 2] = ["lab", "dtls-end"];
