//! Two ends of a connection in one process, for tests and benchmarks.

mod forge;
mod pair;
mod scene;
mod stores;

pub use forge::{
    Sealer, Secrets, expand_label, expand_label_to_hash, message, messages, open_all, plain,
    records,
};
pub use pair::{At, Pair, Received, at};
pub use scene::{EARLY_DATA, Mode, SERVER_NAME, Scene, credential, to};
pub use stores::{OneRegister, OneVault, UnsealedTickets};
