//! A session in its slot.

use sequential_storage::map::{SerializationError, Value};

/// What a slot holds.
pub(super) struct Entry<'e> {
    /// Counts the sessions that were kept: the newest has the highest.
    pub(super) sequence: u32,
    pub(super) server_name: &'e str,
    /// Exported.
    pub(super) session: &'e [u8],
}

/// The length of the name, the sequence number, the name, the session.
impl<'e> Value<'e> for Entry<'e> {
    fn serialize_into(&self, buffer: &mut [u8]) -> Result<usize, SerializationError> {
        let Ok(name_len) = u8::try_from(self.server_name.len()) else {
            return Err(SerializationError::InvalidData);
        };
        let parts: [&[u8]; 4] =
            [&[name_len], &self.sequence.to_be_bytes(), self.server_name.as_bytes(), self.session];
        let mut len = 0;
        for part in parts {
            let room = buffer.get_mut(len..len + part.len());
            room.ok_or(SerializationError::BufferTooSmall)?.copy_from_slice(part);
            len += part.len();
        }
        Ok(len)
    }

    fn deserialize_from(buffer: &'e [u8]) -> Result<(Self, usize), SerializationError> {
        let entry = split(buffer).ok_or(SerializationError::InvalidFormat)?;
        Ok((entry, buffer.len()))
    }
}

fn split(buffer: &[u8]) -> Option<Entry<'_>> {
    let (name_len, rest) = buffer.split_first()?;
    let (sequence, rest) = rest.split_first_chunk()?;
    let (server_name, session) = rest.split_at_checked(usize::from(*name_len))?;
    let server_name = core::str::from_utf8(server_name).ok()?;
    Some(Entry { sequence: u32::from_be_bytes(*sequence), server_name, session })
}
