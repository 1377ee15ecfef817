//! The file that carries a vault's content from one process to the next: sealed chunks of records.
//!
//! Each chunk is bound to the vault, its incarnation, the snapshot's name, its own place, and whether it is
//! the last. A snapshot is loaded as a whole or not at all.

use std::io::{self, Read, Write};
use std::time::Duration;

use tessera::resume::{FlightHandle, Incarnation};
use zeroize::Zeroizing;

use crate::keys::OVERHEAD;
use crate::keys::WrappingKeys;
use crate::memory::home::SnapshotName;
use crate::memory::store::{EncodedSecret, Fate, Record};

pub(crate) const MAGIC: &[u8; 8] = b"tsrvlt\x00\x01";

/// Record types. Older snapshots have no secrets with an owner.
mod kind {
    pub(super) const SECRET: u8 = 0;
    pub(super) const USED: u8 = 1;
    pub(super) const BURNED: u8 = 2;
    pub(super) const SECRET_WITH_OWNER: u8 = 3;
}

/// A chunk is written when it has this many bytes.
const CHUNK: usize = 64 * 1024;

/// Maximum length of one record, in bytes.
const MAX_RECORD: usize = 64 * 1024;

/// The place that a chunk is bound to.
struct Place<'a> {
    incarnation: &'a Incarnation,
    name: &'a SnapshotName,
    number: u32,
}

impl Place<'_> {
    fn context(&self, last: bool) -> Vec<u8> {
        let Incarnation { vault, number } = self.incarnation;
        let chunk = self.number.to_be_bytes();
        [vault, &number.to_be_bytes()[..], self.name, &chunk, &[u8::from(last)]].concat()
    }
}

/// Writes records into a snapshot.
pub(crate) struct SnapshotWriter<'a> {
    out: &'a mut dyn Write,
    keys: &'a WrappingKeys,
    unix: Duration,
    place: Place<'a>,
    chunk: Zeroizing<Vec<u8>>,
}

impl<'a> SnapshotWriter<'a> {
    pub(crate) fn new(
        out: &'a mut dyn Write,
        keys: &'a WrappingKeys,
        unix: Duration,
        incarnation: &'a Incarnation,
        name: &'a SnapshotName,
    ) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        // Never grows: a reallocation would leave secrets behind.
        let chunk = Zeroizing::new(Vec::with_capacity(CHUNK + MAX_RECORD));
        Ok(Self { out, keys, unix, place: Place { incarnation, name, number: 0 }, chunk })
    }

    pub(crate) fn write(&mut self, handle: &FlightHandle, record: &Record) -> io::Result<()> {
        self.chunk.extend_from_slice(&handle.0);
        match record {
            Record::Live { stored, expires_at, owner } => {
                let len = u16::try_from(stored.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
                if usize::from(len) > MAX_RECORD - 64 {
                    return Err(io::ErrorKind::InvalidInput.into());
                }
                match owner {
                    None => self.chunk.push(kind::SECRET),
                    Some(owner) => {
                        self.chunk.push(kind::SECRET_WITH_OWNER);
                        self.chunk.extend_from_slice(&owner.to_be_bytes());
                    }
                }
                self.chunk.extend_from_slice(&expires_at.to_be_bytes());
                self.chunk.extend_from_slice(&len.to_be_bytes());
                self.chunk.extend_from_slice(stored);
            }
            Record::Gone(fate) => self.chunk.push(match fate {
                Fate::Used => kind::USED,
                _ => kind::BURNED,
            }),
        }
        if self.chunk.len() >= CHUNK { self.seal(false) } else { Ok(()) }
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.seal(true)
    }

    fn seal(&mut self, last: bool) -> io::Result<()> {
        let sealed = self.keys.wrap(&self.place.context(last), &self.chunk, self.unix);
        let sealed = sealed.ok_or_else(|| io::Error::other("no key wraps the snapshot"))?;
        self.out.write_all(&[u8::from(last)])?;
        self.out.write_all(&(sealed.len() as u32).to_be_bytes())?;
        self.out.write_all(&sealed)?;
        self.chunk.clear();
        self.place.number += 1;
        Ok(())
    }
}

/// Reads a whole snapshot; `None` if it is not the last one written, or damaged.
pub(crate) fn read_snapshot(
    file: &mut dyn Read,
    keys: &WrappingKeys,
    unix: Duration,
    incarnation: &Incarnation,
    name: &SnapshotName,
) -> Option<Vec<(FlightHandle, Record)>> {
    let mut file = io::BufReader::new(file);
    let mut magic = [0; MAGIC.len()];
    file.read_exact(&mut magic).ok().filter(|()| magic == *MAGIC)?;
    let mut place = Place { incarnation, name, number: 0 };
    let mut records = Vec::new();
    loop {
        let mut header = [0; 5];
        file.read_exact(&mut header).ok()?;
        let [last, len @ ..] = header;
        let len = u32::from_be_bytes(len) as usize;
        if len > CHUNK + MAX_RECORD + OVERHEAD {
            return None;
        }
        let mut sealed = vec![0; len];
        file.read_exact(&mut sealed).ok()?;
        let chunk = keys.unwrap(&place.context(last == 1), &sealed, unix)?;
        read_records(&chunk, &mut records)?;
        if last == 1 {
            return Some(records);
        }
        place.number = place.number.checked_add(1)?;
    }
}

fn read_records(mut chunk: &[u8], records: &mut Vec<(FlightHandle, Record)>) -> Option<()> {
    while !chunk.is_empty() {
        let (handle, rest) = chunk.split_first_chunk()?;
        let (kind, rest) = rest.split_first()?;
        let (record, rest) = match *kind {
            kind @ (kind::SECRET | kind::SECRET_WITH_OWNER) => {
                let (owner, rest) = match kind {
                    kind::SECRET => (None, rest),
                    _ => rest
                        .split_first_chunk()
                        .map(|(it, rest)| (Some(u32::from_be_bytes(*it)), rest))?,
                };
                let (expires_at, rest) = rest.split_first_chunk()?;
                let (len, rest) = rest.split_first_chunk()?;
                let (stored, rest) = rest.split_at_checked(u16::from_be_bytes(*len).into())?;
                let expires_at = u32::from_be_bytes(*expires_at);
                let stored = EncodedSecret::from(stored);
                (Record::Live { stored, expires_at, owner }, rest)
            }
            kind::USED => (Record::Gone(Fate::Used), rest),
            kind::BURNED => (Record::Gone(Fate::Burned), rest),
            _ => return None,
        };
        records.push((FlightHandle(*handle), record));
        chunk = rest;
    }
    Some(())
}
