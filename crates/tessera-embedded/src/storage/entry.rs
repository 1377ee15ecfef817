//! A session in its slot.

use sequential_storage::map::{Key, SerializationError, Value};

/// The number of a slot: the first byte of an item, which counts as part of the value when it is read. sequential-storage
/// 8.0.2 takes the key's length from that of an item without a check, and so panics at an item without contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot(pub(super) u8);

impl Key for Slot {
    fn serialize_into(&self, buffer: &mut [u8]) -> Result<usize, SerializationError> {
        *buffer.first_mut().ok_or(SerializationError::BufferTooSmall)? = self.0;
        Ok(1)
    }

    fn deserialize_from(buffer: &[u8]) -> Result<(Self, usize), SerializationError> {
        let number = buffer.first().ok_or(SerializationError::BufferTooSmall)?;
        Ok((Self(*number), 0))
    }
}

/// What a slot holds: nothing, or a session.
pub(super) struct Contents<'e>(pub(super) Option<Entry<'e>>);

/// A session.
pub(super) struct Entry<'e> {
    /// Counts the sessions that were kept: the newest has the highest.
    pub(super) sequence: u32,
    pub(super) server_name: &'e str,
    /// Exported.
    pub(super) session: &'e [u8],
}

/// Whether there is a session; the length of the name, the sequence number, the name, the session.
impl<'e> Value<'e> for Contents<'e> {
    fn serialize_into(&self, buffer: &mut [u8]) -> Result<usize, SerializationError> {
        let Some(entry) = &self.0 else { return write(buffer, &[&[0]]) };
        let Ok(name_len) = u8::try_from(entry.server_name.len()) else {
            return Err(SerializationError::InvalidData);
        };
        let Entry { sequence, server_name, session } = entry;
        write(buffer, &[&[1, name_len], &sequence.to_be_bytes(), server_name.as_bytes(), session])
    }

    fn deserialize_from(buffer: &'e [u8]) -> Result<(Self, usize), SerializationError> {
        let contents = match buffer {
            [_slot, 0] => Self(None),
            [_slot, 1, entry @ ..] => {
                Self(Some(split(entry).ok_or(SerializationError::InvalidFormat)?))
            }
            _ => return Err(SerializationError::InvalidFormat),
        };
        Ok((contents, buffer.len()))
    }
}

fn write(buffer: &mut [u8], parts: &[&[u8]]) -> Result<usize, SerializationError> {
    let mut len = 0;
    for part in parts {
        let room = buffer.get_mut(len..len + part.len());
        room.ok_or(SerializationError::BufferTooSmall)?.copy_from_slice(part);
        len += part.len();
    }
    Ok(len)
}

fn split(buffer: &[u8]) -> Option<Entry<'_>> {
    let (name_len, rest) = buffer.split_first()?;
    let (sequence, rest) = rest.split_first_chunk()?;
    let (server_name, session) = rest.split_at_checked(usize::from(*name_len))?;
    let server_name = core::str::from_utf8(server_name).ok()?;
    Some(Entry { sequence: u32::from_be_bytes(*sequence), server_name, session })
}
