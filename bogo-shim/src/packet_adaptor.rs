//! The runner's packet adaptor: datagrams in a stream, and a clock that only the runner moves.

use std::io::{self, BufRead, Read, Write};
use std::time::Duration;

/// What the runner sends.
pub enum Command {
    /// These bytes arrive: a datagram, or the next part of a stream.
    Receive(Vec<u8>),
    /// This time passes.
    Pass(Duration),
    /// Datagrams may have at most this many bytes from now on.
    LimitDatagrams(usize),
    /// Answers have this time at first from now on.
    SetFirstTimeout(Duration),
    /// The next timeout is after this time; `None`: there is none.
    ExpectTimeout(Option<Duration>),
}

impl Command {
    /// Reads the next command; `None` at the end of the stream.
    pub fn read(socket: &mut impl BufRead) -> io::Result<Option<Self>> {
        let Some(opcode) = socket.fill_buf().ok().and_then(|read| read.first().copied()) else {
            return Ok(None);
        };
        socket.consume(1);
        Ok(Some(match opcode {
            PACKET => {
                let mut datagram = vec![0; u32::from_be_bytes(array(socket)?) as usize];
                socket.read_exact(&mut datagram)?;
                Self::Receive(datagram)
            }
            TIMEOUT => Self::Pass(Duration::from_nanos(u64::from_be_bytes(array(socket)?))),
            MTU => Self::LimitDatagrams(u32::from_be_bytes(array(socket)?) as usize),
            UPDATE_TIMEOUT => {
                let milliseconds = u32::from_be_bytes(array(socket)?);
                Self::SetFirstTimeout(Duration::from_millis(milliseconds.into()))
            }
            EXPECT_NEXT_TIMEOUT => Self::ExpectTimeout(match u64::from_be_bytes(array(socket)?) {
                u64::MAX => None,
                nanoseconds => Some(Duration::from_nanos(nanoseconds)),
            }),
            other => return Err(io::Error::other(format!("unknown opcode {other}"))),
        }))
    }
}

/// Sends a datagram.
pub fn send(datagram: &[u8], socket: &mut impl Write) -> io::Result<()> {
    let len = (datagram.len() as u32).to_be_bytes();
    socket.write_all(&[&[PACKET][..], &len, datagram].concat())
}

/// Acknowledges [`Command::Pass`]: what was sent before belongs to the time before it.
pub fn acknowledge_pass(socket: &mut impl Write) -> io::Result<()> {
    socket.write_all(&[TIMEOUT_ACK])
}

fn array<const N: usize>(socket: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    socket.read_exact(&mut bytes)?;
    Ok(bytes)
}

const PACKET: u8 = b'P';
const TIMEOUT: u8 = b'T';
const TIMEOUT_ACK: u8 = b't';
const MTU: u8 = b'M';
const EXPECT_NEXT_TIMEOUT: u8 = b'E';
const UPDATE_TIMEOUT: u8 = b'U';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_in_order_up_to_the_end() {
        let mut stream = Vec::new();
        send(b"one", &mut stream).expect("a Vec takes everything");
        stream.extend([TIMEOUT, 0, 0, 0, 0, 0, 0, 0, 7, MTU, 0, 0, 1, 44]);
        stream.extend([UPDATE_TIMEOUT, 0, 0, 0, 250]);
        stream.push(EXPECT_NEXT_TIMEOUT);
        stream.extend([0xff; 8]);
        let mut stream = stream.as_slice();
        let mut next = || Command::read(&mut stream).expect("whole");
        assert!(matches!(next(), Some(Command::Receive(datagram)) if datagram == b"one"));
        assert!(matches!(next(), Some(Command::Pass(time)) if time == Duration::from_nanos(7)));
        assert!(matches!(next(), Some(Command::LimitDatagrams(300))));
        let quarter = Duration::from_millis(250);
        assert!(matches!(next(), Some(Command::SetFirstTimeout(time)) if time == quarter));
        assert!(matches!(next(), Some(Command::ExpectTimeout(None))));
        assert!(next().is_none());
        assert!(Command::read(&mut &b"?"[..]).is_err() && Command::read(&mut &b"P\0"[..]).is_err());
    }
}
