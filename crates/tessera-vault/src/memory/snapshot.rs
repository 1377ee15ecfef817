//! The file that carries a vault's content from one process to the next. It is loaded as a whole or not at all.

use std::io::{self, Read, Write};

use tessera::resume::FlightHandle;

use crate::memory::chunks::{ChunkWriter, ChunkedFile, Handover, MAX_RECORD, read_chunks};
use crate::memory::store::{EncodedSecret, Fate, Record};

pub(crate) const MAGIC: &[u8; 8] = b"tsrvlt\x00\x01";

/// Record types. Older snapshots have no secrets with an owner.
mod kind {
    pub(super) const SECRET: u8 = 0;
    pub(super) const USED: u8 = 1;
    pub(super) const BURNED: u8 = 2;
    pub(super) const SECRET_WITH_OWNER: u8 = 3;
}

const FILE: ChunkedFile = ChunkedFile { magic: MAGIC, context: b"" };

/// Writes records into a snapshot.
pub(crate) struct SnapshotWriter<'a>(ChunkWriter<'a>);

impl<'a> SnapshotWriter<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, handover: Handover<'a>) -> io::Result<Self> {
        ChunkWriter::new(&FILE, out, handover).map(Self)
    }

    pub(crate) fn write(&mut self, handle: &FlightHandle, record: &Record) -> io::Result<()> {
        if let Record::Live { stored, .. } = record
            && stored.len() > MAX_RECORD - 64
        {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.0.record(|chunk| write_record(handle, record, chunk))
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        self.0.finish()
    }
}

fn write_record(handle: &FlightHandle, record: &Record, chunk: &mut Vec<u8>) {
    chunk.extend_from_slice(&handle.0);
    match record {
        Record::Live { stored, expires_at, owner } => {
            match owner {
                None => chunk.push(kind::SECRET),
                Some(owner) => {
                    chunk.push(kind::SECRET_WITH_OWNER);
                    chunk.extend_from_slice(&owner.to_be_bytes());
                }
            }
            chunk.extend_from_slice(&expires_at.to_be_bytes());
            // Checked.
            chunk.extend_from_slice(&(stored.len() as u16).to_be_bytes());
            chunk.extend_from_slice(stored);
        }
        Record::Gone(fate) => chunk.push(match fate {
            Fate::Used => kind::USED,
            _ => kind::BURNED,
        }),
    }
}

/// Reads a whole snapshot; `None` if it is not the last one written, or damaged.
pub(crate) fn read_snapshot(
    file: &mut dyn Read,
    handover: Handover<'_>,
) -> Option<Vec<(FlightHandle, Record)>> {
    let mut file = io::BufReader::new(file);
    let mut magic = [0; MAGIC.len()];
    file.read_exact(&mut magic).ok().filter(|()| magic == *MAGIC)?;
    let mut records = Vec::new();
    read_chunks(&FILE, &mut file, handover, |chunk| read_records(chunk, &mut records))?;
    Some(records)
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
