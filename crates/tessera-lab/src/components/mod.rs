//! The memory of a connection by component, as in Fig. 10 of the roaming paper: for a new connection and for a resumed
//! one, at both ends.
//!
//! Every allocation belongs to the component that made it. Each component has a jemalloc arena, from which the thread
//! allocates while it does that component's work; jemalloc knows what each arena holds, and the thread's own counters
//! check the sum. Allocations of AWS-LC are included.
//!
//! | number | meaning |
//! |---|---|
//! | [`Memory::components`] | all that was ever allocated for the connection, freed or not: compared with Fig. 10 |
//! | [`Memory::peak`] | the peak, sampled after each operation and each call of the engine |
//! | [`Memory::held`] | what the idle connection holds, with its ticket for the next one |
//!
//! Both ends are in one thread, and bytes go from memory to memory. Memory shared by many connections doesn't count:
//! configurations, ticket keys, and the [stores](Memory::vault_bytes). Temporary memory of an operation is in the first
//! number only. Messages with certificates are in the engine's memory, which is the rest.

mod books;
mod measurement;
mod pair;
#[cfg(all(test, feature = "heap"))]
mod tests;
mod vault;

use std::error::Error;
use std::sync::{Mutex, PoisonError};
use std::{io, thread};

use serde::{Deserialize, Serialize};
use tessera::{ClientConfig, ServerConfig};
use tessera_reports::{Store, Variant};

use crate::error::LabError;
use crate::heap;
use books::Books;
use measurement::Measurement;

pub(crate) use books::Components;

/// The memory of one end of a connection, in bytes as the allocator rounds them up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Memory {
    #[serde(flatten)]
    pub(crate) variant: Variant,
    pub(crate) connection: Kind,
    pub(crate) side: Side,
    /// All that was allocated.
    pub(crate) components: Components,
    /// The sum.
    pub(crate) total: i64,
    pub(crate) peak: HeldMemory,
    pub(crate) held: HeldMemory,
    /// The memory of the server's stores for one client beyond its connections: its outstanding one-time key, and the
    /// record of the one that a resumption used. 0 at the client.
    pub(crate) vault_bytes: i64,
}

/// The memory at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeldMemory {
    pub(crate) components: Components,
    pub(crate) total: i64,
}

impl HeldMemory {
    fn of(components: Components) -> Self {
        Self { components, total: components.total() }
    }
}

/// Which connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// The first, with certificates, which brings a ticket of the variant.
    New,
    /// One in the variant's own way.
    Resumed,
}

impl Kind {
    /// Its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Resumed => "resumed",
        }
    }
}

/// Whose memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    /// Its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// Measures a variant: a new and a resumed connection, the client and the server of each. Measurements exclude each
/// other, and each runs in a separate thread.
///
/// # Errors
///
/// If a connection fails or isn't of the variant, if the variant's store isn't in memory, or if the program [doesn't
/// measure](heap::IS_COUNTED) its heap.
pub(crate) fn measure(variant: Variant) -> Result<Vec<Memory>, LabError> {
    let failed = |what: &str| LabError::Connection(format!("memory of {}: {what}", variant.key()));
    if variant.store != Store::Memory {
        return Err(failed("only stores in memory are measured"));
    }
    with_books(|books| Measurement::new(variant, books)?.run()).map_err(|what| failed(&what))
}

/// Returns the peak memory of each end in a connection, the client's first: the median of several, after some that warm
/// up. Calls `before` before each.
///
/// # Errors
/// If a connection fails, or the program [doesn't measure](heap::IS_COUNTED) its heap.
pub(crate) fn peaks(
    configs: (ClientConfig, ServerConfig),
    before: impl Fn() + Send,
) -> Result<[i64; 2], LabError> {
    with_books(|books| measurement::peaks(configs, before, books))
        .map_err(|what| LabError::Connection(format!("peaks of memory: {what}")))
}

/// Runs a closure with the accounts of both ends, in a separate thread.
fn with_books<T: Send>(
    measure: impl FnOnce(BookPair) -> Result<T, Box<dyn Error>> + Send,
) -> Result<T, String> {
    // Held until the thread is joined: as it ends it returns its memory to the arenas.
    let mut lock = BOOKS.lock().unwrap_or_else(PoisonError::into_inner);
    let books = &mut *lock;
    thread::scope(|scope| {
        let measuring = scope.spawn(move || {
            let measured = opened(books).and_then(measure);
            measured.map_err(|error| error.to_string())
        });
        measuring.join().unwrap_or_else(|_| Err("the thread failed".to_owned()))
    })
}

type BookPair = [&'static Books; 2];

/// The accounts of both ends. They serve all measurements of a process: arenas are never destroyed.
static BOOKS: Mutex<Option<BookPair>> = Mutex::new(None);

fn opened(books: &mut Option<BookPair>) -> Result<BookPair, Box<dyn Error>> {
    heap::without_cache()?;
    Ok(match *books {
        Some(books) => books,
        None => {
            let open = || io::Result::Ok(&*Box::leak(Box::new(Books::open()?)));
            *books.insert([open()?, open()?])
        }
    })
}
