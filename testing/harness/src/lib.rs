//! Two ends of a connection in one process, and access to its memory, for tests and benchmarks.

mod changed_codec;
mod datagram_pair;
mod face;
mod forge;
mod garbage;
mod hello;
#[cfg(target_os = "linux")]
mod mark;
mod messages;
mod numbers;
mod pair;
mod received;
mod scene;
mod stores;
mod trace;

pub use changed_codec::{ChangedCodecs, CodecChange};
pub use datagram_pair::{DatagramPair, Link, lossless};
pub use face::{ANOTHER, End, Face};
pub use forge::{
    Sealer, Secrets, expand_label, expand_label_to_hash, expand_prefixed_label, message, messages,
    open_all, plain, records, rewrite,
};
pub use garbage::{change, garbage};
pub use hello::{Hello, Identity, binder, vec16};
#[cfg(target_os = "linux")]
pub use mark::Mark;
pub use messages::{MessageConnection, first_message, plain_item};
pub use numbers::{Numbers, each_seed};
pub use pair::{Moment, Pair, TestClock, at};
pub use received::ReceivedData;
pub use scene::{EARLY_DATA, Mode, SERVER_NAME, Scene, credential, kem_credential, to};
pub use stores::{Journal, OneRegister, OneVault, Ring, UnsealedTickets};
pub use trace::Trace;
