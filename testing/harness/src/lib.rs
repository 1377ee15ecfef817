//! Two ends of a connection in one process, for tests and benchmarks.

mod forge;
mod hello;
mod pair;
mod scene;
mod stores;
mod trace;

pub use forge::{
    Sealer, Secrets, expand_label, expand_label_to_hash, message, messages, open_all, plain,
    records, rewrite,
};
pub use hello::{Hello, Identity, binder, vec16};
pub use pair::{At, Pair, Received, at};
pub use scene::{EARLY_DATA, Mode, SERVER_NAME, Scene, credential, to};
pub use stores::{Journal, OneRegister, OneVault, Ring, UnsealedTickets};
pub use trace::Trace;
