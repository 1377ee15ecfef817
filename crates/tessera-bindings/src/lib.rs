//! Which proxy of a pool serves a client, and how the client moves from one to another without a gap.
//!
//! A [`Binding`] names the client's owner. A move has steps, each one transaction in a [`Store`](tessera_store::Store): the next
//! proxy prepares, the owner announces it to the client, the client's first request there switches the ownership, and the
//! earlier owner forwards what still reaches it until no announcement leads there any more. A generation fences each move:
//! whatever belongs to an earlier one is refused. Any process may continue a move that another began.
//!
//! A store that was restored from a backup repeats the generations since then: while no proxy runs, delete all entries below the
//! prefix. Clients are bound again in later generations, which begin with the clock.
//!
//! [`Bindings`] takes the steps, and [`BindingTable`] follows all bindings in memory: a proxy routes each request by it without
//! the store.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::{Duration, SystemTime};
//!
//! use tessera_bindings::{BindingError, Bindings, ClientName, Import, MoveTimes, ProxyName};
//! use tessera_store::Store;
//!
//! /// Moves a client whose next proxy needs no state of it.
//! async fn move_at_once(
//!     store: Arc<dyn Store>,
//!     client: &ClientName,
//!     next: &ProxyName,
//! ) -> Result<(), BindingError> {
//!     let seconds = Duration::from_secs;
//!     let times = MoveTimes {
//!         dwell: seconds(30),
//!         prepare: seconds(5),
//!         announce: seconds(60),
//!         drain: seconds(60),
//!     };
//!     let clock = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
//!     let bindings = Bindings::new(store, "/pool/", times, clock);
//!     let generation = bindings.begin(client, next).await?.generation;
//!     let import = Import {
//!         version: 0,
//!         keeps_state: false,
//!         resumption: "of the next proxy".into(),
//!         life: "of its process".into(),
//!     };
//!     bindings.prepared(client, generation, next, &import).await?;
//!     bindings.announce(client, generation).await?;
//!     Ok(())
//! }
//! ```
#![forbid(unsafe_code)]

mod binding;
mod bindings;
mod clock;
mod differences;
mod drain;
mod entry;
mod error;
mod held;
mod names;
mod overseer;
mod proxies;
mod settings;
mod signals;
mod table;

pub use binding::{
    Binding, BindingState, FailureCause, Fence, Generation, Import, LaterChanges, MoveFailure,
    MoveTimes, ProxyName, StepRefused,
};
pub use bindings::Bindings;
pub use drain::{Drain, DrainScope};
pub use error::BindingError;
pub use names::ClientName;
pub use proxies::{ProxyEntry, ProxyLease};
pub use settings::PoolSettings;
pub use signals::{ChangedBinding, ChangedBindings};
pub use table::{BindingTable, DueStep, ForwardedRoute, Route};
