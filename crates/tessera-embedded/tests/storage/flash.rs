//! A flash that loses power.

use std::sync::{Arc, Mutex};

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase, check_read, check_write,
};

pub const SECTOR: usize = 2048;
pub const SECTORS: usize = 3;
const WORD: usize = 8;

/// What is in the flash stays when a test drops all that uses it.
#[derive(Clone)]
pub struct Flash(Arc<Mutex<Cells>>);

struct Cells {
    bytes: Vec<u8>,
    /// Which words were written since their sector was erased.
    is_written: Vec<bool>,
    erased: [usize; SECTORS],
    /// How many words may still be written, or erased, before the power is lost.
    fuel: Option<usize>,
    /// What torn words hold then.
    torn: u8,
    /// Writes and erases are ignored.
    is_protected: bool,
    /// Words may be written that are not erased: what they then hold is of no use.
    is_foreign: bool,
}

impl Flash {
    pub fn new() -> Self {
        let bytes = vec![0xff; SECTOR * SECTORS];
        let is_written = vec![false; SECTOR * SECTORS / WORD];
        Self(Arc::new(Mutex::new(Cells {
            bytes,
            is_written,
            erased: [0; SECTORS],
            fuel: None,
            torn: 0,
            is_protected: false,
            is_foreign: false,
        })))
    }

    /// A flash with this in it, which no log of sessions has written.
    pub fn of(bytes: Vec<u8>) -> Self {
        let flash = Self::new();
        flash.damage(|it| it.copy_from_slice(&bytes));
        flash
    }

    /// Changes what is in it.
    pub fn damage(&self, change: impl FnOnce(&mut [u8])) {
        let mut cells = self.0.lock().unwrap();
        change(&mut cells.bytes);
        cells.is_foreign = true;
    }

    /// Ignores writes and erases, or no longer.
    pub fn protect(&self, is_protected: bool) {
        self.0.lock().unwrap().is_protected = is_protected;
    }

    /// A flash with the same in it.
    pub fn copy(&self) -> Self {
        let cells = self.0.lock().unwrap();
        let (bytes, is_written) = (cells.bytes.clone(), cells.is_written.clone());
        let (is_protected, is_foreign) = (cells.is_protected, cells.is_foreign);
        let erased = cells.erased;
        let cells =
            Cells { bytes, is_written, erased, fuel: None, torn: 0, is_protected, is_foreign };
        Self(Arc::new(Mutex::new(cells)))
    }

    /// Loses power after so many words; the one that is being written gets bits of `torn`.
    pub fn lose_power_after(&self, words: usize, torn: u8) {
        let mut cells = self.0.lock().unwrap();
        (cells.fuel, cells.torn) = (Some(words), torn);
    }

    /// Returns whether it was lost, and brings it back.
    pub fn restart(&self) -> bool {
        self.0.lock().unwrap().fuel.take() == Some(0)
    }

    /// How often each sector was erased.
    pub fn erased(&self) -> [usize; SECTORS] {
        self.0.lock().unwrap().erased
    }
}

impl Cells {
    fn has_power(&self) -> Result<(), NorFlashErrorKind> {
        if self.fuel == Some(0) { Err(NorFlashErrorKind::Other) } else { Ok(()) }
    }

    /// Changes a word, whole or in part.
    fn change(&mut self, at: usize, word: [u8; WORD]) -> Result<(), NorFlashErrorKind> {
        self.has_power()?;
        let torn = match &mut self.fuel {
            Some(fuel) => {
                *fuel -= 1;
                if *fuel == 0 { self.torn } else { 0 }
            }
            None => 0,
        };
        for (byte, new) in self.bytes[at..at + WORD].iter_mut().zip(word) {
            // Bits that have not changed yet.
            *byte = (*byte & torn) | (new & !torn);
        }
        self.has_power()
    }
}

impl ErrorType for Flash {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, bytes.len())?;
        let cells = self.0.lock().unwrap();
        cells.has_power()?;
        bytes.copy_from_slice(&cells.bytes[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        SECTOR * SECTORS
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = SECTOR;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to)?;
        let mut cells = self.0.lock().unwrap();
        if cells.is_protected {
            return Ok(());
        }
        for at in (from as usize..to as usize).step_by(WORD) {
            let result = cells.change(at, [0xff; WORD]);
            cells.is_written[at / WORD] = cells.bytes[at..at + WORD] != [0xff; WORD];
            result?;
        }
        for sector in from as usize / SECTOR..to as usize / SECTOR {
            cells.erased[sector] += 1;
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        check_write(self, offset, bytes.len())?;
        let mut cells = self.0.lock().unwrap();
        if cells.is_protected {
            return Ok(());
        }
        for (at, word) in bytes.chunks(WORD).enumerate() {
            let at = offset as usize + at * WORD;
            let is_again = cells.is_written[at / WORD] && !cells.is_foreign;
            assert!(!is_again, "the word at {at} is written twice");
            let mut word: [u8; WORD] = word.try_into().unwrap();
            // Bits of NOR flash only become 0.
            for (byte, now) in word.iter_mut().zip(&cells.bytes[at..]) {
                *byte &= now;
            }
            let result = cells.change(at, word);
            // Of a torn word that reads as erased, no one can know.
            cells.is_written[at / WORD] = cells.bytes[at..at + WORD] != [0xff; WORD];
            result?;
        }
        Ok(())
    }
}
