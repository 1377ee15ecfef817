//! What passes between the ends.

use std::sync::{Arc, Mutex, PoisonError};

/// What was seen of each side's datagrams, the client's first.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The length of the longest.
    pub longest: [usize; 2],
    /// How many bytes passed in all.
    pub bytes: [usize; 2],
    /// The client's newest datagram that passed.
    pub newest_of_client: Vec<u8>,
    /// Whether there was a record with a connection ID.
    pub connection_id: [bool; 2],
    /// Whether there were records of an epoch, by its last two bits.
    pub epochs: [[bool; 4]; 2],
}

/// Watches datagrams, and loses some.
#[derive(Clone, Default)]
pub struct Observer {
    seen: Arc<Mutex<Seen>>,
    /// The datagram to lose: whether it is the client's, and its number from 1.
    loses: Arc<Mutex<Option<(bool, usize)>>>,
    holds: Arc<Mutex<Hold>>,
}

/// A datagram of the client that is kept back.
#[derive(Default)]
enum Hold {
    #[default]
    Nothing,
    Next,
    Held(Vec<u8>),
}

impl Observer {
    pub fn losing(is_clients: bool, number: usize) -> Self {
        let this = Self::default();
        *this.loses.lock().unwrap_or_else(PoisonError::into_inner) = Some((is_clients, number));
        this
    }

    /// Takes note of a datagram; returns whether it is lost.
    pub fn sees(&self, is_clients: bool, number: usize, datagram: &[u8]) -> bool {
        let side = usize::from(!is_clients);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.longest[side] = seen.longest[side].max(datagram.len());
        // RFC 9147 §4: 001CSLEE.
        if let Some(first) = datagram.first().filter(|first| *first >> 5 == 1) {
            seen.connection_id[side] |= first & 0x10 != 0;
            seen.epochs[side][usize::from(first & 3)] = true;
        }
        let mut loses = self.loses.lock().unwrap_or_else(PoisonError::into_inner);
        if loses.take_if(|lost| *lost == (is_clients, number)).is_some() {
            return true;
        }
        let mut holds = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        if is_clients && matches!(*holds, Hold::Next) {
            *holds = Hold::Held(datagram.to_vec());
            return true;
        }
        seen.bytes[side] += datagram.len();
        if is_clients {
            seen.newest_of_client = datagram.to_vec();
        }
        false
    }

    /// Keeps the client's next datagram back.
    pub fn holds_next_of_client(&self) {
        *self.holds.lock().unwrap_or_else(PoisonError::into_inner) = Hold::Next;
    }

    /// Returns the datagram that was kept back.
    pub fn held(&self) -> Option<Vec<u8>> {
        match std::mem::take(&mut *self.holds.lock().unwrap_or_else(PoisonError::into_inner)) {
            Hold::Held(datagram) => Some(datagram),
            Hold::Nothing | Hold::Next => None,
        }
    }

    /// Loses nothing more: data is sent once. Returns whether the datagram was lost.
    pub fn lets_pass(&self) -> bool {
        self.loses.lock().unwrap_or_else(PoisonError::into_inner).take().is_none()
    }

    pub fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
