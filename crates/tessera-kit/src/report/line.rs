//! Writes lines to a file that may be full.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;

/// Writes whole lines. After a partial line, the next one starts on a new line.
pub(super) struct LineWriter<W> {
    to: W,
    /// The file ends in a partial line.
    torn: bool,
}

impl<W: Write> LineWriter<W> {
    pub(super) fn new(to: W) -> Self {
        Self { to, torn: false }
    }

    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.torn {
            self.to.write_all(b"\n")?;
            self.torn = false;
        }
        let mut rest = line;
        while !rest.is_empty() {
            match self.to.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    rest = rest.get(count..).unwrap_or_default();
                    self.torn = !rest.is_empty();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                Err(error) => return Err(error),
            }
        }
        self.to.flush()
    }
}

/// Opens standard output without the library's buffer: what could not be written is not written later.
pub(super) fn standard_output() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with limited space.
    struct Disk {
        bytes: Vec<u8>,
        room: usize,
    }

    impl Write for Disk {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            let count = data.len().min(self.room);
            if count == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            self.bytes.extend_from_slice(&data[..count]);
            self.room -= count;
            Ok(count)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_that_was_written_in_part_spoils_no_other() {
        let mut writer = LineWriter::new(Disk { bytes: Vec::new(), room: 9 });
        writer.write(b"first\n").unwrap();
        for _ in 0..2 {
            assert_eq!(writer.write(b"second\n").unwrap_err().kind(), ErrorKind::StorageFull);
        }
        writer.to.room = 20;
        writer.write(b"third\n").unwrap();
        assert_eq!(writer.to.bytes, b"first\nsec\nthird\n");
    }
}
