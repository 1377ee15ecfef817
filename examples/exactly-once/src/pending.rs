//! The increment that a client has under way, and what may be done with it.
//!
//! The client keeps it on its disk, *before* anything is sent. What it sends again, and how, follows from
//! what it knows of the copies that are out:
//!
//! | it knows | so the increment | and it sends |
//! |---|---|---|
//! | "OK", or the receipt "done" | was counted | the next one |
//! | "burned", and that flight had the only copy | was not counted, and never will be | it anew, under another key |
//! | anything else, or nothing | may have been counted, or may be later | it again, under the same key |
//!
//! "Burned" speaks of one flight. It says nothing of an increment that has another flight's name, nor,
//! once the increment was sent in another way too, of the other copies.

use tessera::resume::FlightHandle;

/// An increment under way.
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
    /// In the flight that its key is the name of.
    OwnFlight,
    /// In other messages too.
    More,
}

impl Pending {
    /// An increment that was not sent yet.
    pub fn new(key: FlightHandle) -> Self {
        Self { key, copies: Copies::None }
    }

    /// The key that it is counted under.
    pub fn key(&self) -> FlightHandle {
        self.key
    }

    /// Whether there may be copies.
    pub fn was_sent(&self) -> bool {
        self.copies != Copies::None
    }

    /// Notes, before it is sent, that it goes into this flight of early data, or in no such flight.
    pub fn note_copy(&mut self, flight: Option<FlightHandle>) {
        let is_first = !self.was_sent() && flight == Some(self.key);
        self.copies = if is_first { Copies::OwnFlight } else { Copies::More };
    }

    /// Whether it was not counted and never will be, as this flight was burned.
    pub fn is_void(&self, burned: FlightHandle) -> bool {
        burned == self.key && self.copies == Copies::OwnFlight
    }
}
