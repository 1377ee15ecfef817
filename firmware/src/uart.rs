//! The UART as a transport.

use core::convert::Infallible;

use embedded_io::{ErrorType, Read, Write};

use crate::board;

/// The board's UART, which waits for ever.
pub struct Uart;

impl ErrorType for Uart {
    type Error = Infallible;
}

impl Read for Uart {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        if let Some(byte) = buffer.first_mut() {
            *byte = board::receive();
        }
        Ok(buffer.len().min(1))
    }
}

impl Write for Uart {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        board::send(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}
