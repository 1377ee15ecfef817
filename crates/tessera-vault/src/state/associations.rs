//! The file in which associations survive a clean restart, between one life and the next.

use std::fs::File;
use std::io::{self, Read};

use zeroize::Zeroizing;

use super::error::{ASSOCIATIONS as NAME, StateError, StateProblem};
use super::sealed_file::check_version;
use crate::directory::OwnedDirectory;
use crate::memory::chunks::{ChunkWriter, ChunkedFile, Handover, MAX_RECORD, read_chunks};

/// Associations, as bytes.
pub(super) type Associations = Vec<Zeroizing<Vec<u8>>>;

const FILE: ChunkedFile = ChunkedFile { magic: b"tsrassc\x01", context: b"associations" };

/// Writes the file. It is valid once the vault's state names its snapshot.
pub(super) fn write(
    associations: Associations,
    directory: &OwnedDirectory,
    handover: Handover<'_>,
) -> io::Result<()> {
    if associations.is_empty() {
        return Ok(());
    }
    let mut out = io::BufWriter::new(directory.create("associations.new")?);
    let mut writer = ChunkWriter::new(&FILE, &mut out, handover)?;
    let mut left = MOST;
    for association in associations {
        let room = association.len() + LEN;
        left = left.checked_sub(room).ok_or(io::ErrorKind::FileTooLarge)?;
        if room > MAX_RECORD {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        writer.record(|chunk| {
            chunk.extend_from_slice(&(association.len() as u32).to_be_bytes());
            chunk.extend_from_slice(&association);
        })?;
    }
    writer.finish()?;
    out.into_inner()?.sync_all()?;
    directory.rename("associations.new", NAME)
}

/// Reads the file, if there is one.
pub(super) fn read(
    directory: &OwnedDirectory,
    handover: Handover<'_>,
) -> Result<Associations, StateError> {
    let failed = |error| StateError::io(directory.path(), NAME, error);
    let Some(file) = directory.open(NAME).map_err(failed)? else { return Ok(Vec::new()) };
    let read = read_file(file, handover).map_err(failed)?;
    read.map_err(|problem| StateError::new(directory.path(), NAME, problem))
}

fn read_file(file: File, handover: Handover<'_>) -> io::Result<Result<Associations, StateProblem>> {
    if file.metadata()?.len() > 2 * MOST as u64 {
        return Ok(Err(StateProblem::Damaged));
    }
    let mut file = io::BufReader::new(file);
    let mut magic = [0; 8];
    if file.read_exact(&mut magic).is_err() {
        return Ok(Err(StateProblem::Damaged));
    }
    if let Err(problem) = check_version(&magic, FILE.magic) {
        return Ok(Err(problem));
    }
    let mut associations = Vec::new();
    let read = read_chunks(&FILE, &mut file, handover, |mut chunk| {
        while !chunk.is_empty() {
            let (len, rest) = chunk.split_first_chunk::<LEN>()?;
            let (association, rest) =
                rest.split_at_checked(u32::from_be_bytes(*len).try_into().ok()?)?;
            associations.push(Zeroizing::new(association.to_vec()));
            chunk = rest;
        }
        Some(())
    });
    Ok(read.map(|()| associations).ok_or(StateProblem::Damaged))
}

/// The length of a length.
const LEN: usize = 4;

/// The most bytes of associations: half a million.
const MOST: usize = 256 * 1024 * 1024;
