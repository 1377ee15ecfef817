//! The increment in progress at a client, and what may be done with it.
//!
//! The client writes it to its disk *before* it sends anything. What it sends again, and how, depends on what it knows
//! of the copies in transit:
//!
//! | it knows | so the increment | and it sends |
//! |---|---|---|
//! | "OK", or the receipt "done" | was counted | the next one |
//! | "burned", and that flight had the only copy | was not counted, and never will be | the increment under a new key |
//! | anything else, or nothing | may have been counted, or may be later | the same again, under the same key |
//!
//! "Burned" is about one flight. It implies nothing for an increment in another flight, nor, once the increment was
//! also sent in another way, for the other copies.

use tessera::resume::FlightHandle;

/// An increment in progress.
#[derive(Clone, Copy)]
pub struct Pending {
    key: FlightHandle,
    copies: Copies,
}

/// Where an increment may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copies {
    /// On the disk alone.
    None,
    /// In the flight that its key names.
    OwnFlight,
    /// In other messages too.
    More,
}

impl Pending {
    /// Creates an increment that was not sent yet.
    pub fn new(key: FlightHandle) -> Self {
        Self { key, copies: Copies::None }
    }

    /// Returns the key that it is counted under.
    pub fn key(&self) -> FlightHandle {
        self.key
    }

    /// Whether there may be copies.
    pub fn was_sent(&self) -> bool {
        self.copies != Copies::None
    }

    /// Records, before it is sent, that it goes into this flight of early data, or into none.
    pub fn note_copy(&mut self, flight: Option<FlightHandle>) {
        let is_first = !self.was_sent() && flight == Some(self.key);
        self.copies = if is_first { Copies::OwnFlight } else { Copies::More };
    }

    /// Whether it was not counted and never will be, because this flight was burned.
    pub fn is_void(&self, burned: FlightHandle) -> bool {
        burned == self.key && self.copies == Copies::OwnFlight
    }
}
