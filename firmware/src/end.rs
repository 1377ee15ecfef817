//! An end of a connection over memory, in the guest that has both.

use tessera::handshake::Handshake;
use tessera::{Connection, Error, Output};

use crate::connection::{Input, Progress, read};
use crate::heap::{self, Side};
use crate::report::Taken;

/// One end, and what it took.
pub struct End<H: Handshake> {
    pub side: Side,
    pub connection: Connection<H>,
    pub input: Input,
    pub output: Output,
    pub progress: Progress,
    pub taken: Taken,
}

impl<H: Handshake> End<H> {
    pub fn new(side: Side, connection: Connection<H>, output: Output, taken: Taken) -> Self {
        Self { side, connection, input: Input::new(), output, progress: Progress::default(), taken }
    }

    /// Moves what the other end sends here; reads it. Returns whether there was anything.
    pub fn take_from<O: Handshake>(&mut self, other: &mut End<O>) -> Result<bool, Error> {
        let had_any = !other.output.is_empty();
        while self.take_part_from(other)? > 0 {}
        Ok(had_any)
    }

    /// The same with as much as there is room for at once. Returns how much it was, in bytes.
    pub fn take_part_from<O: Handshake>(&mut self, other: &mut End<O>) -> Result<usize, Error> {
        if other.output.is_empty() {
            return Ok(0);
        }
        heap::switch_to(other.side);
        let count = self.input.take_from(&mut other.output);
        if !other.progress.is_complete || !self.progress.is_complete {
            other.taken.sent += count;
        }
        heap::switch_to(self.side);
        let (connection, input, output, progress) =
            (&mut self.connection, &mut self.input, &mut self.output, &mut self.progress);
        self.taken.cost.add(|| read(connection, input, output, progress))?;
        Ok(count)
    }

    pub fn write(&mut self, data: &[u8]) -> Result<(), Error> {
        heap::switch_to(self.side);
        self.connection.write(data, &mut self.output)?;
        Ok(())
    }

    pub fn close(&mut self) {
        heap::switch_to(self.side);
        self.connection.close(&mut self.output);
    }
}
