//! Sessions in flash.

mod entry;
mod waitless;

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use embedded_storage::nor_flash::NorFlash;
use sequential_storage::Error;
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::map::{MapConfig, MapStorage, SerializationError};
use spin::Mutex;
use tessera::resume::{ClientSession, SessionClock, SessionImportError, SessionStore};
use zeroize::Zeroize;

use entry::{Contents, Entry, Slot};
use waitless::{Waitless, finish};

/// A bounded number of sessions in flash, over [`NorFlash`]. Each is taken out, durably, before it is returned.
///
/// It is a log over the whole range, which erases one sector at a time, the one written longest ago: all sectors wear alike.
/// Each session that is kept or taken is one write. If power is lost at any write or erase, the next start finds the state
/// before or after it, so no session is returned twice. No word is written twice, as flash with error correction requires.
///
/// Sessions of all servers share the room; a new one takes the place of the oldest. A session in flash is a secret, and
/// not erased when it is taken, but when the log comes round: an attacker who reads the flash and has recorded connections
/// can do what [`FileSessionStore`](https://docs.rs/tessera-tokio) lists for files. Where that counts, encrypt the flash.
///
/// What is no log of sessions, or one that is damaged or has longer sessions than the buffer, is erased when the next
/// session is kept or taken. Damage may bring a session back that was taken.
///
/// Without a date, a session that is taken before the next start has its age; one of an earlier start has lost it
/// ([`SessionClock::Lost`]).
///
/// Methods block while the flash works: an erase takes tens of milliseconds. A call that another one interrupts finds no
/// session, and keeps none.
///
/// ```
/// use embedded_storage::nor_flash::NorFlash;
/// use tessera_embedded::{SessionStorage, StorageError};
///
/// /// In the last two sectors, of 4 KiB, of a flash of 2 MiB: five sessions of up to 600 bytes.
/// fn sessions<F: NorFlash + Send>(flash: F) -> Result<SessionStorage<F, [u8; 600]>, StorageError> {
///     SessionStorage::new(flash, 0x1f_e000..0x20_0000, 5, [0; 600])
/// }
/// ```
pub struct SessionStorage<F: NorFlash, B> {
    inner: Mutex<Inner<F, B>>,
}

type Map<F> = MapStorage<Slot, Waitless<F>, Cache<Uncached, Uncached, Uncached, Slot>>;

struct Inner<F: NorFlash, B> {
    /// The slots of sessions. An empty one is `None`.
    map: Map<F>,
    /// Where one entry is read and written; zeros between calls.
    buffer: B,
    slots: u8,
    /// The numbers and clocks of the sessions that were kept since the start, by slot: the monotonic clock goes on for them.
    kept: Vec<Option<(u32, SessionClock)>>,
}

impl<F: NorFlash, B: AsMut<[u8]>> SessionStorage<F, B> {
    /// Keeps at most this many `sessions` in a range of the flash: addresses in bytes, two sectors or more. What is not a log
    /// of sessions there is overwritten.
    ///
    /// The buffer holds one session with its server's name: 400 bytes and the server's ticket, which has some 200 to 1,500;
    /// with a forward-secret ticket 1.3 KB more. Longer sessions are not kept.
    ///
    /// # Errors
    /// The range or the buffer doesn't fit.
    pub fn new(
        flash: F,
        range: Range<u32>,
        sessions: u8,
        mut buffer: B,
    ) -> Result<Self, StorageError> {
        if range.is_empty() || range.end as usize > flash.capacity() {
            return Err(StorageError::Range);
        }
        let config = MapConfig::try_new(range.clone()).map_err(|_| StorageError::Range)?;
        let map = MapStorage::new(Waitless(flash), config, Cache::new_uncached());
        let fit = fitting::<F>(&range, buffer.as_mut().len());
        if usize::from(sessions) > fit {
            return Err(StorageError::TooManySessions { fit });
        }
        let kept = vec![None; sessions.into()];
        Ok(Self { inner: Mutex::new(Inner { map, buffer, slots: sessions, kept }) })
    }

    /// Returns the flash.
    pub fn into_inner(self) -> F {
        self.inner.into_inner().map.destroy().0.0
    }
}

/// Returns how many sessions fit a range, each as long as the buffer: one sector is always free, one entry more than there
/// are sessions may be live, and none crosses the end of a sector.
fn fitting<F: NorFlash>(range: &Range<u32>, longest: usize) -> usize {
    let word = word::<F>();
    let sectors = range.len() / F::ERASE_SIZE;
    let entry = (longest - longest % word) + Map::<F>::item_overhead_size() as usize;
    let in_sector = F::ERASE_SIZE.saturating_sub(2 * word) / entry;
    ((sectors - 1) * in_sector).saturating_sub(1)
}

impl<F: NorFlash, B: AsMut<[u8]>> Inner<F, B> {
    /// Passes the entry of a slot, if it has one.
    fn look<R>(&mut self, slot: u8, look: impl FnOnce(&Entry<'_>) -> R) -> Option<R> {
        self.fetch(slot, |entry| entry.map(look)).ok().flatten()
    }

    /// Passes what a slot holds, unless it can't be read.
    fn fetch<R>(
        &mut self,
        slot: u8,
        look: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<R, Failure> {
        let buffer = words::<F>(self.buffer.as_mut());
        let found = match finish(self.map.fetch_item::<Contents<'_>>(buffer, &Slot(slot))) {
            Some(Ok(contents)) => Ok(look(contents.and_then(|it| it.0).as_ref())),
            Some(Err(error)) => Err(error.into()),
            None => Err(Failure::Flash),
        };
        self.buffer.as_mut().zeroize();
        found
    }

    /// Replaces the entry of a slot; returns whether that is durable.
    fn store(&mut self, slot: u8, contents: &Contents<'_>) -> bool {
        match self.store_once(slot, contents) {
            // Damaged, or no log of sessions with this buffer.
            Err(Failure::Contents) => {
                self.erase().is_ok() && self.store_once(slot, contents).is_ok()
            }
            stored => stored.is_ok(),
        }
    }

    /// The same, of a log without damage. What was written is read again: a flash that is protected ignores writes, and a word
    /// that wasn't erased doesn't hold what is written there.
    fn store_once(&mut self, slot: u8, contents: &Contents<'_>) -> Result<(), Failure> {
        let buffer = words::<F>(self.buffer.as_mut());
        let stored = finish(self.map.store_item(buffer, &Slot(slot), contents));
        self.buffer.as_mut().zeroize();
        stored.ok_or(Failure::Flash)?.map_err(Failure::from)?;
        let sequence = contents.0.as_ref().map(|entry| entry.sequence);
        match self.fetch(slot, |found| found.map(|entry| entry.sequence) == sequence)? {
            true => Ok(()),
            false => Err(Failure::Contents),
        }
    }

    /// Erases everything, the oldest sector first: if power is lost meanwhile, no session is left whose removal isn't.
    fn erase(&mut self) -> Result<(), F::Error> {
        let range = self.map.flash_range();
        let flash = &mut self.map.flash().0;
        let (sector, last) = (F::ERASE_SIZE as u32, (F::ERASE_SIZE - F::READ_SIZE) as u32);
        let mut word = [0; 32];
        let word = &mut word[..F::READ_SIZE];
        // A sector is marked at its beginning when the log reaches it, and at its end when the log leaves it.
        let mut newest = range.start;
        for begin in range.clone().step_by(F::ERASE_SIZE) {
            flash.read(begin, word)?;
            let is_begun = word.first() != Some(&0xff);
            flash.read(begin + last, word)?;
            if is_begun && word.first() == Some(&0xff) {
                newest = begin;
            }
        }
        let sectors = range.clone().step_by(F::ERASE_SIZE);
        let (before, after) = (sectors.clone(), sectors);
        for begin in after.filter(|it| *it > newest).chain(before.filter(|it| *it <= newest)) {
            flash.erase(begin, begin + sector)?;
        }
        Ok(())
    }

    fn put(&mut self, server_name: &str, session: &ClientSession) {
        // The slot of the oldest, where an empty one is older than all; and the newest's number.
        let (mut oldest, mut last) = (None, 0);
        for slot in 0..self.slots {
            let sequence = self.look(slot, |entry| entry.sequence);
            if oldest.is_none_or(|(least, _)| sequence < least) {
                oldest = Some((sequence, slot));
            }
            last = last.max(sequence.unwrap_or_default());
        }
        let Some((_, slot)) = oldest else { return };
        let bytes = session.export();
        let sequence = last.saturating_add(1);
        let entry = Entry { sequence, server_name, session: &bytes };
        if self.store(slot, &Contents(Some(entry))) {
            self.kept[usize::from(slot)] = Some((sequence, session.clock));
        }
    }

    /// Reads the session of a slot, if it has one.
    fn session(&mut self, slot: u8) -> Option<Result<ClientSession, SessionImportError>> {
        let read = |entry: &Entry<'_>| (entry.sequence, ClientSession::import(entry.session));
        let (sequence, read) = self.look(slot, read)?;
        let clock =
            self.kept[usize::from(slot)].filter(|kept| kept.0 == sequence).map(|kept| kept.1);
        Some(read.map(|session| match (session.clock, clock) {
            (SessionClock::Lost, Some(clock)) => ClientSession { clock, ..session },
            _ => session,
        }))
    }

    fn pop(&mut self, server_name: &str) -> Option<ClientSession> {
        loop {
            let mut newest = None;
            for slot in 0..self.slots {
                let order =
                    self.look(slot, |it| (it.server_name == server_name).then_some(it.sequence));
                newest = newest.max(order.flatten().map(|sequence| (sequence, slot)));
            }
            let (_, slot) = newest?;
            let session = self.session(slot);
            // Before it is sent. Otherwise power may be lost, and it would be here again.
            if !self.store(slot, &Contents(None)) {
                return None;
            }
            if let Some(Ok(session)) = session {
                return Some(session);
            }
        }
    }

    fn retain(&mut self, keep: &dyn Fn(&ClientSession) -> bool) {
        for slot in 0..self.slots {
            let session = self.session(slot);
            let is_kept = session.is_none_or(|it| it.is_ok_and(|session| keep(&session)));
            if !is_kept && !self.store(slot, &Contents(None)) {
                return;
            }
        }
    }
}

impl<F: NorFlash + Send, B: AsMut<[u8]> + Send> SessionStore for SessionStorage<F, B> {
    fn put(&self, server_name: &str, session: ClientSession) {
        if let Some(mut inner) = self.inner.try_lock() {
            inner.put(server_name, &session);
        }
    }

    fn pop(&self, server_name: &str) -> Option<ClientSession> {
        self.inner.try_lock()?.pop(server_name)
    }

    fn retain(&self, keep: &dyn Fn(&ClientSession) -> bool) {
        if let Some(mut inner) = self.inner.try_lock() {
            inner.retain(keep);
        }
    }
}

/// Returns the whole words of a buffer: what is longer would be written, and never read.
fn words<F: NorFlash>(buffer: &mut [u8]) -> &mut [u8] {
    let rest = buffer.len() % word::<F>();
    let len = buffer.len() - rest;
    &mut buffer[..len]
}

/// The length of a word, in bytes.
fn word<F: NorFlash>() -> usize {
    F::WRITE_SIZE.max(F::READ_SIZE).max(1)
}

/// Why an entry wasn't read or written.
enum Failure {
    /// The flash failed.
    Flash,
    /// The entry doesn't fit.
    Entry,
    /// What is in the flash is no log, or can't be read with this buffer.
    Contents,
}

impl<E> From<Error<E>> for Failure {
    fn from(error: Error<E>) -> Self {
        match error {
            Error::Storage { .. } => Self::Flash,
            Error::SerializationError(
                SerializationError::BufferTooSmall | SerializationError::InvalidData,
            )
            | Error::ItemTooBig => Self::Entry,
            _ => Self::Contents,
        }
    }
}

/// A [`SessionStorage`] can't be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StorageError {
    /// The range must lie in the flash, begin and end with a sector, and have two of them or more; words have at most 32
    /// bytes.
    Range,
    /// So many sessions, each as long as the buffer, don't fit the range.
    TooManySessions {
        /// How many would.
        fit: usize,
    },
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range => f.write_str(
                "the range must be two or more whole sectors of the flash, whose words have at most 32 bytes",
            ),
            Self::TooManySessions { fit } => write!(
                f,
                "the range has room for {fit} sessions as long as the buffer: keep fewer, or take more sectors"
            ),
        }
    }
}

impl core::error::Error for StorageError {}
