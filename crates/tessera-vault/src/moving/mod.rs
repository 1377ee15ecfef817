//! Secrets that move with their client, from the vault of one site to that of another.

mod arrivals;
mod departures;

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tessera::crypto::{KeyForm, Random, RandomFailed};
use tessera::handshake::Reply;
use tessera::resume::{
    Absence, FlightHandle, Incarnation, OneTimeSecret, PutRefused, PutSecret, TakeAnswer,
    TakePurpose, TakeSecret, Vault,
};

use self::arrivals::Arrivals;
use self::departures::Departures;
use crate::memory::MemoryVault;
use crate::messages::{
    Acknowledgement, ArrivalRefused, BurnMoved, Departure, MovedSecret, VaultLife,
};
use crate::millis::seconds;

/// The vault of a site whose secrets move with their clients (docs/0rtt-fs.md, section 11).
///
/// [`depart`](Self::depart) removes a client's secrets and remembers where they went; the owner sends them to the other site,
/// whose vault takes each once ([`arrive`](Self::arrive)), in the life that the message names. There is never a second copy: a
/// secret whose message is lost, or whose new site dies, is gone.
///
/// At both sites a flight may come first, or again. The vault that it comes to asks the other what became of its secret
/// ([`burn_moved`](Self::burn_moved)), and answers `burned` only when neither can accept it any more. `formal/replication`
/// (`moving`) checks these rules state by state.
pub struct MovingVault {
    vault: MemoryVault,
    life: VaultLife,
    /// The longest lifetime of a secret, in seconds.
    lifetime: u32,
    moves: Mutex<Moves>,
}

struct Moves {
    arrivals: Arrivals,
    departures: Departures,
    /// Flights that wait for their secrets, numbered.
    waiting: BTreeMap<([u8; FlightHandle::LEN], u64), Waker>,
    next_waiting: u64,
}

/// Completes when a secret that a flight came before has arrived.
pub struct SecretArrival<'v> {
    vault: &'v MovingVault,
    handle: FlightHandle,
    number: Option<u64>,
}

impl MovingVault {
    /// Creates the vault of a site. `vault` has its directory, or else the site's `name`: see
    /// [`SiteVault::named`](crate::SiteVault::named). `capacity` is for how many secrets it remembers that they came or
    /// were refused, about 100 bytes each, and for how many that left, about 300. No secret of any site lives longer than `lifetime`, and no two clocks of sites
    /// differ by as much.
    ///
    /// # Errors
    /// If there is no randomness.
    pub fn new(
        vault: MemoryVault,
        name: [u8; 16],
        capacity: usize,
        lifetime: Duration,
        random: &dyn Random,
    ) -> Result<Self, RandomFailed> {
        let mut nonce = [0; 16];
        random.fill(&mut nonce)?;
        let named = Incarnation { vault: name, number: 0 };
        let Incarnation { vault: name, number } = vault.incarnation().unwrap_or(named);
        let moves = Moves {
            arrivals: Arrivals::new(capacity, seconds(lifetime)),
            departures: Departures::new(capacity),
            waiting: BTreeMap::new(),
            next_waiting: 0,
        };
        Ok(Self {
            vault,
            life: VaultLife { vault: name, number, nonce },
            lifetime: seconds(lifetime),
            moves: Mutex::new(moves),
        })
    }

    /// Returns this life, to which other sites may send secrets.
    #[must_use]
    pub fn life(&self) -> VaultLife {
        self.life
    }

    /// Removes all secrets of a client, which go to another site. Those whose flights were accepted are no longer here.
    ///
    /// Blocks on disk I/O once in a life.
    ///
    /// # Errors
    /// If the client's name is longer than [`MovedSecret::MAX_CLIENT`], which no channel carries, or if the vault can't note in
    /// its directory that secrets leave it: then none do. After a crash, a secret of a life that
    /// sent none away is lost for certain; of others that can't be known.
    pub fn depart(&self, client: &[u8], to: VaultLife) -> io::Result<Vec<MovedSecret>> {
        if client.len() > MovedSecret::MAX_CLIENT {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the client's name is too long for its secrets to move",
            ));
        }
        self.vault.note_departures()?;
        // First: a flight that doesn't find its secret must find where it went.
        let mut moves = self.moves();
        let removed = self.vault.remove_of(client);
        let depart = |removed: crate::memory::RemovedSecret| {
            // A secret that moved this often is gone.
            let count = moves.arrivals.moves(&removed.handle).checked_add(1)?;
            let departure = Departure { to, moves: count };
            moves.departures.note(removed.handle, departure, seconds(removed.expires_at));
            Some(MovedSecret {
                handle: removed.handle,
                secret: removed.stored,
                expires_at: removed.expires_at,
                client: client.to_vec(),
                departure,
            })
        };
        Ok(removed.into_iter().filter_map(depart).collect())
    }

    /// Takes a secret that another site sent here, at `unix`.
    ///
    /// # Errors
    /// If it must not be taken: nothing else becomes of it.
    pub fn arrive(&self, moved: MovedSecret, unix: Duration) -> Result<(), ArrivalRefused> {
        let MovedSecret { handle, secret, expires_at, client, departure } = moved;
        if departure.to != self.life {
            return Err(ArrivalRefused::OtherLife);
        }
        let secret = OneTimeSecret::decode(&secret).ok_or(ArrivalRefused::NoRoom)?;
        let now = seconds(unix);
        let (expires_at, longest) = (seconds(expires_at), now.saturating_add(self.lifetime));
        // The other site's clock is wrong, and its messages could come for longer than they are remembered here.
        if expires_at > longest.saturating_add(self.lifetime) {
            return Err(ArrivalRefused::Late);
        }
        let mut moves = self.moves();
        if !moves.arrivals.admit(&handle, departure.moves, expires_at, now) {
            return Err(ArrivalRefused::Late);
        }
        moves.departures.is_back(&handle);
        let expires_at = Duration::from_secs(expires_at.min(longest).into());
        let mut put = PutSecret::new(handle, secret, expires_at, unix);
        put.client = Some(&client);
        // Under the lock: a flight that learns that its secret has come must find it.
        let arrived = self.vault.put(put).map_err(|PutRefused| ArrivalRefused::NoRoom);
        let its_flights = (handle.0, 0)..=(handle.0, u64::MAX);
        let woken: Vec<_> =
            moves.waiting.range(its_flights).map(|(_, waker)| waker.clone()).collect();
        drop(moves);
        // Without the lock: a waker may drop or poll a flight.
        woken.into_iter().for_each(Waker::wake);
        arrived
    }

    /// Removes expired secrets at `unix`: call it from a timer.
    pub fn purge(&self, unix: Duration) {
        self.vault.purge(unix);
    }

    /// Waits for the secret of a flight that came here first. The caller decides for how long.
    #[must_use]
    pub fn arrival(&self, handle: FlightHandle) -> SecretArrival<'_> {
        SecretArrival { vault: self, handle, number: None }
    }

    /// Returns where a secret went that left this vault, isn't back, and hasn't expired. After that it is unknown: the other
    /// site may have forgotten that it came.
    #[must_use]
    pub fn departure(&self, handle: &FlightHandle, unix: Duration) -> Option<Departure> {
        self.moves().departures.get(handle, seconds(unix))
    }

    /// Makes sure that a secret that moved here is not accepted here any more, and returns what became of it.
    ///
    /// Only for requests from an authenticated channel; see [`SiteChannel`](crate::SiteChannel).
    pub fn burn_moved(&self, question: &BurnMoved, unix: Duration) -> Acknowledgement {
        let BurnMoved { handle, departure: Departure { to, moves: count } } = question;
        // First: the secret may be arriving.
        let mut moves = self.moves();
        let mut burn = TakeSecret::new(*handle, TakePurpose::Burn, Some(unix));
        burn.incarnation = Some(to.incarnation());
        let acknowledgement = match self.vault.take(&burn) {
            Reply::Now(taken) => Acknowledgement::of(&taken),
            Reply::Later => Acknowledgement::Unknown,
        };
        // An earlier life that sent nothing away ended with it; another one can't be known.
        if acknowledgement != Acknowledgement::Unknown || *to != self.life {
            return acknowledgement;
        }
        // Unless it has left again to come back, by the move that the question is about.
        let departure = moves.departures.get(handle, seconds(unix));
        if let Some(departure) = departure.filter(|it| it.moves > *count) {
            return Acknowledgement::Moved(departure);
        }
        let has_come = moves.arrivals.moves(handle) >= *count;
        // Else it is on its way, and comes too late from now on. Twice: the clocks of two sites differ by less than a lifetime.
        let now = seconds(unix);
        let ends_at = now.saturating_add(self.lifetime.saturating_mul(2));
        match !has_come && moves.arrivals.refuse(handle, ends_at, now) {
            true => Acknowledgement::Burned,
            // It came, and is forgotten.
            false => Acknowledgement::Unknown,
        }
    }

    /// Returns what became of a secret of this site, which another asks to burn.
    pub(crate) fn burn_own(&self, question: &TakeSecret) -> Acknowledgement {
        let acknowledgement = match self.vault.take(question) {
            Reply::Now(taken) => Acknowledgement::of(&taken),
            Reply::Later => Acknowledgement::Unknown,
        };
        match question.unix.and_then(|unix| self.departure(&question.handle, unix)) {
            Some(departure) if acknowledgement == Acknowledgement::Unknown => {
                Acknowledgement::Moved(departure)
            }
            _ => acknowledgement,
        }
    }

    fn moves(&self) -> MutexGuard<'_, Moves> {
        self.moves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Future for SecretArrival<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut moves = self.vault.moves();
        if moves.arrivals.moves(&self.handle) > 0 {
            return Poll::Ready(());
        }
        let number = self.number.unwrap_or(moves.next_waiting);
        moves.next_waiting = moves.next_waiting.max(number.saturating_add(1));
        let earlier = moves.waiting.insert((self.handle.0, number), cx.waker().clone());
        drop(moves);
        drop(earlier);
        self.number = Some(number);
        Poll::Pending
    }
}

impl Drop for SecretArrival<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let waker = self.vault.moves().waiting.remove(&(self.handle.0, number));
            drop(waker);
        }
    }
}

impl Vault for MovingVault {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.vault.put(put)
    }

    /// Of a secret that left, nothing is known here: [`departure`](Self::departure) has where it went.
    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
        self.vault.take(question)
    }

    fn burn(&self, handle: &FlightHandle) {
        self.vault.burn(handle);
    }

    fn key_form(&self) -> KeyForm {
        self.vault.key_form()
    }

    fn incarnation(&self) -> Option<Incarnation> {
        Some(self.life.incarnation())
    }

    fn len(&self) -> usize {
        self.vault.len()
    }
}

impl MovingVault {
    /// Takes a secret that moved here, to accept its flight; what its home may know isn't asked.
    pub(crate) fn take_arrived(&self, question: &TakeSecret) -> Option<TakeAnswer> {
        match self.vault.take(question) {
            Reply::Now(taken @ TakeAnswer::Taken(_)) => Some(taken),
            Reply::Now(taken @ TakeAnswer::Absent(Absence::Used | Absence::Burned)) => Some(taken),
            _ => None,
        }
    }
}
