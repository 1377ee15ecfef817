//! Files that carry content from one life of a vault to the next: sealed chunks of records.
//!
//! Each chunk is bound to the kind of file, the vault, its incarnation, the snapshot's name, its own place, and whether it
//! is the last.

use std::io::{self, Read, Write};
use std::time::Duration;

use tessera::resume::Incarnation;
use zeroize::Zeroizing;

use crate::keys::OVERHEAD;
use crate::keys::WrappingKeys;
use crate::memory::home::SnapshotName;

/// A kind of file.
pub(crate) struct ChunkedFile {
    /// Its first bytes; the last is the version.
    pub(crate) magic: &'static [u8; 8],
    /// Other kinds of file have another.
    pub(crate) context: &'static [u8],
}

/// The life between whose end and the next one's beginning the file exists.
#[derive(Clone, Copy)]
pub(crate) struct Handover<'a> {
    pub(crate) keys: &'a WrappingKeys,
    pub(crate) unix: Duration,
    pub(crate) incarnation: &'a Incarnation,
    pub(crate) name: &'a SnapshotName,
}

impl Handover<'_> {
    fn context(&self, file: &ChunkedFile, chunk: u32, last: bool) -> Vec<u8> {
        let Incarnation { vault, number } = self.incarnation;
        let (number, chunk) = (number.to_be_bytes(), chunk.to_be_bytes());
        [file.context, vault, &number, self.name, &chunk, &[u8::from(last)]].concat()
    }
}

/// Writes records.
pub(crate) struct ChunkWriter<'a> {
    file: &'a ChunkedFile,
    out: &'a mut dyn Write,
    handover: Handover<'a>,
    number: u32,
    chunk: Zeroizing<Vec<u8>>,
}

impl<'a> ChunkWriter<'a> {
    pub(crate) fn new(
        file: &'a ChunkedFile,
        out: &'a mut dyn Write,
        handover: Handover<'a>,
    ) -> io::Result<Self> {
        out.write_all(file.magic)?;
        // Never grows: a reallocation would leave secrets behind.
        let chunk = Zeroizing::new(Vec::with_capacity(CHUNK + MAX_RECORD));
        Ok(Self { file, out, handover, number: 0, chunk })
    }

    /// Writes a record of at most [`MAX_RECORD`] bytes.
    pub(crate) fn record(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        write(&mut self.chunk);
        if self.chunk.len() >= CHUNK { self.seal(false) } else { Ok(()) }
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.seal(true)
    }

    fn seal(&mut self, last: bool) -> io::Result<()> {
        let Handover { keys, unix, .. } = self.handover;
        let context = self.handover.context(self.file, self.number, last);
        let sealed = keys.wrap(&context, &self.chunk, unix);
        let sealed = sealed.ok_or_else(|| io::Error::other("no key wraps the snapshot"))?;
        self.out.write_all(&[u8::from(last)])?;
        self.out.write_all(&(sealed.len() as u32).to_be_bytes())?;
        self.out.write_all(&sealed)?;
        self.chunk.clear();
        self.number += 1;
        Ok(())
    }
}

/// Passes the records of each chunk to `each`, after the first bytes of the file were read; `None` if the file is not the
/// last one written, or damaged.
pub(crate) fn read_chunks(
    file: &ChunkedFile,
    from: &mut dyn Read,
    handover: Handover<'_>,
    mut each: impl FnMut(&[u8]) -> Option<()>,
) -> Option<()> {
    let mut number = 0_u32;
    loop {
        let mut header = [0; 5];
        from.read_exact(&mut header).ok()?;
        let [last, len @ ..] = header;
        let len = u32::from_be_bytes(len) as usize;
        if len > CHUNK + MAX_RECORD + OVERHEAD {
            return None;
        }
        let mut sealed = vec![0; len];
        from.read_exact(&mut sealed).ok()?;
        let context = handover.context(file, number, last == 1);
        each(&handover.keys.unwrap(&context, &sealed, handover.unix)?)?;
        if last == 1 {
            return Some(());
        }
        number = number.checked_add(1)?;
    }
}

/// A chunk is written when it has this many bytes.
const CHUNK: usize = 64 * 1024;

/// Maximum length of one record, in bytes.
pub(crate) const MAX_RECORD: usize = 64 * 1024;
